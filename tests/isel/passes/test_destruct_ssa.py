"""Leaving SSA form keeps the meaning, and takes no more moves than it must."""

from __future__ import annotations

import copy

import pytest

from intrinsics.mir import (
    Imm,
    Label,
    MachineFunction,
)
from intrinsics.modifiers import Compare
from isel.passes.block_placement import place_blocks
from isel.passes.destruct_ssa import destruct_ssa
from tests.isel.passes.machine import PRED, Builder, is_ssa, run, swap_loop


def moves(function: MachineFunction) -> int:
    """Moves from one register to another."""
    return sum(mi.row.id == "mov" and type(mi.ops[1]) is int for mi in function.instructions())


@pytest.mark.parametrize("rounds", [1, 2, 5, 6])
def test_the_swap_problem(rounds: int):
    function = swap_loop(rounds)
    expected = [1, 2] if rounds % 2 else [2, 1]
    assert run(function) == expected
    destruct_ssa(function)
    assert not is_ssa(function)
    assert run(function) == expected


@pytest.mark.parametrize("rounds", [2, 5])
def test_a_swap_on_a_way_that_is_no_fork(rounds: int):
    """The moves stand at the end of a block that goes nowhere else, and read each other."""
    b = Builder()
    entry, loop, body, end = (b.block(name) for name in ("entry", "loop", "body", "end"))
    x, y, i, j, again = *(b.reg(n) for n in "xyij"), b.reg("again", PRED)
    b.branch(entry, "loop")
    for reg, number, following in ((x, 1, y), (y, 2, x), (i, 0, j)):
        b.phi(loop, reg, {"entry": Imm(number), "body": following})
    b.compare(loop, again, Compare.LT, i, Imm(rounds))
    b.branch(loop, "body", again)
    b.branch(loop, "end")
    b.add(body, j, i, Imm(1))
    b.branch(body, "loop")
    for reg in (x, y):
        b.store(end, reg)
    b.ret(end)
    expected = [2, 1] if rounds % 2 else [1, 2]
    assert run(b.function) == expected
    destruct_ssa(b.function)
    assert run(b.function) == expected


def test_a_rotation_of_three_takes_one_more_move_than_registers():
    """x, y, z = y, z, x: a cycle of three needs three moves and one to save a register."""
    b = Builder()
    entry, loop, end = b.block("entry"), b.block("loop"), b.block("end")
    x, y, z, i, j, again = *(b.reg(n) for n in "xyzij"), b.reg("again", PRED)
    b.branch(entry, "loop")
    for reg, number, following in ((x, 1, y), (y, 2, z), (z, 3, x), (i, 0, j)):
        b.phi(loop, reg, {"entry": Imm(number), "loop": following})
    b.add(loop, j, i, Imm(1))
    b.compare(loop, again, Compare.LT, j, Imm(4))
    b.branch(loop, "loop", again)
    b.branch(loop, "end")
    for reg in (x, y, z):
        b.store(end, reg)
    b.ret(end)
    before = run(b.function)
    assert before == [1, 2, 3]  # rotated three times on the way
    destruct_ssa(b.function)
    assert run(b.function) == before
    assert moves(b.function) == 4


def test_the_lost_copy_problem():
    """A PHI's value is used after the loop that has already made its next one."""
    b = Builder()
    entry, loop, end = b.block("entry"), b.block("loop"), b.block("end")
    x, following, again = b.reg("x"), b.reg("next"), b.reg("again", PRED)
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(10), "loop": following})
    b.add(loop, following, x, Imm(1))
    b.compare(loop, again, Compare.LT, following, Imm(14))
    b.branch(loop, "loop", again)
    b.branch(loop, "end")
    b.store(end, x)
    b.ret(end)
    assert run(b.function) == [13]
    destruct_ssa(b.function)
    assert run(b.function) == [13]


def test_a_phi_of_one_number_for_each_way():
    b = Builder()
    entry, left, join = b.block("entry"), b.block("left"), b.block("join")
    c, x = b.reg("c", PRED), b.reg("x")
    b.compare(entry, c, Compare.EQ, Imm(0), Imm(0))
    b.branch(entry, "join", c)
    b.branch(entry, "left")
    b.branch(left, "join")
    b.phi(join, x, {"entry": Imm(7), "left": Imm(8)})
    b.store(join, x)
    b.ret(join)
    destruct_ssa(b.function)
    assert run(b.function) == [7]


def test_a_move_stands_before_a_fork():
    """entry has two successors and join two predecessors: no block is made between them."""
    b = Builder()
    entry, other, join = b.block("entry"), b.block("other"), b.block("join")
    c, x, y = b.reg("c", PRED), b.reg("x"), b.reg("y")
    b.set(entry, y, Imm(5))
    b.compare(entry, c, Compare.NE, Imm(0), Imm(0))
    b.branch(entry, "join", c)
    b.branch(entry, "other")
    b.store(other, y)
    b.branch(other, "join")
    b.phi(join, x, {"entry": Imm(1), "other": y})
    b.store(join, x)
    b.ret(join)
    assert run(b.function) == [5, 5]
    destruct_ssa(b.function)
    assert len(b.function.blocks) == 3
    assert run(b.function) == [5, 5]


def euclid(a: int, b: int) -> MachineFunction:
    """While y is not 0, x, y = y, the rest of x: both ways of the fork begin with PHIs."""
    f = Builder()
    entry, loop, end = f.block("entry"), f.block("loop"), f.block("end")
    x, y, rest, result = f.reg("x"), f.reg("y"), f.reg("rest"), f.reg("result")
    first, done = f.reg("first", PRED), f.reg("done", PRED)
    f.compare(entry, first, Compare.EQ, Imm(b), Imm(0))
    f.branch(entry, "end", first)
    f.branch(entry, "loop")
    f.phi(loop, x, {"entry": Imm(a), "loop": y})
    f.phi(loop, y, {"entry": Imm(b), "loop": rest})
    f.add(loop, rest, y, Imm(-1))
    f.compare(loop, done, Compare.EQ, rest, Imm(0))
    f.branch(loop, "end", done)
    f.branch(loop, "loop")
    f.phi(end, result, {"entry": Imm(a), "loop": y})
    f.store(end, result)
    f.ret(end)
    return f.function


@pytest.mark.parametrize(("a", "b", "expected"), [(9, 0, 9), (9, 1, 1), (9, 4, 1)])
def test_both_successors_of_a_branch_may_begin_with_phis(a: int, b: int, expected: int):
    function = euclid(a, b)
    assert run(function) == [expected]
    destruct_ssa(function)
    assert [block.name for block in function.blocks] == ["entry", "loop", "end"]
    assert run(function) == [expected]


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_swap_whose_values_are_needed_by_the_fork_and_after_it(rounds: int):
    """The registers that the moves before the fork write are read by nobody else."""
    b = Builder()
    entry, loop, end = b.block("entry"), b.block("loop"), b.block("end")
    x, y, i, j = (b.reg(name) for name in "xyij")
    p, q, last, out = (b.reg(name, PRED) for name in ("p", "q", "last", "out"))
    b.compare(entry, last, Compare.EQ, Imm(rounds), Imm(1))
    b.compare(entry, out, Compare.NE, Imm(0), Imm(0))
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(1), "loop": y})
    b.phi(loop, y, {"entry": Imm(2), "loop": x})
    b.phi(loop, i, {"entry": Imm(1), "loop": j})
    b.emit(loop, "phi", p, (last, q), (Label("entry"), Label("loop")), type=PRED)
    b.add(loop, j, i, Imm(1))
    b.compare(loop, q, Compare.GE, j, Imm(rounds))
    b.branch(loop, "end", p)
    b.branch(loop, "loop")
    for reg in (x, y, i):
        b.store(end, reg)
    b.ret(end)
    expected = [1, 2, rounds] if rounds % 2 else [2, 1, rounds]
    assert run(b.function) == expected
    destruct_ssa(b.function)
    assert len(b.function.blocks) == 3
    assert run(b.function) == expected


def test_a_fork_guarded_by_a_value_that_its_moves_replace():
    """A switch's later comparisons stand behind its first branch, and so behind the moves."""
    b = Builder()
    entry, loop, one, end = (b.block(name) for name in ("entry", "loop", "one", "end"))
    x, following = b.reg("x"), b.reg("next")
    first, second = b.reg("first", PRED), b.reg("second", PRED)
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(0), "loop": following})
    b.add(loop, following, x, Imm(1))
    b.compare(loop, first, Compare.EQ, x, Imm(7))
    b.branch(loop, "one", first)
    b.compare(loop, second, Compare.GE, x, Imm(3))
    b.branch(loop, "end", second)
    b.branch(loop, "loop")
    b.ret(one)
    b.store(end, x)
    b.ret(end)
    assert run(b.function) == [3]
    destruct_ssa(b.function)
    assert run(b.function) == [3]


def test_registers_that_get_the_same_value_at_the_same_time_may_be_one():
    """Both ways of both forks begin with the same value: one register is enough for it."""
    b = Builder()
    entry, loop, end = b.block("entry"), b.block("loop"), b.block("end")
    x, following, result = b.reg("x"), b.reg("next"), b.reg("result")
    none, again = b.reg("none", PRED), b.reg("again", PRED)
    b.compare(entry, none, Compare.NE, Imm(0), Imm(0))
    b.branch(entry, "end", none)
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(3), "loop": following})
    b.add(loop, following, x, Imm(1))
    b.compare(loop, again, Compare.LT, following, Imm(8))
    b.branch(loop, "loop", again)
    b.branch(loop, "end")
    b.phi(end, result, {"entry": Imm(3), "loop": following})
    b.store(end, result)
    b.ret(end)
    assert run(b.function) == [8]
    destruct_ssa(b.function)
    assert [mi.ops[1] for mi in b.function.instructions() if mi.row.id == "mov"] == [Imm(3)]
    assert run(b.function) == [8]


def test_registers_that_get_the_same_value_and_then_part_stay_two():
    b = Builder()
    entry, loop, end = b.block("entry"), b.block("loop"), b.block("end")
    x, y, up, again = b.reg("x"), b.reg("y"), b.reg("up"), b.reg("again", PRED)
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(3), "loop": up})
    b.phi(loop, y, {"entry": Imm(3), "loop": y})
    b.add(loop, up, x, Imm(1))
    b.compare(loop, again, Compare.LT, up, Imm(8))
    b.branch(loop, "loop", again)
    b.branch(loop, "end")
    b.store(end, up)
    b.store(end, y)
    b.ret(end)
    assert run(b.function) == [8, 3]
    destruct_ssa(b.function)
    assert run(b.function) == [8, 3]


@pytest.mark.parametrize(("number", "expected"), [(0, 5), (1, 6)])
def test_the_arms_of_a_fork_make_their_values_where_they_go(number: int, expected: int):
    b = Builder()
    entry, left, right, join = map(b.block, ("entry", "left", "right", "join"))
    c, x, y, z = b.reg("c", PRED), b.reg(), b.reg("y"), b.reg("z")
    b.compare(entry, c, Compare.EQ, Imm(number), Imm(0))
    b.branch(entry, "left", c)
    b.branch(entry, "right")
    b.add(left, y, Imm(2), Imm(3))
    b.branch(left, "join")
    b.add(right, z, Imm(2), Imm(4))
    b.branch(right, "join")
    b.phi(join, x, {"left": y, "right": z})
    b.store(join, x)
    b.ret(join)
    assert run(b.function) == [expected]
    destruct_ssa(b.function)
    assert not is_ssa(b.function)
    assert moves(b.function) == 0
    assert run(b.function) == [expected]
    assert b.function.regs.names[left.instrs[0].ops[0]] == "y"


@pytest.mark.parametrize("reader", ["value", "phi"])
def test_a_value_that_is_made_before_the_last_one_is_read_has_its_own_register(reader: str):
    """A turn reads the old value behind the new one, or the end the one before the last."""
    b = Builder()
    entry, head, turn, end = map(b.block, ("entry", "head", "turn", "end"))
    begin, x, following, again = b.reg(), b.reg(), b.reg(), b.reg("", PRED)
    b.add(entry, begin, Imm(1), Imm(0))
    b.branch(entry, "head")
    b.phi(head, x, {"entry": begin, "turn": following})
    b.compare(head, again, Compare.LT, x, Imm(3))
    b.branch(head, "turn", again)
    b.branch(head, "end")
    b.add(turn, following, x, Imm(1))
    b.store(turn, x if reader == "phi" else following)
    b.branch(turn, "head")
    b.store(end, x)
    b.ret(end)
    expected = [1, 2, 3] if reader == "phi" else [2, 3, 3]
    assert run(b.function) == expected
    destruct_ssa(b.function)
    assert not is_ssa(b.function)
    assert run(b.function) == expected


def test_a_function_without_phis_is_left_alone():
    b = Builder()
    entry = b.block("entry")
    x, y = b.reg("x"), b.reg("y")
    b.set(entry, x, Imm(1))
    b.set(entry, y, x)
    b.store(entry, y)
    b.ret(entry)
    before = copy.deepcopy(b.function.blocks[0].instrs)
    destruct_ssa(b.function)
    assert [(mi.opcode, mi.ops) for mi in b.function.instructions()] == [
        (mi.opcode, mi.ops) for mi in before
    ]


@pytest.mark.parametrize("count", [1, 4, 128])
def test_accumulators_stay_in_place_around_a_loop(count: int):
    """acc[k] += 1 for many accumulators at once: not one move from register to register."""
    b = Builder()
    entry, loop, end = b.block("entry"), b.block("loop"), b.block("end")
    i, j, again = b.reg("i"), b.reg("j"), b.reg("again", PRED)
    acc = [b.reg(f"acc{k}") for k in range(count)]
    after = [b.reg(f"after{k}") for k in range(count)]
    b.branch(entry, "loop")
    b.phi(loop, i, {"entry": Imm(0), "loop": j})
    for k in range(count):
        b.phi(loop, acc[k], {"entry": Imm(k), "loop": after[k]})
    for k in range(count):
        b.add(loop, after[k], acc[k], Imm(1))
    b.add(loop, j, i, Imm(1))
    b.compare(loop, again, Compare.LT, j, Imm(3))
    b.branch(loop, "loop", again)
    b.branch(loop, "end")
    for k in range(count):
        b.store(end, after[k])
    b.ret(end)
    destruct_ssa(b.function)
    assert moves(b.function) == 0
    assert run(b.function) == [k + 3 for k in range(count)]
    place_blocks(b.function)
    assert [block.name for block in b.function.blocks] == ["entry", "loop", "end"]
    assert run(b.function) == [k + 3 for k in range(count)]
