"""Conversions between floating-point types, and from and to integers, to records.

Layer: isel.select.  Where a target converts no bfloats the way is by float.  A double, or an
integer of more than 24 bits, is first cut to a float whose lowest bit says that something was cut
off (rounding to odd), so that the second rounding gives what one alone would.
"""

from __future__ import annotations

from intrinsics.mir import Form, Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import Rounding, ScalarType
from isel.llvm import ir
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED
from isel.llvm.types import I1, IntType, Type, VectorType
from isel.llvm.vocabulary import Opcode
from isel.select.floats.steps import ONE, Floats, kind_of
from isel.select.repack import to_predicate
from isel.select.state import FunctionState, form
from isel.select.widths import extend, register_bits

T = ScalarType

FLOAT_CASTS = frozenset(
    {
        *(Opcode.FPTRUNC, Opcode.FPEXT, Opcode.FPTOSI, Opcode.FPTOUI),
        *(Opcode.SITOFP, Opcode.UITOFP),
    }
)
_LONG_SIGNIFICAND = 24
"""Bits of an integer that a float holds."""


def flushes_subnormals(function: ir.Function) -> bool:
    """Whether a function's attributes ask for operations on floats that flush subnormals."""
    text = function.attributes.string("denormal-fp-math-f32")
    if text is None:
        text = function.attributes.string("denormal-fp-math")
    return text is not None and text.partition(",")[0] == "preserve-sign"


def float_cast(state: FunctionState, i: ir.Cast) -> None:
    """fptrunc, fpext, fptosi, fptoui, sitofp and uitofp, element by element."""
    floats = Floats(state, i.flags)
    values = state.value(i.operand)
    if i.opcode in (Opcode.FPTRUNC, Opcode.FPEXT):
        source = kind_of(i.operand.type, i.opcode)
        to = kind_of(i.type, i.opcode)
        pair = PAIR_OF.get(to) if source is T.F32 and isinstance(i.type, VectorType) else None
        if pair is not None:
            state.forward(i.result, narrowed_pairs(floats, to, values))
            return
        found = [converted(floats, op, source, to) for op in values]
    elif i.opcode in (Opcode.SITOFP, Opcode.UITOFP):
        to = kind_of(i.type, i.opcode)
        signed = i.opcode is Opcode.SITOFP
        found = [from_integer(floats, op, i.operand.type, to, signed=signed) for op in values]
    else:
        source = kind_of(i.operand.type, i.opcode)
        signed = i.opcode is Opcode.FPTOSI
        found = [to_integer(floats, op, source, i.type, signed=signed) for op in values]
    state.forward(i.result, tuple(found))


PAIR_OF = {T.F16: T.F16X2, T.BF16: T.BF16X2}


def narrowed_pairs(
    floats: Floats, to: ScalarType, values: tuple[Scalar, ...]
) -> tuple[Scalar, ...]:
    """Floats rounded to halves or bfloats, two at a time where the target does that."""
    chosen = form("cvt.pair", rnd=Rounding.RN, dtype=PAIR_OF[to], atype=T.F32)
    paired = floats.has(chosen)
    found: list[Scalar] = []
    while len(found) < len(values):
        at = len(found)
        if paired and at + 1 < len(values):
            # cvt puts its first source into the upper half
            sources = floats.literals((values[at + 1], values[at]), T.F32)
            found += floats.unpacked(floats.emit(chosen, *sources, cls=T.B32), to)
        else:
            found.append(floats.narrowed(values[at], to))
    return tuple(found)


# ---- between floating-point types --------------------------------------------------------------


def converted(floats: Floats, op: Scalar, source: ScalarType, to: ScalarType) -> Scalar:
    """A number in another floating-point type."""
    if source is to:
        return op
    if source in (T.F16, T.BF16) and to is T.F32:
        return floats.reg(floats.widened(op, source), T.F32)
    if source is T.F32 and to in (T.F16, T.BF16):
        return floats.narrowed(op, to)
    chosen = _direct(floats, source, to)
    if floats.has(chosen):
        return floats.emit(chosen, floats.reg(op, source), cls=BITS[to.bits])
    if source is T.F64:
        return floats.narrowed(_cut_double(floats, floats.reg(op, source)), to)
    return converted(floats, converted(floats, op, source, T.F32), T.F32, to)


def _direct(floats: Floats, source: ScalarType, to: ScalarType) -> Form:
    row = "cvt.to_bf16" if to is T.BF16 else "cvt.from_bf16" if source is T.BF16 else "cvt.float"
    rounding = Rounding.RN if to.bits < source.bits else None
    ftz = floats.ftz(T.F32) if {source, to} == {T.F32, T.F64} else None
    return form(row, rnd=rounding, dtype=to, atype=source, ftz=ftz)


def _cut_double(floats: Floats, x: Reg) -> Reg:
    """A double as a float, rounded to odd."""
    cut = form("cvt.float", rnd=Rounding.RZ, dtype=T.F32, atype=T.F64)
    near = floats.emit(cut, x, cls=T.B32)
    back = floats.emit(form("cvt.float", dtype=T.F64, atype=T.F32), near, cls=T.B64)
    inexact = floats.test(Cmp.NEU, T.F64, back, x, ftz=None)
    return _odd(floats, near, inexact)


def _odd(floats: Floats, x: Reg, inexact: Reg) -> Reg:
    lowest = floats.emit(form("selp", type=T.B32), Imm(1), Imm(0), inexact, cls=T.B32)
    return floats.emit(form("or", type=T.B32), x, lowest, cls=T.B32)


# ---- integers --------------------------------------------------------------------------------


def from_integer(
    floats: Floats, op: Scalar, source: Type, to: ScalarType, *, signed: bool
) -> Scalar:
    """An integer as a floating-point number, rounded to nearest."""
    element = source.scalar
    if element == I1:
        return _from_bit(floats, op, to, signed=signed)
    bits = register_bits(element, "a conversion to floating point")
    width = element.bits if isinstance(element, IntType) else bits
    if width == 8 and to is not T.BF16:
        atype = T.S8 if signed else T.U8
    else:
        op = extend(floats.state, op, width, signed=signed)
        atype = (SIGNED if signed else UNSIGNED)[bits]
    source_reg = floats.state.reg(op, BITS[bits])
    row = "cvt.bf16_from_int" if to is T.BF16 else "cvt.from_int"
    chosen = form(row, rnd=Rounding.RN, dtype=to, atype=atype)
    if floats.has(chosen):
        return floats.emit(chosen, source_reg, cls=BITS[to.bits])
    if width <= _LONG_SIGNIFICAND:
        near = form("cvt.from_int", rnd=Rounding.RN, dtype=T.F32, atype=atype)
        return floats.narrowed(floats.emit(near, source_reg, cls=T.B32), to)
    cut = form("cvt.from_int", rnd=Rounding.RZ, dtype=T.F32, atype=atype)
    rough = floats.emit(cut, source_reg, cls=T.B32)
    whole = form("cvt.to_int", rnd=Rounding.RZI, dtype=atype, atype=T.F32)
    back = floats.emit(whole, rough, cls=BITS[bits])
    differ = form("setp.int", p=True, cmp=Cmp.NE, type=BITS[bits])
    inexact = floats.emit(differ, back, source_reg, cls=T.PRED)
    return floats.narrowed(_odd(floats, rough, inexact), to)


def _from_bit(floats: Floats, op: Scalar, to: ScalarType, *, signed: bool) -> Scalar:
    """1 or 0; of a signed bit -1 or 0."""
    one = ONE[to] | (1 << to.bits - 1 if signed else 0)
    if isinstance(op, Imm):
        return Imm(one if op.value & 1 else 0)
    numbers: tuple[Scalar, ...] = Imm(one), Imm(0)
    kind = BITS[to.bits]
    if to in (T.F32, T.F64):  # ptxas joins such a choice with the comparison
        kind, numbers = to, tuple(floats.literals(numbers, to))
    return floats.emit(form("selp", type=kind), *numbers, op, cls=BITS[to.bits])


def to_integer(floats: Floats, op: Scalar, source: ScalarType, to: Type, *, signed: bool) -> Scalar:
    """The integer towards zero; what it does not hold is poison in LLVM."""
    element = to.scalar
    is_bit = element == I1
    bits = 16 if is_bit else register_bits(element, "a conversion from floating point")
    dtype = (SIGNED if signed else UNSIGNED)[bits]
    if is_bit:
        dtype = T.S16
    value = whole_number(floats, op, source, dtype, Rounding.RZI)
    if not is_bit:
        return value
    result = floats.state.new(T.PRED)
    to_predicate(floats.state, result, value, 16)
    return result


def whole_number(
    floats: Floats, op: Scalar, source: ScalarType, dtype: ScalarType, rounding: Rounding
) -> Reg:
    """cvt to an integer type: clamped to its range, and 0 for most kinds of NaN."""
    if source is T.BF16:
        chosen = form("cvt.bf16_to_int", rnd=rounding, dtype=dtype, atype=source)
        if dtype.bits > 8 and floats.has(chosen):
            return floats.emit(chosen, floats.reg(op, source), cls=BITS[dtype.bits])
        op, source = floats.widened(op, source), T.F32
    ftz = floats.ftz(source) if source is T.F32 else None
    chosen = form("cvt.to_int", rnd=rounding, dtype=dtype, atype=source, ftz=ftz)
    return floats.emit(chosen, floats.reg(op, source), cls=BITS[max(dtype.bits, 16)])
