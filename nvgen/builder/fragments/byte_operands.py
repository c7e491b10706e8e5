"""fp8 operands of a second multiply: an accumulator as its A in registers, and B transposed.

Layer: nvgen.builder.  A multiply of bytes takes K-major matrices only, and the columns of an
accumulator in a thread are not those of A.  K may be summed in any order that A and B share: A's is
that in which the thread has it, and `transpose_bytes` permutes B's accordingly.  PTX ISA, Register
Fragments of wgmma.mma_async; ldmatrix; stmatrix; prmt; cvt.
"""

from __future__ import annotations

from llvmlite import ir

from intrinsics.element import ElementType, Major
from intrinsics.layouts.register_layout import FragmentLayout, warp_layout, warpgroup_layout
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.matrix import MatrixNum
from nvgen.builder.control.roles import WARP
from nvgen.builder.fragments.layouts import OfThreads
from nvgen.builder.shared_memory.allocations import SharedMemory
from nvgen.builder.shared_memory.tiles import SharedTile
from nvgen.builder.values.llvm_ext import vector_value
from nvgen.builder.values.number_types import narrow_word
from nvgen.builder.values.numbers import Int, IntLike, Number
from nvgen.builder.values.vectors import Vector
from nvgen.calling.refusals import refuse, whole

_STEP = 32
"""Columns of A in one multiply."""

_GROUP = 16
"""Columns that are permuted among themselves; bytes of a line of a matrix."""

_WORDS = ((0, 4), (2, 6), (8, 12), (10, 14))
"""The first columns of the two pairs in each register of A, among the 16 columns of a step.

Eight columns are a pair of one row and a pair of the row eight further down.
"""

_WAYS = (0x6420, 0x7531)
"""For prmt: the even bytes of two registers, and the odd ones."""

_TYPES = (ElementType.E4M3, ElementType.E5M2)


def as_bytes(self: OfThreads, dtype: ElementType) -> Vector:
    """Round f32 to fp8, as the registers of A of another multiply: four for 32 columns.

    K is in the order in which `transpose_bytes` stores B; `warpgroup_operand` makes A of them.
    Numbers beyond the type saturate.

    Raises: InputError for other types, and columns that are not a multiple of 32.
    """
    b, vector, layout = self.builder, self.vector, self.holders.layout
    known = vector.type is ScalarType.F32 and _is_of_a_multiply(layout)
    if not known or dtype not in _TYPES or layout.columns % _STEP:
        expected = "sums of one multiply's rows in f32, multiples of 32 columns; e4m3 or e5m2"
        raise refuse("no bytes of A", got=f"{self.words} to {dtype.value}", expected=expected)
    sums = list(vector)
    steps = range(0, len(sums), len(_WORDS) * 4)
    return b.words([_word(b, sums, step, pair, dtype) for step in steps for pair in _WORDS])


def _is_of_a_multiply(layout: FragmentLayout) -> bool:
    """Whether the matrix is what one multiply of a warp or a warpgroup leaves."""
    if layout.threads == WARP:
        return layout == warp_layout(16, layout.columns)
    return layout == warpgroup_layout(64, layout.columns, 32)


def _word(
    b: SharedMemory, sums: list[Number], step: int, pair: tuple[int, int], dtype: ElementType
) -> Int:
    """Two pairs of adjacent elements in a register, the first one in its low bytes."""
    type_ = ScalarType(dtype.value)
    values = ([sums[step + at + i].value for i in (0, 1)] for at in pair)
    halves = (narrow_word(sums[step].builder, low, high, type_) for low, high in values)
    word = vector_value(b.at_caller(), ir.IntType(16), 2, halves)
    return Int(b, b.at_caller().bitcast(word, ir.IntType(32)))


def transpose_bytes(
    b: SharedMemory,
    source: SharedTile,
    target: SharedTile,
    *,
    index: IntLike = 0,
    warps: int = 1,
) -> None:
    """Transpose a tile of K × N bytes into one of N × K, the B of an fp8 multiply.

    K is then in the order of `as_bytes`: in each 16, k = 8j + 2q + e (j, e < 2, q < 4) is at
    position 4q + 2j + e.  `warps` warps share the work, each with its `index`; all their threads
    execute it.  A `fence_proxy_async` and an arrival follow.  From sm_90 on.

    Raises: InputError for tiles of other types and shapes, or that do not divide evenly among the
    warps.
    """
    groups, warps = source.rows // _GROUP, whole(warps, "number of warps")
    bytes_ = source.bits == target.bits == source.dtype.bits == 8 and source.dtype is target.dtype
    shapes = (source.rows, source.k) == (target.k, target.rows)
    majors = source.major is target.major is Major.K
    even = groups * _GROUP == source.rows and groups % warps == 0 and source.k % _STEP == 0
    if not (bytes_ and shapes and majors and even):
        raise refuse(
            "no such transposed tile of bytes",
            got=f"{source!r} to {target!r} by {warps} warps",
            expected=f"K-major tiles of one type of 8 bits, N a multiple of {_STEP}, K one of "
            f"{_GROUP * warps}",
        )
    lane = b.thread & 31
    row = (lane & 7) * 2 + (lane >> 3 & 1) + (lane >> 4) * _GROUP
    for column in range(0, source.k, _STEP):
        read = source.chunk(lane & 15, (lane >> 4) + column // _GROUP)
        mine = [index + turn * warps for turn in range(groups // warps)]
        loads = [read + group * (_GROUP * source.width) for group in mine]
        found = [b.ldmatrix(load, MatrixNum.X4, trans=True) for load in loads]
        for group, held in zip(mine, found, strict=True):  # after all loads, which overlap then
            words = [b.prmt(held[i], held[i + 1], way) for i in (0, 2) for way in _WAYS]
            b.stmatrix(target.chunk(row, group) + column * target.width, words)
