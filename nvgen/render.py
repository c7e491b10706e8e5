"""Findings for people and for machines.

Layer: nvgen.  Text is coloured where a person looks at a terminal, and plain everywhere else; rich
is imported for colour only.  JSON follows one schema for every command.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TextIO

from intrinsics.findings import Finding, Severity, Verdict, shortened, verdict, without_copies
from intrinsics.lazy_dataclass import dataclass
from nvgen.files import printable

Line = list[tuple[str, str]]
"""Pieces of one line of text, each with a style ("" for none)."""

_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.REVIEW: "bold magenta",
    Severity.NOTE: "bold cyan",
}
_WIDTH = 100
_MOST_OF_LINE = 2000
"""Characters of a source line that are looked at."""

_MOST_OF_RULE = 30
"""Findings of one rule that are printed in full."""

_MOST_IN_JSON = 4000
"""Characters of a text in JSON."""


def finding_lines(finding: Finding, source: Sequence[str] = ()) -> list[Line]:
    """A finding as lines: what, where, the source line, got and expected, help."""
    style = _STYLES[finding.severity]
    place = finding.place
    margin = " " * max(len(str(place.line)), 2)
    lines: list[Line] = [
        [
            (f"{finding.severity.value}[{printable(finding.rule)}]", style),
            (": " + printable(shortened(finding.message)), "bold"),
        ]
    ]
    if place.file or place.line or place.function:
        lines.append([(f"{margin}--> ", "blue"), (printable(shortened(str(place))), "")])
    if 0 < place.line <= len(source):
        lines += _excerpt(finding, source[place.line - 1], margin, style)
    expected = _labelled("expected", finding.expected)
    if "\n" in finding.got:
        lines += _table(margin, "got", finding.got)
        got = ""
    else:
        got = _labelled("got", finding.got)
    both = f"{got:<28} = {expected}"
    if got and expected and len(margin) + 3 + len(both) <= _WIDTH:
        lines += _detail(margin, both)
    else:
        lines += _detail(margin, got) + _detail(margin, expected)
    lines += _detail(margin, _labelled("help", finding.hint))
    return lines + _detail(margin, _labelled("see", finding.section))


def _labelled(label: str, text: str) -> str:
    return f"{label}: {printable(shortened(text))}" if text else ""


def _table(margin: str, label: str, text: str) -> list[Line]:
    """A detail of several lines, which keep their spaces."""
    rows = [printable(row) for row in shortened(text).split("\n")]
    heads = [f"{margin} = ", *[f"{margin}   "] * (len(rows) - 1)]
    labels = [f"{label}: ", *[" " * (len(label) + 2)] * (len(rows) - 1)]
    return [
        [(head, "blue"), (name + row, "")]
        for head, name, row in zip(heads, labels, rows, strict=True)
    ]


def _detail(margin: str, text: str) -> list[Line]:
    """A detail, broken between words where it is longer than a line."""
    room = _WIDTH - len(margin) - 3
    parts = [text] if len(text) <= room else _wrap(text, room)
    head = [f"{margin} = ", *[f"{margin}     "] * (len(parts) - 1)]
    return [[(start, "blue"), (part, "")] for start, part in zip(head, parts, strict=True) if part]


def _wrap(text: str, room: int) -> list[str]:
    """The text in lines; its label stays with its first word."""
    label, _, rest = text.partition(" ")
    indent = " " * (len(label) + 1)
    lines = textwrap.wrap(
        rest, room - 2, initial_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    first, *others = lines or [indent]  # where there is nothing but spaces
    return [label + first[len(label) :], *others]


def _excerpt(finding: Finding, text: str, margin: str, style: str) -> list[Line]:
    """The source line, with carets under the instruction."""
    number = str(finding.place.line).rjust(len(margin))
    text = text[:_MOST_OF_LINE]
    text = "".join(c if c.isprintable() or c == "\t" else "?" for c in text.rstrip())
    shown = text.expandtabs(4)
    start, length = _caret(finding, text)
    found: list[Line] = [
        [(f"{margin} |", "blue")],
        [(f"{number} | ", "blue"), (_clip(shown, start + length), "")],
    ]
    if length:
        label = f" {printable(shortened(finding.label, _WIDTH))}" if finding.label else ""
        found.append([(f"{margin} | ", "blue"), (" " * start + "^" * length + label, style)])
    return found


def _caret(finding: Finding, text: str) -> tuple[int, int]:
    """Where the carets stand, in the line with its tabs expanded."""
    column = finding.place.column
    if not 0 < column <= len(text):
        return 0, 0
    start, end = _span(finding, text, column - 1)
    if start >= 2 * _WIDTH:
        return 0, 0
    return _cells(text[:start].expandtabs(4)), min(max(_cells(text[start:end]), 1), _WIDTH)


def _cells(text: str) -> int:
    """How many cells of a terminal the text takes: East Asian characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _span(finding: Finding, text: str, at: int) -> tuple[int, int]:
    """The argument of a call that the finding is about, else the callee, else the first word."""
    call = re.compile(r"\bcall\b[^@]*(@(?:\"([^\"]*)\"|([\w.$-]+)))\(").search(text, at)
    if call is None:
        word = re.compile(r"[^\s(,;]+").match(text, at)
        return (at, word.end()) if word else (at, at + 1)
    if finding.subject:
        from isel.select.intrinsics.signatures import argument_position

        position = argument_position(call[2] or call[3], finding.subject)
        spans = _arguments(text, call.end())
        if position is not None and position < len(spans):
            return spans[position]
    return call.span(1)


def _arguments(text: str, at: int) -> list[tuple[int, int]]:
    """The spans of a call's arguments; `at` is behind the opening parenthesis."""
    spans, depth, start = [], 0, at
    for i in range(at, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(
            text[i], 0
        )
        if depth < 0 or (text[i] == "," and depth == 0):
            spans.append((start + len(text[start:i]) - len(text[start:i].lstrip()), i))
            start = i + 1
        if depth < 0:
            break
    return spans


def _clip(text: str, needed: int) -> str:
    limit = max(_WIDTH, needed + 1)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def summary(findings: Sequence[Finding], name: str) -> Line:
    """One line that sums the findings up; nothing is called clean that was not checked."""
    result = verdict(findings)
    counts = [
        f"{n} {severity.value}{'s' if n > 1 else ''}"
        for severity in Severity
        if (n := sum(f.severity is severity for f in findings))
    ]
    style = {Verdict.CLEAN: "bold green", Verdict.ERROR: "bold red"}.get(result, "bold magenta")
    return [
        (f"{printable(name)}: ", ""),
        (result.value, style),
        (f" ({', '.join(counts)})" if counts else "", ""),
    ]


def as_json(finding: Finding) -> dict[str, str | int]:
    """A finding for machines; very long texts are cut in the middle."""

    def text(given: str) -> str:
        return shortened(given, _MOST_IN_JSON)

    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": text(finding.message),
        "line": finding.place.line,
        "column": finding.place.column,
        "function": text(finding.place.function),
        "source_file": text(finding.place.python_file),
        "source_line": finding.place.python_line,
        "op": text(finding.op),
        "got": text(finding.got),
        "expected": text(finding.expected),
        "section": finding.section,
        "hint": text(finding.hint),
    }


# ---- printing --------------------------------------------------------------------------------


def has_colour(stream: TextIO) -> bool:
    """Whether a person at a terminal reads `stream`; NO_COLOR and FORCE_COLOR say otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


@dataclass(slots=True)
class Printer:
    """Prints lines to a stream, in colour where it has any."""

    stream: TextIO
    _emit: Callable[[Line], None] | None = None

    def line(self, line: Line) -> None:
        """Print one line."""
        if self._emit is None:
            self._emit = self._rich() if has_colour(self.stream) else self._plain
        self._emit(line)

    def lines(self, lines: Sequence[Line]) -> None:
        """Print several lines."""
        for line in lines:
            self.line(line)

    def text(self, text: str) -> None:
        """Print text without colours."""
        for line in text.split("\n"):
            self.line([(line, "")])

    def _plain(self, line: Line) -> None:
        self.stream.write("".join(text for text, _ in line) + "\n")

    def _rich(self) -> Callable[[Line], None]:
        from rich.console import Console
        from rich.text import Text

        console = Console(file=self.stream, force_terminal=True, highlight=False, soft_wrap=True)

        def emit(line: Line) -> None:
            console.print(Text.assemble(*line))

        return emit


def print_findings(
    findings: Sequence[Finding], source: str = "", stream: TextIO | None = None
) -> None:
    """Print findings to a stream (default: standard error), a blank line after each.

    Of very many of one rule the first are printed, with their number; copies from one line of
    Python are one.
    """
    printer = Printer(stream or sys.stderr)
    lines = source.split("\n") if source else []
    counts: Counter[tuple[Severity, str]] = Counter()
    for finding in without_copies(findings):
        key = finding.severity, finding.rule
        counts[key] += 1
        if counts[key] <= _MOST_OF_RULE:
            printer.lines(finding_lines(finding, lines))
            printer.line([("", "")])
    for (severity, rule), count in counts.items():
        if count > _MOST_OF_RULE:
            head = (f"{severity.value}[{printable(rule)}]", _STYLES[severity])
            more = count - _MOST_OF_RULE
            printer.line([head, (f": and {more} more findings of this rule", "bold")])
            printer.line([("", "")])
