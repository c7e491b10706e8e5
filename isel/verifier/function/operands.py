"""Rules about shared memory that an MMA or a copy to tensor memory reads: it stays as it is.

Layer: isel.verifier.function.  A and B must not be modified until the operation is complete, which
its commit tells, whatever the collector buffers hold.  Stages of a ring are told apart where their
places are known.  PTX ISA, tcgen05: Matrix Multiply and Accumulate, Collector buffers.
"""

from __future__ import annotations

from isel.verifier.function.events import Event, Kind
from isel.verifier.function.pending import RUNS, Operation, Pending, State, Status
from isel.verifier.function.regions import variable_of
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.values import Sixteenth, Symbol, Where
from isel.verifier.rule import VerifierRule

_READERS = (Kind.MULTIPLY, Kind.TENSOR_COPY)
_WRITERS = (Kind.COPY_IN, Kind.SHARED_STORE)

MODIFIED = VerifierRule(
    "{op}/operand-modified",
    "shared memory is overwritten while an operation may still read it",
    "tcgen05, Matrix Multiply and Accumulate Operations",
    expected="a commit behind the operation, and a wait on its mbarrier before the write",
    hint="the mbarrier that says that a stage is empty is told by tcgen05.commit; whatever the "
    "collector buffer holds, the matrix is not modified before that",
)
RULES = (MODIFIED,)


def check(report: Report) -> None:
    """Run the rules."""
    if not report.analysis.block:
        return
    for (name, first), group in _by_place(report).items():
        writes = [e for e in report.analysis.events(*_WRITERS) if _is_in(e.place, name)]
        if any(_offset(e) == first for e in writes):
            _modified(report, name, first, group)


def _by_place(report: Report) -> dict[tuple[str, int | None], list[Event]]:
    """The operations by what they read: a variable, and the first byte where that is known."""
    groups: dict[tuple[str, int | None], list[Event]] = {}
    for event in {e.index: e for e in report.analysis.events(*_READERS)}.values():
        for read in event.reads:
            name = variable_of(read) if read is not None else None
            if read is not None and name is not None:
                groups.setdefault((name, _first_byte(read)), []).append(event)
    return groups


def _first_byte(read: Where) -> int | None:
    unit = 16 if isinstance(read.base, Sixteenth) else 1
    return None if read.offset is None else read.offset * unit


def _is_in(place: Where | None, name: str) -> bool:
    return place is not None and place.base == Symbol(name)


def _offset(event: Event) -> int | None:
    return event.place.offset if event.place is not None else None


def _modified(report: Report, name: str, first: int | None, group: list[Event]) -> None:
    """Who writes the place knows that what reads it is complete."""
    issues = {e.index for e in group}
    operation = Operation(
        lambda e: e.index in issues and e.kind in _READERS, lambda _: False, commits=True
    )
    pending = Pending(report.analysis, operation)
    for role, event, state in pending.met(lambda e: _writes(e, name) and _offset(e) == first):
        if first is not None and (state.own in RUNS or state.news in RUNS):
            report.add(MODIFIED, event.index, got=_said(report, group, state))
        else:
            _check_stage(report, pending, group, role, event, state)


def _writes(event: Event, name: str) -> bool:
    return event.kind in _WRITERS and _is_in(event.place, name)


def _check_stage(
    report: Report, pending: Pending, group: list[Event], role: Role, event: Event, state: State
) -> None:
    """A stage of a ring: nobody says that it is complete, or nobody waits for who does."""
    own = {warp for warp, _ in report.analysis.sites[group[0].index]} & set(role.warps)
    if own or event.kind is Kind.SHARED_STORE:
        return
    if state.news in RUNS:
        report.add(MODIFIED, event.index, got=_said(report, group, state))
    elif state.news is Status.NOTHING and event.index in report.analysis.repeated[role.warps[0]]:
        for unheard in pending.never_heard(role, event)[:1]:
            got = f"nobody waits for mbarrier {unheard}, which tells that a stage is empty"
            report.add(MODIFIED, event.index, got=got)


def _said(report: Report, group: list[Event], state: State) -> str:
    by = f", told by {report.line(state.source)}" if state.source >= 0 else ""
    return f"{report.line(group[0].index)} may still read it{by}"
