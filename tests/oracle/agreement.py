"""Compare nvgen's verdict on PTX statements with ptxas's, one by one.

nvgen reads the statements once, in the module that ptxas is given, and judges its records for each
target and PTX version.  Only the public ways into nvgen are used: its tables are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from asmprinter.ptx_reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Module
from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx
from isel.verifier.record import verify_records
from tests.oracle import ptxas


class Deliberate(NamedTuple):
    """Statements that ptxas accepts and that nvgen refuses on purpose."""

    statements: str  # a regular expression
    rule: str  # the id of nvgen's rule
    reason: str


class Difference(NamedTuple):
    """One verdict on which the two differ."""

    statement: str
    target: str
    ptx: str
    ours: tuple[str, ...]  # the rules that nvgen breaks with; () when it accepts
    theirs: tuple[str, ...]  # what ptxas complains of

    def __str__(self) -> str:
        if self.theirs:
            return f"{self.target} {self.ptx} ptxas refuses: {self.statement} {self.theirs}"
        return f"{self.target} {self.ptx} nvgen refuses: {self.statement} {self.ours}"


@dataclass(frozen=True, slots=True)
class Reading:
    """Statements as nvgen read them: what does not depend on the target."""

    statements: tuple[str, ...]
    refused: dict[int, frozenset[str]]
    """The rules that a statement breaks on every target, by its place."""

    unknown: frozenset[int]
    """The places of statements of which nvgen says that it does not know them."""

    module: Module
    """The statements that are not refused on every target."""

    places: tuple[int, ...]
    """Where the statements of the module stand among all."""

    @classmethod
    def of(cls, statements: Iterable[str]) -> Reading:
        """Let nvgen read the statements, and once more those that can be right somewhere."""
        texts = tuple(statements)
        findings = _read(texts)[1]
        unknown = frozenset(f.place.line - _FIRST for f in findings if f.incomplete)
        refused = _errors(findings)
        places = tuple(place for place in range(len(texts)) if place not in refused)
        return cls(texts, refused, unknown, _read([texts[p] for p in places])[0], places)

    def refusals(self, target: str, ptx: str) -> dict[int, frozenset[str]]:
        """The rules that each statement breaks, by its place; legal ones are not in it."""
        found = _errors(verify_records(self.module, TARGETS[target], _version(ptx), hints=False))
        whole = frozenset(rule for place, rules in found.items() if place < 0 for rule in rules)
        if whole:
            return dict.fromkeys(range(len(self.statements)), whole)
        return self.refused | {self.places[place]: rules for place, rules in found.items()}


_FIRST = ptxas.line_of(0)


def _read(statements: Sequence[str]) -> tuple[Module, list[Finding]]:
    read = read_ptx(ptxas.module_text(statements, "sm_107a", "9.5"))
    return read.module, list(read.findings)


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
    differences: list[Difference] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        self.compared += other.compared
        self.accepted += other.accepted
        self.unknown += other.unknown
        self.deliberate += other.deliberate
        self.differences += other.differences
        return self

    def __str__(self) -> str:
        return (
            f"{self.compared} verdicts compared, {self.accepted} of them legal, "
            f"{self.deliberate} refused on purpose, {self.unknown} of statements unknown to nvgen, "
            f"{len(self.differences)} different"
        )


def is_deliberate(statement: str, rules: frozenset[str], entries: Sequence[Deliberate]) -> bool:
    """Whether every rule that the statement breaks is one that it may break."""
    allowed = {e.rule for e in entries if re.search(e.statements, statement)}
    return bool(rules) and rules <= allowed


def compare(
    reading: Reading,
    target: str,
    versions: Sequence[str] = ptxas.PTX,
    deliberate: Sequence[Deliberate] = (),
) -> Tally:
    """All verdicts on the statements for one target.

    A statement that nvgen does not know is no difference as long as ptxas refuses it.
    """
    tally = Tally()
    for ptx in versions:
        ours = reading.refusals(target, ptx)
        theirs = ptxas.judge(reading.statements, target, ptx)
        for place, (statement, messages) in enumerate(zip(reading.statements, theirs, strict=True)):
            rules = ours.get(place, frozenset())
            tally.accepted += not messages
            if place in reading.unknown:
                tally.unknown += 1
                if messages:
                    continue
                rules = rules | {"unknown"}
            else:
                tally.compared += 1
            if bool(rules) == bool(messages):
                continue
            if rules and is_deliberate(statement, rules, deliberate):
                tally.deliberate += 1
                continue
            tally.differences.append(
                Difference(statement, target, ptx, tuple(sorted(rules)), tuple(messages))
            )
    return tally


def agreed(
    reading: Reading,
    target: str,
    versions: Sequence[str],
    deliberate: Sequence[Deliberate] = (),
) -> Tally:
    """All verdicts on statements that nvgen knows, none of which differs; they are counted aloud.

    Raises: AssertionError with the first statements that do.
    """
    tally = compare(reading, target, versions, deliberate)
    print(f"{target}, PTX {', '.join(versions)}: {tally}")
    assert tally.compared == len(reading.statements) * len(versions)
    lines = list(summary(tally.differences))
    assert not lines, f"{len(lines)} statements differ\n" + "\n".join(lines[:40])
    return tally


def versions_of(name: str, first: str = "") -> list[str]:
    """The PTX versions that have a target, from `first` on."""
    least = max(TARGETS[name].first_ptx, _version(first)) if first else TARGETS[name].first_ptx
    found = [str(version) for version in PTX_VERSIONS if version >= least]
    return [v for v in found if v.startswith("8")] if name.startswith("sm_101") else found


def _version(text: str) -> Ptx:
    return Ptx(*map(int, text.split(".")))


def summary(differences: Iterable[Difference]) -> Iterator[str]:
    """A line for each statement that differs, with the targets and versions where it does."""
    grouped: dict[tuple[str, tuple[str, ...]], list[Difference]] = {}
    for difference in differences:
        grouped.setdefault((difference.statement, difference.ours), []).append(difference)
    for (statement, ours), group in grouped.items():
        targets = " ".join(dict.fromkeys(d.target.removeprefix("sm_") for d in group))
        versions = " ".join(dict.fromkeys(d.ptx for d in group))
        verdict = f"nvgen {', '.join(ours)}" if ours else f"ptxas {group[0].theirs[0]}"
        yield f"{_shortened(statement)}\n    {verdict} [{targets}; {versions}]"


def _shortened(statement: str) -> str:
    """A statement without the middle of its long vectors."""
    return re.sub(r"\{([^,}]+)(?:, [^,}]+){9,}, ([^,}]+)\}", r"{\1 ... \2}", statement)
