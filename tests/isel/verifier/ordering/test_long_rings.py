"""A ring of several buffers comes round in some run, whatever gives its number of turns.

What goes wrong with a buffer's second use shows only there; where no run comes to it, or to a copy
at all, the verdict is "incomplete".  PTX ISA, mbarrier: a phase ends when all who were expected
have arrived; what they read behind their arrival is theirs no more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import pytest

from intrinsics.findings import Finding, Verdict, verdict
from nvgen import IntLike, Kernel, KernelBuilder, f32, u32
from nvgen.builder.kernel import Argument

WIDE = 32
Turns: TypeAlias = Callable[[KernelBuilder, dict[str, Argument]], IntLike]


def summed(stages: int, turns: Turns, *, late: bool) -> Kernel:
    """Sums of so many tiles; `late` reads a buffer when it is given back."""
    b = KernelBuilder("summed", block=64, target="sm_90a")
    b.tile_map("x", f32, (32, WIDE))
    b.pointer("y", f32, output=True)
    b.pointer("starts", u32)
    b.u32("k"), b.u32("parts")
    args = b.begin()
    tiles = b.shared_tiles("tiles", f32, (32, WIDE), stages)
    ring = b.tile_ring("ring", tiles)
    b.make_mbarriers(*ring.mbarriers)
    count = turns(b, args)
    with b.if_warp(1), b.elect():
        producer = ring.producer()
        with b.range(count) as turn, producer.fill() as slot:
            b.load_tile(slot.tiles[0], args["x"], (turn * WIDE, 0), slot.full)
    with b.if_warp(0):
        consumer, total = ring.consumer(), b.variable(0.0)
        with b.range(count):
            with consumer.use() as slot:
                if not late:
                    total.set(total.value + slot.tiles[0].at(b.lane, 0)[0])
                b.bar_warp_sync()  # before the one that is elected gives it back
            if late:
                total.set(total.value + slot.tiles[0].at(b.lane, 0)[0])
        args["y"][b.lane] = total.value
    return b.finish()


def by_steps(step: int, b: KernelBuilder, args: dict[str, Argument]) -> IntLike:
    """As many turns as K has steps of this length."""
    return args["k"] // step


def up_to_the_rows(b: KernelBuilder, args: dict[str, Argument]) -> IntLike:
    """Causal attention: blocks of 64 keys, up to the last of the CTA's 128 rows."""
    return (b.ctaid_x * 128 + 128).min(args["k"]) // 64


def up_to_the_last_rows(b: KernelBuilder, args: dict[str, Argument]) -> IntLike:
    """The same where the first CTA has the last rows, which take longest."""
    return ((b.nctaid_x - b.ctaid_x) * 128).min(args["k"]) // 64


def of_a_sequence(b: KernelBuilder, args: dict[str, Argument]) -> IntLike:
    """Blocks of a sequence, between its beginning in memory and that of the next."""
    start = args["starts"].at(b.ctaid_y)
    return (start[1] - start[0]) // 64


def of_a_part(b: KernelBuilder, args: dict[str, Argument]) -> IntLike:
    """Split K: the steps are divided among some CTAs."""
    return args["k"] // 64 // args["parts"]


def at_most_one(b: KernelBuilder, args: dict[str, Argument]) -> IntLike:
    """No number has two turns, which nothing knows that counts them."""
    return args["k"] & 1


def of_a_rare_number(b: KernelBuilder, args: dict[str, Argument]) -> IntLike:
    """No turn for any number that runs take."""
    return b.select(args["k"] % 7 == 6, args["k"], 0)


def told(kernel: Kernel) -> list[Finding]:
    found = kernel.compile(level="function", allow=["*"]).findings
    return [f for f in found if f.rule != "verify/level"]


@pytest.mark.parametrize(
    ("stages", "turns"),
    [
        *((n, partial(by_steps, step)) for n, step in ((2, 128), (4, 128), (3, 256), (7, 256))),
        (3, up_to_the_rows), (4, up_to_the_last_rows), (4, of_a_sequence), (4, of_a_part),
    ],
)  # fmt: skip
def test_what_is_read_too_late_is_found(stages: int, turns: Turns) -> None:
    assert told(summed(stages, turns, late=False)) == []
    assert "shared/race" in {f.rule for f in told(summed(stages, turns, late=True))}


@pytest.mark.parametrize(
    ("turns", "note"), [(at_most_one, "verify/turns"), (of_a_rare_number, "verify/unreached")]
)
def test_what_no_run_comes_to_is_not_judged(turns: Turns, note: str) -> None:
    found = told(summed(2, turns, late=True))
    assert [f.rule for f in found] == [note]
    assert verdict(found) is Verdict.INCOMPLETE


def test_a_loop_whose_turns_are_known_needs_no_second_one() -> None:
    assert told(summed(4, lambda b, args: 3, late=False)) == []
