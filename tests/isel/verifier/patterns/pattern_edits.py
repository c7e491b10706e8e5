"""Edits that break a right kernel, and what a broken one is expected to be blamed for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tests.isel.verifier.patterns.pattern_ptx import Kernel

Edit = Callable[[list[str]], list[str]]
"""Lines of a story to other lines."""


class Doubt(Enum):
    """What the manual says of a mutant: it breaks a rule, or it may."""

    ERROR = "error"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A kernel, its name in the tables, what is done to it, and what comes of that.

    `rule` says in words what the manual asks for, `section` where; `at` are tags of the lines of
    which one is to be blamed: the one that lacks something and its partners.
    """

    name: str
    kernel: Kernel
    edit: Edit
    rule: str
    section: str
    at: tuple[str, ...]
    doubt: Doubt = Doubt.ERROR

    def broken(self) -> Kernel:
        """The kernel with the mistake."""
        return self.kernel.with_lines(self.edit(list(self.kernel.lines)))


def _at(lines: list[str], tag: str) -> int:
    (at,) = (i for i, x in enumerate(lines) if x.partition("#")[2].strip() == tag)
    return at


def drop(*tags: str) -> Edit:
    """The lines are not there."""

    def edit(lines: list[str]) -> list[str]:
        gone = {_at(lines, tag) for tag in tags}
        return [x for i, x in enumerate(lines) if i not in gone]

    return edit


def put(tag: str, text: str) -> Edit:
    """Another line instead, under the same tag."""

    def edit(lines: list[str]) -> list[str]:
        at = _at(lines, tag)
        return [*lines[:at], f"{text} #{tag}", *lines[at + 1 :]]

    return edit


def swap(tag: str, old: str, new: str) -> Edit:
    """Another word in a line."""

    def edit(lines: list[str]) -> list[str]:
        at = _at(lines, tag)
        assert old in lines[at], f"{old!r} does not occur in {lines[at]!r}"
        return [*lines[:at], lines[at].replace(old, new, 1), *lines[at + 1 :]]

    return edit


def move(tag: str, before: str = "", behind: str = "") -> Edit:
    """The line stands before or behind another."""

    def edit(lines: list[str]) -> list[str]:
        line = lines.pop(_at(lines, tag))
        at = _at(lines, before or behind) + (1 if behind else 0)
        return [*lines[:at], line, *lines[at:]]

    return edit


def insert(*new: str, before: str = "", behind: str = "") -> Edit:
    """More lines before or behind another."""

    def edit(lines: list[str]) -> list[str]:
        at = _at(lines, before or behind) + (1 if behind else 0)
        return [*lines[:at], *new, *lines[at:]]

    return edit


def both(*edits: Edit) -> Edit:
    """One edit after the other."""

    def edit(lines: list[str]) -> list[str]:
        for one in edits:
            lines = one(lines)
        return lines

    return edit
