"""Rules about collector buffers: what an MMA reuses was filled before, and with the same matrix.

Layer: isel.verifier.function.  The buffer of A, and those of B in weight-stationary MMAs, hold a
matrix from a fill to its last use.  An MMA that names no collector discards buffer a, or b0 of the
weight-stationary ones.  PTX ISA, tcgen05.mma and tcgen05.mma.ws: collector_usage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from intrinsics.mir import MachineInstr
from isel.verifier.function.collector_ways import Doubt, marked
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.matrices import different
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.rule import FunctionRule

_BUFFERS = ("a", "b", "b0", "b1", "b2", "b3")
_SECTION = "tcgen05.mma, .collector_usage"

NOT_FILLED = {
    buffer: FunctionRule(
        "{op}/collector-fill",
        f"collector::{buffer}::use without preceding fill",
        _SECTION,
        expected=f".collector::{buffer}::fill on every way here, and no discard or lastuse since",
        hint=f"give the first MMA that reads this matrix .collector::{buffer}::fill; one without a "
        "collector discards it",
    )
    for buffer in _BUFFERS
}
ANOTHER = FunctionRule(
    "{op}/collector-matrix",
    "a collector buffer is used for another matrix than it was filled with",
    _SECTION,
    hint="the buffer spares a reload of one and the same matrix: ::fill where the matrix changes",
    misses=False,
)
RULES = (*NOT_FILLED.values(), ANOTHER)


@dataclass(frozen=True, slots=True)
class Usage:
    """What an MMA does with one buffer: fill, use, lastuse or discard it."""

    buffer: str
    op: str

    @property
    def reads(self) -> bool:
        """Whether it takes the matrix from the buffer."""
        return self.op in ("use", "lastuse")

    @property
    def ends(self) -> bool:
        """Whether the buffer holds nothing after it."""
        return self.op in ("lastuse", "discard")

    def __str__(self) -> str:
        return f".collector::{self.buffer}::{self.op}"


def usages(mi: MachineInstr) -> list[Usage]:
    """What an MMA does with collector buffers, spelled or by default."""
    facts = mi.facts()
    if "collector_ws" in facts or mi.row.id.startswith("tcgen05.mma.ws"):
        names = [facts.get("collector_ws") or "collector::b0::discard"]
    else:
        names = [facts.get("collector_a") or "collector::a::discard"]
        names += [b] if (b := facts.get("collector_b")) else []
    parts = (str(getattr(name, "value", name)).split("::") for name in names)
    return [Usage(buffer, op) for _, buffer, op in parts]


def check(report: Report) -> None:
    """Run the rules, for each buffer that somebody wants to reuse."""
    wanted = {u.buffer for e in report.analysis.events(Kind.MULTIPLY) for u in usages(e.mi)
              if u.reads}  # fmt: skip
    for buffer in sorted(wanted):
        for role in report.analysis.roles:
            _Buffer(report, role, buffer).check()


class _Status(Enum):
    EMPTY = "no MMA before it fills the buffer"
    GONE = "the buffer is given up by"
    FILLED = "filled"
    PERHAPS = "nobody knows"


_State: TypeAlias = tuple[_Status, int]
"""What a buffer holds, and the record that made it so."""


@dataclass(slots=True)
class _Buffer:
    """One buffer, as the warps of one role use it."""

    report: Report
    role: Role
    buffer: str

    def check(self) -> None:
        """Walk every way, and judge each use by what the buffer holds there."""
        if not any(u.reads for e in self.role.events() for u in self._usages(e)):
            return
        elsewhere = any(self._fills(other) for other in self.report.analysis.roles
                        if other is not self.role)  # fmt: skip
        walker, doubts = marked(self.role.walker, self._effect)
        first = (_Status.PERHAPS if elsewhere else _Status.EMPTY, -1)
        walker.walk(first, self._step(doubts))

    def _usages(self, event: Event) -> Iterator[Usage]:
        if event.kind is Kind.MULTIPLY:
            yield from (u for u in usages(event.mi) if u.buffer == self.buffer)

    def _fills(self, role: Role) -> bool:
        return any(u.op == "fill" for e in role.events() for u in self._usages(e))

    def _effect(self, event: Event) -> bool | None:
        """Whether the buffer holds something after an event; None where that does not change."""
        for usage in self._usages(event):
            if usage.op == "fill" or usage.ends:
                return usage.op == "fill"
        return None

    def _step(self, doubts: dict[int, Doubt]) -> Callable[[_State, Event], _State]:
        events = {e.index: e for e in self.role.events() if e.kind is Kind.MULTIPLY}

        def step(state: _State, event: Event) -> _State:
            if event.kind is Kind.DOUBT:
                return _doubted(state, doubts[event.index])
            for usage in self._usages(event):
                if usage.reads:
                    self._judge(state, event, usage, events)
                if usage.op == "fill":
                    return _Status.FILLED, event.index
                if usage.ends:
                    return _Status.GONE, event.index
            return state

        return step

    def _judge(self, state: _State, event: Event, usage: Usage, events: dict[int, Event]) -> None:
        status, index = state
        if status is _Status.PERHAPS:
            return
        if status is not _Status.FILLED:
            by = f" {self.report.line(index)}" if status is _Status.GONE else ""
            self.report.add(
                NOT_FILLED[self.buffer],
                event.index,
                got=f"{usage}: {self.role} can come here, and {status.value}{by}",
            )
            return
        found = different(events[index], event, "a" if self.buffer == "a" else "b")
        if found is not None:
            what, filled, used = found
            self.report.add(
                ANOTHER,
                event.index,
                got=f"{what} {used}",
                expected=f"{what} {filled}, as {self.report.line(index)} filled it",
            )


def _doubted(state: _State, doubt: Doubt) -> _State:
    """What is known behind a place where ways meet that may exclude each other."""
    status, index = state
    if status is _Status.FILLED or not (doubt.skipped or index in doubt.undone):
        return state
    return _Status.PERHAPS, -1
