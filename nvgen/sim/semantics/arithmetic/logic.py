"""Logic, shifts, bit fields and bit counts, 32 lanes at a time.

Layer: nvgen.sim.semantics.  PTX ISA, Logic and Shift Instructions; popc, clz, brev, bfe.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import FunnelMode, ScalarType
from nvgen.sim.faults import fault
from nvgen.sim.semantics.arithmetic.integer_lanes import (
    Integers,
    T,
    as_typed,
    inputs,
    integers,
    result_of,
    unary,
)
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import flags, unsigned
from nvgen.sim.threads.machine import Outcome, Step, Strand, Values


def logic_not(c: Compiler, mi: MachineInstr) -> Step:
    """The complement of every bit."""
    (a,) = inputs(c, mi, "a")
    write = result_of(c, mi)
    predicate = mi.scalar_type() is T.PRED

    def run(strand: Strand) -> Outcome:
        value = a(strand.warp)
        turned = ~flags(value) if predicate else ~as_typed(value, mi.scalar_type())
        write(strand, turned)
        return None

    return run


def _logic(compute: Callable[[Integers, Integers], Integers]) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        a, b = integers(c, mi, "a", "b")
        write = result_of(c, mi)

        def run(strand: Strand) -> Outcome:
            write(strand, compute(a(strand.warp), b(strand.warp)))
            return None

        return run

    return make


def _bits(values: Values, type_: ScalarType) -> Integers:
    found: Integers = values.astype(unsigned(type_.bits), copy=False)
    return found


def _shift(left: bool) -> Maker:
    """Shifts; an amount of at least the width gives zero, or the sign."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        (a,) = integers(c, mi, "a")
        amount = c.get(mi["b"], T.U32)
        write = result_of(c, mi)
        bits = type_.bits

        def run(strand: Strand) -> Outcome:
            value = a(strand.warp)
            by = amount(strand.warp).astype(np.int64)
            far = by >= bits
            near = np.minimum(by, bits - 1).astype(value.dtype)
            shifted = value << near if left else value >> near
            if left or not type_.is_signed:
                shifted = np.where(far, np.zeros_like(shifted), shifted)
            write(strand, shifted.view(unsigned(bits)))
            return None

        return run

    return make


def _ones(values: Integers, bits: int) -> Integers:
    return np.array([int(v).bit_count() for v in values], np.uint32)


def _leading_zeros(values: Integers, bits: int) -> Integers:
    return np.array([bits - int(v).bit_length() for v in values], np.uint32)


def _reversed(values: Integers, bits: int) -> Integers:
    return np.array([int(f"{int(v):0{bits}b}"[::-1], 2) for v in values], unsigned(bits))


def _funnel(left: bool) -> Maker:
    """32 bits of a 64-bit value in two registers, the lower half in `a`."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        a, b, amount = (c.get(mi[slot], T.U32) for slot in ("a", "b", "c"))
        write = result_of(c, mi)
        wraps = mi.form.attributes["mode"] is FunnelMode.WRAP

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            low, high, given = (_bits(get(warp), T.B64) for get in (a, b, amount))
            by = given & np.uint64(31) if wraps else np.minimum(given, np.uint64(32))
            whole = high << np.uint64(32) | low
            # the upper word after a left shift by n is the lower after a right shift by 32 - n
            shifted = whole >> (np.uint64(32) - by if left else by)
            write(strand, shifted.astype(np.uint32))
            return None

        return run

    return make


def bfe(c: Compiler, mi: MachineInstr) -> Step:
    """A bit field, zero-extended, or sign-extended by its highest bit inside of the value."""
    type_ = mi.scalar_type()
    (a,) = inputs(c, mi, "a")
    position, length = (c.get(mi[slot], T.U32) for slot in ("b", "c"))
    write = result_of(c, mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        at, count = position(warp).astype(np.int64), length(warp).astype(np.int64)
        if np.maximum(at, count)[strand.lanes].max(initial=0) > _LONGEST_FIELD:
            raise fault(
                "bit-field",
                "bfe with a position or length beyond 255",
                expected="0 to 255",
                hint="the manual takes the low byte, an H200 more of the number",
                section="bfe",
            )
        lanes = zip(_bits(a(warp), type_), at, count, strict=True)
        found = [_field(int(v), int(p), int(n), type_) for v, p, n in lanes]
        write(strand, np.array(found, unsigned(type_.bits)))
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


SEMANTICS: dict[str, Maker] = {
    "and": _logic(np.bitwise_and),
    "or": _logic(np.bitwise_or),
    "xor": _logic(np.bitwise_xor),
    "not": logic_not,
    "shl": _shift(left=True),
    "shr": _shift(left=False),
    "bfe": bfe,
    "popc": unary(_ones),
    "clz": unary(_leading_zeros),
    "brev": unary(_reversed),
    "shf.l": _funnel(left=True),
    "shf.r": _funnel(left=False),
}
