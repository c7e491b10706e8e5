"""Whole tiles between global and shared memory: by TMA, or by copies that all threads make.

Layer: nvgen.builder.  A tile's spans, its lines and its major say which boxes of a tensor map it
takes; a map that cannot bring them is refused where it is declared, or where it meets the tile.
Every target from sm_80 on has copies of 16 bytes.  PTX ISA, cp.async.bulk.tensor; Tensors;
Swizzling Modes; cp.async; Async proxy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from intrinsics.element import ElementType, Major
from intrinsics.modifiers import Space
from intrinsics.targets import Feature, Target
from nvgen.builder.map_checks import DeclaredMap
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Barrier, Pointer
from nvgen.builder.protocols import Protocols
from nvgen.builder.refusals import described, refuse
from nvgen.builder.roles import WARP, WARPGROUP, Scope
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile

_CHUNK = 16
"""Bytes of one copy."""

_PERIOD = 8
"""Lines after which every swizzling begins anew."""

_THREADS = {Scope.WARPGROUP: WARPGROUP, Scope.WARP: WARP}

_MOST_LINES = 256


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
    height = next((n for n in heights if n == lines or n % _PERIOD == 0), 0)
    if dtype.bits % 8 or along % span or not height or not 2 <= rank <= 5:
        raise refuse(
            "no copies by TMA make such a tile",
            rule="tile-map",
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
    b: Protocols, tile: SharedTile, tmap: Pointer, coordinates: Sequence[IntLike]
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
    whole = fits and along % box[-1] == 0 and (lines == box[-2] or box[-2] % _PERIOD == 0)
    same = known.dtype is tile.dtype and known.swizzle is tile.mode and tile.bits % 8 == 0
    if whole and same and count == rank:
        return
    wanted = f"a box of {tile.span} elements of {tile.dtype.value} by what divides {lines} lines"
    raise refuse(
        f"boxes of {name} do not make tile {tile.name}",
        rule="tile-copy",
        got=f"box {'x'.join(map(str, box))} of {known.dtype.value if known.dtype else '?'}, "
        f"{known.swizzle.words}, {count} coordinates",
        expected=f"{wanted}, {tile.mode.words}, {rank} coordinates, innermost first",
        hint="b.tile_map(name, dtype, (rows, K), …) has the box that a tile needs",
    )


def load_boxes(
    b: Protocols,
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
    b: Protocols, tile: SharedTile, tmap: Pointer, coordinates: Sequence[IntLike]
) -> None:
    """Bring into L2 what `load_boxes` brings into shared memory, by one thread.

    Raises: InputError where the map does not fit the tile, or several threads come here.
    """
    boxes = list(_boxes(b, tile, tmap, coordinates))
    _by_one_thread(b)
    for box in boxes:
        b.cp_async_bulk_tensor_prefetch_tile(tmap, box.coordinates)


def store_boxes(
    b: Protocols, tile: SharedTile, tmap: Pointer, coordinates: Sequence[IntLike]
) -> None:
    """Store a tile, by one thread, as a bulk group of its own.

    Raises: InputError where the map does not fit the tile, or several threads come here.
    """
    boxes = list(_boxes(b, tile, tmap, coordinates))
    _by_one_thread(b)
    for box in boxes:
        b.cp_async_bulk_tensor_s2g_tile(tmap, box.coordinates, box.pointer)
    b.cp_async_bulk_commit_group()


def _by_one_thread(b: Protocols) -> None:
    if b.scope is not Scope.THREAD:
        raise refuse(
            "a copy by TMA is issued by one thread",
            rule="tile-scope",
            got=b.scope.value,
            expected="inside `b.elect()` of one warp, or `b.if_thread(…)`",
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
        pitch: Sequence[IntLike],
        barrier: Barrier,
        *,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
    ) -> None: ...

    def load_tile(
        self,
        tile: SharedTile,
        source: Pointer,
        pitch: IntLike | Sequence[IntLike],
        barrier: Barrier | None = None,
        *,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Copy a tile from global memory, swizzled, asynchronously: by TMA, or by all threads.

        By TMA, `source` is a tensor map as `tile_map` declares it, and in place of a pitch come the
        coordinates of the tile's first element, innermost first; one thread comes here.  What lies
        beyond the array is zeros.  The bytes are counted on `barrier`, which expects `tile.nbytes`
        (`arrive_expecting`).  With `cta_mask` the tile goes to these CTAs of the cluster, and is
        counted on the mbarrier of each.

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
            load_boxes(self, tile, source, pitch, barrier, cta_mask, cache_policy)
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
        if threads % chunks or threads // chunks % _PERIOD or total % threads:
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
        self, tile: SharedTile, source: Pointer, coordinates: Sequence[IntLike]
    ) -> None:
        """Bring into L2 what `load_tile` by TMA would bring into a tile; one thread comes here.

        It changes nothing that a program can see, not even in a launch that begins before the one
        whose results it reads has ended.

        Raises: InputError for several threads, or a tile that the map's boxes do not make up.
        """
        prefetch_boxes(self, tile, source, coordinates)

    def load_commit(self) -> None:
        """Make a group of this thread's loads since the last one."""
        self.cp_async_commit_group()

    def load_wait(self, in_flight: int = 0) -> None:
        """Wait until all but the `in_flight` latest groups of loads are there for all threads.

        All threads of the CTA come here.  Multiplies of the target may then read the tiles, be it
        through the generic or the async proxy.

        Raises: InputError where the kernel's target is not known.
        """
        target = self.known_target()
        self.cp_async_wait_group(in_flight)
        if reads_by_async_proxy(target):
            self.fence_proxy_async(Space.SHARED_CTA)
        self.barrier_cta_sync_aligned()

    def _loading_threads(self) -> int:
        if self.scope is Scope.THREAD:
            raise refuse(
                "a tile is loaded by all threads of a scope",
                got=self.scope.value,
                expected="the CTA, a warpgroup or a warp",
            )
        return _THREADS.get(self.scope, self.threads)


def reads_by_async_proxy(target: Target) -> bool:
    """Whether its multiplies read shared memory through the async proxy."""
    return bool(target.features & (Feature.HAS_WGMMA | Feature.HAS_TMEM))


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
