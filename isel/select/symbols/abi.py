"""The ABI: parameters of kernels, of functions, and of the calls that nvgen makes.

Layer: isel.select.  Input: an LLVM type with its attributes.  Output: what PTX calls the parameter,
and the records that store a value into it or load it from there.  A scalar is one of 32 or 64 bits,
everything else as many bytes as it has in memory, as LLVM's own back end does it.  PTX ISA,
Abstracting the ABI.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Form, Imm, Mem, Op, Param, Reg, Scalar, Sym
from intrinsics.modifiers import ScalarType, Space, Vec
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.type_layout import BITS, TypeLayout
from isel.llvm.types import (
    VOID,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from isel.select.memory.access_splitting import UNITS
from isel.select.repack import from_predicate, join, split, to_predicate
from isel.select.state import FunctionState, form
from isel.select.widths import extended

T = ScalarType
_PRED = T.PRED
_VECTORS = {1: None, 2: Vec.V2, 4: Vec.V4}
_COUNTS = (16, 8, 4, 2, 1)
"""How many neighbouring registers may move at once: more than four share units."""

_WIDEST = 16
"""Bytes that one load or store of a parameter moves at most."""

MOST_BYTES = 1 << 16
"""Bytes of a parameter at most.  A kernel has 32,764 for all of its own (PTX ISA, Kernel Function
Parameters); for those of functions the manual says no number."""

_MOST_ALIGNED = 128
"""The largest alignment of a parameter or result that ptxas takes, in bytes."""


# ---- what a parameter is ---------------------------------------------------------------------


def device_param(layout: TypeLayout, name: str, type_: Type, attributes: Attributes) -> Param:
    """A parameter or the result of a device function.

    Raises: Unselectable for a type that has no bytes, or too many, and for its alignment.
    """
    by_value = attributes.type_of("byval")
    if by_value is not None:
        align = alignment(layout, by_value, attributes)
        return _bytes(name, by_value, layout.size(by_value), align)
    bits = _scalar_bits(layout, type_)
    if not bits:
        align = alignment(layout, type_, attributes)
        return _bytes(name, type_, slots(layout, type_), align)
    return Param(name, BITS[bits], bits // 8, bits // 8)


def is_passed(layout: TypeLayout, type_: Type, attributes: Attributes = NO_ATTRIBUTES) -> bool:
    """Whether a value is passed: one of size 0 is not, as in LLVM 23."""
    return attributes.type_of("byval") is not None or layout.size(type_) > 0


def alignment(layout: TypeLayout, type_: Type, attributes: Attributes) -> int:
    """The alignment of a parameter of bytes: that of an attribute, or of its type.

    Raises: Unselectable for more than a parameter can be aligned to.
    """
    said = attributes.integer("alignstack")
    if attributes.type_of("byval") is not None:
        said = said or attributes.integer("align")
    if said and said > _MOST_ALIGNED:
        raise Unselectable(
            "param",
            f"a parameter of type {type_} is aligned to more than parameters can be",
            got=f"align {said}",
            expected=f"at most {_MOST_ALIGNED} bytes",
            hint="pass a pointer to it",
        )
    return said or min(layout.align(type_), _MOST_ALIGNED)


def _scalar_bits(layout: TypeLayout, type_: Type) -> int:
    """Bits of the parameter that a scalar is, 0 for what is passed as bytes."""
    match type_:
        case IntType(bits) if bits <= 64:
            return 32 if bits <= 32 else 64
        case FloatType(_, bits) if bits in (32, 64):
            return bits
        case PointerType(space):
            return layout.pointer_bits(space)
    return 0


def slots(layout: TypeLayout, type_: Type) -> int:
    """Bytes in which a value is passed: elements of odd widths, packed in memory, have slots here.

    LLVM's back end puts such elements where they are put here, but declares no more than the bytes
    in memory.
    """
    if layout.size(type_) > MOST_BYTES or not layout.count(type_):
        return layout.size(type_)
    match type_:
        case VectorType(element, count):
            return max(layout.size(type_), count * layout.size(element))
        case ArrayType(element, count):
            return _stride(layout, element) * count
        case StructType():
            return max(layout.size(type_), _fields(layout, type_)[1])
    return layout.size(type_)


def _stride(layout: TypeLayout, element: Type) -> int:
    """Bytes from one element of an array to the next."""
    return -(-slots(layout, element) // layout.align(element)) * layout.align(element)


def _fields(layout: TypeLayout, type_: StructType) -> tuple[list[int], int]:
    """Where fields begin, as in memory but behind the slots of the field before, and their end."""
    found: list[int] = []
    end = 0
    for offset, element in zip(layout.offsets(type_), type_.elements, strict=True):
        align = 1 if type_.packed else layout.align(element)
        found.append(max(offset, -(-end // align) * align))
        end = found[-1] + slots(layout, element)
    return found, end


def check_size(type_: Type, size: int) -> None:
    """Check that a parameter is not too large: its bytes are moved register by register.

    Raises: Unselectable.
    """
    if size > MOST_BYTES:
        raise Unselectable(
            "param",
            f"a parameter of type {type_} is too large",
            got=f"{size} bytes",
            expected=f"at most {MOST_BYTES} bytes",
            hint="pass a pointer to it",
        )


def _bytes(name: str, type_: Type, size: int, align: int) -> Param:
    check_size(type_, size)
    if not size:
        raise Unselectable(
            "param", f"a parameter of type {type_} has no bytes", got=str(type_), expected="a value"
        )
    return Param(name, T.B8, size, align)


# ---- what a value is made of -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterSlot:
    """One register of a value, and where it lies: a predicate in a byte of its own."""

    at: int
    unit: ScalarType


def register_slots(layout: TypeLayout, type_: Type, at: int = 0) -> Iterator[RegisterSlot]:
    """The registers of a value, and where each lies in a parameter.

    Raises: Unselectable for values that are too large.
    """
    layout.classes(type_)  # refuses what is too large
    if not layout.count(type_):
        return  # however many elements of no size it has
    match type_:
        case StructType(elements):
            for offset, element in zip(_fields(layout, type_)[0], elements, strict=True):
                yield from register_slots(layout, element, at + offset)
        case ArrayType(element, count):
            for number in range(count):
                yield from register_slots(layout, element, at + number * _stride(layout, element))
        case VectorType(element, count):
            for number in range(count):
                yield from register_slots(layout, element, at + number * layout.size(element))
        case IntType(1):
            yield RegisterSlot(at, T.PRED)
        case _:
            parts = len(layout.classes(type_))
            each = layout.size(type_) if parts == 1 else 8  # the last word may be padding
            for part in range(parts):
                yield RegisterSlot(at + part * each, UNITS[each])


@dataclass(frozen=True, slots=True)
class _Access:
    """Neighbouring registers of a value that move at once, `at` the byte of the first.

    `packed` registers of bytes or halves share one unit.
    """

    first: int
    count: int
    at: int
    unit: ScalarType
    packed: int = 1


@functools.lru_cache(maxsize=1024)
def _accesses(layout: TypeLayout, type_: Type, align: int) -> tuple[_Access, ...]:
    """How a value with this alignment is moved.

    Raises: Unselectable for values that are too large.
    """
    found = list(register_slots(layout, type_))
    accesses = []
    at = 0
    while at < len(found):
        count = next(n for n in _COUNTS if n == 1 or _together(found[at : at + n], n, align))
        accesses.append(_access(at, count, found[at]))
        at += count
    return tuple(accesses)


def _access(first: int, count: int, slot: RegisterSlot) -> _Access:
    """The access to registers from `first` on, which lie at `slot` and behind it."""
    size = slot.unit.bits // 8
    packed = 4 // size if size < 4 and size * count >= 4 else 1
    unit = slot.unit if packed == 1 else T.B32
    return _Access(first, count, slot.at, unit, packed)


def _together(run: list[RegisterSlot], count: int, align: int) -> bool:
    first = run[0]
    size = first.unit.bits // 8
    total = size * count
    return (
        len(run) == count
        and first.unit is not T.PRED
        and (count in _VECTORS or size < 4)
        and total <= _WIDEST
        and align % total == 0
        and first.at % total == 0
        and all(p.unit is first.unit and p.at == first.at + n * size for n, p in enumerate(run))
    )


# ---- records ---------------------------------------------------------------------------------


def load_value(state: FunctionState, param: Param, type_: Type, results: tuple[Reg, ...]) -> None:
    """Load a value from a parameter into registers."""
    for access in _accesses(state.layout, type_, param.align):
        where = Mem(Sym(param.name), access.at)
        regs = results[access.first : access.first + access.count]
        unit = access.unit
        if unit is _PRED:
            byte = state.new(T.B16)
            state.emit(form("ld", space=Space.PARAM, type=T.B8), byte, where)
            to_predicate(state, regs[0], byte, 16)
        elif access.count == 1:
            state.emit(_load_of_param(unit), regs[0], where)
        elif access.packed == 1:
            vec = _VECTORS[access.count]
            state.emit(form("ld", space=Space.PARAM, vec=vec, type=unit), regs, where)
        else:
            _load_packed(state, where, access, regs)


def _load_packed(state: FunctionState, where: Mem, access: _Access, regs: tuple[Reg, ...]) -> None:
    """Load 32-bit words, and unpack bytes or halves from them."""
    words = [state.new(T.B32) for _ in range(access.count // access.packed)]
    vec = _VECTORS[len(words)]
    to: Op = tuple(words) if len(words) > 1 else words[0]
    state.emit(form("ld", space=Space.PARAM, vec=vec, type=T.B32), to, where)
    for at, word in enumerate(words):
        parts = regs[at * access.packed : (at + 1) * access.packed]
        split(state, list(parts), word, 32 // access.packed)


@functools.cache
def _load_of_param(unit: ScalarType) -> Form:
    return form("ld", space=Space.PARAM, type=unit)


def store_value(
    state: FunctionState, param: Param, value: llvm.Value, attributes: Attributes
) -> None:
    """Store a value into a parameter or a result."""
    if param.type is not T.B8:
        where = Mem(Sym(param.name))
        _store(state, where, param.type, [_promoted(state, value, attributes, param.type)])
        return
    classes = state.layout.classes(value.type)
    values = state.value(value)
    for access in _accesses(state.layout, value.type, param.align):
        where = Mem(Sym(param.name), access.at)
        unit = access.unit
        moved = range(access.first, access.first + access.count)
        parts = [_operand(state, values[n], classes[n]) for n in moved]
        if unit is _PRED:
            byte = state.new(T.B16)
            from_predicate(state, byte, state.reg(values[access.first], T.PRED), 1)
            unit, parts = T.B8, [byte]
        if access.packed > 1:
            parts = _words(state, access, [state.reg(part, T.B16) for part in parts])
        _store(state, where, unit, parts)


def _words(state: FunctionState, access: _Access, parts: list[Reg]) -> list[Scalar]:
    """Pack bytes or halves into 32-bit words."""
    words: list[Scalar] = []
    for at in range(0, len(parts), access.packed):
        word = state.new(T.B32)
        join(state, word, parts[at : at + access.packed], 32 // access.packed)
        words.append(word)
    return words


def _store(state: FunctionState, where: Mem, unit: ScalarType, parts: list[Scalar]) -> None:
    if len(parts) == 1:
        state.emit(form("st", space=Space.PARAM, type=unit), where, parts[0])
        return
    op: Op = tuple(parts)
    state.emit(form("st", space=Space.PARAM, vec=_VECTORS[len(parts)], type=unit), where, op)


def _operand(state: FunctionState, op: Scalar, cls: ScalarType) -> Scalar:
    """A register or a number."""
    return op if isinstance(op, (int, Imm)) else state.reg(op, cls)


def _promoted(
    state: FunctionState, value: llvm.Value, attributes: Attributes, to: ScalarType
) -> Scalar:
    """A scalar in the width of its parameter: extended by signext or zeroext, else undefined."""
    type_ = value.type
    signed = "signext" in attributes
    if isinstance(type_, IntType) and type_.bits == 1:
        word = state.new(to)
        from_predicate(state, word, state.scalar_reg(value), -1 if signed else 1)
        return word
    if isinstance(type_, IntType) and (signed or "zeroext" in attributes):
        op = extended(state, value, signed=signed)
    else:
        (op,) = state.value(value)
    (cls,) = state.layout.classes(type_)
    if isinstance(op, Imm):
        return op
    reg = state.reg(op, cls)
    if cls.bits == to.bits:
        return reg
    word = state.new(to)
    dtype, atype = (T.S32, T.S16) if signed else (T.U32, T.U16)
    state.emit(form("cvt.int", dtype=dtype, atype=atype), word, reg)
    return word


def result_param(state: FunctionState, type_: Type, name: str) -> tuple[Param, ...]:
    """The result parameter of a function type, if it has one."""
    if type_ == VOID or not is_passed(state.layout, type_):
        return ()
    return (device_param(state.layout, name, type_, NO_ATTRIBUTES),)
