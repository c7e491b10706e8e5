"""LLVM IR with every kind of constant, global, type, name, attribute and metadata that LLVM 22 prints."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

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
define i32 @in_a_space(i32 %x) addrspace(1) { ret i32 %x }
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
