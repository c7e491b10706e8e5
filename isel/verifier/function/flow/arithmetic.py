"""Abstract arithmetic: operations on values that are known in part (numbers, addresses,
predicates).

Layer: isel.verifier.function.  Input: values of operands, and their width in bits.  Output: the
value of the result.  Integers wrap; addresses keep their base through address arithmetic and
packing into descriptors, and lose it otherwise.  PTX ISA, Integer Arithmetic, Comparison and
Selection, Logic and Shift Instructions.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.modifiers import Compare, ScalarType
from isel.verifier.function.flow.integers import COMPARISONS, reader, signed
from isel.verifier.function.flow.values import (
    LANES,
    Among,
    Elected,
    Loaded,
    Offset,
    Parameter,
    Sixteenth,
    Spread,
    Symbol,
    Value,
    Zero,
    combine,
    constant,
    known,
    lanes_where,
    unknown,
)

ADDRESS_BITS = 18
"""Width of shared memory addresses of a CTA, all of which fit into a descriptor."""


def without_lanes(value: Value) -> Value:
    """The value without per-lane numbers; an address keeps its base."""
    if not isinstance(value.offset, tuple):
        return value
    return unknown(Spread.THREAD, None if value.is_predicate else value.base)


def masked(value: int | tuple[int, ...], bits: int) -> int | tuple[int, ...]:
    """The low bits of a number, or of each lane's."""
    return combine(int.__and__, value, (1 << bits) - 1)


def calculate(operation: Callable[[int, int], int], a: Value, b: Value, bits: int) -> Value:
    """A binary operation on two numbers, `bits` wide."""
    spread = max(a.spread, b.spread)
    if a.number is None or b.number is None:
        return unknown(spread)
    found = known(masked(combine(operation, a.number, b.number), bits))
    return Value(None, found.offset, min(spread, found.spread))


def sum_of(a: Value, b: Value, bits: int) -> Value:
    """a + b, where one of them may be an address."""
    if a.base is None and b.base is None:
        return calculate(int.__add__, a, b, bits)
    if b.base is not None and (a.base is None or isinstance(a.base, Parameter)):
        a, b = b, a
    spread = max(a.spread, b.spread)
    if a.is_predicate:
        return unknown(spread)
    if b.number is None or a.offset is None:
        return unknown(spread, a.base)
    offset = combine(lambda x, y: signed(x + y, bits), a.offset, b.number)
    found = known(offset, a.base)
    return Value(a.base, found.offset, spread)


def difference(a: Value, b: Value, bits: int) -> Value:
    """a - b, where a may be an address, and b another one in the same variable."""
    same = a.base is not None and a.base == b.base and not a.is_predicate
    if same and a.offset is not None and b.offset is not None:
        a, b = Value(None, a.offset, a.spread), Value(None, b.offset, b.spread)
    if a.base is None:
        return calculate(int.__sub__, a, b, bits)
    if b.number is None:
        return sum_of(a, unknown(b.spread), bits)
    minus = combine(lambda x, y: y - x, b.number, 0)
    return sum_of(a, Value(None, minus, b.spread), bits)


def as_typed(value: Value, type_: ScalarType) -> Value:
    """A number, sign- or zero-extended as its type demands."""
    number, read = value.number, reader(type_)
    if number is None:
        return value
    found = read(number) if isinstance(number, int) else tuple(map(read, number))
    return Value(None, found, value.spread)


def conjunction(a: Value, b: Value, bits: int) -> Value:
    """a & b, where a number, if there is one, is b."""
    if b.number == 0:
        return constant(0)
    if isinstance(a.base, Zero) or isinstance(b.base, Zero):
        return unknown(max(a.spread, b.spread))
    if a.is_predicate and b.number == 1:
        return a
    for one, other in ((a, b), (b, a)):
        if isinstance(one.base, Elected) and one.offset == 0:
            perhaps = one.base.perhaps or other.spread is not Spread.CTA
            return Value(Elected(perhaps and not isinstance(other.base, Elected)), 0, one.spread)
    if bits == ScalarType.PRED.bits and (among := _among(a, b)) is not None:
        return among
    if a.base is None and b.base is None:
        return calculate(int.__and__, a, b, bits)
    spread = max(a.spread, b.spread)
    if a.is_predicate or b.is_predicate:
        return unknown(spread)
    keeps = isinstance(b.number, int) and ~b.number & ((1 << ADDRESS_BITS) - 1) == 0
    return a if keeps and isinstance(a.base, Symbol) else unknown(spread, a.base or b.base)


def _among(a: Value, b: Value) -> Value | None:
    """The conjunction of predicates of which one is known to be false in some lanes."""
    lanes, by, known_lanes = (1 << LANES) - 1, Spread.CTA, False
    for value in (a, b):
        if isinstance(value.base, Among) and value.offset == 0:
            lanes, by, known_lanes = lanes & value.base.lanes, max(by, value.base.by), True
        elif isinstance(value.number, tuple):
            lanes &= lanes_where(value.number)
            known_lanes = True
        elif value.number is None:
            by = max(by, value.spread)
    if not known_lanes or (a.number is not None and b.number is not None):
        return None
    return Value(Among(lanes, by), 0, Spread.THREAD) if lanes else constant(0)


def disjunction(a: Value, b: Value, bits: int) -> Value:
    """a | b, where a number, if there is one, is b."""
    if b.number == 0:
        return a
    if bits == ScalarType.PRED.bits:
        return negated(conjunction(negated(a), negated(b), bits))
    if a.base is None and b.base is None:
        found = calculate(int.__or__, a, b, bits)
        return found if found.number is not None else _zero_in_few(a, b) or found
    if isinstance(a.base, Zero) or isinstance(b.base, Zero):
        return _zero_in_few(a, b) or unknown(max(a.spread, b.spread))
    if a.is_predicate or b.is_predicate:
        return unknown(Spread.THREAD)
    if isinstance(a.base, Sixteenth) and _is_multiple(b.number, 1 << 14):
        return a  # the or sets upper fields of a descriptor
    if isinstance(a.base, Loaded) and _is_multiple(b.number, 1 << 16):
        return sum_of(a, b, bits)  # the or sets the lane of a tensor memory address
    return unknown(max(a.spread, b.spread), a.base or b.base)


def _zero_in_few(a: Value, b: Value) -> Value | None:
    """a | b, where one of them is known not to be zero in some lanes."""
    lanes, by = (1 << LANES) - 1, Spread.CTA
    for value in (a, b):
        if isinstance(value.base, Zero) and value.offset == 0:
            lanes, by = lanes & value.base.lanes, max(by, value.base.by)
        elif isinstance(value.number, tuple):
            lanes &= ~lanes_where(value.number)
        elif value.number:
            lanes = 0  # a number other than 0: so is the or
        else:
            by = max(by, value.spread)
    if lanes == (1 << LANES) - 1:
        return None
    return Value(Zero(lanes, by), 0, max(a.spread, b.spread))


def _is_multiple(value: Offset, step: int) -> bool:
    if value is None:
        return False
    return all(x % step == 0 for x in (value if isinstance(value, tuple) else (value,)))


def negated(value: Value) -> Value:
    """The negation of a predicate."""
    if value.offset is None:
        return value
    return Value(value.base, combine(int.__xor__, value.offset, 1), value.spread)


def compared(compare: Compare, a: Value, b: Value, type_: ScalarType) -> Value:
    """The predicate that a comparison gives."""
    if isinstance(a.base, Zero):
        if a.offset != 0 or b.number != 0 or compare not in (Compare.EQ, Compare.NE):
            return unknown(max(a.spread, b.spread))
        return Value(Among(a.base.lanes, a.base.by), int(compare is Compare.NE), Spread.THREAD)
    if a.is_predicate and b.number in (0, 1) and compare in (Compare.EQ, Compare.NE):
        same = (compare is Compare.EQ) == (b.number == 1)
        return a if same else negated(a)
    a, b = as_typed(a, type_), as_typed(b, type_)
    return calculate(COMPARISONS[compare], a, b, ScalarType.PRED.bits)


def selected(a: Value, b: Value, c: Value) -> Value:
    """a where the predicate c holds, else b."""
    if isinstance(c.number, int):
        return a if c.number else b
    if c.is_predicate and (a.number, b.number) in ((1, 0), (0, 1)):
        return c if a.number == 1 else negated(c)
    spread = max(a.spread, b.spread, c.spread)
    if c.number is not None and a.base == b.base and a.offset is not None and b.offset is not None:
        pairs = combine(lambda x, y: x << 64 | y, a.offset, b.offset)
        chosen = combine(lambda xy, p: xy >> 64 if p else xy & ((1 << 64) - 1), pairs, c.number)
        return Value(a.base, known(chosen).offset, spread)
    return unknown(spread, a.base if a.base == b.base and not a.is_predicate else None)
