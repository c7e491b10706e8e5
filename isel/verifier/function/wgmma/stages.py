"""Rules about shared memory that wgmma reads: it does not change until the reads are complete.

Layer: isel.verifier.function.  Only wgmma.wait_group completes multiplies: a stage of a ring is
released after it, and so is what a thread overwrites itself.  A ring is recognised by its producer:
a thread that waits for an mbarrier, and then copies to where multiplies read, acquires a stage that
arrivals at that mbarrier released.  Consumers release stages in the order in which they acquired
them.  Where several rings share a variable, their stages cannot be distinguished; and which stage
an arrival releases is not known where paths that hold different numbers of stages join. PTX ISA,
wgmma.wait_group; cp.async.bulk.tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from intrinsics.findings import Severity
from intrinsics.lazy_dataclass import dataclass
from isel.verifier.function.events import Event, Kind, signalled
from isel.verifier.function.flow.values import MemoryLocation, Sixteenth, Symbol
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.wgmma.in_flight import ORDERING, InFlight, most_left
from isel.verifier.function.wgmma.regions import variable_of
from isel.verifier.rule import VerifierRule

RELEASED = VerifierRule(
    "wgmma.mma_async/stage-released",
    "a stage is given back while a multiply may still read it",
    "wgmma.wait_group",
    expected="a wgmma.wait_group that covers the multiplies of the stage, before the arrival",
    hint="with one group left in flight, give back the stage of the turn before",
)
MODIFIED = VerifierRule(
    "wgmma.mma_async/operand-modified",
    "shared memory is overwritten while a multiply may still read it",
    "wgmma.wait_group",
    expected="a wgmma.wait_group that covers the multiply, before the write",
)
RULES = (RELEASED, MODIFIED)

_MOST_HELD = 8
"""The most stages that a thread is modelled to hold; with more it is not known which one it
releases.
"""

_PIECE = 16
"""Bytes that every matrix has at its start address."""


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    multiplying = [role for role in report.analysis.roles if any(map(_multiplies, role.events()))]
    if not multiplying or not report.analysis.block:
        return
    kept = most_left(report.analysis.graph)
    rings = _rings(report)
    for role in multiplying:
        _modified(report, role, kept)
        for ring in rings:
            for arrival, multiply in _Consumer(role, ring, kept).early():
                got = f"{report.line(multiply)} may still read the stage"
                report.add(RELEASED, arrival, got=got)


def _multiplies(event: Event) -> bool:
    return event.kind is Kind.WARPGROUP_MULTIPLY


# ---- rings -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Ring:
    """The mbarriers that signal empty and full stages, and the variables of the stages."""

    empty: set[MemoryLocation] = field(default_factory=set)
    full: set[MemoryLocation] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)

    def is_read_by(self, event: Event) -> bool:
        """Whether a multiply reads a stage."""
        return any(r is not None and variable_of(r) in self.variables for r in event.reads)


def _rings(report: Report) -> list[_Ring]:
    """The rings whose stages can be distinguished from those of others."""
    taken: dict[int, tuple[MemoryLocation, list[Event]]] = {}
    for role in report.analysis.roles:
        _taken(role, taken)
    rings: list[_Ring] = []
    for empty, copies in taken.values():
        signals = sorted({s for e in copies if (s := signalled(e)) is not None}, key=str)
        ring = next((r for r in rings if any(empty.meets(e) for e in r.empty)), None)
        if ring is None:
            rings.append(ring := _Ring())
        ring.empty.add(empty)
        ring.full.update(signals[:1])  # a wait for one stage of several waits for each
        ring.variables |= {variable_of(e.place) or "" for e in copies if e.place is not None}
    return [
        ring
        for ring in rings
        if ring.full and not any(o is not ring and o.variables & ring.variables for o in rings)
    ]


def _taken(role: Role, taken: dict[int, tuple[MemoryLocation, list[Event]]]) -> None:
    """Collect the copies of a role by the last wait before them, where that is known."""
    if not any(e.kind is Kind.COPY_IN for e in role.events()):
        return
    waits = {e.index: e for e in role.events() if e.kind is Kind.ASK}

    def step(last: int, event: Event) -> int:
        if event.kind is Kind.DONE:
            return event.index
        if event.kind is Kind.COPY_IN and last in waits:
            place = waits[last].place
            if place is not None:
                copies = taken.setdefault(last, (place, []))[1]
                if event not in copies:
                    copies.append(event)
        return last

    role.walker.walk(-1, step)


# ---- stages ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """The stages that a thread holds, and the multiplies in flight, each with its stage.

    The stage acquired first has number 0.  `lost`: the number of stages is no longer known.
    """

    running: InFlight[tuple[int, int]] = field(default_factory=InFlight)
    count: int = 0
    lost: bool = False


_LOST = _Held(lost=True)


class _Consumer:
    """The walk of a role through a ring: the multiplies in flight at each arrival, on every
    path.
    """

    def __init__(self, role: Role, ring: _Ring, kept: int) -> None:
        self.role, self.ring, self.kept = role, ring, kept
        self.found: dict[int, list[frozenset[int]]] = {}

    def early(self) -> Iterator[tuple[int, int]]:
        """Arrivals that release a stage, each with a multiply that certainly still reads it."""
        if not any(_multiplies(e) and self.ring.is_read_by(e) for e in self.role.events()):
            return
        self.role.walker.walk(_Held(), self._step)
        for arrival, reading in self.found.items():
            if all(reading):
                yield arrival, min(min(multiplies) for multiplies in reading)

    def _step(self, state: _Held, event: Event) -> _Held:
        ring = self.ring
        if state.lost:
            return state
        if event.mi.row.id in ORDERING:
            return _Held(state.running.after(event, self.kept), state.count)
        if _multiplies(event) and ring.is_read_by(event) and state.count:
            return _Held(state.running.issue((event.index, state.count - 1)), state.count)
        if event.kind is Kind.DONE and _among(event.place, ring.full):
            more = state.count + 1
            return _LOST if more > _MOST_HELD else _Held(state.running, more)
        if event.kind is Kind.ARRIVE and (event.place is None or _among(event.place, ring.empty)):
            return self._give_back(state, event)
        return state

    def _give_back(self, state: _Held, event: Event) -> _Held:
        """Release the stage that was acquired first."""
        if event.place is None or not state.count:
            return _LOST
        reading = frozenset(index for index, stage in state.running if stage == 0)
        self.found.setdefault(event.index, []).append(reading)
        return _Held(state.running.map(_of_older_stage), state.count - 1)


def _of_older_stage(multiply: tuple[int, int]) -> tuple[int, int] | None:
    """A multiply, renumbered after the first stage is released; None for a reader of that one."""
    index, stage = multiply
    return (index, stage - 1) if stage else None


def _among(place: MemoryLocation | None, places: set[MemoryLocation]) -> bool:
    return place is not None and any(place.meets(other) for other in places)


# ---- what a thread writes itself -------------------------------------------------------------


def _modified(report: Report, role: Role, kept: int) -> None:
    multiplies = {e.index: e for e in role.events() if _multiplies(e)}

    def step(state: InFlight[int], event: Event) -> InFlight[int]:
        if event.kind in (Kind.SHARED_STORE, Kind.COPY_IN) and event.place is not None:
            for index in sorted(state):
                for severity in _hits(event, event.place, multiplies[index]):
                    got = f"{event.place}, which {report.line(index)} may still read"
                    report.add(MODIFIED, event.index, severity=severity, got=got)
        if event.index in multiplies:
            return state.issue(event.index)
        return state.after(event, kept)

    nothing: InFlight[int] = InFlight()
    role.walker.walk(nothing, step)


def _hits(event: Event, written: MemoryLocation, multiply: Event) -> Iterator[Severity]:
    """How certain it is that a write overlaps what a multiply reads.

    Stages of rings are left out.
    """
    for read in multiply.reads:
        if read is None or read.offset is None or variable_of(read) != _variable(written):
            continue
        start = read.offset * 16 if isinstance(read.base, Sixteenth) else read.offset
        if written.offset is None:
            if event.kind is Kind.SHARED_STORE:
                yield Severity.REVIEW
        elif start <= written.offset < start + _PIECE:
            yield Severity.ERROR


def _variable(place: MemoryLocation) -> str:
    return place.base.name if isinstance(place.base, Symbol) else ""
