"""Rules about mbarriers: they are initialised, with a count that their arrivals reach.

Layer: isel.verifier.function.  PTX ISA, mbarrier.init, mbarrier.arrive, Phases.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from isel.verifier.function.barriers.clusters import PAIR_SIZE, cluster_size, is_in_cluster
from isel.verifier.function.events import ARRIVING, Event, Kind, signalled
from isel.verifier.function.flow.values import MemoryLocation, Symbol
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.rule import VerifierRule

_USES = (Kind.ASK, *ARRIVING)
_NAMED = (Kind.INIT, *_USES)


UNINITIALIZED = VerifierRule(
    "mbarrier/uninitialized",
    "{op} on what is no mbarrier",
    "mbarrier.init",
    hint="mbarrier.init by one thread, then a barrier",
)
ARRIVALS = VerifierRule(
    "mbarrier/arrivals",
    "an mbarrier waits for more arrivals than there are",
    "mbarrier.init",
)
MAYBE_UNINITIALIZED = VerifierRule(
    "mbarrier/uninitialized",
    "{op} on an mbarrier that is not initialised on every way here",
    "mbarrier.init",
    hint="mbarrier.init under no other condition than its use, then a barrier",
)
RULES = (UNINITIALIZED, MAYBE_UNINITIALIZED, ARRIVALS)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    inits = report.analysis.events(Kind.INIT)
    uses = _uses(report)
    if not any(e.place is None for e in inits):
        _initialised(report, uses, [e.place for e in inits if e.place is not None])
    if report.analysis.block:
        for role in report.analysis.roles:
            _made_on_all_paths(report, role)
        _counts(report, inits, uses)


def _uses(report: Report) -> list[tuple[Event, MemoryLocation | None]]:
    """Every event that uses an mbarrier, with the mbarrier."""
    found = [(e, e.place) for e in report.analysis.events(*_USES)]
    return found + [(e, signalled(e)) for e in report.analysis.events(Kind.COPY_IN)]


def _initialised(
    report: Report, uses: list[tuple[Event, MemoryLocation | None]], inits: list[MemoryLocation]
) -> None:
    for event, place in uses:
        if place is None or not _is_own(report, place) or any(place.meets(i) for i in inits):
            continue
        report.add(
            UNINITIALIZED,
            event.index,
            got=f"{place}, which no mbarrier.init makes one",
            expected=_made(inits),
        )


def _made(inits: list[MemoryLocation]) -> str:
    names = sorted({str(place) for place in inits})
    return "an mbarrier: " + ", ".join(names) if names else "mbarrier.init before its first use"


def _is_own(report: Report, place: MemoryLocation) -> bool:
    """Whether a location is in a variable of the module that nothing outside can initialise."""
    if report.analysis.function.is_kernel and isinstance(place.base, Symbol):
        variables = [*report.module.variables, *report.analysis.function.variables]
        return any(v.name == place.base.name and not v.external for v in variables)
    return False


def _made_on_all_paths(report: Report, role: Role) -> None:
    """A thread that initialises an mbarrier and uses it later has initialised it on every CFG
    path.
    """
    repeated = report.analysis.repeated[role.warps[0]]
    inits = [
        e
        for e in role.events()
        if e.kind is Kind.INIT and e.place is not None and e.place.offset is not None
        if e.threads.lanes.bit_count() == 1 and e.index not in repeated
    ]
    if not any(e.guard is not None or e.threads.perhaps for e in inits):
        return
    if not role.walker.remembers_all():
        return
    lanes = inits[0].threads.lanes
    own = {e.place for e in inits if e.threads.lanes == lanes}
    missed: dict[MemoryLocation, int] = {}

    def step(made: frozenset[MemoryLocation], event: Event) -> frozenset[MemoryLocation]:
        place = event.place
        if place is None or place not in own or event.kind not in _NAMED:
            return made
        if event.kind is not Kind.INIT and place not in made:
            missed[place] = min(missed.get(place, event.index), event.index)
        return made | {place}

    role.walker.walk(frozenset[MemoryLocation](), step, lanes)
    for place, index in missed.items():
        report.add(
            MAYBE_UNINITIALIZED,
            index,
            got=f"{role} can come here with {place} as it was",
            expected="mbarrier.init on every way to it",
        )


# ---- counts ----------------------------------------------------------------------------------


def _counts(
    report: Report, inits: list[Event], uses: list[tuple[Event, MemoryLocation | None]]
) -> None:
    """A count that all arrivals together do not reach: the first wait never ends."""
    waited = [place for e, place in uses if e.kind is Kind.ASK]
    named = {place for _, place in uses if place is not None and place.offset is not None}
    for init in inits:
        place, count = init.place, init.count
        if place is None or count is None or place.offset is None:
            continue
        if not any(w is None or _is_meant(w, place, named) for w in waited):
            continue
        arrivals = _arrivals(report, place)
        if arrivals is None or arrivals[0] >= count:
            continue
        total, repeats = arrivals
        report.add(
            ARRIVALS,
            init.index,
            severity=Severity.REVIEW if repeats else Severity.ERROR,
            got=f"{place} expects {count}; {_said(total, repeats)}{_by(report, uses, place)}",
            expected=f"{count} arrivals in a phase, or mbarrier.init with {total or 'their count'}",
        )


def _is_meant(waited: MemoryLocation, place: MemoryLocation, named: set[MemoryLocation]) -> bool:
    """Whether a wait is for an mbarrier, or for one of a ring that contains it.

    A wait at an unknown offset may be for any mbarrier that no use names; `named` are those with
    uses of their own.
    """
    if waited.offset is not None:
        return waited == place
    beside = any(one.base == place.base for one in named)
    return waited.meets(place) and (place in named or not beside)


def _by(
    report: Report, uses: list[tuple[Event, MemoryLocation | None]], place: MemoryLocation
) -> str:
    """The arrivals at an mbarrier and the waits on it, as words that follow a count."""
    here = [(e.kind, e.index) for e, at in uses if at is None or at.meets(place)]
    arrive = [index for kind, index in here if kind in ARRIVING]
    wait = [index for kind, index in here if kind is Kind.ASK]
    come = f", by {report.lines(arrive)}" if arrive else ""
    return f"{come}; {report.lines(wait)} waits" if wait else come


def _said(total: int, repeats: bool) -> str:
    arrivals = f"{total} arrival{'' if total == 1 else 's'}"
    return f"{arrivals} in a pass of its loop" if repeats else f"{arrivals} in the whole kernel"


def _arrivals(report: Report, place: MemoryLocation) -> tuple[int, bool] | None:
    """The most arrivals at an mbarrier if each record is executed once, and whether one may be
    repeated.

    None where it is not known which threads arrive, of how many CTAs.
    """
    total, repeats = 0, False
    for found in report.analysis.sites.values():
        for warp, event in found:
            if event.kind not in ARRIVING or not (event.place is None or event.place.meets(place)):
                continue
            threads, ctas = event.threads.count, _senders(report, event)
            if event.place is None or threads is None or event.count is None or ctas is None:
                return None
            total += threads * event.count * ctas
            repeats |= _in_loop(report, warp, event)
    return total, repeats


def _senders(report: Report, event: Event) -> int | None:
    """The most CTAs whose execution of a record arrives at one mbarrier, None if unknown.

    A multicast commit arrives at the mbarriers of other CTAs, and theirs arrive here.  Of a pair
    both arrive in the even CTA where the bit of a `.shared::cluster` address that tells them apart
    is cleared.
    """
    size = cluster_size(report.analysis.function, report.cluster)
    if event.mi.get("cta_mask") is not None:
        return size
    if event.kind is Kind.COMMIT or not is_in_cluster(event):
        return 1
    return min(size or PAIR_SIZE, PAIR_SIZE)


def _in_loop(report: Report, warp: int, event: Event) -> bool:
    return event.index in report.analysis.repeated[warp]
