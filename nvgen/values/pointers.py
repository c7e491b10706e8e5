"""Addresses of a kernel, what lies there, and mbarriers.

Layer: nvgen.values.  `pointer + 4` goes by bytes; `x[i]` loads a number of the pointer's type, and
`x[i] = y` stores one.  Several numbers go at once as far as `align` lets them, 16 bytes at most.
PTX ISA, State Spaces; ld; st; mbarrier.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, NoReturn

from llvmlite import ir

from intrinsics.descriptors.smem_desc import ADDRESS_LIMIT, Swizzle
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import OF_POINTERS, Named, described, index_of, refuse, whole
from nvgen.values.number_types import (
    constant,
    element_of,
    i64,
    is_float,
    llvm_type_of,
    name_of_type,
    scalar_type,
    u64,
)
from nvgen.values.numbers import Float, Int, IntLike, Number, number_of
from nvgen.values.regions import Host
from nvgen.values.vectors import Vector


@dataclass(slots=True, eq=False)
class TileLayout:
    """How a tile lies in shared memory: what it is declared with, and what its uses have said.

    `room` is what it and its neighbours in a ring take, in bytes.  `matters` once something has
    asked where its elements lie; `otherwise` is a tensor map that copies it in another swizzling,
    in words.
    """

    swizzle: Swizzle
    room: int
    matters: bool = False
    otherwise: str = ""

    def ask(self) -> None:
        """Note that where elements lie matters."""
        self.matters = True
        self._check()

    def copy(self, name: str, swizzle: Swizzle) -> None:
        """Note a copy through a tensor map."""
        if swizzle != self.swizzle:
            self.otherwise = f"{swizzle.words} of tensor map {name}"
            self._check()

    def _check(self) -> None:
        if self.matters and self.otherwise:
            raise refuse(
                "a tile lies in shared memory otherwise than its tensor map copies it",
                rule="map-swizzle",
                got=f"{self.otherwise}, {self.swizzle.words} of the tile",
                expected="the same of both",
                hint="b.tensor_map(…, swizzle=…) and b.shared_tile(…, swizzle=…) agree",
                section="Swizzling Modes",
            )


@dataclass(frozen=True, slots=True)
class Room:
    """The array in shared memory that an address lies in, of `size` bytes, `away` bytes from its
    beginning.
    """

    name: str
    size: int
    away: int = 0

    def check(self, size: int, unit: int) -> None:
        """Check that the array has `size` bytes from here on; `unit` of them are an element.

        Raises: InputError.
        """
        if 0 <= self.away <= self.size - size:
            return
        first, last = self.away // unit, (self.away + size - 1) // unit
        end = self.size // unit - 1
        raise refuse(
            f"array {self.name} has no such element",
            rule="array-bounds",
            got=f"{self.name}[{first}]" + f" to {self.name}[{last}]" * (last > first),
            expected=f"{self.name}[0] to {self.name}[{end}]",
            hint=f"the last one is {self.name}[{end}]; no index counts from the end"
            if first < 0
            else "b.shared_array(name, type, count) says how many elements there are",
        )


_TENSOR = 6
_NARROW_SPACES = (3, _TENSOR, 7)
"""LLVM's numbers of tensor memory, and of all memory whose addresses have 32 bits."""


@guarded
@dataclass(frozen=True, slots=True)
class Pointer(Named):
    """An address in one of LLVM's address spaces.

    With a `dtype`, `x[i]` and `x[i] = y` load and store by index; `+` always counts bytes.  Within
    a tile in shared memory it keeps the tile's layout, and its `room` as far as its place in an
    array is known while the kernel is built.
    """

    builder: Host
    value: ir.Value
    layout: TileLayout | None = None
    dtype: ScalarType | None = None
    room: Room | None = None

    a_thing: ClassVar[str] = "a Pointer"
    elsewhere: ClassVar[Mapping[str, str]] = OF_POINTERS

    @property
    def space(self) -> int:
        """The address space: 1 global, 3 shared, 6 tensor memory."""
        space: int = self.value.type.addrspace
        return space

    @property
    def words(self) -> str:
        """A description for messages and `repr`."""
        return f"an address in space {self.space}"

    def __repr__(self) -> str:
        of = f" of {name_of_type(self.dtype)}" if self.dtype else ""
        return f"<{self.words}{of}, of {self.builder.name}>"

    def like(self, value: ir.Value) -> Pointer:
        """Another value of llvmlite's as such an address."""
        return replace(self, value=value, room=None)

    def taken(self, other: object) -> ir.Value:
        """Another address in the same space as llvmlite's."""
        if not isinstance(other, Pointer) or other.space != self.space:
            raise refuse("another address", got=described(other), expected=self.words)
        return other.value

    def __add__(self, offset: IntLike) -> Pointer:
        """The address `offset` bytes (in tensor memory: columns, or lanes << 16) further on.

        An unsigned `Int` of 32 bits reaches 4 GiB ahead, never back; a signed one both ways.
        """
        bits = 32 if self.space == _TENSOR else 64
        index = self._wide(offset).value if isinstance(offset, Int) else constant(offset, bits)
        moved = self.builder.at_caller().gep(self.value, [index], source_etype=ir.IntType(8))
        room = self.room
        if room is not None:
            away = None if isinstance(offset, Int) else room.away + operator.index(offset)
            room = None if away is None else replace(room, away=away)
        return replace(self, value=moved, room=room)

    def of(self, dtype: object) -> Pointer:
        """The same address as a pointer to numbers of `dtype`.

        Raises: InputError for what is no number type.
        """
        return replace(self, dtype=scalar_type(dtype))

    def at(self, index: IntLike) -> Pointer:
        """The address of element `index`: the pointer plus that many elements.

        Raises: InputError for a pointer without a number type, and for what is no integer.
        """
        offset = self._wide(index) if isinstance(index, Int) else index_of(index)
        if offset is None:
            raise refuse("no index", got=described(index), expected="x[i]: one whole number")
        size = self.typed().bits // 8
        return self + offset * size

    def __getitem__(self, index: IntLike) -> Number:
        place, type_ = self.at(index), self.typed()
        check_room(place, type_.bits, type_)
        llvm, align = llvm_type_of(type_), type_.bits // 8
        value = self.builder.at_caller().load(place.value, typ=llvm, align=align)
        return number_of(self.builder, value, type_)

    def __setitem__(self, index: IntLike, value: Number | float) -> None:
        store_number(self.at(index), self.typed(), value)

    def __iter__(self) -> NoReturn:
        raise refuse("a pointer has no end", got="an iteration", expected="x[i]")

    def typed(self) -> ScalarType:
        """The type of the numbers that it points to."""
        if self.dtype is None:
            expected = "b.pointer(name, f32), or pointer.of(f32)"
            raise refuse("a pointer whose numbers have no type", got="an index", expected=expected)
        return self.dtype

    def __sub__(self, offset: IntLike) -> Pointer:
        """The address `offset` bytes before; see `+`."""
        return self + -(self._wide(offset) if isinstance(offset, Int) else offset)

    def _wide(self, offset: Int) -> Int:
        """An offset as wide as an address.

        Shared and tensor memory have addresses of 32 bits, in which it is the same either way.
        """
        is_narrow = self.space in _NARROW_SPACES
        if is_narrow or offset.bits >= 64:
            return offset
        return offset.to(i64) if offset.signed else offset.to(u64)


@guarded
@dataclass(frozen=True, slots=True)
class Barrier:
    """An mbarrier object in shared memory."""

    name: str
    pointer: Pointer

    def __repr__(self) -> str:
        return f"<mbarrier {self.name}>"


@guarded
@dataclass(frozen=True, slots=True)
class Barriers:
    """Several mbarrier objects, one after the other in shared memory."""

    name: str
    first: Pointer
    count: int

    def __repr__(self) -> str:
        return f"<{self.count} mbarriers {self.name}>"

    @property
    def pointer(self) -> Pointer:
        """The address of the only one.

        Raises: InputError when there are several.
        """
        if self.count > 1:
            expected = f"one: {self.name}[0] to {self.name}[{self.count - 1}]"
            raise refuse(
                f"{self.name} is {self.count} mbarriers", got="all of them", expected=expected
            )
        return self.first

    def __iter__(self) -> Iterator[Barrier]:
        return (self[number] for number in range(self.count))

    def __getitem__(self, number: IntLike) -> Barrier:
        """One of them, by a number that the kernel may compute.

        Raises: InputError for what is no number, or one that is known and too large.
        """
        return Barrier(self.name, self.first + index_below(number, self.count, self.name) * 8)


def pointer_of(mbar: object) -> Pointer:
    """Where an mbarrier is."""
    if not isinstance(mbar, (Barrier, Barriers)):
        expected = "b.mbarrier(name), or one of b.mbarriers(name, count)"
        raise refuse("no mbarrier", got=described(mbar), expected=expected)
    return mbar.pointer


def index_below(number: object, count: int, name: str) -> IntLike:
    """The number of one of `count` things called `name`."""
    if isinstance(number, Int):
        return number
    known = index_of(number)
    if known is None or not 0 <= known < count:
        raise refuse(
            f"{name} has no such number", got=described(number), expected=f"0..{count - 1}"
        )
    return known


def descriptor_at(builder: Host, pointer: Pointer, layout: int) -> Int:
    """A descriptor in shared memory of tcgen05 or wgmma: one of address 0, moved to a pointer."""
    address = builder.at_caller().ptrtoint(pointer.value, ir.IntType(32))
    field = (Int(builder, address) & ADDRESS_LIMIT - 1) >> 4
    return field.zext(64) | layout


def advanced(descriptor: Int, offset: IntLike) -> Int:
    """The descriptor of the same layout `offset` bytes further on, a multiple of 16.

    Addresses lie in the low bits in units of 16 bytes, so one addition moves them.
    """
    if isinstance(offset, Int):
        return descriptor + (offset >> 4).zext(64)
    return descriptor + (offset >> 4) if offset else descriptor


# ---- memory ------------------------------------------------------------------------------------


def load_numbers(pointer: Pointer, dtype: object, count: int, align: int | None) -> Vector:
    """`count` numbers that lie side by side."""
    type_, count = scalar_type(dtype), whole(count, "number of numbers")
    if type_ is not element_of(type_):
        got = f"{count} of {name_of_type(type_)}"
        raise refuse("no such numbers", got=got, expected="one or more, no pairs")
    check_floats(pointer, type_, "loaded")
    check_room(pointer, count * type_.bits, type_)
    align = checked_align(align, type_.bits // 8)
    llvm = ir.VectorType(llvm_type_of(type_), count)
    value = pointer.builder.at_caller().load(pointer.value, typ=llvm, align=align)
    return Vector(pointer.builder, value, count, type_)


def alike(pointer: Pointer, dtype: object, count: int, number: Number | float) -> Vector:
    """One Python number, `count` times, as numbers that a pointer is of."""
    if isinstance(number, (Int, Float)):
        raise refuse("no constant", got=number.words, expected="a Python number")
    type_, count = scalar_type(dtype), whole(count, "number of numbers")
    constants = [numbered(pointer, type_, number)] * count
    value = ir.Constant(ir.VectorType(constants[0].type, count), constants)
    return Vector(pointer.builder, value, count, type_)


def check_room(pointer: Pointer, bits: int, type_: ScalarType | None = None) -> None:
    """Whether the array that a pointer is in, as far as that is known, has so many bits there."""
    if pointer.room is not None:
        unit = type_ or pointer.typed()
        pointer.room.check(bits // 8, unit.bits // 8)


def check_floats(pointer: Pointer, type_: ScalarType | None, verb: str) -> None:
    """Whether floats of a type are those that a pointer is of; bits and words may be any."""
    if type_ is None or pointer.dtype is None or not is_float(type_):
        return
    here, there = element_of(type_), element_of(pointer.dtype)
    if is_float(there) and here is not there:
        raise refuse(
            f"numbers of another type are {verb}",
            got=f"{name_of_type(type_)}, at a pointer to {name_of_type(there)}",
            expected=name_of_type(there),
            hint=f"x.to({name_of_type(there)}) converts; pointer.of({name_of_type(here)}) is the "
            "same address for numbers of another type",
        )


def store_number(pointer: Pointer, type_: ScalarType, value: Number | float) -> None:
    """Store a number of `type_`, or a Python number."""
    check_room(pointer, type_.bits, type_)
    stored = numbered(pointer, type_, value)
    pointer.builder.at_caller().store(stored, pointer.value, align=type_.bits // 8)


def numbered(pointer: Pointer, type_: ScalarType, value: Number | float) -> ir.Value:
    """A number of `type_`, or a Python number as one, as llvmlite's."""
    if not isinstance(value, (Int, Float)):
        undefined = ir.Constant(llvm_type_of(type_), ir.Undefined)
        return number_of(pointer.builder, undefined, type_).taken(value)
    if isinstance(value, Float):
        same = value.type is type_
    else:
        same = not is_float(type_) and value.signed is type_.is_signed
    if value.value.type != llvm_type_of(type_) or not same:
        got, expected = value.words, name_of_type(type_)
        hint = f"x.to({name_of_type(type_)})"
        raise refuse("a number of another type is stored", got=got, expected=expected, hint=hint)
    return value.value


def checked_align(align: int | None, least: int) -> int:
    """An alignment in bytes; that of one number where none is given."""
    if align is None:
        return least
    if not isinstance(align, int) or align < 1 or align & align - 1:
        raise refuse("no alignment", got=described(align), expected="a power of two, in bytes")
    return align


def check_pointer(builder: Host, pointer: object) -> None:
    """Whether something is a pointer of the kernel that `builder` makes."""
    if not isinstance(pointer, Pointer):
        expected = "a parameter, or shared memory of the kernel"
        hint = "the value comes first: b.store(value, pointer)" if hasattr(pointer, "word") else ""
        raise refuse("no pointer", got=type(pointer).__name__, expected=expected, hint=hint)
    if pointer.builder is not builder:
        got = f"of {pointer.builder.name}"
        raise refuse("a pointer of another kernel", got=got, expected=f"of {builder.name}")
