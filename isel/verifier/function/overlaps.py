"""Rules about overlaps: an MMA writes no cells that it, or another one in flight, reads or writes.

Layer: isel.verifier.function.  MMAs are in order only where they have the same accumulator and
shape; others may take effect in any order until one of them is known to be complete.  PTX ISA,
Pipelined tcgen05 Instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Severity
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.extents import Region, regions
from isel.verifier.function.matrices import shape_of
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.rule import FunctionRule

_PIPELINES = "tcgen05, Pipelined tcgen05 Instructions"

OVERLAP = FunctionRule(
    "{op}/overlap",
    "an MMA writes columns that it reads as another operand",
    "tcgen05.mma",
    expected="columns of its own for each of D, A, metadata and scales",
    misses=False,
)
ACCUMULATORS = FunctionRule(
    "{op}/accumulators-overlap",
    "the accumulator overlaps that of an MMA that may still be in flight",
    _PIPELINES,
    expected="columns of its own for each accumulator, or a wait for the first MMA's commit",
    hint="an MMA without input D overwrites all N columns, those of its neighbours among them",
)
SHAPES = FunctionRule(
    "{op}/pipeline-shape",
    "MMAs on one accumulator are in order only with the same shape",
    _PIPELINES,
    Severity.REVIEW,
    hint="commit the first and wait for its mbarrier, or give both the same M and N",
)
OVERWRITES = FunctionRule(
    "{op}/overwrites-operand",
    "an MMA writes columns that an MMA in flight may still read",
    _PIPELINES,
    Severity.REVIEW,
    expected="a wait for the first MMA's commit before the second",
    hint="MMAs are in order only on the same accumulator and with the same shape",
)
RULES = (OVERLAP, ACCUMULATORS, SHAPES, OVERWRITES)

_WAITS = (Kind.DONE, Kind.BARRIER, Kind.STRONG_LOAD)
"""What may tell a thread that its MMAs are complete."""


@dataclass(frozen=True, slots=True)
class _Operands:
    """Where an MMA's D is, where its operands in tensor memory are, and its M and N."""

    d: Region | None
    read: tuple[Region, ...]
    shape: tuple[int, int] | None

    @classmethod
    def of(cls, event: Event) -> _Operands:
        """Those of an event, as far as they are known."""
        found, shape = regions(event), shape_of(event)
        return cls(
            next((r for r in found if r.writes), None),
            tuple(r for r in found if not r.writes),
            (shape.m, shape.n) if shape is not None else None,
        )


def check(report: Report) -> None:
    """Run the rules."""
    for role in report.analysis.roles:
        known = {e.index: _Operands.of(e) for e in role.events() if e.kind is Kind.MULTIPLY}
        for index, operands in known.items():
            _itself(report, index, operands)
        if report.analysis.block and len(set(known.values())) > 1:
            _in_flight(report, role, known)


def _itself(report: Report, index: int, operands: _Operands) -> None:
    for region in operands.read:
        if operands.d is not None and operands.d.overlaps(region):
            report.add(OVERLAP, index, got=f"{operands.d}; {region}")


def _in_flight(report: Report, role: Role, known: dict[int, _Operands]) -> None:
    """Two MMAs of one thread, with nothing between them that could have waited for the first."""
    alike: dict[_Operands, int] = {}
    for index, operands in known.items():
        alike.setdefault(operands, index)

    def step(flying: frozenset[int], event: Event) -> frozenset[int]:
        if event.kind in _WAITS:
            return frozenset()
        if event.kind is not Kind.MULTIPLY:
            return flying
        operands = known[event.index]
        for index in flying:
            if index != alike[operands]:
                _pair(report, index, known[index], event.index, operands)
        return flying | {alike[operands]}

    role.walker.gather(step)


def _pair(report: Report, first: int, one: _Operands, second: int, other: _Operands) -> None:
    new, by = other.d, report.line(first)
    if new is None:
        return
    for region in one.read:
        if new.overlaps(region):
            report.add(OVERWRITES, second, got=f"{new}; {region}, read by {by}")
    if one.d is None or not new.overlaps(one.d):
        return
    if (one.d.lane, one.d.column) != (new.lane, new.column):
        report.add(ACCUMULATORS, second, got=f"{new}; {one.d} of {by}")
    elif one.shape != other.shape:
        report.add(
            SHAPES,
            second,
            got="M = {}, N = {}".format(*other.shape or ()),
            expected="M = {}, N = {}, as {}".format(*one.shape or (), by),
        )
