"""The rule that a wait for what copies bring begins with the first phase.

Layer: isel.verifier.function.  An mbarrier behaves as if a phase had just been completed when it is
made, so that a wait for the odd parity succeeds at once.  That is right for a wait until a
buffer may be filled, and wrong for a wait until it is full: what copies signal.
PTX ISA, mbarrier: Phase of the mbarrier object; mbarrier.try_wait: .parity.
"""

from __future__ import annotations

from isel.verifier.function.events import Event, Kind, first_parity, first_place
from isel.verifier.function.mbarriers import signalled
from isel.verifier.function.report import Report
from isel.verifier.function.values import Symbol, Where
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
    """Report waits for what copies bring that begin with parity 1."""
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
        # Of several mbarriers in a variable a copy may signal any, where the place is not known.
        known = all(signal.offset is not None for _, signal in filled)
        reached = place if known else Where(place.base)
        if not any(_begins(other, reached) for other in asks):
            line = report.line(filled[0][0].index)
            got = f"the first wait on {place}, which {line} signals, is for parity 1"
            report.add(FIRST_PARITY, ask.index, got=got)


def _asked(ask: Event) -> Where | None:
    return first_place(ask) or ask.place


def _begins(ask: Event, place: Where) -> bool:
    """Whether a wait may be for the first phase of an mbarrier."""
    asked = _asked(ask)
    return first_parity(ask) != 1 and (asked is None or asked.meets(place))
