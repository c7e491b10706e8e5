"""Arrays of shared memory at indices that no run knows: any thread may access any element.

A kernel whose barrier is missing is a review; the simulator finds the race.  Where the index may
keep each warp to a part of its own, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.findings import Severity, SimulationError
from nvgen import Compiled, KernelBuilder, f32, u32
from nvgen.values.numbers import Int

WARPS, THREADS, COUNT = 2, 64, 64
Body = Callable[[KernelBuilder, Int], Int]


def of_numbers(b: KernelBuilder, best: Int) -> Int:
    """The index is the lane of the largest number of a warp."""
    return best


def of_warps(b: KernelBuilder, best: Int) -> Int:
    """The same in a part of the warp's own."""
    return b.warp * 32 + best


def built(index: Body, *, barrier: bool) -> Compiled:
    """All threads store words; each warp then reads one, whose index follows from floats."""
    b = KernelBuilder("indexed", block=THREADS, target="sm_90a")
    b.pointer("x", f32)
    b.pointer("out", u32, output=True)
    x, out = b.begin().values()
    words = b.shared_array("words", u32, COUNT)
    words[b.thread] = b.thread

    def larger(one: tuple[object, ...], other: tuple[object, ...]) -> tuple[object, ...]:
        first = one[0] > other[0]
        return tuple(b.select(first, *pair) for pair in zip(one, other, strict=True))

    _, best = b.warp_reduce((x[b.thread], b.lane), larger)
    if barrier:
        b.barrier_cta_sync_aligned()
    else:
        b.bar_warp_sync()
    out[b.thread] = words[index(b, best)]
    return b.finish().compile(level="all")


def reviews(compiled: Compiled) -> list[str]:
    """The rules that are broken, but for notes."""
    return [f.rule for f in compiled.findings if f.severity is not Severity.NOTE]


@pytest.mark.parametrize("index", [of_numbers, of_warps])
def test_a_barrier_orders_them(index: Body) -> None:
    assert reviews(built(index, barrier=True)) == []


def test_a_missing_barrier_is_a_review_and_a_race() -> None:
    compiled = built(of_numbers, barrier=False)
    assert reviews(compiled) == ["shared/race"]
    x = np.arange(THREADS, dtype=np.float32)[::-1].copy()
    with pytest.raises(SimulationError, match="race"):
        compiled.run(x, np.zeros(THREADS, np.uint32), device="sim")


def test_nothing_is_said_of_a_part_of_the_warps_own() -> None:
    compiled = built(of_warps, barrier=False)
    assert reviews(compiled) == []
    compiled.run(np.ones(THREADS, np.float32), np.zeros(THREADS, np.uint32), device="sim")
