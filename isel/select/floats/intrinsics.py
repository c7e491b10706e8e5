"""LLVM's own floating-point intrinsics to records.

Layer: isel.select.  What no PTX instruction computes to full precision is left to libdevice, unless
the call allows an approximation (`afn`): the error names the function to link.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from intrinsics.mir import Form, Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import Ftz, NaN, Rounding, ScalarType
from isel.diagnostics import Unselectable, not_yet
from isel.llvm.ir import Call
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED
from isel.llvm.types import FloatType, IntType, VectorType
from isel.llvm.vocabulary import Flag
from isel.select.floats.casts import whole_number
from isel.select.floats.instructions import float_test, fused, pair_sign
from isel.select.floats.steps import ONE, PAIRS, Floats, kind_of
from isel.select.register_facts import Root
from isel.select.state import FunctionState, form
from isel.select.widths import register_bits

T = ScalarType
RN = Rounding.RN
_NAME = re.compile(r"llvm\.([a-z.]+?\d*)(?:\.v\d+)?(?:\.(?:v\d+)?(?:b?f\d+|i\d+))+")
_QUIET = {T.F16: 0x7E00, T.BF16: 0x7FC0, T.F32: 0x7FC00000, T.F64: 0x7FF8000000000000}

LIBDEVICE = frozenset(
    {
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
        *("exp", "exp2", "exp10", "log", "log2", "log10", "pow", "sincos", "sincospi"),
    }
)
"""What libdevice computes: `__nv_NAME` for double, `__nv_NAMEf` for float."""

_APPROXIMATE = {"sin": "sin", "cos": "cos", "log2": "lg2", "tanh": "tanh"}
"""PTX's approximations, which `afn` allows."""


def select_float_intrinsic(state: FunctionState, call: Call, name: str) -> bool:
    """Select a call of the intrinsic `name`, if it is one of these.

    Raises: Unselectable for what needs libdevice, and for types that no PTX instruction takes.
    """
    match = _NAME.fullmatch(name)
    if match is None or not call.arguments:
        return False
    base = match[1]
    if not any(isinstance(v.type.scalar, FloatType) for v in call.arguments):
        return False
    if base.startswith("vector.reduce."):
        return _reduce(state, call, base.removeprefix("vector.reduce."))
    select = _TABLE.get(base)
    if select is None and base not in LIBDEVICE:
        return False
    floats = Floats(state, call.flags)
    kind = kind_of(call.arguments[0].type, name)
    if base in _APPROXIMATE and (found := _approximated(floats, call, kind, base)) is not None:
        state.forward(call.result, found)
        return True
    if select is None:
        raise _needs_libdevice(name, base, kind)
    state.forward(call.result, select(floats, call, kind))
    return True


def _needs_libdevice(name: str, base: str, kind: ScalarType) -> Unselectable:
    function = f"__nv_{base}" + ("" if kind is T.F64 else "f")
    hint = f"link libdevice and call @{function}"
    if base in _APPROXIMATE and kind is not T.F64:
        hint += f", or allow {_APPROXIMATE[base]}.approx by the flag afn"
    return Unselectable(
        "libdevice",
        f"@{name} is no instruction of PTX",
        op=name,
        got=f"@{name}",
        expected=f"@{function} of libdevice",
        hint=hint,
    )


# ---- element by element ------------------------------------------------------------------------

Select = Callable[[Floats, Call, ScalarType], tuple[Scalar, ...]]


def _each(
    compute: Callable[[Floats], Callable[..., Scalar]],
    pair: Callable[[Floats, ScalarType], Form | None] = lambda floats, kind: None,
    count: int = 1,
) -> Select:
    """An operation on the first `count` arguments."""

    def select(floats: Floats, call: Call, kind: ScalarType) -> tuple[Scalar, ...]:
        values = [floats.state.value(v) for v in call.arguments[:count]]
        chosen = pair(floats, kind)
        return floats.elementwise(call.type, kind, values, compute(floats), chosen)

    return select


def _integral(rounding: Rounding) -> Select:
    return _each(lambda floats: lambda k, a: floats.integral(k, rounding, a))


def _fma(floats: Floats, call: Call, kind: ScalarType) -> tuple[Scalar, ...]:
    return fused(floats, call.type, kind, [floats.state.value(v) for v in call.arguments])


def _root(floats: Floats) -> Callable[..., Scalar]:
    """sqrt: of halves and bfloats by float, whose two roundings are as good as one."""
    fast = Flag.AFN in floats.flags

    def compute(kind: ScalarType, a: Scalar) -> Scalar:
        if kind in (T.F16, T.BF16):
            return floats.as_floats(kind, (a,), lambda x: compute(T.F32, x))
        approximate = fast and kind is T.F32
        chosen = floats.form("sqrt", kind, rnd=Rounding.APPROX if approximate else RN)
        of = floats.reg(a, kind)
        root = floats.emit(chosen, of, cls=BITS[kind.bits])
        if approximate:
            floats.state.roots[root] = Root(of, floats.form("rsqrt", kind))
        return root

    return compute


def _half_away(floats: Floats) -> Callable[..., Scalar]:
    """round: a half more, cut, then the whole part.

    Adding with rounding to zero never reaches the next integer, and beyond 2^23 (2^52) adds none.
    """

    def compute(kind: ScalarType, a: Scalar) -> Scalar:
        if kind in (T.F16, T.BF16):
            return floats.as_floats(kind, (a,), lambda x: compute(T.F32, x))
        half = Imm(0x3F000000 if kind is T.F32 else 0x3FE0000000000000)
        signed = floats.emit(form("copysign", type=kind), *floats.literals((a, half), kind),
                             cls=BITS[kind.bits])  # fmt: skip
        chosen = floats.form("add.float", kind, rnd=Rounding.RZ)
        more = floats.emit(chosen, *floats.literals((a, signed), kind), cls=BITS[kind.bits])
        return floats.integral(kind, Rounding.RZI, more)

    return compute


def _copysign(floats: Floats) -> Callable[..., Scalar]:
    def compute(kind: ScalarType, a: Scalar, b: Scalar) -> Scalar:
        if kind in (T.F32, T.F64):
            chosen = form("copysign", type=kind)  # its first operand gives the sign
            return floats.emit(chosen, *floats.literals((b, a), kind), cls=BITS[kind.bits])
        size = floats.emit(form("and", type=T.B16), floats.reg(a, kind), Imm(0x7FFF), cls=T.B16)
        sign = floats.emit(form("and", type=T.B16), floats.reg(b, kind), Imm(-0x8000), cls=T.B16)
        return floats.emit(form("or", type=T.B16), size, sign, cls=T.B16)

    return compute


def _canonical(floats: Floats) -> Callable[..., Scalar]:
    return lambda kind, a: floats.arithmetic("mul", kind, a, Imm(ONE[kind]))


# ---- least and greatest ------------------------------------------------------------------------


def _extreme(head: str, *, nan: bool) -> Select:
    """min or max; with `nan` an operand that is NaN makes the result one."""

    def pair(floats: Floats, kind: ScalarType) -> Form | None:
        return floats.form(f"{head}.float", PAIRS[kind], nan=NaN.NAN if nan else None) if (
            kind in (T.F16, T.BF16)
        ) else None  # fmt: skip

    return _each(lambda floats: lambda k, a, b: extreme(floats, head, k, a, b, nan=nan), pair, 2)


def extreme(floats: Floats, head: str, kind: ScalarType, a: Scalar, b: Scalar, *, nan: bool) -> Reg:
    """The lesser or greater of two numbers, where -0 is less than +0."""
    found = floats.native(floats.form(f"{head}.float", kind, nan=NaN.NAN if nan else None),
                          kind, a, b)  # fmt: skip
    if found is not None:
        return found
    if kind in (T.F16, T.BF16):
        return floats.as_floats(
            kind, (a, b), lambda x, y: extreme(floats, head, T.F32, x, y, nan=nan)
        )
    least = extreme(floats, head, kind, a, b, nan=False)
    unordered = floats.test(Cmp.NAN, kind, a, b, ftz=None)
    cls = BITS[kind.bits]
    return floats.emit(form("selp", type=cls), Imm(_QUIET[kind]), least, unordered, cls=cls)


# ---- approximations ----------------------------------------------------------------------------


def _exponential(floats: Floats, call: Call, kind: ScalarType) -> tuple[Scalar, ...]:
    """exp2: what PTX has is good to two units in the last place, as LLVM takes it."""
    if kind is T.F64:
        raise _needs_libdevice("llvm.exp2.f64", "exp2", kind)
    return _approximations(floats, call, kind, "ex2")


def _approximated(
    floats: Floats, call: Call, kind: ScalarType, base: str
) -> tuple[Scalar, ...] | None:
    if Flag.AFN not in floats.flags or kind is T.F64:
        return None
    return _approximations(floats, call, kind, _APPROXIMATE[base])


def _approximations(floats: Floats, call: Call, kind: ScalarType, head: str) -> tuple[Scalar, ...]:
    def compute(kind: ScalarType, a: Scalar) -> Scalar:
        chosen = approximation(floats, head, kind)
        if chosen is None:
            return floats.as_floats(kind, (a,), lambda x: compute(T.F32, x))
        return floats.emit(chosen, floats.reg(a, kind), cls=BITS[kind.bits])

    return floats.elementwise(call.type, kind, (floats.state.value(call.arguments[0]),), compute)


def approximation(floats: Floats, head: str, kind: ScalarType) -> Form | None:
    """An approximating form for `kind`, if the target has one."""
    if kind not in (T.F32, T.F64) and head not in ("ex2", "tanh"):
        return None
    attributes = {"type": kind}
    if head == "tanh":
        chosen = form(head, **attributes)
    else:
        ftz = Ftz.FTZ if kind is T.BF16 else floats.ftz(kind) if kind is T.F32 else None
        chosen = form(head, ftz=ftz, **attributes)
    return chosen if floats.has(chosen) else None


# ---- to integers ------------------------------------------------------------------------------


def _saturated(*, signed: bool) -> Select:
    """fptosi.sat and fptoui.sat: cvt clamps; a NaN is 0, which not every cvt makes it."""

    def select(floats: Floats, call: Call, kind: ScalarType) -> tuple[Scalar, ...]:
        return tuple(
            _clamped(floats, op, kind, call.type.scalar, signed=signed)
            for op in floats.state.value(call.arguments[0])
        )

    return select


def _clamped(floats: Floats, op: Scalar, kind: ScalarType, to: object, *, signed: bool) -> Scalar:
    if not isinstance(to, IntType) or to.bits not in (8, 16, 32, 64):
        raise not_yet(f"a saturating conversion to {to}")
    types = {8: T.S8, **SIGNED} if signed else {8: T.U8, **UNSIGNED}
    value = whole_number(floats, op, kind, types[to.bits], Rounding.RZI)
    if kind is not T.F64 and to.bits != 64:
        return value
    nan = float_test(floats, Cmp.NAN, kind, op, op)
    cls = BITS[max(to.bits, 16)]
    return floats.emit(form("selp", type=cls), Imm(0), value, nan, cls=cls)


def _rounded_to_integer(floats: Floats, call: Call, kind: ScalarType) -> tuple[Scalar, ...]:
    """lrint: the nearest integer, halves to even."""
    bits = register_bits(call.type.scalar, "lrint")
    return tuple(
        whole_number(floats, op, kind, SIGNED[bits], Rounding.RNI)
        for op in floats.state.value(call.arguments[0])
    )


# ---- reductions --------------------------------------------------------------------------------


def _reduce(state: FunctionState, call: Call, what: str) -> bool:
    """vector.reduce of floats, from the first element to the last."""
    vector = call.arguments[-1]
    if not isinstance(vector.type, VectorType):
        return False
    floats = Floats(state, call.flags)
    kind = kind_of(vector.type, what)
    elements = list(state.value(vector))
    combine = _reduction(floats, what, kind)
    if combine is None:
        return False
    if len(call.arguments) == 2:
        elements = [*state.value(call.arguments[0]), *elements]
    result = elements[0]
    for element in elements[1:]:
        result = combine(result, element)
    state.forward(call.result, (result,))
    return True


def _reduction(
    floats: Floats, what: str, kind: ScalarType
) -> Callable[[Scalar, Scalar], Scalar] | None:
    if what in ("fadd", "fmul"):
        return lambda a, b: floats.arithmetic(what[1:], kind, a, b)
    extremes = {"fmin": ("min", False), "fmax": ("max", False),
                "fminimum": ("min", True), "fmaximum": ("max", True)}  # fmt: skip
    if what not in extremes:
        return None
    head, nan = extremes[what]
    return lambda a, b: extreme(floats, head, kind, a, b, nan=nan)


_TABLE: dict[str, Select] = {
    "fma": _fma,
    "fmuladd": _fma,
    "sqrt": _each(_root),
    "fabs": _each(
        lambda floats: floats.absolute, lambda floats, kind: pair_sign(floats, "abs", kind)
    ),
    "copysign": _each(_copysign, count=2),
    "canonicalize": _each(_canonical),
    "minnum": _extreme("min", nan=False),
    "maxnum": _extreme("max", nan=False),
    "minimumnum": _extreme("min", nan=False),
    "maximumnum": _extreme("max", nan=False),
    "minimum": _extreme("min", nan=True),
    "maximum": _extreme("max", nan=True),
    "floor": _integral(Rounding.RMI),
    "ceil": _integral(Rounding.RPI),
    "trunc": _integral(Rounding.RZI),
    "rint": _integral(Rounding.RNI),
    "nearbyint": _integral(Rounding.RNI),
    "roundeven": _integral(Rounding.RNI),
    "round": _each(_half_away),
    "exp2": _exponential,
    "fptosi.sat": _saturated(signed=True),
    "fptoui.sat": _saturated(signed=False),
    "lrint": _rounded_to_integer,
    "llrint": _rounded_to_integer,
}
