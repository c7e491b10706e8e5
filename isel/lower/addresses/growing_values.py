"""Values of loops of one block that grow by the same number in each iteration, and which to step.

Layer: isel.lower.  Input: a function.  Output: for each such loop the addresses, and parts of
addresses, that take another operation in each iteration, and what they grow by.  They are made of
sums, products and extensions of counters; an extension may be taken apart where the numbers in it
keep their sign (`nsw`, `nuw`), else what is extended grows, where it takes more than one operation.

LLVM Language Reference, getelementptr; add; zext; sext.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator

from intrinsics.lazy_dataclass import dataclass
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout, walk_indices
from isel.llvm.types import I32, I64, IntType, PointerType
from isel.llvm.vocabulary import Flag, Opcode
from isel.lower.addresses.index_sums import is_sum
from isel.lower.rewriter import NONE

_MOST = 8
"""Addresses of a loop that may be stepped: each takes two registers for as long as it goes on."""

_DEPTH = 16
"""Operations that an index is looked through for."""

_SHARED = 3
_SEVERAL = 2
"""Addresses of which ptxas 13.5 copies all but one before they are stepped."""

_LOOP = "llvm.loop"
_SPACES = frozenset((0, 1, _SHARED, 4))
"""Generic, global, shared and constant memory."""

_NOT_NEGATIVE = frozenset({Flag.NNEG})

_EXTENSIONS = {Opcode.SEXT: frozenset({Flag.NSW}), Opcode.ZEXT: frozenset({Flag.NUW})}
"""What operations must promise for their operands to be extended in their place."""

_Growth = int | None
"""What a value grows by from turn to turn; None where it is not the same each time."""


Expression = Hashable
"""How a value is computed from what comes into a block, or is a phi there."""


class Promises:
    """What a function promises that computes the same as another, before flags went from it."""

    def __init__(self, function: ir.Function) -> None:
        self._function = function

    @functools.cached_property
    def kept(self) -> dict[Expression, frozenset[Flag]]:
        """What addresses of accesses promise that a loop of one block makes in each turn.

        A promise that was not kept would give an access without an address, so these hold whoever
        else computes the same, and whatever takes the flags from it.
        """
        found: dict[Expression, frozenset[Flag]] = {}
        for loop in loops(self._function, None):
            pending = [value for i in loop.certain() if (value := _pointer(i)) is not None]
            seen: set[llvm.Value] = set()
            while pending:
                i = loop.maker(value := pending.pop())
                if isinstance(i, (ir.GetElementPtr, ir.BinaryOp, ir.Cast)) and value not in seen:
                    seen.add(value)
                    pending += i.operands()
                    if not isinstance(i, ir.GetElementPtr) and i.flags:
                        key = loop.expression(value)
                        found[key] = found.get(key, NONE) | i.flags
        return found


def _space(pointer: llvm.Value) -> int | None:
    """The address space that a pointer leads to: that of a variable whose generic address it is."""
    if isinstance(pointer, llvm.ConstExpr) and pointer.opcode is Opcode.ADDRSPACECAST:
        pointer = pointer.operands[0]
    return pointer.type.address_space if isinstance(pointer.type, PointerType) else None


def _pointer(i: ir.Instruction) -> llvm.Value | None:
    return i.pointer if isinstance(i, (ir.Load, ir.Store)) else None


def loops(
    function: ir.Function, promises: Promises | None, rolled: frozenset[int] = frozenset()
) -> Iterator[Loop]:
    """The blocks that may follow themselves, and whose one other predecessor is no such block.

    Those whose metadata is among `rolled` are not to be unrolled.
    """
    turning = {
        block.name: block
        for block in function.blocks
        if isinstance(block.instructions[0], ir.Phi)
        and block.name in block.instructions[-1].targets()
    }
    for name, block in turning.items():
        first = block.instructions[0]
        assert isinstance(first, ir.Phi)
        others = [before for _, before in first.incoming if before != name]
        if len(others) == 1 and others[0] not in turning:
            stays = bool(rolled) and block.instructions[-1].attachment(_LOOP) in rolled
            yield Loop(block, others[0], promises, stays_rolled=stays)


@dataclass(frozen=True, slots=True)
class Increment:
    """A value to be stepped, and by how much each turn: bytes, if it is an address."""

    value: ir.Instruction
    by: int


class Loop:
    """What grows from turn to turn of a block, and how."""

    def __init__(
        self,
        block: ir.Block,
        before: str,
        promises: Promises | None,
        *,
        stays_rolled: bool = False,
    ) -> None:
        self.block = block
        self.before = before
        self.promises = promises
        self.expressions: dict[str, Expression] = {}
        self.growths: dict[tuple[str, frozenset[Flag]], _Growth] = {}
        self.made = {i.result: i for i in block.instructions if i.result is not None}
        self.scales = stays_rolled and self._extended() >= _SEVERAL

    def _extended(self) -> int:
        """How many addresses have an index that is extended from 32 bits in the loop."""
        return sum(
            any(self._narrow(index) is not None for index in i.indices)
            for i in self.block.instructions
            if isinstance(i, ir.GetElementPtr)
        )

    def _narrow(self, index: llvm.Value) -> llvm.Value | None:
        """The 32 bits that an index extends in the loop, if it does."""
        made = self.maker(index)
        return made.operand if isinstance(made, ir.Cast) and made.operand.type == I32 else None

    @functools.cached_property
    def positive(self) -> set[llvm.Value]:
        """What is extended with the promise that it is not negative."""
        return {
            i.operand
            for i in self.block.instructions
            if isinstance(i, ir.Cast) and self.keeps(i, _NOT_NEGATIVE)
        }

    def steps(self, layout: TypeLayout) -> list[Increment]:
        """The values to step; none where those are too many for the registers."""
        found: dict[str, Increment] = {}
        for i in self.block.instructions:
            if isinstance(i, ir.GetElementPtr) and (step := self._step(i, layout)) is not None:
                found[step.value.result or ""] = step
        steps = list(found.values())
        return steps if len(steps) <= _MOST or self._different(steps) <= _MOST else []

    def _different(self, steps: list[Increment]) -> int:
        """How many of the values to be stepped are computed in different ways."""
        values = [step.value for step in steps]
        return len({(type(i), *map(self.expression, i.operands())) for i in values})

    def _step(self, i: ir.GetElementPtr, layout: TypeLayout) -> Increment | None:
        if not isinstance(i.type, PointerType) or i.type.address_space not in _SPACES:
            return None
        if self.maker(i.base) is not None:
            return None
        try:
            walked = walk_indices(layout, i.element_type, i.indices)
        except Unselectable:  # told where the step is selected
            return None
        by = 0
        for size, index, _ in walked:
            growth = self._of_wide(index, i)
            if growth is None:
                return self._of_index(index) if len(walked) == 1 else None
            by += size * growth
        return Increment(i, by) if by else None

    def _of_wide(self, index: llvm.Value, i: ir.GetElementPtr) -> _Growth:
        """What an index grows by as it is added to an address: a narrow one is extended first.

        One of 32 bits that wraps leads to another place 4 GB away, which is not in shared memory.
        Its product is added to an address by one instruction, where stepping takes two, and copies
        of several addresses: that pays where the loop is unrolled.
        """
        if index.type != I64 and self.maker(index) is not None:
            return None
        narrow = self._narrow(index)
        if self.scales and narrow is not None:
            return None
        if (growth := self.growth(index)) is not None:
            return growth
        if narrow is not None and _space(i.base) == _SHARED and i.result in self.accessed:
            return self.growth(narrow)
        return None

    def _of_index(self, index: llvm.Value) -> Increment | None:
        """What an index extends, if that takes more than a counter."""
        made = self.maker(index)
        if not isinstance(made, ir.Cast) or made.opcode not in _EXTENSIONS:
            return None
        inner = self.maker(made.operand)
        if not isinstance(inner, ir.BinaryOp) or not self._is_long(inner):
            return None
        growth = self.growth(made.operand)
        return Increment(inner, growth) if growth else None

    def _is_long(self, i: ir.BinaryOp) -> bool:
        """Whether one operand of an operation is the result of another one, of this loop."""
        return any(isinstance(self.maker(part), ir.BinaryOp) for part in (i.lhs, i.rhs))

    @functools.cached_property
    def accessed(self) -> set[str | None]:
        """The addresses that are accessed in each turn, and those that they are stepped from."""
        found: set[str | None] = set()
        for access in self.certain():
            step = self.maker(pointer) if (pointer := _pointer(access)) is not None else None
            while isinstance(step, ir.GetElementPtr) and step.result not in found:
                found.add(step.result)
                step = self.maker(step.base)
        return found

    def certain(self) -> Iterator[ir.Instruction]:
        """The instructions that every iteration executes: a called function may not return."""
        for i in self.block.instructions:
            if isinstance(i, ir.Call) and not (i.callee_name or "").startswith("llvm."):
                return
            yield i

    # ---- what grows --------------------------------------------------------------------------

    def maker(self, value: llvm.Value) -> ir.Instruction | None:
        """The instruction of this block that a value is the result of."""
        return self.made.get(value.name) if isinstance(value, llvm.Local) else None

    def counter(self, phi: ir.Phi) -> tuple[llvm.Value, ir.BinaryOp] | None:
        """What a counter begins with, and its addition of a number; None if it is none."""
        ways = {name: value for value, name in phi.incoming}
        step = self.maker(ways[self.block.name])
        if (
            isinstance(step, ir.BinaryOp)
            and step.opcode is Opcode.ADD
            and step.lhs == llvm.Local(phi.result or "", phi.type)
            and isinstance(step.rhs, llvm.ConstInt)
        ):
            return ways[self.before], step
        return None

    def growth(
        self, value: llvm.Value, promised: frozenset[Flag] = NONE, depth: int = _DEPTH
    ) -> _Growth:
        """What an integer grows by, if all that it is made of promises as much."""
        i = self.maker(value)
        if i is None or i.result is None:
            return 0
        key = i.result, promised
        if key not in self.growths and depth:
            self.growths[key] = self._growth(i, promised, depth - 1)
        return self.growths.get(key)

    def _growth(self, i: ir.Instruction, promised: frozenset[Flag], depth: int) -> _Growth:
        if isinstance(i, ir.Phi):
            return self._of_counter(i, promised)
        if isinstance(i, ir.Cast) and i.opcode in _EXTENSIONS:
            return self._of_extension(i, depth)
        if not isinstance(i, ir.BinaryOp) or not isinstance(i.type, IntType):
            return None
        if i.opcode is not Opcode.OR and not self.keeps(i, promised):
            return None
        left, right = (self.growth(part, promised, depth) for part in (i.lhs, i.rhs))
        if left is None or right is None:
            return None
        if is_sum(i):
            return left + right
        if i.opcode is Opcode.SUB and Flag.NUW not in promised:
            return left - right
        times = factor(i)
        return None if times is None else left * times

    def keeps(self, i: ir.BinaryOp | ir.Cast, promised: frozenset[Flag]) -> bool:
        """Whether an instruction promises as much, by flags that were removed from it too."""
        if promised <= i.flags:
            return True
        if self.promises is None or not self.promises.kept:
            return False
        expression = self.expression(llvm.Local(i.result or "", i.type))
        return promised <= i.flags | self.promises.kept.get(expression, NONE)

    def expression(self, value: llvm.Value, depth: int = _DEPTH) -> Expression:
        """How a value is computed: values of one turn that are computed alike are equal."""
        i = self.maker(value)
        if not isinstance(i, (ir.BinaryOp, ir.Cast)) or not depth:
            return value
        assert isinstance(value, llvm.Local)
        if value.name not in self.expressions:
            parts = tuple([self.expression(part, depth - 1) for part in i.operands()])
            made: Expression = (i.opcode, i.type, parts)
            if isinstance(i, ir.BinaryOp) and is_sum(i):
                made = (Opcode.ADD, i.type, frozenset(parts))
            self.expressions[value.name] = made
        return self.expressions[value.name]

    def _of_counter(self, phi: ir.Phi, promised: frozenset[Flag]) -> _Growth:
        found = self.counter(phi)
        if found is None or not self.keeps(found[1], promised):
            return None
        assert isinstance(found[1].rhs, llvm.ConstInt)
        growth = found[1].rhs.signed
        return None if growth < 0 and Flag.NUW in promised else growth

    def _of_extension(self, i: ir.Cast, depth: int) -> _Growth:
        """Both extensions of what is not negative are the same."""
        growth = self.growth(i.operand, _EXTENSIONS[i.opcode], depth)
        if growth is None and i.operand in self.positive:
            other = Opcode.ZEXT if i.opcode is Opcode.SEXT else Opcode.SEXT
            return self.growth(i.operand, _EXTENSIONS[other], depth)
        return growth


def factor(i: ir.BinaryOp) -> int | None:
    """What an operation multiplies by, if that is a number that is not negative."""
    assert isinstance(i.type, IntType)
    if not isinstance(i.rhs, llvm.ConstInt) or i.rhs.signed < 0:
        return None
    if i.opcode is Opcode.SHL and i.rhs.value < i.type.bits:
        return 1 << i.rhs.value
    return i.rhs.value if i.opcode is Opcode.MUL else None
