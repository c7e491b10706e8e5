"""Whole tiles between global and shared memory by TMA: the boxes that a tile is made of.

Layer: nvgen.builder.  A tile's spans, its lines and its major say which boxes it takes; a tensor
map that cannot bring them is refused where it is declared, or where it meets the tile.  PTX ISA,
cp.async.bulk.tensor; Tensors; Swizzling Modes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intrinsics.element import ElementType, Major
from intrinsics.findings import InputError, input_error
from nvgen.builder.control import Scope
from nvgen.builder.map_checks import DeclaredMap
from nvgen.builder.numbers import IntLike
from nvgen.builder.pointers import Barrier, Pointer
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile
from nvgen.callers import place_of_caller

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

_MOST_LINES = 256
_GROUP = 8
"""Lines after which every swizzling begins anew."""


def _refuse(rule: str, message: str, *, got: str, expected: str, hint: str = "") -> InputError:
    place = place_of_caller()
    return input_error(
        f"builder/tile-{rule}", message, place=place, got=got, expected=expected, hint=hint
    )


def box_of(
    dtype: ElementType, shape: tuple[int, int], swizzle: int, major: Major, rank: int
) -> tuple[int, ...]:
    """The box, outermost first, of which copies make a tile of `shape` (rows, K).

    A box is one span wide, and as many lines high as go evenly into the tile, 256 at most.

    Raises: InputError where no copies make such a tile.
    """
    rows, k = shape
    along, lines = (k, rows) if major is Major.K else (rows, k)
    span = (swizzle or PLAIN_SPAN) * 8 // dtype.bits
    heights = [n for n in range(min(lines, _MOST_LINES), 0, -1) if lines % n == 0]
    height = next((n for n in heights if n == lines or n % _GROUP == 0), 0)
    if dtype.bits % 8 or along % span or not height or not 2 <= rank <= 5:
        raise _refuse(
            "map",
            "no copies by TMA make such a tile",
            got=f"{rows}x{k} of {dtype.value}, {major.value}-major, rank {rank}",
            expected=f"whole bytes, a multiple of {span} elements along the major, rank 2 to 5",
            hint="a tile whose rows end early is as wide as its span: TMA fills it with zeros",
        )
    return (1,) * (rank - 2) + (height, span)


@dataclass(frozen=True, slots=True)
class _Box:
    """One copy: where its part of the tile lies, and its coordinates."""

    pointer: Pointer
    coordinates: tuple[IntLike, ...]


def _boxes(
    b: KernelBuilder, tile: SharedTile, tmap: Pointer, coordinates: Sequence[IntLike]
) -> Iterator[_Box]:
    """The copies that make a tile.

    Raises: InputError where the boxes of the map do not make it.
    """
    known = b.declared_map(tmap)
    along, lines = (tile.k, tile.rows) if tile.major is Major.K else (tile.rows, tile.k)
    _check(tile, tmap.value.name, known, along, lines, len(coordinates))
    height, width = known.box[-2], known.box[-1]
    first, line, *rest = coordinates
    for span in range(along // width):
        for top in range(0, lines, height):
            away = (span * tile.lines + top) * tile.width
            place = tile.pointer + away if away else tile.pointer
            column = first + span * width if span else first
            yield _Box(place, (column, line + top if top else line, *rest))


def _check(
    tile: SharedTile, name: str, known: DeclaredMap, along: int, lines: int, count: int
) -> None:
    box, rank = known.box, known.rank
    fits = rank >= 2 and box[-1] == tile.span and lines % box[-2] == 0 and set(box[:-2]) <= {1}
    whole = fits and along % box[-1] == 0 and (lines == box[-2] or box[-2] % _GROUP == 0)
    same = known.dtype is tile.dtype and known.swizzle is tile.mode and tile.bits % 8 == 0
    if whole and same and count == rank:
        return
    wanted = f"a box of {tile.span} elements of {tile.dtype.value} by what divides {lines} lines"
    raise _refuse(
        "copy",
        f"boxes of {name} do not make tile {tile.name}",
        got=f"box {'x'.join(map(str, box))} of {known.dtype.value if known.dtype else '?'}, "
        f"{known.swizzle.words}, {count} coordinates",
        expected=f"{wanted}, {tile.mode.words}, {rank} coordinates, innermost first",
        hint="b.tile_map(name, dtype, (rows, K), …) has the box that a tile needs",
    )


def load_boxes(
    b: KernelBuilder,
    tile: SharedTile,
    tmap: Pointer,
    coordinates: Sequence[IntLike],
    barrier: Barrier,
    cta_mask: IntLike | None,
    cache_policy: IntLike | None,
) -> None:
    """Bring a tile, by one thread; its bytes are counted on `barrier`.

    Raises: InputError where the map does not fit the tile, or several threads come here.
    """
    boxes = list(_boxes(b, tile, tmap, coordinates))
    _by_one_thread(b)
    for box in boxes:
        b.cp_async_bulk_tensor_g2s_tile(
            box.pointer, barrier, tmap, box.coordinates, cta_mask=cta_mask,
            cache_policy=cache_policy,
        )  # fmt: skip


def prefetch_boxes(
    b: KernelBuilder, tile: SharedTile, tmap: Pointer, coordinates: Sequence[IntLike]
) -> None:
    """Bring into L2 what `load_boxes` brings into shared memory, by one thread.

    Raises: InputError where the map does not fit the tile, or several threads come here.
    """
    boxes = list(_boxes(b, tile, tmap, coordinates))
    _by_one_thread(b)
    for box in boxes:
        b.cp_async_bulk_tensor_prefetch_tile(tmap, box.coordinates)


def store_boxes(
    b: KernelBuilder, tile: SharedTile, tmap: Pointer, coordinates: Sequence[IntLike]
) -> None:
    """Store a tile, by one thread, as a bulk group of its own.

    Raises: InputError where the map does not fit the tile, or several threads come here.
    """
    boxes = list(_boxes(b, tile, tmap, coordinates))
    _by_one_thread(b)
    for box in boxes:
        b.cp_async_bulk_tensor_s2g_tile(tmap, box.coordinates, box.pointer)
    b.cp_async_bulk_commit_group()


def _by_one_thread(b: KernelBuilder) -> None:
    if b.scope is not Scope.THREAD:
        raise _refuse(
            "scope",
            "a copy by TMA is issued by one thread",
            got=b.scope.value,
            expected="inside `b.elect()` of one warp, or `b.if_thread(…)`",
        )
