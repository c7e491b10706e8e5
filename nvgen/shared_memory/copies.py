"""Copies of whole tiles between global and shared memory: by TMA, or by all threads of a scope.

Layer: nvgen.shared_memory.  A tile's spans, lines and major determine the boxes of a tensor map; a
map that cannot bring them is rejected at its declaration, or at the copy.  Every target from sm_80
on has copies of 16 bytes by threads.  PTX ISA, cp.async.bulk.tensor; Tensors; Swizzling Modes;
cp.async; Async proxy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias, overload

import numpy as np

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.element import ElementType, Major
from intrinsics.findings import InputError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import AtomicOp, CtaGroup, Space
from intrinsics.targets import Feature
from intrinsics.tma.fields import element_of
from intrinsics.tma.rules import MOST_BOX, box_findings
from nvgen.calling.callers import place_of_caller
from nvgen.calling.refusals import described, refuse, whole
from nvgen.instructions.roles import WARP, WARPGROUP, ExecutionScope, check_scope
from nvgen.launching.arguments import MapKind, Parameter
from nvgen.shared_memory.reductions import Reductions
from nvgen.shared_memory.tiles import PLAIN_SPAN, SharedTile
from nvgen.values.number_types import u16
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Barrier, Pointer

PERIOD = 8
"""Lines of the period of every swizzling."""

_PACKED = 4
"""Bits of the elements that a copy counts two in a byte."""


def in_bytes(
    dtype: ElementType, shape: tuple[int, int], major: Major
) -> tuple[ElementType, tuple[int, int]]:
    """A tile's type and shape as copies count it: pairs of 4-bit elements along K are bytes."""
    rows, k = shape
    if dtype.bits == _PACKED and major is Major.K and k % 2 == 0:
        return ElementType.U8, (rows, k // 2)
    return dtype, shape


# ---- boxes ---------------------------------------------------------------------------------------


def tile_box(
    dtype: ElementType, shape: tuple[int, int], swizzle: int, major: Major, rank: int
) -> tuple[int, ...]:
    """The box, outermost first, of which copies make a tile of `shape` (rows, K).

    A box is one span wide, and as many lines high as go evenly into the tile, 256 at most.
    """
    rows, k = shape
    along, lines = (k, rows) if major is Major.K else (rows, k)
    span = (swizzle or PLAIN_SPAN) * 8 // dtype.bits
    heights = [n for n in range(min(lines, MOST_BOX), 0, -1) if lines % n == 0]
    height = next((n for n in heights if n == lines or n % PERIOD == 0), 0)
    if dtype.bits % 8 or along % span or not height or not 2 <= rank <= 5:
        raise refuse(
            "no copies by TMA make such a tile",
            rule="tile-map",
            got=f"{rows}x{k} of {dtype.value}, {major.value}-major, rank {rank}",
            expected=f"whole bytes, a multiple of {span} elements along the major, rank 2 to 5",
            hint="a tile whose rows end early is as wide as its span: TMA fills it with zeros",
        )
    return (1,) * (rank - 2) + (height, span)


def box_of(box: object) -> tuple[int, ...]:
    """The elements of a box of a tensor map, outermost first."""
    if not isinstance(box, (tuple, list)) or not box:
        raise refuse("no box of a tensor map", got=described(box), expected="(…, rows, columns)")
    return tuple(whole(n, "number of elements of a box") for n in box)


def check_box(dtype: ElementType, box: tuple[int, ...], swizzle: Swizzle) -> None:
    """Whether there are tensor maps with such a box (outermost first), whatever the tensor is.

    Elements of a part of a byte are not judged: how they lie is the launch's.
    """
    size = np.dtype(dtype.numpy).itemsize
    element = element_of(np.dtype(dtype.numpy), size)
    if dtype.bits % 8 or element is None:
        return
    wrong = box_findings(element, box[::-1], swizzle)
    if wrong:
        raise InputError([found.at(place_of_caller()) for found in wrong])


# ---- copies --------------------------------------------------------------------------------------

Coordinates: TypeAlias = Sequence[IntLike | Sequence[IntLike]]
"""The coordinates of a tile's first element, innermost first; for gathered rows (column, rows)."""

Offsets: TypeAlias = Sequence[IntLike] | None
"""The offsets of a filter tap, W first, of images."""

Place: TypeAlias = tuple[Pointer, tuple[object, ...]]
"""Where a part of a tile lies, and its coordinates."""

_LOAD, _PREFETCH, _STORE, _REDUCE = range(4)
_VERBS = {
    MapKind.TILES: ("g2s_tile", "prefetch_tile", "s2g_tile", "reduce_tile"),
    MapKind.IMAGES: ("g2s_im2col", "prefetch_im2col", "s2g_im2col", "reduce_im2col"),
    MapKind.ROWS: (
        "g2s_tile_gather4", "prefetch_tile_gather4", "s2g_tile_scatter4", "reduce_tile_scatter4",
    ),
}  # fmt: skip
"""The verbs that load, prefetch, store and reduce, without `cp_async_bulk_tensor_`."""

_ROWS = 4
"""Rows of one gather or scatter."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies by TMA that make a tile: the address and the coordinates of each part.

    `verbs` load, prefetch, store and reduce; `offsets` are those of a filter tap, for images.
    """

    builder: Reductions
    tmap: Pointer
    verbs: tuple[str, ...]
    parts: tuple[Place, ...]
    offsets: tuple[object, ...] = ()

    def load(self, barrier: Barrier, **options: object) -> None:
        """Load the tile; it completes on `barrier`."""
        for part, place in self.parts:
            self._verb(_LOAD)(part, barrier, self.tmap, *place, *self.offsets, **options)

    def prefetch(self) -> None:
        """Prefetch into L2 what `load` loads."""
        for _, place in self.parts:
            self._verb(_PREFETCH)(self.tmap, *place, *self.offsets)

    def store(self, op: AtomicOp | None) -> None:
        """Store the tile, or combine it with what is there, as a bulk group of its own."""
        verb = self._verb(_STORE) if op is None else partial(self._verb(_REDUCE), op)
        for part, place in self.parts:
            verb(self.tmap, *place, part)
        self.builder.cp_async_bulk_commit_group()

    def _verb(self, number: int) -> Callable[..., object]:
        name = f"cp_async_bulk_tensor_{self.verbs[number]}"
        verb: Callable[..., object] = getattr(self.builder, name)
        return verb


def copies(
    b: Reductions, tile: SharedTile, tmap: Pointer, coordinates: object, offsets: Offsets = None
) -> Copies:
    """The copies that make a tile, by one thread."""
    if not isinstance(coordinates, Sequence):
        got = described(coordinates)
        expected = "as many as the array has dimensions, innermost first: (0, row)"
        raise refuse("a copy by TMA begins at coordinates", got=got, expected=expected)
    known, name = b.declared_map(tmap), tmap.value.name
    if tile.bits == _PACKED and tile.major is Major.K and coordinates:
        tile = replace(tile, dtype=ElementType.U8, k=tile.k // 2)
        coordinates = (_number(coordinates[0]) >> 1, *coordinates[1:])
    _check(tile, name, known, len(coordinates))
    if known.kind is MapKind.ROWS:
        parts = _of_rows(tile, name, coordinates)
    else:
        parts = _of_boxes(tile, known.box, [_number(n) for n in coordinates])
    what = "a copy by TMA is issued by one thread"
    check_scope(b, what, ExecutionScope.THREAD, rule="tile-scope")
    given = _offsets(name, known, offsets)
    return Copies(b, tmap, _VERBS[known.kind], tuple(parts), given)


def _of_boxes(
    tile: SharedTile, box: tuple[int, ...], coordinates: list[IntLike]
) -> Iterator[Place]:
    """Tiled boxes, or im2col boxes, whose pixels the hardware iterates over."""
    first, line, *rest = coordinates
    for place, along, top in _parts(tile, box[-2]):
        column = first + along if along else first
        yield place, ((column, line + top if top else line, *rest),)


def _of_rows(tile: SharedTile, name: str, coordinates: Coordinates) -> Iterator[Place]:
    """Gathers or scatters of four rows."""
    first, rows = coordinates
    if not isinstance(rows, Sequence) or len(rows) != tile.rows or tile.rows % _ROWS:
        raise refuse(
            f"{name} brings rows from anywhere, four at once",
            rule="tile-copy",
            got=f"{len(rows)} rows" if isinstance(rows, Sequence) else described(rows),
            expected=f"(column, rows): the {tile.rows} rows of tile {tile.name}, a multiple of 4",
        )
    column = _number(first)
    for place, along, top in _parts(tile, _ROWS):
        begin = column + along if along else column
        yield place, (begin, tuple(rows[top : top + _ROWS]))


def _parts(tile: SharedTile, height: int) -> Iterator[tuple[Pointer, int, int]]:
    """The parts of a tile, a span of `height` lines: the address, and the first element and
    line.
    """
    lines, along = tile.in_lines
    for first in range(0, along, tile.span):
        for top in range(0, lines, height):
            away = (first // tile.span * tile.lines + top) * tile.width
            yield tile.pointer + away if away else tile.pointer, first, top


def _number(coordinate: object) -> IntLike:
    if not isinstance(coordinate, (int, Int)):
        raise refuse("no coordinate", got=described(coordinate), expected="a whole number")
    return coordinate


def _offsets(name: str, known: Parameter, offsets: Offsets) -> tuple[object, ...]:
    """The offsets of a filter tap: images need one for each of their inner dimensions."""
    wanted = known.rank - 2 if known.kind is MapKind.IMAGES else None
    if (None if offsets is None else len(offsets)) != wanted:
        raise refuse(
            "offsets within a filter are for images: one for each inner dimension",
            rule="tile-copy",
            got="none" if offsets is None else f"{len(offsets)} offsets",
            expected=f"{'none' if wanted is None else wanted} for {name}, W first",
        )
    return () if offsets is None else (tuple(map(_tap, offsets)),)


def _tap(offset: object) -> IntLike:
    """An offset within a filter, of which the instruction has 16 bits."""
    number = _number(offset)
    return number if isinstance(number, int) else number.to(u16)


def _check(tile: SharedTile, name: str, known: Parameter, count: int) -> None:
    """Whether copies through a tensor map make a tile."""
    (lines, along), box, rank = tile.in_lines, known.box, known.rank
    height = lines if known.kind is MapKind.ROWS else box[-2] if rank > 1 else 0
    fits = height and box[-1] == tile.span and lines % height == 0 and set(box[:-2]) <= {1}
    whole = fits and along % box[-1] == 0 and (lines == height or height % PERIOD == 0)
    same = known.dtype is tile.dtype and known.swizzle is tile.mode and tile.bits % 8 == 0
    plain = known.kind is MapKind.TILES or (tile.major is Major.K and lines == height)
    if whole and same and plain and count == rank:
        return
    wanted = f"a box of {tile.span} elements of {tile.dtype.value} by what divides {lines} lines"
    raise refuse(
        f"{known.kind.value} of {name} do not make tile {tile.name}",
        rule="tile-copy",
        got=f"box {'x'.join(map(str, box))} of {known.dtype.value if known.dtype else '?'}, "
        f"{known.swizzle.words}, {count} coordinates",
        expected=f"{wanted}, {tile.mode.words}, {rank} coordinates, innermost first",
        hint="b.tile_map(name, dtype, (rows, K), …) has the box that a tile needs",
    )


# ---- copies by threads ---------------------------------------------------------------------------

_CHUNK = 16
"""Bytes of one copy."""

_THREADS = {ExecutionScope.WARPGROUP: WARPGROUP, ExecutionScope.WARP: WARP}


class TileCopies(Reductions):
    """Copies of whole tiles by all threads of a scope."""

    @overload
    def load_tile(self, tile: SharedTile, source: Pointer, pitch: IntLike) -> None: ...

    @overload
    def load_tile(
        self,
        tile: SharedTile,
        source: Pointer,
        pitch: Coordinates,
        barrier: Barrier,
        *,
        offsets: Sequence[IntLike] | None = None,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None: ...

    def load_tile(
        self,
        tile: SharedTile,
        source: Pointer,
        pitch: IntLike | Coordinates,
        barrier: Barrier | None = None,
        *,
        offsets: Sequence[IntLike] | None = None,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None:
        """Copy a tile from global memory, swizzled, asynchronously: by TMA, or by all threads.

        By TMA, `source` is a tensor map as `tile_map` declares it, and the coordinates of the
        tile's first element, innermost first and a multiple of 16 bytes, take the place of `pitch`;
        one thread executes it.  Elements beyond the array are zeros.  `barrier` expects the
        `tile.nbytes` bytes (`arrive_expecting`).  `cta_mask` multicasts the tile to these CTAs of
        the cluster, each of which counts it on its own mbarrier, or with `cta_group` 2 on that of
        the pair's even CTA: `of_even_cta(barrier)`.  With an `image_map` the coordinates are those
        of the first pixel, and `offsets` the filter tap (W first; im2col); with a `row_map` they
        are `(column, rows)`, an index for each row of the tile (gather, from sm_100 on).

        By all threads of the CTA, or of the enclosing warpgroup or warp (cp.async), `source` is the
        address of the first element, `pitch` the elements from one row to the next, in an MN-major
        tile from one k to the next.  Rows begin at multiples of 16 bytes, the last within 4 GiB of
        the first.  `load_wait` waits for the copies.

        Raises: InputError for a single thread, or a tile that is not made of whole swizzle spans;
        by TMA for several threads, or a tile that is not made of whole boxes of the map.
        """
        if isinstance(pitch, Sequence) or barrier is not None:
            if barrier is None:
                raise refuse("a copy by TMA is counted on an mbarrier", expected="barrier=…")
            made = copies(self, tile, source, pitch, offsets)
            made.load(barrier, cta_mask=cta_mask, cache_policy=cache_policy, cta_group=cta_group)
        else:
            self._load_by_threads(tile, source, pitch)

    def _load_by_threads(self, tile: SharedTile, source: Pointer, pitch: IntLike) -> None:
        """Copies of 16 bytes, each thread's as far apart as there are threads."""
        scopes = {ExecutionScope.CTA: self.threads, **_THREADS}
        what, expected = (
            "a tile is loaded by all threads of a scope",
            "the CTA, a warpgroup or a warp",
        )
        check_scope(self, what, *scopes, expected=expected)
        threads = scopes[self.scope]
        _check_tile(tile)
        chunks, lines = tile.line_bytes // _CHUNK, tile.in_lines[0]
        total, stride = lines * chunks, pitch * tile.bits // 8
        index = self.thread % threads
        if threads % chunks or threads // chunks % PERIOD or total % threads:
            for first in range(0, total, threads):
                self._load_chunk(tile, source, stride, index + first, total - first < threads)
            return
        line, number = index // chunks, index % chunks
        target, origin = tile.chunk(line, number), source + _offset(line * stride, number)
        for step in range(0, lines, threads // chunks):
            moved = target + step * tile.width if step else target
            read = origin + _wide(step * stride) if step else origin
            self.cp_async_cg_shared_global(moved, read)

    def _load_chunk(
        self, tile: SharedTile, source: Pointer, stride: IntLike, index: Int, is_last: bool
    ) -> None:
        """One copy by each thread; of the last ones some threads have none."""
        chunks = tile.line_bytes // _CHUNK
        if is_last:
            with self.if_(index < tile.in_lines[0] * chunks):
                self._load_chunk(tile, source, stride, index, is_last=False)
            return
        line, number = index // chunks, index % chunks
        read = source + _offset(line * stride, number)
        self.cp_async_cg_shared_global(tile.chunk(line, number), read)

    def prefetch_tile(
        self,
        tile: SharedTile,
        source: Pointer,
        coordinates: Coordinates,
        *,
        offsets: Sequence[IntLike] | None = None,
    ) -> None:
        """Prefetch into L2 what `load_tile` by TMA would load; one thread executes it.

        It changes no result, not even in a dependent launch that overlaps with the one that writes
        the array.

        Raises: InputError for several threads, or a tile that is not made of whole boxes of the
        map.
        """
        copies(self, tile, source, coordinates, offsets).prefetch()

    def load_commit(self) -> None:
        """Commit this thread's loads since the last commit, as one group."""
        self.cp_async_commit_group()

    def load_wait(self, in_flight: int = 0) -> None:
        """Wait until all but the `in_flight` latest groups of loads are complete for all threads.

        All threads of the CTA execute it; it ends with a barrier.  Multiplies may then read the
        tiles, through the generic or the async proxy.

        Raises: InputError where the kernel's target is not known.
        """
        features = self.known_target().features
        self.cp_async_wait_group(in_flight)
        if features & (Feature.HAS_WGMMA | Feature.HAS_TMEM):  # they read by the async proxy
            self.fence_proxy_async(Space.SHARED_CTA)
        self.barrier_cta_sync_aligned()


def _offset(line: IntLike, number: Int) -> Int:
    return (number * _CHUNK + line).zext(64)


def _wide(offset: IntLike) -> IntLike:
    return offset.zext(64) if isinstance(offset, Int) else offset


def _check_tile(tile: SharedTile) -> None:
    whole = tile.line_bytes % tile.width == 0 and tile.bits == tile.dtype.bits
    if not whole or tile.atom != PLAIN_SPAN:
        raise refuse(
            f"tile {tile.name} cannot be loaded by copies of 16 bytes",
            got=f"{tile.rows}x{tile.k}, {tile.mode.words}, {tile.bits} bits an element",
            expected="a tile of whole spans, with atoms of 16 bytes, whose elements are packed as "
            "in memory",
        )
