"""Rules about fence.mbarrier_init: other CTAs and the async proxy must see the initialisation.

Layer: isel.verifier.function.  PTX ISA, membar/fence: fence.mbarrier_init.release.cluster makes the
thread's earlier mbarrier.init visible in the cluster.  Async Proxy: what both proxies access needs
a fence between them.  Copies of the CTA's own complete on an mbarrier that mbarrier.init has
written through the generic proxy; whether that is such an access the manual does not say, and
libcu++ does without a fence: a review.  Nor does it count tcgen05.commit among the accesses of the
async proxy (tcgen05: Shared Memory Accesses): a commit to the CTA's own mbarriers needs none.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from intrinsics.findings import Severity
from intrinsics.mir import Form, MachineInstr
from isel.verifier.function.barriers.clusters import cluster_size, is_of_pair
from isel.verifier.function.events import Event, Kind, signalled
from isel.verifier.function.flow.values import MemoryLocation, where
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.rule import VerifierRule

INIT_FENCE = VerifierRule(
    "mbarrier.init/fence",
    "an mbarrier is seen without fence.mbarrier_init after its initialisation",
    "membar / fence",
    Severity.REVIEW,
    expected="fence.mbarrier_init.release.cluster between mbarrier.init and the barrier behind it",
    hint="mbarrier.init; fence.mbarrier_init.release.cluster; bar.sync, or the cluster's barrier",
)
RULES = (INIT_FENCE,)

_FENCES = (Kind.INIT_FENCE, Kind.PROXY_FENCE)
_SHOWS = (Kind.BARRIER, Kind.BARRIER_ARRIVE, Kind.WARP_SYNC, Kind.COPY_IN, Kind.COMMIT)
"""Events by which others may use an mbarrier, or that use it through the async proxy."""

_ENDS = (*_FENCES, *_SHOWS)

_NONE = -1

_GENERAL = ("fence", "membar")
"""Rows of fences of all memory."""


def check(report: Report) -> None:
    """Report paths from mbarrier.init to a use by others without a fence."""
    records = report.analysis.graph.records
    if any(mi.row.id in _GENERAL for mi in records):
        return
    used, elsewhere = _by_async_proxy(report), []
    if cluster_size(report.analysis.function, report.cluster) != 1:
        stays = {form for form in {mi.form for mi in records} if _is_local_to_cta(form)}
        there = (mi for mi in records if mi.form not in stays)
        elsewhere = [_reached(report, mi) for mi in there if _leaves_cta(mi)]
    if not used and not elsewhere:
        return
    for role in report.analysis.roles:
        inits = {
            e.index: e for e in role.events()
            if e.kind is Kind.INIT and _meets(e.place, [*used, *elsewhere])
        }  # fmt: skip
        for index, shown in _unfenced(role, inits).items() if inits else ():
            by_others = _meets(inits[index].place, elsewhere)
            _report(report, inits[index], shown, by_others=by_others)


def _meets(place: MemoryLocation | None, used: Sequence[MemoryLocation | None]) -> bool:
    """Whether an mbarrier may be one of those that are used; None is any."""
    return any(place is None or other is None or place.meets(other) for other in used)


def _reached(report: Report, mi: MachineInstr) -> MemoryLocation | None:
    """What other CTAs may access by the address that a record makes; None for anything."""
    if mi.row.id != "mapa":
        return None
    flow = report.analysis.walkers[0].flow
    return where(flow.evaluate(mi, "a"))


def _report(report: Report, init: Event, shown: int, *, by_others: bool) -> None:
    who = "another CTA of the cluster" if by_others else "the async proxy"
    report.add(
        INIT_FENCE,
        init.index,
        got=f"{who} may see {init.place or 'it'}; no fence before {report.line(shown)}",
    )


def _by_async_proxy(report: Report) -> list[MemoryLocation]:
    """The mbarriers that copies of the async proxy complete on."""
    copies = (signalled(e) for e in report.analysis.events(Kind.COPY_IN))
    return [place for place in copies if place is not None]


def _is_local_to_cta(form: Form) -> bool:
    """Whether no record of a form lets other CTAs access an mbarrier."""
    return form.row.packed_fields is None and not _leaves_cta(MachineInstr(form, ()))


def _leaves_cta(mi: MachineInstr) -> bool:
    """Whether a record lets other CTAs access an mbarrier."""
    multicast = mi.form.attributes.get("multicast") or mi.form.attributes.get("cta_mask")
    return bool(multicast) or mi.row.id == "mapa" or is_of_pair(mi)


def _unfenced(role: Role, inits: Container[int]) -> dict[int, int]:
    """Initialisations, and where others may use them; of several in a row, the last one.

    The state of the walk is the last initialisation without a later fence.
    """
    found: dict[int, int] = {}

    def step(last: int, event: Event) -> int:
        if event.index in inits:
            return event.index
        if event.kind in _SHOWS and last != _NONE:
            found.setdefault(last, event.index)
        return _NONE if event.kind in _ENDS else last

    role.walker.walk(_NONE, step)
    return found
