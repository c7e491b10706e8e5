"""Integer arithmetic, comparison and conversion, 32 lanes at a time.

Layer: nvgen.sim.semantics.  PTX ISA, Integer Arithmetic; Comparison and Selection; cvt.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import BoolOp, Compare, ScalarType
from nvgen.sim.faults import not_simulated
from nvgen.sim.semantics.arithmetic.integer_lanes import (
    ELEMENTS,
    SIGNED,
    Integers,
    T,
    as_typed,
    elements_of,
    inputs,
    integers,
    result_of,
    unary,
)
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import flags, unsigned
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand


def _clipped(values: Integers, dtype: np.dtype[np.integer]) -> Integers:
    """Integers saturated to a type."""
    info = np.iinfo(dtype)
    found: Integers = np.clip(values, info.min, info.max).astype(dtype)
    return found


def _packed(type_: ScalarType) -> bool:
    return "x" in type_.value


def _binary(operation: Callable[[Integers, Integers], Integers]) -> Maker:
    """The maker for an operation on two integers that wraps, saturates (.sat) or clamps to 0
    (.relu).
    """

    def not_negative(x: Integers, y: Integers) -> Integers:
        return np.maximum(operation(x, y), 0)

    def make(c: Compiler, mi: MachineInstr) -> Step:
        compute = operation if mi.form.attributes.get("relu") is None else not_negative
        type_ = mi.scalar_type()
        saturates = mi.form.attributes.get("sat") is not None
        write, bits = result_of(c, mi), unsigned(type_.bits)
        if type_ not in ELEMENTS and not saturates:
            x, y = integers(c, mi, "a", "b")

            def plain(strand: Strand) -> Outcome:
                warp = strand.warp
                write(strand, compute(x(warp), y(warp)).view(bits))
                return None

            return plain
        a, b = inputs(c, mi, "a", "b")

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            x, y = elements_of(a(warp), type_), elements_of(b(warp), type_)
            if saturates:
                found = _clipped(compute(x.astype(np.int64), y.astype(np.int64)), x.dtype)
            else:
                found = compute(x, y)
            write(strand, found.view(bits))
            return None

        return run

    return make


def _high(a: Integers, b: Integers) -> Integers:
    """The upper half of a product."""
    bits = a.dtype.itemsize * 8
    wide = [int(x) * int(y) >> bits for x, y in zip(a, b, strict=True)]
    mask = (1 << bits) - 1
    found: Integers = np.array([w & mask for w in wide], unsigned(bits)).view(a.dtype)
    return found


def mul_wide(c: Compiler, mi: MachineInstr) -> Step:
    """A product of twice the width."""
    type_ = mi.scalar_type()
    a, b = integers(c, mi, "a", "b")
    write = result_of(c, mi)
    wide = SIGNED[type_.bits * 2] if type_.is_signed else unsigned(type_.bits * 2)

    def run(strand: Strand) -> Outcome:
        x, y = a(strand.warp).astype(wide), b(strand.warp).astype(wide)
        write(strand, (x * y).view(unsigned(type_.bits * 2)))
        return None

    return run


def _division(*, remainder: bool) -> Maker:
    """The maker for a quotient rounded towards zero, or a remainder.

    PTX leaves the result of a division by zero to the machine.  It is all ones here, for quotients
    and remainders: so ends ptxas's code for sm_90a, for every width and sign.
    """

    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        a, b = inputs(c, mi, "a", "b")
        write = result_of(c, mi)

        def run(strand: Strand) -> Outcome:
            warp, lanes = strand.warp, strand.lanes
            x, y = (as_typed(get(warp), type_)[lanes].tolist() for get in (a, b))
            found = [_divided(p, q, remainder) for p, q in zip(x, y, strict=True)]
            value = np.zeros(WARP, unsigned(type_.bits))
            mask = (1 << type_.bits) - 1
            value[lanes] = [number & mask for number in found]
            write(strand, value)
            return None

        return run

    return make


def _divided(a: int, b: int, remainder: bool) -> int:
    if b == 0:
        return -1
    quotient = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
    return a - quotient * b if remainder else quotient


def _multiply_add(high: bool) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        if mi.form.attributes.get("sat") is not None:
            raise not_simulated(mi.opcode)
        a, b, addend = integers(c, mi, "a", "b", "c")
        write, bits = result_of(c, mi), unsigned(type_.bits)

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            x, y = a(warp), b(warp)
            product = _high(x, y) if high else x * y
            write(strand, (product + addend(warp)).view(bits))
            return None

        return run

    return make


def mad_wide(c: Compiler, mi: MachineInstr) -> Step:
    """A product of twice the width, plus an addend of that width."""
    type_ = mi.scalar_type()
    a, b = integers(c, mi, "a", "b")
    (addend,) = integers(c, mi, "c", type_=T.U64 if type_.bits == 32 else T.U32)
    write, bits = result_of(c, mi), unsigned(type_.bits * 2)
    wide = SIGNED[type_.bits * 2] if type_.is_signed else bits

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        x, y = a(warp).astype(wide), b(warp).astype(wide)
        write(strand, (x * y).view(bits) + addend(warp))
        return None

    return run


def _absolute(values: Integers, bits: int) -> Integers:
    found: Integers = np.abs(values)  # of the least number itself
    return found.view(unsigned(bits))


def _negated(values: Integers, bits: int) -> Integers:
    found: Integers = -values  # of the least number itself
    return found.view(unsigned(bits))


_COMPARE: dict[Compare, Callable[[Integers, Integers], NDArray[np.bool_]]] = {
    Compare.EQ: np.equal,
    Compare.NE: np.not_equal,
    Compare.LT: np.less,
    Compare.LE: np.less_equal,
    Compare.GT: np.greater,
    Compare.GE: np.greater_equal,
    Compare.LO: np.less,
    Compare.LS: np.less_equal,
    Compare.HI: np.greater,
    Compare.HS: np.greater_equal,
}


_COMBINE = {
    BoolOp.AND: np.logical_and,
    BoolOp.OR: np.logical_or,
    BoolOp.XOR: np.logical_xor,
}


def setp(c: Compiler, mi: MachineInstr) -> Step:
    """A comparison and its complement, each combined with a third predicate."""
    a, b = integers(c, mi, "a", "b")
    cmp, combine = mi.form.attributes["cmp"], mi.form.attributes["combine"]
    assert isinstance(cmp, Compare)
    compare = _COMPARE[cmp]
    third = c.get(mi["c"], T.PRED) if isinstance(combine, BoolOp) else None
    with_third = _COMBINE[combine] if isinstance(combine, BoolOp) else None
    results = [mi.get("p"), mi.get("q")]
    first, second = (c.set(reg) if type(reg) is int else None for reg in results)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        holds = compare(a(warp), b(warp))
        yes, no = holds, ~holds
        if third is not None and with_third is not None:
            other = flags(third(warp))
            yes, no = with_third(yes, other), with_third(no, other)
        if first is not None:
            first(strand, yes)
        if second is not None:
            second(strand, no)
        return None

    return run


def selp(c: Compiler, mi: MachineInstr) -> Step:
    """One of two values, by a predicate."""
    a, b = inputs(c, mi, "a", "b")
    condition = c.get(mi["c"], T.PRED)
    write = result_of(c, mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        write(strand, np.where(flags(condition(warp)), a(warp), b(warp)))
        return None

    return run


def cvt(c: Compiler, mi: MachineInstr) -> Step:
    """Conversion between integer types; a result narrower than its register is extended."""
    to, source = mi.scalar_type("dtype"), mi.scalar_type("atype")
    a = c.get(mi["a"], source)
    result = mi["d"]
    assert type(result) is int
    width = c.function.regs.classes[result].bits
    write = c.set(result)
    saturate = mi.form.attributes.get("sat") is not None

    def run(strand: Strand) -> Outcome:
        value = as_typed(a(strand.warp), source)
        if saturate:
            value = _saturated(value, to)
        narrow = value.astype(SIGNED[to.bits] if to.is_signed else unsigned(to.bits))
        wide = narrow.astype(SIGNED[width] if to.is_signed else unsigned(width))
        write(strand, wide.view(unsigned(width)))
        return None

    return run


def _saturated(values: Integers, type_: ScalarType) -> Integers:
    bits = type_.bits
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_.is_signed else (0, (1 << bits) - 1)
    clipped = [min(max(int(v), low), high) & (1 << bits) - 1 for v in values]
    return as_typed(np.array(clipped, np.uint64), type_)


SEMANTICS: dict[str, Maker] = {
    "add.int": _binary(np.add),
    "sub.int": _binary(np.subtract),
    "mul.lo": _binary(np.multiply),
    "mul.hi": _binary(_high),
    "mul.wide": mul_wide,
    "div.int": _division(remainder=False),
    "rem.int": _division(remainder=True),
    "mad.lo": _multiply_add(high=False),
    "mad.hi": _multiply_add(high=True),
    "mad.wide": mad_wide,
    "min": _binary(np.minimum),
    "max": _binary(np.maximum),
    "abs.int": unary(_absolute),
    "neg.int": unary(_negated),
    "setp.int": setp,
    "selp": selp,
    "cvt.int": cvt,
}
