"""Loads and stores of integers of odd widths, of wide ones, and of vectors of them.

Layer: isel.select.  In memory such a value is a row of bytes, with zeros above its highest bit; a
vector of such elements has no gaps between them.  Whole bytes move, and the value is put together
out of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from intrinsics.mir import Form, Imm, Mem, Op, Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.llvm.type_layout import BITS, TypeLayout
from isel.llvm.types import ArrayType, IntType, StructType, Type, VectorType
from isel.select.memory.access_splitting import UNITS
from isel.select.repack import element_widths, repack
from isel.select.state import FunctionState

T = ScalarType

Access: TypeAlias = Callable[[ScalarType, int], Form]
"""Gives the form of ld or st that moves so many units of a type."""


def is_illegal(type_: Type) -> bool:
    """Whether the bits of a value lie in memory in other pieces than in registers.

    A vector of such elements has no gaps between them.
    """
    element = type_.scalar
    if not isinstance(element, IntType):
        return False
    if element.bits == 1:
        return isinstance(type_, VectorType)
    return element.bits not in (8, 16, 32, 64)


def members(layout: TypeLayout, type_: Type, at: int = 0) -> Iterator[tuple[Type, int]]:
    """The parts of a value that move each in their own way, and the bytes at which they begin.

    What holds no vector of odd elements moves as a whole.
    """
    if not isinstance(type_, (StructType, ArrayType)) or not _holds_odd_vector(type_):
        yield type_, at
    elif isinstance(type_, StructType):
        for offset, element in zip(layout.offsets(type_), type_.elements, strict=True):
            yield from members(layout, element, at + offset)
    else:
        size = layout.size(type_.element)
        for n in range(type_.count):
            yield from members(layout, type_.element, at + n * size)


@functools.cache
def _holds_odd_vector(type_: Type) -> bool:
    match type_:
        case StructType(elements):
            return any(map(_holds_odd_vector, elements))
        case ArrayType(element):
            return _holds_odd_vector(element)
    return isinstance(type_, VectorType) and is_illegal(type_)


def _odd_units(bits: int, alignment: int) -> list[tuple[int, int]]:
    """(offset, bytes) of the whole bytes that hold `bits` bits, each at most 8 bytes."""
    found, at, size = [], 0, (bits + 7) // 8
    while at < size:
        unit = next(n for n in (8, 4, 2, 1) if n <= size - at and (at | alignment) % n == 0)
        found.append((at, unit))
        at += unit
    return found


def _accesses(
    units: list[tuple[int, int]], regs: list[Reg], mem: Mem, alignment: int, access: Access
) -> Iterator[tuple[Form, Mem, Op]]:
    """What moves each unit: its form, the address, the register; two of 8 bytes on 16 together."""
    first = 0
    while first < len(units):
        at, size = units[first]
        is_pair = units[first : first + 2] == [(at, 8), (at + 8, 8)] and (at | alignment) % 16 == 0
        count = 2 if is_pair else 1
        moved = tuple(regs[first : first + 2]) if is_pair else regs[first]
        yield access(UNITS[size], count), Mem(mem.base, mem.offset + at), moved
        first += count


def load_illegal(
    state: FunctionState,
    type_: Type,
    results: Sequence[Reg],
    mem: Mem,
    alignment: int,
    access: Access,
) -> None:
    """Bytes, then the value out of them."""
    widths = element_widths(state, type_)
    units = _odd_units(sum(widths), alignment)
    moved = [state.new(BITS[max(8 * size, 16)]) for _, size in units]
    for chosen, where, there in _accesses(units, moved, mem, alignment, access):
        state.emit(chosen, there, where)
    state.zero_above.update(
        {reg: 8 for reg, (_, size) in zip(moved, units, strict=True) if size == 1}
    )
    loaded = [8 * size for _, size in units]
    repack(state, moved, loaded, results, widths)


def store_illegal(
    state: FunctionState,
    type_: Type,
    values: Sequence[Scalar],
    mem: Mem,
    alignment: int,
    access: Access,
) -> None:
    """Whole bytes out of the value; the bits above it are stored as zeros."""
    widths = element_widths(state, type_)
    units = _odd_units(sum(widths), alignment)
    stored = [8 * size for _, size in units]
    moved = [state.new(BITS[max(8 * size, 16)]) for _, size in units]
    ops = list(values)
    spare = sum(stored) - sum(widths)
    if spare:
        ops, widths = [*ops, Imm(0)], [*widths, spare]
    repack(state, ops, widths, moved, stored)
    for chosen, where, there in _accesses(units, moved, mem, alignment, access):
        state.emit(chosen, where, there)
