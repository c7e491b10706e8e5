"""Copies of whole tiles from global to shared memory: by TMA, or by all threads of a scope.

Layer: nvgen.builder.  Every target from sm_80 on has copies of 16 bytes.  PTX ISA, cp.async; Async
proxy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from intrinsics.modifiers import CtaGroup, Space
from intrinsics.targets import Feature
from nvgen.builder.map_copies import PERIOD, Coordinates, copies
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Barrier, Pointer
from nvgen.builder.protocols import Protocols
from nvgen.builder.roles import WARP, WARPGROUP, ExecutionScope
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile
from nvgen.calling.refusals import described, refuse

_CHUNK = 16
"""Bytes of one copy."""

_THREADS = {ExecutionScope.WARPGROUP: WARPGROUP, ExecutionScope.WARP: WARP}


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

        By TMA, `source` is a tensor map as `tile_map` declares it, and the coordinates of the
        tile's first element, innermost first, take the place of `pitch`; one thread executes it.
        Elements beyond the array are zeros.  The copy completes `tile.nbytes` bytes on `barrier`,
        which must expect them (`arrive_expecting`).  `cta_mask` multicasts the tile to these CTAs
        of the cluster, each of which counts it on its own mbarrier; with `cta_group` 2 that may be
        the mbarrier of each pair's even CTA: `of_even_cta(barrier)` (from sm_100 on).

        With an `image_map` the coordinates are those of the first pixel, and `offsets` the filter
        tap (W first; im2col); with a `row_map` they are `(column, rows)`, as many row indices as
        the tile has rows (gather, from sm_100 on).

        By all threads (cp.async), `source` is the address of the first element, `pitch` the
        elements from one row to the next, in an MN-major tile from one k to the next.  Rows begin
        at multiples of 16 bytes, the last within 4 GiB of the first.  All threads of the CTA, or of
        the enclosing warpgroup or warp, execute it; `load_wait` waits for the copies.

        Raises: InputError for a single thread, or a tile that is not made of whole swizzle spans;
        by TMA for several threads, or a tile that is not made of whole boxes of the map.
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
