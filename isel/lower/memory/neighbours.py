"""Loads and stores of neighbours that are aligned as a whole, as one.

Layer: isel.lower.  Input: a function.  Output: the same function, or one in which scalars beside
each other in memory, read or written in one block with nothing between that might touch them, are
the elements of one struct, which is one access with a vector.  What is volatile or atomic stays as
it is, and nothing is moved across it, or across a call that may touch memory.  PTX ISA, ld; st:
vectors are aligned to their whole size.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout, constant_offset, is_whole
from isel.llvm.types import I64, PointerType, StructType, Type
from isel.llvm.vocabulary import Opcode
from isel.lower.rewriter import Emitter, FreshNames, number

_MOST = 16
"""Bytes of a vector."""

_ACCESSES = (Opcode.LOAD, Opcode.STORE)
_SIZES = (1, 2, 4, 8)
"""Bytes of what becomes an element."""

_COUNTS = {size: [n for n in (16, 8, 4, 2) if n * size <= _MOST] for size in _SIZES}
"""How many of a size become one access, the most first."""

_Access = ir.Load | ir.Store
_Base = llvm.Value


@dataclass(frozen=True, slots=True)
class _Member:
    """An access by its place in the block, and where it goes: bytes behind a base."""

    place: int
    access: _Access
    base: _Base
    offset: int

    @property
    def type(self) -> Type:
        """The type of what moves."""
        return _moved(self.access)


_UNTOUCHED = ("none", "inaccessiblemem: write")
"""What `memory(…)` says of functions that leave memory alone; the latter of llvm.assume."""


def pure_functions(module: ir.Module) -> frozenset[str]:
    """The functions across whose calls an access may move, as their attributes say.

    They touch no memory of the program, they return, and they let no thread wait for another.
    LLVM Language Reference, Function Attributes.
    """
    return frozenset(
        name
        for name, function in module.functions.items()
        if function.attributes.text("memory") in _UNTOUCHED
        and "willreturn" in function.attributes
        and "convergent" not in function.attributes
    )


def with_vectors(
    function: ir.Function, layout: TypeLayout, pure: frozenset[str] = frozenset()
) -> ir.Function:
    """The function with neighbours moved as one, across calls of `pure` functions too."""
    accesses = [
        i
        for i in function.instructions()
        if i.opcode in _ACCESSES and isinstance(i, (ir.Load, ir.Store))
    ]
    if not any(_begins(i, layout) for i in accesses):
        return function
    return _Neighbours(function, layout, pure).run()


def _begins(access: _Access, layout: TypeLayout) -> bool:
    """Whether an access is aligned so that a neighbour could move with it."""
    moved = _moved(access)
    return (access.alignment or 0) >= 2 * layout.size(moved) and _is_element(moved, layout)


def _moved(access: _Access) -> Type:
    """The type of what a load or store moves."""
    return access.value.type if isinstance(access, ir.Store) else access.type


def _is_element(type_: Type, layout: TypeLayout) -> bool:
    return is_whole(layout, type_) and layout.size(type_) in _SIZES and layout.count(type_) == 1


class _Neighbours:
    def __init__(self, function: ir.Function, layout: TypeLayout, pure: frozenset[str]) -> None:
        self.function = function
        self.layout = layout
        self.pure = pure
        self.names = FreshNames(function)
        self.places: dict[str, tuple[llvm.Value, int]] = {}  # steps: a base, and bytes behind it
        for i in function.instructions():
            if type(i) is ir.GetElementPtr and i.result is not None:
                self._remember(i, i.result)

    def run(self) -> ir.Function:
        """The function with neighbours moved as one."""
        blocks = [self._block(block) for block in self.function.blocks]
        return self.function.with_blocks(blocks)

    def _block(self, block: ir.Block) -> ir.Block:
        instead: dict[int, list[ir.Instruction]] = {}
        for kind in (ir.Load, ir.Store):
            for members in self._together(block, kind):
                for run in self._runs(members):
                    instead |= self._merged(run)
        if not instead:
            return block
        found = [one for at, i in enumerate(block.instructions) for one in instead.get(at, (i,))]
        return ir.Block(block.name, found)

    # ---- which accesses ----------------------------------------------------------------------

    def _together(self, block: ir.Block, kind: type[_Access]) -> Iterator[list[_Member]]:
        """Accesses behind one base that may move to the first load, or to the last store."""
        groups: dict[_Base, list[_Member]] = {}
        for at, i in enumerate(block.instructions):
            member = self._member(at, i) if type(i) is kind else None
            if member is not None and (kind is ir.Load or not groups or member.base in groups):
                groups.setdefault(member.base, []).append(member)
            elif _stops(i, kind, self.pure):
                yield from groups.values()
                groups = {} if member is None else {member.base: [member]}
        yield from groups.values()

    def _member(self, at: int, i: ir.Instruction) -> _Member | None:
        if not isinstance(i, (ir.Load, ir.Store)) or i.volatile or i.ordering is not None:
            return None
        if not _is_element(_moved(i), self.layout) or i.attachment("nontemporal") is not None:
            return None
        base, offset = self._of(i.pointer)
        return _Member(at, i, base, offset)

    def _remember(self, step: ir.GetElementPtr, result: str) -> None:
        more = self._constant(step)
        if more is not None:
            base, offset = self._of(step.base)
            self.places[result] = base, offset + more

    def _of(self, pointer: llvm.Value) -> tuple[llvm.Value, int]:
        """The base that a pointer is a number of bytes behind, and the number."""
        name = pointer.name if isinstance(pointer, llvm.Local) else ""
        return self.places.get(name, (pointer, 0))

    def _constant(self, step: ir.GetElementPtr) -> int | None:
        """The bytes that a step moves on, if they are a number; a pointer alone, no vector."""
        if not isinstance(step.type, PointerType):
            return None
        return constant_offset(self.layout, step.element_type, step.indices)

    def _runs(self, members: Sequence[_Member]) -> Iterator[list[_Member]]:
        """A power of two of neighbours of one size, the first of which is aligned for all."""
        if isinstance(members[0].access, ir.Store) and self._overlap(members):
            return
        by_offset = {member.offset: member for member in reversed(members)}
        taken: set[int] = set()
        for first in sorted(by_offset.values(), key=lambda member: member.offset):
            size = self.layout.size(first.type)
            for count in _COUNTS[size]:
                run = [by_offset.get(first.offset + n * size) for n in range(count)]
                found = [member for member in run if member is not None]
                if (
                    count * size <= (first.access.alignment or 0)
                    and len(found) == count
                    and all(self._goes_with(first, member) for member in found)
                    and taken.isdisjoint(member.offset for member in found)
                ):
                    taken |= {member.offset for member in found}
                    yield found
                    break

    def _overlap(self, members: Sequence[_Member]) -> bool:
        """Whether a byte is written twice: then the order of the stores counts."""
        ranges = sorted((m.offset, m.offset + self.layout.size(m.type)) for m in members)
        return any(one[1] > other[0] for one, other in itertools.pairwise(ranges))

    def _goes_with(self, first: _Member, other: _Member) -> bool:
        one, two = first.access, other.access
        return self.layout.size(first.type) == self.layout.size(other.type) and (
            (one.attachment("invariant.load") is None) == (two.attachment("invariant.load") is None)
        )

    # ---- one access --------------------------------------------------------------------------

    def _merged(self, run: Sequence[_Member]) -> dict[int, list[ir.Instruction]]:
        """What stands in the place of each: all that is new at the first load or the last store."""
        places = [member.place for member in run]
        first = run[0].access
        out = Emitter(self.names, [ir.Block("", [])], first)
        pointer = self._pointer(run[0], out)
        whole = StructType(tuple(member.type for member in run), False)
        if isinstance(first, ir.Load):
            name = self.names.new("neighbours")
            loaded = out.add(dataclasses.replace(first, result=name, type=whole, pointer=pointer))
            for n, member in enumerate(run):
                out.at = member.access
                out.extract(loaded, n, member.access.result)
        else:
            value: llvm.Value = llvm.Undef(whole)
            for n, member in enumerate(run):
                assert isinstance(member.access, ir.Store)
                out.at = member.access
                value = out.insert(value, member.access.value, n, self.names.new("neighbours"))
            out.add(dataclasses.replace(first, value=value, pointer=pointer))
        at = min(places) if isinstance(first, ir.Load) else max(places)
        return {place: out.blocks[0].instructions if place == at else [] for place in places}

    def _pointer(self, member: _Member, out: Emitter) -> llvm.Value:
        """The address of the first neighbour, from what is there wherever one of them is."""
        if not member.offset:
            return member.base
        return out.offset(member.base, number(I64, member.offset), out.name("neighbour"))


def may_pass_loads(i: ir.Instruction, pure: frozenset[str]) -> bool:
    """Whether a load may move across an instruction: it writes no memory and always continues."""
    if isinstance(i, ir.Load):
        return not i.volatile and i.ordering is None
    return type(i) in _WITHOUT_MEMORY or (isinstance(i, ir.Call) and i.callee_name in pure)


def _stops(i: ir.Instruction, kind: type[_Access], pure: frozenset[str]) -> bool:
    """Whether nothing may be moved across an instruction: it may write, or for stores read."""
    return (kind is ir.Store and isinstance(i, ir.Load)) or not may_pass_loads(i, pure)


_WITHOUT_MEMORY = {
    *(ir.BinaryOp, ir.UnaryOp, ir.Cast, ir.Compare, ir.Select, ir.Phi, ir.GetElementPtr, ir.Freeze),
    *(ir.ExtractValue, ir.InsertValue, ir.ExtractElement, ir.InsertElement, ir.ShuffleVector),
}
"""What neither reads memory nor writes it."""
