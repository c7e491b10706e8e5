"""The slice of a function that is evaluated: registers on which branches and synchronisation
depend.

Layer: isel.verifier.function.  Input: the records of a function.  Output: the registers on which
its branches depend, and the operands that rules read; all others hold data, and are not evaluated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

from intrinsics.mir import MachineInstr, Mem, Reg, guard_register
from intrinsics.modifiers import SHARED_SPACES
from intrinsics.row import Completion, Effect, Kind, Row

SHARED = (None, *SHARED_SPACES)
"""State spaces whose addresses may be in shared memory."""

_SYNCHRONISE = (
    *("mbarrier", "bar.", "barrier.", "fence", "membar", "tcgen05", "wgmma", "cp.async"),
    *("cp.reduce.async.bulk", "st.async", "red.async", "setmaxnreg"),
)
_STORES = ("st", "atom", "atom.cas", "red")
_MAPA, _COPY = "mapa", "cp.async"
_PLACES = (Kind.ADDRESS, Kind.TENSOR_ADDRESS, Kind.MATRIX)


@functools.cache
def synchronises(row: Row) -> bool:
    """Whether records of a row synchronise threads or operations."""
    return (
        row.id.startswith(_SYNCHRONISE)
        or bool(row.effects.effect & Effect.ASYNC_PROXY)
        or row.effects.completion is not Completion.AT_ISSUE
    )


def depended_on(
    records: Iterable[MachineInstr], decisive: Callable[[MachineInstr], Iterable[Reg]]
) -> set[Reg]:
    """The registers on which a guard, or a `decisive` operand of a record, depends."""
    writers: dict[Reg, list[MachineInstr]] = {}
    wanted: set[Reg] = set()
    for mi in records:
        for reg in mi.defs():
            writers.setdefault(reg, []).append(mi)
        if mi.guard is not None:
            wanted.add(guard_register(mi.guard))
        wanted.update(decisive(mi))
    pending = list(wanted)
    while pending:
        for mi in writers.get(pending.pop(), ()):
            for reg in mi.uses():
                if reg not in wanted:
                    wanted.add(reg)
                    pending.append(reg)
    return wanted


def of_rules(mi: MachineInstr) -> Iterable[Reg]:
    """The operands of a record that rules read: its addresses, and what it publishes to other
    threads.
    """
    stores = mi.row.id in _STORES and mi.form.attributes.get("space") in SHARED
    if not stores and not _is_asked(mi.row):
        return
    yield from of_warps(mi)
    for operand, op in zip(mi.form.operands, mi.ops, strict=True):
        if (operand is not None and operand.kind in _PLACES) or mi.row.id == _MAPA:
            yield from _registers(op)


@functools.cache
def _is_asked(row: Row) -> bool:
    return row.id == _MAPA or (synchronises(row) and row.id != _COPY)


def of_warps(mi: MachineInstr) -> Iterable[Reg]:
    """The operands of a record that a whole warp executes: the number in each lane matters."""
    if _counts_for_warps(mi.row):
        for op in mi.ops:
            if not isinstance(op, tuple):
                yield from _registers(op)


@functools.cache
def _counts_for_warps(row: Row) -> bool:
    return bool(row.effects.effect & (Effect.CONVERGENT | Effect.BARRIER | Effect.ASYNC_PROXY))


def _registers(op: object) -> Iterator[Reg]:
    if isinstance(op, Mem):
        op = op.base
    if type(op) is int:
        yield op
