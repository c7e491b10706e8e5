"""Comparisons, signs, minima and maxima of floating-point numbers, 32 lanes at a time.

Layer: nvgen.sim.semantics.  PTX ISA, Floating Point Instructions: setp, testp, min, max, neg, abs,
copysign.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import BoolOp, Compare, ScalarType, TestOp
from nvgen.sim.semantics.arithmetic.float_lanes import (
    FORMATS,
    Attributes,
    Bits,
    Compute,
    Doubles,
    T,
    doubles,
    element_of,
    elements,
    flushed,
    is_nan,
    operation,
)
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import flags
from nvgen.sim.threads.machine import Outcome, Step, Strand, Values

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
    """Integers that compare as the numbers do, with -0 below +0."""
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


# ---- comparisons -----------------------------------------------------------------------------


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
    """Which lanes satisfy a comparison; where a number is NaN, only an unordered one holds."""
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
    """A comparison and its complement.

    Of packed numbers those of the low and of the high halves.
    """
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

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        holds = compared(cmp, numbers(a(warp)), numbers(b(warp)))
        pair = np.split(holds, 2) if type_ is not kind else [holds, ~holds]
        if third is not None and with_third is not None:
            pair = [with_third(held, flags(third(warp))) for held in pair]
        for write, held in zip(writers, pair, strict=True):
            if write is not None:
                write(strand, held)
        return None

    return run


def testp(c: Compiler, mi: MachineInstr) -> Step:
    """testp: whether a number is of a class; a zero counts as normal."""
    attributes = mi.form.attributes
    type_, asked = attributes["type"], attributes["op"]
    assert isinstance(type_, ScalarType)
    a = c.get(mi["a"], type_)
    result = mi["p"]
    assert type(result) is int
    write = c.set(result)
    f = FORMATS[type_]

    def run(strand: Strand) -> Outcome:
        bits = elements(a(strand.warp), type_)
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
        write(strand, answers[asked])
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "neg.float": operation(_negative, "a"),
    "abs.float": operation(_absolute, "a"),
    "copysign": operation(_copysign, "a", "b"),
    "min.float": operation(_extreme(greatest=False), "a", "b", "c"),
    "max.float": operation(_extreme(greatest=True), "a", "b", "c"),
    "testp": testp,
    "setp.float": setp,
}
