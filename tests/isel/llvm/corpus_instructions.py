"""LLVM IR with every kind of instruction that computes or accesses memory, as LLVM 22 prints them."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

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
