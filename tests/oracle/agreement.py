"""Compare nvgen's verdict on PTX statements with ptxas's, one by one.

nvgen reads the statements once, in the module that ptxas is given, and judges its records for each
target and PTX version; what ptxas says comes from `tests.oracle.evidence`.  Only the public ways
into nvgen are used: its tables are not looked at.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Block, MachineInstr, Module
from intrinsics.targets import TARGETS, Ptx
from isel.verifier.record import verify_records
from tests.oracle import ptxas
from tests.oracle.evidence import DAYS, LEGAL, REFUSED, UNKNOWN, Answers, complaints, options
from tests.oracle.verdict_file import Pair


class Deliberate(NamedTuple):
    """Statements that ptxas accepts and that nvgen refuses on purpose."""

    statements: str  # a regular expression
    rule: str  # the id of nvgen's rule; "" is any but that nvgen does not know the statement
    reason: str


class Difference(NamedTuple):
    """One verdict on which the two differ."""

    statement: str
    pair: Pair
    ours: tuple[str, ...]  # the rules that nvgen breaks with; () when it accepts


@dataclass(frozen=True, slots=True)
class Reading:
    """Statements as nvgen read them: what does not depend on the target."""

    statements: tuple[str, ...]
    refused: dict[int, frozenset[str]]
    """The rules that a statement breaks on every target, by its place."""

    unknown: frozenset[int]
    """The places of statements of which nvgen says that it does not know them."""

    module: Module
    """Their module, without records."""

    records: dict[int, list[MachineInstr]]
    """The records of those that are not refused on every target, by their places."""

    read: tuple[int, ...]
    """The places of the statements that were read; nothing is known of the others."""

    @classmethod
    def of(cls, statements: Iterable[str], places: Iterable[int] | None = None) -> Reading:
        """Let nvgen read the statements, or those at some places."""
        texts = tuple(statements)
        chosen = (*range(len(texts)),) if places is None else (*places,)
        read = read_ptx(ptxas.module_text([texts[place] for place in chosen], "sm_107a", "9.5"))
        unknown = frozenset(chosen[f.place.line - _FIRST] for f in read.findings if f.incomplete)
        assert all(line >= 0 for line in _errors(read.findings)), "the preamble is refused"
        refused = {chosen[line]: rules for line, rules in _errors(read.findings).items()}
        records: dict[int, list[MachineInstr]] = {}
        for function in read.module.functions:
            for mi in function.instructions():
                place = chosen[read.module.locations[mi.loc].line - _FIRST]
                if place not in refused:
                    records.setdefault(place, []).append(mi)
        return cls(texts, refused, unknown, _with(read.module, []), records, chosen)

    def refusals(
        self, pair: Pair, places: Iterable[int] | None = None
    ) -> dict[int, frozenset[str]]:
        """The rules that statements break, by their places; legal ones are not in it.

        Without `places` all statements are judged.
        """
        places = self.read if places is None else [*places]
        target, version = TARGETS[pair.target], _version(pair.ptx)
        whole = _errors(verify_records(self.module, target, version, hints=False))
        if whole:
            rules = frozenset(itertools.chain(*whole.values()))
            return dict.fromkeys(places, rules)
        asked = [mi for place in places for mi in self.records.get(place, ())]
        found = verify_records(_with(self.module, asked), target, version, hints=False)
        read = {place: self.refused[place] for place in places if place in self.refused}
        return read | {self.read[line]: rules for line, rules in _errors(found).items()}


_FIRST = ptxas.line_of(0)


def _with(module: Module, records: list[MachineInstr]) -> Module:
    """A module of one function that has these records instead of its own."""
    (function,) = module.functions
    return replace(module, functions=[replace(function, blocks=[Block("all", records)])])


def _errors(findings: Iterable[Finding]) -> dict[int, frozenset[str]]:
    """The rules of the errors, by the place of the statement; below 0 is the preamble."""
    rules: dict[int, set[str]] = {}
    for finding in findings:
        if finding.severity is Severity.ERROR:
            rules.setdefault(finding.place.line - _FIRST, set()).add(finding.rule)
    return {place: frozenset(broken) for place, broken in rules.items()}


@dataclass(slots=True)
class Tally:
    """How many verdicts were compared, and how they came out."""

    compared: int = 0
    accepted: int = 0
    unknown: int = 0
    deliberate: int = 0
    unanswered: int = 0
    differences: list[Difference] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        self.compared += other.compared
        self.accepted += other.accepted
        self.unknown += other.unknown
        self.deliberate += other.deliberate
        self.unanswered += other.unanswered
        self.differences += other.differences
        return self

    def __str__(self) -> str:
        return (
            f"{self.compared} verdicts compared, {self.accepted} of them legal, "
            f"{self.deliberate} refused on purpose, {self.unknown} of statements unknown to nvgen, "
            f"{self.unanswered} without an answer of ptxas, {len(self.differences)} different"
        )


def is_deliberate(statement: str, rules: frozenset[str], entries: Sequence[Deliberate]) -> bool:
    """Whether every rule that the statement breaks is one that it may break."""
    allowed = {e.rule for e in entries if re.search(e.statements, statement)}
    if _NOT_KNOWN in rules:
        return _NOT_KNOWN in allowed
    return bool(rules) and (rules <= allowed or "" in allowed)


_NOT_KNOWN = "unknown"
"""What stands for a rule where nvgen does not know a statement."""


def compare(
    reading: Reading,
    answers: Answers,
    pairs: Sequence[Pair],
    deliberate: Sequence[Deliberate] = (),
) -> Tally:
    """The verdicts on the statements for some targets and PTX versions.

    Which of them nvgen is asked for is said by `Answers.cells`.  A statement that nvgen does not
    know is no difference as long as ptxas refuses it.
    """
    assert answers.statements == reading.statements
    tally = Tally()
    unknown = np.zeros(len(reading.statements), np.bool_)
    unknown[[*reading.unknown]] = True
    chosen = answers.cells(pairs)
    for pair, column in zip(pairs, chosen.T, strict=True):
        theirs = np.where(column, answers.verdicts(pair), UNKNOWN)
        places = np.flatnonzero(theirs != UNKNOWN)
        tally.unanswered += int(column.sum()) - places.size
        tally.unknown += int(unknown[places].sum())
        tally.compared += int((~unknown[places]).sum())
        tally.accepted += int((theirs == LEGAL).sum())
        broken = reading.refusals(pair, (int(place) for place in places))
        ours = np.full(len(reading.statements), LEGAL, np.int8)
        ours[[*broken]] = REFUSED
        ours[unknown] = REFUSED
        for place in places[ours[places] != theirs[places]]:
            statement, rules = reading.statements[place], broken.get(int(place), frozenset())
            if unknown[place]:
                rules |= {_NOT_KNOWN}
            if rules and is_deliberate(statement, rules, deliberate):
                tally.deliberate += 1
                continue
            tally.differences.append(Difference(statement, pair, tuple(sorted(rules))))
    return tally


def agreed(
    reading: Reading,
    answers: Answers,
    pairs: Sequence[Pair],
    deliberate: Sequence[Deliberate] = (),
) -> Tally:
    """All verdicts on statements, none of which differs; they are counted aloud.

    The test is skipped where statements without a record are left and there is no ptxas.

    Raises: AssertionError with the first statements that do.
    """
    tally = compare(reading, answers, pairs, deliberate)
    print(f"{len(reading.statements)} statements, {len(pairs)} pairs from {pairs[0]}: {tally}")
    assert not tally.differences, summary(tally.differences)
    if tally.unanswered:
        pytest.skip(f"{tally.unanswered} verdicts are not recorded, and there is no ptxas to ask")
    judged = tally.compared + tally.unknown
    every = len(reading.statements) * len(pairs)
    least = 0 if options().daily else len(reading.statements) // DAYS
    assert judged == every if options().live else least <= judged <= every
    return tally


def agreed_today(
    statements: Iterable[str], pairs: Sequence[Pair], deliberate: Sequence[Deliberate], *names: str
) -> Tally:
    """`agreed`, of statements on all pairs at once: nvgen reads those that it is asked about."""
    texts = tuple(statements)
    answers = Answers(texts, *names)
    return agreed(Reading.of(texts, asked(answers, pairs)), answers, pairs, deliberate)


def asked(answers: Answers, *several: Sequence[Pair]) -> list[int]:
    """The places of the statements about which nvgen is asked, for some lists of pairs."""
    chosen = [answers.cells(pairs).any(axis=1) for pairs in several]
    return np.flatnonzero(np.any(chosen, axis=0)).tolist()


def rules_against_ptxas(
    statements: Iterable[str], entry: Deliberate, pairs: Iterable[Pair], *names: str
) -> set[str]:
    """nvgen's rules against what ptxas accepts, in statements that an entry describes."""
    texts = [text for text in statements if re.search(entry.statements, text)]
    answers = Answers(texts, *names)
    legal = {pair: np.flatnonzero(answers.verdicts(pair) == LEGAL).tolist() for pair in pairs}
    reading = Reading.of(texts, sorted(set().union(*legal.values())))
    refused = [reading.refusals(pair, places) for pair, places in legal.items()]
    return {rule for broken in refused for rules in broken.values() for rule in rules}


def _version(text: str) -> Ptx:
    return Ptx(*map(int, text.split(".")))


def summary(differences: Iterable[Difference], most: int = 40) -> str:
    """The statements that differ, with the targets and versions where they do; "" for none.

    ptxas is asked what it complains of.
    """
    grouped: dict[tuple[str, tuple[str, ...]], list[Difference]] = {}
    for difference in differences:
        grouped.setdefault((difference.statement, difference.ours), []).append(difference)
    if not grouped:
        return ""
    shown = [_line(group) for group in itertools.islice(grouped.values(), most)]
    return "\n".join([f"{len(grouped)} statements differ (seed {options().seed})", *shown])


def _line(group: Sequence[Difference]) -> str:
    """What is said of a statement with several differences."""
    statement, pair, ours = group[0]
    targets = " ".join(dict.fromkeys(d.pair.target.removeprefix("sm_") for d in group))
    versions = " ".join(dict.fromkeys(d.pair.ptx for d in group))
    verdict = f"nvgen {', '.join(ours)}" if ours else f"ptxas {complaints(statement, pair)[0]}"
    return f"{_shortened(statement)}\n    {verdict} [{targets}; {versions}]"


def _shortened(statement: str) -> str:
    """A statement without the middle of its long vectors."""
    return re.sub(r"\{([^,}]+)(?:, [^,}]+){9,}, ([^,}]+)\}", r"{\1 ... \2}", statement)
