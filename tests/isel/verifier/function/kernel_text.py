"""PTX kernels of the function level as texts: mnemonics, a head, a prologue and an epilogue."""

from __future__ import annotations

from string import Template

MNEMONICS = {
    "alloc": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
    "dealloc": "tcgen05.dealloc.cta_group::1.sync.aligned.b32",
    "relinquish": "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
    "before": "tcgen05.fence::before_thread_sync",
    "after": "tcgen05.fence::after_thread_sync",
    "mma": "tcgen05.mma.cta_group::1.kind::f16",
    "commit": "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
    "load": "tcgen05.ld.sync.aligned.32x32b.x2.b32",
    "store": "tcgen05.st.sync.aligned.32x32b.x2.b32",
    "loaded": "tcgen05.wait::ld.sync.aligned",
    "stored": "tcgen05.wait::st.sync.aligned",
    "init": "mbarrier.init.shared::cta.b64",
    "initialised": "fence.mbarrier_init.release.cluster",
    "expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _,",
    "arrive": "mbarrier.arrive.shared::cta.b64 _,",
    "try": "mbarrier.try_wait.parity.shared::cta.b64",
    "test": "mbarrier.test_wait.parity.shared::cta.b64",
    "copy": "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
    "idesc": "134742032",
}

VARIABLES = """\
.shared .align 1024 .b8 a_tile[16384];
.shared .align 1024 .b8 b_tile[16384];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 8 .b64 back;
.shared .align 4 .b32 slot;
.shared .align 4 .b32 slot2;
"""

RING = """\
.shared .align 1024 .b8 a_ring[65536];
.shared .align 1024 .b8 b_ring[65536];
.shared .align 8 .b64 full[4];
.shared .align 8 .b64 empty[4];
.shared .align 8 .b64 done;
.shared .align 4 .b32 slot;
"""

HEAD = """\
.version 9.0
.target sm_100a
.address_size 64
{variables}
.visible .entry k(
    .param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128],
    .param .u64 out, .param .u32 steps, .param .u64 desc_a, .param .u64 desc_b)
{shape}
{{
    .reg .pred %p<40>;
    .reg .b16 %rs<8>;
    .reg .b32 %r<160>;
    .reg .b64 %rd<80>;
"""


def kernel(body: str, shape: str = ".reqntid 128", variables: str = VARIABLES) -> str:
    """A module of one kernel @k."""
    head = HEAD.format(variables=variables, shape=shape)
    return Template(head + body.strip("\n") + "\n}\n").substitute(MNEMONICS)


PROLOGUE = """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra INITIALISED;
    $init [full], 1;
    $init [done], 1;
    $init [back], 128;
    $initialised;
INITIALISED:
    @%p1 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    shl.b32 %r4, %r2, 21;
    add.s32 %r5, %r3, %r4;
"""

EPILOGUE = """
    $before;
    bar.sync 0;
    @%p1 bra END;
    $dealloc %r3, 64;
END:
    ret;
"""
