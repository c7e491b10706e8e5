"""Abstract evaluation of a record for one warp.

Layer: isel.verifier.function.  Input: a record and the values of its operands.  Output: the values
of the registers that it writes; `arithmetic` has the operations.  PTX ISA, Integer Arithmetic,
Comparison and Selection, Logic and Shift Instructions; shfl.sync; vote.sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from intrinsics.mir import Imm, MachineInstr, Mem, Not, Op, Reg, Special, Sym, registers_of
from intrinsics.modifiers import (
    PARAM_SPACES,
    SHARED_OF_CTA,
    BoolOp,
    Compare,
    Match,
    ScalarType,
    Shuffle,
    Space,
    Vote,
)
from isel.verifier.function.flow.arithmetic import (
    ADDRESS_BITS,
    as_typed,
    calculate,
    compared,
    conjunction,
    difference,
    disjunction,
    masked,
    negated,
    selected,
    sum_of,
    without_lanes,
)
from isel.verifier.function.flow.integers import is_plain
from isel.verifier.function.flow.values import (
    LANES,
    Elected,
    Loaded,
    Parameter,
    Sixteenth,
    Spread,
    Symbol,
    Value,
    Waited,
    Zero,
    constant,
    known,
    unknown,
)
from isel.verifier.function.flow.warps import (
    Warp,
    at_lane,
    from_lanes,
    same_in_warp,
    shuffle_sources,
)

WAITS = (
    "mbarrier.test_wait",
    "mbarrier.test_wait.parity",
    "mbarrier.try_wait",
    "mbarrier.try_wait.parity",
)
"""Rows that test whether a phase of an mbarrier is complete."""


_READ_ONLY = (*PARAM_SPACES, Space.CONST)


class Evaluator:
    """The values of operands and results in one warp; `get` gives that of a register.

    Without `lanes`, numbers are not kept for each lane: an address keeps its base only.  `own` are
    parameters that each thread has for itself: those of calls, and of device functions.
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
        self.get = get if lanes else lambda reg: without_lanes(get(reg))

    def operand(self, op: Op | None) -> Value:
        """The value of an operand; for a memory operand, its address."""
        if type(op) is int:
            return self.get(op)
        match op:
            case Imm(value):
                return constant(value)
            case Sym(name, offset):
                return Value(Symbol(name), offset, Spread.CTA)
            case Mem(base, offset):
                return sum_of(self.operand(base), constant(offset), 64)
            case Special(name):
                found = self.warp.special(name)
                return found if self.lanes else without_lanes(found)
            case Not(reg):
                return negated(self.get(reg))
        return unknown(Spread.CTA)

    def results(self, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
        """The registers that `mi`, the record number `index`, writes, with their new values."""
        rule = _RULES.get(mi.row.id)
        if rule is not None and is_plain(mi):
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
        """The values of registers after a predicated write: joined with the old ones if the guard
        is unknown.
        """
        holds = self.operand(guard)
        for reg, value in found:
            yield reg, selected(value, self.get(reg), holds)

    def slot(self, mi: MachineInstr, name: str) -> Value:
        """The value of an operand, by its name."""
        return self.operand(mi.get(name))


_Rule: TypeAlias = Callable[[Evaluator, MachineInstr, int], Iterator[tuple[Reg, Value]]]


# ---- numbers ---------------------------------------------------------------------------------


def _pair(e: Evaluator, mi: MachineInstr) -> tuple[Value, Value]:
    return e.slot(mi, "a"), e.slot(mi, "b")


def _number_last(e: Evaluator, mi: MachineInstr) -> tuple[Value, Value]:
    """The operands of a commutative operation; a constant, if there is one, is second."""
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


def _add(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, sum_of(*_pair(e, mi), _bits(mi)))


def _sub(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, difference(*_pair(e, mi), _bits(mi)))


def _product(e: Evaluator, mi: MachineInstr, *, wide: bool) -> Value:
    type_ = mi.scalar_type()
    a, b = (as_typed(v, type_) for v in _pair(e, mi))
    return calculate(int.__mul__, a, b, type_.bits * (2 if wide else 1))


def _multiply(*, wide: bool, add: bool) -> _Rule:
    def rule(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
        found = _product(e, mi, wide=wide)
        if add:
            found = sum_of(found, e.slot(mi, "c"), _bits(mi) * (2 if wide else 1))
        yield from _write(mi, found)

    return rule


def _multiply_high(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    type_ = mi.scalar_type()
    a, b = (as_typed(v, type_) for v in _pair(e, mi))
    yield from _write(mi, calculate(lambda x, y: x * y >> type_.bits, a, b, type_.bits))


def _extreme(of: Callable[[int, int], int]) -> _Rule:
    """The smaller or the greater one of two numbers, as their type reads them."""

    def rule(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
        type_ = mi.scalar_type()
        a, b = (as_typed(v, type_) for v in _pair(e, mi))
        yield from _write(mi, calculate(of, a, b, type_.bits))

    return rule


# ---- bits ------------------------------------------------------------------------------------


def _and(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, conjunction(*_number_last(e, mi), _bits(mi)))


def _or(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, disjunction(*_number_last(e, mi), _bits(mi)))


def _xor(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a, b = _number_last(e, mi)
    if a.is_predicate and b.number == 1 and not isinstance(a.base, Zero):
        found = negated(a)
    else:
        found = calculate(int.__xor__, a, b, _bits(mi))
    yield from _write(mi, found)


def _not(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a = e.slot(mi, "a")
    pred = mi.scalar_type() is ScalarType.PRED
    found = negated(a) if pred else calculate(int.__xor__, a, constant(-1), _bits(mi))
    yield from _write(mi, found)


_WORD = (1 << 32) - 1
"""Shift amounts are unsigned 32-bit words."""


def _shl(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    bits = _bits(mi)
    a, b = _pair(e, mi)
    if isinstance(a.base, Sixteenth) and b.number == 4 and isinstance(a.offset, int):
        yield from _write(mi, known(a.offset * 16, Symbol(a.base.variable)))
        return
    yield from _write(mi, calculate(lambda x, n: x << min(n & _WORD, bits), a, b, bits))


def _shr(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    type_ = mi.scalar_type()
    a, b = _pair(e, mi)
    if isinstance(a.base, Symbol) and b.number == 4:
        offset = a.offset // 16 if isinstance(a.offset, int) else None
        yield from _write(mi, Value(Sixteenth(a.base.name), offset, a.spread))
        return
    last = type_.bits - 1 if type_.is_signed else type_.bits
    found = calculate(lambda x, n: x >> min(n & _WORD, last), as_typed(a, type_), b, type_.bits)
    yield from _write(mi, found if a.base is None else unknown(found.spread, a.base))


def _bfe(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    type_ = mi.scalar_type()
    a, first, count = e.slot(mi, "a"), e.slot(mi, "b").number, e.slot(mi, "c").number
    if type_.is_signed or not isinstance(first, int) or not isinstance(count, int):
        yield from _write(mi, unknown(a.spread))
        return
    first, count = first & 0xFF, count & 0xFF
    mask = (1 << count) - 1
    if isinstance(a.base, Symbol) and first == 4 and first + count >= ADDRESS_BITS:
        offset = a.offset // 16 if isinstance(a.offset, int) else None
        yield from _write(mi, Value(Sixteenth(a.base.name), offset, a.spread))
        return
    yield from _write(mi, calculate(lambda x, n: x >> n & mask, a, constant(first), type_.bits))


# ---- predicates ------------------------------------------------------------------------------


def _setp(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a, b = _pair(e, mi)
    compare = mi.form.attributes["cmp"]
    assert isinstance(compare, Compare)
    found = compared(compare, a, b, mi.scalar_type())
    for slot, value in (("p", found), ("q", negated(found))):
        yield from _write(mi, _combined(e, mi, value), slot)


def _combined(e: Evaluator, mi: MachineInstr, value: Value) -> Value:
    """The outcome of a comparison, combined with a third predicate where there is one."""
    how, third = mi.form.attributes.get("combine"), e.slot(mi, "c")
    a, b = (third, value) if third.number is None else (value, third)
    match how:
        case BoolOp.AND:
            return conjunction(a, b, ScalarType.PRED.bits)
        case BoolOp.OR:
            return disjunction(a, b, ScalarType.PRED.bits)
        case BoolOp.XOR:
            return unknown(max(a.spread, b.spread))
    return value


def _selp(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    a, b = _pair(e, mi)
    yield from _write(mi, selected(a, b, e.slot(mi, "c")))


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
        alike = from_one and same_in_warp(e.slot(mi, "b"))
        other = unknown(Spread.WARP if alike else Spread.THREAD)
        yield from _write(mi, a if same_in_warp(a) else other)
        yield from _write(mi, unknown(Spread.THREAD), "p")
        return
    sources = shuffle_sources(mode, b, bounds)
    read = [source if reached else i for i, (source, reached) in enumerate(sources)]
    yield from _write(mi, from_lanes(e.warp, a, read))
    yield from _write(mi, known(tuple(int(reached) for _, reached in sources)), "p")


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
    says = sum(1 << i for i in range(LANES) if lanes >> i & 1 and at_lane(number, i))
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
    """A result that all threads of the warp have in common."""
    alike = _all_here(e, mi) and mi.form.attributes.get("mode") is not Match.ANY
    for slot in ("d", "p"):
        yield from _write(mi, unknown(Spread.WARP if alike else Spread.THREAD), slot)


def _reduced(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    """A result that all threads of a barrier have in common: those of the CTA, or a number of
    them.
    """
    spread = Spread.CTA if mi.get("count") is None else Spread.WARP
    for reg in mi.defs():
        yield reg, unknown(spread)


# ---- moves -----------------------------------------------------------------------------------


def _mov(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    yield from _write(mi, e.slot(mi, "a"))


def _cvt(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    value, source, wanted = e.slot(mi, "a"), mi.scalar_type("atype"), mi.scalar_type("dtype")
    if value.number is not None:
        number = as_typed(value, source).number
        assert number is not None
        value = Value(None, masked(number, wanted.bits), value.spread)
    if isinstance(value.base, Zero) and wanted.bits < source.bits:
        value = unknown(value.spread)
    yield from _write(mi, value)


def _cvta(e: Evaluator, mi: MachineInstr, index: int) -> Iterator[tuple[Reg, Value]]:
    """A generic address of local memory is the same number in all threads, but not the same
    location.
    """
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
        if space in PARAM_SPACES:
            return Value(Parameter(f"{name}+{offset}" if offset else name), 0, Spread.CTA)
        if (space in SHARED_OF_CTA or space is None) and type_.bits == 32:
            return Value(Loaded(name, offset), 0, Spread.CTA)
    if space is Space.LOCAL:
        return unknown(Spread.THREAD)  # each thread has its own copy
    if space in _READ_ONLY:
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
    "min": _extreme(min),
    "max": _extreme(max),
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
"""By row; records of other rows have unknown results."""
