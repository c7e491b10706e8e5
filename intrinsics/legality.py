"""Is this form legal?  The rows' rules, evaluated.

Layer: intrinsics.  Input: a row with the facts of one record (axis values, which operands are
there), or a form with its operands.  Output: which rules are broken, what the target must have, and
what would be legal instead.  What does not depend on the target is computed once per distinct set
of facts and kept, so judging the same form for another target costs a table look-up.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from intrinsics.mir import (
    FloatImm,
    Form,
    Imm,
    Label,
    Mem,
    Not,
    Op,
    Sink,
    Special,
    Sym,
    Text,
)
from intrinsics.modifiers import Modifier, ScalarType, Space
from intrinsics.row import (
    Access,
    Fact,
    Facts,
    Guard,
    Kind,
    Operand,
    Problem,
    Row,
    Rule,
    VectorNumbers,
)
from intrinsics.targets import (
    EVERYWHERE,
    PTX_VERSIONS,
    TARGETS,
    Capability,
    Ptx,
    Target,
    TargetSet,
    spell,
)


@dataclass(frozen=True, slots=True)
class Demand:
    """A capability that the target must have, and the rule that says so (None: the row itself)."""

    capability: Capability
    rule: Rule | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules say of one set of facts, whatever the target."""

    row: Row
    broken: tuple[Rule, ...]
    demands: tuple[Demand, ...]

    def first_ptx(self, target: Target) -> Ptx | None:
        """The lowest PTX version in which `target` takes the form; None if it never does."""
        versions = [d.capability.first_ptx(target) for d in self.demands]
        known = [v for v in versions if v is not None]
        if len(known) < len(versions):
            return None
        return max(known, default=max(target.first_ptx, PTX_VERSIONS[0]))

    def missing(self, target: Target, ptx: Ptx) -> tuple[Demand, ...]:
        """The demands that `target` at `ptx` does not meet."""
        return _missing(self.demands, target, ptx)

    def targets(self) -> TargetSet:
        """The targets that can have the form in some PTX version."""
        result: TargetSet = frozenset(TARGETS.values())
        for demand in self.demands:
            result &= demand.capability.targets
        return result


@functools.cache
def _missing(demands: tuple[Demand, ...], target: Target, ptx: Ptx) -> tuple[Demand, ...]:
    return tuple(d for d in demands if not d.capability.holds(target, ptx))


def judge(row: Row, facts: Facts) -> Judgement:
    """Evaluate every rule of `row` on `facts`."""
    return _judge(row, tuple(facts.get(name) for name in row.fact_names))


@functools.cache
def _judge(row: Row, values: tuple[Fact, ...]) -> Judgement:
    facts = dict(zip(row.fact_names, values, strict=True))
    broken: list[Rule] = []
    demands = [Demand(row.needs, None)] if row.needs is not EVERYWHERE else []
    for rule in (*row.rules, *_implied_rules(row)):
        if not rule.guard.holds(facts):
            continue
        if isinstance(rule.demand, Capability):
            demands.append(Demand(rule.demand, rule))
        elif not (isinstance(rule.demand, Guard) and rule.demand.holds(facts)):
            broken.append(rule)
    return Judgement(row, tuple(broken), tuple(demands))


@functools.cache
def _implied_rules(row: Row) -> tuple[Rule, ...]:
    """The rules that the row's syntax states: tied modifiers and operands, operands in groups."""
    rules = []
    for axis, operand in row.tied.items():
        present = frozenset(row.axis[axis].values)
        given = frozenset[Fact]([True])
        word = row.axis[axis].values[0].ptx
        rules.append(
            Rule(
                "operands",
                Guard(((axis, present),)),
                Guard(((operand, given),)),
                f"{word} takes the operand {operand}",
            )
        )
        rules.append(
            Rule(
                "operands",
                Guard(((operand, given),)),
                Guard(((axis, present),)),
                f"the operand {operand} needs {word}",
            )
        )
    return tuple(rules)


# ---- in words --------------------------------------------------------------------------------


def describe(fact: Fact) -> str:
    """A fact as the user wrote it."""
    if isinstance(fact, Modifier):
        return fact.ptx
    return {True: "given", False: "absent", None: "absent"}[fact]


def expected(rule: Rule) -> str:
    """What a broken rule would have liked instead, computed from its demand."""
    if isinstance(rule.demand, Capability):
        return f"{spell(rule.demand.targets)}, PTX {rule.demand.since} or later"
    if isinstance(rule.demand, Guard):
        return "; ".join(
            f"{name}: " + " or ".join(sorted(describe(f) for f in allowed))
            for name, allowed in rule.demand.terms
        )
    return "not " + " with ".join(
        " or ".join(sorted(describe(f) if isinstance(f, Modifier) else name for f in allowed))
        for name, allowed in rule.guard.terms
    )


def got(rule: Rule, facts: Facts) -> str:
    """What stood there where `rule` was broken."""
    names = [name for name, _ in rule.guard.terms]
    if isinstance(rule.demand, Guard):
        names += [name for name, _ in rule.demand.terms if name not in names]
    shown = []
    for name in names:
        fact = facts.get(name)
        shown.append(fact.ptx if isinstance(fact, Modifier) else f"{name} {describe(fact)}")
    return ", ".join(shown)


def text_of(rule: Rule) -> str:
    """The rule's message: its own text, or one made from its demand."""
    return rule.text or f"expected {expected(rule)}"


# ---- what would be legal ---------------------------------------------------------------------


@functools.cache
def _nearest(row: Row, values: tuple[Fact, ...], target: Target, ptx: Ptx) -> str:
    facts = dict(zip(row.fact_names, values, strict=True))
    for count in (1, 2):
        for names in itertools.combinations(row.axis, count):
            for change in itertools.product(*(_others(row, n, facts) for n in names)):
                candidate = {**facts, **dict(zip(names, change, strict=True))}
                verdict = judge(row, candidate)
                if not verdict.broken and not verdict.missing(target, ptx):
                    return row.spell(candidate)
    return ""


def _others(row: Row, axis: str, facts: Facts) -> Iterator[Fact]:
    return (fact for fact in row.axis[axis].facts if fact is not facts.get(axis))


def nearest_legal(row: Row, facts: Facts, target: Target, ptx: Ptx) -> str:
    """The spelling of the legal form that differs least from `facts`, or "" if none is near."""
    return _nearest(row, tuple(facts.get(name) for name in row.fact_names), target, ptx)


# ---- operands --------------------------------------------------------------------------------

SpaceOf = Callable[[str], Space | None]
"""Gives the state space of a symbol, or None when it is unknown."""


def operand_problems(
    form: Form, facts: Facts, ops: Sequence[Op], classes: Sequence[ScalarType], space_of: SpaceOf
) -> Iterator[Problem]:
    """What is wrong with the operands of a record: kinds, register classes, counts, numbers."""
    for operand, op in zip(form.operands, ops, strict=True):
        if operand is not None:
            yield from _operand_problems(facts, operand, op, classes, space_of)


def _operand_problems(
    facts: Facts, operand: Operand, op: Op, classes: Sequence[ScalarType], space_of: SpaceOf
) -> Iterator[Problem]:
    wrong = functools.partial(_mismatch, operand, op, classes)
    match operand.kind:
        case Kind.REGISTER:
            if op is Sink.SINK and operand.sink:
                return
            if not (type(op) is int and _fits(operand, facts, classes[op])):
                yield wrong(facts)
        case Kind.VALUE:
            if type(op) is int:
                if not _fits(operand, facts, classes[op]):
                    yield wrong(facts)
            elif not _number_fits(operand.type_under(facts), op):
                yield wrong(facts)
            elif isinstance(op, Imm) and not operand.numbers_under(facts).accepts(op.value):
                yield _out_of_range(operand, facts, op.value)
        case Kind.NUMBER:
            if not isinstance(op, Imm):
                yield Problem("operands", f"{operand.name} must be a number", _shown(op, classes))
            elif not operand.numbers_under(facts).accepts(op.value):
                yield _out_of_range(operand, facts, op.value)
        case Kind.PREDICATE:
            inner = op.reg if isinstance(op, Not) and operand.negatable else op
            if type(inner) is int:
                if classes[inner] is not ScalarType.PRED:
                    yield wrong(facts)
            elif not (isinstance(op, Imm) and operand.number_too):
                yield wrong(facts)
        case Kind.ADDRESS:
            yield from _address_problems(facts, operand, op, classes, space_of)
        case Kind.TENSOR_ADDRESS:
            yield from _tensor_address_problems(operand, op, classes)
        case Kind.MATRIX:
            if isinstance(op, Mem):
                yield from _tensor_address_problems(operand, op, classes)
            elif type(op) is int:
                if classes[op].bits != 64 or classes[op].kind not in "bi":
                    yield wrong(facts)
            elif not isinstance(op, Imm):
                yield wrong(facts)
        case Kind.VECTOR:
            yield from _vector_problems(facts, operand, op, classes)
        case Kind.LABEL:
            if not isinstance(op, Label):
                yield Problem("operands", f"{operand.name} must be a label", _shown(op, classes))
        case Kind.TEXT | Kind.PHI:
            return
        case Kind.SOURCE:
            yield from _source_problems(facts, operand, op, classes)


def _fits(operand: Operand, facts: Facts, cls: ScalarType) -> bool:
    wanted = operand.type_under(facts)
    return fits(wanted, cls, widened=operand.widened)


def fits(wanted: ScalarType, cls: ScalarType, *, widened: bool = False) -> bool:
    """Whether a register of class `cls` may stand where an instruction wants type `wanted`.

    Untyped bits agree with everything of their width; signedness never matters.
    PTX ISA, Instruction Statements: Type Information for Instructions and Operands.
    """
    if (wanted is ScalarType.PRED) != (cls is ScalarType.PRED):
        return False
    if cls.bits != wanted.bits and not (widened and cls.bits > wanted.bits):
        return False
    return wanted.kind == "b" or cls.kind in ("b", wanted.kind)


def _number_fits(wanted: ScalarType, op: Op) -> bool:
    if isinstance(op, Imm):
        return wanted.kind != "f"
    return isinstance(op, FloatImm) and wanted in (ScalarType.F32, ScalarType.F64)


def _address_problems(
    facts: Facts, operand: Operand, op: Op, classes: Sequence[ScalarType], space_of: SpaceOf
) -> Iterator[Problem]:
    if not isinstance(op, Mem):
        yield _mismatch(operand, op, classes, facts)
        return
    if isinstance(op.base, int):
        cls = classes[op.base]
        if cls.kind not in "bi":
            yield Problem(
                "operands",
                "an address is an integer or untyped register",
                f"%{op.base} of type .{cls.value}",
                ".b32 or .b64",
            )
        return
    wanted = operand.space if not isinstance(operand.space, str) else facts.get(operand.space)
    found = space_of(op.base.name)
    if isinstance(wanted, Space) and found is not None and not _same_window(wanted, found):
        yield Problem(
            "operands",
            "state space mismatch between instruction and address",
            f"{op.base.name} in .{found.value}",
            f".{wanted.value}",
        )


def _same_window(wanted: Space, found: Space) -> bool:
    shared = (Space.SHARED, Space.SHARED_CTA, Space.SHARED_CLUSTER)
    parameters = (Space.PARAM, Space.PARAM_ENTRY, Space.PARAM_FUNC)
    for window in (shared, parameters):
        if wanted in window:
            return found in window
    return wanted is found


def _tensor_address_problems(
    operand: Operand, op: Op, classes: Sequence[ScalarType]
) -> Iterator[Problem]:
    if isinstance(op, Mem) and isinstance(op.base, int):
        cls = classes[op.base]
        good = cls is ScalarType.B32 if operand.untyped else cls.bits == 32 and cls.kind in "bi"
        if not good:
            yield Problem(
                "operands",
                f"{operand.name} is a 32-bit tensor memory address",
                f"[%{op.base}] of type .{cls.value}",
                "a .b32 register",
            )
    elif not (isinstance(op, Mem) and not operand.untyped):
        yield Problem(
            "operands",
            f"{operand.name} is a tensor memory address in brackets",
            _shown(op, classes),
            "[register + number]",
        )


def _vector_problems(
    facts: Facts, operand: Operand, op: Op, classes: Sequence[ScalarType]
) -> Iterator[Problem]:
    assert operand.count is not None
    count = operand.count.of(facts)
    if not count:
        if type(op) is int and _fits(operand, facts, classes[op]):
            return
        numbers = operand.vector_numbers is not VectorNumbers.NONE
        if not (numbers and _number_fits(operand.type_under(facts), op)):
            yield _mismatch(operand, op, classes, facts)
        return
    if not isinstance(op, tuple):
        yield Problem(
            "operands", f"{operand.name} is a vector", _shown(op, classes), f"{{…}} of {count}"
        )
        return
    if len(op) != count:
        yield Problem(
            "vector-size", f"{operand.name} has {len(op)} registers", str(len(op)), str(count)
        )
    wanted = operand.type_under(facts)
    for part in op:
        if type(part) is int:
            if not fits(wanted, classes[part], widened=operand.widened):
                yield _mismatch(operand, part, classes, facts)
        elif part is Sink.SINK and operand.sink:
            continue
        elif operand.vector_numbers is VectorNumbers.NONE or not _number_fits(wanted, part):
            yield _mismatch(operand, part, classes, facts)
    if operand.vector_numbers is VectorNumbers.SOME and not any(type(p) is int for p in op):
        yield Problem(
            "operands", f"{operand.name} needs at least one register", _shown(op, classes)
        )


def _source_problems(
    facts: Facts, operand: Operand, op: Op, classes: Sequence[ScalarType]
) -> Iterator[Problem]:
    wanted = operand.type_under(facts)
    if type(op) is int:
        if not fits(wanted, classes[op]):
            yield _mismatch(operand, op, classes, facts)
    elif isinstance(op, (Imm, FloatImm)):
        if not _number_fits(wanted, op):
            yield _mismatch(operand, op, classes, facts)
    elif isinstance(op, (Sym, Mem, Special)):
        if wanted.kind not in "bi" or wanted.bits not in (32, 64):
            yield _mismatch(operand, op, classes, facts)
    else:
        yield _mismatch(operand, op, classes, facts)


def _out_of_range(operand: Operand, facts: Facts, value: int) -> Problem:
    return Problem(
        "immediate-range",
        f"{operand.name} is out of range",
        str(value),
        str(operand.numbers_under(facts)),
    )


def _mismatch(operand: Operand, op: Op, classes: Sequence[ScalarType], facts: Facts) -> Problem:
    wanted = operand.kind.value
    if operand.kind in (Kind.REGISTER, Kind.VALUE, Kind.VECTOR, Kind.SOURCE):
        wanted += f" of type .{operand.type_under(facts).value}"
    verb = "writes" if operand.access is Access.WRITE else "takes"
    return Problem("operands", f"{operand.name} {verb} a {wanted}", _shown(op, classes), wanted)


def _shown(op: Op, classes: Sequence[ScalarType]) -> str:
    match op:
        case int():
            return f"%{op} of type .{classes[op].value}"
        case Imm(value):
            return f"the number {value}"
        case FloatImm():
            return "a floating-point number"
        case tuple():
            return f"a vector of {len(op)}"
        case Mem():
            return "an address in brackets"
        case Not(reg):
            return f"!%{reg}"
        case Sink():
            return "_"
        case Sym(name) | Special(name) | Label(name) | Text(name):
            return name
