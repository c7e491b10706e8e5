"""Sentences of the manual's tcgen05 chapter that forbid something, each with a CLEAN and a MISTAKE.

A `Row` has two statements.  nvgen finds nothing in the one and breaks the named rule with the
other; ptxas takes the one, and refuses the other where `refused` says that it looks.  What ptxas
does not look at, the manual's words decide: the sentence, in words of ours.  A row may also have
several statements in a line, which bring a constant into a register.

An `Issued` is a sentence about what one thread issues, in a kernel that allocates and frees; its
two bodies are judged at the level of functions.

A `Held` is a sentence about what several statements do together.  Its mistake is one edit of a
right kernel in tests/isel/verifier: `function_mistakes` or `function_sync_mistakes`, where both are
judged.  A `Told` is one whose mistakes are mutants of `test_canonical_patterns` there.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from intrinsics.findings import Severity
from isel.verifier.descriptors.check import verify_descriptors
from nvgen.compilation.options import Options
from nvgen.loading import load
from tests.each import Test, each
from tests.isel.verifier.descriptors.descriptor_words import found_in
from tests.isel.verifier.function import function_mistakes, function_sync_mistakes
from tests.isel.verifier.function.tensor_kernels import issuing, said
from tests.isel.verifier.patterns.test_canonical_patterns import ALL
from tests.oracle import ptxas
from tests.oracle.verdict_file import Pair

_KERNELS = function_mistakes.MISTAKES | function_sync_mistakes.MISTAKES


class Sentence(Protocol):
    """What the manual says, in words of ours."""

    @property
    def sentence(self) -> str:
        """The words, by which a case is called."""


Said = TypeVar("Said", bound=Sentence)


@dataclass(frozen=True, slots=True)
class Row:
    """A sentence, a statement that keeps to it, one that does not, and the rule that says so."""

    sentence: str
    clean: str
    mistake: str
    rule: str
    refused: bool = False
    target: str = "sm_100a"
    ptx: str = "9.0"
    elsewhere: str = ""

    @property
    def is_alone(self) -> bool:
        """Whether it has one statement on either side, and ptxas can be asked."""
        return self.clean.count(";") == self.mistake.count(";") == 1

    @property
    def at(self) -> Pair:
        """The target and version of the mistake."""
        return Pair(self.target, self.ptx)

    @property
    def clean_at(self) -> Pair:
        """Those of the clean statement: of the same, unless the sentence is about targets."""
        target, _, version = self.elsewhere.partition(" ")
        return Pair(target or self.target, version or self.ptx)


@dataclass(frozen=True, slots=True)
class Issued:
    """A sentence, what a thread may issue, what it may not, and the rule that says so."""

    sentence: str
    clean: str
    mistake: str
    rule: str


@dataclass(frozen=True, slots=True)
class Held:
    """A sentence about a kernel, the rule that says so, and the mistakes that show it."""

    sentence: str
    rule: str
    mistakes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence about a kernel, its section, and the mutants of right kernels that show it."""

    sentence: str
    section: str
    mutants: tuple[str, ...]


@functools.cache
def _said(statements: tuple[str, ...], pair: Pair) -> dict[int, set[str]]:
    """The rules that each of some statements breaks, by its place."""
    program = load("m.ptx", ptxas.module_text(statements, *pair), Options(level="record"))
    doubts = verify_descriptors(program.module)
    found: dict[int, set[str]] = defaultdict(set)
    for finding in (*program.findings, *doubts):
        if finding.severity is not Severity.NOTE:
            found[finding.place.line].add(finding.rule)
    return {n: found[ptxas.line_of(n)] for n in range(len(statements))}


@functools.cache
def _accepted(statements: tuple[str, ...], pair: Pair) -> tuple[bool, ...] | None:
    """Which of the statements ptxas takes; None where there is no ptxas."""
    try:
        return tuple(not messages for messages in ptxas.judge(statements, *pair))
    except ptxas.PtxasMissingError:
        return None


def _both(
    rows: Sequence[Row], row: Row, pair: Pair, statement: str
) -> tuple[set[str], bool | None]:
    """The rules that a statement breaks, and whether ptxas takes it, if it is asked.

    A statement is judged together with all others of its file.
    """
    if not row.is_alone:
        found = found_in(statement, pair.target)
        return {f.rule for f in found if f.severity is not Severity.NOTE}, None
    alone = [r for r in rows if r.is_alone]
    here = {r.mistake: None for r in alone if r.at == pair}
    texts = tuple(here | {r.clean: None for r in alone if r.clean_at == pair})
    place, accepted = texts.index(statement), _accepted(texts, pair)
    return _said(texts, pair)[place], None if accepted is None else accepted[place]


def _holds(rows: Sequence[Row], row: Row) -> None:
    """Check a row of a file."""
    rules, accepted = _both(rows, row, row.clean_at, row.clean)
    assert rules == set(), row.clean
    assert accepted in (True, None), row.clean
    rules, accepted = _both(rows, row, row.at, row.mistake)
    assert row.rule in rules, (row.mistake, rules)
    assert accepted in (not row.refused, None), row.mistake


def _is_issued(issued: Issued) -> None:
    """Check that the one body is clean, and the other breaks the rule."""
    assert said(issuing(issued.clean)) == []
    assert issued.rule in {f.rule for f in said(issuing(issued.mistake))}


def _is_held(held: Held) -> None:
    """Check that the mistakes of a sentence are there, and break its rule."""
    assert {_KERNELS[name].rule for name in held.mistakes} == {held.rule}


def _is_told(told: Told) -> None:
    """Check that the mutants of a sentence are there, and are of its section."""
    sections = {ALL[name].section.partition(",")[0] for name in told.mutants}
    assert sections == {told.section}


# ---- the tests of a file -------------------------------------------------------------------------


def statements(rows: Sequence[Row]) -> Test:
    """A test of sentences about statements, all of a file."""
    return _test(rows, functools.partial(_holds, rows))


def issues(issued: Sequence[Issued]) -> Test:
    """A test of sentences about what a thread issues."""
    return _test(issued, _is_issued)


def kernels(held: Sequence[Held]) -> Test:
    """A test of sentences about kernels."""
    return _test(held, _is_held)


def mutants(told: Sequence[Told]) -> Test:
    """A test of sentences about kernels whose mutants are judged elsewhere."""
    return _test(told, _is_told)


def _test(sentences: Sequence[Said], check: Callable[[Said], None]) -> Test:
    @each("said", sentences, ids=lambda said: said.sentence)
    def test(said: Said) -> None:
        check(said)

    return test
