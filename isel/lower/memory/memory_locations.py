"""Memory locations of accesses, compared symbolically.

Layer: isel.lower.  Input: a function and the layout of its types.  Output: of a pointer a base and
the bytes behind it; two pointers whose steps are computed alike have equal ones.  Values of SSA
form are compared: they are the same where no loop has gone round in between.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout, constant_offset
from isel.llvm.types import PointerType, Type
from isel.lower.memory.unwritten import unwritten_pointers

_DEPTH = 5
"""Instructions that are looked through for how a value is computed."""

_KERNEL = "ptx_kernel"

_SEPARATE = frozenset((1, 3, 5))
"""Address spaces (global, shared and local memory) of which none is part of another."""


@dataclass(frozen=True, slots=True)
class MemoryLocation:
    """Bytes of memory behind a base, in an address space, and how many of them a store fills."""

    base: Hashable
    offset: int
    size: int
    space: int
    filled: int

    def is_apart(self, other: MemoryLocation) -> bool:
        """Whether two places are known to have no byte in common."""
        if self.base == other.base:
            return self.end <= other.offset or other.end <= self.offset
        return self.space != other.space and {self.space, other.space} <= _SEPARATE

    def covers(self, other: MemoryLocation) -> bool:
        """Whether a store here is known to fill all bytes of another place."""
        filled = self.offset + self.filled
        return self.base == other.base and self.offset <= other.offset and other.end <= filled

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.size


class MemoryLocations:
    """The places that the pointers of a function lead to."""

    def __init__(self, function: ir.Function, layout: TypeLayout) -> None:
        self.layout = layout
        self.made = {i.result: i for i in function.instructions() if i.result is not None}
        self.known: dict[str, tuple[Hashable, int]] = {}
        self._function = function

    @functools.cached_property
    def unwritten(self) -> set[str]:
        """The pointers to what nobody writes while the kernel runs."""
        is_kernel = self._function.calling_convention == _KERNEL
        return unwritten_pointers(self._function) if is_kernel else set()

    def of(self, pointer: llvm.Value, type_: Type) -> MemoryLocation:
        """The location of an access to a value of some type."""
        assert isinstance(pointer.type, PointerType)
        base, offset = self._steps(pointer, _DEPTH)
        size, filled = self.layout.size(type_), self.layout.store_size(type_)
        return MemoryLocation(base, offset, size, pointer.type.address_space, filled)

    def root(self, pointer: llvm.Value) -> llvm.Value:
        """The pointer from which a location is computed; locations with equal bases have equal
        roots.
        """
        seen: set[str] = set()  # code that nothing leads to may step round in circles
        while isinstance(pointer, llvm.Local) and pointer.name not in seen:
            seen.add(pointer.name)
            step = self.made.get(pointer.name)
            if isinstance(step, ir.GetElementPtr):
                pointer = step.base
        return pointer

    def is_unwritten(self, pointer: llvm.Value) -> bool:
        """Whether a pointer leads to what nothing writes while the kernel runs."""
        return isinstance(pointer, llvm.Local) and pointer.name in self.unwritten

    def _steps(self, pointer: llvm.Value, depth: int) -> tuple[Hashable, int]:
        if not isinstance(pointer, llvm.Local):
            return pointer, 0
        if pointer.name not in self.known:
            self.known[pointer.name] = self._computed(pointer, depth)
        return self.known[pointer.name]

    def _computed(self, pointer: llvm.Local, depth: int) -> tuple[Hashable, int]:
        step = self.made.get(pointer.name) if depth else None
        if not isinstance(step, ir.GetElementPtr) or not isinstance(step.type, PointerType):
            return pointer, 0
        base, offset = self._steps(step.base, depth - 1)
        more = constant_offset(self.layout, step.element_type, step.indices)
        if more is not None:
            return base, offset + more
        return (base, offset, step.element_type, self._alike(step.indices, depth - 1)), 0

    def _alike(self, values: Iterable[llvm.Value], depth: int) -> Hashable:
        """What values that are computed alike have in common."""
        return tuple([self._way(value, depth) for value in values])

    def _way(self, value: llvm.Value, depth: int) -> Hashable:
        i = self.made.get(value.name) if isinstance(value, llvm.Local) and depth else None
        if isinstance(i, (ir.BinaryOp, ir.Cast)):
            return i.opcode, i.type, self._alike(i.operands(), depth - 1)
        return value
