"""A function's instructions replaced by others, with new blocks where that needs loops.

Layer: isel.lower.  Input: a function, and for some of its instructions what makes the new ones.
Output: a function with the same names; the given one stays as it is.  New instructions have the
place of the one that they stand for: an `Emitter` makes them, and a `Rewriter` goes through all
of a function with one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.attributes import NO_ATTRIBUTES
from isel.llvm.types import (
    I1,
    I8,
    I32,
    PTR,
    VOID,
    IntType,
    StructType,
    Type,
    VectorType,
    with_shape_of,
)
from isel.llvm.vocabulary import (
    Flag,
    FloatPredicate,
    IntPredicate,
    Opcode,
    Ordering,
    RMWOperation,
    TailKind,
)

NONE: frozenset[Flag] = frozenset()

Values = tuple[llvm.Value, ...]

Replacement = Callable[["Rewriter"], object]
"""Emits what stands for an instruction."""


class FreshNames:
    """Names that nothing in a function has."""

    def __init__(self, function: ir.Function) -> None:
        self._taken = {i.result for i in function.instructions() if i.result is not None}
        self._taken |= {block.name for block in function.blocks}
        self._taken |= {param.name for param in function.params}
        self._counts: dict[str, int] = {}  # by hint: below, all numbers are taken

    def new(self, hint: str) -> str:
        """Another one, which begins with `hint`."""
        count = self._counts.get(hint, 0)
        while (found := f"{hint}.{count}") in self._taken:
            count += 1
        self._taken.add(found)
        self._counts[hint] = count + 1
        return found


class Emitter:
    """Appends instructions to the last of some blocks, in the place of one: `at`."""

    def __init__(self, names: FreshNames, blocks: list[ir.Block], at: ir.Instruction) -> None:
        self.names = names
        self.blocks = blocks
        self.at = at

    # ---- blocks and names --------------------------------------------------------------------

    def open(self, name: str) -> None:
        """Go on in a new block."""
        self.blocks.append(ir.Block(name, []))

    @property
    def here(self) -> str:
        """The block that is being filled."""
        return self.blocks[-1].name

    def name(self, hint: str) -> str:
        """A name that nothing has."""
        return self.names.new(hint)

    # ---- instructions ------------------------------------------------------------------------

    def common(self, opcode: Opcode, result: str | None) -> ir.Common:
        """Fields common to new instructions: the source location of the replaced one."""
        return (opcode, result, *self.at.place)

    def add(self, i: ir.Instruction) -> llvm.Value:
        """Append an instruction; gives its result."""
        self.blocks[-1].instructions.append(i)
        return llvm.Local(i.result or "", i.type)

    def binary(
        self, opcode: Opcode, lhs: llvm.Value, rhs: llvm.Value, result: str | None = None
    ) -> llvm.Value:
        """`opcode lhs, rhs`."""
        common = self.common(opcode, result or self.name("t"))
        return self.add(ir.BinaryOp(*common, lhs.type, lhs, rhs, NONE))

    def cast(self, opcode: Opcode, value: llvm.Value, type_: Type, result: str = "") -> llvm.Value:
        """`opcode value to type`, or the value if it has the type already."""
        if value.type == type_ and not result:
            return value
        common = self.common(opcode, result or self.name("t"))
        return self.add(ir.Cast(*common, type_, value, NONE))

    def resize(self, value: llvm.Value, type_: IntType, result: str = "") -> llvm.Value:
        """An integer in another width, filled up with zeros."""
        assert isinstance(value.type, IntType)
        if value.type.bits == type_.bits:
            return value
        wider = type_.bits > value.type.bits
        return self.cast(Opcode.ZEXT if wider else Opcode.TRUNC, value, type_, result)

    def negative(self, value: llvm.Value) -> llvm.Value:
        """`fneg value`."""
        common = self.common(Opcode.FNEG, self.name("t"))
        return self.add(ir.UnaryOp(*common, value.type, value, NONE))

    def named(self, value: llvm.Value, result: str | None) -> None:
        """Give a value the name that a replaced result has."""
        if result is not None:
            self.add(ir.Freeze(*self.common(Opcode.FREEZE, result), value.type, value))

    def compare(
        self, predicate: IntPredicate | FloatPredicate, lhs: llvm.Value, rhs: llvm.Value,
        result: str | None = None,
    ) -> llvm.Value:  # fmt: skip
        """`icmp predicate lhs, rhs` or `fcmp predicate lhs, rhs`."""
        opcode = Opcode.ICMP if isinstance(predicate, IntPredicate) else Opcode.FCMP
        common = self.common(opcode, result or self.name("t"))
        type_ = with_shape_of(I1, lhs.type)
        return self.add(ir.Compare(*common, type_, predicate, lhs, rhs, NONE))

    def select(
        self, condition: llvm.Value, yes: llvm.Value, no: llvm.Value, result: str | None = None
    ) -> llvm.Value:
        """`select condition, yes, no`."""
        common = self.common(Opcode.SELECT, result or self.name("t"))
        return self.add(ir.Select(*common, yes.type, condition, yes, no, NONE))

    def call(
        self, name: str, type_: Type, arguments: Iterable[llvm.Value], result: str | None = None
    ) -> llvm.Value:
        """A call of an intrinsic."""
        given = tuple(arguments)
        callee = llvm.GlobalRef(name, PTR)
        fresh = self.name("t") if type_ is not VOID and result is None else result
        common = self.common(Opcode.CALL, fresh)
        return self.add(
            ir.Call(
                *common, type_, callee, given, "ccc", NO_ATTRIBUTES, NO_ATTRIBUTES, {}, (), None,
                TailKind.NONE, NONE,
            )
        )  # fmt: skip

    def load(
        self, type_: Type, pointer: llvm.Value, alignment: int, *, volatile: bool = False,
        ordering: Ordering | None = None, scope: str = "", result: str = "",
    ) -> llvm.Value:  # fmt: skip
        """`load type, pointer`."""
        common = self.common(Opcode.LOAD, result or self.name("t"))
        return self.add(ir.Load(*common, type_, pointer, alignment, volatile, ordering, scope))

    def store(
        self, value: llvm.Value, pointer: llvm.Value, alignment: int, *, volatile: bool = False
    ) -> None:
        """`store value, pointer`."""
        common = self.common(Opcode.STORE, None)
        self.add(ir.Store(*common, VOID, value, pointer, alignment, volatile, None, ""))

    def allocate(self, type_: Type, count: int, alignment: int) -> llvm.Value:
        """`alloca type, count` in the first block: one for all executions of what needs it."""
        common = self.common(Opcode.ALLOCA, self.name("t"))
        i = ir.Alloca(*common, PTR, type_, number(I32, count), alignment, False, False)
        self.blocks[0].instructions.insert(0, i)
        return llvm.Local(common[1] or "", PTR)

    def offset(
        self, pointer: llvm.Value, by: llvm.Value, result: str | None = None, element: Type = I8
    ) -> llvm.Value:
        """`getelementptr i8, pointer, by`, or so many elements of another type."""
        common = self.common(Opcode.GETELEMENTPTR, result or self.name("t"))
        return self.add(ir.GetElementPtr(*common, pointer.type, element, pointer, (by,), NONE))

    def extract(self, value: llvm.Value, index: int, result: str | None = "") -> llvm.Value:
        """`extractvalue value, index`."""
        assert isinstance(value.type, StructType)
        common = self.common(Opcode.EXTRACTVALUE, result or self.name("t"))
        return self.add(ir.ExtractValue(*common, value.type.elements[index], value, (index,)))

    def element(self, vector: llvm.Value, at: int) -> llvm.Value:
        """An element of a vector, which may be a constant; a scalar is its own."""
        if not isinstance(vector.type, VectorType):
            return vector
        known = llvm.elements_of(vector)
        return self.extract_element(vector, number(I32, at)) if known is None else known[at]

    def vector(self, elements: Sequence[llvm.Value]) -> llvm.Value:
        """A vector of elements."""
        whole: llvm.Value = llvm.Poison(VectorType(elements[0].type, len(elements)))
        for at, element in enumerate(elements):
            whole = self.insert_element(whole, element, number(I32, at))
        return whole

    def extract_element(self, vector: llvm.Value, index: llvm.Value) -> llvm.Value:
        """`extractelement vector, index`."""
        common = self.common(Opcode.EXTRACTELEMENT, self.name("t"))
        return self.add(ir.ExtractElement(*common, vector.type.scalar, vector, index))

    def insert_element(
        self, vector: llvm.Value, element: llvm.Value, index: llvm.Value, result: str | None = None
    ) -> llvm.Value:
        """`insertelement vector, element, index`."""
        common = self.common(Opcode.INSERTELEMENT, result or self.name("t"))
        return self.add(ir.InsertElement(*common, vector.type, vector, element, index))

    def insert(self, whole: llvm.Value, part: llvm.Value, at: int, result: str) -> llvm.Value:
        """`insertvalue whole, part, at`."""
        common = self.common(Opcode.INSERTVALUE, result)
        return self.add(ir.InsertValue(*common, whole.type, whole, part, (at,)))

    def pair(self, first: llvm.Value, second: llvm.Value, result: str) -> llvm.Value:
        """`{first, second}`."""
        type_ = StructType((first.type, second.type), False)
        half = self.insert(llvm.Undef(type_), first, 0, self.name("t"))
        return self.insert(half, second, 1, result)

    def fence(self, ordering: Ordering, scope: str) -> None:
        """`fence ordering`."""
        self.add(ir.Fence(*self.common(Opcode.FENCE, None), VOID, ordering, scope))

    def exchange(
        self, pointer: llvm.Value, expected: llvm.Value, new: llvm.Value, ordering: Ordering,
        scope: str, alignment: int,
    ) -> llvm.Value:  # fmt: skip
        """`cmpxchg pointer, expected, new`."""
        type_ = StructType((expected.type, I1), False)
        common = self.common(Opcode.CMPXCHG, self.name("t"))
        return self.add(
            ir.CompareExchange(
                *common, type_, pointer, expected, new, ordering, Ordering.MONOTONIC, scope,
                alignment, False, False,
            )
        )  # fmt: skip

    def atomic(
        self, operation: RMWOperation, pointer: llvm.Value, value: llvm.Value, like: ir.AtomicRMW
    ) -> llvm.Value:
        """`atomicrmw operation pointer, value`, ordered as another one."""
        common = self.common(Opcode.ATOMICRMW, self.name("t"))
        return self.add(
            ir.AtomicRMW(
                *common, value.type, operation, pointer, value, like.ordering, like.scope, 4, False
            )
        )

    def branch(self, target: str) -> None:
        """`br label target`."""
        self.add(ir.Branch(*self.common(Opcode.BR, None), VOID, target))

    def branch_if(self, condition: llvm.Value, yes: str, no: str) -> None:
        """`br condition, label yes, label no`."""
        self.add(ir.CondBranch(*self.common(Opcode.BR, None), VOID, condition, yes, no))

    def phi(self, type_: Type, *incoming: tuple[llvm.Value, str]) -> llvm.Value:
        """`phi type [value, block], …`."""
        common = self.common(Opcode.PHI, self.name("t"))
        return self.add(ir.Phi(*common, type_, incoming, NONE))


class Rewriter(Emitter):
    """Emits instructions in the place of those of a function, one after the other."""

    def __init__(self, function: ir.Function) -> None:
        super().__init__(FreshNames(function), [], function.blocks[0].instructions[0])
        self.function = function
        self.tails: dict[str, str] = {}
        self.phis = {id(i) for i in function.instructions() if isinstance(i, ir.Phi)}

    def run(self, choose: Callable[[ir.Instruction], Replacement | None]) -> ir.Function:
        """The function with every instruction that `choose` has something for replaced."""
        for block in self.function.blocks:
            self.open(block.name)
            for i in block.instructions:
                replacement = choose(i)
                if replacement is None:
                    self.blocks[-1].instructions.append(i)
                    continue
                self.at = i
                replacement(self)
            self.tails[block.name] = self.blocks[-1].name
        blocks = [ir.Block(b.name, [self._phi(i) for i in b.instructions]) for b in self.blocks]
        return self.function.with_blocks(blocks)

    def _phi(self, i: ir.Instruction) -> ir.Instruction:
        """A phi with the blocks that values come from now; those of new blocks are right."""
        if not isinstance(i, ir.Phi) or id(i) not in self.phis:
            return i
        incoming = tuple((value, self.tails.get(block, block)) for value, block in i.incoming)
        return dataclasses.replace(i, incoming=incoming)


def number(type_: IntType, value: int) -> llvm.ConstInt:
    """An integer constant, modulo its width."""
    return llvm.ConstInt(type_, value & ((1 << type_.bits) - 1))
