"""Rules about the end of MMAs, copies and shifts: committed, waited for, fenced, and then read.

Layer: isel.verifier.function.  PTX ISA, tcgen05: Memory Consistency Model, Canonical
synchronization patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Severity
from intrinsics.modifiers import Sem
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.order import Order, before_all
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.touches import Span, meet, spans
from isel.verifier.function.values import Loaded, Where
from isel.verifier.rule import VerifierRule

_PATTERNS = "tcgen05, Canonical synchronization patterns"
_READS = (Kind.TENSOR_LOAD, Kind.TENSOR_STORE, Kind.DEALLOC)
_WRITERS = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.SHIFT)


NO_COMMIT = VerifierRule(
    "tcgen05.mma/no-commit",
    "the MMA is not committed on every way to the end",
    _PATTERNS,
    expected="tcgen05.commit in the same thread, and a wait on its mbarrier",
)
NO_COMMIT_OF_COPY = VerifierRule(
    "{op}/no-commit",
    "{op} is not committed on every way to the end",
    _PATTERNS,
    expected=NO_COMMIT.expected,
)
_WAIT_HINT = (
    "mbarrier.try_wait.parity until it succeeds, then tcgen05.fence::after_thread_sync, "
    "then the access"
)
BEFORE_COMPLETION = VerifierRule(
    "{op}/before-completion",
    "the accumulator is accessed before the MMA is known to be complete",
    _PATTERNS,
    hint=_WAIT_HINT,
)
COPY_BEFORE_COMPLETION = VerifierRule(
    "{op}/before-completion",
    "columns are accessed before what writes them is known to be complete",
    _PATTERNS,
    hint=_WAIT_HINT,
)
FREED_BEFORE_COMPLETION = VerifierRule(
    "{op}/before-completion",
    "tensor memory is freed while an MMA may still write it",
    _PATTERNS,
    hint=_WAIT_HINT,
)
BEFORE_FENCE = VerifierRule(
    "{op}/before-fence",
    "the wait for the MMA is not followed by tcgen05.fence::after_thread_sync",
    _PATTERNS,
    Severity.REVIEW,
    expected="tcgen05.fence::after_thread_sync after the wait",
    hint=_WAIT_HINT,
)
RULES = (
    NO_COMMIT, NO_COMMIT_OF_COPY, BEFORE_COMPLETION, COPY_BEFORE_COMPLETION,
    FREED_BEFORE_COMPLETION, BEFORE_FENCE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """What MMAs, copies or shifts write: a place, how many columns of it, and by what."""

    place: Where
    width: int
    by: str

    def is_written(self, event: Event) -> bool:
        """Whether an event writes it."""
        return event.kind in _WRITERS and event.place == self.place

    @property
    def is_accumulator(self) -> bool:
        """Whether an MMA writes it."""
        return self.by.startswith("tcgen05.mma")


def check(report: Report) -> None:
    """Run the rules."""
    if not report.analysis.block:
        return
    for target in _targets(report):
        committed = _committed(report, target)
        if committed:
            _read_after_completion(report, target, committed)


def _targets(report: Report) -> list[Target]:
    """The places that are written; of one that several records write, what all of them do."""
    found: dict[Where, list[Event]] = {}
    for event in report.analysis.events(*_WRITERS):
        if event.place is not None:
            found.setdefault(event.place, []).append(event)
    return [
        Target(place, max(map(_columns, events)), events[0].mi.row.head)
        for place, events in found.items()
    ]


def _columns(event: Event) -> int:
    """The columns that an event writes."""
    if event.kind is Kind.MULTIPLY:
        return event.count or 1
    return max((span.width for span in spans(event) if span.writes), default=1)


_SOME = -1
"""Among the numbers of records: the thread has issued an MMA on its way, committed or not."""


def _committed(report: Report, target: Target) -> frozenset[Where] | None:
    """The mbarriers that tell of the end; None when an unknown one may be.

    A copy or a shift that is handed on behind a fence is tracked by who multiplies next.
    """
    found: set[Where | None] = set()
    handed_on = any(_reads(e, target) for e in report.analysis.events(Kind.MULTIPLY))

    def step(issued: frozenset[int], event: Event) -> frozenset[int]:
        if target.is_written(event):
            return issued | {event.index, _SOME}
        if event.kind is Kind.COMMIT and issued:
            found.add(event.place)  # a later commit tells of all that was issued before it
            return frozenset({_SOME})
        if event.kind is Kind.FENCE_BEFORE and handed_on and issued:
            return frozenset(i for i in issued if i == _SOME or _is_mma(report, i))
        return issued

    for role in report.analysis.roles:
        for index in sorted(role.walker.gather(step) - {_SOME}):
            if not _is_mma(report, index) and not _is_loaded(report, target):
                continue  # an MMA of another thread may be pipelined behind it
            report.add(
                NO_COMMIT if _is_mma(report, index) else NO_COMMIT_OF_COPY,
                index,
                got="a way on which no tcgen05.commit follows in the thread that issues it",
            )
    return None if None in found else frozenset(p for p in found if p is not None)


def _reads(event: Event, target: Target) -> bool:
    """Whether an MMA reads or writes what is written."""
    there = target.place.offset
    first = None if there is None else there & 0xFFFF
    found = Span(target.place.base, first, target.width, True)
    return meet(spans(event), [found]) is not None


def _is_mma(report: Report, index: int) -> bool:
    return report.record(index).row.id.startswith("tcgen05.mma")


def _is_loaded(report: Report, target: Target) -> bool:
    return any(_touches(e, target) for e in report.analysis.events(Kind.TENSOR_LOAD))


def _read_after_completion(report: Report, target: Target, committed: frozenset[Where]) -> None:
    """Who reads, overwrites or frees what is written has waited for the commit, and fenced."""
    order = Order(
        report.analysis,
        learns=lambda e: False,
        forgets=target.is_written,
        mbarriers=committed,
    )
    unaware = list(order.unaware(lambda e: _touches(e, target)))
    first = [e for _, e, known in unaware if not known.knows and e.kind is not Kind.DEALLOC]
    early = _early(report, first, target, committed) if first else ()
    for role, event, known in unaware:
        frees = event.kind is Kind.DEALLOC
        if known.knows and not frees:
            _before_fence(report, role, event, committed)
        elif not known.knows and event.index not in early:
            _before_completion(report, role, event, target, committed)


def _early(
    report: Report, first: list[Event], target: Target, committed: frozenset[Where]
) -> set[int]:
    idle = set[int]().union(*report.analysis.idle_at_first)

    def told(event: Event) -> bool:
        return event.kind is Kind.DONE and event.index not in idle and _is_told(event, committed)

    return before_all(report.analysis, first, target.is_written, told)


def _is_told(event: Event, committed: frozenset[Where]) -> bool:
    return event.place is None or any(event.place.meets(place) for place in committed)


def _before_fence(report: Report, role: Role, event: Event, committed: frozenset[Where]) -> None:
    """A wait that acquires may order what follows it: the manual shows relaxed ones only."""
    waits = [e for e in role.events() if e.kind is Kind.ASK and _is_told(e, committed)]
    relaxed = any(e.mi.form.facts.get("sem") is Sem.RELAXED for e in waits)
    report.add(
        BEFORE_FENCE,
        event.index,
        severity=Severity.ERROR if relaxed else None,
        got=f"{role} can come here without it",
    )


def _before_completion(
    report: Report, role: Role, event: Event, target: Target, committed: frozenset[Where]
) -> None:
    rule = BEFORE_COMPLETION if target.is_accumulator else COPY_BEFORE_COMPLETION
    names = " or ".join(sorted(str(place) for place in committed))
    what = "the MMA" if target.is_accumulator else target.by
    report.add(
        FREED_BEFORE_COMPLETION if event.kind is Kind.DEALLOC else rule,
        event.index,
        got=f"{role} can come here without it",
        expected=f"a wait on mbarrier {names}, to which {what} is committed",
    )


def _touches(event: Event, target: Target) -> bool:
    """Whether an event reads, overwrites or frees what is written."""
    place = event.place
    if event.kind not in _READS or place is None or place.base != target.place.base:
        return False
    if event.kind is Kind.DEALLOC:
        return isinstance(place.base, Loaded)
    here, there = place.offset, target.place.offset
    if here is None or there is None:
        return True
    return 0 <= (here & 0xFFFF) - (there & 0xFFFF) < target.width
