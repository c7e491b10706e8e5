"""Branches with two sides, loops in both directions, ways out of loops and roles."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import numpy as np
import pytest

from nvgen import InputError, KernelBuilder, bf16, i32
from nvgen.testing import Launch, assert_exact, kernel_test

pytestmark = pytest.mark.filterwarnings("error::nvgen.FindingWarning")


def begun(launch: Launch, block: int = 64) -> tuple[KernelBuilder, dict]:
    b = KernelBuilder("k", block=block, target=launch.target)
    b.pointer("x", i32)
    b.pointer("out", i32, output=True)
    return b, b.begin()


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
def test_the_other_side_of_a_branch(launch: Launch) -> None:
    """Variables that either side, both or none assigns; a chain of three; of roles too."""
    b, args = begun(launch)
    x = args["x"][b.tid_x]
    one, two, none = (b.variable(b.i32(n)) for n in (1, 2, 3))
    with b.if_(x < 0):
        one.set(x)
    with b.else_():
        two.set(x + one.value)
        with b.if_(x < 10):
            one.set(7)
        with b.else_():
            one.set(8)
            two.set(9)
    with b.if_warp(0):
        none.set(10)
    with b.else_():
        none.set(none.value + 20)
    args["out"][b.tid_x] = one.value * 10000 + two.value * 100 + none.value
    x = np.arange(-20, 44, dtype=np.int32)
    out = np.zeros(64, np.int32)
    launch(b.finish(), x, out)
    first = np.where(x < 0, x, np.where(x < 10, 7, 8))
    second = np.where(x < 0, 2, np.where(x < 10, x + 1, 9))
    third = np.where(np.arange(64) < 32, 10, 23)
    assert_exact(out, (first * 10000 + second * 100 + third).astype(np.int32))


RANGES = [
    (5, -5, -1), (5, -5, -3), (-7, 8, 2), (3, 3, 1), (3, 3, -1), (0, 4, -1), (4, 1, 1), (9, 0, -2),
]  # fmt: skip


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
def test_ranges_of_any_start_stop_and_step(launch: Launch) -> None:
    """As Python's: known ones, and bounds that the kernel loads; unsigned ones downwards."""
    b, args = begun(launch, 1)
    at = b.variable(0)

    def visit(index) -> None:
        args["out"][at.value] = index.to(i32)
        at.set(at.value + 1)

    for number, (start, stop, step) in enumerate(RANGES):
        with b.range(stop, start=start, step=step) as i:
            visit(i)
        with b.range(args["x"][2 * number + 1], start=args["x"][2 * number], step=step) as i:
            visit(i)
    with b.range(b.const(3), start=10, step=-2) as i:
        visit(i)
    bounds = np.array([n for start, stop, _ in RANGES for n in (start, stop)], np.int32)
    expected = [i for r in RANGES for _ in range(2) for i in range(*r)] + list(range(10, 3, -2))
    out = np.full(len(expected) + 1, 99, np.int32)
    launch(b.finish(), bounds, out)
    assert out.tolist() == [*expected, 99]


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
def test_ways_out_of_loops_and_roles(launch: Launch) -> None:
    """The first multiple of a number in a row, by loops of both kinds; a role that ends early."""
    b, args = begun(launch)
    found, turns, left = (b.variable(b.i32(-1)) for _ in range(3))
    with b.range(8, start=1) as i:
        value = i.to(i32) * 3
        with b.if_(value % 2 == 0):
            turns.set(i.to(i32))
        found.set(value)
        b.break_if(value > args["x"][b.tid_x])
    with b.while_(lambda: left.value < 10):
        left.set(left.value + 1)
        with b.if_(left.value > 2):
            b.break_if(left.value * 2 > found.value)
    with b.if_warp(1):
        b.leave_if(args["x"][b.tid_x] < 40)
        found.set(-5)
    args["out"][b.tid_x] = found.value * 10000 + turns.value * 100 + left.value
    x = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    launch(b.finish(), x, out)

    def expected(n: int) -> int:
        found = turns = left = -1
        for i in range(1, 8):
            if i * 3 % 2 == 0:
                turns = i
            found = i * 3
            if found > n:
                break
        while left < 10:
            left += 1
            if left > 2 and left * 2 > found:
                break
        if n >= 40:
            found = -5
        return found * 10000 + turns * 100 + left

    assert out.tolist() == [expected(n) for n in range(64)]


@kernel_test(schedules="all", random=1, targets="sm_90a")
@pytest.mark.parametrize("warpgroups", [2, 3])
def test_warpgroups_take_turns(launch: Launch, warpgroups: int) -> None:
    """Each adds its number at the end of one text, in shared memory that nothing else guards."""
    b, args = begun(launch, 128 * warpgroups)
    place = b.shared_array("place", i32, 1)
    with b.if_thread(0):
        place[0] = 0
    b.barrier_cta_sync_aligned()
    speaks = b.tid_x % 128 == 0
    with (
        b.if_warpgroup(0, warpgroups),
        b.turns(1, warpgroups) as turns,
        b.range(3),
        turns.mine(),
        b.if_(speaks),
    ):
        at = place[0]
        args["out"][at] = (b.tid_x // 128).to(i32)
        place[0] = at + 1
    out = np.full(3 * warpgroups, -1, np.int32)
    launch(b.finish(), np.zeros(1, np.int32), out)
    assert out.tolist() == [*range(warpgroups)] * 3


REFUSED: dict[str, tuple[Callable[[KernelBuilder], object], str]] = {
    "no branch": (lambda b: b.else_().__enter__(), "no branch right before"),
    "no loop": (lambda b: b.break_if(b.tid_x == 0), "no loop to leave"),
    "no role": (lambda b: b.leave_if(b.tid_x == 0), "no role to leave"),
    "a step of nothing": (lambda b: b.range(3, step=0).__enter__(), "step of 0"),
    "below 0": (lambda b: b.range(-1, start=b.tid_x, step=-1).__enter__(), "below 0"),
    "turns of all threads": (lambda b: b.turns(3).__enter__(), "warpgroups take turns"),
    "turns without barriers": (lambda b: b.turns(15).__enter__(), "no such turns"),
    "two signs": (lambda b: b.range(b.i32(3), start=b.tid_x).__enter__(), "signed and an unsigned"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_at_its_line(name: str) -> None:
    wrong, text = REFUSED[name]
    b = KernelBuilder("k", block=32)
    b.begin()
    with pytest.raises(InputError, match=text) as caught:
        wrong(b)
    assert caught.value.findings[0].place.file == __file__


def test_something_between_a_branch_and_its_other_side() -> None:
    b = KernelBuilder("k", block=32)
    b.begin()
    with b.if_(b.tid_x == 0):
        b.bar_warp_sync()
    b.tid_x + 1
    with pytest.raises(InputError, match="between a branch"):
        b.else_().__enter__()


def test_a_kernel_ends_behind_its_blocks() -> None:
    b = KernelBuilder("unended", block=32, target="sm_90a")
    b.begin()
    with pytest.raises(InputError) as caught, b.range(4):
        b.finish()
    (found,) = caught.value.findings
    assert found.message == "the kernel is finished inside of a block"
    assert found.got.startswith(f"a loop that begins at {__file__}:")


def test_a_block_that_is_never_entered() -> None:
    b = KernelBuilder("unentered", block=64, target="sm_90a")
    b.begin()
    b.if_warp(0)
    with b.if_warp(1):
        b.bar_warp_sync(0xFFFFFFFF)
    with pytest.raises(InputError) as caught:
        b.finish()
    (found,) = caught.value.findings
    assert found.message == "b.if_warp(…) is a block, and nothing is in it"
    assert found.place.file == __file__
    assert found.expected == "with b.if_warp(…): …"


def test_what_a_block_gives_is_there_inside_of_it() -> None:
    b = KernelBuilder("outside", block=32, target="sm_90a")
    b.begin()
    tiles = b.shared_tiles("tiles", bf16, (8, 64), 2)
    ring = b.tile_ring("ring", tiles)
    b.make_mbarriers(*ring.mbarriers)
    with b.elect():
        slot = ring.producer().fill()
        with pytest.raises(InputError) as caught:
            attrgetter("tiles")(slot)
    (found,) = caught.value.findings
    assert found.expected == "with Producer.fill(…) as x: x.tiles"
    assert found.place.file == __file__


def test_a_stage_that_is_never_entered() -> None:
    b = KernelBuilder("unfilled", block=32, target="sm_90a")
    b.begin()
    tiles = b.shared_tiles("tiles", bf16, (8, 64), 2)
    ring = b.tile_ring("ring", tiles)
    b.make_mbarriers(*ring.mbarriers)
    with b.elect():
        ring.producer().fill()
    with pytest.raises(InputError) as caught:
        b.finish()
    assert caught.value.findings[0].message == "Producer.fill(…) is a block, and nothing is in it"
