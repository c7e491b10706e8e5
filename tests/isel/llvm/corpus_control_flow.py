"""LLVM IR with every kind of branch, exception and call that LLVM 22 prints."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

CONTROL_FLOW = """
define i32 @loop(i32 %n, i1 %c) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ], [ %next, %other ]
  %x = phi fast float [ 1.0, %entry ], [ %y, %body ], [ 0x7FF8000000000000, %other ], !tagged !0
  %v = phi <2 x i32> [ <i32 1, i32 2>, %entry ], [ splat (i32 3), %body ], [ %v, %other ]
  %s = phi { i32, ptr } [ undef, %entry ], [ %s, %body ], [ { i32 1, ptr null }, %other ]
  %a = phi [2 x i8] [ zeroinitializer, %entry ], [ %a, %body ], [ c"ab", %other ]
  %p = phi ptr [ null, %entry ], [ getelementptr (i8, ptr @g, i64 1), %body ], [ @g, %other ]
  %next = add i32 %i, 1
  %y = fadd float %x, 1.0
  %done = icmp sge i32 %next, %n
  br i1 %done, label %exit, label %body, !prof !1
body:
  br i1 true, label %head, label %other
other:
  switch i32 %i, label %head [
    i32 0, label %exit
    i32 -1, label %last
    i32 7, label %exit
  ], !prof !2
last:
  switch i8 0, label %exit []
exit:
  %r = phi i32 [ %i, %head ], [ 5, %other ], [ 5, %other ], [ 1, %last ]
  %f = select i1 %c, i32 %r, i32 5
  %g = select fast i1 %c, float %x, float -0.0
  %z = freeze i32 %f
  br i1 %c, label %good, label %bad
good:
  ret i32 %z, !tagged !0
bad:
  unreachable, !tagged !0
}
define void @numbers(i32, i1 %c) {
  br i1 %c, label %2, label %3
2:
  br label %4
3:
  br label %4
4:
  %5 = phi i32 [ %0, %2 ], [ 1, %3 ]
  ret void
}
define void @indirect(ptr %p) {
  indirectbr ptr %p, [label %a, label %b, label %a]
a:
  indirectbr ptr blockaddress(@indirect, %b), [label %b]
b:
  unreachable
}
define void @callbr(i32 %i) {
  callbr void asm sideeffect "", "r,!i,!i"(i32 %i) to label %a [label %b, label %c]
a:
  %x = callbr i32 asm "", "=r,!i"() #0 to label %b [label %c], !tagged !0
b:
  ret void
c:
  ret void
}
define i64 @odd_switch(i64 %x) {
  switch i64 %x, label %d [ i64 9223372036854775807, label %d i64 -9223372036854775808, label %e ]
d:
  ret i64 0
e:
  ret i64 1
}
@g = external global i8
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 2}
!2 = !{!"branch_weights", i32 1, i32 2, i32 3, i32 4}
"""

EXCEPTIONS = """
@type = external constant ptr
declare i32 @personality(...)
declare void @may_throw(i32)
declare i32 @gives(ptr, ...)
define void @f(ptr %fp) personality ptr @personality {
entry:
  invoke void @may_throw(i32 1) to label %one unwind label %pad
one:
  %a = invoke fastcc noundef i32 %fp(i32 noundef 2, ptr byval(i32) align 4 %fp) #0 [ "deopt"(i32 1, ptr %fp), "x"() ]
    to label %two unwind label %pad2, !tagged !0
two:
  %b = invoke i32 (ptr, ...) @gives(ptr null, double 1.0) to label %done unwind label %pad3
done:
  invoke void asm sideeffect unwind "bar", ""() to label %end unwind label %pad
end:
  ret void
pad:
  %lp = landingpad { ptr, i32 }
          cleanup
  resume { ptr, i32 } %lp
pad2:
  %lp2 = landingpad { ptr, i32 } catch ptr @type catch ptr null filter [1 x ptr] [ptr @type] filter [0 x ptr] zeroinitializer
  resume { ptr, i32 } %lp2, !tagged !0
pad3:
  %lp3 = landingpad { ptr, i32 } cleanup catch ptr @type, !tagged !0
  resume { ptr, i32 } { ptr null, i32 1 }
}
attributes #0 = { noreturn }
!0 = !{}
"""

FUNCLETS = """
declare i32 @__CxxFrameHandler3(...)
declare void @may_throw()
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @may_throw() to label %ok unwind label %dispatch
ok:
  invoke void @may_throw() to label %ok2 unwind label %cleanup
ok2:
  invoke void @may_throw() to label %end unwind label %dispatch2
dispatch:
  %cs = catchswitch within none [label %catch1, label %catch2] unwind to caller
catch1:
  %cp = catchpad within %cs [ptr null, i32 64, ptr null]
  call void @may_throw() [ "funclet"(token %cp) ]
  catchret from %cp to label %end
catch2:
  %cp2 = catchpad within %cs []
  catchret from %cp2 to label %end, !tagged !0
cleanup:
  %cl = cleanuppad within none [i32 7]
  cleanupret from %cl unwind label %dispatch3
dispatch2:
  %cl2 = cleanuppad within none []
  cleanupret from %cl2 unwind to caller, !tagged !0
dispatch3:
  %cs3 = catchswitch within none [label %catch3] unwind label %last, !tagged !0
catch3:
  %cp3 = catchpad within %cs3 [ptr null, i32 64, ptr null], !tagged !0
  unreachable
last:
  %cl3 = cleanuppad within none [], !tagged !0
  unreachable
end:
  ret void
}
!0 = !{}
"""

CALLS = """
%big = type { [16 x i32] }
declare void @nothing()
declare i32 @takes(i32, ptr, float)
declare float @llvm.fma.f32(float, float, float)
declare i32 @printf(ptr, ...)
declare void @"odd name: %x, (y) \\22z\\22"(i32)
declare fastcc i32 @fast(i32)
declare cc 1023 void @numbered()
declare void @llvm.assume(i1)
declare void @llvm.with.metadata(metadata, metadata)
declare i64 @llvm.read_register.i64(metadata)
declare { i32, i32 } @pair()
declare %big @named()
declare void @"llvm.experimental.noalias.scope.decl"(metadata)
declare void @struct_taker({ i32, [2 x i8] }, <2 x i32>, [2 x i8])
declare i32 @in_space() addrspace(2)
define void @f(i32 %i, ptr %p, float %x, ptr %fp, i1 %c, ptr addrspace(2) %fp2) {
  call void @nothing()
  tail call void @nothing()
  notail call void @nothing()
  %1 = call i32 @takes(i32 %i, ptr %p, float 1.0)
  %2 = call fast float @llvm.fma.f32(float %x, float 2.0, float 0x3FB99999A0000000)
  %3 = call nnan contract float @llvm.fma.f32(float nofpclass(nan inf) %x, float %2, float poison)
  %4 = tail call fastcc i32 @fast(i32 %i)
  call cc 1023 void @numbered()
  %5 = call noundef range(i32 0, 10) i32 @takes(i32 noundef signext %i, ptr nonnull align 16 dereferenceable(64) %p, float %x)
  %6 = call i32 @takes(i32 range(i32 -5, 5) %i, ptr captures(none) null, float undef) nounwind memory(none)
  %7 = call i32 (ptr, ...) @printf(ptr @format, i32 %i, double 1.0)
  %8 = call i32 (ptr, ...) %fp(ptr %p)
  call void @"odd name: %x, (y) \\22z\\22"(i32 5)
  %9 = call i32 %fp(i32 zeroext %i)
  call void inttoptr (i64 4096 to ptr)(i32 1)
  call void null()
  call addrspace(2) void %fp2(i32 1)
  %10 = call addrspace(2) i32 @in_space()
  call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16), "nonnull"(ptr %p) ]
  call void @llvm.with.metadata(metadata i32 %i, metadata !"a \\22string\\22, with commas")
  call void @llvm.with.metadata(metadata !0, metadata ptr @format)
  call void @llvm.with.metadata(metadata !{}, metadata !DIExpression(DW_OP_plus_uconst, 8))
  %11 = call i64 @llvm.read_register.i64(metadata !1)
  %12 = call { i32, i32 } @pair(), !tagged !0, !other !1
  %13 = call %big @named()
  call void @"llvm.experimental.noalias.scope.decl"(metadata !2)
  call void @struct_taker({ i32, [2 x i8] } { i32 1, [2 x i8] c"\\00\\FF" }, <2 x i32> <i32 1, i32 2>, [2 x i8] zeroinitializer)
  call void @struct_taker({ i32, [2 x i8] } undef, <2 x i32> splat (i32 7), [2 x i8] c"ab")
  call void @by_value(ptr byval(%big) align 64 %p, ptr sret({ i32, i8 }) %p, ptr byref(i32) %p)
  call void @by_value(ptr "key"="value" "alone" %p, ptr %p, ptr inalloca(%big) %p) "call key"="v"
  %14 = call ptr @returns_ptr(ptr returned %p) #1
  %15 = call i32 @takes(i32 ptrtoint (ptr @format to i32), ptr getelementptr (i8, ptr @format, i64 2), float %x)
  ret void
}
declare void @by_value(ptr, ptr, ptr)
declare ptr @returns_ptr(ptr returned)
define void @forwards(ptr %p, ...) {
  musttail call void (ptr, ...) @forwards(ptr %p, ...)
  ret void
}
define i32 @must(i32 %i) {
  %r = musttail call i32 @must(i32 %i)
  ret i32 %r
}
define void @assembly(i32 %i, ptr addrspace(1) %p, float %x) {
  call void asm sideeffect "bar.sync 0;", "~{memory}"()
  %1 = call i32 asm "mov.u32 $0, %laneid;", "=r"()
  %2 = call { i32, i32 } asm sideeffect "{\\0A\\09add.u32 $0, $2, $3; // \\22note\\22 /* x */\\0A}", "=r,=r,r,r,~{memory}"(i32 %i, i32 5) #1, !srcloc !1
  call void asm sideeffect alignstack inteldialect unwind "x \\5C y", "r,l"(i32 %i, ptr addrspace(1) %p)
  %3 = tail call float asm "fma.rn.f32 $0, $1, $1, $1;", "=f,f"(float noundef %x)
  call void asm "st.global.b32 [$0], $1;", "*m,r"(ptr addrspace(1) elementtype(i32) %p, i32 %i)
  %4 = call <2 x half> asm "", "=r,r"(<2 x half> <half 0xH3C00, half 0xH4000>)
  ret void
}
@format = private constant [4 x i8] c"%d\\0A\\00"
attributes #1 = { convergent nounwind "k"="v" }
!0 = !{!"x"}
!1 = !{!"sp"}
!2 = !{!3}
!3 = distinct !{!3, !4}
!4 = distinct !{!4}
"""

VARIABLE_ARGUMENTS = """
define i32 @f(ptr %list, ...) {
  %1 = va_arg ptr %list, i32
  %2 = va_arg ptr %list, { i32, double }
  %3 = va_arg ptr %list, ptr, !tagged !0
  ret i32 %1
}
!0 = !{}
"""
