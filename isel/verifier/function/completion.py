"""Rules about the end of an MMA: committed, waited for, fenced, and only then read.

Layer: isel.verifier.function.  PTX ISA, tcgen05: Memory Consistency Model, Canonical
synchronization patterns.
"""

from __future__ import annotations

from isel.verifier.function.events import Event, Kind
from isel.verifier.function.order import Order, before_all
from isel.verifier.function.report import Report
from isel.verifier.function.rule import FunctionRule
from isel.verifier.function.values import Loaded, Where

_PATTERNS = "tcgen05, Canonical synchronization patterns"
_READS = (Kind.TENSOR_LOAD, Kind.TENSOR_STORE, Kind.DEALLOC)


NO_COMMIT = FunctionRule(
    "tcgen05.mma/no-commit",
    "the MMA is not committed on every way to the end",
    _PATTERNS,
    expected="tcgen05.commit in the same thread, and a wait on its mbarrier",
)
_WAIT_HINT = (
    "mbarrier.try_wait.parity until it succeeds, then tcgen05.fence::after_thread_sync, "
    "then the access"
)
BEFORE_COMPLETION = FunctionRule(
    "{op}/before-completion",
    "the accumulator is accessed before the MMA is known to be complete",
    _PATTERNS,
    hint=_WAIT_HINT,
)
FREED_BEFORE_COMPLETION = FunctionRule(
    "{op}/before-completion",
    "tensor memory is freed while an MMA may still write it",
    _PATTERNS,
    hint=_WAIT_HINT,
)
BEFORE_FENCE = FunctionRule(
    "{op}/before-fence",
    "the accumulator is accessed before the MMA is known to be complete",
    _PATTERNS,
    expected="tcgen05.fence::after_thread_sync after the wait",
    hint=_WAIT_HINT,
)
RULES = (NO_COMMIT, BEFORE_COMPLETION, FREED_BEFORE_COMPLETION, BEFORE_FENCE)


def check(report: Report) -> None:
    """Run the rules."""
    if not report.analysis.block:
        return
    widths: dict[Where, int | None] = {}
    for event in report.analysis.events(Kind.MULTIPLY):
        if event.place is not None:
            widest = widths.get(event.place, 0)
            known = widest is not None and event.count is not None
            widths[event.place] = max(widest or 0, event.count or 0) if known else None
    for accumulator, width in widths.items():
        committed = _committed(report, accumulator)
        if committed:
            _read_after_completion(report, accumulator, width, committed)


def _writes(event: Event, accumulator: Where) -> bool:
    return event.kind is Kind.MULTIPLY and event.place == accumulator


_SOME = -1
"""Among the numbers of records: the thread has issued an MMA on its way, committed or not."""


def _committed(report: Report, accumulator: Where) -> frozenset[Where] | None:
    """The mbarriers that tell of the end of the MMAs; None when an unknown one may be."""
    found: set[Where | None] = set()

    def step(issued: frozenset[int], event: Event) -> frozenset[int]:
        if _writes(event, accumulator):
            return issued | {event.index, _SOME}
        if event.kind is Kind.COMMIT and issued:
            found.add(event.place)  # a later commit tells of all that was issued before it
            return frozenset({_SOME})
        return issued

    for role in report.analysis.roles:
        for index in sorted(role.walker.gather(step) - {_SOME}):
            _not_committed(report, index)
    return None if None in found else frozenset(p for p in found if p is not None)


def _not_committed(report: Report, index: int) -> None:
    report.add(
        NO_COMMIT,
        index,
        got="a way on which no tcgen05.commit follows in the thread that issues it",
    )


def _read_after_completion(
    report: Report, accumulator: Where, width: int | None, committed: frozenset[Where]
) -> None:
    """Who reads, overwrites or frees the accumulator has waited for the commit, and fenced."""
    order = Order(
        report.analysis,
        learns=lambda e: False,
        forgets=lambda e: _writes(e, accumulator),
        mbarriers=committed,
    )
    names = " or ".join(sorted(str(place) for place in committed))
    unaware = list(order.unaware(lambda e: _touches(e, accumulator, width)))
    first = [e for _, e, known in unaware if not known.knows and e.kind is not Kind.DEALLOC]
    early = before_all(report.analysis, first, lambda e: _writes(e, accumulator)) if first else ()
    for role, event, known in unaware:
        frees = event.kind is Kind.DEALLOC
        if known.knows and frees:
            continue
        if not known.knows and event.index in early:
            continue
        got = f"{role} can come here without it"
        if known.knows:
            report.add(BEFORE_FENCE, event.index, got=got)
            continue
        report.add(
            FREED_BEFORE_COMPLETION if frees else BEFORE_COMPLETION,
            event.index,
            got=got,
            expected=f"a wait on mbarrier {names}, to which the MMA is committed",
        )


def _touches(event: Event, accumulator: Where, width: int | None) -> bool:
    """Whether an event reads, overwrites or frees what the MMA writes, `width` columns."""
    if event.kind not in _READS or event.place is None or event.place.base != accumulator.base:
        return False
    if event.kind is Kind.DEALLOC:
        return isinstance(accumulator.base, Loaded)
    here, there = event.place.offset, accumulator.offset
    if here is None or there is None:
        return True
    return 0 <= (here & 0xFFFF) - (there & 0xFFFF) < (width or 1)
