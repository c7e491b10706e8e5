"""Pure records: their results depend on the values of their operands and on nothing else.

Layer: isel.verifier.ordering.  Input: a record.  Output: a function from operand values to results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeAlias, TypeGuard

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import FloatImm, Imm, MachineInstr, Op, Reg, Special, Sym
from intrinsics.row import Row
from isel.verifier.function.flow.integers import is_plain
from isel.verifier.ordering.integers import windows
from isel.verifier.ordering.integers.numbers import Number, lanewise
from isel.verifier.ordering.integers.operations import (
    PURE,
    Operation,
    compared,
    compared_with_zero,
    conjunction,
    disjunction,
    selected,
)

Results: TypeAlias = dict[tuple[Number, ...], tuple[Number, ...]]
"""Results of the records of one form, by the values of their operands."""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A pure record: `run` maps the values of its `sources` to those of its `targets`.

    `results` is a cache of calls of `run`, since warps and runs repeat the same operands.  Both are
    shared by all records of a form.
    """

    sources: tuple[Op | None, ...]
    targets: tuple[Op | None, ...]
    run: Callable[..., tuple[Number, ...]]
    results: Results = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Straight:
    """Calculations that follow each other: `sources` are the operands that none of them writes
    first.

    `results` is a cache of the registers that all of them write, by the values of the sources.
    """

    calculations: tuple[Calculation, ...]
    sources: tuple[Op, ...]
    results: dict[tuple[Number, ...], dict[Reg, Number]] = field(default_factory=dict)

    @classmethod
    def of(cls, calculations: Sequence[Calculation]) -> Straight:
        """These calculations, in order."""
        written: set[Op] = set()
        sources: dict[Op, None] = {}
        for one in calculations:
            sources.update((op, None) for op in one.sources if _is_open(op) and op not in written)
            written.update(op for op in one.targets if op is not None)
        return cls(tuple(calculations), tuple(sources))


def _is_open(op: Op | None) -> TypeGuard[Op]:
    """Whether an operand is no literal: its value has to be looked up."""
    return op is not None and type(op) not in (Imm, FloatImm)


def is_straight(what: Calculation) -> bool:
    """Whether a calculation reads and writes single registers, as those of a `Straight` do."""
    operands = (*what.sources, *what.targets)
    return all(type(op) in (int, Imm, FloatImm, Special, Sym) for op in operands if op is not None)


COMPUTED = (
    *("elect.sync", "ld", "activemask", "shfl.sync", "vote.sync", "vote.sync.ballot", "match.sync"),
)
"""Rows whose results also depend on the thread or on memory; `plain` computes them."""


def calculates(row: Row) -> bool:
    """Whether the results of a row's records depend on the values of their operands alone."""
    return row.id in _CALCULATIONS


def calculation_of(mi: MachineInstr, results: Results) -> Calculation | None:
    """The calculation of a record, None if it is not pure; `results` is the cache of its form."""
    found = _CALCULATIONS.get(mi.row.id)
    if found is None:
        return None
    sources, targets, make = found
    return Calculation(_single(mi, sources), _single(mi, targets), make(mi), results)


def _single(mi: MachineInstr, slots: Sequence[str]) -> tuple[Op | None, ...]:
    """The operands in these slots, those of vectors one by one."""
    ops = [mi.get(slot) for slot in slots]
    return tuple(one for op in ops for one in (op if isinstance(op, tuple) else (op,)))


def _arithmetic(
    mi: MachineInstr, make: Callable[[MachineInstr], Operation | None], *numbers: Number
) -> Number:
    if mi.row.id in ("and", "or") and mi.scalar_type().bits == 1:
        return (conjunction if mi.row.id == "and" else disjunction)(*numbers)
    operation = make(mi)
    if operation is None or not is_plain(mi):
        return None
    return lanewise(operation, *numbers)


_Make: TypeAlias = Callable[[MachineInstr], Callable[..., tuple[Number, ...]]]


def _alone(run: Callable[..., Number]) -> _Make:
    """A factory that gives the same function for every form of a row."""
    return lambda _: lambda *numbers: (run(*numbers),)


def _whole(run: Callable[..., tuple[Number, ...]]) -> _Make:
    """A factory of a function that also takes the record."""
    return lambda mi: functools.partial(run, mi)


def _pure(make: Callable[[MachineInstr], Operation | None]) -> _Make:
    return lambda mi: lambda *numbers: (_arithmetic(mi, make, *numbers),)


def _unpacked(mi: MachineInstr, a: Number) -> tuple[Number, ...]:
    """The parts of a number, the low one first."""
    parts = len(_single(mi, "d"))
    width = mi.scalar_type().bits // parts
    return tuple(
        lanewise(lambda x, at=at: x >> at * width & (1 << width) - 1, a) for at in range(parts)
    )


def _packed(mi: MachineInstr, *parts: Number) -> tuple[Number, ...]:
    """The number of which these are the parts."""
    width = mi.scalar_type().bits // len(parts)
    return (
        lanewise(
            lambda *xs: sum((x & (1 << width) - 1) << i * width for i, x in enumerate(xs)), *parts
        ),
    )


_CALCULATIONS: dict[str, tuple[Sequence[str], Sequence[str], _Make]] = {
    **{row: (operands, "d", _pure(make)) for row, (operands, make) in PURE.items()},
    **dict.fromkeys(("mov", "cvta", "cvta.to"), ("a", "d", _alone(lambda a: a))),
    "setp.int": ("abc", "pq", _whole(compared)),
    "setp.float": ("abc", "pq", _whole(compared_with_zero)),
    "selp": ("abc", "d", _alone(selected)),
    **dict.fromkeys(("mov.unpack2", "mov.unpack4"), ("a", "d", _whole(_unpacked))),
    **dict.fromkeys(("mov.pack2", "mov.pack4"), ("a", "d", _whole(_packed))),
    "mapa": ("ab", "d", _alone(functools.partial(lanewise, windows.in_window))),
    "getctarank": ("a", "d", _alone(functools.partial(lanewise, windows.rank_of))),
}
"""By row: the operands read, those written, and what is computed."""
