"""Tile loads to other CTAs of a cluster: multicasts, and mbarriers of a CTA pair.

Expected: the tile at the same offset of every CTA of the mask, and its bytes counted on the
mbarrier at the same offset there, or in the CTA of its pair that the mbarrier's parity names.
PTX ISA, cp.async.bulk.tensor.  Tests marked `gpu` run on a GPU as well.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nvgen.launching.tensor_map import tensor_map
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings, run

Words = NDArray[np.uint32]

FILLER = 0xC3C3C3C3
WORDS = 128
"""Words of shared memory that a CTA shows; 32 make a tile."""

VARIABLES = f".shared .align 1024 .b32 tile[{WORDS}];\n.shared .align 8 .b64 bar;\n"
SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
COPY = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
PREPARE = f"""
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, tile; mov.u32 %r3, bar;
    mad.lo.u32 %r4, %tx, 4, %r2;
    st.shared.u32 [%r4], {FILLER};
    setp.ne.u32 %p1, %tx, 0;
    @!%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async;
    {SYNC}
    @%p1 bra SHOW;
"""
SHOW = f"""
SHOW:
    barrier.cluster.arrive; barrier.cluster.wait;
    ld.shared.u32 %r5, [%r4];
    mov.u32 %r6, %ctaid.x; mad.lo.u32 %r6, %r6, {WORDS}, %tx;
    mad.wide.u32 %rd1, %r6, 4, %a1;
    st.global.u32 [%rd1], %r5;
    {SYNC}"""


def wait(label: str, parity: int = 0) -> str:
    return f"""{label}:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [%r3], {parity};
    @!%p9 bra {label};"""


def expects(mask: int, size: int) -> str:
    """The CTAs of `mask` expect `size` bytes; the others go on."""
    return f"""
    shr.u32 %r7, {mask}, %r1; and.b32 %r7, %r7, 1; setp.eq.u32 %p2, %r7, 0;
    @!%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};"""


def source() -> Words:
    return np.arange(8 * 32, dtype=np.uint32).reshape(8, 32) * 7 + 1


def shown(body: str, size: int, schedule: str) -> Words:
    """What is in the shared memory of each CTA behind `body`, by one thread of each."""
    seen = np.zeros((size, WORDS), np.uint32)
    run(
        PREPARE + body + SHOW, tensor_map(source(), (1, 32)), seen, variables=VARIABLES,
        threads=WORDS, schedule=schedule, grid=(size, 1, 1), cluster=(size, 1, 1),
    )  # fmt: skip
    return seen


@pytest.mark.gpu
@pytest.mark.parametrize("mask", range(16))
def test_a_multicast_goes_to_the_ctas_of_its_mask(mask: int):
    """From CTA 2, into the second quarter of the tile, whether it is in the mask or not."""
    body = f"""{expects(mask, 128)}
    setp.ne.u32 %p3, %r1, 2;
    @%p3 bra GO;
    {COPY}.multicast::cluster [tile+128], [%m0, {{0, 5}}], [bar], {mask};
GO: @%p2 bra SHOW;
    {wait("W")}"""
    expected = np.full((4, WORDS), FILLER, np.uint32)
    for rank in range(4):
        if mask >> rank & 1:
            expected[rank, 32:64] = source()[5]
    for schedule in SCHEDULES if mask in (1, 6, 15) else ("random:5",):
        assert (shown(body, 4, schedule) == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_everyone_sends_a_quarter_to_everyone(schedule: str):
    body = f"""{expects(15, 512)}
    mad.lo.u32 %r8, %r1, 128, %r2; add.u32 %r9, %r1, 3;
    {COPY}.multicast::cluster [%r8], [%m0, {{0, %r9}}], [bar], 15;
    {wait("W")}"""
    assert (shown(body, 4, schedule) == source()[3:7].reshape(-1)).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_copy_to_one_other_cta(schedule: str):
    """Its address and its mbarrier's are both those of the next CTA."""
    body = f"""{expects(15, 128)}
    add.u32 %r8, %r1, 1; and.b32 %r8, %r8, 3;
    mapa.shared::cluster.u32 %r9, %r2, %r8; mapa.shared::cluster.u32 %r10, %r3, %r8;
    {COPY} [%r9], [%m0, {{0, %r1}}], [%r10];
    {wait("W")}"""
    seen = shown(body, 4, schedule)
    assert (seen[:, :32] == source()[[3, 0, 1, 2]]).all()
    assert (seen[:, 32:] == FILLER).all()


# ---- pairs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_even_cta_counts_the_bytes_of_its_pair(schedule: str):
    """Bit 24 of the mbarrier's address is cleared: the odd CTA's tile is counted there too."""
    body = f"""{expects(5, 256)}
    and.b32 %r8, %r3, 0xFEFFFFFF;
    {COPY}.cta_group::2 [tile], [%m0, {{0, %r1}}], [%r8];
    @%p2 bra SHOW;
    {wait("W")}"""
    seen = shown(body, 4, schedule)
    assert (seen[:, :32] == source()[:4]).all()


@pytest.mark.parametrize("parity", [0, 1])
@each("mask", range(1, 16))
def test_a_multicast_is_counted_in_the_ctas_of_one_parity(mask: int, parity: int):
    """CTA 1 sends; its mbarrier, or that of its peer, says which parity is told."""
    told = {(rank & ~1) | parity: 0 for rank in range(4) if mask >> rank & 1}
    for rank in range(4):
        if mask >> rank & 1:
            told[(rank & ~1) | parity] += 128
    said = sum(1 << rank for rank in told)
    sizes = "".join(
        f"setp.eq.u32 %p4, %r1, {rank};\n"
        f"@%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};\n"
        for rank, size in told.items()
    )
    body = f"""{sizes}
    shr.u32 %r7, {said}, %r1; and.b32 %r7, %r7, 1; setp.eq.u32 %p2, %r7, 0;
    setp.ne.u32 %p3, %r1, 1;
    @%p3 bra GO;
    mapa.shared::cluster.u32 %r8, %r3, {parity};
    {COPY}.multicast::cluster.cta_group::2 [tile], [%m0, {{0, 6}}], [%r8], {mask};
GO: @%p2 bra SHOW;
    {wait("W")}"""
    for schedule in ("early", "late", "random:2"):
        seen = shown(body, 4, schedule)
        for rank in range(4):
            expected = source()[6] if mask >> rank & 1 else FILLER
            assert (seen[rank, :32] == expected).all()


# ---- what goes wrong -------------------------------------------------------------------------

MISTAKES = {
    "the mbarrier of another CTA": (
        f"mapa.shared::cluster.u32 %r8, %r3, 3; {COPY} [tile], [%m0, {{0, 0}}], [%r8];",
        "tma-mbarrier"),
    "the mbarrier of another pair": (
        f"mapa.shared::cluster.u32 %r8, %r3, 3; setp.gt.u32 %p3, %r1, 1; @%p3 bra SHOW;"
        f"{COPY}.cta_group::2 [tile], [%m0, {{0, 0}}], [%r8];", "tma-mbarrier"),
    "a copy to .shared::cta that tells another CTA": (
        "xor.b32 %r8, %r3, 0x1000000;\n" + COPY.replace("shared::cluster", "shared::cta")
        + ".cta_group::2 [tile], [%m0, {0, 0}], [%r8];", "shared-cta"),
    "a mask of CTAs that there are not": (
        f"{COPY}.multicast::cluster [tile], [%m0, {{0, 0}}], [bar], 31;", "cluster-rank"),
    "a multicast to a CTA that leaves": (
        f"{expects(5, 128)} setp.ne.u32 %p3, %r1, 2; @%p3 bra GO;"
        f"{COPY}.multicast::cluster [tile], [%m0, {{0, 0}}], [bar], 5;\nGO:"
        "setp.eq.u32 %p3, %r1, 0; @%p3 exit;\n" + wait("W") + "exit;", "exited-cta"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("body", "rule"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(body: str, rule: str, schedule: str):
    seen = np.zeros((4, WORDS), np.uint32)
    text = PREPARE.replace("@%p1 bra SHOW;", "@%p1 exit;") + body
    text += "SHOW: barrier.cluster.arrive; barrier.cluster.wait;"
    found = findings(
        text, tensor_map(source(), (1, 32)), seen, variables=VARIABLES, threads=WORDS,
        schedule=schedule, grid=(4, 1, 1), cluster=(4, 1, 1),
    )  # fmt: skip
    assert [f.rule for f in found] == ["sim/" + rule]
    assert found[0].place.line
