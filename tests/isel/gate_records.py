"""Every gate of the machine: what a row, or a rule of one, demands of the target and of PTX.

`gates` enumerates them from the rows.  For each one `shown` finds the facts of a form that has it
and breaks nothing else, and `record` makes a record of such a form, with the plainest operands.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from intrinsics.catalog import rows
from intrinsics.legality import Demand, Judgement, judge
from intrinsics.mir import (
    Block,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Op,
    form_of,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.row import Fact, Guard, Kind, Operand, Residency, Row, Rule
from intrinsics.targets import EVERYWHERE, PTX_VERSIONS, TARGETS, Capability, Ptx, Target, spell
from tests.asmprinter.strategies import CLASSES, fitting, is_whole, values_of

NEWEST = PTX_VERSIONS[-1]


@dataclass(frozen=True, slots=True)
class Gate:
    """A capability that a row demands (`rule` None), or one of its rules."""

    row: Row
    rule: Rule | None
    capability: Capability

    @property
    def id(self) -> str:
        """The rule id of the finding that says that it is shut."""
        return f"{self.row.head}/{self.rule.id if self.rule else 'target'}"

    @property
    def expected(self) -> str:
        """Who has it, in the words of every finding about a capability."""
        return f"{spell(self.capability.targets)}, PTX {self.capability.since} or later"

    def __str__(self) -> str:
        terms = self.rule.guard.terms if self.rule else ()
        shown = ",".join(
            f"{name}={'|'.join(sorted(str(getattr(f, 'value', f)) for f in facts)[:2])}"
            for name, facts in terms
        )
        return f"{self.row.id}:{self.rule.id if self.rule else 'row'}:{shown}"


def gates() -> Iterator[Gate]:
    """Every gate of every row that is shut somewhere."""
    for row in rows():
        if is_shut_somewhere(row.needs):
            yield Gate(row, None, row.needs)
        for rule in row.rules:
            if isinstance(rule.demand, Capability) and is_shut_somewhere(rule.demand):
                yield Gate(row, rule, rule.demand)


@functools.cache
def is_shut_somewhere(capability: Capability) -> bool:
    """Whether some target lacks it in some version of PTX that has the target."""
    return any(
        not capability.holds(target, ptx)
        for target in TARGETS.values()
        for ptx in PTX_VERSIONS
        if ptx >= target.first_ptx
    )


# ---- forms -----------------------------------------------------------------------------------

_STARTS, _REPAIRS = 400, 25


@functools.cache
def shown(gate: Gate) -> Mapping[str, Fact] | None:
    """The facts of a form that has this gate, breaks no rule, and has few other gates."""
    best: tuple[int, dict[str, Fact]] | None = None
    dice = random.Random(str(gate))
    for number in range(_STARTS):
        facts = _repaired(gate, _start(gate, dice, plain=not number), dice)
        if facts is None or Space.PARAM_FUNC in facts.values() or not is_whole(gate.row, facts):
            continue
        demands = len(judge(gate.row, facts).demands)
        if best is None or demands < best[0]:
            best = demands, facts
        if best[0] <= 1 + (gate.row.needs is not EVERYWHERE and gate.rule is not None):
            break
    return best[1] if best else None


def _wanted(gate: Gate) -> Mapping[str, frozenset[Fact]]:
    return dict(gate.rule.guard.terms) if gate.rule else {}


def _start(gate: Gate, dice: random.Random, *, plain: bool) -> dict[str, Fact]:
    """Facts that satisfy the gate's guard; `plain` ones leave out what may be left out."""
    wanted = _wanted(gate)
    facts: dict[str, Fact] = {}
    for name in gate.row.fact_names:
        allowed = [v for v in values_of(gate.row, name) if name not in wanted or v in wanted[name]]
        least = [v for v in allowed if v in (None, False)] or allowed
        facts[name] = least[0] if plain else dice.choice([*least, dice.choice(allowed)])
    return facts


def _repaired(gate: Gate, facts: dict[str, Fact], dice: random.Random) -> dict[str, Fact] | None:
    """The facts with what broken rules ask for, where that can be had."""
    wanted = _wanted(gate)
    for _ in range(_REPAIRS):
        broken = judge(gate.row, facts).broken
        if not broken:
            return facts
        rule = dice.choice(broken)
        demanded = rule.demand.terms if isinstance(rule.demand, Guard) else ()
        changes = [(n, v) for n, values in demanded for v in values if n in facts]
        changes += [
            (n, v) for n, _ in rule.guard.terms if n in facts for v in values_of(gate.row, n)
        ]
        changes = [(n, v) for n, v in changes if n not in wanted or v in wanted[n]]
        if not changes:
            return None
        name, value = dice.choice(sorted(changes, key=str))
        facts = {**facts, name: value}
    return None


def judgement(gate: Gate) -> Judgement:
    """What the rules say of the form of a gate."""
    facts = shown(gate)
    assert facts is not None, gate
    return judge(gate.row, facts)


def shut(demands: tuple[Demand, ...], gate: Gate) -> Iterator[tuple[Target, Ptx]]:
    """A target, and a version of PTX, where this gate is shut and, if that can be, no other.

    A version of one target is among them where the gate opens with a version.
    """
    others = [d for d in demands if d.capability is not gate.capability]
    everywhere = [
        (t, v)
        for t in TARGETS.values()
        for v in reversed(PTX_VERSIONS)
        if v >= t.first_ptx and not gate.capability.holds(t, v)
    ]
    alone = [(t, v) for t, v in everywhere if all(d.capability.holds(t, v) for d in others)]
    found = alone or everywhere
    without = next(((t, v) for t, v in found if t not in gate.capability.targets), None)
    too_old = next(((t, v) for t, v in found if t in gate.capability.targets), None)
    yield from (pair for pair in (without, too_old) if pair is not None)


# ---- records ---------------------------------------------------------------------------------


def module_of(row: Row, facts: Mapping[str, Fact], target: Target, ptx: Ptx) -> Module:
    """A module with one kernel, which has one record with these facts."""
    function = MachineFunction("k")
    form = form_of(row, **facts)
    words = row.packed_fields.pack(facts) if row.packed_fields else {}
    ops = [
        Imm(words[slot]) if operand is None else _plain(function, operand, facts)
        for slot, operand in zip(form.slots, form.operands, strict=True)
    ]
    body = [MachineInstr(form, tuple(ops))]
    if not form.is_terminator:
        body.append(MachineInstr(form_of(_ret()), ()))
    function.blocks = [Block("entry", body)]
    return Module(target, ptx, functions=[function])


@functools.cache
def _ret() -> Row:
    return next(row for row in rows() if row.id == "ret")


def _plain(function: MachineFunction, operand: Operand, facts: Mapping[str, Fact]) -> Op:
    """The plainest thing that may stand in an operand's place."""
    wanted = operand.type_under(facts)

    def register(type_: ScalarType) -> int:
        return function.regs.new(fitting(type_, CLASSES, widened=operand.widened)[0])

    match operand.kind:
        case Kind.NUMBER:
            return Imm(_number(operand, facts))
        case Kind.PREDICATE:
            return function.regs.new(ScalarType.PRED)
        case Kind.ADDRESS:
            return Mem(function.regs.new(ScalarType.B64))
        case Kind.TENSOR_ADDRESS:
            return Mem(function.regs.new(ScalarType.B32))
        case Kind.MATRIX:
            if facts[operand.name] is Residency.TENSOR:
                return Mem(function.regs.new(ScalarType.B32))
            return function.regs.new(ScalarType.B64)
        case Kind.VECTOR:
            assert operand.count is not None
            count = operand.count.of(facts)
            return tuple(register(wanted) for _ in range(count)) if count else register(wanted)
        case Kind.LABEL:
            return Label("entry")
    return register(wanted)


def _number(operand: Operand, facts: Mapping[str, Fact]) -> int:
    numbers = operand.numbers_under(facts)
    found = numbers.nearest(numbers.low or 0)
    assert found is not None, operand
    return found
