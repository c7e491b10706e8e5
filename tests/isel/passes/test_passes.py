"""The passes keep the meaning of a function: dead code, leaving SSA form, layout of blocks.

`run` below executes machine records one by one, PHI records included, without looking at any code
of the passes.  What a function stores, in order, is what it means; a pass may change everything
else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmprinter.mir.printer import print_mir
from intrinsics import catalog
from intrinsics.mir import (
    Block,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    Op,
    Reg,
    Scalar,
    Sym,
    form_of,
    predecessors,
    renumber,
    successors,
)
from intrinsics.modifiers import Compare, ScalarType, Space
from intrinsics.row import Attribute
from intrinsics.targets import TARGETS
from isel.llvm.reader import read_module
from isel.passes.block_placement import place_blocks
from isel.passes.dead_code import remove_dead_code
from isel.passes.destruct_ssa import destruct_ssa
from isel.pipeline import MODULE_PASSES, PASSES, lower
from tests.each import each
from tests.isel.llvm.llvm_corpus import print_of
from tests.turns import examples

B32, PRED = ScalarType.B32, ScalarType.PRED


# ---- running machine records -----------------------------------------------------------------

_COMPARISONS: dict[object, Callable[[int, int], bool]] = {
    Compare.EQ: lambda a, b: a == b,
    Compare.NE: lambda a, b: a != b,
    Compare.LT: lambda a, b: a < b,
    Compare.GE: lambda a, b: a >= b,
}


class Undefined(Exception):  # noqa: N818
    """A register was read that nothing had written."""


@dataclass
class Machine:
    """The registers of one run, and what it stored."""

    function: MachineFunction
    values: dict[Reg, int]
    stored: list[int]

    def value(self, op: Op) -> int:
        if isinstance(op, Imm):
            return op.value
        assert type(op) is int
        if op not in self.values:
            raise Undefined(op)
        return self.values[op]

    def holds(self, mi: MachineInstr) -> bool:
        if mi.guard is None:
            return True
        if isinstance(mi.guard, Not):
            return not self.value(mi.guard.reg)
        return bool(self.value(mi.guard))

    def execute(self, mi: MachineInstr) -> None:
        ops = mi.ops
        match mi.row.id:
            case "mov":
                self.values[ops[0]] = self.value(ops[1])
            case "add.int":
                self.values[ops[0]] = (self.value(ops[1]) + self.value(ops[2])) & 0xFFFF_FFFF
            case "setp.int":
                compare = _COMPARISONS[mi.form.attributes["cmp"]]
                self.values[ops[0]] = compare(self.value(ops[1]), self.value(ops[2]))
            case "st":
                self.stored.append(self.value(ops[1]))
            case other:
                raise AssertionError(other)

    def enter(self, block: Block, came_from: str) -> list[MachineInstr]:
        """Take the PHIs of a block, all at once; returns the other records."""
        phis = [mi for mi in block.instrs if mi.row.id == "phi"]
        taken: dict[Reg, int] = {}
        for phi in phis:
            result, values, blocks = phi.ops
            taken[result] = self.value(values[blocks.index(Label(came_from))])
        self.values.update(taken)
        return block.instrs[len(phis) :]


def run(function: MachineFunction, steps: int = 400) -> list[int]:
    """What `function` stores, in at most `steps` visits of a block."""
    machine = Machine(function, {}, [])
    position = {block.name: i for i, block in enumerate(function.blocks)}
    at, came_from = 0, ""
    for _ in range(steps):
        block = function.blocks[at]
        target: str | None = None
        for mi in machine.enter(block, came_from):
            if not machine.holds(mi):
                continue
            if mi.row.id == "ret":
                return machine.stored
            if mi.row.id == "bra":
                (label,) = mi.ops
                target = label.name
                break
            machine.execute(mi)
        came_from = block.name
        at = at + 1 if target is None else position[target]
    return machine.stored


# ---- building functions ----------------------------------------------------------------------


class Builder:
    """A function being written down block by block."""

    def __init__(self) -> None:
        self.function = MachineFunction("f")
        self.out = Mem(Sym("out"))

    def reg(self, name: str = "", cls: ScalarType = B32) -> Reg:
        return self.function.regs.new(cls, name)

    def block(self, name: str) -> Block:
        block = Block(name)
        self.function.blocks.append(block)
        return block

    def emit(
        self,
        block: Block,
        row: str,
        *ops: Op,
        guard: Reg | Not | None = None,
        **attributes: Attribute,
    ) -> None:
        block.instrs.append(MachineInstr(form_of(catalog.row(row), **attributes), ops, guard))

    def set(self, block: Block, result: Reg, source: Scalar) -> None:
        self.emit(block, "mov", result, source, type=B32)

    def add(self, block: Block, result: Reg, a: Scalar, b: Scalar) -> None:
        self.emit(block, "add.int", result, a, b, type=ScalarType.S32)

    def compare(self, block: Block, result: Reg, cmp: Compare, a: Scalar, b: Scalar) -> None:
        self.emit(block, "setp.int", result, a, b, p=True, cmp=cmp, type=ScalarType.S32)

    def phi(self, block: Block, result: Reg, incoming: dict[str, Scalar]) -> None:
        labels = tuple(Label(name) for name in incoming)
        self.emit(block, "phi", result, tuple(incoming.values()), labels, type=B32)

    def store(self, block: Block, value: Reg) -> None:
        self.emit(block, "st", self.out, value, space=Space.GLOBAL, type=B32)

    def branch(self, block: Block, target: str, guard: Reg | Not | None = None) -> None:
        self.emit(block, "bra", Label(target), guard=guard)

    def ret(self, block: Block) -> None:
        self.emit(block, "ret")


def moves(function: MachineFunction) -> int:
    """Moves from one register to another."""
    return sum(mi.row.id == "mov" and type(mi.ops[1]) is int for mi in function.instructions())


def is_ssa(function: MachineFunction) -> bool:
    return any(mi.row.id == "phi" for mi in function.instructions())


def swap_loop(rounds: int) -> MachineFunction:
    """a, b = b, a in every round: the PHIs of one block read each other."""
    b = Builder()
    entry, loop, end = b.block("entry"), b.block("loop"), b.block("end")
    a0, b0, i0 = b.reg("a0"), b.reg("b0"), b.reg("i0")
    x, y, i, j, again = b.reg("x"), b.reg("y"), b.reg("i"), b.reg("j"), b.reg("again", PRED)
    for reg, number in ((a0, 1), (b0, 2), (i0, 0)):
        b.set(entry, reg, Imm(number))
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": a0, "loop": y})
    b.phi(loop, y, {"entry": b0, "loop": x})
    b.phi(loop, i, {"entry": i0, "loop": j})
    b.add(loop, j, i, Imm(1))
    b.compare(loop, again, Compare.LT, j, Imm(rounds))
    b.branch(loop, "loop", again)
    b.branch(loop, "end")
    b.store(end, x)
    b.store(end, y)
    b.ret(end)
    return b.function


# ---- leaving SSA form ------------------------------------------------------------------------


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


# ---- any function ----------------------------------------------------------------------------


@dataclass
class Drawn:
    """A random function in SSA form; it shows itself as text."""

    function: MachineFunction

    def __repr__(self) -> str:
        return "\n" + print_mir(Module(TARGETS["sm_100a"], functions=[self.function])).text


def dominators(after: Sequence[Sequence[int]]) -> list[set[int]]:
    """For each reachable node, the nodes on every way to it."""
    everything = set(range(len(after)))
    found = [everything] * len(after)
    found[0] = {0}
    changed = True
    while changed:
        changed = False
        for node in range(1, len(after)):
            before = [found[p] for p in range(len(after)) if node in after[p]]
            new = set.intersection(*before) | {node}
            changed |= new != found[node]
            found[node] = new
    return found


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """Successors of up to six blocks: at most two each, every block reachable, none enters 0."""
    count = draw(st.integers(2, 6))
    after = [
        draw(st.lists(st.integers(1, count - 1), min_size=0, max_size=2, unique=True))
        for _ in range(count)
    ]
    seen, work = [0], [0]
    while work:
        for node in after[work.pop()]:
            if node not in seen:
                seen.append(node)
                work.append(node)
    number = {old: new for new, old in enumerate(seen)}
    return [[number[n] for n in after[old]] for old in seen]


@st.composite
def ssa_functions(draw: st.DrawFn) -> Drawn:
    """PHIs that read each other, values that outlive loops, critical edges, shared branches."""
    after = draw(graphs())
    count = len(after)
    above = dominators(after)
    b = Builder()
    blocks = [b.block(f"b{n}") for n in range(count)]
    before = [[p for p in range(count) if n in after[p]] for n in range(count)]
    phis = [
        [b.reg(f"p{n}_{k}") for k in range(draw(st.integers(0, 3)) if before[n] else 0)]
        for n in range(count)
    ]
    own: list[list[Reg]] = [[b.reg(f"v{n}_{k}") for k in range(2)] for n in range(count)]

    def known(n: int, *, at_end: bool) -> list[Reg]:
        """Values that are there in block `n`, before or after its own records."""
        found = [r for d in above[n] if d != n for r in (*phis[d], *own[d])]
        return [*found, *phis[n], *(own[n] if at_end else [])]

    def any_of(regs: list[Reg]) -> Scalar:
        return draw(st.sampled_from([*regs, Imm(draw(st.integers(0, 4)))]))  # type: ignore[return-value]

    for n, block in enumerate(blocks):
        for phi in phis[n]:
            b.phi(block, phi, {f"b{p}": any_of(known(p, at_end=True)) for p in before[n]})
        there = known(n, at_end=False)
        for reg in own[n]:
            b.add(block, reg, any_of(there), any_of(there))
            there.append(reg)
        stored = draw(st.sampled_from(there))
        b.store(block, stored)
        if len(after[n]) == 2:
            condition = b.reg(f"c{n}", PRED)
            b.compare(block, condition, Compare.LT, any_of(there), Imm(draw(st.integers(0, 30))))
            b.branch(block, f"b{after[n][0]}", condition)
        if after[n]:
            b.branch(block, f"b{after[n][-1]}")
        else:
            b.ret(block)
    return Drawn(b.function)


STEPS = 40


def means(function: MachineFunction) -> list[int]:
    """The first stores; a function that loops for ever is cut off."""
    return run(function, steps=2_000)[:STEPS]


@examples(300)
@given(ssa_functions())
def test_leaving_ssa_form_keeps_the_meaning(drawn: Drawn):
    expected = means(drawn.function)
    destruct_ssa(drawn.function)
    assert not is_ssa(drawn.function)
    assert means(drawn.function) == expected


@examples(200)
@given(ssa_functions())
def test_all_passes_together_keep_the_meaning(drawn: Drawn):
    expected = means(drawn.function)
    module = Module(TARGETS["sm_100a"], functions=[drawn.function])
    for name, apply in MODULE_PASSES.items():
        apply(module)
        assert means(drawn.function) == expected, name


@examples(200)
@given(ssa_functions())
def test_layout_leaves_no_needless_branch(drawn: Drawn):
    module = Module(TARGETS["sm_100a"], functions=[drawn.function])
    for apply in MODULE_PASSES.values():
        apply(module)
    function = drawn.function
    names = [block.name for block in function.blocks]
    assert len(set(names)) == len(names)
    for block, following in zip(function.blocks, [*names[1:], ""], strict=True):
        last = block.instrs[-1:]
        assert not (last and last[0].ops == (Label(following),) and last[0].guard is None)
    for at, block in enumerate(function.blocks):
        targets = [mi.ops[0] for mi in block.instrs[-2:] if mi.row.id == "bra"]
        ways = [names.index(to.name) for to in targets if isinstance(to, Label)]
        goes_on = len(ways) == 2 and ways[1] <= at and not ways[1] <= ways[0] <= at
        assert not goes_on, "a loop ends with two branches"
    reached = {0} | {s for after in successors(function) for s in after}
    assert reached == set(range(len(function.blocks)))


@examples(100)
@given(ssa_functions())
def test_renumbering_keeps_the_meaning_and_counts_from_zero(drawn: Drawn):
    expected = means(drawn.function)
    renumber(drawn.function)
    assert means(drawn.function) == expected
    used = {r for mi in drawn.function.instructions() for r in (*mi.defs(), *mi.uses())}
    assert used == set(range(len(drawn.function.regs)))


# ---- layout, by hand -------------------------------------------------------------------------


def laid_out(function: MachineFunction) -> list[str]:
    place_blocks(function)
    return [block.name for block in function.blocks]


def test_a_block_that_only_branches_is_skipped():
    b = Builder()
    entry, hop, end = b.block("entry"), b.block("hop"), b.block("end")
    c, x = b.reg("c", PRED), b.reg("x")
    b.set(entry, x, Imm(3))
    b.compare(entry, c, Compare.EQ, x, Imm(3))
    b.branch(entry, "hop", c)
    b.ret(entry)
    b.branch(hop, "end")
    b.store(end, x)
    b.ret(end)
    assert laid_out(b.function) == ["entry", "end"]
    assert run(b.function) == [3]


def test_a_condition_is_turned_round_to_fall_through():
    """`@p bra next; bra far` becomes `@!p bra far`, and that `@p` of the contrary."""
    b = Builder()
    entry, near, far = b.block("entry"), b.block("near"), b.block("far")
    c, x = b.reg("c", PRED), b.reg("x")
    b.set(entry, x, Imm(1))
    b.compare(entry, c, Compare.EQ, x, Imm(1))
    b.branch(entry, "near", c)
    b.branch(entry, "far")
    b.store(near, x)
    b.ret(near)
    b.ret(far)
    place_blocks(b.function)
    (branch,) = [mi for mi in b.function.instructions() if mi.row.id == "bra"]
    (test,) = [mi for mi in b.function.instructions() if mi.row.id == "setp.int"]
    assert (branch.guard, test.form.attributes["cmp"]) == (c, Compare.NE)
    assert branch.ops == (Label("far"),)
    assert run(b.function) == [1]


def test_unreachable_blocks_go():
    b = Builder()
    entry, nowhere = b.block("entry"), b.block("nowhere")
    b.ret(entry)
    b.branch(nowhere, "nowhere")
    assert laid_out(b.function) == ["entry"]


def test_a_block_that_branches_to_itself_stays():
    """An endless loop is a meaning too."""
    b = Builder()
    entry, loop = b.block("entry"), b.block("loop")
    b.branch(entry, "loop")
    b.branch(loop, "loop")
    place_blocks(b.function)
    assert all(successors(b.function))


def test_predecessors_mirror_successors():
    function = swap_loop(2)
    after, before = successors(function), predecessors(function)
    edges = {(a, s) for a, targets in enumerate(after) for s in targets}
    assert edges == {(p, n) for n, sources in enumerate(before) for p in sources}
    assert edges == {(0, 1), (1, 1), (1, 2)}


# ---- dead code -------------------------------------------------------------------------------


def lowered(text: str, target: str = "sm_100a") -> Module:
    return lower(read_module(print_of(text)), TARGETS[target])


def opcodes(text: str, target: str = "sm_100a") -> list[str]:
    """The opcodes of the only kernel, after all passes."""
    (function,) = lowered(text, target).functions
    return [mi.opcode for mi in function.instructions()]


def test_unused_pure_records_go_with_all_that_feeds_them():
    b = Builder()
    entry = b.block("entry")
    regs = [b.reg() for _ in range(4)]
    b.set(entry, regs[0], Imm(1))
    b.add(entry, regs[1], regs[0], Imm(1))  # feeds only what is dead
    b.add(entry, regs[2], regs[1], Imm(1))  # dead
    b.add(entry, regs[3], regs[0], Imm(2))
    b.store(entry, regs[3])
    b.ret(entry)
    remove_dead_code(b.function)
    assert [mi.opcode for mi in b.function.instructions()] == [
        "MOV_B32", "ADD_S32", "ST_GLOBAL_B32", "RET",
    ]  # fmt: skip
    assert run(b.function) == [3]


def test_a_dead_phi_goes_even_when_it_feeds_itself():
    b = Builder()
    entry, loop = b.block("entry"), b.block("loop")
    x, y = b.reg("x"), b.reg("y")
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(0), "loop": y})
    b.add(loop, y, x, Imm(1))
    b.branch(loop, "loop")
    remove_dead_code(b.function)
    assert [mi.opcode for mi in b.function.instructions()] == ["BRA", "BRA"]


def test_what_only_the_next_turn_of_a_loop_reads_stays():
    b = Builder()
    entry, loop = b.block("entry"), b.block("loop")
    x, y, z = (b.reg(name) for name in "xyz")
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(0), "loop": z})
    b.add(loop, y, x, Imm(1))
    b.store(loop, x)
    b.add(loop, z, y, Imm(1))  # behind all that is stored, and stored in the next turn
    b.branch(loop, "loop")
    kept = [mi.opcode for mi in b.function.instructions()]
    remove_dead_code(b.function)
    assert [mi.opcode for mi in b.function.instructions()] == kept


def test_of_a_register_that_is_read_all_writers_stay_and_of_others_none():
    b = Builder()
    entry = b.block("entry")
    x, y = b.reg("x"), b.reg("y")
    for reg in (x, y):  # as inline assembly may write them
        b.set(entry, reg, Imm(1))
        b.set(entry, reg, Imm(2))
    b.store(entry, x)
    b.ret(entry)
    remove_dead_code(b.function)
    assert [mi.ops[0] for mi in b.function.instructions() if mi.opcode == "MOV_B32"] == [x, x]


def test_an_unused_load_goes_and_a_store_stays():
    text = """
    define ptx_kernel void @k(ptr addrspace(1) %p, i32 %x) {
      %dead = load i32, ptr addrspace(1) %p
      store i32 %x, ptr addrspace(1) %p
      ret void
    }"""
    assert [o for o in opcodes(text) if "PARAM" not in o] == ["ST_GLOBAL_B32", "RET"]


def test_a_volatile_load_stays():
    """LLVM LangRef: the number of volatile accesses must not change."""
    text = """
    define ptx_kernel void @k(ptr addrspace(1) %p) {
      %unused = load volatile i32, ptr addrspace(1) %p
      ret void
    }"""
    assert "LD_VOLATILE_GLOBAL_B32" in opcodes(text)


ASYNCHRONOUS = {
    "TCGEN05_MMA_CTA_GROUP1_DENSE": (
        "call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %d, i64 0, i64 0, i32 0, "
        "i1 true, i32 0, i32 1, i32 0)"
    ),
    "TCGEN05_COMMIT_CTA_GROUP1_SHARED_CLUSTER": (
        "call void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3) %s)"
    ),
    "TCGEN05_LD_32X32B_X1": "%r = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1("
    "ptr addrspace(6) %d, i1 false)",
    "TCGEN05_WAIT_LD": "call void @llvm.nvvm.tcgen05.wait.ld()",
    "TCGEN05_FENCE_AFTER_THREAD_SYNC": "call void @llvm.nvvm.tcgen05.fence.after.thread.sync()",
    "MBARRIER_ARRIVE_SHARED": "%r = call i64 @llvm.nvvm.mbarrier.arrive.shared("
    "ptr addrspace(3) %s)",
    "MBARRIER_TRY_WAIT_PARITY_SHARED": "%r = call i1 "
    "@llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) %s, i32 0)",
    "BAR_SYNC": "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
    "ELECT_SYNC": "%r = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)",
}


@each("opcode", ASYNCHRONOUS)
def test_operations_with_effects_stay_though_nobody_uses_their_results(opcode: str):
    call = ASYNCHRONOUS[opcode]
    twice = call.replace("%r =", "%again =")
    text = f"""
    define ptx_kernel void @k(ptr addrspace(6) %d, ptr addrspace(3) %s) {{
      {call}
      {twice}
      ret void
    }}"""
    found = opcodes(text)
    assert found.count(opcode) == 2, found


def test_every_pass_has_a_name_and_an_observer_sees_it():
    seen: list[str] = []
    module = read_module(print_of("define ptx_kernel void @k() { ret void }"))
    lower(module, TARGETS["sm_80"], observe=lambda name, _: seen.append(name))
    assert seen == list(PASSES)
    assert seen[0] == "select"
