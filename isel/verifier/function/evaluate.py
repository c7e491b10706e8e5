"""What a record computes, as far as one warp knows it.

Layer: isel.verifier.function.  Input: a record and the values of its operands.  Output: the values
of the registers that it writes.  Integers wrap as the machine's do; addresses keep their base
through what address arithmetic and descriptors do to them, and lose it elsewhere.  PTX ISA, Integer
Arithmetic, Comparison and Selection, Logic and Shift Instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from intrinsics.mir import Imm, MachineInstr, Mem, Not, Op, Reg, Special, Sym, registers_of
from intrinsics.modifiers import BoolOp, Compare, Match, ScalarType, Shuffle, Space, Vote
from isel.verifier.function.integers import COMPARISONS, signed, typed
from isel.verifier.function.values import (
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
    Waited,
    Zero,
    combine,
    constant,
    known,
    unknown,
)

WAITS = (
    "mbarrier.test_wait",
    "mbarrier.test_wait.parity",
    "mbarrier.try_wait",
    "mbarrier.try_wait.parity",
)
"""Rows that ask an mbarrier whether a phase is complete."""

_SHARED = (Space.SHARED, Space.SHARED_CTA)
PARAMS = (Space.PARAM, Space.PARAM_ENTRY, Space.PARAM_FUNC)
"""State spaces of parameters."""

_ADDRESS_BITS = 18
"""Shared memory addresses of a CTA have no more bits: descriptors keep them all."""

_OF_CTA = ("ntid.", "ctaid.", "nctaid.", "cluster", "nclusterid", "is_explicit", "gridid", "total")


@dataclass(frozen=True, slots=True)
class Warp:
    """A warp of the CTA: its number, and the block's dimensions; () when they are not known."""

    number: int
    block: tuple[int, ...]
    specials: dict[str, Value] = field(default_factory=dict, compare=False)

    @property
    def lanes(self) -> int:
        """The lanes that have a thread, as a mask."""
        if not self.block:
            return (1 << LANES) - 1
        threads = self.block[0] * self.block[1] * self.block[2] - self.number * LANES
        return (1 << min(threads, LANES)) - 1

    def special(self, name: str) -> Value:
        """The value of a special register."""
        found = self.specials.get(name)
        if found is None:
            found = self.specials[name] = self._special(name)
        return found

    def _special(self, name: str) -> Value:
        if name == "laneid":
            return known(tuple(range(LANES)))
        if name.startswith(_OF_CTA) and not (self.block and name.startswith("ntid.")):
            return unknown(Spread.CTA)
        if not self.block or name[:-1] not in ("tid.", "ntid."):
            return unknown(Spread.THREAD)
        axis = "xyz".index(name[-1])
        if name.startswith("ntid."):
            return constant(self.block[axis])
        step = (1, self.block[0], self.block[0] * self.block[1])[axis]
        first = self.number * LANES
        return known(tuple((first + i) // step % self.block[axis] for i in range(LANES)))


class Evaluator:
    """Values of operands and results in one warp; `get` is what is known of a register.

    Without `lanes` it does not reckon with a number for each lane: an address keeps its base.
    `own` are parameters that each thread has of its own: those of calls, and of device functions.
    """

    def __init__(
        self,
        warp: Warp,
        get: Callable[[Reg], Value],
        *,
        lanes: bool = True,
        own: frozenset[str] = frozenset(),
    ) -> None:
        self.warp = warp
        self.own = own
        self.lanes = lanes
        self.get = get if lanes else lambda reg: _without_lanes(get(reg))

    def operand(self, op: Op | None) -> Value:
        """The value of an operand; for an address, the address."""
        match op:
            case int():
                return self.get(op)
            case Imm(value):
                return constant(value)
            case Sym(name, offset):
                return Value(Symbol(name), offset, Spread.CTA)
            case Mem(base, offset):
                return _sum(self.operand(base), constant(offset), 64)
            case Special(name):
                found = self.warp.special(name)
                return found if self.lanes else _without_lanes(found)
            case Not(reg):
                return _negated(self.get(reg))
        return unknown(Spread.CTA)

    def results(self, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
        """The registers that `mi`, the record number `index`, writes, and what is in them then."""
        rule = _RULES.get(mi.row.id)
        if rule is not None and _is_plain(mi):
            found = rule(self, mi, index)
            yield from found if mi.guard is None else self._guarded(mi.guard, found)
            return
        spread = max((self.get(reg).spread for reg in mi.uses()), default=Spread.CTA)
        if not mi.form.is_pure:
            spread = Spread.THREAD
        for reg in mi.defs():
            yield reg, unknown(spread)

    def _guarded(
        self, guard: Reg | Not, found: Iterator[tuple[Reg, Value]]
    ) -> Iterator[tuple[Reg, Value]]:
        """What is in registers that are written where a guard holds, and else stay as they are."""
        holds = self.operand(guard)
        for reg, value in found:
            yield reg, _selected(value, self.get(reg), holds)

    def slot(self, mi: MachineInstr, name: str) -> Value:
        """The value of an operand by name."""
        return self.operand(mi.get(name))


def _without_lanes(value: Value) -> Value:
    if not isinstance(value.offset, tuple):
        return value
    return unknown(Spread.THREAD, None if value.is_predicate else value.base)


def _is_plain(mi: MachineInstr) -> bool:
    """Whether it is no saturating arithmetic and none on packed numbers."""
    attributes = mi.form.attributes
    type_ = attributes.get("type")
    return attributes.get("sat") is None and not (isinstance(type_, ScalarType) and type_.is_packed)


_Rule: TypeAlias = Callable[[Evaluator, MachineInstr, int], Iterator[tuple[Reg, Value]]]


# ---- numbers ---------------------------------------------------------------------------------


def _masked(value: int | tuple[int, ...], bits: int) -> int | tuple[int, ...]:
    return combine(int.__and__, value, (1 << bits) - 1)


def _calculate(operation: Callable[[int, int], int], a: Value, b: Value, bits: int) -> Value:
    """An operation on two numbers, `bits` wide."""
    spread = max(a.spread, b.spread)
    if a.number is None or b.number is None:
        return unknown(spread)
    found = known(_masked(combine(operation, a.number, b.number), bits))
    return Value(None, found.offset, min(spread, found.spread))


def _sum(a: Value, b: Value, bits: int) -> Value:
    """a + b, where one of them may be an address."""
    if a.base is None and b.base is None:
        return _calculate(int.__add__, a, b, bits)
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


def _difference(a: Value, b: Value, bits: int) -> Value:
    same = a.base is not None and a.base == b.base and not a.is_predicate
    if same and a.offset is not None and b.offset is not None:
        a, b = Value(None, a.offset, a.spread), Value(None, b.offset, b.spread)
    if a.base is None:
        return _calculate(int.__sub__, a, b, bits)
    if b.number is None:
        return _sum(a, unknown(b.spread), bits)
    minus = combine(lambda x, y: y - x, b.number, 0)
    return _sum(a, Value(None, minus, b.spread), bits)


def _pair(e: Evaluator, mi: MachineInstr) -> tuple[Value, Value]:
    return e.slot(mi, "a"), e.slot(mi, "b")


def _number_last(e: Evaluator, mi: MachineInstr) -> tuple[Value, Value]:
    """The operands of what does not care for their order; a number, if there is one, is second."""
    a, b = _pair(e, mi)
    return (a, b) if a.number is None else (b, a)


def _write(mi: MachineInstr, value: Value, slot: str = "d") -> Iterator[tuple[Reg, Value]]:
    op = mi.get(slot)
    if type(op) is int:
        yield op, value
    elif op is not None:
        for reg in registers_of(op):
            yield reg, unknown(value.spread)


def _bits(mi: MachineInstr) -> int:
    return mi.scalar_type().bits


def _read(value: Value, type_: ScalarType) -> Value:
    """A number as its type has it: signed or not."""
    if value.number is None:
        return value
    found = combine(lambda x, _: typed(type_, x), value.number, 0)
    return Value(None, found, value.spread)


def _add(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, _sum(*_pair(e, mi), _bits(mi)))


def _sub(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, _difference(*_pair(e, mi), _bits(mi)))


def _product(e: Evaluator, mi: MachineInstr, *, wide: bool) -> Value:
    type_ = mi.scalar_type()
    a, b = (_read(v, type_) for v in _pair(e, mi))
    return _calculate(int.__mul__, a, b, type_.bits * (2 if wide else 1))


def _multiply(*, wide: bool, add: bool) -> _Rule:
    def rule(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
        found = _product(e, mi, wide=wide)
        if add:
            found = _sum(found, e.slot(mi, "c"), _bits(mi) * (2 if wide else 1))
        yield from _write(mi, found)

    return rule


def _multiply_high(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    type_ = mi.scalar_type()
    a, b = (_read(v, type_) for v in _pair(e, mi))
    yield from _write(mi, _calculate(lambda x, y: x * y >> type_.bits, a, b, type_.bits))


# ---- bits ------------------------------------------------------------------------------------


def _and(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, _conjunction(*_number_last(e, mi), _bits(mi)))


def _conjunction(a: Value, b: Value, bits: int) -> Value:
    """a & b, where a number, if there is one, is b."""
    if b.number == 0:
        return constant(0)
    if isinstance(a.base, Zero) or isinstance(b.base, Zero):
        return unknown(Spread.THREAD)
    if a.is_predicate and b.number == 1:
        return a
    for one, other in ((a, b), (b, a)):
        if isinstance(one.base, Elected) and one.offset == 0:
            perhaps = one.base.perhaps or other.spread is not Spread.CTA
            return Value(Elected(perhaps and not isinstance(other.base, Elected)), 0, one.spread)
    if bits == ScalarType.PRED.bits and (among := _among(a, b)) is not None:
        return among
    if a.base is None and b.base is None:
        return _calculate(int.__and__, a, b, bits)
    spread = max(a.spread, b.spread)
    if a.is_predicate or b.is_predicate:
        return unknown(spread)
    keeps = isinstance(b.number, int) and ~b.number & ((1 << _ADDRESS_BITS) - 1) == 0
    return a if keeps and isinstance(a.base, Symbol) else unknown(spread, a.base or b.base)


def _among(a: Value, b: Value) -> Value | None:
    """The conjunction of predicates of which one is certainly false in some lanes."""
    lanes, by, known_lanes = (1 << LANES) - 1, Spread.CTA, False
    for value in (a, b):
        if isinstance(value.base, Among) and value.offset == 0:
            lanes, by, known_lanes = lanes & value.base.lanes, max(by, value.base.by), True
        elif isinstance(value.number, tuple):
            lanes &= sum(1 << i for i, x in enumerate(value.number) if x)
            known_lanes = True
        elif value.number is None:
            by = max(by, value.spread)
    if not known_lanes or (a.number is not None and b.number is not None):
        return None
    return Value(Among(lanes, by), 0, Spread.THREAD) if lanes else constant(0)


def _or(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, _disjunction(*_number_last(e, mi), _bits(mi)))


def _disjunction(a: Value, b: Value, bits: int) -> Value:
    """a | b, where a number, if there is one, is b."""
    if b.number == 0:
        return a
    if bits == ScalarType.PRED.bits:
        return _negated(_conjunction(_negated(a), _negated(b), bits))
    if a.base is None and b.base is None:
        found = _calculate(int.__or__, a, b, bits)
        return found if found.number is not None else _zero_in_few(a, b) or found
    if isinstance(a.base, Zero) or isinstance(b.base, Zero):
        return _zero_in_few(a, b) or unknown(Spread.THREAD)
    if a.is_predicate or b.is_predicate:
        return unknown(Spread.THREAD)
    if isinstance(a.base, Sixteenth) and _is_multiple(b.number, 1 << 14):
        return a  # the upper fields of a descriptor
    if isinstance(a.base, Loaded) and _is_multiple(b.number, 1 << 16):
        return _sum(a, b, bits)  # a lane of tensor memory
    return unknown(max(a.spread, b.spread), a.base or b.base)


def _zero_in_few(a: Value, b: Value) -> Value | None:
    """a | b, where one of them is certainly not zero in some lanes."""
    lanes, by = (1 << LANES) - 1, Spread.CTA
    for value in (a, b):
        if isinstance(value.base, Zero) and value.offset == 0:
            lanes, by = lanes & value.base.lanes, max(by, value.base.by)
        elif isinstance(value.number, tuple):
            lanes &= sum(1 << i for i, x in enumerate(value.number) if not x)
        else:
            by = max(by, value.spread)
    return None if lanes == (1 << LANES) - 1 else Value(Zero(lanes, by), 0, Spread.THREAD)


def _is_multiple(value: Offset, step: int) -> bool:
    if value is None:
        return False
    return all(x % step == 0 for x in (value if isinstance(value, tuple) else (value,)))


def _xor(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a, b = _number_last(e, mi)
    if a.is_predicate and b.number == 1 and not isinstance(a.base, Zero):
        found = _negated(a)
    else:
        found = _calculate(int.__xor__, a, b, _bits(mi))
    yield from _write(mi, found)


def _not(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a = e.slot(mi, "a")
    pred = mi.scalar_type() is ScalarType.PRED
    found = _negated(a) if pred else _calculate(int.__xor__, a, constant(-1), _bits(mi))
    yield from _write(mi, found)


def _negated(value: Value) -> Value:
    if value.offset is None:
        return value
    return Value(value.base, combine(int.__xor__, value.offset, 1), value.spread)


_WORD = (1 << 32) - 1
"""Amounts of shifts are words without a sign, whatever their number says."""


def _shl(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    bits = _bits(mi)
    a, b = _pair(e, mi)
    if isinstance(a.base, Sixteenth) and b.number == 4 and isinstance(a.offset, int):
        yield from _write(mi, known(a.offset * 16, Symbol(a.base.variable)))
        return
    yield from _write(mi, _calculate(lambda x, n: x << min(n & _WORD, bits), a, b, bits))


def _shr(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    type_ = mi.scalar_type()
    a, b = _pair(e, mi)
    if isinstance(a.base, Symbol) and b.number == 4:
        offset = a.offset // 16 if isinstance(a.offset, int) else None
        yield from _write(mi, Value(Sixteenth(a.base.name), offset, a.spread))
        return
    last = type_.bits - 1 if type_.is_signed else type_.bits
    found = _calculate(lambda x, n: x >> min(n & _WORD, last), _read(a, type_), b, type_.bits)
    yield from _write(mi, found if a.base is None else unknown(found.spread, a.base))


def _bfe(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    type_ = mi.scalar_type()
    a, first, count = e.slot(mi, "a"), e.slot(mi, "b").number, e.slot(mi, "c").number
    if type_.is_signed or not isinstance(first, int) or not isinstance(count, int):
        yield from _write(mi, unknown(a.spread))
        return
    first, count = first & 0xFF, count & 0xFF
    mask = (1 << count) - 1
    if isinstance(a.base, Symbol) and first == 4 and first + count >= _ADDRESS_BITS:
        offset = a.offset // 16 if isinstance(a.offset, int) else None
        yield from _write(mi, Value(Sixteenth(a.base.name), offset, a.spread))
        return
    yield from _write(mi, _calculate(lambda x, n: x >> n & mask, a, constant(first), type_.bits))


# ---- predicates ------------------------------------------------------------------------------


def _setp(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a, b = _pair(e, mi)
    compare = mi.form.attributes["cmp"]
    assert isinstance(compare, Compare)
    found = _compared(compare, a, b, mi.scalar_type())
    for slot, value in (("p", found), ("q", _negated(found))):
        yield from _write(mi, _combined(e, mi, value), slot)


def _combined(e: Evaluator, mi: MachineInstr, value: Value) -> Value:
    """The outcome of a comparison, combined with a third predicate where there is one."""
    how, third = mi.form.attributes.get("combine"), e.slot(mi, "c")
    a, b = (third, value) if third.number is None else (value, third)
    match how:
        case BoolOp.AND:
            return _conjunction(a, b, ScalarType.PRED.bits)
        case BoolOp.OR:
            return _disjunction(a, b, ScalarType.PRED.bits)
        case BoolOp.XOR:
            return unknown(max(a.spread, b.spread))
    return value


def _compared(compare: Compare, a: Value, b: Value, type_: ScalarType) -> Value:
    if isinstance(a.base, Zero):
        if a.offset != 0 or b.number != 0 or compare not in (Compare.EQ, Compare.NE):
            return unknown(Spread.THREAD)
        return Value(Among(a.base.lanes, a.base.by), int(compare is Compare.NE), Spread.THREAD)
    if a.is_predicate and b.number in (0, 1) and compare in (Compare.EQ, Compare.NE):
        same = (compare is Compare.EQ) == (b.number == 1)
        return a if same else _negated(a)
    operation = COMPARISONS[compare]
    return _calculate(
        lambda x, y: int(operation(x, y)), _read(a, type_), _read(b, type_), ScalarType.PRED.bits
    )


def _selp(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a, b = _pair(e, mi)
    yield from _write(mi, _selected(a, b, e.slot(mi, "c")))


def _selected(a: Value, b: Value, c: Value) -> Value:
    if isinstance(c.number, int):
        return a if c.number else b
    if c.is_predicate and (a.number, b.number) in ((1, 0), (0, 1)):
        return c if a.number == 1 else _negated(c)
    spread = max(a.spread, b.spread, c.spread)
    if c.number is not None and a.base == b.base and a.offset is not None and b.offset is not None:
        pairs = combine(lambda x, y: x << 64 | y, a.offset, b.offset)
        chosen = combine(lambda xy, p: xy >> 64 if p else xy & ((1 << 64) - 1), pairs, c.number)
        return Value(a.base, known(chosen).offset, spread)
    return unknown(spread, a.base if a.base == b.base and not a.is_predicate else None)


def _waits(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, Value(Waited(frozenset({index})), 0, Spread.WARP), "done")
    for slot in ("conditional", "report"):
        yield from _write(mi, unknown(Spread.THREAD), slot)


def _elect(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, unknown(Spread.WARP), "lane")
    yield from _write(mi, Value(Elected(), 0, Spread.THREAD), "elected")


# ---- what a warp's threads tell each other ---------------------------------------------------


def _shuffled(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a = e.slot(mi, "a")
    b, bounds = e.slot(mi, "b").number, e.slot(mi, "c").number
    mode = mi.form.attributes["mode"]
    assert isinstance(mode, Shuffle)
    if b is None or bounds is None or not _all_here(e, mi):
        from_one = mode is Shuffle.IDX and bounds == LANES - 1 and _all_here(e, mi)
        alike = from_one and _same_in_warp(e.slot(mi, "b"))
        other = unknown(Spread.WARP if alike else Spread.THREAD)
        yield from _write(mi, a if _same_in_warp(a) else other)
        yield from _write(mi, unknown(Spread.THREAD), "p")
        return
    sources = [shuffle_source(mode, i, _at(b, i), _at(bounds, i)) for i in range(LANES)]
    read = [source if reached else i for i, (source, reached) in enumerate(sources)]
    yield from _write(mi, _from_lanes(e.warp, a, read))
    yield from _write(mi, known(tuple(int(reached) for _, reached in sources)), "p")


def _at(number: int | tuple[int, ...], lane: int) -> int:
    return number[lane] if isinstance(number, tuple) else number


def shuffle_source(mode: Shuffle, lane: int, b: int, bounds: int) -> tuple[int, bool]:
    """The lane that a shuffle reads, and whether it is in reach.  PTX ISA, shfl.sync."""
    step, clamp, segment = b & 31, bounds & 31, bounds >> 8 & 31
    first = lane & segment
    last = first | (clamp & ~segment)
    match mode:
        case Shuffle.UP:
            return lane - step, lane - step >= last
        case Shuffle.DOWN:
            return lane + step, lane + step <= last
        case Shuffle.BFLY:
            return lane ^ step, lane ^ step <= last
        case Shuffle.IDX:
            source = first | (step & ~segment)
            return source, source <= last


def _from_lanes(warp: Warp, a: Value, read: list[int]) -> Value:
    """What lanes get that read from these lanes: from a constant one, all the same."""
    there = [i for i in range(LANES) if warp.lanes >> i & 1]
    if any(not warp.lanes >> read[i] & 1 for i in there):
        return unknown(Spread.THREAD)
    if isinstance(a.offset, tuple):
        number = a.offset
        return known(tuple(number[lane] for lane in read), a.base)
    if _same_in_warp(a):
        return a
    return unknown(Spread.WARP if len({read[i] for i in there}) == 1 else Spread.THREAD)


def _same_in_warp(value: Value) -> bool:
    return value.spread is not Spread.THREAD and not value.is_predicate


def _all_here(e: Evaluator, mi: MachineInstr) -> bool:
    """Whether the member mask names every thread of the warp."""
    mask = e.slot(mi, "membermask").number
    return isinstance(mask, int) and e.warp.lanes & ~mask == 0


def _voted(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    if not _all_here(e, mi):
        yield from _write(mi, unknown(Spread.THREAD))
        return
    number, lanes = e.slot(mi, "a").number, e.warp.lanes
    if number is None:
        yield from _write(mi, unknown(Spread.WARP))
        return
    says = sum(1 << i for i in range(LANES) if lanes >> i & 1 and _at(number, i))
    answers = {
        Vote.ALL: says == lanes,
        Vote.ANY: says != 0,
        Vote.UNI: says in (0, lanes),
        Vote.BALLOT: says,
    }
    mode = mi.form.attributes["mode"]
    assert isinstance(mode, Vote)
    yield from _write(mi, known(int(answers[mode])))


def _agreed(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    """What all threads of the warp get alike."""
    alike = _all_here(e, mi) and mi.form.attributes.get("mode") is not Match.ANY
    for slot in ("d", "p"):
        yield from _write(mi, unknown(Spread.WARP if alike else Spread.THREAD), slot)


def _reduced(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    """What all threads get alike that come to a barrier: those of the CTA, or a count of them."""
    spread = Spread.CTA if mi.get("count") is None else Spread.WARP
    for reg in mi.defs():
        yield reg, unknown(spread)


# ---- moves -----------------------------------------------------------------------------------


def _mov(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, e.slot(mi, "a"))


def _cvt(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    value, source, wanted = e.slot(mi, "a"), mi.scalar_type("atype"), mi.scalar_type("dtype")
    if value.number is not None:
        number = _read(value, source).number
        assert number is not None
        value = Value(None, _masked(number, wanted.bits), value.spread)
    if isinstance(value.base, Zero) and wanted.bits < source.bits:
        value = unknown(value.spread)
    yield from _write(mi, value)


def _cvta(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    """A generic address of local memory is one number for all threads, but not one place."""
    if mi.form.attributes.get("space") is Space.LOCAL:
        yield from _write(mi, unknown(Spread.THREAD))
    else:
        yield from _mov(e, mi, index)


def _load(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    address = e.slot(mi, "a")
    space = mi.form.attributes.get("space")
    if isinstance(address.base, Symbol) and address.base.name in e.own:
        yield from _write(mi, unknown(Spread.THREAD))
        return
    yield from _write(mi, _loaded(address, space, mi.scalar_type()))


def _loaded(address: Value, space: object, type_: ScalarType) -> Value:
    if isinstance(address.base, Symbol) and isinstance(address.offset, int):
        name, offset = address.base.name, address.offset
        if space in PARAMS:
            return Value(Parameter(f"{name}+{offset}" if offset else name), 0, Spread.CTA)
        if (space in _SHARED or space is None) and type_.bits == 32:
            return Value(Loaded(name, offset), 0, Spread.CTA)
    if space is Space.LOCAL:
        return unknown(Spread.THREAD)  # each thread has its own
    if space in (*PARAMS, Space.CONST):
        return unknown(address.spread)
    return unknown(max(address.spread, Spread.WARP))


_RULES: dict[str, _Rule] = {
    "mov": _mov,
    "cvt.int": _cvt,
    "cvta": _cvta,
    "cvta.to": _mov,
    "ld": _load,
    "add.int": _add,
    "sub.int": _sub,
    "mul.lo": _multiply(wide=False, add=False),
    "mul.hi": _multiply_high,
    "mul.wide": _multiply(wide=True, add=False),
    "mad.lo": _multiply(wide=False, add=True),
    "mad.wide": _multiply(wide=True, add=True),
    "and": _and,
    "or": _or,
    "xor": _xor,
    "not": _not,
    "shl": _shl,
    "shr": _shr,
    "bfe": _bfe,
    "setp.int": _setp,
    "selp": _selp,
    "elect.sync": _elect,
    "shfl.sync": _shuffled,
    **dict.fromkeys(("vote.sync", "vote.sync.ballot"), _voted),
    **dict.fromkeys(("match.sync", "redux.sync"), _agreed),
    **dict.fromkeys(("bar.red", "barrier.red"), _reduced),
    **dict.fromkeys(WAITS, _waits),
}
"""By row; what is not here gives an unknown number."""
