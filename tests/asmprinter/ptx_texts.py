"""PTX modules in the manner of several producers, for tests that read, print or spoil them."""

from __future__ import annotations

TENSOR_CORE = """\
//
// One tile: A and B by TMA, D in tensor memory.
//
.version 8.6
.target sm_100a
.address_size 64

.extern .shared .align 1024 .b8 smem[];
.shared .align 8 .b64 bars[2];

.visible .entry gemm(
	.param .align 64 .b8 gemm_a[128],
	.param .u64 .ptr .global .align 16 gemm_d
)
.reqntid 128, 1, 1
{
	.reg .pred %p<4>;
	.reg .b32 %r<40>;
	.reg .b64 %rd<8>;
	.reg .f32 acc0, acc1;

	mov.u32 %r1, %tid.x;
	setp.ne.s32 %p1, %r1, 0;
	@%p1 bra $L_ready;
	mbarrier.init.shared.b64 [bars], 1;
	mbarrier.init.shared.b64 [bars+8], 1;
	fence.mbarrier_init.release.cluster;
$L_ready:
	tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 128; // columns
	bar.sync 0;
	ld.shared.b32 %r2, [smem];
	mbarrier.arrive.expect_tx.shared.b64 _, [bars], 16384;
	mov.b64 %rd1, gemm_a;
	cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes
		[smem], [%rd1, {0, %r1}], [bars];
$L_wait:
	mbarrier.try_wait.parity.shared.b64 %p2, [bars], 0, 10000000;
	@!%p2 bra $L_wait;
	mov.b64 %rd2, 0x4000404000010000;
	mov.b32 %r3, 136380688;
	mov.pred %p3, 0;
	tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r2], %rd2, %rd2, %r3, %p3;
	tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd2, %rd2, %r3, 1;
	tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars+8];
	tcgen05.fence::after_thread_sync;
	tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10, %r11, %r12, %r13}, [%r2+16];
	tcgen05.wait::ld.sync.aligned;
	ld.param.u64 %rd3, [gemm_d];
	cvta.to.global.u64 %rd4, %rd3;
	st.global.v4.b32 [%rd4+-16], {%r10, %r11, %r12, %r13};
	mov.f32 acc0, 0f3F800000;
	mov.f32 acc1, acc0;
	tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 128;
	tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
	ret;
}
"""

SCALAR = """\
// Code as compilers for C++ write it: debug lines, generic addresses, nested scopes.
.version 7.8
.target sm_80
.address_size 64
.file	1 "/src/saxpy.cu"
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 0xff, 0, 0, 7};
.const .align 8 .b64 scale = 17;
.visible .entry saxpy(.param .u32 n, .param .u64 x)
.maxntid 256, 1, 1
.minnctapersm 2
{
	.reg .pred 	%p<3>;
	.reg .b16 %rs<2>;
	.reg .b32 	%r<9>;
	.reg .b64 %rd<7>;
	.loc	1 3 0
	ld.param.u32 	%r1, [n];
	ld.param.u64 	%rd1, [x];
	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
	mad.lo.s32 	%r5, %r2, %r3, %r4;
	setp.ge.u32 %p1|%p2, %r5, %r1;
	@%p1 bra 	$L__BB0_3;
	cvt.s64.s32 %rd2, %r5;
	shl.b64 %rd3, %rd2, 2;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.u8 %rs1, [table+4];
	ld.const.u64 %rd5, [scale];
	{ .reg .b32 %lo, %hi;
	mov.b64 {%lo, %hi}, %rd5;
	add.s32 %r6, %lo, %hi; }
	selp.b32 %r7, %r6, -1, %p2;
	abs.s32 %r8, %r7;
	st.global.v2.u32 [%rd4], {%r7, %r8};
	bra.uni $L__BB0_3;
$L__BB0_3:
	ret;
}
.func helper(.param .b32 helper_param_0)
{
	.reg .b32 t;
	ld.param.b32 t, [helper_param_0];
	ret;
}
"""

TEXTS = {"tensor core": TENSOR_CORE, "scalar": SCALAR}
