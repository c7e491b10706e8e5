"""`gemm_async`: a matrix multiply of tiles, as the instructions that write where D lies.

Layer: nvgen.builder.  D in tensor memory is tcgen05.mma's (`gemm_tensor`), D in the registers of a
warpgroup wgmma.mma_async's (`gemm_warpgroup`), D in those of warps mma.sync's (`gemm_warp`), D of
`accumulator` the target's.  It commits nothing, that is the caller's.
"""

from __future__ import annotations

from typing import TypeAlias

from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup
from intrinsics.tensor_address import ZeroColumnMask
from nvgen.builder.gemm_options import LaneMask, TensorOptions
from nvgen.builder.gemm_request import LeftTile
from nvgen.builder.gemm_tensor import TensorGemm
from nvgen.builder.gemm_tiles import check_tiles
from nvgen.builder.gemm_warp import WarpGemm
from nvgen.builder.gemm_warpgroup import WarpgroupGemm
from nvgen.builder.portable import PortableAccumulator
from nvgen.builder.portable_requirements import PortableRequest, check_portable
from nvgen.builder.register_tiles import RegisterTile, WarpgroupTile
from nvgen.builder.tensor_tiles import ScaleTile, TensorTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.values import Int, IntLike, Pointer, refuse
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

        With `d` in the registers of warps, all their threads come here; `a` lies in shared memory,
        none of the other options is given, and the multiplies are complete.

        With `d` in tensor memory, `a` lies in shared or tensor memory, and one thread comes here;
        in warp scope one of the warp is elected.

        With `cta_group` 2 a CTA of the pair holds half of A's rows, and of B's, and of D's where M
        is 256; a thread of the even CTA issues for both.

        M beyond 128 rows of a CTA goes in blocks of 128, which lie in D one behind the other, N
        columns each.  N beyond 256 goes in pieces of 256: of each piece the first half of the
        columns are rows of the even CTA's B, the other half rows of the odd CTA's.

        A is sparse when it is a `SparseTile`, or when `metadata` says which halves of its chunks
        the shared tile stores; its columns begin at an even one.

        `sfa` and `sfb` are scale factors: `sfa` for A's rows in this CTA, `sfb` for all N, which
        each CTA of a pair holds.  Of a sparse A a factor is for `size` elements with their zeros.

        `stationary` multiplies by tcgen05.mma.ws: `collector` keeps B or uses what it has kept,
        `zero_mask` says which columns of B count as zero, and by how many columns B is shifted;
        `max_shift` (0, 8, 16 or 32) is how many more columns than N a collector keeps, no fewer
        than the mask's shift.

        `reuse_a` keeps each piece of A in its collector while the pieces of N are multiplied by
        it; `collector_a` is for a call of one instruction.  `ashift` moves the rows of an A in
        tensor memory by one.  `negate_a` and `negate_b` turn signs.  D is divided by 2 to the
        power of `scale_d` before the first step adds to it.  `lane_mask` has a bit for each lane of
        D's blocks that is not written.  `k96` multiplies 96 elements of K at once (sm_103a).

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
            assert isinstance(a, SharedTile)
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
