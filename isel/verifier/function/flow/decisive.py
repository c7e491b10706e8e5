"""The slice of a function that is evaluated: registers on which branches and synchronisation
depend.

Layer: isel.verifier.function.  Input: the records of a function.  Output: the registers on which
its branches depend, and the operands that rules read; all others hold data, and are not evaluated.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from intrinsics.mir import Form, MachineInstr, Mem, Reg
from intrinsics.modifiers import SHARED_SPACES
from intrinsics.row import Effect, Kind, Row

SHARED = (None, *SHARED_SPACES)
"""State spaces whose addresses may be in shared memory."""

_SYNCHRONISE = (
    *("mbarrier", "bar.", "barrier.", "fence", "membar", "tcgen05", "wgmma", "cp.async"),
    *("cp.reduce.async.bulk", "st.async", "red.async", "setmaxnreg"),
)
STORES = ("st", "atom", "atom.cas", "red")
_MAPA, _COPY, _SHUFFLE = "mapa", "cp.async", "shfl.sync"
_PLACES = (Kind.ADDRESS, Kind.TENSOR_ADDRESS, Kind.MATRIX)


@functools.cache
def synchronises(row: Row) -> bool:
    """Whether records of a row synchronise threads or operations."""
    return (
        row.id.startswith(_SYNCHRONISE)
        or bool(row.effects.effect & Effect.ASYNC_PROXY)
        or row.effects.is_asynchronous
    )


def of_rules(mi: MachineInstr) -> Iterable[Reg]:
    """The operands of a record that rules read: its addresses, what it publishes to other threads,
    and with which lanes of its warp it exchanges data.
    """
    if not _is_asked(mi.form):
        return _of_lanes(mi)
    return [*of_warps(mi), *_placing(mi), *_of_lanes(mi)]


def _of_lanes(mi: MachineInstr) -> Iterable[Reg]:
    """The member mask of a record, and the source lane and bounds of a shuffle."""
    if "membermask" not in mi.form.index:
        return ()
    names = ("membermask", "b", "c") if mi.row.id == _SHUFFLE else ("membermask",)
    return [reg for name in names for reg in _registers(mi.get(name))]


def _placing(mi: MachineInstr) -> Iterator[Reg]:
    """The addresses of a record."""
    for operand, op in zip(mi.form.operands, mi.ops, strict=True):
        if (operand is not None and operand.kind in _PLACES) or mi.row.id == _MAPA:
            yield from _registers(op)


@functools.cache
def _is_asked(form: Form) -> bool:
    row = form.row
    if row.id in STORES and form.attributes.get("space") in SHARED:
        return True
    return row.id == _MAPA or (synchronises(row) and row.id != _COPY)


def of_warps(mi: MachineInstr) -> Iterable[Reg]:
    """The operands of a record that a whole warp executes: the number in each lane matters."""
    if not _counts_for_warps(mi.form.row):
        return ()
    return [reg for op in mi.ops if not isinstance(op, tuple) for reg in _registers(op)]


@functools.cache
def _counts_for_warps(row: Row) -> bool:
    return bool(row.effects.effect & (Effect.CONVERGENT | Effect.BARRIER | Effect.ASYNC_PROXY))


def _registers(op: object) -> Iterator[Reg]:
    if isinstance(op, Mem):
        op = op.base
    if type(op) is int:
        yield op
