"""Rules about bulk copies to shared memory: no MMA reads what is not there yet.

Layer: isel.verifier.function.  A copy signals an mbarrier when its bytes are there; the thread that
issues the MMA has waited for it, or has met somebody who has.  PTX ISA, cp.async.bulk.tensor.
"""

from __future__ import annotations

from isel.verifier.function.events import Event, Kind
from isel.verifier.function.mbarriers import signalled
from isel.verifier.function.order import Order
from isel.verifier.function.regions import overlap, variable_of
from isel.verifier.function.report import Report
from isel.verifier.function.values import Where
from isel.verifier.rule import VerifierRule

BEFORE_COPY = VerifierRule(
    "{op}/before-copy",
    "the MMA reads shared memory that a copy may not have filled yet",
    "cp.async.bulk.tensor",
    hint="mbarrier.try_wait.parity until it succeeds, before the MMA",
)
RULES = (BEFORE_COPY,)


def check(report: Report) -> None:
    """Run the rule."""
    if not report.analysis.block:
        return
    copies = report.analysis.events(Kind.COPY_IN)
    for name in sorted({variable_of(e.place) or "" for e in copies if e.place is not None} - {""}):
        into = [e for e in copies if e.place is not None and variable_of(e.place) == name]
        signals = {signalled(e) for e in into}
        if None not in signals:
            _read_before_copied(report, name, into, frozenset(s for s in signals if s is not None))


def _read_before_copied(
    report: Report, name: str, copies: list[Event], signals: frozenset[Where]
) -> None:
    order = Order(report.analysis, learns=lambda e: False, mbarriers=signals)
    names = " or ".join(sorted(str(place) for place in signals))
    for role, event, known in order.unaware(lambda e: _reads(report, e, copies)):
        if known.knows:
            continue
        report.add(
            BEFORE_COPY,
            event.index,
            got=f"{role} can come here without a wait on mbarrier {names}",
            expected=f"a wait on mbarrier {names}, which the copy to {name} signals",
        )


def _reads(report: Report, event: Event, copies: list[Event]) -> bool:
    """Whether an MMA certainly reads what one of the copies writes."""
    return event.kind in (Kind.MULTIPLY, Kind.WARPGROUP_MULTIPLY) and any(
        overlap(report, copy.place, read)
        for copy in copies
        for read in event.reads
        if copy.place is not None and read is not None
    )
