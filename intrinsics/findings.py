"""Findings about a program, their places, and the exceptions that carry them.

Layer: intrinsics (standard library only).  Every stage reports through `Finding`; nothing prints,
and nothing ends the process.  Rendering for people and for machines is nvgen's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from typing import TypedDict, Unpack

from intrinsics.lazy_dataclass import dataclass

MOST_TEXT = 1000
"""Characters of a message, or of what it quotes, that people are shown."""

_MOST_TOLD = 50
"""Findings that the text of an exception has."""


def shortened(text: str, most: int = MOST_TEXT) -> str:
    """The text, or where it is longer than `most` characters its beginning and its end."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} … {text[len(text) - (most - head) :]}"


def shown(value: object) -> str:
    """A value as Python writes it, whatever was given where something else belongs."""
    try:
        return repr(value)
    except Exception:  # an integer of 4,301 digits, or others' code
        return f"{type(value).__name__} that Python cannot write"


class Severity(Enum):
    """The severity of a finding; members are ordered from the gravest."""

    ERROR = "error"
    WARNING = "warning"
    REVIEW = "review"  # the manual leaves a doubt, or nvgen could not judge
    NOTE = "note"


class Verdict(Enum):
    """The verdict that a list of findings amounts to."""

    CLEAN = "clean"
    REVIEW = "review"
    INCOMPLETE = "incomplete"  # something was not understood, or not checked
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the user's file, and in the Python that made it.

    Lines and columns count from 1; 0 says unknown.  `callers` are the files and lines from which
    the function with the line of Python was called, the innermost first.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    function: str = ""
    python_file: str = ""
    python_line: int = 0
    callers: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        text = self.file or "<input>"
        if self.line:
            text += f":{self.line}"
            if self.column:
                text += f":{self.column}"
        if self.function:
            text += f", in @{self.function}"
        if self.python_file:
            text += f", from {self.python_file}:{self.python_line}"
        return text + "".join(f", called from {file}:{line}" for file, line in self.callers)


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Finding:
    """One message to the user: an error, a warning, a review or a note.

    `rule` is the stable id of the rule (`tcgen05.mma/i8-target`), `op` the instruction, `got` and
    `expected` what was there and what would be right, `hint` what to do, `section` the manual's;
    `got` may be a table of several lines.  `incomplete` marks a finding that says "not judged"
    rather than "wrong". `subject` names the operand or modifier that it is about and `label` what
    that is, for whoever points at it.  `follows` says that it may be there only because of what
    another finding is about.
    """

    rule: str
    severity: Severity
    message: str
    place: Place = NOWHERE
    op: str = ""
    got: str = ""
    expected: str = ""
    hint: str = ""
    section: str = ""
    incomplete: bool = False
    subject: str = ""
    label: str = ""
    follows: bool = False

    def at(self, place: Place) -> Finding:
        """The finding at `place`."""
        return replace(self, place=place)

    def renamed(self, names: Mapping[str, str]) -> Finding:
        """The finding with names replaced, as whole words."""
        if not names:
            return self
        pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")

        def with_names(text: str) -> str:
            return pattern.sub(lambda found: names[found[1]], text)

        return replace(
            self,
            message=with_names(self.message),
            got=with_names(self.got),
            expected=with_names(self.expected),
            hint=with_names(self.hint),
        )

    def __str__(self) -> str:
        lines = [f"{self.severity.value}[{self.rule}]: {shortened(self.message)}"]
        if self.place != NOWHERE:
            lines.append(f"  --> {shortened(str(self.place))}")
        for label, text in (
            ("op", self.op),
            ("got", self.got),
            ("expected", self.expected),
            ("help", self.hint),
            ("see", self.section),
        ):
            if text:
                rows = shortened(text).replace("\n", "\n" + " " * (len(label) + 7))
                lines.append(f"   = {label}: {rows}")
        return "\n".join(lines)


def once(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without those that repeat one: the same rule, message and subject at a line.

    LLVM's passes make several copies of what the user wrote once; the first copy's is kept.  What
    stands nowhere is never taken for the same.
    """
    known: set[tuple[object, ...]] = set()
    kept: list[Finding] = []
    for f in findings:
        key = (f.rule, f.severity, f.message, f.place, f.op, f.subject)
        if not f.place.line or key not in known:
            kept.append(f)
        known.add(key)
    return kept


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by their lines, behind them those that may only follow from another one."""

    return sorted(findings, key=lambda f: (f.follows, f.place.line, f.place.column))


def without_copies(findings: Iterable[Finding]) -> list[Finding]:
    """Findings without repetitions: copies from one line of the source are one.

    A loop of Python, or a compiler, unrolls a line into many of LLVM IR; the rule, the message and
    the calls that lead to the line are then the same, and the first copy stands for all.
    """
    copies: dict[tuple[object, ...], list[Finding]] = {}
    for number, f in enumerate(findings):
        at = f.place
        line = (at.python_file, at.python_line, at.callers, at.function)
        key = (f.rule, f.severity, f.message, f.subject, line if at.python_line else number)
        copies.setdefault(key, []).append(f)
    return [_counted(first, 1 + len(others)) for first, *others in copies.values()]


def _counted(finding: Finding, times: int) -> Finding:
    if times == 1:
        return finding
    return replace(finding, message=f"{finding.message} ({times} times from this line)")


def verdict(findings: Iterable[Finding]) -> Verdict:
    """Sum findings up: an error outweighs what was not judged, which outweighs a review."""
    result = Verdict.CLEAN
    for finding in findings:
        if finding.severity is Severity.ERROR:
            return Verdict.ERROR
        if finding.incomplete:
            result = Verdict.INCOMPLETE
        elif finding.severity is Severity.REVIEW and result is Verdict.CLEAN:
            result = Verdict.REVIEW
    return result


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that are errors."""
    return [f for f in findings if f.severity is Severity.ERROR]


class NvgenError(Exception):
    """Base of everything that nvgen raises about a user's input; `findings` says what and where."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        told = without_copies(self.findings)
        texts = [str(f) for f in told[:_MOST_TOLD]]
        if len(told) > _MOST_TOLD:
            texts.append(f"… and {len(told) - _MOST_TOLD} more findings")
        super().__init__("\n".join(texts))

    def __reduce__(self) -> tuple[type[NvgenError], tuple[tuple[Finding, ...]]]:
        """An error goes to another process by its findings, from which its text is made."""
        return type(self), (self.findings,)


@contextmanager
def by_names(names: Mapping[str, str]) -> Iterator[None]:
    """Within the block, errors use other names; see `Finding.renamed`."""
    try:
        yield
    except NvgenError as error:
        NvgenError.__init__(error, [finding.renamed(names) for finding in error.findings])
        raise


class InputError(NvgenError):
    """The input could not be read (not text, LLVM IR, MIR or PTX), or an argument is wrong."""


class SelectionError(NvgenError):
    """This target or PTX version has no such instruction, or nvgen selects none for the IR."""


class VerificationError(NvgenError):
    """The backend verifier rejects a record."""


class AssemblerError(NvgenError):
    """ptxas is missing, or rejected its input."""


class SimulationError(NvgenError):
    """A simulated run ended early: a fault, a deadlock, or something that is not simulated."""


class DriverError(NvgenError):
    """The CUDA driver refused a launch, or a kernel failed or did not end on the GPU."""


class InternalError(Exception):
    """A bug of nvgen."""


class Details(TypedDict, total=False):
    """What a finding may say beside its message; see `Finding`."""

    op: str
    got: str
    expected: str
    hint: str
    section: str
    subject: str


def error_of(
    rule: str, message: str, place: Place = NOWHERE, **details: Unpack[Details]
) -> Finding:
    """An error; `section` is one of the PTX ISA."""
    if section := details.get("section"):
        details["section"] = f"PTX ISA, {section}"
    return Finding(rule, Severity.ERROR, message, place, **details)


def input_error(
    rule: str, message: str, *, place: Place = NOWHERE, **details: Unpack[Details]
) -> InputError:
    """An `InputError` of one finding."""
    return InputError([error_of(rule, message, place, **details)])
