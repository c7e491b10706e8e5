"""The record level of the verifier: the legality of each machine record, alone.

Layer: isel.  Input: records, a target and a PTX version.  Output: findings.  A record is checked
against its row (operands, packed words, rules) and against what the target and the PTX version
have; the verdict is ptxas's, but for rules that say that ptxas accepts what they reject.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from intrinsics.collector import paused_collector
from intrinsics.findings import Finding, Severity, VerificationError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.legality import (
    Demand,
    Judgement,
    describe,
    expected,
    got,
    judge,
    nearest_legal,
    section_of,
    subject_of,
    text_of,
)
from intrinsics.mir import Form, MachineFunction, MachineInstr, Module, Special
from intrinsics.modifiers import Modifier, ScalarType, Space
from intrinsics.operand_fit import PlainFit
from intrinsics.operand_problems import operand_problems
from intrinsics.operand_types import later_numbers
from intrinsics.pseudo import unexpanded
from intrinsics.row import Attribute, Problem, Row
from intrinsics.special import special_registers
from intrinsics.targets import TARGETS, Capability, Ptx, Target, spell
from isel.verifier.locations import place_of, symbol_spaces
from isel.verifier.variables import check_variables


@dataclass(frozen=True, slots=True)
class FormFacts:
    """Facts common to all records of one form with the same packed words."""

    attributes: Mapping[str, Attribute]
    problems: tuple[Problem, ...]
    judgement: Judgement


@functools.cache
def known_form(form: Form) -> FormFacts:
    """Attributes and rules of a form without packed words."""
    return FormFacts(form.attributes, (), judge(form.row, form.attributes))


class _PlainFits(dict[Form, PlainFit | None]):
    """The fast checks of operands, for the forms that are legal on a target with any operands."""

    def __init__(self, target: Target, ptx: Ptx) -> None:
        self._target = target
        self._ptx = ptx

    def __missing__(self, form: Form) -> PlainFit | None:
        found = self[form] = self._of(form)
        return found

    def _of(self, form: Form) -> PlainFit | None:
        if form.row.pseudo or form.row.packed_fields is not None:
            return None
        judgement = known_form(form).judgement
        if judgement.broken or judgement.missing(self._target, self._ptx):
            return None
        return PlainFit(form, self._has)

    def _has(self, op: Special, type_: ScalarType) -> bool:
        """Whether the target has a special register, and it can be read as a type."""
        register = special_registers().get(op.name)
        return (
            register is not None
            and type_ in register.types
            and register.needs.holds(self._target, self._ptx)
        )


_plain_fits = functools.cache(_PlainFits)


class RecordVerifier:
    """Checks records for one target and PTX version.

    Without `hints` the nearest legal form is not searched for, which is half of the work.
    """

    def __init__(self, target: Target, ptx: Ptx, *, hints: bool = True) -> None:
        self.target = target
        self.ptx = ptx
        self.hints = hints
        self._known: dict[tuple[Form, tuple[tuple[str, int], ...]], FormFacts] = {}

    def known(self, mi: MachineInstr) -> FormFacts:
        """Attributes, packed words and rules of a record."""
        if mi.row.packed_fields is None:
            return known_form(mi.form)
        words = mi.packed_fields()
        key = mi.form, tuple(words.items())
        found = self._known.get(key)
        if found is None:
            unpacked, problems = mi.row.packed_fields.unpack(words, mi.form.attributes)
            attributes = {**mi.form.attributes, **unpacked}
            found = self._known[key] = FormFacts(attributes, problems, judge(mi.row, attributes))
        return found

    def findings(
        self,
        mi: MachineInstr,
        classes: list[ScalarType],
        space_of: Callable[[str], Space | None],
    ) -> Iterator[Finding]:
        """The findings about one record; the caller adds source locations."""
        if mi.row.pseudo:
            yield unexpanded(mi)
            return
        try:
            known = self.known(mi)
        except VerificationError as unknown:
            yield from unknown.findings
            return
        row, attributes = mi.row, known.attributes
        for problem in known.problems:
            yield _of_problem(row, problem)
        for problem in operand_problems(mi.form, attributes, mi.ops, classes, space_of):
            yield _of_problem(row, problem)
        for rule in known.judgement.broken:
            yield Finding(
                f"{row.head}/{rule.id}",
                Severity.ERROR,
                text_of(rule),
                op=row.spell(attributes),
                got=got(rule, attributes),
                expected=expected(rule),
                hint=rule.hint or self._nearest(row, attributes),
                section=f"PTX ISA, {section_of(row, rule)}",
                subject=subject_of(rule),
                label=_label(attributes.get(subject_of(rule))),
            )
        for demand in known.judgement.missing(self.target, self.ptx):
            yield self._of_demand(row, attributes, demand, known.judgement)
        yield from self._later_numbers(mi, attributes)
        for operand, op in zip(mi.form.operands, mi.ops, strict=True):
            if operand is not None and isinstance(op, Special):
                yield from self._special(mi, op, operand.type_under(attributes))

    def _later_numbers(
        self, mi: MachineInstr, attributes: Mapping[str, Attribute]
    ) -> Iterator[Finding]:
        """Findings about numbers that this target does not take."""
        row = mi.row
        for operand, later in later_numbers(mi.form, mi.ops):
            if later.needs.holds(self.target, self.ptx):
                continue
            first = later.needs.first_ptx(self.target)
            subject = f"{operand.name} of {later.least} or more"
            yield Finding(
                f"{row.head}/{later.rule}",
                Severity.ERROR,
                self._missing_text(subject, later.needs),
                op=row.spell(attributes),
                got=f"target {self.target}, PTX {self.ptx}",
                expected=_where(later.needs),
                hint=f"compile for PTX {first} or later" if first else f"at most {later.least - 1}",
                section=f"PTX ISA, {row.section}, Target ISA Notes",
                subject=operand.name,
            )

    def _nearest(self, row: Row, attributes: Mapping[str, Attribute]) -> str:
        legal = nearest_legal(row, attributes, self.target, self.ptx) if self.hints else ""
        return f"the nearest legal form is {legal}" if legal else ""

    def _of_demand(
        self, row: Row, attributes: Mapping[str, Attribute], demand: Demand, judgement: Judgement
    ) -> Finding:
        rule = demand.rule
        capability = demand.capability
        subject = row.head if rule is None else _subject(rule.guard.terms, attributes)
        text = row.needs_text if rule is None else rule.text
        if not text or self.target in capability.targets:
            text = self._missing_text(subject, capability)
        return Finding(
            f"{row.head}/{rule.id if rule else 'target'}",
            Severity.ERROR,
            text,
            op=row.spell(attributes),
            got=f"target {self.target}, PTX {self.ptx}",
            expected=_where(capability),
            hint=(rule.hint if rule else "") or _elsewhere(judgement, self.target),
            section=f"PTX ISA, {section_of(row, rule)}, Target ISA Notes",
            subject=subject_of(rule) if rule else "",
            label=_label(attributes.get(subject_of(rule))) if rule else "",
        )

    def _missing_text(self, subject: str, capability: Capability) -> str:
        if self.target not in capability.targets:
            return f"{subject} is not supported on {self.target}"
        first = capability.first_ptx(self.target)
        return f"{subject} requires PTX ISA {first} or later"

    def _special(self, mi: MachineInstr, op: Special, type_: ScalarType) -> Iterator[Finding]:
        register = special_registers().get(op.name)
        if register is None:
            yield Finding(
                "mov/special-register",
                Severity.ERROR,
                f"no special register %{op.name}",
                op=mi.row.head,
                got=f"%{op.name}",
            )
            return
        if type_ not in register.types:
            yield Finding(
                "mov/special-register",
                Severity.ERROR,
                f"%{op.name} cannot be read as {type_.ptx}",
                op=mi.row.spell(mi.form.attributes),
                got=type_.ptx,
                expected=" or ".join(t.ptx for t in register.types),
                section="PTX ISA, Special Registers",
            )
        if not register.needs.holds(self.target, self.ptx):
            yield Finding(
                "mov/special-register-target",
                Severity.ERROR,
                self._missing_text(f"%{op.name}", register.needs),
                op=mi.row.spell(mi.form.attributes),
                got=f"target {self.target}, PTX {self.ptx}",
                expected=_where(register.needs),
                section="PTX ISA, Special Registers",
            )


def _of_problem(row: Row, problem: Problem) -> Finding:
    return Finding(
        f"{row.head}/{problem.rule}",
        Severity.ERROR,
        problem.text,
        op=row.head,
        got=problem.got,
        expected=problem.expected,
        section=f"PTX ISA, {row.section}",
        subject=problem.subject,
        hint=problem.hint,
    )


def _label(attribute: Attribute) -> str:
    return attribute.ptx[1:] if isinstance(attribute, Modifier) else ""


def _subject(
    terms: tuple[tuple[str, frozenset[Attribute]], ...], attributes: Mapping[str, Attribute]
) -> str:
    shown = []
    for name, _ in terms:
        attribute = attributes.get(name)
        if attribute is None:
            continue
        shown.append(f"the operand {name}" if attribute is True else describe(attribute))
    return " with ".join(shown)


def _where(capability: Capability) -> str:
    return f"{spell(capability.targets)}, PTX {capability.since} or later"


def _elsewhere(judgement: Judgement, target: Target) -> str:
    first = judgement.first_ptx(target)
    if first is not None:
        return f"compile for PTX {first} or later"
    targets = judgement.targets()
    return f"the form runs on {spell(targets)}" if targets else ""


_REGISTER = re.compile(r"%([0-9]+)(?![\w.])")


def _named(finding: Finding, function: MachineFunction) -> Finding:
    """The finding with the registers' names in place of their numbers, where they were read from
    PTX.
    """
    if not function.keep_names or "%" not in finding.got:
        return finding
    names = function.regs.names
    shown = _REGISTER.sub(
        lambda m: names[int(m[1])] if int(m[1]) < len(names) else m[0], finding.got
    )
    return replace(finding, got=shown)


def check_target(target: Target, ptx: Ptx) -> list[Finding]:
    """The finding that PTX version `ptx` does not have `target`, if so."""
    if ptx >= target.first_ptx:
        return []
    possible = [t.name for t in TARGETS.values() if t.first_ptx <= ptx]
    return [
        Finding(
            "target/ptx-version",
            Severity.ERROR,
            f"PTX ISA {ptx} does not have target {target}",
            got=f"PTX {ptx}",
            expected=f"PTX {target.first_ptx} or later",
            hint=f"PTX {ptx} has {', '.join(possible)}",
            section="PTX ISA, Target directive",
        )
    ]


@paused_collector()
def verify_records(
    module: Module, target: Target, ptx: Ptx, *, hints: bool = True
) -> list[Finding]:
    """The findings about every record of `module`, those of one record together.

    Source locations are the records'.  Without `hints` only the verdict is computed.
    """
    found = [*check_target(target, ptx), *check_variables(module)]
    verifier = RecordVerifier(target, ptx, hints=hints)
    plain_fits = _plain_fits(target, ptx)
    for function in module.functions:
        spaces = symbol_spaces(module, function)
        classes = function.regs.classes
        space_of = spaces.get
        odd = [
            mi
            for block in function.blocks
            for mi in block.instrs
            if (fit := plain_fits[mi.form]) is None or not fit.holds(mi.ops, classes, space_of)
        ]
        for mi in odd:  # few: the fast check accepts most
            if mi.row.id == "opaque":
                continue
            for finding in verifier.findings(mi, classes, space_of):
                location = module.locations[mi.loc]
                found.append(_named(finding, function).at(place_of(location, function.name)))
    return found
