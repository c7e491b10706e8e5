"""Addresses that a loop computes from its counters: made before it, and stepped with them.

Layer: isel.lower.  Input: a function.  Output: the same function, or one in which an address of a
loop of one block, `base + f(counter)`, is a phi to which each iteration adds what f grows by.
Loads then wait for no arithmetic, and where ptxas unrolls the loop, it adds a number to the address
of each iteration for nothing.  LLVM's NVPTX back end does likewise (LoopStrengthReduce).
"""

from __future__ import annotations

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import I8, I64, IntType
from isel.llvm.vocabulary import Opcode
from isel.lower.addresses.growing_values import Increment, Loop, Promises, factor, loops
from isel.lower.addresses.index_sums import is_sum
from isel.lower.rewriter import NONE, FreshNames, number


def with_stepped_addresses(
    function: ir.Function, layout: TypeLayout, promised: ir.Function, rolled: frozenset[int]
) -> ir.Function:
    """The function with addresses stepped where a block is a loop.

    `promised` is the same function before flags were removed from what it computes, `rolled` the
    metadata of loops that are not to be unrolled.
    """
    found = [
        (loop, steps)
        for loop in loops(function, Promises(promised), rolled)
        if (steps := loop.steps(layout))
    ]
    if not found:
        return function
    names = FreshNames(function)
    before: dict[str, list[ir.Instruction]] = {}
    bodies: dict[str, list[ir.Instruction]] = {}
    for loop, steps in found:
        start = _Start(loop, names, before.setdefault(loop.before, []))
        bodies[loop.block.name] = _body(loop, steps, start, names)
    return function.with_blocks(
        [
            _with_ending(ir.Block(block.name, bodies.get(block.name, block.instructions)), more)
            if (more := before.get(block.name, [])) or block.name in bodies
            else block
            for block in function.blocks
        ]
    )


class _Start:
    """Makes what values are in the first turn, before the loop."""

    def __init__(self, loop: Loop, names: FreshNames, out: list[ir.Instruction]) -> None:
        self.loop = loop
        self.names = names
        self.out = out
        self.known: dict[str, llvm.Value] = {}
        self.sums: dict[llvm.Value, tuple[llvm.Value, int]] = {}  # what it is made of, a number
        self.added: dict[tuple[llvm.Value, llvm.Value], llvm.Value] = {}

    def of(self, value: llvm.Value) -> llvm.Value:
        """A value in the first turn."""
        i = self.loop.maker(value)
        if i is None or i.result is None:
            return value
        return self.result_of(i)

    def result_of(self, i: ir.Instruction) -> llvm.Value:
        """What an instruction of the loop gives in the first turn."""
        name = i.result or ""
        if name not in self.known:
            self.known[name] = self._made(i)
        return self.known[name]

    def _made(self, i: ir.Instruction) -> llvm.Value:
        if isinstance(i, ir.Phi):
            counter = self.loop.counter(i)
            assert counter is not None
            return counter[0]
        name = self.names.new("first")
        common = (i.opcode, name, i.line, i.ordinal, i.dbg, i.metadata, i.type)
        match i:
            case ir.Cast():
                operand = self.of(i.operand)
                if isinstance(operand, llvm.ConstInt):
                    return _extended(operand, i)
                made: ir.Instruction = ir.Cast(*common, operand, i.flags)
            case ir.BinaryOp():
                lhs, rhs = self.of(i.lhs), self.of(i.rhs)
                if (known := _folded(i, lhs, rhs)) is not None:
                    return known
                if is_sum(i):
                    return self._sum(i, lhs, rhs)
                made = ir.BinaryOp(*common, lhs, rhs, NONE)
            case ir.GetElementPtr():
                indices = tuple(map(self.of, i.indices))
                made = ir.GetElementPtr(*common, i.element_type, i.base, indices, NONE)
            case _:
                raise AssertionError(i)
        self.out.append(made)
        return llvm.Local(name, i.type)

    def _sum(self, i: ir.BinaryOp, lhs: llvm.Value, rhs: llvm.Value) -> llvm.Value:
        """A sum whose number is added last: what differs by a number alone is seen to."""
        (one, left), (other, right) = self._parts(lhs), self._parts(rhs)
        if one is None or other is None:
            base = one or other
        else:
            base = self.added.get((one, other)) or self._add(i, one, other)
            self.added[one, other] = base
        assert base is not None, "of two numbers the sum is known"
        if not left + right:
            return base
        assert isinstance(i.type, IntType)
        made = self._add(i, base, number(i.type, left + right))
        self.sums[made] = base, left + right
        return made

    def _parts(self, value: llvm.Value) -> tuple[llvm.Value | None, int]:
        if isinstance(value, llvm.ConstInt):
            return None, value.signed
        return self.sums.get(value, (value, 0))

    def _add(self, i: ir.BinaryOp, lhs: llvm.Value, rhs: llvm.Value) -> llvm.Value:
        name = self.names.new("first")
        common = (Opcode.ADD, name, i.line, i.ordinal, i.dbg, i.metadata, i.type)
        self.out.append(ir.BinaryOp(*common, lhs, rhs, NONE))
        return llvm.Local(name, i.type)


def _extended(value: llvm.ConstInt, i: ir.Cast) -> llvm.Value:
    assert isinstance(i.type, IntType)
    return number(i.type, value.signed if i.opcode is Opcode.SEXT else value.value)


def _folded(i: ir.BinaryOp, lhs: llvm.Value, rhs: llvm.Value) -> llvm.Value | None:
    """What an operation gives whose operands are known, or one of which is 0."""
    left, right = (v.value if isinstance(v, llvm.ConstInt) else None for v in (lhs, rhs))
    assert isinstance(i.type, IntType)
    if is_sum(i):
        if left == 0 or right == 0:
            return rhs if left == 0 else lhs
        return number(i.type, left + right) if left is not None and right is not None else None
    times = factor(i)
    return None if left is None or times is None else number(i.type, left * times)


def _body(
    loop: Loop, steps: list[Increment], start: _Start, names: FreshNames
) -> list[ir.Instruction]:
    """The instructions of a loop: phis first, then all that is not stepped, then the steps."""
    gone = {step.value.result for step in steps}
    nexts = [_next(step, names) for step in steps]
    phis: list[ir.Instruction] = []
    for step, following in zip(steps, nexts, strict=True):
        value = step.value
        again = llvm.Local(following.result or "", value.type)
        ways = ((start.result_of(value), loop.before), (again, loop.block.name))
        common = (Opcode.PHI, value.result, *value.place)
        phis.append(ir.Phi(*common, value.type, ways, NONE))
    *instructions, last = loop.block.instructions
    kept = [i for i in instructions if i.result is None or i.result not in gone]
    return [*phis, *kept, *nexts, last]


def _next(step: Increment, names: FreshNames) -> ir.Instruction:
    """What a value is in the next turn."""
    value = step.value
    this = llvm.Local(value.result or "", value.type)
    common = (names.new("next"), *value.place, value.type)
    if isinstance(value.type, IntType):
        return ir.BinaryOp(Opcode.ADD, *common, this, number(value.type, step.by), NONE)
    by = number(I64, step.by)
    return ir.GetElementPtr(Opcode.GETELEMENTPTR, *common, I8, this, (by,), NONE)


def _with_ending(block: ir.Block, more: list[ir.Instruction]) -> ir.Block:
    """A block with more instructions before its last one."""
    *instructions, last = block.instructions
    return ir.Block(block.name, [*instructions, *more, last])
