"""`gemm_async`: a matrix multiply of tiles, as the instructions that write where D lies.

Layer: nvgen.builder.  D in tensor memory is tcgen05.mma's (`gemm_tensor`), D in the registers of a
warpgroup wgmma.mma_async's (`gemm_warpgroup`), D in those of warps mma.sync's (`gemm_warp`), D of
`accumulator` the target's.  It commits nothing, that is the caller's.
"""

from __future__ import annotations

from typing import TypeAlias

from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup
from nvgen.builder.gemm_options import LaneMask, TensorOptions
from nvgen.builder.gemm_request import LeftTile
from nvgen.builder.gemm_tensor import TensorGemm
from nvgen.builder.gemm_tiles import check_tiles
from nvgen.builder.gemm_warp import WarpGemm
from nvgen.builder.gemm_warpgroup import WarpgroupGemm
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.portable import PortableAccumulator
from nvgen.builder.portable_requirements import PortableRequest, check_portable
from nvgen.builder.refusals import refuse
from nvgen.builder.register_operands import RegisterTile
from nvgen.builder.register_tiles import WarpgroupTile
from nvgen.builder.tensor_tiles import ScaleTile, TensorTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.warp_tiles import WarpTile

AccumulatorTile: TypeAlias = TensorTile | WarpgroupTile | WarpTile | PortableAccumulator
"""What D may be."""


class TileOperations(TensorGemm, WarpgroupGemm, WarpGemm):
    """Operations on tiles."""

    def gemm_async(
        self,
        d: AccumulatorTile,
        a: LeftTile | RegisterTile,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        step: IntLike | None = None,
        cta_group: CtaGroup = CtaGroup.ONE,
        metadata: Pointer | None = None,
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
        """Start D = A·Bᵀ (+ D with `accumulate`), asynchronously; the caller commits.

        `a` is M × K, `b` is N × K in shared memory, `d` is M × N.  `accumulate` may be a condition
        that the kernel computes.  Without `step` all steps of K are multiplied; with it only that
        one, whose number, counted in the instruction's K, the kernel may compute.

        With a `d` of `accumulator`, all threads of the CTA come here, `a` lies in shared memory,
        and none of the other options is given; `gemm_commit` and `gemm_wait` follow.

        With `d` in the registers of a warpgroup, all its threads come here; `a` lies in shared
        memory or in their registers, and none of the other options is given.  A `wgmma_fence` goes
        before the first multiply, and before one whose registers others have written; `gemm` is
        the whole protocol.

        With `d` in the registers of warps, all their threads come here; `a` lies in shared memory
        or in their registers, none of the other options is given, and the multiplies are complete.

        With `d` in tensor memory, `a` lies in shared or tensor memory, and one thread comes here;
        in warp scope one of the warp is elected.  The other options are those of `TensorOptions`,
        which says what each means, and how M and N beyond one instruction lie in D.

        Raises: InputError when a requirement is not met.
        """
        check_tiles(d, a, b)
        options = TensorOptions(
            cta_group, metadata, sfa, sfb, stationary, collector, zero_mask, max_shift,
            collector_a, reuse_a, ashift, negate_a, negate_b, scale_d, lane_mask, k96,
        )  # fmt: skip
        if isinstance(d, PortableAccumulator):
            assert isinstance(a, SharedTile)
            check_portable(PortableRequest(self, self.scope, d, a, b, options.given()))
            d.multiply(a, b, accumulate, step)
        elif isinstance(d, WarpgroupTile):
            assert isinstance(a, (SharedTile, RegisterTile))
            self.multiply_in_warpgroup(d, a, b, accumulate, step, options.given())
        elif isinstance(d, WarpTile):
            assert isinstance(a, (SharedTile, RegisterTile))
            self.multiply_in_warps(d, a, b, accumulate, step, options.given())
        else:
            assert not isinstance(a, RegisterTile)
            self.multiply_into_tensor(d, a, b, accumulate, step, options)

    def gemm(
        self,
        d: WarpgroupTile | PortableAccumulator,
        a: SharedTile | RegisterTile,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        in_flight: int = 0,
    ) -> None:
        """D = A·Bᵀ (+ D with `accumulate`): the multiplies, their commit, and the wait for them.

        In a warpgroup's registers that is the whole protocol: fence, multiplies, commit, wait.
        There `in_flight` groups of multiplies, this one among them, may still run behind it; D,
        the registers of A, and shared memory that they read, are then still in use.

        Raises: InputError when a requirement of `gemm_async` is not met.
        """
        if isinstance(d, PortableAccumulator):
            self.gemm_async(d, a, b, accumulate=accumulate)
            d.commit()
            d.wait()
            return
        if not isinstance(d, WarpgroupTile):
            raise refuse(
                "the whole protocol of such a D is the caller's",
                got=type(d).__name__,
                expected="accumulator(…) or warpgroup_tile(…)",
                hint="gemm_async, then tcgen05_commit on an mbarrier, and a wait for it",
            )
        self.wgmma_fence()
        self.gemm_async(d, a, b, accumulate=accumulate)
        self.wgmma_commit_group()
        self.wgmma_wait_group(in_flight)
