"""One element of a vector in memory, at a place that is computed, as an access to it alone.

Layer: isel.lower.  Input: a function.  Output: the same function, or one without the loads of
vectors of which one element is wanted, and without the stores of vectors that were loaded from the
same place and changed in one element.  Registers cannot be indexed: selection compares the index
with each element's number.  An index beyond the vector makes the result poison, so it may be any
element, but no address outside of the vector.  LLVM Language Reference, extractelement;
insertelement.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout, is_whole
from isel.llvm.types import I64, IntType, VectorType
from isel.llvm.vocabulary import IntPredicate, Opcode
from isel.lower.memory.neighbours import may_pass_loads
from isel.lower.rewriter import Replacement, Rewriter, number

_FEWEST = 4
"""Elements of a vector from which on an element is fetched by its address."""

_WIDEST = 64
"""Bits of an index."""


@dataclass(frozen=True, slots=True)
class _Element:
    """An element that is loaded or stored in place of a vector: what moved that, and the index."""

    access: ir.Load | ir.Store
    vector: VectorType
    index: llvm.Value
    value: llvm.Value | None
    result: str | None


def with_elements(function: ir.Function, layout: TypeLayout, pure: frozenset[str]) -> ir.Function:
    """The function with elements moved alone; nothing is moved but across calls of `pure`."""
    if not any(_is_computed(i) for i in function.instructions()):
        return function
    search = _Search(function, layout, pure)
    for block in function.blocks:
        search.look(block)
    if not search.instead:
        return function

    def choose(i: ir.Instruction) -> Replacement | None:
        if id(i) not in search.instead:
            return None
        found = search.instead[id(i)]
        return lambda out: None if found is None else _move(out, found, layout)

    return Rewriter(function).run(choose)


def _is_computed(i: ir.Instruction) -> bool:
    """Whether an instruction picks an element by a number that is not known."""
    if not isinstance(i, (ir.ExtractElement, ir.InsertElement)):
        return False
    index = i.index
    is_number = isinstance(index, llvm.Local) and isinstance(index.type, IntType)
    return is_number and isinstance(index.type, IntType) and index.type.bits <= _WIDEST


class _Search:
    """What can be moved alone, by the identity of the instruction in whose place; None: by none."""

    def __init__(self, function: ir.Function, layout: TypeLayout, pure: frozenset[str]) -> None:
        self.layout = layout
        self.pure = pure
        self.uses = Counter(
            value.name
            for i in function.instructions()
            for value in i.operands()
            if isinstance(value, llvm.Local)
        )
        self.instead: dict[int, _Element | None] = {}

    def look(self, block: ir.Block) -> None:
        """Find what to change in a block."""
        loads: dict[str, ir.Load] = {}  # of vectors that memory still holds
        changed: dict[str, tuple[ir.InsertElement, ir.Load]] = {}
        for i in block.instructions:
            match i:
                case ir.Load(result=str(result)) if self._is_plain(i) and self.uses[result] == 1:
                    loads[result] = i
                case ir.ExtractElement() if _is_computed(i):
                    self._extract(i, loads)
                case ir.InsertElement(result=str(result)) if _is_computed(i):
                    load = _of(loads, i.vector)
                    if load is not None and self.uses[result] == 1:
                        changed[result] = i, load
                case ir.Store():
                    self._store(i, changed)
                    loads, changed = {}, {}
                case _ if not may_pass_loads(i, self.pure):
                    loads, changed = {}, {}

    def _extract(self, i: ir.ExtractElement, loads: dict[str, ir.Load]) -> None:
        load = _of(loads, i.vector)
        if load is None or not isinstance(load.type, VectorType) or load.type.count < _FEWEST:
            return
        self.instead[id(load)] = None
        self.instead[id(i)] = _Element(load, load.type, i.index, None, i.result)

    def _store(self, i: ir.Store, changed: dict[str, tuple[ir.InsertElement, ir.Load]]) -> None:
        if not isinstance(i.value, llvm.Local) or i.value.name not in changed or i.volatile:
            return
        insert, load = changed[i.value.name]
        if load.pointer != i.pointer or i.ordering is not None:
            return
        assert isinstance(load.type, VectorType)
        self.instead[id(load)] = self.instead[id(insert)] = None
        self.instead[id(i)] = _Element(i, load.type, insert.index, insert.element, None)

    def _is_plain(self, i: ir.Load) -> bool:
        """Whether a load of a vector may be one of an element: of whole bytes, with no order."""
        type_ = i.type
        if i.volatile or i.ordering is not None or not isinstance(type_, VectorType):
            return False
        least = self.layout.size(type_.element) * type_.count
        return is_whole(self.layout, type_.element) and self.layout.size(type_) >= least


def _of(loads: dict[str, ir.Load], vector: llvm.Value) -> ir.Load | None:
    return loads.get(vector.name) if isinstance(vector, llvm.Local) else None


def _move(out: Rewriter, found: _Element, layout: TypeLayout) -> None:
    """Load or store the element."""
    element, access = found.vector.element, found.access
    size = layout.size(element)
    index = _within(out, found.index, found.vector.count)
    pointer = out.offset(access.pointer, index, element=element)
    alignment = min(access.alignment or size, size & -size)
    if isinstance(access, ir.Store):
        assert found.value is not None
        new = dataclasses.replace(access, value=found.value, pointer=pointer, alignment=alignment)
        out.add(new)
        return
    kept = tuple(one for one in access.metadata if one[0] == "invariant.load")
    out.add(
        dataclasses.replace(
            access, result=found.result, type=element, pointer=pointer, alignment=alignment,
            metadata=kept,
        )
    )  # fmt: skip


def _within(out: Rewriter, index: llvm.Value, count: int) -> llvm.Value:
    """An index that is below `count`; the same, if it is."""
    assert isinstance(index.type, IntType)
    wide = out.resize(index, I64)
    if not count & (count - 1):
        return out.binary(Opcode.AND, wide, number(I64, count - 1))
    last = number(I64, count - 1)
    return out.select(out.compare(IntPredicate.ULT, wide, last), wide, last)
