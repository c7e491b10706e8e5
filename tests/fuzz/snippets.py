"""LLVM IR as front ends write it, a few lines on each thing: what the fuzzer spoils first."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

HEAD = 'target triple = "nvptx64-nvidia-cuda"\n'


def _kernel(body: str, after: str = "", params: str = "ptr addrspace(1) %p, i32 %n") -> str:
    lines = "".join(f"  {line}\n" for line in body.strip().splitlines())
    return f"define ptx_kernel void @k({params}) {{\n{lines}  ret void\n}}\n{after}"


_BINARY = """
%a = load i32, ptr addrspace(1) %p, align 4
%b = add nsw i32 %a, %n
%c = mul nuw i32 %b, -7
%d = sdiv i32 %c, 12
%e = urem i32 %d, 10
%f = shl i32 %e, 3
%g = ashr exact i32 %f, 1
%h = xor i32 %g, 2147483647
%i = sub i32 0, %h
store i32 %i, ptr addrspace(1) %p, align 4
"""
_WIDE = """
%a = load i128, ptr addrspace(1) %p, align 16
%b = mul i128 %a, 170141183460469231731687303715884105727
%c = lshr i128 %b, 65
%d = add i128 %c, %a
%e = icmp slt i128 %d, %a
%f = select i1 %e, i128 %d, i128 %a
store i128 %f, ptr addrspace(1) %p, align 16
%g = load i48, ptr addrspace(1) %p, align 8
%h = sext i48 %g to i64
%i = trunc i64 %h to i7
%j = zext i7 %i to i32
store i32 %j, ptr addrspace(1) %p
"""
_FLOATS = """
%a = load float, ptr addrspace(1) %p
%b = fadd fast float %a, 0x3FF8000000000000
%c = fdiv float %b, 3.0
%d = fneg float %c
%e = fcmp olt float %d, %a
%f = select i1 %e, float %d, float 0xFFF0000000000000
%g = fpext float %f to double
%h = fmul double %g, 1.000000e-300
%i = fptrunc double %h to half
%j = fpext half %i to float
%k = fptosi float %j to i32
%l = uitofp i32 %k to bfloat
%m = bitcast bfloat %l to i16
store i16 %m, ptr addrspace(1) %p
"""
_INTRINSICS = """
%a = load float, ptr addrspace(1) %p
%b = call float @llvm.fma.f32(float %a, float %a, float 2.0)
%c = call float @llvm.sqrt.f32(float %b)
%d = call float @llvm.maxnum.f32(float %c, float 1.0)
%e = call i32 @llvm.umin.i32(i32 %n, i32 31)
%f = call i32 @llvm.ctlz.i32(i32 %e, i1 false)
%g = call i32 @llvm.fshl.i32(i32 %f, i32 %e, i32 7)
%h = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %g, i32 %f)
%i = extractvalue { i32, i1 } %h, 0
%j = call i32 @llvm.sadd.sat.i32(i32 %i, i32 -5)
%k = call i64 @llvm.bitreverse.i64(i64 255)
%l = trunc i64 %k to i32
%m = add i32 %j, %l
%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%q = getelementptr inbounds i32, ptr addrspace(1) %p, i32 %t
store i32 %m, ptr addrspace(1) %q
call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
call void @llvm.assume(i1 true)
"""
_INTRINSICS_DECLARED = """
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.ctlz.i32(i32, i1 immarg)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)
declare i32 @llvm.sadd.sat.i32(i32, i32)
declare i64 @llvm.bitreverse.i64(i64)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.assume(i1)
"""
_ASSEMBLY = """
%a = call i32 asm "mov.u32 $0, %laneid;", "=r"()
%b = call { i32, i32 } asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $2, $3; selp.b32 $0, 1, 2, p; add.u32 $1, $2, 0x10; }", "=r,=&r,r,n,~{memory}"(i32 %a, i32 16)
%c = extractvalue { i32, i32 } %b, 1
%d = call float asm "ex2.approx.ftz.f32 $0, $1;", "=f,f"(float 1.0)
call void asm sideeffect "st.global.b32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %p, i32 %c)
call void asm sideeffect "bar.sync 0;", ""()
"""
_SWITCH = """define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  switch i32 %n, label %rest [
    i32 0, label %one
    i32 -1, label %two
    i32 77, label %one
  ]
one:
  %a = phi i32 [ 5, %entry ], [ 5, %entry ]
  br label %end
two:
  br label %loop
loop:
  %i = phi i32 [ 0, %two ], [ %j, %loop ]
  %s = phi float [ 0.0, %two ], [ %u, %loop ]
  %u = fadd float %s, 1.0
  %j = add nuw nsw i32 %i, 1
  %c = icmp eq i32 %j, 10
  br i1 %c, label %end, label %loop, !prof !0, !llvm.loop !1
rest:
  unreachable
end:
  %r = phi i32 [ %a, %one ], [ %j, %loop ]
  store i32 %r, ptr addrspace(1) %p, align 4, !tbaa !3
  ret void
}
!0 = !{!"branch_weights", i32 1, i32 9}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
!3 = !{!4, !4, i64 0}
!4 = !{!"int", !5, i64 0}
!5 = !{!"omnipotent char", !6, i64 0}
!6 = !{!"Simple C++ TBAA"}
"""
_GLOBALS = """
@table = addrspace(4) constant [4 x float] [float 1.0, float 0x7FF0000000000000, float undef, float -0.0], align 16
@words = internal addrspace(1) global { i8, [3 x i16], ptr } { i8 7, [3 x i16] [i16 1, i16 2, i16 -3], ptr null }, align 8
@text = private addrspace(4) constant [6 x i8] c"ab\\0A\\FF\\00z"
@tile = internal addrspace(3) global [256 x i32] poison, align 128
@dynamic = external addrspace(3) global [0 x i8], align 16
@pointer = addrspace(1) global ptr addrspace(1) getelementptr inbounds (i8, ptr addrspace(1) @words, i64 2)
@generic = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @words to ptr)
@zero = addrspace(1) global <4 x i32> zeroinitializer
@splat = addrspace(1) global <8 x half> splat (half 0xH3C00)
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %q = getelementptr [4 x float], ptr addrspace(4) @table, i32 0, i32 %n
  %a = load float, ptr addrspace(4) %q
  store float %a, ptr addrspace(1) %p
  %s = getelementptr i32, ptr addrspace(3) @tile, i32 %n
  store i32 %n, ptr addrspace(3) %s
  %g = addrspacecast ptr addrspace(3) %s to ptr
  %v = load volatile i32, ptr %g
  %w = load ptr addrspace(1), ptr addrspace(1) @pointer
  store i32 %v, ptr addrspace(1) %w, align 1
  ret void
}
"""
_VECTORS = """
%a = load <4 x i32>, ptr addrspace(1) %p, align 16
%b = shufflevector <4 x i32> %a, <4 x i32> poison, <4 x i32> <i32 3, i32 2, i32 poison, i32 0>
%c = add <4 x i32> %b, <i32 1, i32 2, i32 3, i32 4>
%d = extractelement <4 x i32> %c, i32 %n
%e = insertelement <4 x i32> %c, i32 %d, i64 2
%f = bitcast <4 x i32> %e to <8 x i16>
%g = icmp ugt <8 x i16> %f, splat (i16 9)
%h = select <8 x i1> %g, <8 x i16> %f, <8 x i16> zeroinitializer
%i = bitcast <8 x i16> %h to i128
%j = trunc i128 %i to i64
%k = inttoptr i64 %j to ptr
%l = freeze ptr %k
%m = ptrtoint ptr %l to i64
store i64 %m, ptr addrspace(1) %p, align 8
"""
_AGGREGATES = """%pair = type { i32, float }
%nest = type { %pair, [2 x i8], <2 x half> }
define internal %pair @make(i32 %a, ptr byval(%nest) align 8 %b) noinline {
  %q = getelementptr inbounds %nest, ptr %b, i32 0, i32 1, i32 1
  %c = load i8, ptr %q
  %d = zext i8 %c to i32
  %e = insertvalue %pair undef, i32 %d, 0
  %f = insertvalue %pair %e, float 1.0, 1
  ret %pair %f
}
define ptx_kernel void @k(ptr addrspace(1) %p, %nest %v) {
  %m = alloca %nest, align 8
  store %nest %v, ptr %m
  call void @llvm.memcpy.p0.p0.i64(ptr %m, ptr %m, i64 12, i1 false)
  call void @llvm.memset.p0.i64(ptr align 8 %m, i8 1, i64 5, i1 false)
  %r = call %pair @make(i32 4, ptr byval(%nest) align 8 %m)
  %x = extractvalue %pair %r, 0
  store i32 %x, ptr addrspace(1) %p
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly, ptr noalias readonly, i64, i1 immarg)
declare void @llvm.memset.p0.i64(ptr writeonly, i8, i64, i1 immarg)
"""
_ATOMICS = """
%a = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic
%b = atomicrmw umax ptr addrspace(1) %p, i32 %a syncscope("block") acq_rel
%c = cmpxchg ptr addrspace(1) %p, i32 %a, i32 %b acquire monotonic
%d = extractvalue { i32, i1 } %c, 1
%e = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
store atomic i32 %e, ptr addrspace(1) %p release, align 4
fence syncscope("block") seq_cst
%f = atomicrmw fadd ptr addrspace(1) %p, float 1.0 seq_cst
%g = atomicrmw xchg ptr addrspace(1) %p, i64 9 seq_cst, align 8
"""
_ANNOTATED = """define void @k(ptr addrspace(1) nocapture readonly align 16 %p, ptr byval([128 x i8]) align 64 %map) #0 {
  %a = load i32, ptr addrspace(1) %p, align 4, !invariant.load !9, !range !10
  %b = call i32 @f(i32 %a)
  call void @g()
  ret void
}
define i32 @f(i32 noundef %a) #1 {
  %b = tail call i32 @f(i32 %a)
  ret i32 %b
}
declare void @g() #2
attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" "nvvm.maxnreg"="64" "target-cpu"="sm_90a" }
attributes #1 = { noinline nounwind memory(none) }
attributes #2 = { convergent noreturn }
!nvvm.annotations = !{!0, !1, !2, !3}
!nvvmir.version = !{!4}
!llvm.module.flags = !{!5, !6}
!llvm.ident = !{!7}
!0 = !{ptr @k, !"kernel", i32 1}
!1 = !{ptr @k, !"maxntidx", i32 128, !"minctasm", i32 2}
!2 = !{ptr @k, !"grid_constant", !8}
!3 = !{ptr @k, !"cluster_dim_x", i32 2}
!4 = !{i32 2, i32 0}
!5 = !{i32 2, !"Debug Info Version", i32 3}
!6 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!7 = !{!"a compiler of mine"}
!8 = !{i32 2}
!9 = !{}
!10 = !{i32 0, i32 1024}
"""
_DEBUG = """define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) !dbg !4 {
entry:
    #dbg_value(i32 %n, !9, !DIExpression(), !10)
  %a = add i32 %n, 1, !dbg !10
  %m = alloca i32, align 4, !dbg !10
    #dbg_declare(ptr %m, !11, !DIExpression(DW_OP_deref), !10)
  store i32 %a, ptr addrspace(1) %p, align 4, !dbg !12
  ret void, !dbg !13
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, producer: "mine", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.py", directory: "/home/me")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !1, file: !1, line: 1, type: !5, scopeLine: 1, spFlags: DISPFlagDefinition, unit: !0, retainedNodes: !8)
!5 = !DISubroutineType(types: !6)
!6 = !{null, !7}
!7 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!8 = !{!9, !11}
!9 = !DILocalVariable(name: "n", arg: 2, scope: !4, file: !1, line: 2, type: !7)
!10 = !DILocation(line: 3, column: 5, scope: !4)
!11 = !DILocalVariable(name: "m", scope: !4, file: !1, line: 4, type: !7)
!12 = !DILocation(line: 5, column: 9, scope: !14, inlinedAt: !10)
!13 = !DILocation(line: 6, column: 1, scope: !4)
!14 = distinct !DILexicalBlock(scope: !4, file: !1, line: 5, column: 1)
"""
_TENSOR = """
%s = call i64 @llvm.nvvm.mapa(ptr null, i32 %n)
%a = load i32, ptr addrspace(3) @slot
%t = inttoptr i32 %a to ptr addrspace(6)
call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @slot, i32 128)
call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %t, i64 1, i64 2, i32 134742032, i1 true, i32 0, i32 1, i32 0)
call void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3) @bar)
call void @llvm.nvvm.tcgen05.wait.ld()
%v = call <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6) %t, i1 false)
call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) %t, i32 128)
"""
_TENSOR_DECLARED = """
@slot = internal addrspace(3) global i32 poison, align 4
@bar = internal addrspace(3) global i64 poison, align 8
declare void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6), i64, i64, i32, i1, i32 immarg, i32 immarg, i32 immarg)
declare void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3))
declare void @llvm.nvvm.tcgen05.wait.ld()
declare <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6), i1 immarg)
declare void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6), i32)
"""
_BARRIERS = """
call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 1)
%a = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @bar)
%b = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @bar, i64 %a)
call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7) null, ptr addrspace(3) @bar, ptr %map, i32 0, i32 0, i16 0, i64 0, i1 false, i1 false, i32 0)
call void @llvm.nvvm.cp.async.bulk.commit.group()
call void @llvm.nvvm.fence.proxy.tensormap_generic.release.cta()
%c = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 5, i32 16, i32 31)
%d = call { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32 -1, i32 %c)
%e = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %b)
%f = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, float 0.0, float 0.0, float 0.0, float 0.0)
"""
_BARRIERS_DECLARED = """
@bar = internal addrspace(3) global i64 poison, align 8
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.2d(ptr addrspace(7), ptr addrspace(3), ptr, i32, i32, i16, i64, i1, i1, i32)
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.fence.proxy.tensormap_generic.release.cta()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32, i32, i32, i32, i32, i32, float, float, float, float)
"""
_CALLS = """
declare i32 @outside(ptr, i32 signext, ...) nounwind
@function = addrspace(1) global ptr @callee
@alias = alias i32 (i32), ptr @callee
define weak i32 @callee(i32 %a) comdat { ret i32 %a }
$callee = comdat any
define ptx_kernel void @k(ptr addrspace(1) %p, ptr %f) {
  %a = call i32 %f(i32 5)
  %g = load ptr, ptr addrspace(1) @function
  %b = tail call fastcc i32 %g(i32 %a)
  %c = call i32 @alias(i32 %b) readnone
  %s = call ptr @llvm.stacksave.p0()
  %m = alloca i32, i32 %c
  call void @llvm.stackrestore.p0(ptr %s)
  %h = blockaddress(@k, %0)
  ret void
}
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
"""

SNIPPETS: dict[str, str] = {
    "binary": _kernel(_BINARY),
    "wide": _kernel(_WIDE),
    "floats": _kernel(_FLOATS),
    "intrinsics": _kernel(_INTRINSICS, _INTRINSICS_DECLARED),
    "assembly": HEAD + _kernel(_ASSEMBLY),
    "switch": _SWITCH,
    "globals": _GLOBALS,
    "vectors": _kernel(_VECTORS),
    "aggregates": _AGGREGATES,
    "atomics": _kernel(_ATOMICS),
    "annotated": HEAD + _ANNOTATED,
    "debug": _DEBUG,
    "tensor": _TENSOR_DECLARED + _kernel(_TENSOR.split("\n", 2)[2]),
    "barriers": _BARRIERS_DECLARED + _kernel(_BARRIERS, "", "ptr addrspace(1) %p, ptr %map"),
    "calls": _CALLS.replace("  %h = blockaddress(@k, %0)\n", ""),
}
"""Modules by what they are about."""
