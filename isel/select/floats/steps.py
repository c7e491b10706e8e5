"""Steps of floating-point records: arithmetic, signs, comparisons, roundings, pairs.

Layer: isel.select.  Which instruction a target has is asked of the rows.  Where it has none for a
half or a bfloat, the value is computed as a float and rounded back.  Two neighbouring elements of a
vector of halves are one packed operation.

Where the function has `"denormal-fp-math-f32"="preserve-sign"`, operations on floats and halves
flush subnormals.  `float_instructions` makes LLVM's instructions of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from intrinsics.legality import judge
from intrinsics.mir import FloatImm, Form, Imm, Op, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import Ftz, Rounding, ScalarType, TestOp
from intrinsics.row import Attribute
from isel.diagnostics import not_yet
from isel.llvm.type_layout import BITS, FLOATS
from isel.llvm.types import FloatType, Type, VectorType
from isel.llvm.vocabulary import Flag, Opcode
from isel.select.state import FunctionState, form

T = ScalarType
RN = Rounding.RN

PAIRS = {T.F16: T.F16X2, T.BF16: T.BF16X2, T.F32: T.F32X2}
"""The type of two neighbouring elements in one register."""

_FLUSHED = (T.F16, T.F16X2, T.F32, T.F32X2)
ONE = {T.F16: 0x3C00, T.BF16: 0x3F80, T.F32: 0x3F800000, T.F64: 0x3FF0000000000000}
_SIGNIFICAND = {T.F32: 23, T.F64: 52}


def kind_of(type_: Type, what: str | Opcode) -> ScalarType:
    """The PTX type of a floating-point type, or of a vector's elements.

    Raises: Unselectable for fp128 and what is no number.
    """
    scalar = type_.scalar
    kind = FLOATS.get(scalar.keyword) if isinstance(scalar, FloatType) else None
    if kind is None:
        raise not_yet(f"{what.value if isinstance(what, Opcode) else what} of {type_}")
    return kind


class Floats:
    """Builds floating-point records for one instruction; each step gives its register."""

    def __init__(self, state: FunctionState, flags: frozenset[Flag] = frozenset()) -> None:
        self.state = state
        self.flags = flags

    # ---- records -----------------------------------------------------------------------------

    def has(self, chosen: Form) -> bool:
        """Whether the target has a form."""
        return has_form(self.state, chosen)

    def emit(self, chosen: Form, *sources: Op, cls: ScalarType) -> Reg:
        """One record with one result in a register of class `cls`."""
        return self.state.computed(chosen, *sources, cls=cls)

    def ftz(self, kind: ScalarType) -> Ftz | None:
        """`.ftz` for an operation on `kind`, where the function flushes subnormals; else None."""
        return Ftz.FTZ if self.state.flushes and kind in _FLUSHED else None

    def form(self, row: str, kind: ScalarType, **attributes: Attribute) -> Form:
        """The form of an operation on `kind`, flushing where the function says so."""
        return form(row, type=kind, ftz=self.ftz(kind), **attributes)

    def literal(self, op: Scalar, kind: ScalarType) -> Scalar:
        """An operand as an instruction on `kind` takes it: a literal for f32 and f64."""
        if not isinstance(op, Imm):
            return op
        if kind in (T.F32, T.F64):
            return FloatImm(op.value & (1 << kind.bits) - 1, kind)
        return self.state.reg(op, BITS[kind.bits])

    def literals(self, ops: Sequence[Scalar], kind: ScalarType) -> list[Scalar]:
        """Operands; one of them at least in a register."""
        found = [op if type(op) is int else self.literal(op, kind) for op in ops]
        if int not in map(type, found):
            found[0] = self.reg(ops[0], kind)
        return found

    def reg(self, op: Scalar, kind: ScalarType) -> Reg:
        """An operand in a register."""
        found = self.literal(op, kind)
        return self.state.reg(found, BITS[kind.bits])

    def native(self, chosen: Form, kind: ScalarType, *ops: Scalar) -> Reg | None:
        """An operation of the target on scalars of one type, or None where there is none."""
        if not self.has(chosen):
            return None
        return self.emit(chosen, *self.literals(ops, kind), cls=BITS[kind.bits])

    # ---- widths ------------------------------------------------------------------------------

    def widened(self, op: Scalar, kind: ScalarType) -> Scalar:
        """A half or a bfloat as a float."""
        if isinstance(op, Imm):
            return Imm(_as_float(op.value, kind))
        source = self.reg(op, kind)
        row = "cvt.float" if kind is T.F16 else "cvt.from_bf16"
        ftz = self.ftz(T.F32) if kind is T.F16 else None
        chosen = form(row, dtype=T.F32, atype=kind, ftz=ftz)
        if self.has(chosen):
            return self.emit(chosen, source, cls=T.B32)
        return self.emit(form("mov.pack2", type=T.B32), (Imm(0), source), cls=T.B32)

    def narrowed(self, op: Scalar, kind: ScalarType) -> Reg:
        """A float rounded to a half or a bfloat."""
        row = "cvt.float" if kind is T.F16 else "cvt.to_bf16"
        chosen = form(row, rnd=RN, dtype=kind, atype=T.F32)
        source = self.reg(op, T.F32)
        if self.has(chosen):
            return self.emit(chosen, source, cls=T.B16)
        return self._rounded_bfloat(source)

    def _rounded_bfloat(self, x: Reg) -> Reg:
        """The upper half after rounding to nearest even by hand; a NaN is made quiet."""
        odd = self.emit(form("bfe", type=T.U32), x, Imm(16), Imm(1), cls=T.B32)
        more = self.emit(form("add.int", type=T.S32), odd, Imm(0x7FFF), cls=T.B32)
        rounded = self.emit(form("add.int", type=T.S32), x, more, cls=T.B32)
        quiet = self.emit(form("or", type=T.B32), x, Imm(0x400000), cls=T.B32)
        nan = self.test(Cmp.NAN, T.F32, x, x, ftz=None)
        chosen = self.emit(form("selp", type=T.B32), quiet, rounded, nan, cls=T.B32)
        return self.state.two_halves(chosen, T.B16)[1]

    def as_floats(
        self, kind: ScalarType, ops: Sequence[Scalar], compute: Callable[..., Scalar]
    ) -> Reg:
        """An operation on halves or bfloats done on floats."""
        return self.narrowed(compute(*(self.widened(op, kind) for op in ops)), kind)

    def test(self, cmp: Cmp, kind: ScalarType, a: Scalar, b: Scalar, *, ftz: Ftz | None) -> Reg:
        """A comparison that the target has."""
        chosen = form("setp.float", p=True, cmp=cmp, type=kind, ftz=ftz)
        return self.emit(chosen, *self.literals((a, b), kind), cls=T.PRED)

    # ---- arithmetic --------------------------------------------------------------------------

    def arithmetic(self, head: str, kind: ScalarType, a: Scalar, b: Scalar) -> Reg:
        """add, sub or mul, rounded to nearest."""
        found = self.native(self.form(f"{head}.float", kind, rnd=RN), kind, a, b)
        if found is None and kind is T.BF16:
            found = self._bfloat_by_fma(head, a, b)
        if found is not None:
            return found
        return self.as_floats(kind, (a, b), lambda x, y: self.arithmetic(head, T.F32, x, y))

    def _bfloat_by_fma(self, head: str, a: Scalar, b: Scalar) -> Reg | None:
        """a·1 + b, b·-1 + a, a·b + -0: sm_80 has no other arithmetic of bfloats."""
        one, minus_one, minus_zero = Imm(0x3F80), Imm(0xBF80), Imm(0x8000)
        operands = {
            "add": (a, one, b),
            "sub": (b, minus_one, a),
            "mul": (a, b, minus_zero),
        }[head]
        return self.native(form("fma", rnd=RN, type=T.BF16), T.BF16, *operands)

    def fma(self, kind: ScalarType, a: Scalar, b: Scalar, c: Scalar) -> Reg:
        """a·b + c, rounded once."""
        found = self.native(self.form("fma", kind, rnd=RN), kind, a, b, c)
        if found is not None:
            return found
        return self.as_floats(kind, (a, b, c), lambda x, y, z: self.fma(T.F32, x, y, z))

    def negative(self, kind: ScalarType, a: Scalar) -> Scalar:
        """-a."""
        sign = 1 << kind.bits - 1
        if isinstance(a, Imm):
            return Imm((a.value & (1 << kind.bits) - 1) ^ sign)
        found = self.native(self.form("neg.float", kind), kind, a)
        if found is not None:
            return found
        return self.emit(form("xor", type=T.B16), a, Imm(sign), cls=T.B16)

    def absolute(self, kind: ScalarType, a: Scalar) -> Reg:
        """|a|."""
        found = self.native(self.form("abs.float", kind), kind, a)
        if found is not None:
            return found
        return self.emit(form("and", type=T.B16), self.reg(a, kind), Imm(0x7FFF), cls=T.B16)

    def quotient(self, kind: ScalarType, a: Scalar, b: Scalar) -> Scalar:
        """a / b: approximate under `afn`, a product where the reciprocal is exact or allowed.

        1 by an approximate root is an approximate reciprocal root, as LLVM has it.
        """
        if kind in (T.F16, T.BF16):
            return self.as_floats(kind, (a, b), lambda x, y: self.quotient(T.F32, x, y))
        reciprocal = _reciprocal(b, kind, exact=Flag.ARCP not in self.flags)
        if reciprocal is not None:
            return self.arithmetic("mul", kind, a, reciprocal)
        fast = Flag.AFN in self.flags and kind is T.F32
        rounding = Rounding.APPROX if fast else RN
        if a == Imm(ONE[kind]):
            root = self.state.roots.get(b) if type(b) is int else None
            if root is not None:
                return self.emit(root.reciprocal, root.of, cls=T.B32)
            return self.emit(self.form("rcp", kind, rnd=rounding), self.reg(b, kind),
                             cls=BITS[kind.bits])  # fmt: skip
        chosen = self.form("div.float", kind, rnd=rounding)
        return self.emit(chosen, *self.literals((a, b), kind), cls=BITS[kind.bits])

    def remainder(self, kind: ScalarType, a: Scalar, b: Scalar) -> Scalar:
        """a - b·trunc(a / b) under `afn`, and a where b is infinite; others are lowered before."""
        if kind in (T.F16, T.BF16):
            return self.as_floats(kind, (a, b), lambda x, y: self.remainder(T.F32, x, y))
        rounding = Rounding.APPROX if kind is T.F32 else RN
        chosen = self.form("div.float", kind, rnd=rounding)
        cls = BITS[kind.bits]
        quotient = self.emit(chosen, *self.literals((a, b), kind), cls=cls)
        whole = self.integral(kind, Rounding.RZI, quotient)
        rest = self.fma(kind, self.negative(kind, whole), b, a)
        if Flag.NINF in self.flags:
            return rest
        test = form("testp", op=TestOp.INFINITE, type=kind)
        infinite = self.emit(test, self.reg(b, kind), cls=T.PRED)
        return self.emit(form("selp", type=cls), self.reg(a, kind), rest, infinite, cls=cls)

    def integral(self, kind: ScalarType, rounding: Rounding, a: Scalar) -> Reg:
        """A number rounded to an integral one of its own type."""
        row = "cvt.from_bf16" if kind is T.BF16 else "cvt.float"
        ftz = self.ftz(kind) if kind is T.F32 else None
        found = self.native(form(row, rnd=rounding, dtype=kind, atype=kind, ftz=ftz), kind, a)
        if found is not None:
            return found
        return self.as_floats(kind, (a,), lambda x: self.integral(T.F32, rounding, x))

    # ---- pairs -------------------------------------------------------------------------------

    def packed(self, kind: ScalarType, low: Scalar, high: Scalar) -> Reg:
        """Two elements in one register."""
        state, bits = self.state, kind.bits
        known = state.words.get((low, high))
        if known is not None:
            return known
        cls = BITS[2 * bits]
        if isinstance(low, Imm) and isinstance(high, Imm):
            mask = (1 << bits) - 1
            return state.reg(Imm(low.value & mask | (high.value & mask) << bits), cls)
        return self.emit(form("mov.pack2", type=cls), (low, high), cls=cls)

    def unpacked(self, pair: Reg, kind: ScalarType) -> tuple[Reg, Reg]:
        """The two elements of a register, which is remembered to hold them."""
        halves = self.state.two_halves(pair, BITS[kind.bits])
        self.state.words[halves] = pair
        return halves

    def elementwise(
        self,
        type_: Type,
        kind: ScalarType,
        operands: Sequence[Sequence[Scalar]],
        compute: Callable[..., Scalar],
        pair_form: Form | None = None,
        pair_operands: Callable[[list[Reg]], list[Op]] = lambda regs: [*regs],
    ) -> tuple[Scalar, ...]:
        """`compute` on each element, or `pair_form` on two at a time where the target has it."""
        count = len(operands[0])
        if count == 1:
            return (compute(kind, *[ops[0] for ops in operands]),)
        found: list[Scalar] = []
        at = 0
        paired = isinstance(type_, VectorType) and pair_form is not None and self.has(pair_form)
        while at < count:
            if paired and pair_form is not None and at + 1 < count:
                regs = [self.packed(kind, ops[at], ops[at + 1]) for ops in operands]
                pair = self.emit(pair_form, *pair_operands(regs), cls=BITS[2 * kind.bits])
                found += self.unpacked(pair, kind)
                at += 2
                continue
            found.append(compute(kind, *(ops[at] for ops in operands)))
            at += 1
        return tuple(found)


def ordered_halves(state: FunctionState) -> frozenset[str]:
    """The types of 16 bits of which the target has minima and maxima that keep every number."""
    known = {"half": T.F16, "bfloat": T.BF16}
    return frozenset(
        keyword
        for keyword, kind in known.items()
        if has_form(state, form("max.float", type=kind))
        and not (state.flushes and kind in _FLUSHED)
    )


def has_form(state: FunctionState, chosen: Form) -> bool:
    """Whether the target (at its PTX version, if one is given) has a form."""
    found = state.had.get(chosen)
    if found is None:
        found = state.had[chosen] = _has_form(state, chosen)
    return found


def _has_form(state: FunctionState, chosen: Form) -> bool:
    verdict = judge(chosen.row, chosen.attributes)
    if verdict.broken or state.target is None:
        return not verdict.broken
    if state.ptx is None:
        return state.target in verdict.targets()
    return not verdict.missing(state.target, state.ptx)


def _as_float(bits: int, kind: ScalarType) -> int:
    """The bits of a half or a bfloat as those of a float."""
    if kind is T.BF16:
        return (bits & 0xFFFF) << 16
    sign, exponent, fraction = bits >> 15 & 1, bits >> 10 & 31, bits & 0x3FF
    if exponent == 31:
        return sign << 31 | 0x7F800000 | fraction << 13
    (number,) = struct.unpack("<e", (bits & 0xFFFF).to_bytes(2, "little"))
    return int.from_bytes(struct.pack("<f", number), "little")


def _reciprocal(op: Scalar, kind: ScalarType, *, exact: bool) -> Imm | None:
    """1 / op, where op is a number whose reciprocal is exact and normal, or may be rounded."""
    if not isinstance(op, Imm):
        return None
    bits = op.value & (1 << kind.bits) - 1
    width = _SIGNIFICAND[kind]
    exponent = bits >> width & (0xFF if kind is T.F32 else 0x7FF)
    top = 0xFF if kind is T.F32 else 0x7FF
    bias = top >> 1
    if exact and bits & (1 << width) - 1:
        return None
    if not 1 < exponent < top - 1 or not 1 < 2 * bias - exponent < top - 1:
        return None
    code = "<f" if kind is T.F32 else "<d"
    (number,) = struct.unpack(code, bits.to_bytes(kind.bits // 8, "little"))
    return Imm(int.from_bytes(struct.pack(code, 1 / number), "little"))
