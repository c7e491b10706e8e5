"""Every gate of the machine: what a row, or a rule of one, demands of the target and of PTX.

`gates` enumerates them from the rows.  For each one `shown` finds the attributes of a form that has
it and breaks nothing else, and `record` makes a record of such a form, with the plainest operands.
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
from intrinsics.row import Attribute, Guard, Kind, Operand, Residency, Row, Rule
from intrinsics.targets import EVERYWHERE, PTX_VERSIONS, TARGETS, Capability, Ptx, Target, spell
from tests.asmprinter.operand_strategies import CLASSES, fitting, is_whole, values_of

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
            f"{name}={'|'.join(sorted(str(getattr(f, 'value', f)) for f in attributes)[:2])}"
            for name, attributes in terms
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
def shown(gate: Gate) -> Mapping[str, Attribute] | None:
    """The attributes of a form that has this gate, breaks no rule, and has few other gates."""
    best: tuple[int, dict[str, Attribute]] | None = None
    dice = random.Random(str(gate))
    for number in range(_STARTS):
        attributes = _repaired(gate, _start(gate, dice, plain=not number), dice)
        if (
            attributes is None
            or Space.PARAM_FUNC in attributes.values()
            or not is_whole(gate.row, attributes)
        ):
            continue
        demands = len(judge(gate.row, attributes).demands)
        if best is None or demands < best[0]:
            best = demands, attributes
        if best[0] <= 1 + (gate.row.needs is not EVERYWHERE and gate.rule is not None):
            break
    return best[1] if best else None


def _wanted(gate: Gate) -> Mapping[str, frozenset[Attribute]]:
    return dict(gate.rule.guard.terms) if gate.rule else {}


def _start(gate: Gate, dice: random.Random, *, plain: bool) -> dict[str, Attribute]:
    """Attributes that satisfy the gate's guard; `plain` ones leave out what may be left out."""
    wanted = _wanted(gate)
    attributes: dict[str, Attribute] = {}
    for name in gate.row.attribute_names:
        allowed = [v for v in values_of(gate.row, name) if name not in wanted or v in wanted[name]]
        least = [v for v in allowed if v in (None, False)] or allowed
        attributes[name] = least[0] if plain else dice.choice([*least, dice.choice(allowed)])
    return attributes


def _repaired(
    gate: Gate, attributes: dict[str, Attribute], dice: random.Random
) -> dict[str, Attribute] | None:
    """The attributes with what broken rules ask for, where that can be had."""
    wanted = _wanted(gate)
    for _ in range(_REPAIRS):
        broken = judge(gate.row, attributes).broken
        if not broken:
            return attributes
        rule = dice.choice(broken)
        demanded = rule.demand.terms if isinstance(rule.demand, Guard) else ()
        changes = [(n, v) for n, values in demanded for v in values if n in attributes]
        changes += [
            (n, v) for n, _ in rule.guard.terms if n in attributes for v in values_of(gate.row, n)
        ]
        changes = [(n, v) for n, v in changes if n not in wanted or v in wanted[n]]
        if not changes:
            return None
        name, value = dice.choice(sorted(changes, key=str))
        attributes = {**attributes, name: value}
    return None


def judgement(gate: Gate) -> Judgement:
    """What the rules say of the form of a gate."""
    attributes = shown(gate)
    assert attributes is not None, gate
    return judge(gate.row, attributes)


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


def module_of(row: Row, attributes: Mapping[str, Attribute], target: Target, ptx: Ptx) -> Module:
    """A module with one kernel, which has one record with these attributes."""
    function = MachineFunction("k")
    form = form_of(row, **attributes)
    words = row.packed_fields.pack(attributes) if row.packed_fields else {}
    ops = [
        Imm(words[slot]) if operand is None else _plain(function, operand, attributes)
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


def _plain(function: MachineFunction, operand: Operand, attributes: Mapping[str, Attribute]) -> Op:
    """The plainest thing that may stand in an operand's place."""
    wanted = operand.type_under(attributes)

    def register(type_: ScalarType) -> int:
        return function.regs.new(fitting(type_, CLASSES, widened=operand.widened)[0])

    match operand.kind:
        case Kind.NUMBER:
            return Imm(_number(operand, attributes))
        case Kind.PREDICATE:
            return function.regs.new(ScalarType.PRED)
        case Kind.ADDRESS:
            return Mem(function.regs.new(ScalarType.B64))
        case Kind.TENSOR_ADDRESS:
            return Mem(function.regs.new(ScalarType.B32))
        case Kind.MATRIX:
            if attributes[operand.name] is Residency.TENSOR:
                return Mem(function.regs.new(ScalarType.B32))
            return function.regs.new(ScalarType.B64)
        case Kind.VECTOR:
            assert operand.count is not None
            count = operand.count.of(attributes)
            return tuple(register(wanted) for _ in range(count)) if count else register(wanted)
        case Kind.LABEL:
            return Label("entry")
        case Kind.LABELS:
            return (Label("entry"), Label("entry"))
    return register(wanted)


def _number(operand: Operand, attributes: Mapping[str, Attribute]) -> int:
    numbers = operand.numbers_under(attributes)
    found = numbers.nearest(numbers.low or 0)
    assert found is not None, operand
    return found
