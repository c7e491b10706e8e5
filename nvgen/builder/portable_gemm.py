"""Tile operations that are the same on every target: multiply, commit, wait, store.

Layer: nvgen.builder.  Input: a kernel built for a target.  `accumulator` gives what the target
multiplies into; `gemm_async` multiplies into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, cast

from intrinsics.element import ElementType
from nvgen.builder.gemm import TileOperations
from nvgen.builder.portable import Multiplier, PortableAccumulator, multiplier_of
from nvgen.builder.portable_requirements import AccumulatorRequest, check_accumulator
from nvgen.builder.portable_tensor import TensorAccumulator
from nvgen.builder.portable_warp import WarpAccumulator
from nvgen.builder.portable_warpgroup import WarpgroupAccumulator
from nvgen.builder.tile_stores import check_stored
from nvgen.builder.values import IntLike, Pointer

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

    def store_tile(
        self,
        d: PortableAccumulator,
        target: Pointer,
        pitch: IntLike,
        dtype: ElementType = ElementType.F32,
    ) -> None:
        """Store D row by row, as f32 or rounded to f16 or bf16; sums of integers as s32.

        `target` is the address of its first element, `pitch` the elements from one row to the next.
        Rows begin at multiples of 16 bytes, the last one less than 4 GiB behind the first.
        Multiplies may change D again behind a barrier of the CTA.

        Raises: InputError for another type.
        """
        check_stored(d.dtype, dtype)
        d.store(target, pitch, dtype)
