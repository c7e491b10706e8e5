"""Loads and stores to records.

Layer: isel.select.  A value of any type that memory holds, atomic or not, in every state space.
PTX ISA, ld; st; ld.global.nc.
"""

from __future__ import annotations

import functools
from dataclasses import field
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Form, Imm, Mem, Op, Reg
from intrinsics.modifiers import NonCoherent, ScalarType, Scope, Sem, Space, Vec
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.data_layout import TENSOR_SPACE
from isel.llvm.type_layout import BITS, SPACES, UNSIGNED
from isel.llvm.types import PointerType, Type
from isel.select.memory.access_splitting import UNITS, AccessPart, access_parts, aligned_at
from isel.select.memory.atomics import access_order, check_atomic
from isel.select.memory.legalised_accesses import is_illegal, load_illegal, members, store_illegal
from isel.select.repack import from_predicate, join, split, to_predicate
from isel.select.state import FunctionState, Values, form

T = ScalarType
_BYTE = T.B8
_GLOBAL = Space.GLOBAL

_VECTORS = {1: None, 2: Vec.V2, 4: Vec.V4, 8: Vec.V8}

Attributes: TypeAlias = dict[str, Sem | Scope | NonCoherent | None]
"""Modifiers that all parts of an access have."""


@dataclass(slots=True)
class _Access:
    """What all the parts of one access have in common."""

    op: str
    space: Space | None
    attributes: Attributes = field(default_factory=dict)

    def form(self, unit: ScalarType, count: int) -> Form:
        """The form that moves `count` units."""
        if not self.attributes:
            return _plain_form(self.op, self.space, unit, count)
        return form(self.op, space=self.space, vec=_VECTORS[count], type=unit, **self.attributes)


@functools.cache
def _plain_form(op: str, space: Space | None, unit: ScalarType, count: int) -> Form:
    """The form of an access without modifiers."""
    return form(op, space=space, vec=_VECTORS[count], type=unit)


def load(state: FunctionState, i: ir.Load) -> None:
    """A load of any type."""
    check_space(i.pointer.type, "load")
    space, mem = state.place(i.pointer)
    alignment = i.alignment or state.layout.align(i.type)
    if i.ordering is not None:
        check_atomic(state.layout, i.type, alignment)
    attributes: Attributes = {**access_order(state, i, space)}
    if space is _GLOBAL and _is_constant(state, i):
        attributes = {"nc": NonCoherent.NC}
    access = _Access("ld", space, attributes)
    left = state.define(i.result, i.type)
    for type_, at in members(state.layout, i.type):
        count = state.layout.count(type_)
        results, left = left[:count], left[count:]
        part, aligned = _behind(mem, at), aligned_at(alignment, at)
        if is_illegal(type_):
            load_illegal(state, type_, results, part, aligned, access.form)
        else:
            _load_plain(state, access, type_, results, part, aligned)


def _load_plain(
    state: FunctionState,
    access: _Access,
    type_: Type,
    results: tuple[Reg, ...],
    mem: Mem,
    alignment: int,
) -> None:
    for part in access_parts(state.layout, type_, alignment, wide=_wide(state, access)):
        there = list(results[part.first : part.first + part.count])
        _load_part(state, access, part, there, _behind(mem, part.at))


def _is_constant(state: FunctionState, i: ir.Load) -> bool:
    """Whether what is loaded is not written while the kernel runs."""
    if i.ordering is not None or i.volatile:
        return False
    pointer = i.pointer
    unwritten = isinstance(pointer, llvm.Local) and pointer.name in state.unwritten
    return unwritten or i.attachment("invariant.load") is not None


def _load_part(
    state: FunctionState, access: _Access, part: AccessPart, results: list[Reg], where: Mem
) -> None:
    if part.is_plain:
        state.emit(access.form(part.unit, part.count), _vector(results), where)
        if part.unit is _BYTE:
            state.zero_above.update(dict.fromkeys(results, 8))  # ld fills its register up
        return
    if part.sizes:
        _load_in_sizes(state, access, part, results[0], where)
        return
    moved = [state.new(_class(part.unit)) for _ in range(part.units)]
    state.emit(access.form(part.unit, part.units), _vector(moved), where)
    if part.bits:
        _spread_bits(state, results, moved[0])
        return
    for at, unit in enumerate(moved):
        elements = results[at * part.packed : (at + 1) * part.packed]
        split(state, elements, unit, part.unit.bits // part.packed)


def _spread_bits(state: FunctionState, results: list[Reg], unit: Reg) -> None:
    bits = state.out.regs.classes[unit].bits
    for at, result in enumerate(results):
        shifted = unit
        if at:
            shifted = state.computed(
                form("shr", type=UNSIGNED[bits]), unit, Imm(at), cls=BITS[bits]
            )
        to_predicate(state, result, shifted, bits)


def _load_in_sizes(
    state: FunctionState, access: _Access, part: AccessPart, result: Reg, where: Mem
) -> None:
    """One register, by a load for each of the sizes that it is split into."""
    parts, at = [], 0
    for size in part.sizes:
        unit, place = UNITS[size], Mem(where.base, where.offset + at)
        parts.append(state.computed(access.form(unit, 1), place, cls=_class(unit)))
        at += size
    state.parts[result] = part.sizes, parts
    if len(set(part.sizes)) == 1 and at * 8 == state.out.regs.classes[result].bits:
        join(state, result, parts, part.sizes[0] * 8)
    else:
        _join_unequal(state, result, parts, part.sizes)


def _join_unequal(
    state: FunctionState, result: Reg, parts: list[Reg], sizes: tuple[int, ...]
) -> None:
    """Parts of several sizes, or fewer than the register holds: each shifted to its place."""
    bits = state.out.regs.classes[result].bits
    total: Reg | None = None
    at = 0
    for number, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        last = number + 1 == len(parts)
        wide = state.new(BITS[bits]) if total is not None or not last else result
        source = T.U8 if size == 1 else UNSIGNED[8 * size]
        state.emit(form("cvt.int", dtype=UNSIGNED[bits], atype=source), wide, part)
        if total is not None:
            shift = form("shl", type=BITS[bits])
            shifted = state.computed(shift, wide, Imm(8 * at), cls=BITS[bits])
            wide = result if last else state.new(BITS[bits])
            state.emit(form("or", type=BITS[bits]), wide, total, shifted)
        total = wide
        at += size


def store(state: FunctionState, i: ir.Store) -> None:
    """A store of any type."""
    check_space(i.pointer.type, "store")
    space, mem = state.place(i.pointer)
    type_ = i.value.type
    alignment = i.alignment or state.layout.align(type_)
    if i.ordering is not None:
        check_atomic(state.layout, type_, alignment)
    access = _Access("st", space, {**access_order(state, i, space)})
    left = state.value(i.value)
    for part, at in members(state.layout, type_):
        count = state.layout.count(part)
        values, left = left[:count], left[count:]
        where, aligned = _behind(mem, at), aligned_at(alignment, at)
        if is_illegal(part):
            store_illegal(state, part, values, where, aligned, access.form)
        else:
            _store_plain(state, access, part, values, where, aligned)


def _store_plain(
    state: FunctionState,
    access: _Access,
    type_: Type,
    values: Values,
    mem: Mem,
    alignment: int,
) -> None:
    classes = state.layout.classes(type_)
    for part in access_parts(state.layout, type_, alignment, wide=_wide(state, access)):
        there = [
            op if type(op := values[k]) is Imm and part.is_plain else state.reg(op, classes[k])
            for k in range(part.first, part.first + part.count)
        ]
        _store_part(state, access, part, there, _behind(mem, part.at))


def _store_part(
    state: FunctionState, access: _Access, part: AccessPart, values: list[Reg | Imm], where: Mem
) -> None:
    if part.is_plain:
        state.emit(access.form(part.unit, part.count), where, _vector(values))
        return
    regs = [value for value in values if isinstance(value, int)]
    if part.sizes:
        _store_in_sizes(state, access, part, regs[0], where)
        return
    if part.bits:
        moved = [_gathered_bits(state, regs, _class(part.unit))]
    else:
        groups = [regs[n : n + part.packed] for n in range(0, len(regs), part.packed)]
        moved = [_joined(state, elements, part) for elements in groups]
    state.emit(access.form(part.unit, part.units), where, _vector(moved))


def _joined(state: FunctionState, elements: list[Reg], part: AccessPart) -> Reg:
    """One unit of several elements: the one that they came from, if they came from one."""
    known = state.words.get(tuple(elements))
    if known is not None and state.out.regs.classes[known].bits == part.unit.bits:
        return known  # else a part of each element is stored
    unit = state.new(_class(part.unit))
    join(state, unit, elements, part.unit.bits // part.packed)
    return unit


def _gathered_bits(state: FunctionState, bits: list[Reg], cls: ScalarType) -> Reg:
    total = state.new(cls)
    from_predicate(state, total, bits[0], 1)
    for at, bit in enumerate(bits[1:], 1):
        one, both = state.new(cls), state.new(cls)
        from_predicate(state, one, bit, 1 << at)
        state.emit(form("or", type=cls), both, total, one)
        total = both
    return total


def _store_in_sizes(
    state: FunctionState, access: _Access, part: AccessPart, value: Reg, where: Mem
) -> None:
    """One register, by a store for each of the sizes that it is split into."""
    bits = state.out.regs.classes[value].bits
    sizes, known = state.parts.get(value, ((), []))
    at = 0
    for number, size in enumerate(part.sizes):
        stored = known[number] if sizes == part.sizes else value
        if at and stored == value:
            down = form("shr", type=UNSIGNED[bits])
            stored = state.computed(down, value, Imm(8 * at), cls=BITS[bits])
        state.emit(access.form(UNITS[size], 1), Mem(where.base, where.offset + at), stored)
        at += size


def _class(unit: ScalarType) -> ScalarType:
    return BITS[max(unit.bits, 16)]


def _behind(mem: Mem, at: int) -> Mem:
    return Mem(mem.base, mem.offset + at) if at else mem


def _vector(ops: list[Reg] | list[Reg | Imm]) -> Op:
    return ops[0] if len(ops) == 1 else tuple(ops)


def _wide(state: FunctionState, access: _Access) -> bool:
    """Whether 256 bits move at once."""
    return access.space is _GLOBAL and state.can_move_256_bits


def check_space(pointer: Type, what: str) -> None:
    """Whether loads and stores reach what a pointer points to.

    Raises: Unselectable for tensor memory, and for a space that PTX does not have.
    """
    assert isinstance(pointer, PointerType)
    if pointer.address_space == TENSOR_SPACE:
        tool = {"load": "ld", "store": "st"}.get(what)
        raise Unselectable(
            "tensor-memory",
            f"a plain {what} cannot reach tensor memory",
            op=what,
            got="ptr addrspace(6)",
            expected="global, shared, const, local or generic memory",
            hint=f"use llvm.nvvm.tcgen05.{tool}" if tool else "",
            section="PTX ISA, Tensor Memory and Register Load/Store Instructions",
        )
    if pointer.address_space not in SPACES:
        raise Unselectable(
            "address-space",
            f"PTX has no address space {pointer.address_space}",
            op=what,
            got=str(pointer),
        )
