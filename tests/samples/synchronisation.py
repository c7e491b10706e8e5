"""Every way to break one synchronising instruction of a kernel, as edits of its PTX.

Input: PTX as nvgen prints it, a statement a line.  Output: mutants, each with one statement gone,
moved over a neighbour that matters, or with another number in it:

    drop     the statement is gone; a wait's poll succeeds at once
    earlier  it stands before the statement before it that touches memory or synchronises
    later    it stands behind the one behind it
    parity   a wait asks for the other phase
    bytes    half of the transaction bytes are expected
    count    one arrival more is expected

Statements are moved within their block only, not over one that computes their operands, and not
over another mbarrier.init if they are one.  Two
edits that give the same PTX are one mutant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SYNCHRONISES = re.compile(
    r"mbarrier\.(?!inval)|fence[.:]|tcgen05\.(wait|fence|commit)|bar\.|barrier\.|membar"
    r"|cp\.async\.bulk\.(commit|wait)_group|wgmma\.(fence|commit|wait)"
)
_COUNTS = re.compile(
    r"(@!?%\w+ +)?(ld\.(?!param)"
    r"|(st|atom|red|tcgen05|wgmma|cp\.async|mbarrier|fence|bar|barrier|membar|elect)[.:])"
)
"""What a synchronising statement may not simply change places with; the rest is arithmetic."""

_WAIT = re.compile(r"mbarrier\.(?:try|test)_wait\S* (%p\d+), \[[^]]+\], (\S+?)(?:, \S+)?;")
_REGISTERS = re.compile(r"%[a-z]+\d+")
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
    made: set[str] = set()
    for at, line in enumerate(lines):
        text = _statement(line)
        if not _SYNCHRONISES.match(text):
            continue
        head = text.split()[0].rstrip(";")
        number = seen[head] = seen.get(head, 0) + 1
        for edit, found in _edits(lines, at):
            text = "\n".join(found) + "\n"
            if text not in made:
                made.add(text)
                yield Mutant(edit, head, number, at + 1, text)


def _statement(line: str) -> str:
    """A line's statement, without a guard."""
    return re.sub(r"^\s*(@!?%\w+\s+)?", "", line)


def _edits(lines: list[str], at: int) -> Iterator[tuple[str, list[str]]]:
    line = lines[at]
    if wait := _WAIT.search(line):
        yield "drop", _with(lines, at, f"setp.eq.u32 {wait[1]}, 0, 0;")
        yield "parity", _other_parity(lines, at, wait[2])
        return  # moving a wait that polls is the same as moving what stands around its loop
    yield "drop", _with(lines, at)
    for edit, step in (("earlier", -1), ("later", 1)):
        to = _neighbour(lines, at, step)
        if to is not None:
            yield edit, _moved(lines, at, to)
    if expect := re.search(r"expect_tx.*, (\d+);", line):
        yield "bytes", _renumbered(lines, at, expect[1], int(expect[1]) // 2)
    if init := re.search(r"mbarrier\.init.*, (\d+);", line):
        yield "count", _renumbered(lines, at, init[1], int(init[1]) + 1)


def _renumbered(lines: list[str], at: int, old: str, new: int) -> list[str]:
    """Another last operand, under the same guard."""
    return _with(lines, at, lines[at].strip().replace(f", {old};", f", {new};"))


def _with(lines: list[str], at: int, *instead: str) -> list[str]:
    return [*lines[:at], *("\t" + x for x in instead), *lines[at + 1 :]]


def _other_parity(lines: list[str], at: int, parity: str) -> list[str]:
    line = lines[at].strip()
    if parity.isdigit():
        return _with(lines, at, line.replace(f", {parity}", f", {1 - int(parity)}"))
    other = line.replace(f", {parity}", f", {_REGISTER}")
    found = _with(lines, at, f"xor.b32 {_REGISTER}, {parity}, 1;", other)
    start = next(i for i, line in enumerate(found) if line.strip() == "{")
    return [*found[: start + 1], f"\t.reg .b32 {_REGISTER};", *found[start + 1 :]]


def _neighbour(lines: list[str], at: int, step: int) -> int | None:
    """The next statement of the block in a direction that it makes a difference to pass."""
    i = at + step
    while 0 <= i < len(lines) and not _ends_block(lines[i]) and not _depend(lines[i], lines[at]):
        if _COUNTS.match(lines[i].strip()):
            return None if _are_inits(lines[i], lines[at]) else i
        i += step
    return None


def _are_inits(one: str, other: str) -> bool:
    """Whether two statements initialise mbarriers: which is first is all the same."""
    return all(_statement(line).startswith("mbarrier.init") for line in (one, other))


def _depend(one: str, other: str) -> bool:
    """Whether one of two statements computes what the other uses."""
    a, b = ({*_REGISTERS.findall(line)} for line in (one, other))
    return bool(_computed(one) & b or _computed(other) & a)


def _computed(line: str) -> set[str]:
    """The registers of a statement's first operand, unless that is an address."""
    first = re.match(r"\S+ ({[^}]*}|[^,\[]+)", _statement(line))
    return {*_REGISTERS.findall(first[1])} if first else set()


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
