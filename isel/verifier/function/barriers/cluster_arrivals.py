"""Arrival counts of mbarriers that threads of other CTAs arrive at.

Layer: isel.verifier.function.  The kernel is analysed once for each rank in the cluster; arrivals
at an address of mapa are counted where the rank is a known number.  The rule is that of arrivals
inside of a CTA: the expected count must be reached by all arrivals together. PTX ISA,
mbarrier.arrive; mapa.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Mem, Reg, Sym
from intrinsics.modifiers import Space
from isel.verifier.function.barriers.clusters import cluster_size, is_in_cluster
from isel.verifier.function.barriers.mbarriers import ARRIVALS
from isel.verifier.function.events import ARRIVING, Event, Kind
from isel.verifier.function.flow.values import LANES, MemoryLocation, Symbol
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Analysis, Role
from isel.verifier.rule import VerifierRule

RULES: tuple[VerifierRule, ...] = ()  # that of `mbarriers`

_MOST_RANKS = 4


def check(report: Report) -> None:
    """Report mbarriers whose expected count is not that of the arrivals of all CTAs of the
    cluster.
    """
    analysis = report.analysis
    if not analysis.block or not analysis.function.is_kernel:
        return
    arrivals = analysis.events(*ARRIVING)
    if not any(map(is_in_cluster, arrivals)) or any(e.kind is Kind.COMMIT for e in arrivals):
        return  # how many arrivals a commit makes is not known
    size = cluster_size(analysis.function, report.cluster)
    if size is None or not 1 < size <= _MOST_RANKS:
        return
    ranks = [analysis.of_rank(n) for n in range(size)]
    for init in analysis.events(Kind.INIT):
        place, count = init.place, init.count
        if place is not None and count is not None and place.offset is not None:
            _judge(report, ranks, init, place, count)


def _judge(
    report: Report, ranks: list[Analysis], init: Event, place: MemoryLocation, count: int
) -> None:
    """Check that in each CTA that waits for an mbarrier the arrivals reach the expected count."""
    for number, analysis in enumerate(ranks):
        waited = (event.place for event in analysis.events(Kind.ASK))
        if not any(asked is None or asked.meets(place) for asked in waited):
            continue
        found = _arrivals(report, ranks, number, place)
        if found is None:
            return
        total, repeats = found
        if total < count:
            how = "in a pass of their loops" if repeats else "in the whole kernel"
            named = [
                e.index for e in report.analysis.events(*ARRIVING) if _may_be(report, e, place)
            ]
            by = f"; what may arrive: {report.lines(named)}" if named else ""
            report.add(
                ARRIVALS,
                init.index,
                severity=Severity.REVIEW if repeats else Severity.ERROR,
                got=f"{place} of CTA {number} expects {count}; {total} from the cluster {how}{by}",
                expected=f"{count} arrivals in a phase, or mbarrier.init with {total}",
            )
            return


def _arrivals(
    report: Report, ranks: list[Analysis], number: int, place: MemoryLocation
) -> tuple[int, bool] | None:
    """The arrivals in CTA `number` if each record is executed once, and whether one may be
    repeated.

    None where that is not known.
    """
    total, repeats = 0, False
    for sender, analysis in enumerate(ranks):
        for role in analysis.roles:
            for event in role.events():
                if event.kind not in ARRIVING:
                    continue
                threads = _threads(report, role, event, place, number, sender)
                if threads is None or event.count is None:
                    return None
                total += threads * event.count * len(role.warps)
                again = event.index in analysis.repeated[role.warps[0]]
                repeats |= bool(threads) and again
    return total, repeats


def _threads(
    report: Report, role: Role, event: Event, place: MemoryLocation, number: int, sender: int
) -> int | None:
    """The threads of a warp of CTA `sender` that arrive by an event at the mbarrier `place` of CTA
    `number`; the most, where the address may be that of the even CTA of a pair.
    """
    if event.guard is not None or event.threads.perhaps or event.kind is Kind.COMMIT:
        return None
    if event.place is not None:
        here = sender == number or (is_in_cluster(event) and sender == number ^ 1)
        return event.threads.count if here and event.place.meets(place) else 0
    target = _remote(report, event.mi)
    if target is None:
        return None
    if Symbol(target.variable) != place.base:
        return 0
    return _to_rank(role, event, target.mapa, number)


def _may_be(report: Report, event: Event, place: MemoryLocation) -> bool:
    """Whether an event arrives at an mbarrier, or at that of its variable in another CTA."""
    if event.place is not None:
        return event.place.base == place.base
    target = _remote(report, event.mi)
    return target is not None and Symbol(target.variable) == place.base


def _to_rank(role: Role, event: Event, made: MachineInstr, number: int) -> int | None:
    """The threads whose address is in CTA `number`; `made` is the mapa that computed it."""
    rank = role.walker.flow.evaluate(made, "b").number
    if isinstance(rank, int):
        return event.threads.count if rank == number else 0
    if rank is None or event.threads.part or event.threads.one:
        return None
    return sum(rank[n] == number for n in range(LANES) if event.threads.lanes >> n & 1)


# ---- addresses in other CTAs -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Remote:
    """A variable of another CTA, and the record that computed its address."""

    variable: str
    mapa: MachineInstr


def _remote(report: Report, mi: MachineInstr) -> _Remote | None:
    """The mbarrier of a record whose address is a result of mapa."""
    address = mi.get("mbar")
    base = address.base if isinstance(address, Mem) else None
    if mi.form.attributes.get("space") is not Space.SHARED_CLUSTER or not isinstance(base, int):
        return None
    made = _writer(report, base)
    if made is None or made.row.id != "mapa":
        return None
    named = made["a"]
    if isinstance(named, int):
        moved = _writer(report, named)
        named = moved["a"] if moved is not None and moved.row.id == "mov" else named
    if not isinstance(named, Sym):
        return None
    return _Remote(named.name, made)


def _writer(report: Report, reg: Reg) -> MachineInstr | None:
    """The only record that writes a register."""
    if reg not in report.analysis.graph.single:
        return None
    return next((mi for mi in report.analysis.graph.records if reg in mi.defs()), None)
