; LLVM's own code generator, by way of llvmlite: switch, calls by pointer, debug info, atomics.
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 -2, i32 3, i32 4]
@functions = addrspace(1) global [2 x ptr] [ptr @half, ptr @negated]
@staging = internal addrspace(3) global [64 x float] undef, align 16
@shared_count = weak addrspace(1) global i32 0

define internal i32 @half(i32 %x) noinline {
  %h = sdiv i32 %x, 2
  ret i32 %h
}

define i32 @negated(i32 %x) noinline {
  %n = sub i32 0, %x
  ret i32 %n
}

declare i32 @elsewhere(i32, ptr)

define ptx_kernel void @dispatch(ptr addrspace(1) %out, i32 %which, i64 %n) !dbg !5 {
entry:
  %local = alloca [4 x i32], align 4
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !8
  switch i32 %which, label %other [ i32 0, label %zero
    i32 1, label %one
    i32 2, label %two
    i32 3, label %three
    i32 4, label %four ], !dbg !9
zero:
  %f = load ptr, ptr addrspace(1) @functions, !dbg !9
  %a = call i32 %f(i32 %tid), !dbg !10
  br label %end, !dbg !10
one:
  %b = call i32 @half(i32 %tid), !dbg !10
  br label %end
two:
  %p = getelementptr i32, ptr addrspace(4) @table, i32 %tid
  %c = load i32, ptr addrspace(4) %p
  br label %end
three:
  %d = call i32 @elsewhere(i32 %tid, ptr %local)
  br label %end
four:
  %old = atomicrmw add ptr addrspace(1) @shared_count, i32 1 syncscope("device") acq_rel
  br label %end
other:
  call void @llvm.trap()
  unreachable
end:
  %v = phi i32 [ %a, %zero ], [ %b, %one ], [ %c, %two ], [ %d, %three ], [ %old, %four ]
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %v, ptr addrspace(1) %q, !dbg !11
  ret void, !dbg !11
}

define ptx_kernel void @reversed(ptr addrspace(1) %in, ptr addrspace(1) %out) "nvvm.reqntid"="64" {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr float, ptr addrspace(1) %in, i32 %i
  %x = load float, ptr addrspace(1) %from
  %slot = getelementptr [64 x float], ptr addrspace(3) @staging, i32 0, i32 %i
  store float %x, ptr addrspace(3) %slot
  call void @llvm.nvvm.barrier0()
  %j = sub i32 63, %i
  %other = getelementptr [64 x float], ptr addrspace(3) @staging, i32 0, i32 %j
  %y = load float, ptr addrspace(3) %other
  %s = call float @llvm.fma.f32(float %y, float 2.0, float %x)
  %to = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %s, ptr addrspace(1) %to
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.fma.f32(float, float, float)
declare void @llvm.trap()

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "by hand", isOptimized: false, emissionKind: FullDebug)
!1 = !DIFile(filename: "device.c", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 2}
!4 = !DISubroutineType(types: !{null})
!5 = distinct !DISubprogram(name: "dispatch", file: !1, line: 3, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!6 = distinct !DISubprogram(name: "inner", file: !1, line: 20, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!7 = distinct !DILocation(line: 9, column: 2, scope: !5)
!8 = !DILocation(line: 4, column: 9, scope: !5)
!9 = !DILocation(line: 5, column: 3, scope: !5)
!10 = !DILocation(line: 21, column: 5, scope: !6, inlinedAt: !7)
!11 = !DILocation(line: 12, column: 3, scope: !5)
