"""Rules about how much tensor memory a kernel allocates: no more than there is, in falling sizes.

Layer: isel.verifier.function.  tcgen05.alloc waits until its columns are free; what the CTA itself
holds until later never is.  PTX ISA, tcgen05.alloc, Tensor Memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from intrinsics.findings import Severity
from intrinsics.limits import COLUMNS
from isel.verifier.function.allocation import Slot, freed_by_others, slot_of
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.order import before_all
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.rule import VerifierRule

_ALLOC = "tcgen05.alloc"

CAPACITY = VerifierRule(
    "tcgen05.alloc/capacity",
    "a CTA holds more columns than its tensor memory has: the allocation never returns",
    _ALLOC,
    expected=f"at most {COLUMNS} columns at a time",
    hint="tcgen05.alloc waits until the columns are free: free others first, or allocate fewer",
    misses=False,
)
GROWING = VerifierRule(
    "tcgen05.alloc/growing",
    "an allocation is larger than an earlier one",
    _ALLOC,
    Severity.REVIEW,
    expected="sizes that do not increase, in the order of execution",
    hint="allocate the largest first: a smaller one may stand where the larger would have to",
    misses=False,
)
RULES = (CAPACITY, GROWING)


@dataclass(frozen=True, slots=True)
class _Held:
    """What a warp holds on its way: columns by slot, and its last allocation (columns, record)."""

    live: frozenset[tuple[Slot, int]] = frozenset()
    last: tuple[int, int] | None = None

    @property
    def columns(self) -> int:
        """How many they are, at least."""
        return sum(columns for _, columns in self.live)

    def freed(self, event: Event) -> _Held:
        """After a dealloc; one of an unknown address may free anything."""
        slot = event.place.base if event.place is not None else None
        if not any(s == slot for s, _ in self.live):
            return replace(self, live=frozenset())
        return replace(self, live=frozenset(x for x in self.live if x[0] != slot))


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if not report.analysis.block or not report.analysis.events(Kind.ALLOC):
        return
    everyone = len(report.analysis.walkers)
    meetings = {
        index
        for index, found in report.analysis.sites.items()
        if found[0][1].kind is Kind.BARRIER and len(found) == everyone
    }
    held: dict[int, dict[Slot, int]] = {index: {} for index in meetings}
    for role in report.analysis.roles:
        for index, columns in _walk(report, role, meetings).items():
            held[index].update(columns)
    _together(report, held)
    _growing_elsewhere(report)


def _walk(report: Report, role: Role, meetings: set[int]) -> dict[int, dict[Slot, int]]:
    """Judge the allocations of one warp; what it holds at least at each meeting of all warps."""
    others = freed_by_others(report, role)
    held: dict[int, frozenset[tuple[Slot, int]]] = {}

    def step(state: _Held, event: Event) -> _Held:
        match event.kind:
            case Kind.ALLOC:
                return _allocate(report, state, event, others)
            case Kind.DEALLOC:
                return state.freed(event)
            case Kind.BARRIER if event.index in meetings:
                held[event.index] = held.get(event.index, state.live) & state.live
        return state

    role.walker.walk(_Held(), step)
    return {index: dict(live) for index, live in held.items()}


def _allocate(report: Report, state: _Held, event: Event, others: set[Slot]) -> _Held:
    slot, columns = slot_of(event), event.count
    if slot is None or columns is None:
        return replace(state, last=None)
    live = frozenset(x for x in state.live if x[0] != slot)
    before = sum(c for s, c in live if s not in others)
    if before + columns > COLUMNS and slot not in {s for s, _ in state.live}:
        report.add(
            CAPACITY,
            event.index,
            got=f"{columns} columns, beside {before} that this warp has not freed",
        )
    if state.last is not None and state.last[0] < columns:
        _grows(report, event, *state.last)
    return _Held(live | {(slot, columns)}, (columns, event.index))


def _grows(report: Report, event: Event, columns: int, earlier: int) -> None:
    report.add(
        GROWING,
        event.index,
        got=f"{event.count} columns, after {columns} by {report.line(earlier)}",
    )


def _together(report: Report, held: dict[int, dict[Slot, int]]) -> None:
    """Warps that meet while they hold more than there is together."""
    allocs = {slot_of(e): e.index for e in report.analysis.events(Kind.ALLOC)}
    for index, columns in held.items():
        total = sum(columns.values())
        if total > COLUMNS:
            last = max(allocs[slot] for slot in columns)
            report.add(
                CAPACITY,
                last,
                got=f"{total} columns in {len(columns)} allocations, all of which are held at "
                f"{report.line(index)}",
            )


def _growing_elsewhere(report: Report) -> None:
    """A larger allocation by another warp, behind a barrier."""
    sizes = [(r, e, e.count) for r in report.analysis.roles for e in r.events()
             if e.kind is Kind.ALLOC and e.count is not None]  # fmt: skip
    for role, event, columns in sizes:
        smaller = [e for r, e, c in sizes if r is not role and c < columns]
        for index in before_all(report.analysis, smaller, partial(_is, event)) if smaller else ():
            count = next(e.count for e in smaller if e.index == index)
            _grows(report, event, count or 0, index)


def _is(event: Event, other: Event) -> bool:
    return event.index == other.index
