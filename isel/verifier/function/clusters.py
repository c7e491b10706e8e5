"""Rules about CTAs that work together: pairs, cluster barriers, multicasts, peers that have exited.

Layer: isel.verifier.function.  All CTAs of a cluster run the same kernel, so what one warp must do
for its peer is asked of its own ways.  PTX ISA, tcgen05: CTA Pair, Peer CTA, Issue Granularity;
tcgen05.alloc; barrier.cluster; mapa.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from intrinsics.findings import Severity
from intrinsics.mir import MachineFunction, MachineInstr
from intrinsics.modifiers import Aligned, CtaGroup, Space
from isel.verifier.function.convergence import ALIGNED
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.order import Order
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.values import Where
from isel.verifier.rule import VerifierRule

_PAIR, _BARRIER = "tcgen05, CTA Pair", "barrier.cluster"
_ARRIVE, _WAIT = "barrier.cluster.arrive", "barrier.cluster.wait"
_CLUSTER_SYNC = "barrier.cluster.arrive, barrier.cluster.wait"

PAIR = VerifierRule(
    "tcgen05/pair-cluster",
    ".cta_group::2 works on two CTAs of a cluster, and this one has no peer for each",
    _PAIR,
    expected="a cluster of an even number of CTAs",
    hint='.reqnctapercluster 2 in PTX, "nvvm.cluster_dim"="2" in LLVM IR, or --cluster 2',
    misses=False,
)
PEER_RUNS = VerifierRule(
    "tcgen05.alloc/peer",
    "tensor memory of two CTAs is allocated before the peer CTA is known to run",
    "tcgen05.alloc",
    expected=f"{_CLUSTER_SYNC} before it",
    hint="both CTAs allocate together: the one that has started waits for the other here",
)
PEER_FREED = VerifierRule(
    "tcgen05.dealloc/peer",
    "tensor memory of two CTAs is freed before the peer CTA is known to have finished with it",
    "tcgen05.dealloc",
    expected=f"{_CLUSTER_SYNC} between tcgen05.alloc and it",
    hint="put the cluster barrier behind the last use in both CTAs",
)
PEER_EXIT = VerifierRule(
    "tcgen05/peer-exit",
    "the peer CTA may have exited while its shared and tensor memory are still used",
    "tcgen05, Issue Granularity",
    expected=f"{_CLUSTER_SYNC} before every exit",
    hint="the MMA of a pair reads both CTAs' memory, which is gone once all threads of one exited",
)
REMOTE_EXIT = VerifierRule(
    "{op}/peer-exit",
    "the CTA that this arrives at may have exited",
    _BARRIER,
    expected=f"{_CLUSTER_SYNC} before every exit, or a wait for the arrival",
    hint="shared memory of another CTA is there only as long as that CTA runs",
)
MASK = VerifierRule(
    "{op}/multicast-mask",
    "a multicast goes to CTAs that the cluster does not have",
    misses=False,
)
RANK = VerifierRule(
    "mapa/rank",
    "mapa names a CTA that the cluster does not have",
    misses=False,
)
TWICE = VerifierRule(
    "barrier.cluster.arrive/again",
    "a thread arrives at the cluster's barrier again before it has waited there",
    _BARRIER,
    expected="barrier.cluster.wait between two arrivals",
)
NO_ARRIVE = VerifierRule(
    "barrier.cluster.wait/no-arrive",
    "a thread waits at the cluster's barrier and has not arrived there",
    _BARRIER,
    expected="barrier.cluster.arrive on every way to it",
    hint="the barrier waits for this thread too, so that it would never open",
)
NO_WAIT = VerifierRule(
    "barrier.cluster.arrive/no-wait",
    "a thread arrives at the cluster's barrier and exits without waiting there",
    _BARRIER,
    Severity.REVIEW,
    expected="barrier.cluster.wait on every way to the end",
    hint="without the wait, its CTA may be gone before the others have come",
)
PART = VerifierRule(
    "barrier.cluster.wait/part",
    "a part of the threads waits at the cluster's barrier, and the others wait for them elsewhere",
    _BARRIER,
    expected="barrier.cluster.arrive by every thread of the cluster that has not exited",
    hint="neither side can go on: take the cluster's barrier out of the branch",
)
RULES = (
    PAIR, PEER_RUNS, PEER_FREED, PEER_EXIT, REMOTE_EXIT, MASK, RANK, TWICE, NO_ARRIVE, NO_WAIT,
    PART,
)  # fmt: skip


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if report.analysis.function.is_kernel:
        _pairs_have_clusters(report)
    _destinations(report)
    if not report.analysis.block:
        return
    _aligned(report)
    _part_of_a_warp(report)
    _part_of_the_warps(report)
    for role in report.analysis.roles:
        _in_turn(report, role)
    _peer_runs(report)
    _peer_has_finished(report)
    _peer_stays(report)


# ---- the size of the cluster -----------------------------------------------------------------


def pair_records(function: MachineFunction) -> Iterator[MachineInstr]:
    """The records of a function that are for a pair of CTAs."""
    return (mi for mi in function.instructions() if is_of_pair(mi))


def is_of_pair(mi: MachineInstr) -> bool:
    """Whether a record has `.cta_group::2`."""
    facts = mi.form.facts if mi.row.words is None else mi.facts()
    return facts.get("cta_group") is CtaGroup.TWO


def cluster_size(function: MachineFunction, cluster: tuple[int, ...]) -> int | None:
    """The CTAs of a cluster, as the kernel says or else as it is launched; None if unknown."""
    size = function.launch.cluster or cluster
    if size:
        return math.prod(size)
    return 1 if function.launch.maxclusterrank == 1 else None


def _pairs_have_clusters(report: Report) -> None:
    size = _size(report)
    if size is None or size % 2 == 0:
        return
    for index, mi in enumerate(report.analysis.graph.records):
        if is_of_pair(mi):
            report.add(PAIR, index, got=f"a cluster of {size} CTA{'s' if size > 1 else ''}")
            return


def _size(report: Report) -> int | None:
    return cluster_size(report.analysis.function, report.cluster)


def _destinations(report: Report) -> None:
    """Constant masks and ranks name CTAs of the cluster."""
    size = _size(report)
    for role in report.analysis.roles:
        flow = role.walker.flow
        for node in flow.reached():
            for index, mi, evaluator in flow.visit(node):
                if mi.get("cta_mask") is not None:
                    _check_mask(report, index, evaluator.slot(mi, "cta_mask").number, size)
                if mi.row.id == "mapa":
                    _check_rank(report, index, evaluator.slot(mi, "b").number, size)


def _check_mask(report: Report, index: int, mask: object, size: int | None) -> None:
    if not isinstance(mask, int) or (mask and (size is None or mask < 1 << size)):
        return
    if not mask:
        report.add(MASK, index, got="a mask of 0: no CTA at all", expected="a bit for each CTA")
        return
    assert size is not None
    report.add(
        MASK,
        index,
        got=f"mask {mask:#x}, for CTA {mask.bit_length() - 1}",
        expected=f"bits 0 to {size - 1}: the cluster has {size} CTA{'s' if size > 1 else ''}",
    )


def _check_rank(report: Report, index: int, rank: object, size: int | None) -> None:
    if isinstance(rank, int) and size is not None and rank >= size:
        report.add(RANK, index, got=f"CTA {rank}", expected=f"0 to {size - 1}")


# ---- the cluster's barrier -------------------------------------------------------------------


def _arrives(event: Event) -> bool:
    return event.mi.row.id == _ARRIVE


def _waits(event: Event) -> bool:
    return event.mi.row.id == _WAIT


def _aligned(report: Report) -> None:
    """With `.aligned`, the whole warp executes the barrier or none of it."""
    for walker in report.analysis.walkers:
        for event in walker.each():
            if not (_arrives(event) or _waits(event)) or not _is_aligned(event):
                continue
            certain = event.threads.one or event.threads.lanes != walker.flow.warp.lanes
            if certain or (event.threads.part and not report.analysis.graph.has_opaque):
                report.add(
                    ALIGNED,
                    event.index,
                    severity=Severity.ERROR if certain else Severity.REVIEW,
                    got=f"warp {walker.flow.warp.number}: {event.threads}",
                )


def _is_aligned(event: Event) -> bool:
    return event.mi.form.facts.get("aligned") is Aligned.ALIGNED


def _in_turn(report: Report, role: Role) -> None:
    """Each thread arrives, waits, arrives, waits."""
    last: set[int] = set()

    def step(arrived: int, event: Event) -> int:
        if _arrives(event):
            if arrived:
                report.add(TWICE, event.index, got=f"{role}: after {report.line(arrived - 1)}")
            return event.index + 1
        if _waits(event):
            if not arrived:
                report.add(NO_ARRIVE, event.index, got=f"{role}: a way on which it has not")
            return 0
        return arrived

    walk = role.walker.walk(0, step)
    for point, arrived in walk.at_exit():
        if arrived and arrived not in last:
            last.add(arrived)
            report.add(NO_WAIT, arrived - 1, got=f"{role}: {walk.way(point)}")


def _part_of_a_warp(report: Report) -> None:
    """Some lanes wait for the cluster, and all of the warp come to a later instruction."""
    for role in report.analysis.roles:
        everyone = role.walker.flow.warp.lanes
        parts = {
            e.index
            for e in role.events()
            if _waits(e) and not _is_aligned(e) and (e.threads.one or e.threads.lanes != everyone)
        }
        if not parts:
            continue
        events = {e.index: e for e in role.events()}

        def step(
            passed: frozenset[int],
            event: Event,
            parts: set[int] = parts,
            everyone: int = everyone,
            events: dict[int, Event] = events,
            role: Role = role,
        ) -> frozenset[int]:
            if event.index in parts:
                return passed | {event.index}
            together = event.kind in (Kind.BARRIER, Kind.WARP_SYNC)
            if together and event.threads.count == everyone.bit_count():
                for index in passed:
                    report.add(
                        PART,
                        index,
                        got=f"{role}: {events[index].threads}, and all at "
                        f"{report.line(event.index)}",
                    )
            return passed

        role.walker.gather(step)


def _part_of_the_warps(report: Report) -> None:
    """A barrier of the CTA behind the cluster's, with warps that were not at the cluster's."""
    roles = report.analysis.roles
    absent = [r for r in roles if not any(_arrives(e) or _waits(e) for e in r.events())]
    met = {e.index: r for r in absent for e in r.events() if e.kind is Kind.BARRIER}
    if not met:
        return
    for role in roles:

        def step(passed: frozenset[int], event: Event, role: Role = role) -> frozenset[int]:
            if _waits(event):
                return passed | {event.index}
            if event.kind is Kind.BARRIER and event.index in met:
                for index in passed:
                    other = met[event.index]
                    report.add(
                        PART,
                        index,
                        got=f"{role}; {other} wait{'s' if len(other.warps) == 1 else ''} at "
                        f"{report.line(event.index)}",
                    )
            return passed

        role.walker.gather(step)


# ---- the peer --------------------------------------------------------------------------------


def _is_remote(event: Event) -> bool:
    """Whether it arrives at an mbarrier of another CTA: of this one's, the name would be known."""
    return (
        event.kind is Kind.ARRIVE
        and event.mi.form.facts.get("space") is Space.SHARED_CLUSTER
        and event.place is None
    )


def _tells_of_the_peer(report: Report) -> bool:
    """Whether some mbarrier may tell what threads of the other CTA have done."""
    return any(_is_remote(e) for e in report.analysis.events(Kind.ARRIVE))


def _peer_runs(report: Report) -> None:
    """Who allocates for two CTAs knows that the peer has started."""
    told = _tells_of_the_peer(report)
    order = Order(report.analysis, lambda e: _waits(e) or (told and e.kind is Kind.DONE))
    for role, event, known in order.unaware(lambda e: _of_pair(e, Kind.ALLOC)):
        if not known.knows:
            report.add(PEER_RUNS, event.index, got=f"{role}: a way here without a cluster barrier")


def _of_pair(event: Event, *kinds: Kind) -> bool:
    return event.kind in kinds and is_of_pair(event.mi)


def _peer_has_finished(report: Report) -> None:
    """Who frees the memory of two CTAs has met the peer since it was allocated."""
    if not any(is_of_pair(e.mi) for e in report.analysis.events(Kind.ALLOC)):
        return
    told = _tells_of_the_peer(report)
    early = _waits_before_allocation(report)
    order = Order(
        report.analysis,
        lambda e: (_waits(e) and e.index not in early) or (told and e.kind is Kind.DONE),
        lambda e: _of_pair(e, Kind.ALLOC),
    )
    for role, event, known in order.unaware(lambda e: _of_pair(e, Kind.DEALLOC)):
        if not known.knows:
            report.add(
                PEER_FREED,
                event.index,
                got=f"{role}: a way from tcgen05.alloc without a cluster barrier",
            )


def _waits_before_allocation(report: Report) -> set[int]:
    """The waits at the cluster's barrier that the warps that allocate pass before they do only."""
    before: set[int] = set()
    after: set[int] = set()

    def step(allocated: bool, event: Event) -> bool:
        if _waits(event):
            (after if allocated else before).add(event.index)
        return allocated or _of_pair(event, Kind.ALLOC)

    for role in report.analysis.roles:
        if any(_of_pair(e, Kind.ALLOC) for e in role.events()):
            role.walker.walk(False, step)
    return before - after


def _peer_stays(report: Report) -> None:
    """Some warp of each CTA stays until the other CTA has done what it does with its memory."""
    uses = [e for e in report.analysis.events(Kind.MULTIPLY) if is_of_pair(e.mi)]
    remote = [e for e in report.analysis.events(Kind.ARRIVE) if _is_remote(e)]
    if _somebody_waits_for(report, remote):
        remote = []
    if not uses and not remote:
        return
    watch = _Watch(report, {e.index for e in (*uses, *remote)}, told=_tells_of_the_peer(report))
    open_ways = [watch.open_way(role) for role in report.analysis.roles]
    if not all(open_ways):
        return
    for event in uses[:1]:
        report.add(PEER_EXIT, event.index, got=open_ways[0])
    for event in remote:
        report.add(REMOTE_EXIT, event.index, got=open_ways[0])


def _somebody_waits_for(report: Report, remote: list[Event]) -> bool:
    """Whether there is a wait on an mbarrier that may be the one that is arrived at from afar."""
    if not remote:
        return False
    kinds = (Kind.ARRIVE, Kind.COMMIT)
    near = [e.place for e in report.analysis.events(*kinds) if e.place is not None]
    copied = [e.value("mbar") for e in report.analysis.events(Kind.COPY_IN)]
    bases = {v.base for v in copied if v is not None}
    return any(
        e.place is None or not (any(e.place.meets(p) for p in near) or e.place.base in bases)
        for e in report.analysis.events(Kind.ASK)
    )


_OUTSIDE, _INSIDE, _SAFE = 0, 1, 2
"""A thread has not met the others yet; it works with them; it knows that they have finished."""


class _Watch:
    """Whether the warps of a CTA leave it while the other may still use its memory."""

    def __init__(self, report: Report, uses: set[int], *, told: bool) -> None:
        self.report = report
        self.uses = uses
        self.told = told
        self.early = self._early()
        self.multicast = [
            e.place for e in report.analysis.events(Kind.COMMIT) if e.mi.get("cta_mask") is not None
        ]

    def open_way(self, role: Role) -> str:
        """A way of a role to the end on which it is not certain that the other has finished; ""
        when there is none, and on some way it is certain."""
        walk = role.walker.walk(_OUTSIDE, self._step)
        ends = dict[int, str]()
        for point, state in walk.at_exit():
            ends.setdefault(state, walk.way(point))
        if _INSIDE in ends:
            return f"{role}: {ends[_INSIDE]}"
        return "" if _SAFE in ends else f"{role}: no cluster barrier at all"

    def _step(self, state: int, event: Event) -> int:
        if event.index in self.uses or _of_pair(event, Kind.ALLOC):
            return _INSIDE
        if _waits(event):
            return _INSIDE if event.index in self.early else _SAFE
        if event.kind is Kind.DONE and (self.told or self._is_multicast(event.place)):
            return _SAFE
        return state

    def _is_multicast(self, place: Where | None) -> bool:
        return any(place is None or m is None or place.meets(m) for m in self.multicast)

    def _early(self) -> set[int]:
        """The waits at the cluster's barrier that a use may follow."""
        early: set[int] = set()

        def step(passed: frozenset[int], event: Event) -> frozenset[int]:
            if event.index in self.uses or _of_pair(event, Kind.ALLOC):
                early.update(passed)
            return passed | {event.index} if _waits(event) else passed

        for role in self.report.analysis.roles:
            role.walker.gather(step)
        return early
