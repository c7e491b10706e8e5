"""Uses of mbarriers that nothing orders behind mbarrier.init, or before mbarrier.inval.

Right kernels are clean under every schedule; without the piece that orders the two they are found
under every one: as a race, or, where the schedule brings the use first, as a use of what is no
mbarrier.  PTX ISA, mbarrier.init; mbarrier.inval; Memory Consistency Model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from nvgen.launching.tensor_map import tensor_map
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings

VARIABLES = """.shared .align 128 .b8 tile[1024];
.shared .align 8 .b64 bar;
.shared .align 8 .b64 other;"""

SPIN = "spin: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra spin;"
LOAD = """cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile],
    [%m0, {0, 0}], [bar];"""
UNINITIALIZED = "sim/mbarrier-uninitialized"


@dataclass(frozen=True)
class Case:
    """A kernel in which thread 0 makes `bar` with a count, then `order`, then what uses it.

    `first` is what warp 0 does behind the order, `second` what warp 1 does.
    """

    first: str
    second: str
    count: int = 1
    order: str = "bar.sync 0;"

    def body(self, *, ordered: bool) -> str:
        """The statements, with the order or without it."""
        return f"""
    setp.ne.u32 %p1, %tx, 0;
    setp.ge.u32 %p2, %tx, 32;
    setp.ne.u32 %p4, %lane, 0;
    @!%p1 mbarrier.init.shared.b64 [bar], {self.count};
    fence.mbarrier_init.release.cluster;
    {self.order if ordered else ""}
    @%p2 bra second;
    {self.first}
    bra.uni end;
second:
    {self.second}
end:"""


ARRIVE = "@!%p1 mbarrier.arrive.shared.b64 _, [bar];"
BEHIND = {
    "a wait": Case(ARRIVE, SPIN),
    "a look": Case(ARRIVE, "@!%p4 mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;"),
    "a relaxed wait": Case(ARRIVE, SPIN.replace("parity.", "parity.relaxed.cta.")),
    "an arrival": Case("", "@!%p4 mbarrier.arrive.shared.b64 _, [bar];"),
    "arrivals of a warp": Case("", "mbarrier.arrive.shared.b64 _, [bar];", count=32),
    "a relaxed arrival": Case("", "@!%p4 mbarrier.arrive.relaxed.cta.shared.b64 _, [bar];"),
    "an arrival that expects bytes": Case(
        "", "@!%p4 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;"
    ),
    "expect_tx": Case("", "@!%p4 mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 64;"),
    "a copy's bytes": Case(
        "@%p1 bra end; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;" + SPIN,
        "@%p4 bra end;" + LOAD,
    ),
    "small copies": Case("", "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];", count=32),
    "tcgen05.commit": Case(
        "@%p1 bra end;" + SPIN,
        "@%p4 bra end; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
        "[bar];",
    ),
    "mbarrier.inval": Case("", "@!%p4 mbarrier.inval.shared.b64 [bar];"),
    "lanes of one warp": Case(
        "mbarrier.arrive.shared.b64 _, [bar];", "", count=32, order="bar.warp.sync -1;"
    ),
}


def found(body: str, schedule: str) -> list[str]:
    """The rules of what is found in two warps."""
    source = np.arange(256, dtype=np.uint8).reshape(4, 64)
    map_ = tensor_map(source, (4, 64))
    all_ = findings(body, map_, source, variables=VARIABLES, threads=64, schedule=schedule)
    return [f.rule for f in all_]


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", BEHIND)
def test_a_use_behind_the_making_is_right(name: str, schedule: str) -> None:
    assert found(BEHIND[name].body(ordered=True), schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", BEHIND)
def test_a_use_that_nothing_orders_behind_it_is_found(name: str, schedule: str) -> None:
    (rule,) = found(BEHIND[name].body(ordered=False), schedule)
    assert rule in ("sim/race", UNINITIALIZED)
    if schedule == "early":
        assert rule == "sim/race", "warp 0 runs first"


# ---- what comes behind a use ---------------------------------------------------------------------

USED = {
    "given back": "mbarrier.inval.shared.b64 [bar];",
    "made again": "mbarrier.inval.shared.b64 [bar]; @!%p1 mbarrier.init.shared.b64 [bar], 1;",
    "stored to": "st.shared.u64 [bar], 0;",
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("what", USED)
def test_what_ends_an_mbarrier_comes_behind_all_uses(what: str, schedule: str) -> None:
    """Warp 1 waits, then meets warp 0, whose first thread ends the mbarrier; or does not meet it.

    Without the barrier the wait may come behind the end, which is found as well.
    """
    case = Case(f"{ARRIVE} bar.sync 1; @!%p1 {USED[what]}", SPIN + "bar.sync 1;")
    right = case.body(ordered=True)
    assert found(right, schedule) == []
    (rule,) = found(right.replace("bar.sync 1;", ""), schedule)
    assert rule in ("sim/race", UNINITIALIZED)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_copy_that_is_not_waited_for_may_still_signal(schedule: str) -> None:
    """Whoever waited for its bytes may give the mbarrier back; whoever did not, may not."""
    issue = "@%p1 bra end; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;" + LOAD
    right = Case(f"{issue} {SPIN} mbarrier.inval.shared.b64 [bar];", "").body(ordered=True)
    assert found(right, schedule) == []
    (rule,) = found(right.replace(SPIN, ""), schedule)
    assert rule in ("sim/race", "sim/exit-pending", "sim/exited-cta", UNINITIALIZED)
    assert schedule != "early" or rule == "sim/race"


# ---- clusters ------------------------------------------------------------------------------------

REMOTE = """
    setp.ne.u32 %p1, %tx, 0;
    mov.u32 %r4, %cluster_ctarank;
    @%p1 bra made;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
made:
    bar.warp.sync -1;
    barrier.cluster.arrive{sem}.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra end;
    xor.b32 %r4, %r4, 1;
    mapa.shared::cluster.u32 %r5, bar, %r4;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
    mbarrier_wait: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p3, [bar], 0;
    @!%p3 bra mbarrier_wait;
end:
    bar.warp.sync -1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;"""
FENCE = "fence.mbarrier_init.release.cluster;"


def across(body: str, schedule: str) -> list[str]:
    """The rules of what is found in a cluster of two CTAs of one warp."""
    out = np.zeros(1, np.uint32)
    all_ = findings(
        body, out, variables=VARIABLES, schedule=schedule, grid=(2, 1, 1), cluster=(2, 1, 1)
    )
    return [f.rule for f in all_]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("sem", ["", ".relaxed"])
def test_an_arrival_from_another_cta(sem: str, schedule: str) -> None:
    assert across(REMOTE.format(sem=sem), schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("sem", "race"), [("", False), (".relaxed", True)])
def test_a_relaxed_barrier_of_the_cluster_needs_the_fence(
    sem: str, race: bool, schedule: str
) -> None:
    """barrier.cluster.arrive releases, unless it is relaxed."""
    body = REMOTE.format(sem=sem).replace(FENCE, "")
    assert across(body, schedule) == (["sim/race"] if race else [])
