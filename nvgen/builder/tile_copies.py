"""Whole tiles between global and shared memory: by TMA, or by copies that all threads make.

Layer: nvgen.builder.  A tile's spans, its lines and its major say which boxes of a tensor map it
takes; a map that cannot bring them is refused where it is declared, or where it meets the tile.
Every target from sm_80 on has copies of 16 bytes.  PTX ISA, cp.async.bulk.tensor; Tensors;
Swizzling Modes; cp.async; Async proxy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, overload

from intrinsics.element import ElementType, Major
from intrinsics.modifiers import CtaGroup, Space
from intrinsics.targets import Feature
from nvgen.arguments import MapKind, Parameter
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Barrier, Pointer
from nvgen.builder.protocols import Protocols
from nvgen.builder.refusals import described, refuse
from nvgen.builder.roles import WARP, WARPGROUP, ExecutionScope
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile

_CHUNK = 16
"""Bytes of one copy."""

PERIOD = 8
"""Lines after which every swizzling begins anew."""

_THREADS = {ExecutionScope.WARPGROUP: WARPGROUP, ExecutionScope.WARP: WARP}

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


Coordinates: TypeAlias = Sequence[IntLike | Sequence[IntLike]]
"""Where a tile begins, innermost dimension first; for rows from anywhere (column, rows)."""

_LOAD, _PREFETCH, _STORE = range(3)
_VERBS = {
    MapKind.TILES: ("g2s_tile", "prefetch_tile", "s2g_tile"),
    MapKind.IMAGES: ("g2s_im2col", "prefetch_im2col", "s2g_im2col"),
    MapKind.ROWS: ("g2s_tile_gather4", "prefetch_tile_gather4", "s2g_tile_scatter4"),
}
"""The verbs that load, prefetch and store, behind `cp_async_bulk_tensor_`."""

_ROWS = 4
"""Rows that one copy brings from anywhere."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies by TMA that make a tile: where the part of each lies, and its coordinates.

    `verbs` load, prefetch and store; `offsets` are those within a filter, of images.
    """

    builder: Protocols
    tmap: Pointer
    verbs: tuple[str, ...]
    parts: tuple[tuple[Pointer, tuple[object, ...]], ...]
    offsets: tuple[object, ...] = ()

    def load(
        self,
        barrier: Barrier,
        cta_mask: IntLike | None,
        cache_policy: IntLike | None,
        cta_group: CtaGroup | None,
    ) -> None:
        """Bring the tile; its bytes are counted on `barrier`."""
        for part, place in self.parts:
            self._verb(_LOAD)(
                part, barrier, self.tmap, *place, *self.offsets, cta_mask=cta_mask,
                cache_policy=cache_policy, cta_group=cta_group,
            )  # fmt: skip

    def prefetch(self) -> None:
        """Bring into L2 what `load` brings into shared memory."""
        for _, place in self.parts:
            self._verb(_PREFETCH)(self.tmap, *place, *self.offsets)

    def store(self) -> None:
        """Store the tile, as a bulk group of its own."""
        for part, place in self.parts:
            self._verb(_STORE)(self.tmap, *place, part)
        self.builder.cp_async_bulk_commit_group()

    def _verb(self, number: int) -> Callable[..., object]:
        verb: Callable[..., object] = getattr(
            self.builder, f"cp_async_bulk_tensor_{self.verbs[number]}"
        )
        return verb


def copies(
    b: Protocols,
    tile: SharedTile,
    tmap: Pointer,
    coordinates: Coordinates,
    offsets: Sequence[IntLike] | None = None,
) -> Copies:
    """The copies that make a tile, by one thread.

    Raises: InputError where those of the map do not make it, or several threads come here.
    """
    known, name = b.declared_map(tmap), tmap.value.name
    if tile.bits == _PACKED and tile.major is Major.K and coordinates:
        tile = replace(tile, dtype=ElementType.U8, k=tile.k // 2)
        coordinates = (_number(coordinates[0]) >> 1, *coordinates[1:])
    along, lines = (tile.k, tile.rows) if tile.major is Major.K else (tile.rows, tile.k)
    from_anywhere = known.kind is MapKind.ROWS
    _check(tile, name, known, along, lines, len(coordinates))
    if from_anywhere:
        parts = _of_rows(tile, name, coordinates)
    else:
        parts = _of_boxes(tile, known.box, [_number(n) for n in coordinates])
    if b.scope is not ExecutionScope.THREAD:
        raise refuse(
            "a copy by TMA is issued by one thread",
            rule="tile-scope",
            got=b.scope.value,
            expected="inside `b.elect()` of one warp, or `b.if_thread(…)`",
        )
    given = _offsets(name, known, offsets)
    return Copies(b, tmap, _VERBS[known.kind], tuple(parts), given)


def _of_boxes(
    tile: SharedTile, box: tuple[int, ...], coordinates: list[IntLike]
) -> Iterator[tuple[Pointer, tuple[object, ...]]]:
    """Boxes of neighbours, or pixels of images, which the hardware counts on by itself."""
    first, line, *rest = coordinates
    for place, along, top in _parts(tile, box[-2]):
        column = first + along if along else first
        yield place, ((column, line + top if top else line, *rest),)


def _of_rows(
    tile: SharedTile, name: str, coordinates: Coordinates
) -> Iterator[tuple[Pointer, tuple[object, ...]]]:
    """Four rows at a time."""
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
    """Spans of so many lines: where each lies, and its first element and line in the tile."""
    along, lines = (tile.k, tile.rows) if tile.major is Major.K else (tile.rows, tile.k)
    for first in range(0, along, tile.span):
        for top in range(0, lines, height):
            away = (first // tile.span * tile.lines + top) * tile.width
            yield tile.pointer + away if away else tile.pointer, first, top


def _number(coordinate: object) -> IntLike:
    if not isinstance(coordinate, (int, Int)):
        raise refuse("no coordinate", got=described(coordinate), expected="a whole number")
    return coordinate


def _offsets(name: str, known: Parameter, offsets: Sequence[IntLike] | None) -> tuple[object, ...]:
    """Those within a filter, of which images want one for each of their inner dimensions."""
    wanted = known.rank - 2 if known.kind is MapKind.IMAGES else None
    if (None if offsets is None else len(offsets)) != wanted:
        raise refuse(
            "offsets within a filter are for images: one for each inner dimension",
            rule="tile-copy",
            got="none" if offsets is None else f"{len(offsets)} offsets",
            expected=f"{'none' if wanted is None else wanted} for {name}, W first",
        )
    return () if offsets is None else (tuple(offsets),)


def _check(
    tile: SharedTile, name: str, known: Parameter, along: int, lines: int, count: int
) -> None:
    box, rank = known.box, known.rank
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


# ---- the verbs ---------------------------------------------------------------------------------


class TileCopies(Protocols):
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

        By TMA, `source` is a tensor map as `tile_map` declares it, and in place of a pitch come the
        coordinates of the tile's first element, innermost first; one thread comes here.  What lies
        beyond the array is zeros.  The bytes are counted on `barrier`, which expects `tile.nbytes`
        (`arrive_expecting`).  With `cta_mask` the tile goes to these CTAs of the cluster, and is
        counted on the mbarrier of each.  With `cta_group` 2 that may be the mbarrier of each pair's
        even CTA: `of_even_cta(barrier)` (from sm_100 on).

        Of an `image_map` the coordinates are those of the first pixel, and `offsets` say where in
        the filter (W first) it is looked at (im2col); of a `row_map` they are `(column, rows)`,
        the numbers of as many rows as the tile has, from anywhere (gather, from sm_100 on).

        By all threads, `source` is the address of its first element, `pitch` the elements from one
        row to the next, of an MN-major tile from one k to the next.  Lines lie at multiples of 16
        bytes, the last within 4 GiB of the first.  All threads of the CTA come here, in their
        scopes those of a warpgroup or a warp; `load_wait` waits for them.

        Raises: InputError for a single thread, or a tile that is not made of whole spans; by TMA
        for several threads, or a tile that the map's boxes do not make up.
        """
        if isinstance(pitch, Sequence):
            if barrier is None:
                raise refuse("a copy by TMA is counted on an mbarrier", expected="barrier=…")
            made = copies(self, tile, source, pitch, offsets)
            made.load(barrier, cta_mask, cache_policy, cta_group)
            return
        if barrier is not None:
            raise refuse(
                "a copy by TMA begins at coordinates",
                got=described(pitch),
                expected="as many as the array has dimensions, innermost first: (0, row)",
            )
        threads = self._loading_threads()
        _check_tile(tile)
        chunks = tile.line_bytes // _CHUNK
        total, stride = _lines(tile) * chunks, pitch * tile.bits // 8
        index = self.tid_x % threads
        if threads % chunks or threads // chunks % PERIOD or total % threads:
            for first in range(0, total, threads):
                self._load_chunk(tile, source, stride, index + first, total - first < threads)
            return
        line, number = index // chunks, index % chunks
        target, origin = tile.chunk(line, number), source + _offset(line * stride, number)
        for step in range(0, _lines(tile), threads // chunks):
            moved = target + step * tile.width if step else target
            read = origin + _wide(step * stride) if step else origin
            self.cp_async_cg_shared_global(moved, read)

    def _load_chunk(
        self, tile: SharedTile, source: Pointer, stride: IntLike, index: Int, is_last: bool
    ) -> None:
        """One copy by each thread; of the last ones some threads have none."""
        chunks = tile.line_bytes // _CHUNK
        if is_last:
            with self.if_(index < _lines(tile) * chunks):
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
        """Bring into L2 what `load_tile` by TMA would bring into a tile; one thread comes here.

        It changes nothing that a program can see, not even in a launch that begins before the one
        whose results it reads has ended.

        Raises: InputError for several threads, or a tile that the map's boxes do not make up.
        """
        copies(self, tile, source, coordinates, offsets).prefetch()

    def load_commit(self) -> None:
        """Make a group of this thread's loads since the last one."""
        self.cp_async_commit_group()

    def load_wait(self, in_flight: int = 0) -> None:
        """Wait until all but the `in_flight` latest groups of loads are there for all threads.

        All threads of the CTA come here.  Multiplies of the target may then read the tiles, be it
        through the generic or the async proxy.

        Raises: InputError where the kernel's target is not known.
        """
        features = self.known_target().features
        self.cp_async_wait_group(in_flight)
        if features & (Feature.HAS_WGMMA | Feature.HAS_TMEM):  # they read by the async proxy
            self.fence_proxy_async(Space.SHARED_CTA)
        self.barrier_cta_sync_aligned()

    def _loading_threads(self) -> int:
        if self.scope is ExecutionScope.THREAD:
            raise refuse(
                "a tile is loaded by all threads of a scope",
                got=self.scope.value,
                expected="the CTA, a warpgroup or a warp",
            )
        return _THREADS.get(self.scope, self.threads)


def _offset(line: IntLike, number: Int) -> Int:
    return (number * _CHUNK + line).zext(64)


def _wide(offset: IntLike) -> IntLike:
    return offset.zext(64) if isinstance(offset, Int) else offset


def _lines(tile: SharedTile) -> int:
    return tile.nbytes // tile.line_bytes


def _check_tile(tile: SharedTile) -> None:
    whole = tile.line_bytes % tile.width == 0 and tile.bits == tile.dtype.bits
    if not whole or tile.atom != PLAIN_SPAN:
        raise refuse(
            f"tile {tile.name} cannot be loaded by copies of 16 bytes",
            got=f"{tile.rows}x{tile.k}, {tile.mode.words}, {tile.bits} bits an element",
            expected="a tile of whole spans, with atoms of 16 bytes, whose elements are packed as "
            "in memory",
        )
