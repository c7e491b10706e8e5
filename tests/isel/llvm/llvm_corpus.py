"""LLVM IR that between its cases holds every construct that LLVM 22 prints.

Each case is LLVM IR as a person would write it.  `printed(case)` is what LLVM makes of it: parsed,
verified, printed; that text is what the reader reads.
"""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

INTEGER_ARITHMETIC = """
define i32 @plain(i32 %a, i32 %b) {
  %add = add i32 %a, %b
  %sub = sub i32 %add, %b
  %mul = mul i32 %sub, -1
  %udiv = udiv i32 %mul, 7
  %sdiv = sdiv i32 %udiv, %b
  %urem = urem i32 %sdiv, 255
  %srem = srem i32 %urem, %a
  %shl = shl i32 %srem, 3
  %lshr = lshr i32 %shl, 1
  %ashr = ashr i32 %lshr, %b
  %and = and i32 %ashr, 65535
  %or = or i32 %and, %a
  %xor = xor i32 %or, -2147483648
  ret i32 %xor
}
define i64 @flags(i64 %a, i64 %b) {
  %1 = add nuw i64 %a, %b
  %2 = add nsw i64 %1, %b
  %3 = sub nuw nsw i64 %2, 4294967296
  %4 = mul nsw i64 %3, %a
  %5 = shl nuw nsw i64 %4, 2
  %6 = lshr exact i64 %5, 1
  %7 = ashr exact i64 %6, 1
  %8 = udiv exact i64 %7, 4
  %9 = sdiv exact i64 %8, -4
  %10 = or disjoint i64 %9, 1
  ret i64 %10
}
define void @widths(i1 %a, i2 %b, i7 %c, i128 %d, i1000 %e, <4 x i32> %f, <3 x i1> %g) {
  %1 = xor i1 %a, true
  %2 = and i1 %1, false
  %3 = add i2 %b, -2
  %4 = add i7 %c, 63
  %5 = add i128 %d, -1
  %6 = add i1000 %e, 170141183460469231731687303715884105728
  %7 = add nsw <4 x i32> %f, <i32 1, i32 -2, i32 undef, i32 poison>
  %8 = mul <4 x i32> splat (i32 3), %7
  %9 = xor <3 x i1> %g, splat (i1 true)
  %10 = or <3 x i1> %9, <i1 true, i1 false, i1 true>
  ret void
}
"""

FLOAT_ARITHMETIC = """
define float @plain(float %a, float %b) {
  %add = fadd float %a, %b
  %sub = fsub float %add, 1.0
  %mul = fmul float %sub, 0x3FB99999A0000000
  %div = fdiv float %mul, -2500000000.0
  %rem = frem float %div, 0x7FF0000000000000
  %neg = fneg float %rem
  ret float %neg
}
define double @flags(double %a, double %b) {
  %1 = fadd fast double %a, %b
  %2 = fsub nnan ninf nsz double %1, 0.1
  %3 = fmul arcp contract afn double %2, 1.0e300
  %4 = fdiv reassoc double %3, 0xFFF8000000000001
  %5 = frem nsz double %4, %b
  %6 = fneg contract double %5
  %7 = fmul reassoc nnan ninf nsz arcp contract afn double %6, %b
  ret double %7
}
define void @kinds(half %h, bfloat %b, x86_fp80 %x, fp128 %q, ppc_fp128 %p, <2 x half> %v) {
  %1 = fadd half %h, 0xH3C00
  %2 = fadd bfloat %b, 0xR3F80
  %3 = fadd x86_fp80 %x, 0xK3FFF8000000000000000
  %4 = fadd fp128 %q, 0xL00000000000000013FFF000000000000
  %5 = fadd ppc_fp128 %p, 0xM3FF00000000000003C90000000000000
  %6 = fmul contract <2 x half> %v, <half 0xH4000, half 0xH4200>
  %7 = fsub <2 x half> splat (half 0xH3800), %6
  %8 = fneg <2 x half> %7
  ret void
}
"""

CASTS = """
define void @f(i32 %i, i64 %l, float %f, double %d, ptr %p, ptr addrspace(3) %s, <2 x i32> %v) {
  %1 = trunc i32 %i to i8
  %2 = trunc nuw i64 %l to i32
  %3 = trunc nsw i64 %l to i16
  %4 = trunc nuw nsw i64 %l to i1
  %5 = zext i32 %i to i64
  %6 = zext nneg i32 %i to i128
  %7 = sext i32 %i to i64
  %8 = fptoui float %f to i32
  %9 = fptosi double %d to i64
  %10 = uitofp i32 %i to float
  %11 = uitofp nneg i32 %i to half
  %12 = sitofp i64 %l to bfloat
  %13 = fptrunc double %d to float
  %14 = fptrunc fast double %d to half
  %15 = fpext float %f to double
  %16 = fpext nnan float %f to fp128
  %17 = ptrtoint ptr %p to i64
  %18 = ptrtoaddr ptr %p to i64
  %19 = inttoptr i64 %l to ptr addrspace(1)
  %20 = bitcast float %f to i32
  %21 = bitcast <2 x i32> %v to i64
  %22 = bitcast i32 %i to <2 x half>
  %23 = addrspacecast ptr addrspace(3) %s to ptr
  %24 = sext <2 x i32> %v to <2 x i64>
  %25 = bitcast <2 x i32> <i32 1, i32 2> to <4 x i16>
  %26 = addrspacecast ptr addrspace(3) null to ptr addrspace(1)
  ret void
}
"""

COMPARISONS = """
define void @f(i32 %a, i32 %b, float %x, float %y, ptr %p, <4 x i32> %v, <2 x double> %w) {
  %1 = icmp eq i32 %a, %b
  %2 = icmp ne i32 %a, 0
  %3 = icmp ugt i32 %a, %b
  %4 = icmp uge i32 %a, %b
  %5 = icmp ult i32 %a, %b
  %6 = icmp ule i32 %a, %b
  %7 = icmp sgt i32 %a, -1
  %8 = icmp sge i32 %a, %b
  %9 = icmp slt i32 %a, %b
  %10 = icmp sle i32 %a, %b
  %11 = icmp samesign ult i32 %a, 5
  %12 = icmp eq ptr %p, null
  %13 = icmp slt <4 x i32> %v, zeroinitializer
  %14 = fcmp false float %x, %y
  %15 = fcmp oeq float %x, %y
  %16 = fcmp ogt float %x, %y
  %17 = fcmp oge float %x, %y
  %18 = fcmp olt float %x, %y
  %19 = fcmp ole float %x, %y
  %20 = fcmp one float %x, 0.0
  %21 = fcmp ord float %x, 0.0
  %22 = fcmp ueq float %x, %y
  %23 = fcmp ugt float %x, %y
  %24 = fcmp uge float %x, %y
  %25 = fcmp ult float %x, %y
  %26 = fcmp ule float %x, %y
  %27 = fcmp une float %x, %y
  %28 = fcmp uno float %x, %y
  %29 = fcmp true float %x, %y
  %30 = fcmp fast olt float %x, %y
  %31 = fcmp nnan ninf ueq <2 x double> %w, splat (double 1.0)
  ret void
}
"""

MEMORY = """
%pair = type { i32, [4 x float] }
@buffer = external addrspace(3) global [64 x [32 x float]]
define void @allocas(i32 %n, i64 %m) {
  %1 = alloca i32
  %2 = alloca i32, align 16
  %3 = alloca i8, i32 %n, align 4
  %4 = alloca i8, i64 %m
  %5 = alloca %pair, i32 7
  %6 = alloca [128 x i8], align 64
  %7 = alloca inalloca i32, align 4
  %8 = alloca swifterror ptr
  %9 = alloca i32, addrspace(5)
  %10 = alloca i32, i32 %n, align 8, addrspace(5)
  %11 = alloca { i32, i64 }
  ret void
}
define void @accesses(ptr %p, ptr addrspace(1) %g, <4 x ptr> %v) {
  %1 = load i32, ptr %p
  %2 = load i32, ptr %p, align 1
  %3 = load volatile i32, ptr addrspace(1) %g, align 4
  %4 = load atomic i32, ptr %p unordered, align 4
  %5 = load atomic volatile i64, ptr %p syncscope("agent") monotonic, align 8
  %6 = load atomic i32, ptr %p syncscope("singlethread") acquire, align 4
  %7 = load atomic float, ptr %p seq_cst, align 4
  %8 = load <4 x float>, ptr addrspace(1) %g, align 16
  %9 = load %pair, ptr %p
  %10 = load { i32, ptr }, ptr %p, align 8
  %11 = load i32, ptr %p, !invariant.load !0, !nontemporal !1
  store i32 %1, ptr %p
  store volatile i32 5, ptr addrspace(1) %g, align 2
  store atomic i32 %1, ptr %p release, align 4
  store atomic volatile i64 %5, ptr %p syncscope("block \\22x\\22") monotonic, align 8
  store <4 x float> <float 1.0, float 2.0, float 3.0, float 4.0>, ptr %p, align 4
  store %pair { i32 1, [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0] }, ptr %p
  store { i32, ptr } %10, ptr %p
  store ptr @buffer.alias, ptr %p
  store float undef, ptr getelementptr inbounds ([64 x [32 x float]], ptr @buffer.alias, i64 0, i64 2, i64 1)
  ret void
}
@buffer.alias = external global [64 x [32 x float]]
define void @addresses(ptr %p, ptr addrspace(3) %s, <4 x ptr> %v, i32 %i, i64 %j, <4 x i64> %k) {
  %1 = getelementptr i8, ptr %p, i64 %j
  %2 = getelementptr inbounds i8, ptr %p, i64 4
  %3 = getelementptr inbounds nuw float, ptr %p, i32 %i
  %4 = getelementptr nusw float, ptr %p, i32 %i
  %5 = getelementptr nusw nuw float, ptr %p, i32 %i
  %6 = getelementptr nuw [64 x [32 x float]], ptr addrspace(3) %s, i32 0, i32 %i, i64 3
  %7 = getelementptr %pair, ptr %p, i64 %j, i32 1, i64 2
  %8 = getelementptr { i32, { i8, i64 } }, ptr %p, i64 0, i32 1, i32 1
  %9 = getelementptr i32, <4 x ptr> %v, i64 1
  %10 = getelementptr i32, ptr %p, <4 x i64> %k
  %11 = getelementptr i32, ptr %p, <4 x i64> <i64 0, i64 1, i64 2, i64 3>
  %12 = getelementptr [32 x float], ptr addrspace(3) @buffer, i32 %i
  %13 = getelementptr i8, ptr %p
  %14 = getelementptr i32, ptr %p, i64 %j, !tagged !0
  ret void
}
!0 = !{}
!1 = !{i32 1}
"""

ATOMICS = """
define void @f(ptr %p, ptr addrspace(3) %s, i32 %i, float %x, <2 x half> %h) {
  %1 = atomicrmw xchg ptr %p, i32 %i monotonic
  %2 = atomicrmw add ptr %p, i32 %i acquire
  %3 = atomicrmw sub ptr %p, i32 %i release
  %4 = atomicrmw and ptr %p, i32 %i acq_rel
  %5 = atomicrmw nand ptr %p, i32 %i seq_cst
  %6 = atomicrmw or ptr %p, i32 1 syncscope("agent") seq_cst
  %7 = atomicrmw xor ptr %p, i32 %i monotonic, align 16
  %8 = atomicrmw max ptr %p, i32 %i monotonic
  %9 = atomicrmw min ptr %p, i32 %i monotonic
  %10 = atomicrmw umax ptr %p, i32 %i monotonic
  %11 = atomicrmw umin ptr %p, i32 %i monotonic
  %12 = atomicrmw volatile fadd ptr %p, float %x monotonic
  %13 = atomicrmw fsub ptr %p, float %x monotonic
  %14 = atomicrmw fmax ptr %p, float %x monotonic
  %15 = atomicrmw fmin ptr %p, float %x monotonic
  %16 = atomicrmw fmaximum ptr %p, float %x monotonic
  %17 = atomicrmw fminimum ptr %p, float %x monotonic
  %18 = atomicrmw uinc_wrap ptr %p, i32 %i monotonic
  %19 = atomicrmw udec_wrap ptr %p, i32 %i monotonic
  %20 = atomicrmw usub_cond ptr %p, i32 %i monotonic
  %21 = atomicrmw usub_sat ptr %p, i32 %i monotonic
  %22 = atomicrmw fadd ptr addrspace(3) %s, <2 x half> %h monotonic, align 4
  %23 = atomicrmw xchg ptr %p, ptr %p seq_cst
  %24 = cmpxchg ptr %p, i32 %i, i32 5 monotonic monotonic
  %25 = cmpxchg weak ptr addrspace(3) %s, i64 0, i64 -1 acq_rel acquire, align 32
  %26 = cmpxchg volatile ptr %p, i32 %i, i32 5 syncscope("agent") seq_cst monotonic
  %27 = cmpxchg weak volatile ptr %p, ptr null, ptr %p release monotonic
  fence acquire
  fence release
  fence acq_rel
  fence seq_cst
  fence syncscope("singlethread") seq_cst
  ret void
}
"""

VECTORS = """
define void @f(<4 x float> %v, <4 x float> %w, i32 %i, float %x, <vscale x 4 x i32> %s, <1 x ptr> %p, i64 %z, <2 x i32> %t, <4 x i1> %c) {
  %1 = extractelement <4 x float> %v, i32 0
  %2 = extractelement <4 x float> %v, i32 %i
  %3 = extractelement <4 x float> <float 1.0, float 2.0, float 3.0, float 4.0>, i64 %z
  %4 = insertelement <4 x float> %v, float %x, i32 3
  %5 = insertelement <4 x float> poison, float 1.0, i64 0
  %6 = insertelement <1 x ptr> %p, ptr null, i8 0
  %7 = shufflevector <4 x float> %v, <4 x float> %w, <4 x i32> <i32 0, i32 4, i32 poison, i32 5>
  %8 = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> zeroinitializer
  %9 = shufflevector <4 x float> %v, <4 x float> poison, <8 x i32> poison
  %10 = shufflevector <4 x float> %v, <4 x float> %w, <2 x i32> <i32 3, i32 3>
  %11 = shufflevector <4 x float> %v, <4 x float> %w, <2 x i32> <i32 undef, i32 7>
  %12 = shufflevector <vscale x 4 x i32> %s, <vscale x 4 x i32> poison, <vscale x 4 x i32> zeroinitializer
  %13 = shufflevector <vscale x 4 x i32> %s, <vscale x 4 x i32> poison, <vscale x 4 x i32> poison
  %14 = shufflevector <2 x i32> <i32 1, i32 2>, <2 x i32> %t, <4 x i32> <i32 0, i32 1, i32 2, i32 3>, !tagged !0
  %15 = add <vscale x 4 x i32> %s, splat (i32 -7)
  %16 = select <4 x i1> %c, <4 x float> %v, <4 x float> splat (float -0.5)
  %17 = extractelement <vscale x 4 x i32> %15, i64 1
  %18 = freeze <4 x float> %v
  ret void
}
!0 = !{}
"""

AGGREGATES = """
%inner = type { i8, i64 }
%outer = type <{ i32, %inner, [3 x %inner] }>
define %outer @f({ i32, float } %a, [2 x i64] %b, %outer %c, { { i32, i1 }, ptr } %d, i32 %i, %inner %n) {
  %1 = extractvalue { i32, float } %a, 0
  %2 = extractvalue { i32, float } %a, 1
  %3 = extractvalue [2 x i64] %b, 1
  %4 = extractvalue %outer %c, 2, 1, 1
  %5 = extractvalue { { i32, i1 }, ptr } %d, 0
  %6 = extractvalue { { i32, i1 }, ptr } %d, 0, 1
  %7 = extractvalue %outer %c, 1, !tagged !0
  %8 = insertvalue { i32, float } %a, i32 %i, 0
  %9 = insertvalue { i32, float } undef, float 1.0, 1
  %10 = insertvalue { i32, float } poison, i32 7, 0
  %11 = insertvalue [2 x i64] zeroinitializer, i64 9, 0
  %12 = insertvalue %outer %c, i8 1, 2, 0, 0
  %13 = insertvalue %outer %12, %inner { i8 1, i64 2 }, 1
  %14 = insertvalue { i32, { i32, i8 } } poison, { i32, i8 } { i32 1, i8 2 }, 1
  %15 = insertvalue { i32, { i32, i8 } } %14, i32 5, 1, 0
  %16 = insertvalue %outer %13, %inner %n, 2, 2, !tagged !0
  %17 = extractvalue { i32, float } { i32 1, float 2.0 }, 0
  %18 = freeze { i32, float } %a
  %19 = select i1 %6, { i32, float } %a, { i32, float } %9
  %20 = extractvalue { i32, i32, i32, i32, i32, i32, i32, i32 } zeroinitializer, 7
  ret %outer %16
}
!0 = !{}
"""

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

CONSTANTS = """
%pair = type { i32, ptr }
@a = global i32 5
@b = global i32 -5
@c = global i1 true
@d = global i1 false
@e = global i128 -1
@g = global [4 x i8] c"a\\22\\5C\\00"
@h = global [2 x i16] [i16 1, i16 -1]
@i = global ptr null
@j = global %pair { i32 1, ptr @a }
@k = global <{ i8, i32 }> <{ i8 1, i32 2 }>
@l = global { i8, { i32, [2 x ptr] } } { i8 1, { i32, [2 x ptr] } { i32 2, [2 x ptr] [ptr @a, ptr null] } }
@m = global [2 x %pair] zeroinitializer
@n = global <4 x i32> <i32 1, i32 undef, i32 poison, i32 -4>
@o = global <4 x i32> splat (i32 9)
@p = global [0 x i32] zeroinitializer
@q = global {} zeroinitializer
@r = global i32 undef
@s = global [2 x i32] poison
@t = global float 1.0
@u = global double 0x7FF4000000000000
@v = global [3 x float] [float 0x36A0000000000000, float -0.0, float 3.4028234663852886e+38]
@w = global <2 x ptr> <ptr @a, ptr @b>
@x = global <2 x float> splat (float 0x7FF8000000000000)
@y = global <3 x i1> <i1 true, i1 false, i1 undef>
@ce.gep = global ptr getelementptr (i8, ptr @a, i64 1)
@ce.gep.inbounds = global ptr getelementptr inbounds ([4 x i8], ptr @g, i64 0, i64 2)
@ce.gep.nuw = global ptr getelementptr inbounds nuw (i8, ptr @g, i64 2)
@ce.gep.nusw = global ptr getelementptr nusw (i8, ptr @a, i64 2)
@ce.gep.inrange = global ptr getelementptr inbounds inrange(-8, 16) ({ [4 x ptr] }, ptr @vtable, i32 0, i32 0, i32 1)
@vtable = external global { [4 x ptr] }
@ce.gep.space = global ptr addrspace(3) getelementptr (float, ptr addrspace(3) @shared, i32 4)
@shared = external addrspace(3) global [0 x float]
@ce.ptrtoint = global i64 ptrtoint (ptr @a to i64)
@ce.ptrtoaddr = global i64 ptrtoaddr (ptr @a to i64)
@ce.inttoptr = global ptr inttoptr (i64 4096 to ptr)
@ce.cast = global ptr addrspacecast (ptr addrspace(3) @shared to ptr)
@ce.bitcast = global i64 bitcast (<2 x i32> <i32 ptrtoint (ptr @a to i32), i32 5> to i64)
@ce.trunc = global i8 trunc (i64 sub (i64 ptrtoint (ptr @a to i64), i64 ptrtoint (ptr @b to i64)) to i8)
@ce.add = global i64 add (i64 ptrtoint (ptr @a to i64), i64 5)
@ce.sub = global i64 sub nuw nsw (i64 ptrtoint (ptr @a to i64), i64 ptrtoint (ptr @b to i64))
@ce.xor = global i64 xor (i64 ptrtoint (ptr @a to i64), i64 -1)
@ce.nested = global i32 trunc (i64 sub (i64 ptrtoint (ptr getelementptr (i8, ptr @a, i64 4) to i64), i64 ptrtoint (ptr @ce.nested to i64)) to i32)
@block = global ptr blockaddress(@function, %"the block")
@equivalent = global ptr dso_local_equivalent @function
@nocfi = global ptr no_cfi @function
@auth2 = global ptr ptrauth (ptr @a, i32 2)
@auth3 = global ptr ptrauth (ptr @a, i32 2, i64 7)
@auth4 = global ptr ptrauth (ptr @a, i32 2, i64 7, ptr @i)
@auth5 = global ptr ptrauth (ptr @a, i32 2, i64 0, ptr null, ptr @i)
define void @function(<vscale x 4 x i32> %x) {
  br label %"the block"
"the block":
  %1 = add <vscale x 4 x i32> %x, shufflevector (<vscale x 4 x i32> insertelement (<vscale x 4 x i32> poison, i32 ptrtoint (ptr @a to i32), i64 0), <vscale x 4 x i32> poison, <vscale x 4 x i32> zeroinitializer)
  %2 = add i32 extractelement (<2 x i32> <i32 1, i32 2>, i32 ptrtoint (ptr @a to i32)), 1
  %3 = add <vscale x 4 x i32> zeroinitializer, undef
  %4 = insertelement <vscale x 4 x i32> insertelement (<vscale x 4 x i32> poison, i32 ptrtoint (ptr @a to i32), i64 0), i32 1, i32 0
  store <2 x ptr> getelementptr (i8, <2 x ptr> <ptr @a, ptr @b>, <2 x i64> <i64 1, i64 2>), ptr @w
  store <4 x i32> <i32 ptrtoint (ptr @a to i32), i32 0, i32 0, i32 0>, ptr @n
  ret void
}
declare void @llvm.takes.token(token)
define void @tokens() {
  call void @llvm.takes.token(token none)
  ret void
}
define target("spirv.Image", void, i32, 1, 0) @targets(target("spirv.Image", void, i32, 1, 0) %t) {
  %1 = freeze target("spirv.Image", void, i32, 1, 0) poison
  ret target("spirv.Image", void, i32, 1, 0) undef
}
define target("aarch64.svcount") @zero_target() {
  ret target("aarch64.svcount") zeroinitializer
}
"""

FLOATS = """
@f16 = global [4 x half] [half 0xH0001, half 0xHFC00, half 0xH7E01, half 0xH3555]
@bf16 = global [4 x bfloat] [bfloat 0xR0001, bfloat 0xRFF80, bfloat 0xR7F81, bfloat 0xR3EAB]
@f32 = global [6 x float] [float 0x7FF0000020000000, float 0xFFF8000000000000, float 0.1e1, float 0x47EFFFFFE0000000, float 0xB6A0000000000000, float 0x3FD5555560000000]
@f64 = global [5 x double] [double 0x7FF0000000000001, double 0.1, double 4.9406564584124654e-324, double 1.7976931348623157e+308, double -0.0]
@f80 = global [2 x x86_fp80] [x86_fp80 0xK3FFF8000000000000001, x86_fp80 0xK7FFFC000000000000000]
@f128 = global [2 x fp128] [fp128 0xL00000000000000013FFF000000000002, fp128 0xL00000000000000007FFF800000000000]
@ppc = global [2 x ppc_fp128] [ppc_fp128 0xM3FF00000000000003C90000000000000, ppc_fp128 0xM00000000000000000000000000000000]
"""

GLOBALS = """
$group = comdat any
$exact = comdat exactmatch
$largest = comdat largest
$nodup = comdat nodeduplicate
$same = comdat samesize
$"odd comdat" = comdat any
@external = external global i32
@external.constant = external constant i32, align 8
@extern_weak = extern_weak global i32
@private = private global i32 1
@internal = internal constant i32 2
@linkonce = linkonce global i32 3
@linkonce_odr = linkonce_odr global i32 4
@weak = weak global i32 5
@weak_odr = weak_odr global i32 6
@common = common global i32 0
@llvm.used = appending global [1 x ptr] [ptr @private], section "llvm.metadata"
@available = available_externally global i32 7
@hidden = hidden global i32 8
@protected = protected global i32 9
@imported = external dllimport global i32
@exported = dllexport global i32 10
@local = dso_local global i32 11
@tls = thread_local global i32 12
@tls.ld = thread_local(localdynamic) global i32 13
@tls.ie = thread_local(initialexec) global i32 14
@tls.le = external thread_local(localexec) global i32
@unnamed = unnamed_addr constant i32 15
@local.unnamed = local_unnamed_addr global i32 16
@shared = internal unnamed_addr addrspace(3) global [256 x float] undef, align 1024
@late = addrspace(1) externally_initialized global i32 0, align 4
@section = global i32 17, section ".my \\22section\\22", partition "part", align 16
@model = global i32 18, code_model "large"
@comdat.own = global i32 19, comdat($group)
@group = global i32 20, comdat
@comdat.odd = global i32 21, comdat($"odd comdat"), align 4
@tagged = global i32 22, align 4, !tagged !0, !type !1
@safe = global i32 23, no_sanitize_address, no_sanitize_hwaddress, sanitize_memtag
@dyninit = global i32 24, sanitize_address_dyninit
@attributed = global i32 25 #0
@attributed.external = external global i32 #0
@all = weak_odr dso_local protected thread_local(initialexec) unnamed_addr addrspace(1) constant { i32, ptr } { i32 1, ptr null }, section "s", partition "p", comdat($group), align 32, !tagged !0
@"a name, with (odd) = \\22things\\22 \\5C" = global i32 26
@"1" = global i32 27
@0 = global i32 28
@1 = external global i32
@"\\C3\\A9t\\C3\\A9" = global i32 29
@alias = alias i32, ptr @internal
@alias.weak = weak_odr hidden unnamed_addr alias i32, ptr @weak
@alias.expr = internal alias i8, getelementptr (i8, ptr @section, i64 1)
@alias.cast = alias i32, addrspacecast (ptr addrspace(1) @late to ptr)
@alias.tls = thread_local(localdynamic) alias i32, ptr @tls.ld
@alias.partition = alias i32, ptr @internal, partition "q"
@alias.function = alias void (i32, ...), ptr @function
@alias.space = alias float, ptr addrspace(3) @shared
@ifunc = ifunc void (), ptr @resolver
@ifunc.hidden = weak hidden ifunc i32 (ptr), ptr @resolver, partition "r"
define void @function(i32 %x, ...) {
  ret void
}
define internal ptr @resolver() {
  ret ptr @function
}
attributes #0 = { "bss-section"="x" "data-section"="y" }
!0 = !{}
!1 = !{i64 0, !"typeid"}
"""

TYPES = """
%empty = type {}
%opaque = type opaque
%packed = type <{ i8, i32 }>
%nested = type { %packed, [4 x %later], <2 x ptr addrspace(3)> }
%later = type { ptr, i1 }
%"odd type, { i32 }" = type { i32 }
%"7" = type { i64 }
%0 = type { i16 }
%1 = type { %0, %"7" }
@empty = global %empty zeroinitializer
@nested = external global %nested
@odd = external global %"odd type, { i32 }"
@numbered = external global %1
define void @opaque(ptr byval(%later) %p) {
  %1 = getelementptr %nested, ptr %p, i64 0, i32 1, i64 2, i32 1
  %2 = alloca %"odd type, { i32 }", align 8
  %3 = load %packed, ptr %p, align 1
  %4 = extractvalue %packed %3, 1
  %5 = alloca %0
  %6 = alloca %1
  %7 = insertvalue %"odd type, { i32 }" poison, i32 %4, 0
  ret void
}
declare void @llvm.every(i1, i8, i23, half, bfloat, float, double, fp128, x86_fp80, ppc_fp128, ptr, ptr addrspace(7), <4 x i32>, <vscale x 2 x double>, [3 x [2 x i8]], { i32, {} }, <{ i8, <{ i16 }> }>, %nested, metadata, x86_amx, target("spirv.Sampler"), target("x", ptr, i32, 1, 2))
declare token @llvm.gives.token()
declare void @uses_opaque(ptr sret(%empty), ptr)
@refers = external global %opaque
"""

NAMES = """
@"with space" = global i32 0
@with.dots-and$dollars_ = global i32 0
@"\\01raw" = global i32 0
define void @"function, (odd)"(i32 %"arg one", i32 %arg-two, i32 %"3", i32 %0) {
"first block":
  %"a = b" = add i32 %"arg one", %arg-two
  %"load i32, ptr %p" = add i32 %"a = b", %"3"
  %"7" = add i32 %0, 1
  %1 = add i32 %"7", %"load i32, ptr %p"
  %"%percent" = add i32 %1, 2
  %"\\22quoted\\22" = add i32 %"%percent", 3
  %"\\2242\\22" = add i32 %"\\22quoted\\22", 4
  %"back\\5Cslash" = add i32 %"\\2242\\22", 5
  %"\\C3\\A9" = add i32 %"back\\5Cslash", 6
  %"; comment" = add i32 %"\\C3\\A9", 8
  %x.y-z$w_ = add i32 %"; comment", 9
  %-dash = add i32 %x.y-z$w_, 10
  br i1 true, label %"second, block", label %"12"
"second, block":
  %phi = phi i32 [ %-dash, %"first block" ]
  br label %"12"
"12":
  store i32 %0, ptr @"with space"
  store i32 %0, ptr @with.dots-and$dollars_
  switch i32 %0, label %"end:" [ i32 1, label %"second, block.2" ]
"second, block.2":
  call void @"function, (odd)"(i32 1, i32 2, i32 3, i32 4)
  br label %"end:"
"end:":
  ret void
}
"""

FUNCTIONS = """
$c = comdat any
@data = constant i8 1
declare i32 @personality(...)
declare void @unnamed_parameters(i32, ptr)
declare !tagged !0 !other !1 noundef ptr @attached(ptr readonly)
declare extern_weak void @maybe()
declare void @vararg(...)
declare dllimport ptx_device signext i8 @words(i8 zeroext) local_unnamed_addr addrspace(1) #0 align 32
define private void @private() { ret void }
define internal fastcc noundef range(i32 0, 8) i32 @internal(i32 range(i32 0, 5) %x) unnamed_addr { ret i32 1 }
define linkonce_odr dso_local void @lodr() comdat($c) { ret void }
define weak hidden void @c() comdat { ret void }
define available_externally void @available() { ret void }
define protected dllexport void @protected() { ret void }
define void @placed() section ".text.\\22x\\22" partition "p" align 16 gc "statepoint-example" { ret void }
define void @prefixed() prefix i32 123 prologue i8 -61 { ret void }
define void @struct_prefix() prefix { i32, ptr } { i32 1, ptr @data } prologue <{ i8, i8 }> <{ i8 1, i8 2 }> personality ptr @personality { ret void }
define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly align 16 captures(none) %in, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map, i32 %n) #1 !kernel_arg !0 !reqd !1 {
  ret void
}
define void @parameters(ptr sret({ i32, i8 }) %c, ptr noalias nonnull noundef dereferenceable(16) %a, ptr dereferenceable_or_null(8) align 8 %b, ptr byref(i64) %d, i8 inreg noundef %e, ptr swiftself %f, ptr captures(address, read_provenance) writeonly %g, ptr initializes((0, 4), (8, 12)) %h, float nofpclass(nan inf) %i, i32 "s"="t" %j) { ret void }
define void @inline_attributes() nounwind noinline optnone "tool-version"="1.2" "no-value" memory(argmem: readwrite, inaccessiblemem: none) { ret void }
define ptr @swift(ptr swifterror %e, ptr swiftasync %f, ptr nest %g, ptr returned %h) { ret ptr %h }
define void @unnamed(i32, i32 %x, ptr noundef) { ret void }
define i32 @"variadic"(i32 %x, ...) { ret i32 0 }
attributes #0 = { cold nocallback nofree norecurse nosync willreturn mustprogress memory(none) }
attributes #1 = { convergent alignstack=16 uwtable(sync) vscale_range(1,16) "nvvm.reqntid"="128,1,1" "nvvm.maxnreg"="168" "text"="a \\22b\\22 \\5C \\0A" "empty"="" }
!0 = !{!"k"}
!1 = !{i32 1}
"""

ATTRIBUTES = """
declare ptr @allocates(i64, i64) #0
declare void @ranges(i32) #1
declare void @jumps() #2
define void @strings() #3 { ret void }
define void @newline_key() "a\\0Ab"="c" { ret void }
define void @newline_gc() gc "x\\0Ay" { ret void }
attributes #0 = { allockind("alloc,uninitialized,aligned") allocsize(0,1) "alloc-family"="malloc" }
attributes #1 = { noinline nomerge }
attributes #2 = { returns_twice presplitcoroutine sanitize_address sspstrong strictfp uwtable nounwind }
attributes #3 = { "a"="1" "b" "c"="x=y, z" "d"="{ }" }
"""

MODULE = """
source_filename = "a \\22file\\22.ll"
target datalayout = "e-p:64:64-p3:32:32-i64:64-v16:16-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
module asm "first line"
module asm ".global \\22x\\22 \\5C;"
@x = global i32 0
define void @k() { ret void }
!nvvm.annotations = !{!0}
!llvm.module.flags = !{!1, !2, !3}
!empty = !{}
!odd\\20name\\22 = !{!4, !4}
!inline = !{!DIExpression(DW_OP_plus_uconst, 4), !4}
!0 = !{ptr @k, !"grid_constant", !5}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
!2 = !{i32 1, !"wchar_size", i32 -4}
!3 = !{i32 1, !"words", !"text"}
!4 = distinct !{!4, null, i1 true, !"s \\22 \\5C", !5, ptr @x, float 1.0, <2 x i32> <i32 1, i32 2>, !DIExpression()}
!5 = !{}
"""

DEBUG = """
source_filename = "kernel.py"
define void @f(i32 %x, ptr %p) !dbg !4 {
entry:
    #dbg_value(i32 %x, !9, !DIExpression(), !10)
    #dbg_declare(ptr %p, !9, !DIExpression(DW_OP_deref), !10)
  %y = add i32 %x, 1, !dbg !10
    #dbg_label(!16, !10)
    #dbg_value(!DIArgList(i32 %x, i32 %y), !9, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus), !11)
  store i32 %y, ptr %p, align 4, !dbg !11, !tbaa !17, !DIAssignID !20
    #dbg_assign(i32 %y, !9, !DIExpression(), !20, ptr %p, !DIExpression(), !12)
  call void @g(i32 %y), !dbg !12
  %z = call i32 asm "x", "=r"(), !srcloc !19, !dbg !12
  br label %next, !dbg !13, !llvm.loop !18
next:
  %q = load i32, ptr %p, align 4, !range !21, !dbg !14
  ret void, !dbg !15
}
declare void @g(i32)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "p (\\22x\\22), y: z", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "kernel.py", directory: "/home/user/project", checksumkind: CSK_MD5, checksum: "00000000000000000000000000000000")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "f", linkageName: "_Z1f", scope: !1, file: !1, line: 10, type: !5, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(types: !{})
!6 = !DIFile(filename: "/opt/lib/helper.py", directory: "/home/user/project")
!7 = distinct !DILexicalBlock(scope: !4, file: !1, line: 12, column: 3)
!8 = !DILexicalBlockFile(scope: !7, file: !6, discriminator: 2)
!9 = !DILocalVariable(name: "v", scope: !4, file: !1, line: 11, type: !22)
!10 = !DILocation(line: 11, column: 5, scope: !4)
!11 = !DILocation(line: 12, column: 7, scope: !7)
!12 = !DILocation(line: 99, column: 1, scope: !8)
!13 = !DILocation(line: 0, scope: !4)
!14 = !DILocation(line: 3, column: 2, scope: !23, inlinedAt: !24)
!15 = !DILocation(line: 14, column: 1, scope: !4, isImplicitCode: true)
!16 = !DILabel(scope: !4, name: "l", file: !1, line: 5)
!17 = !{!25, !25, i64 0}
!18 = distinct !{!18, !26}
!19 = !{i64 12}
!20 = distinct !DIAssignID()
!21 = !{i32 0, i32 10}
!22 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!23 = distinct !DISubprogram(name: "inlined", scope: !6, file: !6, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!24 = distinct !DILocation(line: 13, column: 9, scope: !7)
!25 = !{!"int", !27, i64 0}
!26 = !{!"llvm.loop.unroll.disable"}
!27 = !{!"root"}
"""

STATEPOINT = """
declare void @callee()
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
define ptr addrspace(1) @f(ptr addrspace(1) %a, ptr addrspace(1) %"b c") gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @callee, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %a, ptr addrspace(1) %"b c") ]
  %r = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 1)
  ret ptr addrspace(1) %r
}
"""

GPU = """
target triple = "nvptx64-nvidia-cuda"
@smem = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6), i64, i64, i32, i1, i32 immarg, i32 immarg, i32 immarg)
declare <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6), i1 immarg)
declare void @llvm.nvvm.tensormap.replace.elemtype.p1(ptr addrspace(1), i32 immarg)
declare void @llvm.nvvm.tcgen05.mma.cta_group__1(i32, i64, i64, i32, i32, i1)
define ptx_kernel void @gemm(ptr addrspace(1) noalias align 16 %out, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map, ptr addrspace(6) %d, i64 %a, i64 %b, i32 %idesc) #0 {
entry:
  %tid = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %issue, label %wait
issue:
  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %d, i64 %a, i64 %b, i32 %idesc, i1 false, i32 0, i32 1, i32 0)
  call void @llvm.nvvm.tcgen05.mma.cta_group__1(i32 0, i64 %a, i64 %b, i32 9, i32 0, i1 true), !nvgen.atom !0
  call void @llvm.nvvm.tensormap.replace.elemtype.p1(ptr addrspace(1) %out, i32 5), !nvgen.atom !0
  br label %wait
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %t = call <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6) %d, i1 false)
  %e0 = extractelement <4 x i32> %t, i64 0
  %f0 = bitcast i32 %e0 to float
  %s = fmul contract float %f0, 0x3FB99999A0000000
  %h = fptrunc float %s to half
  %off = zext nneg i32 %tid to i64
  %addr = getelementptr inbounds nuw half, ptr addrspace(1) %out, i64 %off
  store half %h, ptr addrspace(1) %addr, align 2
  %w = getelementptr i8, ptr addrspace(3) @smem, i32 %tid
  %m = tail call { i32, i32 } asm sideeffect "mbarrier.try_wait.parity.shared.b64 $0, [$2], $3;", "=r,=r,r,r,~{memory}"(ptr addrspace(3) %w, i32 1) #1
  %m0 = extractvalue { i32, i32 } %m, 0
  %st = insertvalue { i32, float } poison, i32 %m0, 0
  ret void
}
attributes #0 = { convergent "nvvm.reqntid"="128,1,1" "nvvm.cluster_dim"="2,1,1" }
attributes #1 = { convergent nounwind }
!0 = !{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}
"""

PROGRAM_SPACE = """
target datalayout = "P4"
declare i32 @personality(...)
declare void @callee()
define void @f(ptr addrspace(4) %fp, ptr %data) personality ptr addrspace(4) @personality {
  call addrspace(4) void @callee()
  call addrspace(0) void %data()
  invoke addrspace(4) void %fp() to label %ok unwind label %pad
ok:
  call addrspace(4) void asm "", ""()
  ret void
pad:
  %lp = landingpad { ptr, i32 } cleanup
  unreachable
}
"""

CASES: dict[str, str] = {
    "integer arithmetic": INTEGER_ARITHMETIC,
    "float arithmetic": FLOAT_ARITHMETIC,
    "casts": CASTS,
    "comparisons": COMPARISONS,
    "memory": MEMORY,
    "atomics": ATOMICS,
    "vectors": VECTORS,
    "aggregates": AGGREGATES,
    "control flow": CONTROL_FLOW,
    "exceptions": EXCEPTIONS,
    "funclets": FUNCLETS,
    "calls": CALLS,
    "variable arguments": VARIABLE_ARGUMENTS,
    "constants": CONSTANTS,
    "floats": FLOATS,
    "globals": GLOBALS,
    "types": TYPES,
    "names": NAMES,
    "functions": FUNCTIONS,
    "attributes": ATTRIBUTES,
    "module": MODULE,
    "debug": DEBUG,
    "statepoint": STATEPOINT,
    "gpu": GPU,
    "program address space": PROGRAM_SPACE,
}


@cache
def parsed(name: str) -> llvm.ModuleRef:
    """A case as LLVM holds it, verified."""
    return _parse(CASES[name])


@cache
def printed(name: str) -> str:
    """A case as LLVM prints it."""
    return str(parsed(name))


def print_of(text: str) -> str:
    """Any LLVM IR as LLVM prints it."""
    return str(_parse(text))


def _parse(text: str) -> llvm.ModuleRef:
    # A context of its own: in a shared one LLVM renames a type whose name another module uses.
    module = llvm.parse_assembly(text, context=llvm.create_context())
    module.verify()
    return module
