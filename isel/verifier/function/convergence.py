"""Rules about who executes an instruction: whole warps, single threads, the right lanes.

Layer: isel.verifier.function.  PTX ISA, tcgen05: Issue Granularity, Access restrictions.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Severity
from intrinsics.modifiers import LdStShape
from intrinsics.row import Effect
from isel.verifier.function.events import MOVES, Event, Kind
from isel.verifier.function.report import Report
from isel.verifier.function.values import LANES, Loaded, Spread, Value
from isel.verifier.rule import VerifierRule

_SINGLE = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.SHIFT, Kind.COMMIT)
"""What one thread of the CTA issues for all."""

ALIGNED = VerifierRule(
    "{op}/aligned",
    "an .aligned instruction is executed by a part of the warp",
    expected="all threads of the warp",
    hint="branch on a condition that all threads of the warp agree on, as tid.x / 32 == 0",
    misses=False,
)
THREADS = VerifierRule(
    "{op}/threads",
    "{op} is issued by more than one thread",
    "tcgen05, Issue Granularity",
    expected="one thread, which issues it for the CTA",
    hint="put it under elect.sync, or under a comparison of tid.x with one number",
    misses=False,
)
UNIFORM_ADDRESS = VerifierRule(
    "{op}/uniform-address",
    "the threads of a warp give different addresses of tensor memory",
    expected="one address, that of the first lane of the warp",
    hint="the lane of a thread is implied: add the warp's first lane << 16 only",
    misses=False,
)
LANE_QUARTER = VerifierRule(
    "{op}/lane-quarter",
    "a warp can access only the quarter of the lanes that its number has in its warpgroup",
    "tcgen05, Access restrictions",
    hint="add (warp % 4) << 21 to the address",
    misses=False,
)
_WITHOUT_QUARTER = (
    "add (warp % 4) << 21 to the address: as it is, code compiled with -G is reported to stop "
    "here, and other code to access the warp's own lanes"
)
"""deepseek-ai/DeepGEMM, pull request 341; FlashInfer has kernels that leave the quarter out."""

RULES = (ALIGNED, THREADS, UNIFORM_ADDRESS, LANE_QUARTER)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    _aligned(report)
    _single_thread(report)
    if report.analysis.block:
        _several_warps(report)
        _lane_quarters(report)


def _aligned(report: Report) -> None:
    """An `.aligned` instruction is executed by the whole warp or not at all."""
    for walker in report.analysis.walkers:
        everyone = walker.flow.warp.lanes
        for event in walker.each():
            if not event.mi.row.effects.effect & Effect.ALIGNED:
                continue
            threads = event.threads
            certain = threads.one or threads.lanes != everyone
            if not certain and (not threads.part or report.analysis.graph.has_opaque):
                continue
            report.add(
                ALIGNED,
                event.index,
                severity=Severity.ERROR if certain else Severity.REVIEW,
                got=f"warp {walker.flow.warp.number}: {threads}",
            )


def _single_thread(report: Report) -> None:
    """An MMA that a whole warp executes is issued once by each of its threads."""
    for event in report.analysis.events(*_SINGLE):
        count = event.threads.count
        if count == 1 or (count is None and report.analysis.graph.has_opaque):
            continue
        severity = Severity.REVIEW if count is None else Severity.ERROR
        report.add(THREADS, event.index, severity=severity, got=str(event.threads))


def _several_warps(report: Report) -> None:
    """The same MMA by a thread of each of several warps."""
    for index, found in report.analysis.sites.items():
        certain = [(warp, event) for warp, event in found if not event.threads.perhaps]
        warps = {warp for warp, _ in certain}
        events = [event for _, event in certain]
        if not events or events[0].kind not in _SINGLE or len(warps) < 2 or not _all_same(events):
            continue
        report.add(
            THREADS,
            index,
            got=f"a thread in each of {len(warps)} warps, with the same operands",
            hint="branch to it in one warp only, as with tid.x / 32 == 0",
        )


def _all_same(events: list[Event]) -> bool:
    first = events[0].values
    return all(e.values == first for e in events) and all(_shared(v) for _, v in first)


def _shared(value: Value) -> bool:
    """Whether all threads of the CTA have the same."""
    return isinstance(value.offset, int) or value.spread is Spread.CTA


def _lane_quarters(report: Report) -> None:
    """A warp accesses the quarter of the lanes that its number has within its warpgroup."""
    wrong: dict[int, list[_Strayed]] = {}
    for walker in report.analysis.walkers:
        warp = walker.flow.warp.number
        for event in walker.each():
            if event.kind not in MOVES:
                continue
            address = event.value("taddr")
            assert address is not None
            if isinstance(address.offset, tuple):
                _not_uniform(report, event, address.offset)
            elif address.offset is not None and isinstance(address.base, Loaded | None):
                strayed = _Strayed(event, warp, address.offset >> 16 & 0xFFFF)
                if strayed.lane not in strayed.starts:
                    wrong.setdefault(event.index, []).append(strayed)
    for found in wrong.values():
        _strayed(report, min(found, key=lambda one: one.has_no_quarter))


def _not_uniform(report: Report, event: Event, lanes: tuple[int, ...]) -> None:
    report.add(UNIFORM_ADDRESS, event.index, got=f"offsets {lanes[0]:#x}, {lanes[1]:#x}, …")


@dataclass(frozen=True, slots=True)
class _Strayed:
    """An access of a warp that begins at a lane."""

    event: Event
    warp: int
    lane: int

    @property
    def own(self) -> int:
        """The first lane of the warp's quarter."""
        return self.warp % 4 * LANES

    @property
    def starts(self) -> tuple[int, ...]:
        """The lanes that the access may begin at."""
        whole = self.event.mi.form.facts.get("shape") is LdStShape.S32X32B
        return (self.own,) if whole else (self.own, self.own + 16)

    @property
    def has_no_quarter(self) -> bool:
        """Whether the warp's quarter is left out of a lane that were right with it."""
        return self.lane + self.own in self.starts


def _strayed(report: Report, access: _Strayed) -> None:
    own, left_out = access.own, access.has_no_quarter
    report.add(
        LANE_QUARTER,
        access.event.index,
        severity=Severity.WARNING if left_out else Severity.ERROR,
        hint=_WITHOUT_QUARTER if left_out else "",
        got=f"lane {access.lane}, in warp {access.warp}",
        expected=" or ".join(f"lane {start}" for start in access.starts)
        + f", of lanes {own} to {own + LANES - 1}",
    )
