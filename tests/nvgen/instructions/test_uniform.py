"""The number of a warp, wherever in a kernel it is asked for.

It is shuffled into a uniform register where whole warps ask for it; where a part of a warp does, a
shuffle would wait for the others, and does not come about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
import pytest

from intrinsics.modifiers import Vote
from nvgen import KernelBuilder, SimulationError, device_function, u32
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Int

THREADS = 64
Place: TypeAlias = Callable[[KernelBuilder, dict], object]


@contextmanager
def _after_break(b: KernelBuilder, condition: Int) -> Iterator[None]:
    with b.range(b.const(1)):
        b.break_if(condition)
        yield


@contextmanager
def _else(b: KernelBuilder, condition: Int) -> Iterator[None]:
    with b.if_(condition):
        pass
    with b.else_():
        yield


WHOLE: dict[str, Place] = {
    "a warp": lambda b, args: b.if_warp(1),
    "a parameter": lambda b, args: b.if_(args["n"] == 1),
    "the CTA": lambda b, args: b.if_(b.ctaid_x == 0),
    "the warp's number": lambda b, args: b.if_(b.warp == 1),
    "a vote": lambda b, args: b.if_(b.vote_sync(Vote.ANY, b.lane == 3)),
    "a loop to a parameter": lambda b, args: b.range(args["n"], start=b.ctaid_x, step=b.nctaid_x),
}
PART: dict[str, Place] = {
    "a lane": lambda b, args: b.if_(b.lane == 0),
    "a thread": lambda b, args: b.if_thread(33),
    "the elected thread": lambda b, args: b.elect(),
    "what a thread loads": lambda b, args: b.if_(args["x"][b.tid_x] == 0),
    "the other side": lambda b, args: _else(b, b.lane > 3),
    "a loop that some leave": lambda b, args: _after_break(b, b.lane > 3),
    "a loop from a thread's number": lambda b, args: b.range(THREADS, b.tid_x, THREADS),
}


def _is_shuffled(place: Place) -> bool:
    """Whether the warp's number is shuffled at this place of a kernel."""
    b = KernelBuilder("k", block=THREADS, target="sm_90a")
    b.pointer("x", u32)
    b.u32("n")
    args = b.begin()
    with place(b, args):  # type: ignore[attr-defined]
        args["x"][b.tid_x] = b.warp * 2 + b.warpgroup
    return b.finish().llvm.count("= call i32 @llvm.nvvm.shfl.sync.idx") >= 2


@pytest.mark.parametrize("place", WHOLE.values(), ids=list(WHOLE))
def test_whole_warps_get_it_in_a_uniform_register(place: Place) -> None:
    assert _is_shuffled(place)


@pytest.mark.parametrize("place", PART.values(), ids=list(PART))
def test_a_part_of_a_warp_waits_for_no_one(place: Place) -> None:
    assert not _is_shuffled(place)


@device_function
def _slot(b, x):
    return b.warp * 10 + x


@kernel_test(schedules="all", targets="sm_80")
def test_one_lane_of_each_warp_asks(launch: Launch) -> None:
    """In a branch of one lane, and in a function that is called there."""
    b = KernelBuilder("k", block=THREADS, target="sm_80")
    b.pointer("x", u32)
    args = b.begin()
    with b.if_(b.lane == 0):
        args["x"][b.warp * 2] = b.warp + 7
        args["x"][b.warp * 2 + 1] = _slot(b.warp)  # type: ignore[assignment]
    b.bar_warp_sync()
    x = np.zeros(4, np.uint32)
    launch(b.finish(), x)
    assert_exact(x, np.array([7, 0, 8, 11], np.uint32))


def test_a_shuffle_in_a_branch_of_one_lane_is_told_what_to_do() -> None:
    """The others wait at the barrier of the warp."""
    b = KernelBuilder("k", block=32, target="sm_80")
    b.pointer("x", u32)
    args = b.begin()
    with b.if_(b.lane == 0):
        args["x"][0] = b.uniform(b.tid_x)
    b.bar_warp_sync()
    compiled = b.finish().compile()
    with pytest.raises(SimulationError, match="are elsewhere") as caught:
        compiled.run(np.zeros(1, np.uint32), device="sim")
    assert "move it out of the branch" in caught.value.findings[0].hint
