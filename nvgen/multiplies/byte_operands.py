"""A and B of multiplies of warpgroups whose elements are bytes in shared memory.

Layer: nvgen.multiplies.  Weights of 8 or 4 bits become f16 or bf16 on their way from shared memory
to the registers of A.  ldmatrix gives a thread 4 bytes of each 16 of a row: where K is in the order
of threads these are what A has of it.  A multiply of fp8 takes K-major matrices only, and a
thread's columns of an accumulator are not those of A: `as_bytes` makes A in the order in which the
thread has K, and `transpose_bytes` permutes B's accordingly.  PTX ISA, ldmatrix; stmatrix; prmt;
Register Fragments of wgmma.mma_async.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.element import ElementType, Major
from intrinsics.layouts.register_layout import FragmentLayout, operand_layout
from intrinsics.modifiers.matrix import MatrixNum
from nvgen.calling.refusals import function_of, refuse, whole
from nvgen.fragments.fragment import Fragment
from nvgen.fragments.layouts import Holders, RegisterTile
from nvgen.instructions.roles import WARPGROUP
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.number_types import scalar_type
from nvgen.values.numbers import Int, IntLike, Number
from nvgen.values.vectors import from_words, vector_of

_STEP = 32
"""Columns of B that are transposed at once."""

_GROUP = 16
"""Columns that are permuted among themselves; bytes of a line of a matrix."""

_WAYS = (0x6420, 0x7531)
"""For prmt: the even bytes of two registers, and the odd ones."""

_ROWS, _CHUNK = 64, 16
"""Rows of A in one multiply; bytes that ldmatrix reads of a row."""

_HALVES = (ElementType.F16, ElementType.BF16)
_BYTES = (ElementType.S8, ElementType.U8, ElementType.E4M3, ElementType.E5M2)


def warpgroup_operand_of(
    b: SharedMemory, m: int, k: int, dtype: ElementType, function: Callable[[Int, Int], Number]
) -> RegisterTile:
    """A in registers, whose elements `function(row, column)` gives, rounded to `dtype`.

    Each thread asks for its own: integers of a tile in shared memory, say, that become A of a
    multiply in bf16.  All threads of a warpgroup execute it.

    Raises: InputError for rows that are no multiple of 64, K that is none of an instruction's, and
    for elements of another number of bits than 16.
    """
    if dtype not in _HALVES or m < 1 or k < 1 or m % _ROWS or k % 16:
        got = f"{m}x{k} of {dtype.value}"
        expected = f"f16 or bf16, multiples of {_ROWS} rows and 16 columns"
        raise refuse("no A in the registers of a warpgroup", got=got, expected=expected)
    one = operand_layout(WARPGROUP, 16)
    places = [
        (top + down, first + along)
        for top in range(0, m, _ROWS)
        for first in range(0, k, one.columns)
        for down, along in zip(one.down, one.along, strict=True)
    ]
    holders = Holders(b, _laid_out(m, k, places))
    row, column = holders.corner()
    made = function_of(function, "row", "column")
    numbers = [made(row + down, column + along) for down, along in places]
    return Fragment(vector_of(numbers), holders).as_a_operand(dtype)


def warpgroup_fragment(
    b: SharedMemory, tile: SharedTile, dtype: ElementType, *, packed: bool | ElementType = False
) -> Fragment:
    """A tile of i8, u8, e4m3 or e5m2 as a matrix of f16 or bf16, laid out as A of a warpgroup's
    multiply.

    `b.warpgroup_fragment(w, bf16).scale_rows(scales).as_a_operand()` is A of weights of 8 bits.
    With `packed` each i8 or u8 is two integers of 4 bits, the first in its lower half, or two
    floats with `packed=ElementType.E2M1`; the matrix has twice the tile's columns.  All threads of
    a warpgroup execute it.

    In each 16 bytes of a row K is in the order of `as_bytes`, thread by thread: k = 8j + 2q + e
    (j, e < 2, q < 4) is byte 4q + 2j + e, of numpy's `w.reshape(m, -1, 2, 4, 2).swapaxes(2, 3)`;
    with `packed` k = 16s + 8j + 2q + e of 32 is the half-byte 8q + 4s + 2j + e.

    Raises: InputError for other types, rows that are no multiple of 64 and columns of no whole 32
    bytes.
    """
    fits = tile.rows % _ROWS == 0 and tile.k % (2 * _CHUNK) == 0 and tile.major is Major.K
    if tile.dtype not in _BYTES or dtype not in _HALVES or not fits:
        raise refuse(
            "no such A of bytes",
            got=f"{tile!r} as {dtype.value}",
            expected=f"i8, u8, e4m3 or e5m2, K-major, multiples of {_ROWS} rows and {2 * _CHUNK} "
            "bytes; f16 or bf16",
        )
    lane, warp = b.thread & 31, b.thread >> 5 & 3
    line, half = warp * 16 + lane % 16, lane // 16
    tops, chunks = range(0, tile.rows, _ROWS), range(0, tile.k // _CHUNK, 2)
    loads = [
        b.ldmatrix(tile.chunk(line, half + chunk) + top * tile.width)
        for top in tops
        for chunk in chunks
    ]
    found = from_words(b.words([word for load in loads for word in load]), scalar_type(tile.dtype))
    size = 32 if packed else 16  # columns in a chunk
    within = [16 * s + 8 * j + e for s in range(size // 16) for j in (0, 1) for e in (0, 1)]
    words = [(top, chunk * size) for top in tops for chunk in chunks]
    matrices = [(0, 0), (8, 0), (0, size), (8, size)]
    places = [(y + v, x + u + w) for y, x in words for v, u in matrices for w in within]
    layout = _laid_out(tile.rows, tile.k * size // _CHUNK, places)
    element = packed if isinstance(packed, ElementType) else None
    wide = found.unpacked(dtype, element) if packed else found.to(dtype)
    return Fragment(wide, Holders(b, layout))


def _laid_out(m: int, k: int, places: list[tuple[int, int]]) -> FragmentLayout:
    """A matrix whose elements begin where those of A do in each thread."""
    one = operand_layout(WARPGROUP, 16)
    down, along = zip(*places, strict=True)
    return FragmentLayout(m, k, one.row_bits, one.column_bits, down, along)


# ---- B of an fp8 multiply ------------------------------------------------------------------------


def transpose_bytes(
    b: SharedMemory, source: SharedTile, target: SharedTile, *, index: IntLike = 0, warps: int = 1
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
