"""Clusters: who is who, addresses in the shared memory of other CTAs, and launches.

Expected values are the manual's: PTX ISA, Special Registers (%cluster_ctarank and its like), mapa,
getctarank.  Tests marked `gpu` run on a GPU as well.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import InputError
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from tests.sim.ptx import SCHEDULES, kernel, run

Dim3 = tuple[int, int, int]

SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
JOIN = "barrier.cluster.arrive; barrier.cluster.wait;"
"""The same where the threads of a warp may come one by one."""

NUMBER = """
    mov.u32 %r50, %ctaid.x; mov.u32 %r51, %ctaid.y; mov.u32 %r52, %ctaid.z;
    mov.u32 %r53, %nctaid.x; mov.u32 %r54, %nctaid.y;
    mad.lo.u32 %r52, %r52, %r54, %r51; mad.lo.u32 %r50, %r52, %r53, %r50;
"""
"""The number of the CTA in the grid, x first, in %r50."""


def first_thread(body: str) -> str:
    return f"setp.eq.u32 %p15, %tx, 0;\n@!%p15 bra REST;\n{body}\nREST:\n"


def indices(grid: Dim3) -> list[Dim3]:
    return [(x, y, z) for z, y, x in itertools.product(*(range(n) for n in grid[::-1]))]


# ---- who is who ------------------------------------------------------------------------------

SPECIAL = (
    *(f"{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
      for axis in "xyz"),
    "cluster_ctarank", "cluster_nctarank",
)  # fmt: skip


def manual(index: Dim3, grid: Dim3, cluster: Dim3) -> list[int]:
    """The registers of `SPECIAL` as the manual defines them."""
    inner = [i % c for i, c in zip(index, cluster, strict=True)]
    return [
        *(i // c for i, c in zip(index, cluster, strict=True)),
        *(g // c for g, c in zip(grid, cluster, strict=True)),
        *inner,
        *cluster,
        inner[0] + inner[1] * cluster[0] + inner[2] * cluster[0] * cluster[1],
        cluster[0] * cluster[1] * cluster[2],
    ]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("grid", "cluster"),
    [
        ((4, 1, 1), (1, 1, 1)),
        ((4, 1, 1), (4, 1, 1)),
        ((6, 2, 1), (3, 1, 1)),
        ((4, 4, 2), (2, 2, 1)),
        ((2, 2, 4), (1, 1, 4)),
        ((4, 2, 6), (2, 2, 2)),
        ((3, 6, 2), (1, 3, 2)),
    ],
    ids=str,
)
def test_ranks(grid: Dim3, cluster: Dim3):
    found = np.zeros((int(np.prod(grid)), len(SPECIAL)), np.uint32)
    size = 4 * len(SPECIAL)
    reads = "\n".join(
        f"mov.u32 %r1, %{name}; st.global.u32 [%rd1+{4 * i}], %r1;"
        for i, name in enumerate(SPECIAL)
    )
    body = f"{NUMBER} mad.wide.u32 %rd1, %r50, {size}, %a0;\n{reads}"
    run(first_thread(body), found, grid=grid, cluster=cluster)
    assert found.tolist() == [manual(index, grid, cluster) for index in indices(grid)]


@pytest.mark.gpu
@pytest.mark.parametrize(("cluster", "expected"), [((1, 1, 1), 0), ((2, 1, 1), 1)])
def test_a_cluster_that_was_asked_for_is_explicit(cluster: Dim3, expected: int):
    found = np.full(2, 7, np.uint32)
    body = f"""{NUMBER} mad.wide.u32 %rd1, %r50, 4, %a0;
    mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%rd1], %r1;"""
    run(first_thread(body), found, grid=(2, 1, 1), cluster=cluster)
    assert found.tolist() == [expected] * 2


# ---- addresses -------------------------------------------------------------------------------

SHARED = ".shared .align 8 .b32 first[5];\n.shared .align 8 .b32 s[64];\n"


@pytest.mark.gpu
def test_addresses_of_shared_variables_hold_the_rank():
    """Own ones too: this is what lets code name the even CTA of a pair by clearing bit 24."""
    found = np.zeros((4, 6), np.uint32)
    body = f"""{NUMBER} mad.wide.u32 %rd1, %r50, 24, %a0;
    mov.u32 %r1, s;
    shr.u32 %r2, %r1, 24; st.global.u32 [%rd1], %r2;
    getctarank.shared::cluster.u32 %r2, %r1; st.global.u32 [%rd1+4], %r2;
    mov.u32 %r3, %cluster_ctarank;
    mapa.shared::cluster.u32 %r4, %r1, %r3;
    xor.b32 %r4, %r4, %r1; st.global.u32 [%rd1+8], %r4;
    xor.b32 %r5, %r3, 1;
    mapa.shared::cluster.u32 %r6, s+8, %r5;
    sub.u32 %r7, %r6, %r1; st.global.u32 [%rd1+12], %r7;
    cvt.u64.u32 %rd3, %r1; cvta.shared.u64 %rd2, %rd3;
    mapa.u64 %rd4, %rd2, %r5; sub.u64 %rd5, %rd4, %rd2;
    cvt.u32.u64 %r8, %rd5; st.global.u32 [%rd1+16], %r8;
    getctarank.u64 %r9, %rd4; st.global.u32 [%rd1+20], %r9;"""
    run(first_thread(body), found, variables=SHARED, grid=(4, 1, 1), cluster=(4, 1, 1))
    for rank, row in enumerate(found):
        peer = rank ^ 1
        step = ((peer - rank) << 24) & 0xFFFFFFFF
        assert row.tolist() == [rank, rank, 0, (step + 8) & 0xFFFFFFFF, step, peer]


@pytest.mark.turns(3)
@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("how", ["shared::cluster", "generic", "generic of a mapped address"])
@pytest.mark.parametrize("size", [2, 3, 8])
def test_every_cta_reads_its_neighbour(size: int, how: str, schedule: str):
    found = np.zeros((size, 64), np.uint32)
    read = {
        "shared::cluster": "mapa.shared::cluster.u32 %r5, %r1, %r4;\n"
                           "ld.shared::cluster.u32 %r6, [%r5];",
        "generic": "cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2;\n"
                   "mapa.u64 %rd3, %rd2, %r4; ld.u32 %r6, [%rd3];",
        "generic of a mapped address": "mapa.shared::cluster.u32 %r5, %r1, %r4;\n"
                   "cvt.u64.u32 %rd2, %r5; cvta.shared::cluster.u64 %rd3, %rd2;\n"
                   "ld.u32 %r6, [%rd3];",
    }[how]  # fmt: skip
    body = f"""{NUMBER}
    mov.u32 %r1, s; mad.lo.u32 %r1, %tx, 4, %r1;
    mad.lo.u32 %r2, %r50, 1000, %tx;
    st.shared.u32 [%r1], %r2;
    {SYNC}
    add.u32 %r4, %r50, 1; rem.u32 %r4, %r4, {size};
    {read}
    mad.lo.u32 %r7, %r50, 64, %tx; mad.wide.u32 %rd1, %r7, 4, %a0;
    st.global.u32 [%rd1], %r6;
    {SYNC}"""
    run(
        body, found, variables=SHARED, threads=64, schedule=schedule,
        grid=(size, 1, 1), cluster=(size, 1, 1),
    )  # fmt: skip
    neighbours = (np.arange(size) + 1) % size
    assert (found == neighbours[:, None] * 1000 + np.arange(64)).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stores_and_atomics_reach_other_ctas(schedule: str):
    """Every thread of four CTAs adds to a word of each CTA; one thread stores into the next."""
    found = np.zeros((4, 2), np.uint32)
    adds = "\n".join(
        f"mapa.shared::cluster.u32 %r5, %r1, {rank};\n"
        f"red.relaxed.cluster.shared::cluster.add.u32 [%r5], {rank + 1};"
        for rank in range(4)
    )
    body = f"""{NUMBER}
    mov.u32 %r1, s;
    setp.eq.u32 %p1, %tx, 0;
    @%p1 st.shared.u32 [%r1], 0;
    {SYNC}
    {adds}
    add.u32 %r4, %r50, 1; and.b32 %r4, %r4, 3;
    mapa.shared::cluster.u32 %r6, %r1, %r4;
    @%p1 st.shared::cluster.u32 [%r6+4], %r50;
    {SYNC}
    mad.wide.u32 %rd1, %r50, 8, %a0;
    ld.shared.u32 %r7, [%r1]; ld.shared.u32 %r8, [%r1+4];
    @%p1 st.global.u32 [%rd1], %r7;
    @%p1 st.global.u32 [%rd1+4], %r8;"""
    run(
        body, found, variables=SHARED, threads=64, schedule=schedule,
        grid=(4, 1, 1), cluster=(4, 1, 1),
    )  # fmt: skip
    assert found.tolist() == [[(rank + 1) * 4 * 64, (rank - 1) % 4] for rank in range(4)]


# ---- launches --------------------------------------------------------------------------------


def launched(directive: str, grid: Dim3, cluster: Dim3) -> list[int]:
    """The CTAs of each cluster's rank 0, as a kernel with a directive sees them."""
    found = np.zeros(16, np.uint32)
    body = f"{NUMBER} mad.wide.u32 %rd1, %r50, 4, %a0; mov.u32 %r1, %cluster_ctarank;\n"
    body += "add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;"
    text = kernel(body, [found]).replace("a0)\n{", f"a0) {directive}\n{{")
    assert directive in text
    module = read_ptx(text).module
    early = parse_schedule("early")
    simulate(module, "k", [found], grid=grid, block=(32, 1, 1), cluster=cluster, schedule=early)
    return [int(n) for n in found if n]


def test_the_kernel_says_its_cluster():
    directive = ".explicitcluster .reqnctapercluster 2"
    assert launched(directive, (4, 1, 1), (1, 1, 1)) == [1, 2, 1, 2]
    assert launched(directive, (4, 1, 1), (2, 1, 1)) == [1, 2, 1, 2]


def test_a_grid_of_clusters():
    directive = ".reqntid 32 .blocksareclusters .reqnctapercluster 2"
    assert launched(directive, (2, 1, 1), (1, 1, 1)) == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("directive", "grid", "cluster", "rule"),
    [
        ("", (3, 1, 1), (2, 1, 1), "run/cluster-grid"),
        (".reqnctapercluster 2", (8, 1, 1), (4, 1, 1), "run/cluster"),
        ("", (32, 1, 1), (32, 1, 1), "run/cluster"),
    ],
)
def test_clusters_that_cannot_be(directive: str, grid: Dim3, cluster: Dim3, rule: str):
    with pytest.raises(InputError) as caught:
        launched(directive, grid, cluster)
    assert [f.rule for f in caught.value.findings] == [rule]


def test_clusters_have_up_to_sixteen_ctas() -> None:
    """Each CTA leaves its rank with the next one, the last one with the first."""
    body = f"""{NUMBER}
    {SYNC}
    add.u32 %r4, %r50, 1; and.b32 %r4, %r4, 15;
    mov.u32 %r1, s; mapa.shared::cluster.u32 %r5, %r1, %r4;
    st.shared::cluster.u32 [%r5], %r50;
    {SYNC}
    ld.shared.u32 %r6, [s];
    mad.wide.u32 %rd1, %r50, 4, %a0; st.global.u32 [%rd1], %r6;"""
    found, sixteen = np.zeros(16, np.uint32), (16, 1, 1)
    run(body, found, variables=SHARED, threads=1, grid=sixteen, cluster=sixteen)
    assert found.tolist() == [15, *range(15)]
