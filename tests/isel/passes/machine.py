"""Machine functions: made block by block, and executed record by record.

`run` executes records, PHI records included, without looking at any code of the passes.  What a
function stores, in order, is what it means; a pass may change everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from intrinsics import catalog
from intrinsics.mir import (
    Block,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Not,
    Op,
    Reg,
    Scalar,
    Sym,
    form_of,
)
from intrinsics.modifiers import Compare, ScalarType, Space
from intrinsics.row import Attribute

B32, PRED = ScalarType.B32, ScalarType.PRED


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
