"""Bits in one row of registers put into another: bit casts, and accesses to memory.

Layer: isel.select.  Input: operands and how many bits each holds, the lowest first; output: the
same for the registers that are to hold them.  Bits of a register above those that it holds mean
nothing, on both sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from intrinsics.mir import Imm, Op, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.llvm.type_layout import BITS, UNSIGNED
from isel.llvm.types import IntType, Type, VectorType
from isel.select.state import FunctionState, form
from isel.select.widths import limb_widths, resize

T = ScalarType


def element_widths(state: FunctionState, type_: Type) -> list[int]:
    """Bits of a scalar or vector in each of its registers."""
    state.layout.classes(type_)  # refuses what is too large
    element = type_.scalar
    bits = element.bits if isinstance(element, IntType) else state.layout.size(element) * 8
    return limb_widths(bits) * (type_.count if isinstance(type_, VectorType) else 1)


def repack(
    state: FunctionState,
    ops: Sequence[Scalar],
    widths: Sequence[int],
    results: Sequence[Reg],
    wanted: Sequence[int],
) -> None:
    """Put the bits of `ops` into `results`."""
    pairs = zip(ops, widths, strict=True)
    regs = [state.reg(op, BITS[_holder(w)] if w > 1 else T.PRED) for op, w in pairs]
    source, target = max(widths), max(wanted)
    uniform = {*widths} == {source} and {*wanted} == {target}
    if uniform and _is_power(source) and _is_power(target) and min(source, target) >= 8:
        _repack_evenly(state, regs, source, list(results), target)
        return
    starts = [0, *itertools.accumulate(widths)]
    at = first = 0
    for result, width in zip(results, wanted, strict=True):
        fields = []
        for n in range(first, len(ops)):
            start = starts[n]
            if start >= at + width:
                break
            low, high = max(at, start), min(at + width, starts[n + 1])
            if low < high and ops[n] != Imm(0):
                fields.append(_BitField(regs[n], low - start, low - at, high - low))
            if starts[n + 1] <= at + width:
                first = n + 1
        _gather(state, result, width, fields)
        at += width


def _is_power(n: int) -> bool:
    return n & (n - 1) == 0


def _holder(bits: int) -> int:
    return 16 if bits <= 16 else 32 if bits <= 32 else 64


def _repack_evenly(
    state: FunctionState, regs: list[Reg], source: int, results: list[Reg], target: int
) -> None:
    if target > source:
        each = target // source
        for at, result in enumerate(results):
            join(state, result, regs[at * each : (at + 1) * each], source)
    elif source > target:
        each = source // target
        for at, reg in enumerate(regs):
            split(state, results[at * each : (at + 1) * each], reg, target)
    else:
        for result, reg in zip(results, regs, strict=True):
            state.emit(form("mov", type=BITS[_holder(source)]), result, reg)


# ---- any widths ------------------------------------------------------------------------------


class _BitField:
    """`count` bits of a register, from bit `first` on, to go to bit `to`."""

    __slots__ = ("count", "first", "reg", "to")

    def __init__(self, reg: Reg, first: int, to: int, count: int) -> None:
        self.reg = reg
        self.first = first
        self.to = to
        self.count = count


def _gather(state: FunctionState, result: Reg, width: int, fields: list[_BitField]) -> None:
    """One result out of its fields, the lowest one first."""
    bits = state.out.regs.classes[result].bits
    if bits == 1:
        _gather_bit(state, result, fields)
        return
    joined: Op | None = None
    for n, field in enumerate(fields):
        last = n + 1 == len(fields)
        part = _place(state, field, bits, clean=not last or field.to + field.count < width)
        if joined is None:
            joined = part
            continue
        total = result if last else state.new(BITS[bits])
        state.emit(form("or", type=BITS[bits]), total, joined, part)
        joined = total
    if len(fields) < 2:
        state.emit(form("mov", type=BITS[bits]), result, Imm(0) if joined is None else joined)


def _gather_bit(state: FunctionState, result: Reg, fields: list[_BitField]) -> None:
    if not fields:
        state.emit(form("mov", type=T.PRED), result, Imm(0))
        return
    (field,) = fields
    holder = state.out.regs.classes[field.reg].bits
    if holder == 1:
        state.emit(form("mov", type=T.PRED), result, field.reg)
        return
    to_predicate(state, result, field.reg, holder, field.first)


def _place(state: FunctionState, field: _BitField, bits: int, *, clean: bool) -> Reg:
    """A field at its place in a register of `bits` bits, zeros below, above too if `clean`."""
    holder = state.out.regs.classes[field.reg].bits
    if holder == 1:
        chosen, one = form("selp", type=BITS[bits]), Imm(1 << field.to)
        return state.computed(chosen, one, Imm(0), field.reg, cls=BITS[bits])
    reg = field.reg
    if field.first:
        reg = _shifted(state, "shr", UNSIGNED[holder], reg, field.first)
    above = state.zero_above.get(field.reg, holder) - field.first
    reg = resize(state, reg, holder, bits)
    if clean and field.count < min(above, bits - field.to):
        mask = Imm((1 << field.count) - 1)
        reg = state.computed(form("and", type=BITS[bits]), reg, mask, cls=BITS[bits])
    return _shifted(state, "shl", BITS[bits], reg, field.to) if field.to else reg


def _shifted(state: FunctionState, row: str, type_: ScalarType, reg: Reg, by: int) -> Reg:
    return state.computed(form(row, type=type_), reg, Imm(by), cls=BITS[type_.bits])


# ---- predicates ------------------------------------------------------------------------------


def from_predicate(state: FunctionState, result: Reg, predicate: Reg, one: int) -> None:
    """`one` where a predicate holds, else 0."""
    cls = state.out.regs.classes[result]
    state.emit(form("selp", type=cls), result, Imm(one), Imm(0), predicate)
    if one == 1:
        state.zero_above[result] = 1


def to_predicate(state: FunctionState, result: Reg, reg: Reg, bits: int, place: int = 0) -> None:
    """Whether one bit of a register of `bits` bits is set, the lowest unless `place` is given."""
    low = state.computed(form("and", type=BITS[bits]), reg, Imm(1 << place), cls=BITS[bits])
    state.emit(form("setp.int", p=True, cmp=Cmp.NE, type=BITS[bits]), result, low, Imm(0))


# ---- parts of 8, 16 and 32 bits --------------------------------------------------------------


def join(state: FunctionState, result: Reg, parts: list[Reg], bits: int) -> None:
    """One register from parts of `bits` bits each, the first one lowest."""
    wide = state.out.regs.classes[result]
    whole = state.words.get(tuple(parts))
    if whole is not None and state.out.regs.classes[whole].bits == wide.bits:
        state.emit(form("mov", type=BITS[wide.bits]), result, whole)
        return
    if bits == 8:
        _join_bytes(state, result, parts, wide.bits)
    else:
        state.emit(form(f"mov.pack{len(parts)}", type=BITS[wide.bits]), result, tuple(parts))


def split(state: FunctionState, results: list[Reg], reg: Reg, bits: int) -> None:
    """The parts of `bits` bits each of one register, the lowest one first."""
    wide = state.out.regs.classes[reg]
    state.words[tuple(results)] = reg
    if bits == 8:
        _split_bytes(state, results, reg, wide.bits)
    else:
        state.emit(form(f"mov.unpack{len(results)}", type=BITS[wide.bits]), tuple(results), reg)


def _join_bytes(state: FunctionState, result: Reg, parts: list[Reg], bits: int) -> None:
    """Two bytes by a shift, four by permutations, eight as twice four."""
    if bits == 64:
        halves = [state.new(T.B32), state.new(T.B32)]
        join(state, halves[0], parts[:4], 8)
        join(state, halves[1], parts[4:], 8)
        state.emit(form("mov.pack2", type=T.B64), result, tuple(halves))
        return
    if bits == 16:
        _gather(state, result, 16, [_BitField(reg, 0, 8 * n, 8) for n, reg in enumerate(parts)])
        return
    words = [resize(state, reg, 16, 32) for reg in parts]
    low, high = state.new(T.B32), state.new(T.B32)
    permute(state, low, words[0], words[1], 0x3340)
    permute(state, high, words[2], words[3], 0x3340)
    permute(state, result, low, high, 0x5410)


def permute(state: FunctionState, result: Reg, a: Op, b: Op, selection: int) -> None:
    """Four bytes out of eight: of `a`, numbered 0 to 3, and `b`, 4 to 7."""
    state.emit(form("prmt"), result, a, b, Imm(selection))


def extend_byte(state: FunctionState, result: Reg, reg: Reg, *, signed: bool) -> None:
    """A byte of a word, filled up to 32 bits: one instruction on the word."""
    word, at = state.bytes[reg]
    if at == 0:
        types = (T.S32, T.S8) if signed else (T.U32, T.U8)
        state.emit(form("cvt.int", dtype=types[0], atype=types[1]), result, word)
        return
    # each of the upper bytes is the sign of the byte, or a byte of zeros
    selection = 0x8880 + 0x1111 * at if signed else 0x4440 + at
    permute(state, result, word, Imm(0), selection)


def _split_bytes(state: FunctionState, results: list[Reg], reg: Reg, bits: int) -> None:
    if bits == 64:
        for n, half in enumerate(state.two_halves(reg, T.B32)):
            split(state, results[4 * n : 4 * n + 4], half, 8)
        return
    for at, result in enumerate(results):
        shifted = _shifted(state, "shr", UNSIGNED[bits], reg, 8 * at) if at else reg
        state.emit(form("cvt.int", dtype=T.U16, atype=UNSIGNED[bits]), result, shifted)
        if bits == 32:
            state.bytes[result] = (reg, at)
        if 8 * at + 8 == bits:
            state.zero_above[result] = 8
