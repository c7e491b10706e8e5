"""Integer arithmetic, logic, comparison and conversion, 32 lanes at a time.

Layer: nvgen.sim.semantics.  PTX ISA, Integer Arithmetic; Logic and Shift; Comparison and Selection;
cvt.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr, Op
from intrinsics.modifiers import BoolOp, Compare, FunnelMode, ScalarType
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.threads.compile import (
    Compiler,
    Getter,
    Maker,
    Setter,
    flags,
    unsigned,
)
from nvgen.sim.threads.machine import WARP, Fragment, Outcome, Step, Values, Warp

T = ScalarType
Integers = NDArray[np.integer]

_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def _as(values: Values, type_: ScalarType) -> Integers:
    """The low bits of untyped lanes as integers of `type_`."""
    bits = type_.bits
    narrow = values.astype(unsigned(bits), copy=False)
    found: Integers = narrow.view(_SIGNED[bits]) if type_.is_signed else narrow
    return found


_ELEMENTS = {T.U16X2: T.U16, T.S16X2: T.S16, T.U8X4: T.U8, T.S8X4: T.S8}
"""The types of what a register holds several of."""


def _elements(values: Values, type_: ScalarType) -> Integers:
    """The integers of untyped lanes, those of the first lane first."""
    one = _ELEMENTS.get(type_)
    if one is None:
        return _as(values, type_)
    words = np.ascontiguousarray(values.astype(np.uint32, copy=False))
    return _as(words.view(unsigned(one.bits)), one)


def _clipped(values: Integers, dtype: np.dtype[np.integer]) -> Integers:
    """Integers of a type: those that it does not have become its least or greatest."""
    info = np.iinfo(dtype)
    found: Integers = np.clip(values, info.min, info.max).astype(dtype)
    return found


def _packed(type_: ScalarType) -> bool:
    return "x" in type_.value


def _result(c: Compiler, mi: MachineInstr, slot: str = "d") -> Setter:
    reg = mi[slot]
    assert type(reg) is int
    return c.set(reg)


def _inputs(c: Compiler, mi: MachineInstr, *slots: str) -> list[Getter]:
    return [c.get(mi[slot], mi.scalar_type()) for slot in slots]


def _integers(
    c: Compiler, mi: MachineInstr, *slots: str, type_: ScalarType | None = None
) -> list[Callable[[Warp], Integers]]:
    """As `_inputs`, as integers of the type: registers of its width are looked at as they are."""
    wanted = type_ or mi.scalar_type()
    return [_integer(c, mi[slot], wanted) for slot in slots]


def _integer(c: Compiler, op: Op, type_: ScalarType) -> Callable[[Warp], Integers]:
    get = c.get(op, type_)
    if type(op) is not int or c.function.regs.classes[op].bits != type_.bits:
        return lambda warp: _as(get(warp), type_)
    held: np.dtype[np.generic] = np.dtype(
        _SIGNED[type_.bits] if type_.is_signed else unsigned(type_.bits)
    )
    return lambda warp: warp.registers[op].view(held)


def _binary(operation: Callable[[Integers, Integers], Integers]) -> Maker:
    """A two-operand integer operation that wraps, saturates, or is zero where it is negative."""

    def not_negative(x: Integers, y: Integers) -> Integers:
        return np.maximum(operation(x, y), 0)

    def make(c: Compiler, mi: MachineInstr) -> Step:
        compute = operation if mi.form.attributes.get("relu") is None else not_negative
        type_ = mi.scalar_type()
        saturates = mi.form.attributes.get("sat") is not None
        write, bits = _result(c, mi), unsigned(type_.bits)
        if type_ not in _ELEMENTS and not saturates:
            x, y = _integers(c, mi, "a", "b")

            def plain(fragment: Fragment) -> Outcome:
                warp = fragment.warp
                write(fragment, compute(x(warp), y(warp)).view(bits))
                return None

            return plain
        a, b = _inputs(c, mi, "a", "b")

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            x, y = _elements(a(warp), type_), _elements(b(warp), type_)
            if saturates:
                found = _clipped(compute(x.astype(np.int64), y.astype(np.int64)), x.dtype)
            else:
                found = compute(x, y)
            write(fragment, found.view(bits))
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
    a, b = _integers(c, mi, "a", "b")
    write = _result(c, mi)
    wide = _SIGNED[type_.bits * 2] if type_.is_signed else unsigned(type_.bits * 2)

    def run(fragment: Fragment) -> Outcome:
        x, y = a(fragment.warp).astype(wide), b(fragment.warp).astype(wide)
        write(fragment, (x * y).view(unsigned(type_.bits * 2)))
        return None

    return run


def _division(*, remainder: bool) -> Maker:
    """A quotient rounded towards zero, or what is left.

    PTX leaves the result of a division by zero to the machine.  Every bit is set here, in
    quotients and remainders: so ends ptxas's code for sm_90a, for every width and sign.
    """

    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        a, b = _inputs(c, mi, "a", "b")
        write = _result(c, mi)

        def run(fragment: Fragment) -> Outcome:
            warp, lanes = fragment.warp, fragment.lanes
            x, y = (_as(get(warp), type_)[lanes].tolist() for get in (a, b))
            found = [_divided(p, q, remainder) for p, q in zip(x, y, strict=True)]
            value = np.zeros(WARP, unsigned(type_.bits))
            mask = (1 << type_.bits) - 1
            value[lanes] = [number & mask for number in found]
            write(fragment, value)
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
        a, b, addend = _integers(c, mi, "a", "b", "c")
        write, bits = _result(c, mi), unsigned(type_.bits)

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            x, y = a(warp), b(warp)
            product = _high(x, y) if high else x * y
            write(fragment, (product + addend(warp)).view(bits))
            return None

        return run

    return make


def mad_wide(c: Compiler, mi: MachineInstr) -> Step:
    """A product of twice the width, plus an addend of that width."""
    type_ = mi.scalar_type()
    a, b = _integers(c, mi, "a", "b")
    (addend,) = _integers(c, mi, "c", type_=T.U64 if type_.bits == 32 else T.U32)
    write, bits = _result(c, mi), unsigned(type_.bits * 2)
    wide = _SIGNED[type_.bits * 2] if type_.is_signed else bits

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        x, y = a(warp).astype(wide), b(warp).astype(wide)
        write(fragment, (x * y).view(bits) + addend(warp))
        return None

    return run


def logic_not(c: Compiler, mi: MachineInstr) -> Step:
    """Every bit turned."""
    (a,) = _inputs(c, mi, "a")
    write = _result(c, mi)
    predicate = mi.scalar_type() is T.PRED

    def run(fragment: Fragment) -> Outcome:
        value = a(fragment.warp)
        turned = ~flags(value) if predicate else ~_as(value, mi.scalar_type())
        write(fragment, turned)
        return None

    return run


def _logic(compute: Callable[[Integers, Integers], Integers]) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        a, b = _integers(c, mi, "a", "b")
        write = _result(c, mi)

        def run(fragment: Fragment) -> Outcome:
            write(fragment, compute(a(fragment.warp), b(fragment.warp)))
            return None

        return run

    return make


def _bits(values: Values, type_: ScalarType) -> Integers:
    found: Integers = values.astype(unsigned(type_.bits), copy=False)
    return found


def _shift(left: bool) -> Maker:
    """Shifts; an amount of the width or more gives zero, or the sign."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        (a,) = _integers(c, mi, "a")
        amount = c.get(mi["b"], T.U32)
        write = _result(c, mi)
        bits = type_.bits

        def run(fragment: Fragment) -> Outcome:
            value = a(fragment.warp)
            by = amount(fragment.warp).astype(np.int64)
            far = by >= bits
            near = np.minimum(by, bits - 1).astype(value.dtype)
            shifted = value << near if left else value >> near
            if left or not type_.is_signed:
                shifted = np.where(far, np.zeros_like(shifted), shifted)
            write(fragment, shifted.view(unsigned(bits)))
            return None

        return run

    return make


def _unary(compute: Callable[[Integers, int], Integers]) -> Maker:
    """An operation on one integer of a width, whose result may be narrower."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        (a,) = _integers(c, mi, "a")
        write = _result(c, mi)

        def run(fragment: Fragment) -> Outcome:
            write(fragment, compute(a(fragment.warp), type_.bits))
            return None

        return run

    return make


def _absolute(values: Integers, bits: int) -> Integers:
    found: Integers = np.abs(values)  # the lowest number stays what it is
    return found.view(unsigned(bits))


def _negated(values: Integers, bits: int) -> Integers:
    found: Integers = -values  # the lowest number stays what it is
    return found.view(unsigned(bits))


def _ones(values: Integers, bits: int) -> Integers:
    return np.array([int(v).bit_count() for v in values], np.uint32)


def _leading_zeros(values: Integers, bits: int) -> Integers:
    return np.array([bits - int(v).bit_length() for v in values], np.uint32)


def _reversed(values: Integers, bits: int) -> Integers:
    return np.array([int(f"{int(v):0{bits}b}"[::-1], 2) for v in values], unsigned(bits))


def _funnel(left: bool) -> Maker:
    """32 bits out of 64 that lie in two registers, the lower ones in `a`."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        a, b, amount = (c.get(mi[slot], T.U32) for slot in ("a", "b", "c"))
        write = _result(c, mi)
        wraps = mi.form.attributes["mode"] is FunnelMode.WRAP

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            low, high, given = (_bits(get(warp), T.B64) for get in (a, b, amount))
            by = given & np.uint64(31) if wraps else np.minimum(given, np.uint64(32))
            whole = high << np.uint64(32) | low
            # what leaves at the top by n is what stands 32 - n from the bottom
            shifted = whole >> (np.uint64(32) - by if left else by)
            write(fragment, shifted.astype(np.uint32))
            return None

        return run

    return make


def bfe(c: Compiler, mi: MachineInstr) -> Step:
    """A field of bits, extended by zeros, or by the highest bit of it that the value has."""
    type_ = mi.scalar_type()
    (a,) = _inputs(c, mi, "a")
    position, length = (c.get(mi[slot], T.U32) for slot in ("b", "c"))
    write = _result(c, mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        at, count = position(warp).astype(np.int64), length(warp).astype(np.int64)
        if np.maximum(at, count)[fragment.lanes].max(initial=0) > _LONGEST_FIELD:
            raise fault(
                "bit-field",
                "bfe with a position or length beyond 255",
                expected="0 to 255",
                hint="the manual takes the low byte, an H200 more of the number",
                section="bfe",
            )
        lanes = zip(_bits(a(warp), type_), at, count, strict=True)
        found = [_field(int(v), int(p), int(n), type_) for v, p, n in lanes]
        write(fragment, np.array(found, unsigned(type_.bits)))
        return None

    return run


_LONGEST_FIELD = 255


def _field(value: int, at: int, count: int, type_: ScalarType) -> int:
    bits = type_.bits
    if count == 0 or not type_.is_signed:
        return (value >> at) & ((1 << count) - 1)
    top = value >> min(at + count - 1, bits - 1) & 1
    beyond = -top << bits  # the bits above the value
    found = ((value | beyond) >> at) & ((1 << count) - 1)
    return (found | -top << count) & ((1 << bits) - 1)


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
    """A comparison, and its opposite, each combined with a third predicate."""
    a, b = _integers(c, mi, "a", "b")
    cmp, combine = mi.form.attributes["cmp"], mi.form.attributes["combine"]
    assert isinstance(cmp, Compare)
    compare = _COMPARE[cmp]
    third = c.get(mi["c"], T.PRED) if isinstance(combine, BoolOp) else None
    with_third = _COMBINE[combine] if isinstance(combine, BoolOp) else None
    results = [mi.get("p"), mi.get("q")]
    first, second = (c.set(reg) if type(reg) is int else None for reg in results)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        holds = compare(a(warp), b(warp))
        yes, no = holds, ~holds
        if third is not None and with_third is not None:
            other = flags(third(warp))
            yes, no = with_third(yes, other), with_third(no, other)
        if first is not None:
            first(fragment, yes)
        if second is not None:
            second(fragment, no)
        return None

    return run


def selp(c: Compiler, mi: MachineInstr) -> Step:
    """One of two values, by a predicate."""
    a, b = _inputs(c, mi, "a", "b")
    condition = c.get(mi["c"], T.PRED)
    write = _result(c, mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        write(fragment, np.where(flags(condition(warp)), a(warp), b(warp)))
        return None

    return run


def cvt(c: Compiler, mi: MachineInstr) -> Step:
    """Between integer types; a result narrower than its register is extended by its own sign."""
    to, source = mi.scalar_type("dtype"), mi.scalar_type("atype")
    a = c.get(mi["a"], source)
    result = mi["d"]
    assert type(result) is int
    width = c.function.regs.classes[result].bits
    write = c.set(result)
    saturate = mi.form.attributes.get("sat") is not None

    def run(fragment: Fragment) -> Outcome:
        value = _as(a(fragment.warp), source)
        if saturate:
            value = _saturated(value, to)
        narrow = value.astype(_SIGNED[to.bits] if to.is_signed else unsigned(to.bits))
        wide = narrow.astype(_SIGNED[width] if to.is_signed else unsigned(width))
        write(fragment, wide.view(unsigned(width)))
        return None

    return run


def _saturated(values: Integers, type_: ScalarType) -> Integers:
    bits = type_.bits
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_.is_signed else (0, (1 << bits) - 1)
    clipped = [min(max(int(v), low), high) & (1 << bits) - 1 for v in values]
    return _as(np.array(clipped, np.uint64), type_)


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
    "and": _logic(np.bitwise_and),
    "or": _logic(np.bitwise_or),
    "xor": _logic(np.bitwise_xor),
    "not": logic_not,
    "shl": _shift(left=True),
    "shr": _shift(left=False),
    "bfe": bfe,
    "min": _binary(np.minimum),
    "max": _binary(np.maximum),
    "abs.int": _unary(_absolute),
    "neg.int": _unary(_negated),
    "popc": _unary(_ones),
    "clz": _unary(_leading_zeros),
    "brev": _unary(_reversed),
    "shf.l": _funnel(left=True),
    "shf.r": _funnel(left=False),
    "setp.int": setp,
    "selp": selp,
    "cvt.int": cvt,
}
