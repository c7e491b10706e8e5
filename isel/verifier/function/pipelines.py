"""Rules about operations that follow one another on the same columns of tensor memory.

Layer: isel.verifier.function.  tcgen05.mma, cp and shift are asynchronous; some pairs of them are
pipelined, and run in order.  Of any other pair the first is committed and waited for.  Where two
threads issue them, fences stand around what orders the threads.  PTX ISA, tcgen05: Pipelined
tcgen05 Instructions, Canonical synchronization patterns.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.findings import Severity
from intrinsics.modifiers import CopyShape
from isel.verifier.function.events import MOVES, Event, Kind
from isel.verifier.function.handover import add_after_sync, add_before_sync, is_relaxed
from isel.verifier.function.matrices import shape_of
from isel.verifier.function.order import before_all
from isel.verifier.function.pending import RUNS, Operation, Pending, State, Status
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.touches import (
    beside_scales,
    meet,
    read_by,
    scales_of,
    spans,
    touch,
    written_by,
)
from isel.verifier.rule import VerifierRule

_SECTION = "tcgen05, Pipelined tcgen05 Instructions"
_TRACKED = (Kind.MULTIPLY, Kind.TENSOR_COPY, Kind.SHIFT)
_TOUCHES = (*_TRACKED, *MOVES)

NOT_PIPELINED = VerifierRule(
    "{op}/not-pipelined",
    "an operation on the same columns may still run, and is not pipelined with this one",
    _SECTION,
    expected="a commit behind the first, a wait for it, and tcgen05.fence::after_thread_sync",
    hint="pipelined are mma behind mma with the same accumulator and shape, mma behind cp or "
    "shift, shift behind mma, and cp.4x256b behind shift",
)
OPERAND_RUNNING = VerifierRule(
    "{op}/before-completion",
    "columns are accessed before what uses them is known to be complete",
    _SECTION,
    expected="a wait for the commit behind it",
)
UNORDERED = VerifierRule(
    "{op}/unordered",
    "two threads issue operations on the same columns, and nothing orders them",
    _SECTION,
    expected="tcgen05.fence::before_thread_sync and an arrival after the first, a wait and "
    "tcgen05.fence::after_thread_sync before the second",
)
RULES = (NOT_PIPELINED, OPERAND_RUNNING, UNORDERED)


def check(report: Report) -> None:
    """Run the rules."""
    if not report.analysis.block:
        return
    groups = _groups(report, _TRACKED)
    others = [*groups, *_groups(report, tuple(MOVES))]
    for group in groups:
        meeting = [other for other in others if _conflict(group[0], other[0])]
        turns = [other for other in meeting if _take_turns(report, group[0], other[0])]
        alone = [o for o in meeting if o not in turns and not _pipelined(group[0], o[0])]
        _follow(report, group, [o for o in alone if not _is_behind_mma(group, o)])
        for other in alone:
            if _is_behind_mma(group, other):
                _follow(report, group, [other], lambda e: e.kind is Kind.MULTIPLY)
        for other in turns:
            _turn(report, group, other)


# ---- pairs -----------------------------------------------------------------------------------


def _groups(report: Report, kinds: tuple[Kind, ...]) -> list[list[Event]]:
    """Events that do the same to tensor memory."""
    found: dict[object, list[Event]] = {}
    for event in {e.index: e for e in report.analysis.events(*kinds)}.values():
        warps = tuple(warp for warp, _ in report.analysis.sites[event.index])
        what = event.kind, event.place, tuple(spans(event)), shape_of(event), warps
        found.setdefault((*what, event.mi.form.facts.get("shape")), []).append(event)
    return list(found.values())


def _conflict(first: Event, second: Event) -> bool:
    """Whether the second has columns with the first in common, beside loads of a result.

    That an MMA overwrites what one before it reads is left alone: the manual's pairs do not cover
    it, and attention kernels live by it.
    """
    if first.kind is second.kind is Kind.MULTIPLY:
        return meet(written_by(first), spans(second)) is True
    if second.kind not in MOVES:
        return touch(first, second) is True
    if first.kind is not Kind.MULTIPLY:
        return False  # whether what is copied is there yet is a rule of completion
    return meet(read_by(first), spans(second)) is True


def _take_turns(report: Report, first: Event, second: Event) -> bool:
    """Whether two operations on the same columns are certainly of different warps."""
    sites = report.analysis.sites
    warps = [{warp for warp, _ in sites[e.index]} for e in (first, second)]
    return second.kind in _TRACKED and not warps[0] & warps[1]


def _pipelined(first: Event, second: Event) -> bool:
    """Whether two operations on the same columns run in order."""
    match first.kind, second.kind:
        case Kind.MULTIPLY, Kind.MULTIPLY:
            return _same_accumulator(first, second)
        case Kind.TENSOR_COPY | Kind.SHIFT, Kind.MULTIPLY:
            return True
        case Kind.MULTIPLY | Kind.SHIFT, Kind.SHIFT:
            return True
        case Kind.SHIFT, Kind.TENSOR_COPY:
            return second.mi.form.facts.get("shape") is CopyShape.S4X256B
    return False


def _is_behind_mma(group: list[Event], other: list[Event]) -> bool:
    """A copy and a shift, which an MMA between them puts in order."""
    return group[0].kind is Kind.TENSOR_COPY and other[0].kind is Kind.SHIFT


def _refills_scales(first: Event, second: Event, state: State) -> bool:
    """Whether a copy writes the scale factors of an MMA of the same thread, and nothing else of it.

    The manual does not list a copy behind an MMA as pipelined, but kernels in wide use keep one set
    of columns for the scale factors of all steps, and do not wait: in doubt, not wrong for sure.
    """
    if first.kind is not Kind.MULTIPLY or second.kind is not Kind.TENSOR_COPY:
        return False
    groups = {e.mi.form.facts.get("cta_group") for e in (first, second)}
    if state.own not in RUNS or len(groups) > 1:
        return False
    copied = spans(second)
    return meet(copied, scales_of(first)) is True and not meet(copied, beside_scales(first))


def _same_accumulator(first: Event, second: Event) -> bool:
    if first.place != second.place:
        return False
    if meet(written_by(first), read_by(second)):
        return False
    shapes = shape_of(first), shape_of(second)
    return None in shapes or shapes[0] == shapes[1]


# ---- what a thread knows ---------------------------------------------------------------------


def _pending(
    report: Report, group: list[Event], ends: Callable[[Event], bool] = lambda _: False
) -> Pending:
    issues = {e.index for e in group}
    operation = Operation(lambda e: e.index in issues and e.kind in _TRACKED, ends, commits=True)
    return Pending(report.analysis, operation)


def _follow(
    report: Report,
    group: list[Event],
    others: list[list[Event]],
    ends: Callable[[Event], bool] = lambda _: False,
) -> None:
    """What is not pipelined behind an operation comes when that is complete."""
    if not others:
        return
    concerned = {e.index for other in others for e in other}
    pending = _pending(report, group, ends)
    for role, event, state in pending.met(lambda e: e.index in concerned and e.kind in _TOUCHES):
        own = set(role.warps) <= {warp for warp, _ in report.analysis.sites[group[0].index]}
        if state.own in RUNS or (state.news in RUNS and not own):
            report.add(
                OPERAND_RUNNING if event.kind in MOVES else NOT_PIPELINED,
                event.index,
                severity=Severity.REVIEW if _refills_scales(group[0], event, state) else None,
                got=f"{report.line(group[0].index)} may still run" + _by(report, state),
            )
        elif state.own is Status.HANDED_ON or not own:
            _check_after(report, role, event, state)


def _turn(report: Report, group: list[Event], other: list[Event]) -> None:
    """Two threads that issue operations on the same columns do so in turn, between fences."""
    concerned = {e.index for e in other}
    pipelined = _pipelined(group[0], other[0])
    pending = _pending(report, group)
    for role, event, state in pending.met(lambda e: e.index in concerned and e.kind in _TRACKED):
        if state.news is Status.NOTHING:
            if state.old:
                continue
            _unordered(report, group, other, event)
        elif state.news in RUNS and not pipelined:
            report.add(
                NOT_PIPELINED,
                event.index,
                got=f"{report.line(group[0].index)} may still run" + _by(report, state),
            )
        elif state.news is Status.RUNNING and state.source >= 0:
            add_before_sync(report, event, state, certain=True)
        else:
            _check_after(report, role, event, state)


def _by(report: Report, state: State) -> str:
    return f", told by {report.line(state.source)}" if state.source >= 0 else ""


def _check_after(report: Report, role: Role, event: Event, state: State) -> None:
    """An asynchronous operation behind a wait has a fence between the two."""
    if state.news is Status.NOTHING or state.fenced or state.old or state.told < 0:
        return
    sure = is_relaxed(report, state.told) or state.news is Status.ORDERED
    add_after_sync(report, role, event, state, certain=sure)


def _unordered(report: Report, group: list[Event], others: list[Event], event: Event) -> None:
    """Whoever comes first, the other one waits; reported once, where the text comes to it last."""
    if event.index < group[0].index:
        return
    first = before_all(report.analysis, others, lambda e: e in group)
    if event.index in first:
        return
    report.add(
        UNORDERED,
        event.index,
        got=f"{report.line(group[0].index)} may come before it or after it",
    )
