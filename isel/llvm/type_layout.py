"""LLVM types to register classes.

Layer: isel.llvm.  A scalar is one register, an aggregate or vector one register for each scalar
in it.  Floating-point values live in untyped registers of their width: every PTX instruction takes
those where it wants a floating-point type.
"""

from __future__ import annotations

import functools

from intrinsics.modifiers import ScalarType, Space
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.data_layout import read_layout
from isel.llvm.types import (
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)

BITS = {16: ScalarType.B16, 32: ScalarType.B32, 64: ScalarType.B64}
FLOATS = {
    "half": ScalarType.F16,
    "bfloat": ScalarType.BF16,
    "float": ScalarType.F32,
    "double": ScalarType.F64,
}
"""By LLVM's word for them."""
SIGNED = {16: ScalarType.S16, 32: ScalarType.S32, 64: ScalarType.S64}
UNSIGNED = {16: ScalarType.U16, 32: ScalarType.U32, 64: ScalarType.U64}
_LIMBS = 128  # limbs of the widest integer

MOST_REGISTERS = 1 << 13
"""Registers of one value at most: a thread has 255, and what it spills goes to local memory."""

SPACES: dict[int, Space | None] = {
    0: None,
    1: Space.GLOBAL,
    3: Space.SHARED,
    4: Space.CONST,
    5: Space.LOCAL,
    7: Space.SHARED_CLUSTER,
    101: Space.PARAM,
}
"""LLVM's address spaces as PTX state spaces; None is generic.  6 is tensor memory."""

SHARED_SPACE = 3


class TypeLayout:
    """Sizes that a module's data layout gives.

    Raises: ForeignLayoutError for one that is not the machine's.
    """

    def __init__(self, data_layout: str) -> None:
        known = read_layout(data_layout)
        self._pointer_bits = known.pointers
        self._integers = sorted((bits, align // 8) for bits, align in known.integers.items())
        # A struct may name another one twice, and that one a third: each type is measured once.
        self._classes: dict[Type, tuple[ScalarType, ...]] = {}
        self._counts: dict[Type, int] = {}
        self._sizes: dict[Type, int] = {}
        self._aligns: dict[Type, int] = {}
        self._offsets: dict[StructType, list[int]] = {}

    def pointer_bits(self, address_space: int) -> int:
        """Width of a pointer; also of its index arithmetic."""
        return self._pointer_bits.get(address_space, self._pointer_bits[0])

    def classes(self, type_: Type) -> tuple[ScalarType, ...]:
        """The register classes of a value.

        Raises: Unselectable when nvgen has no registers for it, or it takes too many.
        """
        found = self._classes.get(type_)
        if found is None:
            if self.count(type_) > MOST_REGISTERS:
                raise _too_large(type_, self.count(type_))
            found = self._classes[type_] = self._lower(type_)
        return found

    def count(self, type_: Type) -> int:
        """The number of registers for a value; for a type without one, of its known parts."""
        found = self._counts.get(type_)
        if found is None:
            found = self._counts[type_] = self._count(type_)
        return found

    def _count(self, type_: Type) -> int:
        match type_:
            case VectorType(element, count, False) | ArrayType(element, count):
                return self.count(element) * count
            case StructType(elements):
                return sum(self.count(element) for element in elements)
            case IntType(bits) if bits > 64:
                return (bits + 63) // 64
        return 1

    def _lower(self, type_: Type) -> tuple[ScalarType, ...]:
        match type_:
            case IntType(bits) if bits <= 64:
                return (BITS[container(bits)] if bits > 1 else ScalarType.PRED,)
            case IntType(bits) if bits <= 64 * _LIMBS:
                return (ScalarType.B64,) * ((bits + 63) // 64)
            case FloatType(_, bits) if bits in BITS:
                return (BITS[bits],)
            case PointerType(space):
                return (BITS[self.pointer_bits(space)],)
            case VectorType(element, count, False) | ArrayType(element, count):
                return self.classes(element) * count
            case StructType(elements):
                return tuple(cls for element in elements for cls in self.classes(element))
        raise Unselectable(
            "type",
            f"values of type {type_} are not selectable",
            got=str(type_),
            expected="integers, half, bfloat, float, double, ptr, and vectors, arrays and structs "
            "of these",
        )

    def align(self, type_: Type) -> int:
        """ABI alignment in bytes."""
        found = self._aligns.get(type_)
        if found is None:
            found = self._aligns[type_] = self._align(type_)
        return found

    def _align(self, type_: Type) -> int:
        match type_:
            case StructType(elements, packed):
                return 1 if packed else max((self.align(e) for e in elements), default=1)
            case ArrayType(element):
                return self.align(element)
            case VectorType():
                return _power_of_two(self.size(type_))
            case IntType(bits):
                return next((a for n, a in self._integers if n >= bits), self._integers[-1][1])
        return max(self.size(type_), 1)

    def preferred_align(self, type_: Type) -> int:
        """The alignment that LLVM gives a variable of its own accord, in bytes."""
        match type_:
            case StructType():
                return max(self.align(type_), 8)
            case ArrayType(element):
                return self.preferred_align(element)
        return self.align(type_)

    def size(self, type_: Type) -> int:
        """Bytes between two elements of an array of `type_`."""
        found = self._sizes.get(type_)
        if found is None:
            found = self._sizes[type_] = self._size(type_)
        return found

    def store_size(self, type_: Type) -> int:
        """Bytes that a store of `type_` writes: of `<7 x i8>` seven, where an element has eight."""
        match type_:
            case IntType(bits):
                return (bits + 7) // 8
            case VectorType(IntType(bits), count):
                return (bits * count + 7) // 8
            case VectorType(element, count, False):
                return self.size(element) * count
        return self.size(type_)

    def _size(self, type_: Type) -> int:
        match type_:
            case IntType():
                return _round_up(self.store_size(type_), self.align(type_))
            case FloatType(_, bits):
                return _power_of_two(bits // 8)  # of x86_fp80 16
            case PointerType(space):
                return self.pointer_bits(space) // 8
            case VectorType(IntType()) | VectorType(_, _, False):
                return _power_of_two(self.store_size(type_))
            case ArrayType(element, count):
                return self.size(element) * count
            case StructType():
                return self._struct_size(type_)
        raise Unselectable("type", f"type {type_} has no size", got=str(type_))

    def offsets(self, type_: StructType) -> list[int]:
        """Byte offsets of a struct's fields."""
        found = self._offsets.get(type_)
        if found is None:
            found, at = [], 0
            for element in type_.elements:
                if not type_.packed:
                    at = _round_up(at, self.align(element))
                found.append(at)
                at += self.size(element)
            self._offsets[type_] = found
        return found

    def _struct_size(self, type_: StructType) -> int:
        if not type_.elements:
            return 0
        end = self.offsets(type_)[-1] + self.size(type_.elements[-1])
        return _round_up(end, self.align(type_))


@functools.lru_cache(maxsize=8)
def layout_of(data_layout: str) -> TypeLayout:
    """The sizes that a data layout gives; most modules have the same one.

    Raises: ForeignLayoutError for one that is not the machine's.
    """
    return TypeLayout(data_layout)


def is_whole(layout: TypeLayout, type_: Type) -> bool:
    """Whether a type is a scalar all of whose bits in memory count."""
    if isinstance(type_, IntType):
        return type_.bits == 8 * layout.size(type_)
    return isinstance(type_, (FloatType, PointerType))


def container(bits: int) -> int:
    """Bits of the register that holds an integer of 2 to 64 bits."""
    return 16 if bits <= 16 else 32 if bits <= 32 else 64


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length() if n > 1 else n


def _round_up(n: int, align: int) -> int:
    return (n + align - 1) // align * align


def _too_large(type_: Type, count: int) -> Unselectable:
    return Unselectable(
        "value-size",
        f"a value of type {type_} takes more registers than any thread can use",
        got=f"{count} registers",
        expected=f"at most {MOST_REGISTERS}",
        hint="keep it in memory: llvm.memcpy moves it, getelementptr and load take a part of it",
    )


def walk_indices(
    layout: TypeLayout, element: Type, indices: tuple[llvm.Value, ...]
) -> list[tuple[int, llvm.Value, int]]:
    """The effect of each index of a getelementptr: (bytes, index, 0), or (0, index, field's
    offset).

    Raises: Unselectable for an index into what has no elements.
    """
    found = []
    current: Type | None = None
    for index in indices:
        match current:
            case None:
                found.append((layout.size(element), index, 0))
                current = element
            case StructType(elements):
                assert isinstance(index, llvm.ConstInt)
                found.append((0, index, layout.offsets(current)[index.value]))
                current = elements[index.value]
            case ArrayType(inner) | VectorType(inner):
                found.append((layout.size(inner), index, 0))
                current = inner
            case _:
                raise Unselectable("getelementptr", f"cannot index into {current}")
    return found


def constant_offset(
    layout: TypeLayout, element: Type, indices: tuple[llvm.Value, ...]
) -> int | None:
    """The bytes by which a getelementptr moves a pointer, None if an index is not a constant.

    None, too, for an index into what has no elements: its selection reports that.
    """
    if not all(isinstance(index, llvm.ConstInt) for index in indices):
        return None
    try:
        walked = walk_indices(layout, element, indices)
    except Unselectable:
        return None
    return sum(
        offset + size * index.signed
        for size, index, offset in walked
        if isinstance(index, llvm.ConstInt)
    )
