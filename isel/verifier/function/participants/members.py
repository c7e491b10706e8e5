"""Rules about member masks: of shuffles, votes and bar.warp.sync.

Layer: isel.verifier.function.  Input: the flow of each warp.  A thread waits until all threads of
the mask that have not exited have arrived; where these wait for it at another record, it is a
deadlock.  What a shuffle reads from a thread that does not take part is undefined.  PTX ISA,
shfl.sync; vote.sync; match.sync; redux.sync; bar.warp.sync; elect.sync.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Shuffle
from isel.control_flow import reach
from isel.verifier.function.events import BARRIERS
from isel.verifier.function.flow.threads import Parting, Threads, partings
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.flow.warp_flow import Lanes, Leader, WarpFlow
from isel.verifier.function.flow.warps import shuffle_sources
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

ELSEWHERE = VerifierRule(
    "{op}/threads-elsewhere",
    "threads wait for others of their mask, which wait for them somewhere else",
    expected="all threads of the mask come to it, or have exited",
    hint="move it out of the branch, or name the threads of the branch only: membermask",
)
NO_MEMBER = VerifierRule(
    "{op}/no-member",
    "a thread executes {op} whose mask does not name it",
    expected="threads of the mask only",
    hint="branch to it with these threads, or name the others too: 0xffffffff is the whole warp",
    misses=False,
)
NO_SOURCE = VerifierRule(
    "{op}/no-source",
    "every thread of a shuffle reads from one that does not take part",
    severity=Severity.WARNING,
    expected="a source that executes it too",
    hint="what they read is undefined: shuffle before threads leave, or among fewer lanes",
    misses=False,
)
RULES = (ELSEWHERE, NO_MEMBER, NO_SOURCE)

_WARP = (1 << LANES) - 1
_BARRIERS = ("bar.", "barrier.")


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    graph = report.analysis.graph
    masked = {i for i, mi in enumerate(graph.records) if is_masked(mi)}
    if not masked or graph.has_opaque:
        return
    nodes: dict[int, list[int]] = {}
    for index in sorted(masked):
        nodes.setdefault(graph.node_of(index), []).append(index)
    for walker, threads in zip(report.analysis.walkers, report.analysis.threads, strict=True):
        _check_warp(report, walker.flow, threads, nodes)


def is_masked(mi: MachineInstr) -> bool:
    """Whether an instruction has a member mask."""
    return "membermask" in mi.form.index


def _check_warp(
    report: Report, flow: WarpFlow, threads: list[Threads], nodes: dict[int, list[int]]
) -> None:
    """Check the masked records of one warp, by node."""
    reached = [(node, nodes[node]) for node in flow.reached() if node in nodes]
    is_whole = {node: threads[node].count == flow.warp.lanes.bit_count() for node, _ in reached}
    parted = [] if all(is_whole.values()) else partings(flow, threads)
    for node, indices in reached:
        mine = [parting for parting in parted if node in parting.nodes]
        for index in indices:
            mask = _mask(flow, report.record(index))
            if mask is None or report.record(index).guard is not None:
                continue
            if is_whole[node]:
                _report_no_member(report, flow, index, flow.warp.lanes & ~mask)
            elif mine:
                _report_elsewhere(report, flow, mine, index, threads[node], mask)
            _report_no_source(report, flow, mine, index, threads[node], mask)


def _mask(flow: WarpFlow, mi: MachineInstr) -> int | None:
    """The mask, where it is known and the same in all threads."""
    number = flow.evaluate(mi, "membermask").number
    return number & _WARP if isinstance(number, int) else None


def _report_no_member(report: Report, flow: WarpFlow, index: int, others: int) -> None:
    if others:
        got = f"warp {flow.warp.number}: the mask leaves out lanes {others:#010x}, which come too"
        # A block of a size that is not known may have no more threads than the mask names.
        severity = None if flow.warp.block else Severity.REVIEW
        report.add(NO_MEMBER, index, got=got, severity=severity)


def _report_no_source(
    report: Report, flow: WarpFlow, parted: list[Parting], index: int, here: Threads, mask: int
) -> None:
    """Report a shuffle whose results are undefined in all threads that execute it."""
    mi, readers = report.record(index), here.lanes & mask
    if mi.row.id != "shfl.sync" or here.count != here.lanes.bit_count():
        return
    if (ELSEWHERE.id.format(op=mi.row.head), index) in report.findings:
        return
    by, bounds = flow.evaluate(mi, "b").number, flow.evaluate(mi, "c").number
    if by is None or bounds is None:
        return
    mode = mi.form.attributes["mode"]
    assert isinstance(mode, Shuffle)
    absent, sources = _absent(flow, parted, mask), 0
    for lane, (source, reached) in enumerate(shuffle_sources(mode, by, bounds)):
        if not readers >> lane & 1:
            continue
        if not reached or not absent >> source & 1:
            return
        sources |= 1 << source
    if sources:
        got = f"warp {flow.warp.number}: {here} here, which read from lanes {sources:#010x}"
        report.add(NO_SOURCE, index, got=f"{got}; they have left, or mask or block have none such")


def _absent(flow: WarpFlow, parted: list[Parting], mask: int) -> int:
    """The lanes that certainly do not come: those that the mask or the block does not have, and
    those that have parted and come to no record with a mask again.
    """
    absent = ~(mask & flow.warp.lanes) & _WARP
    for parting in parted:
        if isinstance(parting.condition, Lanes) and _meets_nobody(flow, parting.elsewhere):
            absent |= parting.condition.mask
    return absent


def _report_elsewhere(
    report: Report, flow: WarpFlow, parted: list[Parting], index: int, here: Threads, mask: int
) -> None:
    """Report a record that other threads of its mask cannot reach while these wait at it."""
    for parting in parted:
        others = _takes(flow, parting.condition) & mask
        if not others or index not in (_halts(report, flow, parting.start) or ()):
            continue
        there = _halts(report, flow, parting.elsewhere)
        if there and all(_waits_for(report, flow, halt, index, here, mask) for halt in there):
            got = f"warp {flow.warp.number}: {here} here, and others of the mask {mask:#010x}"
            severity = Severity.REVIEW if parting.perhaps else None
            got = f"{got} come to {report.line(min(there))}"
            report.add(ELSEWHERE, index, got=got, severity=severity)
            return


def _meets_nobody(flow: WarpFlow, start: int) -> bool:
    """Whether threads come from a node to the end without a record that has a mask, and calls."""
    nodes = reach(flow.successors(), [start], set())
    records = (mi for n in nodes if n < len(flow.edges) for mi in flow.graph.nodes[n].records)
    return not any(is_masked(mi) or mi.row.id == "call" for mi in records)


def _takes(flow: WarpFlow, condition: Lanes | Leader) -> int:
    """The threads that may follow an edge; 0 where perhaps none does."""
    if isinstance(condition, Lanes):
        return condition.mask & flow.warp.lanes
    return 0 if condition.perhaps else flow.warp.lanes


def _halts(report: Report, flow: WarpFlow, start: int) -> set[int] | None:
    """The first records after `start` at which threads wait for others of their warp.

    None where some may exit before, or where it is not known.
    """
    successors = flow.successors()
    work, seen, found = [start], {start}, set()
    while work:
        node = work.pop()
        if node >= len(flow.edges):
            return None
        halt = _first_halt(report, flow, node)
        if halt is not None:
            found.add(halt)
            continue
        following = [n for n in successors[node] if n not in seen]
        seen.update(following)
        work += following
    return found


def _first_halt(report: Report, flow: WarpFlow, node: int) -> int | None:
    """The first record of a node at which threads of a warp wait for others."""
    first = flow.graph.nodes[node].first
    for index, mi in enumerate(flow.graph.nodes[node].records, first):
        if is_masked(mi) or mi.row.head.startswith(_BARRIERS) or mi.row.id == "call":
            return index
    return None


def _waits_for(
    report: Report, flow: WarpFlow, halt: int, index: int, here: Threads, mask: int
) -> bool:
    """Whether the threads at `halt` certainly wait for those at `index`."""
    mi, mine = report.record(halt), report.record(index)
    if mi.guard is not None or mi.row.id == "call":
        return False
    if not is_masked(mi):
        return mi.row.id in BARRIERS and mi.get("count") is None
    named = _mask(flow, mi)
    if named is None or (mi.form == mine.form and named == mask):
        return False
    return here.lanes & ~named == 0
