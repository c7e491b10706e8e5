"""Accumulators of wgmma go through the waits that their readers rely on.

Layer: nvgen.optimizer.  Input: the lines of a function as LLVM prints it, and its records.  Output:
the same lines with other names where a wait stands between an accumulator and who uses it, and what
each wait then hands through.

To LLVM an accumulator is there as soon as its multiply is called; it reads it ahead of the wait for
it as it likes: out of a loop, or on a way to the wait.  So behind each wgmma.wait_group every
accumulator that is used there becomes the result of a call which LLVM knows nothing of.  Selection
takes that result for its argument: the call costs no instruction, and the registers stay the same.
PTX ISA, wgmma.wait_group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.patterns import PREFIX
from isel.control_flow import dominators, reach
from isel.llvm import ir
from isel.llvm.types import Type
from isel.llvm.values import Local
from isel.select.intrinsics.specials import WAITED

_MULTIPLY = PREFIX + "wgmma.mma_async."
_WAIT = PREFIX + "wgmma.wait_group."
_STRING = r'|"[^"]*"'


@dataclass(frozen=True, slots=True)
class Handed:
    """A value that a wait hands through: its name before and behind it."""

    wait: ir.Call
    type: Type
    before: str
    behind: str

    @property
    def callee(self) -> str:
        """The intrinsic that says so; `<64 x float>` is `v64f32`."""
        count, _, element = str(self.type).strip("<>").partition(" x ")
        return f"@{WAITED}v{count}{'f32' if element == 'float' else element}"


def through_waits(lines: list[str], function: ir.Function, prefix: str) -> list[Handed]:
    """Rename accumulators behind waits; new names begin with `prefix`."""
    if not any(_calls(i, _MULTIPLY) for i in function.instructions()):
        return []
    return _Function(lines, function, prefix).run()


def _calls(i: ir.Instruction, start: str) -> bool:
    return isinstance(i, ir.Call) and (i.callee_name or "").startswith(start)


@dataclass(frozen=True, slots=True, order=True)
class _Point:
    """A place in a function: how deep its block is in the tree of dominators, the block, and how
    far in it.  Of points that dominate one another the later is the greater.
    """

    depth: int
    block: int
    at: int


@dataclass(slots=True)
class _Function:
    lines: list[str]
    function: ir.Function
    prefix: str
    above: list[int] = field(default_factory=list)  # dominators of each block, as bits
    made: dict[str, tuple[_Point, ir.Instruction]] = field(default_factory=dict)
    waits: list[tuple[_Point, ir.Call]] = field(default_factory=list)
    handed: dict[tuple[_Point, str], Handed] = field(default_factory=dict)

    def run(self) -> list[Handed]:
        """Rename every use that can be."""
        blocks = self.function.blocks
        number = {block.name: i for i, block in enumerate(blocks)}
        after = [[number[t] for t in block.instructions[-1].targets()] for block in blocks]
        self.above = dominators(after)
        reached = reach(after, [0])
        for b in sorted(reached):
            for at, i in enumerate(blocks[b].instructions):
                if i.result is not None:
                    self.made[i.result] = self._point(b, at), i
                if isinstance(i, ir.Call) and _calls(i, _WAIT):
                    self.waits.append((self._point(b, at), i))
        web = self._accumulators()
        for b in sorted(reached):
            for at, i in enumerate(blocks[b].instructions):
                if isinstance(i, ir.Phi):
                    for value, way in i.incoming:
                        if isinstance(value, Local) and value.name in web:
                            here = self._point(number[way], len(blocks[number[way]].instructions))
                            self._rename(i, value.name, here, way)
                else:
                    names = {v.name for v in i.operands() if isinstance(v, Local)}
                    for name in sorted(names & web):
                        self._rename(i, name, self._point(b, at), "")
        return list(self.handed.values())

    def _point(self, block: int, at: int) -> _Point:
        return _Point(self.above[block].bit_count(), block, at)

    def _dominates(self, one: _Point, other: _Point) -> bool:
        """Whether `one` dominates `other`."""
        if one.block == other.block:
            return one.at < other.at
        return bool(self.above[other.block] >> one.block & 1)

    def _accumulators(self) -> set[str]:
        """The results of multiplies, and the phis that they reach."""
        web = {name for name, (_, i) in self.made.items() if _calls(i, _MULTIPLY)}
        phis = [i for _, i in self.made.values() if isinstance(i, ir.Phi)]
        changing = True
        while changing:
            more = {phi.result for phi in phis if web & set(_locals(phi))} - {None, *web}
            web |= {name for name in more if name is not None}
            changing = bool(more)
        return web

    def _at(self, name: str, here: _Point) -> str:
        """The name of a value at a place: behind the last wait on every way to it."""
        made, i = self.made[name]
        waits = [
            (point, wait)
            for point, wait in self.waits
            if self._dominates(made, point) and self._dominates(point, here)
        ]
        if not waits:
            return name
        point, wait = max(waits, key=lambda found: found[0])
        if (point, name) not in self.handed:
            before = self._at(name, point)
            behind = f"{self.prefix}{len(self.handed)}"
            self.handed[point, name] = Handed(wait, i.type, before, behind)
        return self.handed[point, name].behind

    def _rename(self, i: ir.Instruction, name: str, here: _Point, way: str) -> None:
        new = self._at(name, here)
        if new == name:
            return
        line = self.lines[i.line - 1]
        start = line.index(" = ") if i.result is not None else 0
        tail = rf"(?=, {_pattern(way)} \])" if way else ""
        token = re.compile(_pattern(name) + tail + _STRING)
        rest = token.sub(lambda m: m[0] if m[0][0] == '"' else f"%{new}", line[start:])
        self.lines[i.line - 1] = line[:start] + rest


def _locals(phi: ir.Phi) -> Iterator[str]:
    return (value.name for value, _ in phi.incoming if isinstance(value, Local))


def _pattern(name: str) -> str:
    """A local name as LLVM prints it: in quotation marks if it needs them."""
    return rf'%(?:{re.escape(name)}(?![-\w$.])|"{re.escape(name)}")'


def shown(name: str) -> str:
    """A local name for a line of LLVM IR."""
    return f"%{name}" if re.fullmatch(r"[-\w$.]+", name, re.ASCII) else f'%"{name}"'
