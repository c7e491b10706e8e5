"""Tensor maps that other threads use, or that are written again: proxy releases and acquires."""

from __future__ import annotations

import numpy as np
import pytest

from nvgen.launching.tensor_map import tensor_map
from tests.sim.copies.changed_maps import (
    ACQUIRE,
    BEGIN,
    CLEAR,
    RELEASE,
    TEMPLATE,
    VARIABLES,
    field,
    load,
    numbers,
    tile_of,
    workspace,
)
from tests.sim.ptx import SCHEDULES, findings

# ---- other threads ---------------------------------------------------------------------------

TWO_WARPS = """
    setp.ge.u32 %p5, %tx, 32;
    @%p5 bra behind;
{make}
{before}
behind:
    bar.sync 0;
    setp.lt.u32 %p6, %tx, 32;
    @%p6 bra end;
{after}
{load}
end:
"""


def two_warps(*, before: str = "", after: str = "") -> str:
    """The first warp makes the map, and the second one loads."""
    make = BEGIN + TEMPLATE + field("global_address", "%a3") + RELEASE
    again = "    setp.eq.u32 %p1, %lane, 0;\n    mov.u32 %r21, tile;\n" + load((0, 0))
    return TWO_WARPS.format(make=make, before=before, after=after, load=again)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("", ACQUIRE, ""), (ACQUIRE, "", ""), ("", "", "sim/tensor-map-proxy")],
)
def test_a_map_that_another_warp_has_made(before: str, after: str, expected: str, schedule: str):
    """A proxy fence with .acquire orders later accesses of its own thread, and of threads that
    synchronise with it afterwards.
    """
    array = numbers(8, 32, 7)
    seen = np.zeros(512, np.uint8)
    found = findings(
        two_warps(before=before, after=after), tensor_map(numbers(64, 32), (8, 32)), workspace(),
        seen, array, variables=VARIABLES, threads=64, schedule=schedule,
    )  # fmt: skip
    assert [f.rule for f in found] == ([expected] if expected else [])
    if not expected:
        assert np.array_equal(seen, tile_of(array, (0, 0)))


FLAG = """
    setp.eq.u32 %p1, %lane, 0;
    mov.u32 %r30, %ctaid.x;
    setp.ne.u32 %p5, %r30, 0;
    @%p5 bra other;
{make}
    bar.warp.sync 0xffffffff;
    mov.u32 %r31, 1;
    @%p1 st.relaxed.gpu.global.u32 [%a4], %r31;
    bra end;
other:
{early}
poll:
    ld.relaxed.gpu.global.u32 %r32, [%a4];
    setp.eq.u32 %p6, %r32, 0;
    @%p6 bra poll;
{late}
    mov.u32 %r21, tile;
    @%p1 mbarrier.init.shared::cta.b64 [bar], 1;
{load}
end:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("early", "late", "expected"),
    [("", ACQUIRE, ""), (ACQUIRE, "    fence.acq_rel.gpu;\n", "sim/tensor-map-proxy")],
)
def test_a_map_that_another_cta_has_made(early: str, late: str, expected: str, schedule: str):
    """The two proxy fences synchronise through a flag; an acquire before it is too early."""
    array = numbers(8, 32, 7)
    seen = np.zeros(512, np.uint8)
    make = BEGIN + TEMPLATE + field("global_address", "%a3") + RELEASE
    body = FLAG.format(make=make, early=early, late=late, load=load((0, 0)))
    found = findings(
        body, tensor_map(numbers(64, 32), (8, 32)), workspace(), seen, array,
        np.zeros(1, np.uint32), variables=VARIABLES, grid=(2, 1, 1), schedule=schedule,
    )  # fmt: skip
    assert [f.rule for f in found] == ([expected] if expected else [])
    if not expected:
        assert np.array_equal(seen, tile_of(array, (0, 0)))


# ---- maps that are written again -------------------------------------------------------------

COPY = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
EXPECT = "    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
GROUP = "    @%p1 cp.async.bulk.commit_group;\n    @%p1 cp.async.bulk.wait_group{read} 0;\n"
WAIT = """
wait0:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
    @!%p2 bra wait0;
    bar.warp.sync 0xffffffff;
"""
STORE_ZEROS = """
    @%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%a1, {0, 0}], [%r21];
"""
LOAD_TILE = f"    @%p1 {COPY} [%r21], [%a1, {{0, 0}}], [bar];\n"
WAYS = {
    "no wait": (EXPECT, LOAD_TILE, "", "race"),
    "group": (EXPECT, LOAD_TILE, GROUP.format(read=""), ""),
    "group, read": (EXPECT, LOAD_TILE, GROUP.format(read=".read"), ""),
    "mbarrier": (EXPECT, LOAD_TILE, WAIT, ""),
    "store, no wait": ("", STORE_ZEROS, "    @%p1 cp.async.bulk.commit_group;\n", "race"),
    "store, group": ("", STORE_ZEROS, GROUP.format(read=""), ""),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("way", WAYS)
def test_a_map_is_written_again_when_no_copy_uses_it(way: str, schedule: str):
    """The thread's bulk groups count the reads of tensor maps, those of loads too."""
    begin, copy, wait, expected = WAYS[way]
    array = numbers(8, 32, 7)
    made = TEMPLATE + CLEAR + field("global_address", "%a3") + RELEASE + ACQUIRE
    end = "" if "store" in way or way == "mbarrier" else WAIT
    drain = GROUP.format(read="") if "store" in way else ""
    body = BEGIN + made + begin + "    bar.warp.sync 0xffffffff;\n" + copy + wait
    body += field("global_address", "%a2") + RELEASE + end + drain
    found = findings(
        body, tensor_map(numbers(64, 32), (8, 32)), workspace(), np.zeros(512, np.uint8), array,
        variables=VARIABLES, schedule=schedule,
    )  # fmt: skip
    assert [f.rule.removeprefix("sim/") for f in found] == ([expected] if expected else [])
    if expected:
        assert "tensor map" in found[0].message
