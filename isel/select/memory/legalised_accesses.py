"""Loads and stores of integers of odd widths, of wide ones, and of vectors of them.

Layer: isel.select.  In memory such a value is a row of bytes, with zeros above its highest bit; a
vector of such elements has no gaps between them.  Whole bytes move, and the value is put together
out of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from intrinsics.mir import Form, Imm, Mem, Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.llvm.type_layout import BITS, TypeLayout
from isel.llvm.types import ArrayType, IntType, StructType, Type, VectorType
from isel.select.repack import element_widths, repack
from isel.select.state import FunctionState

T = ScalarType

Access: TypeAlias = Callable[[ScalarType, int], Form]
"""Gives the form of ld or st that moves so many units of a type."""

_UNITS = {1: T.B8, 2: T.B16, 4: T.B32, 8: T.B64}


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


def _runs(units: list[tuple[int, int]], alignment: int) -> list[tuple[int, int, int]]:
    """(offset, bytes, count): pairs of 8 bytes that lie on 16 move together."""
    found: list[tuple[int, int, int]] = []
    for at, size in units:
        before = found[-1] if found else (0, 0, 0)
        if size == 8 and before == (at - 8, 8, 1) and ((at - 8) | alignment) % 16 == 0:
            found[-1] = (at - 8, 8, 2)
        else:
            found.append((at, size, 1))
    return found


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
    first = 0
    for at, size, count in _runs(units, alignment):
        where = Mem(mem.base, mem.offset + at)
        regs = moved[first : first + count]
        state.emit(access(_UNITS[size], count), regs[0] if count == 1 else tuple(regs), where)
        first += count
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
    first = 0
    for at, size, count in _runs(units, alignment):
        where = Mem(mem.base, mem.offset + at)
        regs = moved[first : first + count]
        state.emit(access(_UNITS[size], count), where, regs[0] if count == 1 else tuple(regs))
        first += count
