"""Reductions along the columns of a matrix in registers.

Layer: nvgen.fragments.  A column is shared by lanes of a warp, which exchange their parts, and by
the warps of a warpgroup, which meet in shared memory.  PTX ISA, Register Fragments of
wgmma.mma_async; shfl.sync.
"""

from __future__ import annotations

from intrinsics.modifiers import Shuffle
from nvgen.calling.refusals import function_of, refuse
from nvgen.fragments.layouts import Joined, OfThreads
from nvgen.instructions.roles import WARP
from nvgen.shared_memory.reductions import Reductions
from nvgen.values.numbers import IntLike, Number
from nvgen.values.vectors import joined


def reduced_columns(matrix: OfThreads, function: Joined, barrier: IntLike | None) -> list[Number]:
    """What `function` makes of all elements of each column that a thread has elements of."""
    holders, layout = matrix.holders, matrix.holders.layout
    upper = layout.column_bits[WARP.bit_length() - 1 :]
    if holders.first is not None or any(upper):
        raise refuse("columns that are divided among warps", got=matrix.words, expected="one D")
    function, numbers = function_of(function, "x", "y"), list(matrix.vector)
    parts = [
        joined([x for x, s in zip(numbers, layout.column_slot_of, strict=True) if s == slot],
               function)
        for slot in range(len(layout.column_slots))
    ]  # fmt: skip
    lanes = [1 << bit for bit, step in enumerate(layout.column_bits) if not step]
    lanes = [lane for lane in lanes if lane < WARP]
    exchange = matrix.builder.shfl_sync
    for lane in lanes:
        parts = [function(x, exchange(Shuffle.BFLY, x, lane)) for x in parts]  # type: ignore[type-var]  # of either type
    return _of_warps(matrix, parts, lanes, function, barrier) if upper else parts


def _of_warps(
    matrix: OfThreads, parts: list[Number], lanes: list[int], function: Joined,
    barrier: IntLike | None,
) -> list[Number]:  # fmt: skip
    """What the warps of a warpgroup have of each column, combined through shared memory."""
    b, layout = matrix.builder, matrix.holders.layout
    assert isinstance(b, Reductions)
    meeting = b.meeting("column_reduce", barrier)
    (room,) = b.rooms_of(parts[0], b.threads // WARP * layout.columns)
    _, column = matrix.holders.corner()
    mine = b.warp * layout.columns + column
    with b.if_((b.lane & sum(lanes)) == 0):
        for along, part in zip(layout.column_slots, parts, strict=True):
            room[mine + along] = part
    b.barrier_cta_sync_aligned(*meeting)
    warps = layout.threads // WARP
    first = b.thread // layout.threads * (warps * layout.columns) + column
    found = [
        joined([room[first + (warp * layout.columns + along)] for warp in range(warps)], function)
        for along in layout.column_slots
    ]
    b.barrier_cta_sync_aligned(*meeting)
    return found
