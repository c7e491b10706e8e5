"""Shared memory that other CTAs reach, and that a copy fills: rules and simulator agree.

PTX ISA: memory of a CTA of the cluster may be accessed while that CTA runs (barrier.cluster,
mapa); what a bulk copy brings is there once a wait on its mbarrier has succeeded, for stores by
the async proxy too.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from nvgen import Kernel, KernelBuilder, SimulationError, bf16, u32
from nvgen.values.numbers import Int

THREADS, CTAS = 64, 2
SCHEDULES = ("early", "late", *(f"random:{seed}" for seed in range(6)))
LEFT = {"pull, then leave", "push, then leave"}
WAYS = {*LEFT, "pull, then meet", "push, then meet", "pull, arrive and wait", "its own"}


def _reach(way: str) -> Kernel:
    """Each CTA reads, or writes, what the other has in shared memory."""
    b = KernelBuilder("reach", block=THREADS, cluster=CTAS, target="sm_90a")
    b.pointer("x", u32, output=True)
    x, rank = b.begin()["x"].at(b.ctaid_x * THREADS), b.cluster_ctarank
    words = b.shared_array("words", u32, THREADS)

    def end(value: Int) -> None:
        x[b.tid_x] = value

    if way.startswith("pull"):
        words[b.tid_x] = b.tid_x + rank * THREADS
        b.cluster_sync()
        value = b.of_cta(words, rank ^ 1)[b.tid_x]
        if "arrive" in way:
            b.barrier_cluster_arrive()
            end(value)
            b.barrier_cluster_wait()
            return b.finish()
        end(value)
    else:
        b.cluster_sync()
        there = rank if way == "its own" else rank ^ 1
        b.of_cta(words, there)[b.tid_x] = b.tid_x
    if "meet" in way:
        b.cluster_sync()
    return b.finish()


def _rules(kernel: Kernel, **shape: int) -> set[str]:
    try:
        found = kernel.compile(level="all", **shape).findings
    except nvgen.VerificationError as error:
        found = error.findings  # type: ignore[assignment]
    return {f.rule for f in found if f.severity is nvgen.Severity.ERROR}


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_cta_stays_as_long_as_others_reach_it(way: str) -> None:
    kernel, leaves = _reach(way), way in LEFT
    op = "ld" if way.startswith("pull") else "st"
    assert _rules(kernel, grid=CTAS) == ({f"{op}/peer-exit"} if leaves else set())
    compiled, faults = kernel.compile(), set()
    for schedule in SCHEDULES:
        x = np.zeros(CTAS * THREADS, np.uint32)
        try:
            compiled.run(x, grid=CTAS, cluster=CTAS, device="sim", schedule=schedule)
        except SimulationError as error:
            faults |= {f.rule for f in error.findings}
    assert faults == ({"sim/exited-cta"} if leaves else set())


def _through(*, bulk: bool, waits: bool) -> Kernel:
    """A tile comes in by one copy and goes out by another."""
    b = KernelBuilder("through", block=32, dynamic_shared=True, target="sm_90a")
    b.tile_map("x", bf16, (64, 64))
    b.tile_map("y", bf16, (64, 64), output=True)
    b.pointer("p", bf16), b.pointer("q", bf16, output=True)  # type: ignore[func-returns-value]
    args = b.begin()
    tile, full = b.shared_tile("tile", bf16, (64, 64)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.elect():
        b.arrive_expecting(full, tile)
        if bulk:
            there = tile.pointer
            b.cp_async_bulk_global_to_shared_cluster(there, full, args["p"], tile.nbytes)
        else:
            b.load_tile(tile, args["x"], (0, 0), full)
        if waits:
            b.wait(full, 0)
        if bulk:
            b.cp_async_bulk_shared_cta_to_global(args["q"], tile.pointer, tile.nbytes)
            b.cp_async_bulk_commit_group()
        else:
            b.store_tile(tile, args["y"], (0, 0))
        b.cp_async_bulk_wait_group(0)
    return b.finish()


@pytest.mark.parametrize(("bulk", "op"), [(True, "cp.async.bulk"), (False, "cp.async.bulk.tensor")])
def test_a_tile_goes_out_once_it_has_come_in(bulk: bool, op: str) -> None:
    assert _rules(_through(bulk=bulk, waits=True), grid=1) == set()
    assert _rules(_through(bulk=bulk, waits=False), grid=1) == {f"{op}/before-copy"}
