"""Tile operations that are the same on every target: multiply, commit, wait, store.

Layer: nvgen.builder.  Input: a kernel built for a target.  `accumulator` gives what the target
multiplies into; `gemm_async` multiplies into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never, cast, overload

from intrinsics.element import ElementType
from nvgen.builder.gemm import TileOperations
from nvgen.builder.numbers import IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.portable import Multiplier, PortableAccumulator, multiplier_of
from nvgen.builder.portable_requirements import AccumulatorRequest, check_accumulator
from nvgen.builder.portable_tensor import TensorAccumulator
from nvgen.builder.portable_warp import WarpAccumulator
from nvgen.builder.portable_warpgroup import WarpgroupAccumulator
from nvgen.builder.refusals import described, refuse
from nvgen.builder.tile_maps import store_boxes
from nvgen.builder.tile_stores import check_stored
from nvgen.builder.tiles import SharedTile

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder


class PortableGemm(TileOperations):
    """One body of a kernel for every target that multiplies tiles."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._accumulators: list[PortableAccumulator] = []

    def accumulator(
        self, m: int, n: int, dtype: ElementType = ElementType.F32
    ) -> PortableAccumulator:
        """D of the whole CTA, where the target's multiplies write it, before loops and branches.

        That is tensor memory (given back by `finish`), or the registers of all warpgroups, or of
        all warps; `dtype` is f32, or s32 for products of integers.

        Raises: InputError when the target has no such accumulator, or none is known.
        """
        target = self.known_target()
        check_accumulator(AccumulatorRequest(target, self.scope, dtype))
        builder = cast("KernelBuilder", self)
        match multiplier_of(target):
            case Multiplier.TENSOR:
                name = f"accumulator_{len(self._accumulators)}"
                made: PortableAccumulator = TensorAccumulator(builder, name, m, n)
            case Multiplier.WARPGROUP:
                made = WarpgroupAccumulator(builder, m, n, dtype)
            case Multiplier.WARP:
                made = WarpAccumulator(builder, m, n, dtype)
            case other:
                assert_never(other)
        self._accumulators.append(made)
        return made

    def free_accumulators(self) -> None:
        """Give back what accumulators have allocated, as `finish` does; all threads come here."""
        while self._accumulators:
            self._accumulators.pop().free()

    def gemm_commit(self, d: PortableAccumulator) -> None:
        """Close the multiplies into `d` since the last commit, for the next wait."""
        d.commit()

    def gemm_wait(self, d: PortableAccumulator) -> None:
        """Wait for all multiplies into `d` that are committed.

        Behind it D may be stored; behind a barrier of the CTA, as `load_wait` has one, what they
        have read may be written again.
        """
        d.wait()

    @overload
    def store_tile(
        self,
        d: PortableAccumulator,
        target: Pointer,
        pitch: IntLike,
        dtype: ElementType = ElementType.F32,
    ) -> None: ...

    @overload
    def store_tile(self, d: SharedTile, target: Pointer, pitch: Sequence[IntLike]) -> None: ...

    def store_tile(
        self,
        d: PortableAccumulator | SharedTile,
        target: Pointer,
        pitch: IntLike | Sequence[IntLike],
        dtype: ElementType = ElementType.F32,
    ) -> None:
        """Store a tile by TMA, or D of `accumulator` row by row.

        A tile in shared memory goes through a tensor map, as `tile_map` declares it, to the
        coordinates of its first element, innermost first; one thread comes here.  What threads have
        written there needs `fence_proxy_async` and a barrier before; the store is a bulk group of
        its own, for which `cp_async_bulk_wait_group` waits.  What lies beyond the array is not
        stored.

        D is stored as f32 or rounded to f16 or bf16, sums of integers as s32.  `target` is the
        address of its first element, `pitch` the elements from one row to the next.  Rows begin at
        multiples of 16 bytes, the last one less than 4 GiB behind the first.  Multiplies may change
        D again behind a barrier of the CTA.

        Raises: InputError for another type; by TMA for several threads, or a tile that the map's
        boxes do not make up.
        """
        if isinstance(d, SharedTile):
            if not isinstance(pitch, Sequence):
                raise refuse(
                    "a copy by TMA begins at coordinates",
                    got=described(pitch),
                    expected="as many as the array has dimensions, innermost first: (0, row)",
                )
            store_boxes(cast("KernelBuilder", self), d, target, pitch)
            return
        if isinstance(pitch, Sequence):
            raise refuse("a pitch is a number of elements", got=repr(pitch), expected="a number")
        check_stored(d.dtype, dtype)
        d.store(target, pitch, dtype)
