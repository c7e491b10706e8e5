"""Accumulators in tensor memory as matrices in registers, and back.

Layer: nvgen.builder.  Each warp of a warpgroup has the 32 lanes of its number modulo 4, a thread a
row.  PTX ISA, tcgen05.ld; tcgen05.st; Data Path Layout Organization (layout D).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from intrinsics.modifiers import LdStNum, ScalarType
from nvgen.builder.control import Scope
from nvgen.builder.fragment_layouts import tensor_layout
from nvgen.builder.fragments import Fragment, Holders
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import described, refuse
from nvgen.builder.tensor_tiles import TensorTile
from nvgen.builder.vectors import Vector, as_words, vector_of

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

_ROWS, _WARPGROUP = 128, 128
_NUMS = {num.times: num for num in LdStNum}
_TYPES = {ElementType.F32: ScalarType.F32, ElementType.S32: ScalarType.S32}


def load_fragment(b: KernelBuilder, tile: TensorTile, first: int, columns: int | None) -> Fragment:
    """Columns of an accumulator, in the registers of a warpgroup.

    Raises: InputError.
    """
    columns = tile.n - first if columns is None and isinstance(tile, TensorTile) else columns or 0
    _check(b, tile, first, columns)
    base, numbers = _base(b, tile, first), []
    for at, count in _pieces(columns):
        words = b.tcgen05_ld(base + at if at else base, num=_NUMS[count])
        numbers.append(Vector(b, words.value, count, _TYPES[tile.dtype]))
    b.tcgen05_wait_ld()
    whole = numbers[0] if len(numbers) == 1 else vector_of([n for part in numbers for n in part])
    return Fragment(whole, Holders(b, tensor_layout(columns)))


def store_fragment(fragment: Fragment, tile: TensorTile, first: int) -> None:
    """Store such columns, and wait until they are there.

    Raises: InputError.
    """
    b, columns = fragment.builder, fragment.layout.columns
    _check(b, tile, first, columns)
    if fragment.layout != tensor_layout(columns) or fragment.vector.type is not _TYPES[tile.dtype]:
        raise refuse(
            "no columns of an accumulator in tensor memory",
            got=fragment.words,
            expected="what tensor_fragment(…) gives, of the type of the tile",
        )
    base = _base(b, tile, first)
    for at, count in _pieces(columns):
        words = as_words(fragment.vector.taken_apart(range(at, at + count)))
        b.tcgen05_st(base + at if at else base, words, num=_NUMS[count])
    b.tcgen05_wait_st()


def _base(b: KernelBuilder, tile: TensorTile, first: int) -> Pointer:
    """Where the warp's lanes begin, at the first column."""
    lanes = tile.pointer + ((b.tid_x >> 5 & 3) << 21)
    return lanes + first if first else lanes


def _pieces(columns: int) -> Iterator[tuple[int, int]]:
    """What each load brings: the first column, and how many."""
    at = 0
    while at < columns:
        count = max(n for n in _NUMS if n <= columns - at)
        yield at, count
        at += count


def _check(b: KernelBuilder, tile: TensorTile, first: int, columns: int) -> None:
    if not isinstance(tile, TensorTile):
        raise refuse("no accumulator in tensor memory", got=described(tile), expected="memory.tile")
    x, y, z = b.block
    whole = b.scope is Scope.WARPGROUP or (b.scope is Scope.CTA and x * y * z == _WARPGROUP)
    fits = tile.m == _ROWS and tile.dtype in _TYPES
    if not whole or not fits or not 0 <= first < first + columns <= tile.n:
        raise refuse(
            "no columns of an accumulator for a warpgroup",
            got=f"{columns} from {first} of {tile.m}x{tile.n} of {tile.dtype.value}, "
            f"{b.scope.value}",
            expected=f"{_ROWS} rows of f32 or s32, columns that there are, by one warpgroup",
        )
