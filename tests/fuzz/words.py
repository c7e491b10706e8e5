"""Words of LLVM IR that are put where they may not belong: types, nodes, instructions, names."""

from __future__ import annotations

_TYPES = """\
i1 | i2 | i7 | i8 | i16 | i24 | i32 | i48 | i64 | i65 | i128 | i129 | i1000 | i8388607 | half |
bfloat | float | double | fp128 | x86_fp80 | ptr | void | label | metadata | token | opaque | {}
| {i32} | <{i8,i32}> | [0 x i32] | <1 x i32> | <3 x i1> | [2 x [2 x float]] | <4 x ptr> |
<vscale x 4 x i32> | [4294967296 x i8] | <65536 x i8> | [1000000 x i32] | {i64,{i1,half}} |
[18446744073709551615 x i64] | target("spirv.Image") | ptr addrspace(3) |
ptr addrspace(16777215)
"""
TYPES = tuple(word.strip() for word in _TYPES.split("|"))

_ATTRIBUTES = """\
byval(i32) | sret(i32) | inreg | noalias | nonnull | dereferenceable(8) | align(3) | align 1 |
swifterror | immarg | returned | zeroext | signext | noundef | nofpclass(nan) | range(i8 0, 4) |
captures(none) | readonly | nest | preallocated(i32) | inalloca(i32) | elementtype(i32) |
allocalign
"""
ATTRIBUTES = tuple(word.strip() for word in _ATTRIBUTES.split("|"))

_KINDS = """\
dbg tbaa prof range nonnull align noalias alias.scope invariant.load llvm.loop nvgen.atom
callees annotation unpredictable fpmath tbaa.struct dereferenceable absolute_symbol type
associated section_prefix kcfi_type DIAssignID coro.outside.frame mmra heapallocsite
"""
KINDS = tuple(_KINDS.split())

_NODES = """\
{} | {null} | {i32 1} | {!"x"} | {i32 0,i32 0} | {!0} | {!0,!0,i64 0} |
{!"branch_weights",i32 1} | {ptr @k} | {i64 -1,i64 0} | {i32 1,!"a",!0} | {float 1.0} |
{!"function_entry_count",i64 5} | DILocation(line:1,scope:!0) | DIExpression() |
DIFile(filename:"a",directory:"b") | DISubprogram(name:"k") | DIBasicType(name:"") |
DIDerivedType(tag:DW_TAG_member) | {!9999}
"""
NODES = tuple(word.strip() for word in _NODES.split("|"))

_NAMES = """\
abs.i abs.ll swap.lo.hi.b64 atomic.load.add.f32 bitcast.f2i ldu.global.i ldg.global.f max.s
clz.ll popc.i h2f brev32 rotate.b32 ptr.gen.to.shared fabs.d mbarrier.init barrier0 barrier.n
tcgen05.wait.ld cp.async.wait.all wgmma.fence.sync.aligned tcgen05.st.16x64b.x1 ctpop bswap ctlz
powi.f32.i32 fma sin pow is.fpclass abs smul.fix ldexp.f32.i32 vector.reduce.add masked.load
objectsize lifetime.start dbg.value trap va_start returnaddress matrix.multiply x86.sse2.add.sd
aarch64.neon.abs arm.neon.vclz experimental.constrained.fadd ubsantrap invariant.group.barrier
memcpy coro.begin gc.result annotation prefetch read_register
"""
NAMES = tuple(_NAMES.split())

_LINES = r"""
%z1 = call i32 @llvm.nvvm.NAME(i32 1)
%z2 = call i64 @llvm.NAME.i64(i64 3, i1 true)
%z3 = call float @llvm.NAME.f32(float 1.0)
%z4 = call <2 x half> @llvm.NAME.v2f16(<2 x half> zeroinitializer, <2 x half> poison)
call void @llvm.NAME(ptr null)
%z5 = frem double 0x7FF8000000000000, 0.0
%z6 = load [1000 x i32], ptr null
%z7 = insertvalue { i32, [2 x float] } undef, float 1.0, 1, 9
%z8 = getelementptr inbounds [4 x { i8, i64 }], ptr null, i64 -1, i128 3, i32 1
%z9 = shufflevector <2 x i8> poison, <2 x i8> undef, <5 x i32> <i32 0, i32 9, i32 1, i32 2, i32 3>
%z10 = sdiv i128 -170141183460469231731687303715884105728, -1
%z11 = shl i1 true, true
%z12 = inttoptr i128 5 to ptr addrspace(3)
%z13 = alloca [4294967295 x i64], align 4294967296
%z14 = atomicrmw nand ptr null, i8 1 unordered
%z15 = addrspacecast ptr null to ptr addrspace(5)
%z16 = fptoui double 1.0e300 to i1
%z17 = va_arg ptr null, i32
%z18 = call i32 asm "add.s32 $0, $1, 1", "=r,r"(i32 1)
%z19 = bitcast <7 x i1> zeroinitializer to i7
%z20 = extractelement <4 x i64> splat (i64 -1), i64 18446744073709551615
%z21 = select <2 x i1> <i1 true, i1 undef>, <2 x ptr> zeroinitializer, <2 x ptr> poison
%z22 = cmpxchg weak ptr null, i16 1, i16 2 seq_cst seq_cst
%z23 = load atomic i64, ptr null unordered, align 1
switch i128 0, label %z24 [ i128 170141183460469231731687303715884105727, label %z24 ]
br i1 poison, label %0, label %0
ret void
unreachable
"""
LINES = tuple(_LINES.strip().split("\n"))
"""Instructions that are odd at their edges; NAME stands for one of `NAMES`."""

_KEYWORDS = """\
add ret mov bra call entry func reg param visible pred b32 sm_90a WARP_SZ tid.x clock64 envreg0
true define declare void i32 ptr asm undef zeroinitializer kernel target imm bb bb.0 RET k_param_0
vprintf malloc __assertfail __nv_sinf llvm.used nvvm.annotations
"""
KEYWORDS = tuple(_KEYWORDS.split())
"""Words of the three languages that a name may be, or may not."""
