"""Rules about CTAs that cooperate: pairs, cluster barriers, multicasts.

Layer: isel.verifier.function.  All CTAs of a cluster run the same kernel, so what one warp must do
for its peer is checked on the warp's own CFG paths.  PTX ISA, tcgen05: CTA Pair, Peer CTA, Issue
Granularity; tcgen05.alloc; barrier.cluster; mapa.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from intrinsics.findings import Severity
from intrinsics.mir import MachineFunction, MachineInstr
from intrinsics.modifiers import Aligned, CtaGroup, Space
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.participants.convergence import ALIGNED
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.rule import VerifierRule

_PAIR, _BARRIER = "tcgen05, CTA Pair", "barrier.cluster"
_ARRIVE, _WAIT = "barrier.cluster.arrive", "barrier.cluster.wait"

PAIR_SIZE = 2

PAIR = VerifierRule(
    "tcgen05/pair-cluster",
    ".cta_group::2 works on two CTAs of a cluster, and this one has no peer for each",
    _PAIR,
    expected="a cluster of an even number of CTAs",
    hint='.reqnctapercluster 2 in PTX, "nvvm.cluster_dim"="2" in LLVM IR, or --cluster 2',
    misses=False,
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
RULES = (PAIR, MASK, RANK, TWICE, NO_ARRIVE, NO_WAIT, PART)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if report.analysis.function.is_kernel:
        _pairs_have_clusters(report)
    _destinations(report)
    has_barrier = any(mi.row.id in (_ARRIVE, _WAIT) for mi in report.analysis.graph.records)
    if not report.analysis.block or not has_barrier:
        return
    _aligned(report)
    _part_of_a_warp(report)
    _part_of_the_warps(report)
    for role in report.analysis.roles:
        _in_turn(report, role)


# ---- the size of the cluster -----------------------------------------------------------------


def pair_records(function: MachineFunction) -> Iterator[MachineInstr]:
    """The records of a function with `.cta_group::2`."""
    return (mi for mi in function.instructions() if is_of_pair(mi))


def is_of_pair(mi: MachineInstr) -> bool:
    """Whether a record has `.cta_group::2`."""
    form = mi.form
    attributes = form.attributes if form.row.packed_fields is None else mi.attributes()
    return attributes.get("cta_group") is CtaGroup.TWO


def is_in_cluster(event: Event) -> bool:
    """Whether the mbarrier of an event is named by a `.shared::cluster` address."""
    return event.mi.form.attributes.get("space") is Space.SHARED_CLUSTER


def cluster_size(function: MachineFunction, cluster: tuple[int, ...]) -> int | None:
    """The number of CTAs of a cluster, as the kernel or else the launch says; None if unknown."""
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
    """Constant multicast masks and ranks name CTAs of the cluster."""
    size, graph = _size(report), report.analysis.graph
    there = {
        graph.node_of(index) for index, mi in enumerate(graph.records)
        if mi.row.id == "mapa" or mi.get("cta_mask") is not None
    }  # fmt: skip
    for role in report.analysis.roles if there else ():
        flow = role.walker.flow
        for node in there.intersection(flow.reached()):
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
    """A barrier with `.aligned` is executed by the whole warp or by none of it."""
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
    return event.mi.form.attributes.get("aligned") is Aligned.ALIGNED


def _in_turn(report: Report, role: Role) -> None:
    """Each thread alternates arrivals and waits."""
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
            report.add(NO_WAIT, arrived - 1, got=f"{role}: {walk.path(point)}")


def _part_of_a_warp(report: Report) -> None:
    """Only some lanes wait for the cluster, and the whole warp executes a later instruction."""
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
    """A CTA barrier after the cluster's, with warps that did not wait for the cluster."""
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
