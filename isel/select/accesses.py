"""Loads and stores to records.

Layer: isel.select.  An access is cut into pieces that PTX can do at once: vectors of 2 or 4, at
most 16 bytes, naturally aligned.  PTX ISA, ld; st.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from intrinsics.mir import Form, Mem, Op, Reg
from intrinsics.modifiers import ScalarType, Sem, Space, Vec
from isel.llvm import ir
from isel.llvm.types import FloatType, IntType, PointerType, Type, VectorType
from isel.select.diagnostics import Unselectable, not_yet
from isel.select.odd_accesses import is_odd, load_odd, store_odd
from isel.select.recut import from_predicate, join, split, to_predicate
from isel.select.state import FunctionState, form
from isel.select.types import BITS, SPACES, TENSOR_SPACE

T = ScalarType

_UNITS = {1: T.B8, 2: T.B16, 4: T.B32, 8: T.B64}


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of an access.

    `first` and `count` are elements of the value, `at` is a byte offset, `unit` the type that
    moves.  `packed` elements share one unit; where `parts` is more than 1, a unit is that part of
    one element, because the access is not aligned enough to move it whole.
    """

    first: int
    count: int
    at: int
    unit: ScalarType
    packed: int = 1
    parts: int = 1


def load(state: FunctionState, i: ir.Load) -> None:
    """A load that is not atomic."""
    if i.ordering is not None:
        raise not_yet("an atomic load")
    space = _space(i.pointer.type, "load")
    mem = state.address(i.pointer)
    if is_odd(i.type):
        load_odd(state, i, mem, lambda unit, n: _access("ld", space, unit, n, i.volatile))
        return
    results = state.define(i.result, i.type)
    for piece in _pieces(state, i.type, i.alignment):
        where = Mem(mem.base, mem.offset + piece.at)
        part = list(results[piece.first : piece.first + piece.count])
        if piece.unit is T.PRED:
            byte = state.new(T.B16)
            state.emit(_access("ld", space, T.B8, 1, i.volatile), byte, where)
            to_predicate(state, part[0], byte, 16)
            continue
        moved = _units(state, piece, part)
        state.emit(_access("ld", space, piece.unit, len(moved), i.volatile), _vector(moved), where)
        if piece.unit is T.B8:
            state.zero_above.update(dict.fromkeys(moved, 8))  # ld fills its register up
        if piece.parts > 1:
            _load_rest(state, piece, part[0], moved[0], where, space, i.volatile)
        elif piece.packed > 1:
            for at, unit in enumerate(moved):
                elements = part[at * piece.packed : (at + 1) * piece.packed]
                split(state, elements, unit, piece.unit.bits // piece.packed)


def _load_rest(
    state: FunctionState,
    piece: _Piece,
    result: Reg,
    first: Reg,
    where: Mem,
    space: Space | None,
    volatile: bool,
) -> None:
    """The other parts of an element, and the element from all of them."""
    size = piece.unit.bits // 8
    parts = [first]
    for k in range(1, piece.parts):
        part = state.new(_class(piece.unit))
        there = Mem(where.base, where.offset + k * size)
        state.emit(_access("ld", space, piece.unit, 1, volatile), part, there)
        parts.append(part)
    join(state, result, parts, piece.unit.bits)


def store(state: FunctionState, i: ir.Store) -> None:
    """A store that is not atomic."""
    if i.ordering is not None:
        raise not_yet("an atomic store")
    space = _space(i.pointer.type, "store")
    mem = state.address(i.pointer)
    if is_odd(i.value.type):
        store_odd(state, i, mem, lambda unit, n: _access("st", space, unit, n, i.volatile))
        return
    classes = state.layout.classes(i.value.type)
    values = state.value(i.value)
    for piece in _pieces(state, i.value.type, i.alignment):
        where = Mem(mem.base, mem.offset + piece.at)
        chosen = range(piece.first, piece.first + piece.count)
        part = [state.reg(values[k], classes[k]) for k in chosen]
        if piece.unit is T.PRED:
            byte = state.new(T.B16)
            from_predicate(state, byte, part[0], 1)
            state.emit(_access("st", space, T.B8, 1, i.volatile), where, byte)
            continue
        if piece.parts > 1:
            _store_parts(state, piece, part[0], where, space, i.volatile)
            continue
        moved = _units(state, piece, part)
        if piece.packed > 1:
            for at, unit in enumerate(moved):
                elements = part[at * piece.packed : (at + 1) * piece.packed]
                join(state, unit, elements, piece.unit.bits // piece.packed)
        state.emit(_access("st", space, piece.unit, len(moved), i.volatile), where, _vector(moved))


def _store_parts(
    state: FunctionState, piece: _Piece, value: Reg, where: Mem, space: Space | None, volatile: bool
) -> None:
    parts = [state.new(_class(piece.unit)) for _ in range(piece.parts)]
    split(state, parts, value, piece.unit.bits)
    for k, part in enumerate(parts):
        there = Mem(where.base, where.offset + k * piece.unit.bits // 8)
        state.emit(_access("st", space, piece.unit, 1, volatile), there, part)


def _units(state: FunctionState, piece: _Piece, elements: list[Reg]) -> list[Reg]:
    """The registers that move: the elements themselves, or fresh ones."""
    if piece.parts > 1:
        return [state.new(_class(piece.unit))]
    if piece.packed == 1:
        return elements
    return [state.new(_class(piece.unit)) for _ in range(piece.count // piece.packed)]


def _class(unit: ScalarType) -> ScalarType:
    return BITS[max(unit.bits, 16)]


def _vector(regs: list[Reg]) -> Op:
    return regs[0] if len(regs) == 1 else tuple(regs)


def _space(pointer: Type, what: str) -> Space | None:
    assert isinstance(pointer, PointerType)
    if pointer.address_space == TENSOR_SPACE:
        raise Unselectable(
            "tensor-memory",
            f"a plain {what} cannot reach tensor memory",
            op=what,
            got="ptr addrspace(6)",
            expected="global, shared, const, local or generic memory",
            hint=f"use llvm.nvvm.tcgen05.{'ld' if what == 'load' else 'st'}",
            section="PTX ISA, Tensor Memory and Register Load/Store Instructions",
        )
    if pointer.address_space not in SPACES:
        raise Unselectable(
            "address-space",
            f"PTX has no address space {pointer.address_space}",
            op=what,
            got=str(pointer),
        )
    return SPACES[pointer.address_space]


@functools.cache
def _access(op: str, space: Space | None, type_: ScalarType, count: int, volatile: bool) -> Form:
    """A form of ld or st; volatile means something only where other threads can look."""
    shared = (None, Space.GLOBAL, Space.SHARED, Space.SHARED_CLUSTER)
    sem = Sem.VOLATILE if volatile and space in shared else None
    vec = {1: None, 2: Vec.V2, 4: Vec.V4}[count]
    return form(op, sem=sem, space=space, vec=vec, type=type_)


def _pieces(state: FunctionState, type_: Type, alignment: int | None) -> list[_Piece]:
    """Cut an access into pieces.  Only scalars and vectors are cut; memory types are untyped."""
    classes = state.layout.classes(type_)
    element = type_.element if isinstance(type_, VectorType) else type_
    if not isinstance(element, (IntType, FloatType, PointerType)):
        raise not_yet(f"a load or store of type {type_}")
    if classes[0] is T.PRED:
        return [_Piece(0, 1, 0, T.PRED)]
    size = state.layout.size(element)
    aligned = alignment or size
    if aligned < size:
        return [
            _Piece(k, 1, k * size, _UNITS[aligned], parts=size // aligned)
            for k in range(len(classes))
        ]
    found, first = [], 0
    while first < len(classes):
        piece = _widest(first, len(classes) - first, size, aligned)
        found.append(piece)
        first += piece.count
    return found


def _widest(first: int, left: int, size: int, aligned: int) -> _Piece:
    """The widest piece that begins at an element: 16-bit elements travel in pairs."""
    most = min(16, aligned) // size
    packed = 2 if size == 2 else 1
    for vector in (4, 2, 1):
        if packed > 1 and packed * vector <= min(left, most):
            return _Piece(first, packed * vector, first * size, T.B32, packed=packed)
        if packed == 1 and vector <= min(left, most):
            return _Piece(first, vector, first * size, _UNITS[size])
    count = next(c for c in (4, 2, 1) if c <= max(min(left, most), 1))
    return _Piece(first, count, first * size, _UNITS[size])
