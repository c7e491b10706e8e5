"""The rule that a consumer's wait for copies begins with parity 0.

Layer: isel.verifier.function.  A new mbarrier behaves as if the phase of parity 1 had just been
completed, so that a wait for parity 1 succeeds at once.  That is right for a producer that waits
until a buffer is empty, and wrong for a consumer that waits until copies have filled it. PTX ISA,
mbarrier: Phase of the mbarrier object; mbarrier.try_wait: .parity.
"""

from __future__ import annotations

from isel.verifier.function.events import Event, Kind, first_parity, first_place, signalled
from isel.verifier.function.flow.values import MemoryLocation, Symbol
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

FIRST_PARITY = VerifierRule(
    "mbarrier/first-parity",
    "the first wait for what a copy brings does not wait",
    "mbarrier, Phase of the mbarrier object",
    expected="parity 0 in the first round",
    hint="parity 1 asks for the phase before the first, which counts as complete: it is for who "
    "waits until a buffer is empty",
)
RULES = (FIRST_PARITY,)


def check(report: Report) -> None:
    """Report waits for copies that begin with parity 1."""
    if not report.analysis.block or not report.analysis.events(Kind.INIT):
        return
    asks = report.analysis.events(Kind.ASK)
    copies = [(e, signalled(e)) for e in report.analysis.events(Kind.COPY_IN)]
    for ask in asks:
        place = _asked(ask)
        if first_parity(ask) != 1 or place is None or not isinstance(place.base, Symbol):
            continue
        filled = [(e, signal) for e, signal in copies if signal is not None and signal.meets(place)]
        if not filled:
            continue
        # Where the offset is not known, a copy may signal any of the mbarriers in a variable.
        known = all(signal.offset is not None for _, signal in filled)
        reached = place if known else MemoryLocation(place.base)
        if not any(_begins(other, reached) for other in asks):
            line = report.line(filled[0][0].index)
            got = f"the first wait on {place}, which {line} signals, is for parity 1"
            report.add(FIRST_PARITY, ask.index, got=got)


def _asked(ask: Event) -> MemoryLocation | None:
    return first_place(ask) or ask.place


def _begins(ask: Event, place: MemoryLocation) -> bool:
    """Whether a wait may be for the first phase of an mbarrier."""
    asked = _asked(ask)
    return first_parity(ask) != 1 and (asked is None or asked.meets(place))
