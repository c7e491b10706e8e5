"""The first wait for a copy, and the count of an mbarrier that a whole cluster arrives at.

Each mutant differs in one number or one line from a kernel that is clean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import Severity, SimulationError
from intrinsics.modifiers import Scope
from isel.verifier.function.barriers.first_phase import FIRST_PARITY
from isel.verifier.function.barriers.mbarriers import ARRIVALS
from isel.verifier.functions import RULES
from nvgen import Kernel, KernelBuilder
from nvgen.values.pointers import Pointer

E = ElementType
STEPS, STAGES, BYTES = 4, 2, 8 * 32 * 4


@dataclass(frozen=True)
class Plan:
    """A ring from a copying warp to a reading one; the parities that each begins with."""

    consumer: int = 0
    producer: int = 1
    unrolled: bool = False


def ring(plan: Plan) -> Kernel:
    b = KernelBuilder("ring", block=64)
    b.tensor_map("source", dtype=E.F32, box=(8, 32))
    b.pointer("out", output=True)
    args = b.begin()
    source, out = args["source"], args["out"]
    assert isinstance(source, Pointer)
    assert isinstance(out, Pointer)
    tiles = b.shared_tiles("tiles", E.F32, (8, 32), STAGES, swizzle=0)
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    b.make_mbarriers((full, 1), (empty, 32))
    with b.if_thread(0):
        at = b.ring(STAGES)
        with b.range(STEPS) as step:
            b.wait(empty[at.stage], at.parity ^ plan.producer)
            b.arrive_expecting(full[at.stage], source)
            loaded = full[at.stage]
            b.cp_async_bulk_tensor_g2s_tile(tiles[at.stage].pointer, loaded, source, [0, step * 8])
            at.advance()
    with b.if_warp(1):
        lane = b.tid_x & 31
        at = b.ring(STAGES)
        with b.range(STEPS) as step:
            b.wait(full[at.stage], at.parity ^ plan.consumer)
            word = b.load_word(tiles[at.stage].pointer + (lane * 4).zext(64))
            b.mbarrier_arrive(empty[at.stage])
            b.store(word, out + ((step * 32 + lane) * 4).zext(64), align=4)
            at.advance()
    return b.finish()


def rules(kernel: Kernel) -> list[str]:
    return [f.rule for f in kernel.compile(target="sm_90a").findings]


def run(kernel: Kernel, schedule: str) -> tuple[np.ndarray, np.ndarray]:
    source = np.arange(STEPS * 256, dtype=np.float32).reshape(STEPS * 8, 32)
    out = np.zeros((STEPS, 32), np.float32)
    kernel.compile(target="sm_90a").run(source, out, schedule=schedule)
    return out, source[::8]


def test_a_right_ring_is_clean() -> None:
    kernel = ring(Plan())
    assert rules(kernel) == []
    out, expected = run(kernel, "late")
    assert (out == expected).all()


@pytest.mark.wrong_kernel
def test_a_consumer_that_begins_with_parity_1() -> None:
    kernel = ring(Plan(consumer=1))
    found = kernel.compile(target="sm_90a", level="record").findings
    (first,) = [f for f in found if f.rule == FIRST_PARITY.id]
    assert "the first wait on full, which cp.async.bulk.tensor" in first.got
    assert first.place.python_file.endswith("test_first_phase.py")
    with pytest.raises(SimulationError):
        run(kernel, "late")


def test_a_producer_that_begins_with_parity_1_is_right() -> None:
    """Nobody copies to what a producer waits for: an empty buffer is empty at first."""
    assert FIRST_PARITY.id not in rules(ring(Plan()))


@pytest.mark.wrong_kernel
def test_later_phases_have_parity_1() -> None:
    """One copy after the other, each with a wait of its own."""

    def one_by_one(first: int) -> Kernel:
        b = KernelBuilder("phases", block=32)
        b.tensor_map("source", dtype=E.F32, box=(8, 32))
        source = b.begin()["source"]
        assert isinstance(source, Pointer)
        tile, full = b.shared_tile("tile", E.F32, (8, 32), swizzle=0), b.mbarrier("full")
        b.make_mbarriers((full, 1))
        for phase in range(2):
            with b.if_thread(0):
                b.arrive_expecting(full, source)
                b.cp_async_bulk_tensor_g2s_tile(tile.pointer, full, source, [0, 0])
            b.wait(full, phase if first == 0 else 1)
            b.barrier_cta_sync_aligned()
        return b.finish()

    assert rules(one_by_one(0)) == []
    assert FIRST_PARITY.id in rules(one_by_one(1))


# ---- arrivals from the whole cluster -------------------------------------------------------------


@dataclass(frozen=True)
class Release:
    """Consumers in each CTA of a cluster arrive at the same mbarrier of every CTA."""

    cluster: int = 2
    consumers: int = 2
    count: int = 4
    arriving: int = 2  # consumers that do
    only_own: bool = False
    by_lane: bool = False  # one lane for each CTA, or one thread for all of them


def released(plan: Release) -> Kernel:
    b = KernelBuilder("release", block=32 * (plan.consumers + 1), cluster=plan.cluster)
    b.begin()
    empty = b.mbarrier("empty")
    b.make_mbarriers((empty, plan.count))
    for consumer in range(plan.arriving):
        first = 32 * (consumer + 1)
        if plan.by_lane:
            with b.if_warp(consumer + 1), b.if_((b.tid_x & 31) < plan.cluster):
                b.mbarrier_arrive_space_cluster(b.of_cta(empty, b.tid_x & 31))
        else:
            with b.if_thread(first):
                for rank in range(plan.cluster):
                    own = b.sreg("cluster.ctarank")
                    b.mbarrier_arrive_space_cluster(b.of_cta(empty, own if plan.only_own else rank))
                    if plan.only_own:
                        break
    with b.if_warp(0):
        b.wait(empty, 0, scope=Scope.CLUSTER)
    b.cluster_sync()
    return b.finish()


RIGHT = {
    "two CTAs": Release(),
    "two CTAs, by lane": Release(by_lane=True),
    "four CTAs": Release(cluster=4, consumers=1, count=4, arriving=1),
    "at its own only": Release(count=2, only_own=True),
}
STARVED = {
    "a count for one CTA more": ("two CTAs", replace(RIGHT["two CTAs"], count=6)),
    "a consumer that does not arrive": ("two CTAs", replace(RIGHT["two CTAs"], arriving=1)),
    "arrivals in its own CTA only": ("two CTAs", replace(RIGHT["two CTAs"], only_own=True)),
    "by lane, a count too many": ("two CTAs, by lane", Release(by_lane=True, count=5)),
    "four, one less": ("four CTAs", replace(RIGHT["four CTAs"], count=5)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_enough_arrivals_of_a_cluster(name: str) -> None:
    kernel = released(RIGHT[name])
    assert rules(kernel) == []
    kernel.compile(target="sm_90a").run(grid=RIGHT[name].cluster)


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("name", STARVED)
def test_too_few_arrivals_of_a_cluster(name: str) -> None:
    original, plan = STARVED[name]
    assert ARRIVALS.id not in rules(released(RIGHT[original]))
    found = released(plan).compile(target="sm_90a").findings
    (first,) = [f for f in found if f.rule == ARRIVALS.id]
    assert first.severity is Severity.WARNING  # an error, where the level is asked for
    assert f"expects {plan.count}" in first.got
    with pytest.raises(SimulationError, match="deadlock"):
        released(plan).compile(target="sm_90a").run(grid=plan.cluster)


# ---- the table of rules --------------------------------------------------------------------------


def test_each_rule_is_asked_once() -> None:
    """A chapter that stands twice in the table would cost its time twice."""
    assert len({id(rule) for rule in RULES}) == len(RULES)
