"""Loads of values that memory is known to hold, and stores overwritten before a read, are left out.

Layer: isel.lower.  Input: a function.  Output: the same function, or one without loads from where
the thread has just stored or loaded, without stores of what is there already, and without stores
that another one of the block makes vain.  Known is what holds until something may write: another
store, unless it goes elsewhere for certain, an atomic operation, a call.  What is volatile, atomic
or not temporal stays.  A block that comes behind one other alone knows what that one knew.  LLVM's
NVPTX back end does likewise (EarlyCSE, and its DAG combiner).
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import FloatType, IntType, PointerType, Type, VectorType
from isel.lower.memory.memory_locations import MemoryLocation, MemoryLocations
from isel.lower.memory.neighbours import may_pass_loads
from isel.lower.substitution import in_flow_order, with_others

_MOVED = (IntType, FloatType, PointerType, VectorType)

_FEWEST = 2
"""Accesses behind one pointer from which on one of them may be left out."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A value that is in memory; whether nothing writes there while the kernel runs."""

    value: llvm.Value
    unwritten: bool


_Access = tuple[int, ir.Load | ir.Store]
"""An access, and the number of its block."""

_Contents = dict[tuple[MemoryLocation, Type], _Held]


def with_known_contents(
    function: ir.Function, layout: TypeLayout, pure: frozenset[str]
) -> ir.Function:
    """The function without needless accesses; calls of `pure` functions touch no memory."""
    accesses = [
        (number, i)
        for number, block in enumerate(function.blocks)
        for i in block.instructions
        if isinstance(i, (ir.Load, ir.Store)) and not i.volatile and i.ordering is None
    ]
    if len(accesses) < _FEWEST:
        return function
    fresh = {n for n, block in enumerate(function.blocks) if n == 0 or _is_joined(block)}
    places = MemoryLocations(function, layout)
    behind: defaultdict[llvm.Value, list[_Access]] = defaultdict(list)
    for access in accesses:
        behind[places.root(access[1].pointer)].append(access)
    near = [
        i
        for together in behind.values()
        if len(together) >= _FEWEST and not _is_loaded_and_changed(together, fresh)
        for _, i in together
    ]
    if not near:
        return function  # as most
    moved = [(i.pointer, i.type if isinstance(i, ir.Load) else i.value.type) for i in near]
    if not _may_overlap([places.of(to, what) for to, what in moved if isinstance(what, _MOVED)]):
        return function
    return _Memory(function, places, pure).run()


def _is_loaded_and_changed(together: list[_Access], fresh: set[int]) -> bool:
    """Whether behind a pointer there is one load, from memory of which nothing is known yet, and
    one store, of something else: as most that is changed in place.

    Of memory nothing is known where the blocks `fresh` begin.
    """
    if len(together) > _FEWEST:
        return False
    (block, load), (other, store) = together
    is_first = isinstance(load, ir.Load) and (block == other or block in fresh)
    return is_first and isinstance(store, ir.Store) and not _is_result(store.value, load)


def _is_joined(block: ir.Block) -> bool:
    """Whether a block certainly has several predecessors: it begins with a PHI."""
    first = block.instructions[0]
    return isinstance(first, ir.Phi) and len(first.incoming) > 1


def _is_result(value: llvm.Value, load: ir.Load | ir.Store) -> bool:
    return isinstance(value, llvm.Local) and value.name == load.result


def _may_overlap(places: list[MemoryLocation]) -> bool:
    """Whether two accesses behind one pointer may overlap, by their known offsets."""
    behind: defaultdict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for place in places:
        behind[place.base].append((place.offset, place.end))
    return any(
        begin < end
        for spans in behind.values()
        for (_, end), (begin, _) in itertools.pairwise(sorted(spans))
    )


class _Memory:
    """What is known of memory along a way through the blocks."""

    def __init__(
        self, function: ir.Function, places: MemoryLocations, pure: frozenset[str]
    ) -> None:
        self.function = function
        self.pure = pure
        self.places = places
        self.same: dict[str, llvm.Value] = {}
        self.needless: set[int] = set()
        self.contents: _Contents = {}
        self.unread: dict[MemoryLocation, ir.Store] = {}

    def run(self) -> ir.Function:
        """The function without the loads and stores that need not be."""
        before = Counter(t for b in self.function.blocks for t in b.instructions[-1].targets())
        only = {
            target: block.name
            for block in self.function.blocks
            for target in block.instructions[-1].targets()
            if before[target] == 1
        }
        ends: dict[str, _Contents] = {}
        for block in in_flow_order(self.function.blocks):
            self.contents = dict(ends.get(only.get(block.name, ""), {}))
            self._block(block)
            ends[block.name] = self.contents
        if not self.needless:
            return self.function
        return with_others(self.function, self.same, self.needless)

    def _block(self, block: ir.Block) -> None:
        self.unread = {}
        for i in block.instructions:
            match i:
                case ir.Branch() | ir.CondBranch() | ir.Switch():
                    break
                case ir.Load(volatile=False, ordering=None):
                    self._load(i)
                case ir.Store(volatile=False, ordering=None):
                    self._store(i)
                case _ if not may_pass_loads(i, self.pure):
                    self.contents = {k: held for k, held in self.contents.items() if held.unwritten}
                    self.unread = {}

    def _load(self, i: ir.Load) -> None:
        if not isinstance(i.type, _MOVED):
            self.unread = {}
            return
        place = self.places.of(i.pointer, i.type)
        known = self.contents.get((place, i.type))
        if known is not None and i.result is not None and _is_plain(i):
            self.same[i.result] = known.value
            self.needless.add(id(i))
            return
        unwritten = self.places.is_unwritten(i.pointer) or (
            i.attachment("invariant.load") is not None
        )
        if not unwritten:
            self.unread = {at: one for at, one in self.unread.items() if at.is_apart(place)}
        if i.result is not None:
            self.contents[place, i.type] = _Held(llvm.Local(i.result, i.type), unwritten)

    def _store(self, i: ir.Store) -> None:
        type_ = i.value.type
        if not isinstance(type_, _MOVED):
            self.contents = {k: held for k, held in self.contents.items() if held.unwritten}
            return
        place, value = self.places.of(i.pointer, type_), self._value(i.value)
        held = self.contents.get((place, type_))
        if held is not None and held.value == value and _is_plain(i):
            self.needless.add(id(i))
            return
        self.needless |= {id(one) for at, one in self.unread.items() if place.covers(at)}
        self.contents = {
            key: held
            for key, held in self.contents.items()
            if held.unwritten or key[0].is_apart(place)
        }
        if _is_plain(i):
            self.contents[place, type_] = _Held(value, False)
            self.unread[place] = i

    def _value(self, value: llvm.Value) -> llvm.Value:
        """A value; in place of a load that was left out, the value that memory holds."""
        return self.same.get(value.name, value) if isinstance(value, llvm.Local) else value


def _is_plain(i: ir.Load | ir.Store) -> bool:
    return i.attachment("nontemporal") is None
