"""Every way to break one synchronising instruction of a kernel, as edits of its PTX.

Input: PTX as nvgen prints it, a statement a line.  Output: mutants, each with one statement gone,
moved over a neighbour that matters, or with another number in it:

    drop     the statement is gone; a wait's poll succeeds at once
    earlier  it stands before the statement before it that touches memory or synchronises
    later    it stands behind the one behind it
    parity   a wait asks for the other phase
    bytes    half of the transaction bytes are expected
    count    one arrival more is expected

Statements are moved within their block only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SYNCHRONISES = re.compile(
    r"mbarrier\.(?!inval)|fence[.:]|tcgen05\.(wait|fence|commit)|bar\.|barrier\.|membar"
    r"|cp\.async\.bulk\.(commit|wait)_group"
)
_COUNTS = re.compile(
    r"(@!?%\w+ +)?((ld|st|atom|red|tcgen05|cp\.async|mbarrier|fence|bar|barrier|membar|elect)[.:])"
)
"""What a synchronising statement may not simply change places with; the rest is arithmetic."""

_REGISTER = "%mutant"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken kernel: what was done, to which statement (of how many alike before it), and the
    whole PTX.
    """

    edit: str
    statement: str
    number: int
    line: int
    ptx: str

    @property
    def name(self) -> str:
        """How tables call it: the edit, the statement without its operands, its number."""
        return f"{self.edit} {self.statement} #{self.number}"


def mutants(ptx: str) -> Iterator[Mutant]:
    """Every mutant of a kernel, in the order of its statements."""
    lines = ptx.splitlines()
    seen: dict[str, int] = {}
    for at, line in enumerate(lines):
        text = _statement(line)
        if not _SYNCHRONISES.match(text):
            continue
        head = text.split()[0].rstrip(";")
        number = seen[head] = seen.get(head, 0) + 1
        for edit, found in _edits(lines, at):
            yield Mutant(edit, head, number, at + 1, "\n".join(found) + "\n")


def _statement(line: str) -> str:
    """A line's statement, without a guard."""
    return re.sub(r"^\s*(@!?%\w+\s+)?", "", line)


def _edits(lines: list[str], at: int) -> Iterator[tuple[str, list[str]]]:
    text = _statement(lines[at])
    if wait := re.match(
        r"mbarrier\.(?:try|test)_wait\S* (%p\d+), \[[^]]+\], (\S+?)(?:, \S+)?;", text
    ):
        yield "drop", _with(lines, at, f"setp.eq.u32 {wait[1]}, 0, 0;")
        yield "parity", _other_parity(lines, at, wait[2])
        return  # moving a wait that polls is the same as moving what stands around its loop
    yield "drop", _with(lines, at)
    before, behind = _neighbour(lines, at, -1), _neighbour(lines, at, 1)
    if before is not None:
        yield "earlier", _moved(lines, at, before)
    if behind is not None:
        yield "later", _moved(lines, at, behind)
    if expect := re.search(r"expect_tx.*, (\d+);", text):
        half = text.replace(f", {expect[1]};", f", {int(expect[1]) // 2};")
        yield "bytes", _with(lines, at, half)
    if init := re.match(r"mbarrier\.init.*, (\d+);", text):
        more = text.replace(f", {init[1]};", f", {int(init[1]) + 1};")
        yield "count", _with(lines, at, more)


def _with(lines: list[str], at: int, *instead: str) -> list[str]:
    return [*lines[:at], *("\t" + x for x in instead), *lines[at + 1 :]]


def _other_parity(lines: list[str], at: int, parity: str) -> list[str]:
    if parity.isdigit():
        return _with(
            lines, at, _statement(lines[at]).replace(f", {parity}", f", {1 - int(parity)}")
        )
    other = _statement(lines[at]).replace(f", {parity}", f", {_REGISTER}")
    found = _with(lines, at, f"xor.b32 {_REGISTER}, {parity}, 1;", other)
    start = next(i for i, line in enumerate(found) if line.strip() == "{")
    return [*found[: start + 1], f"\t.reg .b32 {_REGISTER};", *found[start + 1 :]]


def _neighbour(lines: list[str], at: int, step: int) -> int | None:
    """The next statement of the block in a direction that it makes a difference to pass."""
    i = at + step
    while 0 <= i < len(lines) and not _ends_block(lines[i]):
        if _COUNTS.match(lines[i].strip()):
            return i
        i += step
    return None


def _ends_block(line: str) -> bool:
    text = line.strip()
    return (
        not text
        or text.endswith(":")
        or text[0] in "{}."
        or bool(re.search(r"\bbra\b|\bret\b", text))
    )


def _moved(lines: list[str], at: int, to: int) -> list[str]:
    found = [*lines[:at], *lines[at + 1 :]]
    return [*found[:to], lines[at], *found[to:]]
