"""PTX kernels with wgmma as texts: mnemonics, a head, and the parts that several share."""

from __future__ import annotations

from string import Template

_SUMS = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"

MNEMONICS = {
    "m0": f"{_SUMS} {{%f0, %f1, %f2, %f3}}",
    "m1": f"{_SUMS} {{%f4, %f5, %f6, %f7}}",
    "r0": f"{_SUMS} {{%f0, %f1, %f2, %f3}}, {{%r30, %r31, %r32, %r33}}",
    "m16": "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
    "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}",
    "t0": "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0, %f1, %f2, %f3}",
    "rest": "1, 1, 1, 0, 0",
    "new": "0, 1, 1, 0, 0",
    "fence": "wgmma.fence.sync.aligned",
    "commit": "wgmma.commit_group.sync.aligned",
    "wait": "wgmma.wait_group.sync.aligned",
    "proxy": "fence.proxy.async.shared::cta",
    "init": "mbarrier.init.shared::cta.b64",
    "expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _,",
    "arrive": "mbarrier.arrive.shared::cta.b64 _,",
    "try": "mbarrier.try_wait.parity.shared::cta.b64",
    "copy": "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
    "more": "setmaxnreg.inc.sync.aligned.u32",
    "fewer": "setmaxnreg.dec.sync.aligned.u32",
}

HEAD = """\
.version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 a_ring[32768];
.shared .align 1024 .b8 b_ring[8192];
.shared .align 8 .b64 full[4];
.shared .align 8 .b64 empty[4];
.visible .entry k(
    .param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128],
    .param .u64 out, .param .u32 steps)
{shape}
{{
    .reg .pred %p<20>;
    .reg .b32 %r<60>;
    .reg .b64 %rd<40>;
    .reg .f32 %f<20>;
"""

DESCRIPTORS = """
    mov.u32 %r10, a_ring;
    and.b32 %r10, %r10, 262143;
    shr.u32 %r10, %r10, 4;
    cvt.u64.u32 %rd1, %r10;
    or.b64 %rd1, %rd1, 4611686293305294848;
    mov.u32 %r11, b_ring;
    and.b32 %r11, %r11, 262143;
    shr.u32 %r11, %r11, 4;
    cvt.u64.u32 %rd2, %r11;
    or.b64 %rd2, %rd2, 4611686293305294848;
"""
"""%rd1 and %rd2 describe the beginnings of both rings, with 128-byte swizzling."""

ZEROS = """
    mov.f32 %f0, 0f00000000;
    mov.f32 %f1, 0f00000000;
    mov.f32 %f2, 0f00000000;
    mov.f32 %f3, 0f00000000;
"""

OUT = """
    ld.param.u64 %rd30, [out];
    cvta.to.global.u64 %rd30, %rd30;
    st.global.v4.f32 [%rd30], {%f0, %f1, %f2, %f3};
    ret;
"""


def kernel(body: str, shape: str = ".reqntid 128") -> str:
    """A module of one kernel @k."""
    return Template(HEAD.format(shape=shape) + body.strip("\n") + "\n}\n").substitute(MNEMONICS)


BEGIN = """
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    $init [full], 1;
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
"""

LOAD = """
    @%p1 bra LOADED;
    mov.b64 %rd10, map_a;
    cvta.param.u64 %rd11, %rd10;
    mov.b64 %rd12, map_b;
    cvta.param.u64 %rd13, %rd12;
    $expect [full], 9216;
    $copy [a_ring], [%rd11, {0, 0}], [full];
    $copy [b_ring], [%rd13, {0, 0}], [full];
LOADED:
    $try %p2, [full], 0;
    @!%p2 bra LOADED;
"""

FILL = """
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 6;
    mov.u32 %r3, a_ring;
    add.s32 %r3, %r3, %r2;
    st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r3+16], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r3+32], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r3+48], {%r1, %r1, %r1, %r1};
    mov.u32 %r4, b_ring;
    add.s32 %r4, %r4, %r2;
    st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r4+16], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r4+32], {%r1, %r1, %r1, %r1};
    st.shared.v4.b32 [%r4+48], {%r1, %r1, %r1, %r1};
    $proxy;
    bar.sync 0;
"""
"""Threads write a matrix of 64 rows to the beginning of each ring."""
