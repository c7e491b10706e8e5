"""Branches, loops and roles of the builder, as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.findings import InputError
from intrinsics.modifiers import (
    LdStNum,
)
from nvgen import KernelBuilder
from nvgen.instructions.roles import ExecutionScope
from nvgen.values.numbers import Int
from tests.nvgen.builder.small_kernels import calls, kernel, taddr


def test_conditions_and_loops_are_context_managers() -> None:
    def body(b: KernelBuilder, args: dict) -> None:
        with b.range(4) as i, b.if_(i == 2):
            b.bar_warp_sync()
        with b.if_warp(1), b.elect():
            b.tcgen05_wait_st()

    text = kernel(body)
    assert text.count("phi i32") == 1
    assert calls(text).count("elect.sync") == 1


COUNT = 8
"""How often the loops of the kernels below turn, at most."""


def ran(body: Callable[[KernelBuilder, Int], Int], *, schedule: str = "early") -> list[int]:
    """What 32 threads make of the numbers 0 to COUNT - 1: lane 0's results."""
    b = KernelBuilder("k", block=32)
    b.pointer("out", output=True)
    b.integer("n")
    args = b.begin()
    b.store(body(b, args["n"]), args["out"] + b.tid_x * 4)
    compiled = b.finish().compile(target="sm_90a")
    found = []
    for n in range(COUNT):
        out = np.zeros(32, np.int32)
        compiled.run(out, n, schedule=schedule)
        found.append(int(out[0]))
    return found


def test_a_variable_keeps_what_a_loop_assigns() -> None:
    """0 + 1 + … + (n - 1), also when the loop does not turn."""

    def total(b: KernelBuilder, n: Int) -> Int:
        found = b.variable(0)
        with b.range(n) as i:
            found.set(found.value + i)
        return found.value

    assert ran(total) == [sum(range(n)) for n in range(COUNT)]


def test_a_variable_keeps_what_a_branch_in_a_loop_in_a_loop_assigns() -> None:
    def pairs(b: KernelBuilder, n: Int) -> Int:
        found, untouched = b.variable(100), b.variable(7)
        with b.range(n) as i, b.range(n, start=i) as j, b.if_((i + j) % 3 == 0):
            found.set(found.value + untouched.value)
        return found.value

    expected = [
        100 + 7 * sum((i + j) % 3 == 0 for i in range(n) for j in range(i, n)) for n in range(COUNT)
    ]
    assert ran(pairs) == expected


def test_a_loop_turns_while_a_condition_holds() -> None:
    """Collatz's steps from n to 1, with a branch inside; no turn for 0 and 1."""

    def steps(b: KernelBuilder, n: Int) -> Int:
        number, turns = b.variable(n), b.variable(0)
        with b.while_(lambda: number.value > 1):
            odd = number.value % 2 == 1
            number.set(b.select(odd, number.value * 3 + 1, number.value // 2))
            with b.if_(number.value < 1000):
                turns.set(turns.value + 1)
        return turns.value * 10 + number.value

    def collatz(n: int) -> int:
        turns = 0
        while n > 1:
            n, turns = (3 * n + 1 if n % 2 else n // 2), turns + 1
        return turns * 10 + n

    assert ran(steps) == [collatz(n) for n in range(COUNT)]


def test_the_condition_of_a_loop_may_have_branches_and_change_variables() -> None:
    """What it changes before it fails is there behind the loop; loops may be nested."""

    def asked(b: KernelBuilder, n: Int) -> Int:
        questions, left = b.variable(0), b.variable(n)

        def more() -> Int:
            with b.if_(left.value != 3):
                questions.set(questions.value + 1)
            return left.value > 0

        with b.range(2), b.while_(more):
            left.set(left.value - 1)
        return questions.value

    # n turns ask n + 1 times, the second loop once more; nothing is counted where 3 are left.
    assert ran(asked) == [n + 2 - (n >= 3) for n in range(COUNT)]


def test_a_loop_needs_a_condition_of_the_kernel() -> None:
    with pytest.raises(InputError, match="no condition"):
        ran(lambda b, n: b.while_(lambda: n).__enter__())  # type: ignore[return-value]


def test_a_loop_may_step_by_a_value_of_the_kernel() -> None:
    def steps(b: KernelBuilder, n: Int) -> Int:
        turns = b.variable(0)
        with b.range(20, start=n, step=n + 1):
            turns.set(turns.value + 1)
        return turns.value

    assert ran(steps) == [len(range(n, 20, n + 1)) for n in range(COUNT)]


def test_a_ring_counts_stages_and_the_parity_of_the_round() -> None:
    """Three stages: place n is stage n mod 3, in a round whose parity is that of n div 3."""

    def place(b: KernelBuilder, n: Int) -> Int:
        ring = b.ring(3)
        with b.range(n):
            ring.advance()
        return ring.stage * 10 + ring.parity

    assert ran(place) == [n % 3 * 10 + n // 3 % 2 for n in range(COUNT)]

    def further(b: KernelBuilder, n: Int) -> Int:
        ring = b.ring(3)
        ring.advance(n)
        ring.advance(5)
        return ring.stage * 10 + ring.parity

    assert ran(further) == [(n + 5) % 3 * 10 + (n + 5) // 3 % 2 for n in range(COUNT)]


def test_division_is_unsigned_and_select_chooses() -> None:
    def divided(b: KernelBuilder, n: Int) -> Int:
        large = b.const(0xFFFF_FFFF)
        return b.select(n % 2 == 0, large // (n + 2) & 0xFFFF, n)

    expected = [n if n % 2 else 0xFFFF_FFFF // (n + 2) & 0xFFFF for n in range(COUNT)]
    assert ran(divided) == expected


def test_warps_and_warpgroups_have_numbers_and_scopes() -> None:
    """32 and 128 threads each; the second warpgroup alone adds 1000."""
    threads = 3 * 128
    b = KernelBuilder("k", block=threads)
    b.pointer("out", output=True)
    args = b.begin()
    found = b.variable(b.warp * 10 + b.warpgroup)
    with b.if_warpgroup(1):
        assert b.scope is ExecutionScope.WARPGROUP
        found.set(found.value + 1000)
    b.store(found.value, args["out"] + b.tid_x * 4)
    out = np.zeros(threads, np.int32)
    b.finish().compile(target="sm_90a").run(out)
    thread = np.arange(threads)
    assert np.array_equal(out, thread // 32 * 10 + thread // 128 + 1000 * (thread // 128 == 1))


def test_a_variable_ends_with_the_branch_that_it_was_made_in() -> None:
    """What comes after knows nothing of it: no phi is made for it."""

    def body(b: KernelBuilder, args: dict) -> None:
        with b.if_thread(0):
            inner = b.variable(1)
            inner.set(inner.value + 1)
        with b.if_thread(1):
            b.bar_warp_sync()

    assert "phi" not in kernel(body)


def test_a_part_of_a_vector() -> None:
    """Registers 4 to 7 of 8, in order."""

    def body(b: KernelBuilder, args: dict) -> None:
        values = b.tcgen05_ld(taddr(b), num=LdStNum.X8)
        b.store(values[4:8], args["out"], align=16)

    mask = "<4 x i32> <i32 4, i32 5, i32 6, i32 7>"
    assert mask in kernel(body)
