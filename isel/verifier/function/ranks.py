"""Rules about what one CTA of a cluster waits for and another one does.

Layer: isel.verifier.function.  The kernel is looked at once for each rank in the cluster, so that
branches on %cluster_ctarank fold.  PTX ISA, tcgen05.commit; tcgen05, Peer CTA; mapa.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from intrinsics.mir import Imm, MachineInstr, Mem, Reg, Special, Sym
from intrinsics.modifiers import Space
from isel.verifier.function.clusters import cluster_size, is_of_pair
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.mbarriers import signalled
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Analysis
from isel.verifier.function.values import Symbol, Where
from isel.verifier.rule import VerifierRule

UNHEARD = VerifierRule(
    "mbarrier/peer-unheard",
    "a CTA waits at an mbarrier of its own, and nobody arrives there: neither it nor its peers",
    "tcgen05.commit",
    expected="an arrival in each CTA that waits",
    hint="an mbarrier is told in its own CTA only: a commit tells the peer with "
    ".multicast::cluster, a thread at an address from mapa",
)
RULES = (UNHEARD,)

_RANK = "cluster_ctarank"
_MOST_RANKS = 4
_ARRIVALS = (Kind.ARRIVE, Kind.COMMIT, Kind.COPY_IN)


def check(report: Report) -> None:
    """Run the rule, for kernels whose CTAs do different things."""
    function = report.analysis.function
    if not report.analysis.block or not function.is_kernel or not _asks_for_rank(report):
        return
    size = cluster_size(function, report.cluster)
    if size == 1:
        return
    ranks = [report.analysis.of_rank(n) for n in range(min(size or 2, _MOST_RANKS))]
    for number, own in enumerate(ranks):
        for event in own.events(Kind.ASK):
            place = event.place
            if place is None or not isinstance(place.base, Symbol) or event.count != 0:
                continue
            if not _is_heard(report, ranks, number, place):
                report.add(UNHEARD, event.index, got=_got(report, ranks, number, place))


def _asks_for_rank(report: Report) -> bool:
    return any(
        op == Special(_RANK) for mi in report.analysis.graph.records for op in mi.ops
    ) and any(_arrivals(report.analysis))


def _arrivals(analysis: Analysis) -> Iterator[Event]:
    return iter(analysis.events(*_ARRIVALS))


def _is_heard(report: Report, ranks: list[Analysis], number: int, place: Where) -> bool:
    """Whether something may arrive at `place` in the CTA `number`."""
    return any(
        _tells(report, event, sender == number, number, place)
        for sender, analysis in enumerate(ranks)
        for event in _arrivals(analysis)
    )


def _tells(report: Report, event: Event, is_own: bool, number: int, place: Where) -> bool:
    """Whether an event of a CTA may arrive at `place` in the CTA `number`."""
    if event.kind is Kind.ARRIVE and event.place is None:
        made = remote(report, event.mi)
        if made is None:
            return True
        rank = made.mapa["b"]
        known = rank.value if isinstance(rank, Imm) else None
        return place.base == Symbol(made.variable) and known in (None, number)
    there = signalled(event) if event.kind is Kind.COPY_IN else event.place
    if there is not None and not there.meets(place):
        return False
    if event.mi.get("cta_mask") is not None:
        mask = event.mi["cta_mask"]
        return not isinstance(mask, Imm) or bool(mask.value >> number & 1)
    return is_own or there is None or (event.kind is Kind.COPY_IN and is_of_pair(event.mi))


@dataclass(frozen=True, slots=True)
class Remote:
    """A variable of another CTA, and the record that made its address."""

    variable: str
    mapa: MachineInstr


def remote(report: Report, mi: MachineInstr) -> Remote | None:
    """What the mbarrier of a record is, where its address is one of mapa's."""
    address = mi.get("mbar")
    base = address.base if isinstance(address, Mem) else None
    if mi.form.facts.get("space") is not Space.SHARED_CLUSTER or not isinstance(base, int):
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
    return Remote(named.name, made)


def _writer(report: Report, reg: Reg) -> MachineInstr | None:
    """The only record that writes a register."""
    if reg not in report.analysis.graph.single:
        return None
    return next((mi for mi in report.analysis.graph.records if reg in mi.defs()), None)


def _got(report: Report, ranks: list[Analysis], number: int, place: Where) -> str:
    lines = {
        report.line(event.index): sender
        for sender, analysis in enumerate(ranks)
        for event in _arrivals(analysis)
        if sender != number and event.place is not None and event.place.meets(place)
    }
    told = [f"{line} tells CTA {sender} only" for line, sender in lines.items()]
    return f"{place} in CTA {number}; " + (told[0] if told else "nothing arrives at it anywhere")
