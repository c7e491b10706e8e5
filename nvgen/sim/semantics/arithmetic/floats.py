"""Floating-point arithmetic, comparison and approximation, 32 lanes at a time.

Layer: nvgen.sim.semantics.  Results are those of IEEE 754; rounding to nearest is computed by
numpy where one rounding is sure, everything else by `ieee`, number by number.  A NaN
that is a result is canonical: all bits but the sign.

`rcp`, `sqrt`, `rsqrt`, `div`, `sin`, `cos`, `lg2`, `ex2` and `tanh` with `.approx` or `.full` give
the correctly rounded result, or one within a unit in the last place of it; a chip's differs within
the bounds that the manual gives.  PTX ISA, Floating Point Instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import BoolOp, Compare, Rounding, ScalarType, TestOp
from intrinsics.row import Attribute
from nvgen.sim.semantics.arithmetic import ieee
from nvgen.sim.threads.compile import Compiler, Maker, flags, unsigned
from nvgen.sim.threads.machine import Fragment, Outcome, Step, Values

T = ScalarType
R = Rounding
Bits: TypeAlias = NDArray[np.unsignedinteger]
Doubles: TypeAlias = NDArray[np.float64]
Attributes: TypeAlias = Mapping[str, Attribute]
Compute: TypeAlias = Callable[..., Bits]

FORMATS = {T.F16: ieee.F16, T.BF16: ieee.BF16, T.F32: ieee.F32, T.F64: ieee.F64}
_PACKED = {T.F16X2: T.F16, T.BF16X2: T.BF16, T.F32X2: T.F32}


# ---- lanes -----------------------------------------------------------------------------------


def element_of(type_: ScalarType) -> ScalarType:
    """The type of the numbers in a register of `type_`."""
    return _PACKED.get(type_, type_)


def elements(values: Values, type_: ScalarType) -> Bits:
    """The numbers in registers: of packed ones the low halves first, then the high ones."""
    whole: Bits = values.astype(unsigned(type_.bits), copy=False)
    if type_ not in _PACKED:
        return whole
    part = unsigned(type_.bits // 2)
    half = whole.dtype.type(type_.bits // 2)
    return np.concatenate([whole.astype(part), (whole >> half).astype(part)])


def joined(bits: Bits, type_: ScalarType) -> Bits:
    """Registers of numbers, as `elements` takes them apart."""
    if type_ not in _PACKED:
        return bits
    low, high = np.split(bits.astype(unsigned(type_.bits)), 2)
    found: Bits = low | high << low.dtype.type(type_.bits // 2)
    return found


def doubles(bits: Bits, kind: ScalarType) -> Doubles:
    """Numbers as doubles, which hold each of them."""
    if kind is T.BF16:
        bits, kind = bits.astype(np.uint32) << np.uint32(16), T.F32
    found: Doubles = bits.view(_NATIVE[kind]).astype(np.float64)
    return found


_NATIVE = {T.F16: np.float16, T.F32: np.float32, T.F64: np.float64}
"""The types of numpy that hold numbers."""


def rounded(numbers: Doubles, kind: ScalarType) -> Bits:
    """Doubles rounded once, to nearest, with canonical NaNs."""
    match kind:
        case T.F64:
            found: Bits = numbers.view(np.uint64)
        case T.F32:
            found = numbers.astype(np.float32).view(np.uint32)
        case T.F16:
            found = numbers.astype(np.float16).view(np.uint16)
        case _:
            found = _bfloats(numbers)
    return np.where(np.isnan(numbers), found.dtype.type(FORMATS[kind].nan), found)


def _bfloats(numbers: Doubles) -> Bits:
    """By floats rounded to odd, which the second rounding does not mistake for a tie."""
    near = numbers.astype(np.float32)
    bits = near.view(np.uint32)
    back = near.astype(np.float64)
    bits = bits - (np.abs(back) > np.abs(numbers)).astype(np.uint32)
    bits = bits | ((back != numbers) & ~np.isnan(numbers)).astype(np.uint32)
    odd = bits >> np.uint32(16) & np.uint32(1)
    found: Bits = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    return found


def flushed(bits: Bits, kind: ScalarType) -> Bits:
    """Subnormal numbers as zeros of their sign."""
    f = FORMATS[kind]
    number = bits.dtype.type
    subnormal = bits & number(f.infinity) == 0
    return np.where(subnormal, bits & number(f.sign), bits)


def is_nan(bits: Bits, kind: ScalarType) -> NDArray[np.bool_]:
    """Which patterns are NaN."""
    f = FORMATS[kind]
    found: NDArray[np.bool_] = bits & bits.dtype.type(f.sign - 1) > f.infinity
    return found


def one_by_one(compute: Callable[..., int]) -> Compute:
    """A computation on integers as one on lanes."""

    def run(*operands: Bits) -> Bits:
        dtype = operands[0].dtype
        return np.array([compute(*lane) for lane in zip(*(o.tolist() for o in operands),
                                                       strict=True)], dtype)  # fmt: skip

    return run


def finishing(kind: ScalarType, attributes: Attributes) -> Callable[[Bits], Bits]:
    """What .ftz, .sat and .relu make of a result."""
    f = FORMATS[kind]
    flushes, saturates, keeps_positive = (
        attributes.get(name) is not None for name in ("ftz", "sat", "relu")
    )

    def finish(bits: Bits) -> Bits:
        number = bits.dtype.type
        if flushes:
            bits = flushed(bits, kind)
        if saturates:
            one = number(f.bias << f.fraction)
            bits = np.where(is_nan(bits, kind) | (bits & number(f.sign) != 0), number(0), bits)
            bits = np.minimum(bits, one)
        if keeps_positive:
            nan = is_nan(bits, kind)
            negative = bits & number(f.sign) != 0
            bits = np.where(nan, number(f.nan), np.where(negative, number(0), bits))
        return bits

    return finish


def operation(factory: Callable[[ScalarType, Attributes], Compute], *slots: str) -> Maker:
    """An instruction whose operands and result are of one type."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        attributes = mi.form.attributes
        type_ = attributes["type"]
        assert isinstance(type_, ScalarType)
        given = [slot for slot in slots if mi.get(slot) is not None]
        getters = [c.get(mi[slot], type_) for slot in given]
        result = mi["d"]
        assert type(result) is int
        write = c.set(result)
        kind = element_of(type_)
        compute = factory(kind, attributes)
        flush = attributes.get("ftz") is not None
        finish = finishing(kind, attributes)

        def run(fragment: Fragment) -> Outcome:
            operands = [elements(get(fragment.warp), type_) for get in getters]
            if flush:
                operands = [flushed(o, kind) for o in operands]
            found = finish(compute(*operands))
            write(fragment, joined(found, type_))
            return None

        return run

    return make


def _mode(attributes: Attributes) -> Rounding:
    mode = attributes.get("rnd")
    return mode if isinstance(mode, Rounding) else R.RN


# ---- sums, products, quotients ---------------------------------------------------------------


def _tiny(numbers: Doubles, mode: Rounding) -> NDArray[np.bool_]:
    """Which results `.ftz` turns into zeros: those below the least normal number of a float, once
    rounded to its bits whatever their exponent.  So does an H200.
    """
    size, least, place = np.abs(numbers), 2.0**-126, 2.0**-150
    match mode:
        case R.RM:
            outward = numbers < 0
        case R.RP:
            outward = numbers > 0
        case R.RZ:
            outward = np.zeros(numbers.shape, np.bool_)
        case _:
            return size < least - place / 2
    return np.where(outward, size <= least - place, size < least)


def _flushing(
    kind: ScalarType, attributes: Attributes, exact: Callable[..., Doubles], compute: Compute
) -> Compute:
    """A computation whose tiny results are zeros of their sign, under `.ftz`."""
    if attributes.get("ftz") is None or kind is not T.F32:
        return compute
    mode, sign = _mode(attributes), np.uint32(FORMATS[kind].sign)

    def run(*operands: Bits) -> Bits:
        found = compute(*operands)
        tiny = _tiny(exact(*(doubles(o, kind) for o in operands)), mode)
        return np.where(tiny, found & sign, found)

    return run


def _nearest(kind: ScalarType, compute: Callable[..., Doubles]) -> Compute:
    """In doubles, then rounded: one rounding's worth for a sum, product, quotient or root.

    A double has more than twice the bits of a float and two; doubles are not rounded again.
    """

    def run(*operands: Bits) -> Bits:
        return rounded(compute(*(doubles(o, kind) for o in operands)), kind)

    return run


def _exact(kind: ScalarType, compute: np.ufunc) -> Compute:
    """A sum, product or quotient, which numpy rounds once itself if it has the type."""
    if kind is not T.F32:
        return _nearest(kind, compute)
    nan = np.uint32(FORMATS[kind].nan)

    def run(*operands: Bits) -> Bits:
        found = compute(*(o.view(np.float32) for o in operands))
        return np.where(np.isnan(found), nan, found.view(np.uint32))

    return run


def _add(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = _mode(attributes), FORMATS[kind]
    if mode is R.RN:
        return _exact(kind, np.add)
    return one_by_one(lambda a, b: ieee.add(a, b, f, mode))


def _subtract(kind: ScalarType, attributes: Attributes) -> Compute:
    add, sign = _add(kind, attributes), FORMATS[kind].sign
    return lambda a, b: add(a, b ^ b.dtype.type(sign))


def _multiply(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = _mode(attributes), FORMATS[kind]
    if mode is R.RN:
        product = _exact(kind, np.multiply)
    else:
        product = one_by_one(lambda a, b: ieee.multiply_add(a, b, 0, f, mode, product_only=True))
    return _flushing(kind, attributes, np.multiply, product)


def _fma(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = _mode(attributes), FORMATS[kind]
    if mode is R.RN and kind is not T.F64:
        fused = _nearest(kind, _fused)
    else:
        fused = one_by_one(lambda a, b, c: ieee.multiply_add(a, b, c, f, mode))
    if attributes.get("oob") is not None:
        return _out_of_bounds(fused)
    return _flushing(kind, attributes, _fused, fused)


_OUTSIDE = 0x7FF7
"""What TMA fills elements outside of a tensor with, where they are to be NaNs; of either sign."""


def _out_of_bounds(compute: Compute) -> Compute:
    """A product of halves or bfloats that counts as 0, the sum too, where a factor is outside.

    An H100 was asked about all factors of 16 bits.
    """

    def run(a: Bits, b: Bits, c: Bits) -> Bits:
        outside = (a & 0x7FFF == _OUTSIDE) | (b & 0x7FFF == _OUTSIDE)
        return np.where(outside, a.dtype.type(0), compute(a, b, c))

    return run


def _fused(a: Doubles, b: Doubles, c: Doubles) -> Doubles:
    """a·b + c of what are floats at most: the product is exact, the sum rounded to odd."""
    product = a * b
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)  # what the sum leaves out, exactly
    bits = total.view(np.int64)
    even = bits & 1 == 0
    inexact = np.isfinite(total) & (error != 0) & even
    outward = (error > 0) == (total > 0)
    return (bits + np.where(inexact, np.where(outward, 1, -1), 0)).view(np.float64)


def _divide(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = _mode(attributes), FORMATS[kind]
    if mode in (R.RN, R.APPROX, R.FULL):
        quotient = _exact(kind, np.divide)
    else:
        quotient = one_by_one(lambda a, b: ieee.divide(a, b, f, mode))
    return _flushing(kind, attributes, np.divide, quotient)


def _reciprocal(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = _mode(attributes), FORMATS[kind]
    one = f.bias << f.fraction
    if kind is T.F64 and mode is R.APPROX:
        return _upper_word(_nearest(kind, np.reciprocal))
    if mode in (R.RN, R.APPROX):
        return _nearest(kind, np.reciprocal)
    return one_by_one(lambda a: ieee.divide(one, a, f, mode))


def _upper_word(compute: Compute) -> Compute:
    """rcp.approx.ftz.f64 looks at, and gives, the upper 32 bits alone."""
    upper = np.uint64(0xFFFFFFFF00000000)
    return lambda a: compute(flushed(a & upper, T.F64)) & upper


def _root(kind: ScalarType, attributes: Attributes) -> Compute:
    mode, f = _mode(attributes), FORMATS[kind]
    if mode in (R.RN, R.APPROX):
        return _nearest(kind, np.sqrt)
    return one_by_one(lambda a: ieee.square_root(a, f, mode))


def _near(compute: Callable[[Doubles], Doubles]) -> Callable[[ScalarType, Attributes], Compute]:
    return lambda kind, attributes: _nearest(kind, compute)


def _reciprocal_root(kind: ScalarType, attributes: Attributes) -> Compute:
    return _nearest(kind, lambda a: 1 / np.sqrt(a))


# ---- mixed precision -------------------------------------------------------------------------


def _mixed(head: str, narrow: str) -> Maker:
    """Operands of which the last is a float, the others halves or bfloats."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        attributes = mi.form.attributes
        kind = attributes[narrow]
        assert isinstance(kind, ScalarType)
        slots = ("a", "b") if head == "fma" else ("a",)
        getters = [c.get(mi[slot], kind) for slot in slots]
        last = c.get(mi["c"], T.F32)
        result = mi["d"]
        assert type(result) is int
        write = c.set(result)
        factory = {"add": _add, "sub": _subtract, "fma": _fma}[head]
        compute, finish = factory(T.F32, attributes), finishing(T.F32, attributes)

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            wide = [rounded(doubles(elements(get(warp), kind), kind), T.F32) for get in getters]
            found = compute(*wide, elements(last(warp), T.F32))
            write(fragment, finish(found))
            return None

        return run

    return make


# ---- signs, least and greatest ---------------------------------------------------------------


def _negative(kind: ScalarType, attributes: Attributes) -> Compute:
    sign = FORMATS[kind].sign
    return lambda a: a ^ a.dtype.type(sign)


def _absolute(kind: ScalarType, attributes: Attributes) -> Compute:
    sign = FORMATS[kind].sign
    return lambda a: a & a.dtype.type(sign - 1)


def _copysign(kind: ScalarType, attributes: Attributes) -> Compute:
    sign = FORMATS[kind].sign
    return lambda a, b: a & a.dtype.type(sign) | b & b.dtype.type(sign - 1)


def ordered(bits: Bits, kind: ScalarType) -> NDArray[np.signedinteger]:
    """Integers in the order of the numbers, -0 before +0."""
    sign = FORMATS[kind].sign
    signed = {16: np.int16, 32: np.int32, 64: np.int64}[kind.bits]
    size = bits & bits.dtype.type(sign - 1)
    found: NDArray[np.signedinteger] = np.where(
        bits & bits.dtype.type(sign) != 0, ~size, size
    ).view(signed)
    return found


def _extreme(*, greatest: bool) -> Callable[[ScalarType, Attributes], Compute]:
    def factory(kind: ScalarType, attributes: Attributes) -> Compute:
        absolute, propagates = attributes.get("abs") is not None, attributes.get("nan") is not None
        signs = attributes.get("xorsign") is not None
        f = FORMATS[kind]

        def two(a: Bits, b: Bits) -> Bits:
            first = ordered(a, kind) >= ordered(b, kind)
            if not greatest:
                first = ordered(a, kind) <= ordered(b, kind)
            nan_a, nan_b = is_nan(a, kind), is_nan(b, kind)
            found = np.where(nan_a, b, np.where(nan_b | first, a, b))
            unknown = nan_a | nan_b if propagates else nan_a & nan_b
            return np.where(unknown, a.dtype.type(f.nan), found)

        def run(*operands: Bits) -> Bits:
            number = operands[0].dtype.type
            sizes = [o & number(f.sign - 1) if absolute else o for o in operands]
            found = sizes[0]
            for other in sizes[1:]:
                found = two(found, other)
            if not signs:
                return found
            sign = (operands[0] ^ operands[1]) & number(f.sign)
            return np.where(is_nan(found, kind), found, found | sign)

        return run

    return factory


# ---- questions -------------------------------------------------------------------------------

_COMPARE: dict[Compare, Callable[[Doubles, Doubles], NDArray[np.bool_]]] = {
    Compare.EQ: np.equal,
    Compare.LT: np.less,
    Compare.LE: np.less_equal,
    Compare.GT: np.greater,
    Compare.GE: np.greater_equal,
    Compare.NEU: np.not_equal,
}
_OPPOSITE = {
    Compare.NE: Compare.EQ,
    Compare.GTU: Compare.LE,
    Compare.GEU: Compare.LT,
    Compare.LTU: Compare.GE,
    Compare.LEU: Compare.GT,
    Compare.EQU: Compare.EQ,
}
_COMBINE = {
    BoolOp.AND: np.logical_and,
    BoolOp.OR: np.logical_or,
    BoolOp.XOR: np.logical_xor,
}


def compared(cmp: Compare, a: Doubles, b: Doubles) -> NDArray[np.bool_]:
    """Whether a comparison holds; the names that end in `u` hold for NaN too."""
    unordered = np.isnan(a) | np.isnan(b)
    match cmp:
        case Compare.NUM:
            return ~unordered
        case Compare.NAN:
            return unordered
        case Compare.NE:
            differ: NDArray[np.bool_] = (a != b) & ~unordered
            return differ
        case Compare.EQU:
            same: NDArray[np.bool_] = (a == b) | unordered
            return same
    found = _COMPARE[cmp](a, b) if cmp in _COMPARE else ~_COMPARE[_OPPOSITE[cmp]](a, b)
    answers: NDArray[np.bool_] = found
    return answers


def setp(c: Compiler, mi: MachineInstr) -> Step:
    """A comparison and its opposite; of packed numbers that of the low and of the high halves."""
    attributes = mi.form.attributes
    type_, cmp, combine = attributes["type"], attributes["cmp"], attributes["combine"]
    assert isinstance(type_, ScalarType)
    assert isinstance(cmp, Compare)
    kind = element_of(type_)
    a, b = (c.get(mi[slot], type_) for slot in ("a", "b"))
    third = c.get(mi["c"], T.PRED) if isinstance(combine, BoolOp) else None
    with_third = _COMBINE[combine] if isinstance(combine, BoolOp) else None
    targets = [mi.get("p"), mi.get("q")]
    writers = [c.set(reg) if type(reg) is int else None for reg in targets]
    flush = attributes.get("ftz") is not None

    def numbers(values: Values) -> Doubles:
        bits = elements(values, type_)
        return doubles(flushed(bits, kind) if flush else bits, kind)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        holds = compared(cmp, numbers(a(warp)), numbers(b(warp)))
        pair = np.split(holds, 2) if type_ is not kind else [holds, ~holds]
        if third is not None and with_third is not None:
            pair = [with_third(held, flags(third(warp))) for held in pair]
        for write, held in zip(writers, pair, strict=True):
            if write is not None:
                write(fragment, held)
        return None

    return run


def testp(c: Compiler, mi: MachineInstr) -> Step:
    """What sort of number it is; a zero counts as normal."""
    attributes = mi.form.attributes
    type_, asked = attributes["type"], attributes["op"]
    assert isinstance(type_, ScalarType)
    a = c.get(mi["a"], type_)
    result = mi["p"]
    assert type(result) is int
    write = c.set(result)
    f = FORMATS[type_]

    def run(fragment: Fragment) -> Outcome:
        bits = elements(a(fragment.warp), type_)
        size = bits & bits.dtype.type(f.sign - 1)
        subnormal = (size != 0) & (size < 1 << f.fraction)
        answers = {
            TestOp.FINITE: size < f.infinity,
            TestOp.INFINITE: size == f.infinity,
            TestOp.NUMBER: size <= f.infinity,
            TestOp.NOTANUMBER: size > f.infinity,
            TestOp.NORMAL: (size < f.infinity) & ~subnormal,
            TestOp.SUBNORMAL: subnormal,
        }
        assert isinstance(asked, TestOp)
        write(fragment, answers[asked])
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "add.float": operation(_add, "a", "b"),
    "sub.float": operation(_subtract, "a", "b"),
    "mul.float": operation(_multiply, "a", "b"),
    "fma": operation(_fma, "a", "b", "c"),
    "mad.float": operation(_fma, "a", "b", "c"),
    "add.mixed": _mixed("add", "atype"),
    "sub.mixed": _mixed("sub", "atype"),
    "fma.mixed": _mixed("fma", "abtype"),
    "div.float": operation(_divide, "a", "b"),
    "rcp": operation(_reciprocal, "a"),
    "sqrt": operation(_root, "a"),
    "rsqrt": operation(_reciprocal_root, "a"),
    "sin": operation(_near(np.sin), "a"),
    "cos": operation(_near(np.cos), "a"),
    "lg2": operation(_near(np.log2), "a"),
    "ex2": operation(_near(np.exp2), "a"),
    "tanh": operation(_near(np.tanh), "a"),
    "neg.float": operation(_negative, "a"),
    "abs.float": operation(_absolute, "a"),
    "copysign": operation(_copysign, "a", "b"),
    "min.float": operation(_extreme(greatest=False), "a", "b", "c"),
    "max.float": operation(_extreme(greatest=True), "a", "b", "c"),
    "testp": testp,
    "setp.float": setp,
}
