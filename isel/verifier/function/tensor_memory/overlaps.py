"""Rules about MMAs that overwrite tensor memory operands: their own, or those of one in flight.

Layer: isel.verifier.function.  PTX ISA, tcgen05.mma, Pipelined tcgen05 Instructions.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.report import Report
from isel.verifier.function.tensor_memory.extents import ColumnRange, regions
from isel.verifier.rule import VerifierRule

OVERLAP = VerifierRule(
    "{op}/overlap",
    "an MMA writes columns that it reads as another operand",
    "tcgen05.mma",
    expected="columns of its own for each of D, A, metadata and scales",
    misses=False,
)
OVERWRITES = VerifierRule(
    "{op}/overwrites-operand",
    "an MMA writes columns that an MMA in flight may still read",
    "tcgen05, Pipelined tcgen05 Instructions",
    Severity.REVIEW,
    expected="a wait for the first MMA's commit before the second",
    hint="MMAs are in order only with the same accumulator and shape, though kernels count on more",
)
RULES = (OVERLAP, OVERWRITES)

_WAITS = (Kind.DONE, Kind.BARRIER, Kind.STRONG_LOAD)
"""Events after which what the thread has committed may be complete."""

_Operands = tuple[ColumnRange, ...]


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    for number, role in enumerate(report.analysis.roles):
        known = {e.index: tuple(regions(e)) for e in role.events() if e.kind is Kind.MULTIPLY}
        for index, operands in known.items():
            _itself(report, index, operands)
        if report.analysis.block and len(set(known.values())) > 1:
            _in_flight(report, number, known)


def _itself(report: Report, index: int, operands: _Operands) -> None:
    found = _meeting(operands, operands)
    if found is not None:
        report.add(OVERLAP, index, got=f"{found[0]}; {found[1]}")


def _meeting(written: _Operands, read: _Operands) -> tuple[ColumnRange, ColumnRange] | None:
    """The first written region, and the first read region that overlaps it."""
    for d in (r for r in written if r.writes):
        for operand in (r for r in read if not r.writes):
            if d.overlaps(operand):
                return d, operand
    return None


def _in_flight(report: Report, number: int, known: dict[int, _Operands]) -> None:
    """Two MMAs of one thread of a role without a wait for the first between them."""
    first: dict[_Operands, int] = {}
    for index, operands in known.items():
        first.setdefault(operands, index)
    pairs = {
        (one, other): found
        for one in first
        for other in first
        if one != other and (found := _meeting(other, one)) is not None
    }
    if not pairs:
        return
    idle = report.analysis.idle_waits[number]  # they succeed at once

    def step(flying: frozenset[tuple[int, bool]], event: Event) -> frozenset[tuple[int, bool]]:
        if event.kind is Kind.COMMIT:
            return frozenset((index, True) for index, _ in flying)
        if event.kind in _WAITS and event.index not in idle:
            return frozenset(x for x in flying if not x[1])
        if event.kind is not Kind.MULTIPLY:
            return flying
        operands = known[event.index]
        for index, _ in flying:
            found = pairs.get((known[index], operands))
            if found is not None:
                got = f"{found[0]}; {found[1]}, read by {report.line(index)}"
                report.add(OVERWRITES, event.index, got=got)
        return flying | {(first[operands], False)}

    report.analysis.roles[number].walker.gather(step)
