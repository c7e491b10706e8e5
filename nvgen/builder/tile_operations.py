"""Operations on tiles: multiplies into every kind of D, rings, tensor memory, scale factors.

Layer: nvgen.builder.  D in tensor memory is tcgen05.mma's (`tensor_memory`), D in registers of a
warpgroup wgmma.mma_async's, D in those of warps mma.sync's (`warpgroup_tile`, `warp_tile`), D of
`accumulator` the target's (`portable`).  Each carries its operations: `d.multiply(a, b)`; the verbs
here are the primitive's names.
"""

from __future__ import annotations

from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import ElementType
from intrinsics.modifiers import AtomicOp, CollectorA, CollectorWs, CtaGroup
from intrinsics.targets import Feature
from nvgen.calling.refusals import refuse
from nvgen.fragments.fragment import Fragment
from nvgen.fragments.layouts import RegisterTile
from nvgen.instructions import mma_rows
from nvgen.multiplies import byte_operands, tensor_gemm
from nvgen.multiplies.accumulators import (
    AccumulatorTile,
    LaneMask,
    Multiply,
    TensorOptions,
    check_tiles,
)
from nvgen.multiplies.portable import PortableAccumulator, accumulator
from nvgen.multiplies.tensor_accumulator import TensorTile
from nvgen.multiplies.tensor_memory import pointer_at, tensor_memory
from nvgen.multiplies.tensor_tiles import (
    LeftTile,
    OperandTile,
    ScaleTile,
    copy_metadata,
    copy_scales,
)
from nvgen.multiplies.warp_tile import warp_tile
from nvgen.multiplies.warpgroup_columns import WarpgroupColumns, WarpgroupMemory
from nvgen.multiplies.warpgroup_tile import WarpgroupTile, warpgroup_operand, warpgroup_tile
from nvgen.shared_memory.copies import Coordinates, TileCopies, copies
from nvgen.shared_memory.rings import TileRing
from nvgen.shared_memory.tiles import SharedScales, SharedTile, Tiles
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector


class TileOperations(TileCopies):
    """Operations on tiles."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._accumulators: list[PortableAccumulator] = []
        self._columns: WarpgroupMemory | None = None

    # ---- multiplies --------------------------------------------------------------------------

    def gemm_async(
        self,
        d: AccumulatorTile,
        a: LeftTile | RegisterTile | Fragment,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        step: IntLike | None = None,
        cta_group: CtaGroup = CtaGroup.ONE,
        metadata: Pointer | Vector | None = None,
        sfa: ScaleTile | None = None,
        sfb: ScaleTile | None = None,
        stationary: bool = False,
        collector: CollectorWs = CollectorWs.B0_DISCARD,
        zero_mask: ZeroColumnMask | None = None,
        max_shift: int | None = None,
        collector_a: CollectorA = CollectorA.DISCARD,
        reuse_a: bool = False,
        ashift: bool = False,
        negate_a: bool = False,
        negate_b: bool = False,
        scale_d: int | None = None,
        lane_mask: LaneMask | None = None,
        k96: bool = False,
    ) -> None:
        """Start D = A·Bᵀ (+ D with `accumulate`), asynchronously; a commit and a wait follow.

        `a` is M × K, `b` is N × K in shared memory, `d` is M × N. The kernel may compute
        `accumulate`, a condition.  Without `step` all of K is multiplied; with it only that step,
        in units of the instruction's K, which the kernel may compute.

        Who executes it, where `a` may be and what follows depends on where D is: see
        `PortableAccumulator`, `WarpgroupTile`, `WarpTile` and `TensorTile`.  The other options are
        those of tensor memory, which `TensorOptions` describes.

        Raises: InputError when a requirement is not met.
        """
        check_tiles(d, a, b)
        options = TensorOptions(
            cta_group, metadata, sfa, sfb, stationary, collector, zero_mask, max_shift,
            collector_a, reuse_a, ashift, negate_a, negate_b, scale_d, lane_mask, k96,
        )  # fmt: skip
        d.start(Multiply(self, d, a, b, accumulate, step, options))

    def gemm(
        self,
        d: WarpgroupTile | WarpgroupColumns | PortableAccumulator,
        a: SharedTile | RegisterTile | Fragment,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        metadata: Vector | None = None,
        in_flight: int = 0,
        wait: bool = True,
    ) -> None:
        """D = A·Bᵀ (+ D with `accumulate`): the multiplies, their commit, and the wait for them.

        For a warpgroup's registers: fence, multiplies, commit, wait.  With `in_flight` that many of
        the latest groups, this one among them, may still run afterwards; D, the registers of A, and
        shared memory that they read, are then still in use.  `metadata` are those of a sparse A.

        Without `wait` the multiplies run beside what follows, up to `d.wait()`.

        Raises: InputError when a requirement of `gemm_async` is not met.
        """
        if isinstance(d, WarpgroupTile):
            self.wgmma_fence()
        elif not isinstance(d, WarpgroupColumns | PortableAccumulator):
            raise refuse(
                "the whole protocol of such a D is the caller's",
                got=type(d).__name__,
                expected="accumulator(…) or warpgroup_tile(…)",
                hint="gemm_async, then tcgen05_commit on an mbarrier, and a wait for it",
            )
        self.gemm_async(d, a, b, accumulate=accumulate, metadata=metadata)
        d.commit()
        if wait:
            d.wait(in_flight)

    transpose_bytes = byte_operands.transpose_bytes

    # ---- D -----------------------------------------------------------------------------------

    warp_tile = warp_tile

    def warpgroup_tile(
        self, m: int, n: int, dtype: ElementType = ElementType.F32
    ) -> WarpgroupTile | WarpgroupColumns:
        """A zeroed D of a warpgroup: `m` rows by `n` columns of `dtype`.

        It lies in the registers of the warpgroup that makes it (sm_90a), m a multiple of 64; or in
        tensor memory (sm_100a and its like), m 64 or 128: then all threads of the CTA make it, and
        each whole warpgroup of the CTA has one.  What is done with it is the same.

        Raises: InputError when there is no such D.
        """
        if self.target is None or Feature.HAS_TMEM not in self.target.features:
            return warpgroup_tile(self, m, n, dtype)
        if self._columns is None:
            self._columns = WarpgroupMemory(self)
        return self._columns.tile(m, n, dtype)

    warpgroup_operand = staticmethod(warpgroup_operand)
    warpgroup_operand_of = byte_operands.warpgroup_operand_of
    warpgroup_fragment = byte_operands.warpgroup_fragment

    def accumulator(
        self, m: int, n: int, dtype: ElementType = ElementType.F32
    ) -> PortableAccumulator:
        """D of the whole CTA, in the memory that the target's multiplies use; made before loops and
        branches.

        That is tensor memory (freed by `finish`), or the registers of all warpgroups, or of all
        warps; `dtype` is f32, or i32 for products of integers.

        Raises: InputError when the target has no such accumulator, or none is known.
        """
        made = accumulator(self, len(self._accumulators), m, n, dtype)
        self._accumulators.append(made)
        return made

    def free_accumulators(self) -> None:
        """Free what accumulators have allocated, as `finish` does; all threads execute it."""
        while self._accumulators:
            self._accumulators.pop().free()
        if self._columns is not None:
            self._columns.free()
            self._columns = None

    def store_tile(
        self,
        tile: SharedTile,
        target: Pointer,
        coordinates: Coordinates,
        *,
        op: AtomicOp | None = None,
    ) -> None:
        """Store a tile in shared memory by TMA; one thread executes it.

        `target` is a tensor map, as `tile_map` declares it; the coordinates are those of the tile's
        first element, innermost first.  Threads that wrote the tile execute `fence_proxy_async` and
        a barrier before.  The store is a bulk group of its own, for which
        `cp_async_bulk_wait_group` waits.  Elements beyond the array are not stored.  With `op`
        (`AtomicOp.ADD`, …) it is combined with what the array holds, each element atomically, as
        where CTAs share the sums of a tile.

        Raises: InputError for several threads, or a tile that is not made of whole boxes of the
        map.
        """
        copies(self, tile, target, coordinates).store(op)

    def tile_ring(
        self,
        name: str,
        *tiles: Tiles[SharedTile] | Tiles[SharedScales],
        consumers: int = 1,
        warps: int = 1,
        notes: bool = False,
        writers: int = 0,
        cta_group: CtaGroup = CtaGroup.ONE,
    ) -> TileRing:
        """A ring of buffers, each with one of each of the `tiles`: see `TileRing`.

        Raises: InputError where the `tiles` are not equally many.
        """
        return TileRing(
            self, name, tiles, consumers, warps, notes=notes, writers=writers, cta_group=cta_group
        )

    wgmma_accumulator, wgmma_descriptor = mma_rows.wgmma_accumulator, mma_rows.wgmma_descriptor

    # ---- tensor memory -----------------------------------------------------------------------

    tensor_memory, tensor_pointer = tensor_memory, pointer_at

    def tensor_tile(
        self, taddr: Int, m: int, n: int, dtype: ElementType = ElementType.F32
    ) -> TensorTile:
        """The accumulator tile that begins at a tensor memory address."""
        return TensorTile(self.tensor_pointer(taddr), m, n, dtype)

    def tensor_operand(self, taddr: Int, m: int, k: int, dtype: ElementType) -> OperandTile:
        """The A of a multiply, at a tensor memory address; `as_tile` stores a fragment there."""
        return OperandTile(self.tensor_pointer(taddr), m, k, dtype)

    descriptor, copy_scales, copy_metadata = tensor_gemm.descriptor, copy_scales, copy_metadata
