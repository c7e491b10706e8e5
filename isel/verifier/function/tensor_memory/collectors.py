"""Rules about collector buffers: an MMA reuses a buffer only after a fill with the same matrix.

Layer: isel.verifier.function.  The buffer of A, and those of B in weight-stationary MMAs, hold a
matrix from a fill to its last use.  An MMA that names no collector discards buffer a, or b0 of the
weight-stationary ones.  PTX ISA, tcgen05.mma and tcgen05.mma.ws: collector_usage.

A use gives the permission to take a matrix from the buffer or from memory, "opportunistic"ally: a
matrix of another form is another one, and an error.  One at another place may have equal elements,
and whether that is the same matrix the manual does not say: a review.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from intrinsics.findings import Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.tensor_memory.infeasible_paths import Doubt, marked
from isel.verifier.function.tensor_memory.matrices import other_form, other_place
from isel.verifier.rule import VerifierRule

_BUFFERS = ("a", "b", "b0", "b1", "b2", "b3")
_SECTION = "tcgen05.mma, .collector_usage"

NOT_FILLED = {
    buffer: VerifierRule(
        "{op}/collector-fill",
        f"collector::{buffer}::use without preceding fill",
        _SECTION,
        expected=f".collector::{buffer}::fill on every way here, and no discard or lastuse since",
        hint=f"give the first MMA that reads this matrix .collector::{buffer}::fill; one without a "
        "collector discards it",
    )
    for buffer in _BUFFERS
}
_SPARES = "the buffer spares a reload of one and the same matrix: ::fill where the matrix changes"
ANOTHER = VerifierRule(
    "{op}/collector-matrix",
    "a collector buffer is used for another matrix than it was filled with",
    _SECTION,
    hint=_SPARES,
    misses=False,
)
ELSEWHERE = VerifierRule(
    "{op}/collector-place",
    "a collector buffer is used for a matrix at another place than that which filled it",
    _SECTION,
    Severity.REVIEW,
    hint=f"{_SPARES}; the tensor core may take it from the buffer or from memory",
)
RULES = (*NOT_FILLED.values(), ANOTHER, ELSEWHERE)


@dataclass(frozen=True, slots=True)
class CollectorUse:
    """An MMA's use of one collector buffer: fill, use, lastuse or discard."""

    buffer: str
    op: str

    @property
    def reads(self) -> bool:
        """Whether it reads the matrix from the buffer."""
        return self.op in ("use", "lastuse")

    @property
    def ends(self) -> bool:
        """Whether the buffer is empty after it."""
        return self.op in ("lastuse", "discard")

    def __str__(self) -> str:
        return f".collector::{self.buffer}::{self.op}"


def usages(mi: MachineInstr) -> list[CollectorUse]:
    """The uses of collector buffers by an MMA, explicit or by default."""
    attributes = mi.attributes()
    if "collector_ws" in attributes or mi.row.id.startswith("tcgen05.mma.ws"):
        names = [attributes.get("collector_ws") or "collector::b0::discard"]
    else:
        names = [attributes.get("collector_a") or "collector::a::discard"]
        names += [b] if (b := attributes.get("collector_b")) else []
    parts = (str(getattr(name, "value", name)).split("::") for name in names)
    return [CollectorUse(buffer, op) for _, buffer, op in parts]


def check(report: Report) -> None:
    """Check each buffer that an instruction reuses."""
    known = {e.index: usages(e.mi) for e in report.analysis.events(Kind.MULTIPLY)}
    wanted = {u.buffer for found in known.values() for u in found if u.reads}
    for buffer in sorted(wanted):
        used = {i: u for i, found in known.items() for u in found if u.buffer == buffer}
        for role in report.analysis.roles:
            _Buffer(report, role, buffer, used).check()


class _Status(Enum):
    EMPTY = "no MMA before it fills the buffer"
    GONE = "the buffer is given up by"
    FILLED = "filled"
    PERHAPS = "nobody knows"


_State: TypeAlias = tuple[_Status, int]
"""The state of a buffer, and the record that caused it, or an equivalent one."""

_NO_RECORD = -1
_FEWEST, _STATES = 3, 4000
"""The fewest records that states distinguish, and the most states a walk with more may reach."""


class _Buffer:
    """One buffer in the flow of one role; `used` has the use by each record."""

    def __init__(
        self, report: Report, role: Role, buffer: str, used: dict[int, CollectorUse]
    ) -> None:
        self.report = report
        self.role = role
        self.buffer = buffer
        self.used = used
        self.operand = "a" if buffer == "a" else "b"
        self.events = {e.index: e for e in role.events() if e.kind is Kind.MULTIPLY}
        self.names = self._names()
        self.judged: set[tuple[_State, int]] = set()
        self.reads: list[tuple[_State, Event, CollectorUse]] = []

    def check(self) -> None:
        """Walk every CFG path, and check each use against the state of the buffer."""
        own = [self.used[i] for i in self.events if i in self.used]
        if not any(usage.reads for usage in own):
            return
        elsewhere = {
            e.index
            for role in self.report.analysis.roles
            for e in role.events()
            if role is not self.role and e.kind is Kind.MULTIPLY
        }
        filled = any(i in elsewhere for i, usage in self.used.items() if usage.op == "fill")
        threads = {e.threads for i, e in self.events.items() if i in self.used}
        walker, doubts = marked(
            self.role.walker, self._effect, self._reading(), one_thread=len(threads) == 1
        )
        first = (_Status.PERHAPS if filled else _Status.EMPTY, _NO_RECORD)
        step = self._step(doubts)
        walk = walker.walk(first, step)
        for state, event, usage in self.reads:
            self._judge(state, event, usage, walk.path_to(event.index, state, step))

    def _reading(self) -> set[int]:
        """The nodes where the buffer is read."""
        walker, used = self.role.walker, self.used
        return {
            n for n, events in walker.events.items()
            if any(e.kind is Kind.MULTIPLY and e.index in used and used[e.index].reads
                   for e in events)
        }  # fmt: skip

    def _names(self) -> dict[int, int]:
        """For each record that changes the buffer, the representative of equivalent ones."""
        first: dict[object, int] = {}
        names: dict[int, int] = {}
        for index, event in self.events.items():
            usage = self.used.get(index)
            if usage is not None and usage.op == "fill":
                values = event.value(self.operand), event.value("idesc")
                key = (event.mi.form, event.mi.attributes().get("kind"), *values)
                names[index] = first.setdefault(key, index)
            elif usage is not None and usage.ends:
                names[index] = first.setdefault(index, index)
        nodes = len(self.role.walker.flow.graph.nodes)
        kept = set(list(first.values())[: max(_FEWEST, _STATES // nodes)])
        return {index: name if name in kept else _NO_RECORD for index, name in names.items()}

    def _effect(self, event: Event) -> bool | None:
        """Whether the buffer is filled after an event.

        None where the event does not change that.
        """
        usage = self.used.get(event.index) if event.kind is Kind.MULTIPLY else None
        if usage is None or usage.op == "use":
            return None
        return usage.op == "fill"

    def _step(self, doubts: dict[int, Doubt]) -> Callable[[_State, Event], _State]:
        def step(state: _State, event: Event) -> _State:
            if event.kind is Kind.DOUBT:
                return self._doubted(state, doubts[event.index])
            usage = self.used.get(event.index) if event.kind is Kind.MULTIPLY else None
            if usage is None:
                return state
            if usage.reads and (state, event.index) not in self.judged:
                self.judged.add((state, event.index))
                self.reads.append((state, event, usage))
            if usage.op == "fill":
                return _Status.FILLED, self.names[event.index]
            return (_Status.GONE, self.names[event.index]) if usage.ends else state

        return step

    def _judge(self, state: _State, event: Event, usage: CollectorUse, path: str) -> None:
        status, index = state
        if status is _Status.FILLED and index != _NO_RECORD:
            self._compare(index, event)
        if status in (_Status.EMPTY, _Status.GONE):
            by = self.report.line(index) if index != _NO_RECORD else "an MMA before it"
            self.report.add(
                NOT_FILLED[self.buffer],
                event.index,
                got=f"{usage}: {self.role} can come here, and {status.value}"
                + (f" {by}" if status is _Status.GONE else "")
                + (f"; {path}" if path else ""),
            )

    def _compare(self, filled: int, event: Event) -> None:
        for rule, differ in ((ANOTHER, other_form), (ELSEWHERE, other_place)):
            found = differ(self.events[filled], event, self.operand)
            if found is not None:
                what, first, second = found
                self.report.add(
                    rule,
                    event.index,
                    got=f"{what} {second}",
                    expected=f"{what} {first}, as {self.report.line(filled)} filled it",
                )

    def _doubted(self, state: _State, doubt: Doubt) -> _State:
        """The state after a join of paths that may be infeasible."""
        status, index = state
        undone = index in {self.names[i] for i in doubt.undone}
        if status is _Status.FILLED or not (doubt.skipped or undone):
            return state
        return _Status.PERHAPS, _NO_RECORD
