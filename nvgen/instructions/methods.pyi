"""The verbs of instructions; `make docs` writes this file."""

from collections.abc import Sequence
from typing import TypeVar

from intrinsics.modifiers import (
    AccPrecision,
    AtomicOp,
    CacheLevel,
    CachePriority,
    ClusterDimension,
    CollectorA,
    CollectorB,
    CollectorWs,
    CopyFormat,
    CopyMulticast,
    CopyShape,
    CtaGroup,
    FunnelMode,
    LdStNum,
    LdStShape,
    LoadMode,
    MapField,
    MembarLevel,
    MmaKind,
    Multicast,
    PermuteMode,
    PrefetchSize,
    ReduceOp,
    Rounding,
    ScalarType,
    ScaleVec,
    Scope,
    Sem,
    Shuffle,
    Space,
    SyncRestrict,
    Vec,
    Vote,
    WarpReduce,
)
from intrinsics.modifiers.matrix import (
    MatrixNum,
    MatrixShape,
)
from intrinsics.modifiers.mma_sync import (
    MmaLayout,
    MmaShape,
)
from intrinsics.modifiers.wgmma import (
    BitOperation,
    MatrixType,
)
from intrinsics.modifiers.wmma import (
    WmmaShape,
)
from nvgen.instructions.calls import (
    IntrinsicCalls,
)
from nvgen.instructions.mma_rows import (
    Accumulator,
    WarpScales,
)
from nvgen.values.numbers import (
    Float,
    FloatLike,
    Int,
    IntLike,
    WordLike,
)
from nvgen.values.pointers import (
    Barrier,
    Barriers,
    Pointer,
)
from nvgen.values.vectors import (
    Vector,
)

Shuffled = TypeVar("Shuffled", Int, Float)

class Verbs(IntrinsicCalls):
    """One method for each instruction."""

    def tcgen05_alloc(
        self,
        dst: Pointer,
        ncols: WordLike,
        *,
        cta_group: CtaGroup = CtaGroup.ONE,
        exclusive: bool = False,
    ) -> None:
        """Allocate columns of tensor memory; their address is written to shared `dst`.

        PTX ISA, tcgen05.alloc.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_dealloc(
        self,
        taddr: Pointer,
        ncols: WordLike,
        *,
        cta_group: CtaGroup = CtaGroup.ONE,
        exclusive: bool = False,
    ) -> None:
        """Free columns of tensor memory.

        PTX ISA, tcgen05.dealloc.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_relinq_alloc_permit(self, *, cta_group: CtaGroup = CtaGroup.ONE) -> None:
        """Give up this CTA's right to allocate tensor memory.

        PTX ISA, tcgen05.relinquish_alloc_permit.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or
        sm_110a/f, PTX 8.6.
        """

    def tcgen05_mma(
        self,
        d: Pointer,
        a: Int | Pointer,
        b: WordLike,
        idesc: WordLike,
        enable_d: WordLike,
        *,
        kind: MmaKind,
        cta_group: CtaGroup = CtaGroup.ONE,
        collector_a: CollectorA = CollectorA.DISCARD,
        collector_b: CollectorB | None = None,
        ashift: bool = False,
        mask: Vector | None = None,
        scale_d: int | None = None,
        scale_vec: ScaleVec | None = None,
        sfa: Pointer | None = None,
        sfb: Pointer | None = None,
        sp_meta: Pointer | None = None,
        lut: Pointer | None = None,
    ) -> None:
        """D = A·B (+ D): `a` a descriptor or a tensor memory address, `b` a descriptor.

        With `sfa` and `sfb` the matrices are block-scaled; `mask` disables lanes of D, `scale_d`
        divides it by a power of two.  With `sp_meta`, the place of its metadata, A is sparse; with
        `lut`, the place of the table that says what its numbers are, B is compressed.

        PTX ISA, tcgen05.mma.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_mma_ws(
        self,
        d: Pointer,
        a: Int | Pointer,
        b: WordLike,
        idesc: WordLike,
        enable_d: WordLike,
        *,
        kind: MmaKind,
        collector: CollectorWs = CollectorWs.B0_DISCARD,
        zero_mask: WordLike | None = None,
        sp_meta: Pointer | None = None,
    ) -> None:
        """D = A·B (+ D), weight-stationary: B may stay in one of four collectors.

        `zero_mask` describes the columns of B that are taken for zeros; `sp_meta` is the place of a
        sparse A's metadata.

        PTX ISA, tcgen05.mma.ws.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_commit(
        self,
        mbar: Barrier | Barriers,
        *,
        cta_group: CtaGroup = CtaGroup.ONE,
        cta_mask: WordLike | None = None,
        multicast: Multicast = Multicast.CLUSTER,
        restrict: SyncRestrict | None = None,
    ) -> None:
        """Arrive on `mbar` once this thread's earlier MMAs, copies and shifts are complete.

        `cta_mask` has a bit for each CTA of the cluster that is told, `multicast` its width;
        `restrict` waits for less.

        PTX ISA, tcgen05.commit.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_cp(
        self,
        taddr: Pointer,
        s_desc: WordLike,
        *,
        shape: CopyShape,
        multicast: CopyMulticast | None = None,
        source: CopyFormat | None = None,
        cta_group: CtaGroup = CtaGroup.ONE,
    ) -> None:
        """Copy a matrix from shared to tensor memory, complete when a commit says so.

        Elements of the format `source` become bytes; `s_desc` describes the matrix as that of an
        MMA.

        PTX ISA, tcgen05.cp.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_shift(self, taddr: Pointer, *, cta_group: CtaGroup = CtaGroup.ONE) -> None:
        """Move rows of 32 bytes down by one row, complete when a commit says so.

        PTX ISA, tcgen05.shift.  sm_100a, sm_101a, sm_103a, sm_107a or sm_110a, PTX 8.6.
        """

    def tcgen05_ld(
        self,
        taddr: Pointer,
        *,
        num: LdStNum,
        shape: LdStShape = LdStShape.S32X32B,
        pack: bool = False,
        half_split: int | None = None,
    ) -> Vector:
        """Load registers from tensor memory; they may be used after `tcgen05_wait_ld`.

        PTX ISA, tcgen05.ld.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_ld_red(
        self,
        taddr: Pointer,
        *,
        op: WarpReduce,
        type: ScalarType,
        num: LdStNum,
        shape: LdStShape = LdStShape.S32X32B,
        abs: bool = False,
        nan: bool = False,
        half_split: int | None = None,
    ) -> tuple[Vector, Int]:
        """Load registers from tensor memory, and the smallest or largest of them, as bits.

        `abs` compares floats without their signs, `nan` makes a NaN of them the result.

        PTX ISA, tcgen05.ld.  sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.8.
        """

    def tcgen05_ld_spcompress(
        self,
        taddr: Pointer,
        *,
        op: WarpReduce,
        num: LdStNum,
        abs: bool = False,
    ) -> tuple[Vector, Vector]:
        """Load floats from tensor memory, of each four the two smallest or largest.

        Gives 2 bits for the place of each one kept, 16 in a register, and their bits.

        PTX ISA, tcgen05.ld.  sm_107a, PTX 9.4.
        """

    def tcgen05_ld_red_spcompress(
        self,
        taddr: Pointer,
        *,
        op: WarpReduce,
        num: LdStNum,
        abs: bool = False,
        nan: bool = False,
    ) -> tuple[Vector, Vector, Int]:
        """`tcgen05_ld_spcompress`, and the smallest or largest of all, as bits.

        PTX ISA, tcgen05.ld.  sm_107a, PTX 9.4.
        """

    def tcgen05_st(
        self,
        taddr: Pointer,
        r: Vector,
        *,
        num: LdStNum,
        shape: LdStShape = LdStShape.S32X32B,
        unpack: bool = False,
        half_split: int | None = None,
    ) -> None:
        """Store registers to tensor memory; they are there after `tcgen05_wait_st`.

        PTX ISA, tcgen05.st.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_wait_ld(self) -> None:
        """Wait for this thread's tensor memory loads.

        PTX ISA, tcgen05.wait.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_wait_st(self) -> None:
        """Wait for this thread's tensor memory stores.

        PTX ISA, tcgen05.wait.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_fence_before_thread_sync(self) -> None:
        """Order earlier tcgen05 operations before a following synchronisation.

        PTX ISA, tcgen05.fence.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def tcgen05_fence_after_thread_sync(self) -> None:
        """Order later tcgen05 operations after a preceding synchronisation.

        PTX ISA, tcgen05.fence.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX 8.6.
        """

    def wgmma_mma_async(
        self,
        d: Accumulator,
        a: WordLike | Vector | Sequence[WordLike],
        b: WordLike,
        scale_d: WordLike = 1,
        *,
        atype: ScalarType | MatrixType,
        btype: ScalarType | MatrixType | None = None,
        scale_a: int = 1,
        scale_b: int = 1,
        trans_a: int = 0,
        trans_b: int = 0,
        satfinite: bool = False,
        sp_meta: WordLike | None = None,
        sp_sel: int = 0,
    ) -> None:
        """D = A·B + D, or with `scale_d` 0 D = A·B.

        A is a descriptor or four registers, B a descriptor; `btype` is A's type unless it is given.
        With metadata A is sparse, and K twice as much; which indices a thread gives, and where in
        its register, says `intrinsics.layouts.fragments_wgmma.metadata_fragment`.

        Raises: InputError for types, signs or transpositions that the instruction does not have.

        PTX ISA, wgmma.mma_async.  sm_90a, PTX 8.0.
        """

    def wgmma_fence(self) -> None:
        """Order accesses of registers and shared memory before the multiplies that follow.

        The first multiply needs it, and each one into registers that another instruction wrote.

        PTX ISA, wgmma.fence.  sm_90a, PTX 8.0.
        """

    def wgmma_commit_group(self) -> None:
        """Commit the multiplies since the last commit, as one group.

        PTX ISA, wgmma.commit_group.  sm_90a, PTX 8.0.
        """

    def wgmma_wait_group(self, n: int) -> None:
        """Wait until all but the `n` latest groups are complete.

        PTX ISA, wgmma.wait_group.  sm_90a, PTX 8.0.
        """

    def mma_sync(
        self,
        a: Vector | Sequence[WordLike],
        b: Vector | Sequence[WordLike],
        c: Vector | Sequence[WordLike],
        *,
        shape: MmaShape,
        atype: ScalarType | MatrixType,
        btype: ScalarType | MatrixType | None = None,
        dtype: ScalarType | None = None,
        ctype: ScalarType | None = None,
        alayout: MmaLayout = MmaLayout.ROW,
        blayout: MmaLayout = MmaLayout.COL,
        op: BitOperation | None = None,
        satfinite: bool = False,
        kind: MmaKind | None = None,
        scales: WarpScales | None = None,
    ) -> Vector:
        """A·B + C: the registers of D.

        All registers are integers of 32 bits that hold the bits of their elements, the first ones
        lowest; of f64 they have 64 bits.  `btype` is A's type unless it is given, `dtype` f32, of
        integers s32 and of f64 that, `ctype` D's type; `op` is how single bits are multiplied.
        Types of 4 and 6 bits need a `kind`, and block-scaled kinds `scales`.

        Raises: InputError for what the instruction does not have.

        PTX ISA, mma.
        """

    def mma_sp(
        self,
        a: Vector | Sequence[WordLike],
        b: Vector | Sequence[WordLike],
        c: Vector | Sequence[WordLike],
        metadata: WordLike,
        *,
        shape: MmaShape,
        atype: ScalarType | MatrixType,
        btype: ScalarType | MatrixType | None = None,
        dtype: ScalarType | None = None,
        selector: int = 0,
        ordered: bool = True,
        satfinite: bool = False,
        kind: MmaKind | None = None,
        scales: WarpScales | None = None,
    ) -> Vector:
        """A·B + C, where half of each row of A is zeros and is not stored: the registers of D.

        K is that of B; `metadata` are the indices of what is stored, in the threads that `selector`
        names: see `intrinsics.layouts.fragments_mma_sparse`.  With `ordered` they ascend, as all
        kinds want it.  C has D's type; the rest is as in `mma_sync`.

        Raises: InputError for what the instruction does not have.

        PTX ISA, mma.sp.  sm_80 and later, PTX 7.1.
        """

    def ldmatrix(
        self,
        line: Pointer,
        num: MatrixNum = MatrixNum.X4,
        *,
        shape: MatrixShape = MatrixShape.M8N8,
        trans: bool = False,
        source: CopyFormat | None = None,
    ) -> Vector:
        """Load matrices from shared memory; returns a thread's registers, those of each matrix.

        `line` is where 16 bytes lie: those of thread i are line i, of matrix `i // 8` (`i // 16`
        in m16n16).  A thread gets elements that follow one another in row `lane // 4` of each, or
        with `trans` in a column.  `source` is how elements of 6 or 4 bits lie in memory, of which
        each comes to a byte.

        Raises: InputError for what LLVM has no intrinsic for.

        PTX ISA, Warp-level matrix load instruction: ldmatrix.
        """

    def stmatrix(
        self,
        line: Pointer,
        values: Vector | Sequence[WordLike],
        *,
        shape: MatrixShape = MatrixShape.M8N8,
        trans: bool = False,
    ) -> None:
        """Store one, two or four matrices into shared memory, a register of a thread for each.

        Lines and elements are as in `ldmatrix`: with `trans` a thread's two elements lie in two
        lines.

        Raises: InputError for another number, and for what LLVM has no intrinsic for.

        PTX ISA, Warp-level matrix store instruction: stmatrix.  sm_90 and later, PTX 7.8.
        """

    def movmatrix(self, row: WordLike) -> Int:
        """Transpose a matrix of 8 by 8 elements of 16 bits, of which each thread has two.

        PTX ISA, Warp-level matrix transpose instruction: movmatrix.
        """

    def mbarrier_init(self, mbar: Barrier | Barriers, count: WordLike) -> None:
        """Initialise an mbarrier that expects `count` arrivals per phase.

        PTX ISA, mbarrier.init.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_inval(self, mbar: Barrier | Barriers) -> None:
        """Invalidate an mbarrier; its memory may be reused.

        PTX ISA, mbarrier.inval.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_arrive(
        self,
        mbar: Barrier | Barriers,
        count: WordLike = 1,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Arrive; returns the phase's token.

        PTX ISA, mbarrier.arrive.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_arrive_expect_tx(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Expect bytes in this phase, and arrive; returns the phase's token.

        PTX ISA, mbarrier.arrive.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_arrive_no_complete(self, mbar: Barrier | Barriers, count: WordLike) -> Int:
        """Arrive `count` times, which does not end the phase; returns the phase's token.

        PTX ISA, mbarrier.arrive.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_arrive_drop(
        self,
        mbar: Barrier | Barriers,
        count: WordLike = 1,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Arrive, and expect one arrival fewer in later phases; returns the phase's token.

        PTX ISA, mbarrier.arrive_drop.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_arrive_drop_no_complete(self, mbar: Barrier | Barriers, count: WordLike) -> Int:
        """As `mbarrier_arrive_drop`, where the arrivals do not end the phase.

        PTX ISA, mbarrier.arrive_drop.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_arrive_drop_expect_tx(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Expect bytes in this phase, then arrive and drop out; returns the phase's token.

        PTX ISA, mbarrier.arrive_drop.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_expect_tx(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
        *,
        scope: Scope = Scope.CTA,
    ) -> None:
        """Expect bytes in this phase.

        PTX ISA, mbarrier.expect_tx.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_complete_tx(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
        *,
        scope: Scope = Scope.CTA,
    ) -> None:
        """Complete bytes of this phase, as a copy would; nothing is copied.

        PTX ISA, mbarrier.complete_tx.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_test_wait(self, mbar: Barrier | Barriers, state: WordLike) -> Int:
        """Whether the phase of a token has completed.

        PTX ISA, mbarrier.test_wait.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_test_wait_parity(
        self,
        mbar: Barrier | Barriers,
        phase: WordLike,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Whether the phase of a parity has completed.

        PTX ISA, mbarrier.test_wait.  sm_80 and later, PTX 7.1.
        """

    def mbarrier_try_wait(
        self,
        mbar: Barrier | Barriers,
        state: WordLike,
        *,
        hint: WordLike | None = None,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Whether the phase of a token has completed, after waiting a while for it.

        `hint` is how long, in nanoseconds.

        PTX ISA, mbarrier.try_wait.  sm_90 and later, PTX 7.8.
        """

    def mbarrier_try_wait_parity(
        self,
        mbar: Barrier | Barriers,
        phase: WordLike,
        *,
        hint: WordLike | None = None,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Whether the phase of a parity has completed, after waiting a while for it.

        PTX ISA, mbarrier.try_wait.  sm_90 and later, PTX 7.8.
        """

    def mbarrier_pending_count(self, state: WordLike) -> Int:
        """How many arrivals were missing when a token was made.

        PTX ISA, mbarrier.pending_count.  sm_80 and later, PTX 7.0.
        """

    def mbarrier_arrive_space_cluster(
        self,
        mbar: Barrier | Barriers,
        count: WordLike = 1,
        *,
        relaxed: bool = False,
    ) -> None:
        """Arrive at an mbarrier of any CTA of the cluster, at cluster scope; it gives no token.

        PTX ISA, mbarrier.arrive.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_arrive_drop_space_cluster(
        self,
        mbar: Barrier | Barriers,
        count: WordLike = 1,
        *,
        relaxed: bool = False,
    ) -> None:
        """Arrive at an mbarrier of any CTA of the cluster, and drop out of it.

        PTX ISA, mbarrier.arrive_drop.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_arrive_expect_tx_space_cluster(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
        *,
        relaxed: bool = False,
    ) -> None:
        """Expect bytes at an mbarrier of any CTA of the cluster, and arrive at it.

        PTX ISA, mbarrier.arrive.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_arrive_drop_expect_tx_space_cluster(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
        *,
        relaxed: bool = False,
    ) -> None:
        """Expect bytes at an mbarrier of any CTA of the cluster, arrive and drop out of it.

        PTX ISA, mbarrier.arrive_drop.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_expect_tx_space_cluster(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
    ) -> None:
        """Expect bytes in this phase at an mbarrier of any CTA of the cluster.

        PTX ISA, mbarrier.expect_tx.  sm_90 and later, PTX 8.0.
        """

    def mbarrier_complete_tx_space_cluster(
        self,
        mbar: Barrier | Barriers,
        tx_count: WordLike,
    ) -> None:
        """Complete bytes at an mbarrier of any CTA of the cluster.

        PTX ISA, mbarrier.complete_tx.  sm_90 and later, PTX 8.0.
        """

    def fence_proxy_async(self, space: Space | None = None) -> None:
        """Order earlier generic accesses before later ones of the async proxy.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.0.
        """

    def fence_mbarrier_init_release_cluster(self) -> None:
        """Make mbarrier initialisation visible to the cluster and the async proxy.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.0.
        """

    def elect_sync(self, membermask: WordLike = -1) -> Int:
        """True in one thread of the warp.

        PTX ISA, elect.sync.  sm_90 and later, PTX 8.0.
        """

    def barrier_cta_sync_aligned(
        self,
        barrier: WordLike = 0,
        count: WordLike | None = None,
    ) -> None:
        """Wait for all threads of the CTA (or `count` of them); whole warps only.

        PTX ISA, barrier.
        """

    def barrier_cta_sync(self, barrier: WordLike = 0, count: WordLike | None = None) -> None:
        """Wait for all threads of the CTA (or `count` of them).

        PTX ISA, barrier.
        """

    def barrier_cta_arrive_aligned(self, barrier: WordLike, count: WordLike) -> None:
        """Arrive at a barrier of the CTA without waiting; whole warps only.

        PTX ISA, barrier.
        """

    def barrier_cta_arrive(self, barrier: WordLike, count: WordLike) -> None:
        """Arrive at a barrier of the CTA without waiting.

        PTX ISA, barrier.
        """

    def barrier_cta_red(
        self,
        op: ReduceOp,
        says: WordLike,
        barrier: WordLike = 0,
        count: WordLike | None = None,
        *,
        aligned: bool = False,
    ) -> Int:
        """Wait for the threads; returns whether all or any gave true, or how many (.popc).

        `aligned` is for whole warps.

        PTX ISA, barrier.
        """

    def bar_warp_sync(self, membermask: WordLike = -1) -> None:
        """Wait for the threads of the warp in `membermask`.

        PTX ISA, bar.warp.sync.
        """

    def barrier_cluster_arrive(self, *, relaxed: bool = False, aligned: bool = True) -> None:
        """Arrive at the cluster's barrier; with `relaxed` it orders no memory accesses.

        Every thread of the cluster that has not exited arrives, and waits before it arrives again.

        PTX ISA, barrier.cluster.  sm_90 and later, PTX 7.8.
        """

    def barrier_cluster_wait(self, *, aligned: bool = True) -> None:
        """Wait until every thread of the cluster has arrived at its barrier, or has exited.

        PTX ISA, barrier.cluster.  sm_90 and later, PTX 7.8.
        """

    def mapa_shared_cluster(self, address: Pointer, rank: WordLike) -> Pointer:
        """The shared::cluster address of `address` in CTA `rank` of the cluster.

        PTX ISA, mapa.  sm_90 and later, PTX 7.8.
        """

    def getctarank_shared_cluster(self, address: Pointer) -> Int:
        """The rank of the CTA whose shared memory `address` is in.

        PTX ISA, getctarank.  sm_90 and later, PTX 7.8.
        """

    def fence_acquire_sync_restrict(self) -> None:
        """Acquire what other CTAs have released of the cluster's shared memory.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.6.
        """

    def fence_release_sync_restrict(self) -> None:
        """Release this thread's accesses of its CTA's shared memory to the cluster.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.6.
        """

    def fence_proxy_async_generic_acquire(self) -> None:
        """As `fence_acquire_sync_restrict`, between the async and the generic proxy.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.6.
        """

    def fence_proxy_async_generic_release(self) -> None:
        """As `fence_release_sync_restrict`, between the async and the generic proxy.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.6.
        """

    def fence_proxy_alias(self) -> None:
        """Order accesses by different virtual addresses of the same memory.

        PTX ISA, membar / fence.
        """

    def fence_proxy_tensormap_release(self, scope: Scope = Scope.GPU) -> None:
        """Release what was written to a tensor map.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.3.
        """

    def fence_proxy_tensormap_acquire(self, tmap: Pointer, scope: Scope = Scope.GPU) -> None:
        """See what others have written to the 128 bytes of a tensor map, before it is used.

        PTX ISA, membar / fence.  sm_90 and later, PTX 8.3.
        """

    def setmaxnreg_inc(self, count: int) -> None:
        """Wait for registers, until each thread of the warpgroup has `count`.

        All four warps execute it, and `count` is a multiple of 8 in 24..256.

        PTX ISA, setmaxnreg.  sm_90a, sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f, sm_110a/f,
        sm_120a/f or sm_121a/f, PTX 8.0.
        """

    def setmaxnreg_dec(self, count: int) -> None:
        """Release registers: each thread of the warpgroup keeps `count`.

        PTX ISA, setmaxnreg.  sm_90a, sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f, sm_110a/f,
        sm_120a/f or sm_121a/f, PTX 8.0.
        """

    def griddepcontrol_wait(self) -> None:
        """Wait until the grids that this one depends on have completed, their memory visible.

        PTX ISA, griddepcontrol.  sm_90 and later, PTX 7.8.
        """

    def griddepcontrol_launch_dependents(self) -> None:
        """Allow the grids that depend on this one to start.

        PTX ISA, griddepcontrol.  sm_90 and later, PTX 7.8.
        """

    def cp_async_ca_shared_global(
        self,
        dst: Pointer,
        src: Pointer,
        size: int,
        *,
        src_size: WordLike | None = None,
        ignore_src: WordLike | None = None,
        cache_policy: WordLike | None = None,
        prefetch: PrefetchSize | None = None,
    ) -> None:
        """Copy `size` bytes (4, 8 or 16) for each thread, cached in L1 and L2.

        Of the source `src_size` bytes are read, or none where `ignore_src` holds; zeros follow.

        PTX ISA, cp.async.  sm_80 and later, PTX 7.0.
        """

    def cp_async_cg_shared_global(
        self,
        dst: Pointer,
        src: Pointer,
        *,
        src_size: WordLike | None = None,
        ignore_src: WordLike | None = None,
        cache_policy: WordLike | None = None,
        prefetch: PrefetchSize | None = None,
    ) -> None:
        """Copy 16 bytes for each thread, cached in L2 only; the rest as above.

        PTX ISA, cp.async.  sm_80 and later, PTX 7.0.
        """

    def cp_async_commit_group(self) -> None:
        """Commit this thread's copies since the last commit, as one group.

        PTX ISA, cp.async.commit_group.  sm_80 and later, PTX 7.0.
        """

    def cp_async_wait_group(self, n: int) -> None:
        """Wait until all but the `n` latest groups of this thread are complete.

        PTX ISA, cp.async.wait_group / cp.async.wait_all.  sm_80 and later, PTX 7.0.
        """

    def cp_async_wait_all(self) -> None:
        """Wait until all copies of this thread are complete.

        PTX ISA, cp.async.wait_group / cp.async.wait_all.  sm_80 and later, PTX 7.0.
        """

    def cp_async_mbarrier_arrive(self, mbar: Barrier | Barriers, *, noinc: bool = False) -> None:
        """Arrive at an mbarrier when all copies that this thread has issued are complete.

        With `noinc` the arrival is one of those that the phase expects, else one more.

        PTX ISA, cp.async.mbarrier.arrive.  sm_80 and later, PTX 7.0.
        """

    def cp_async_bulk_global_to_shared_cluster(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        src: Pointer,
        size: WordLike,
        *,
        cta_mask: WordLike | None = None,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Copy bytes to shared memory; they are completed on `mbar`, in the same CTA.

        With `cta_mask` they go to the same place of each of these CTAs, and are counted there.

        PTX ISA, cp.async.bulk.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_global_to_shared_cta(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        src: Pointer,
        size: WordLike,
        *,
        ignore_left: WordLike | None = None,
        ignore_right: WordLike | None = None,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Copy bytes to the CTA's own shared memory (PTX 8.6).

        The first `ignore_left` and the last `ignore_right` may lie outside of an allocation, and
        what comes in their place is not known (PTX 9.2).

        PTX ISA, cp.async.bulk.  sm_90 and later, PTX 8.6.
        """

    def cp_async_bulk_shared_cta_to_cluster(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        src: Pointer,
        size: WordLike,
    ) -> None:
        """Copy bytes of shared memory to another CTA's, completed on its `mbar`.

        `dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.

        PTX ISA, cp.async.bulk.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_shared_cta_to_global(
        self,
        dst: Pointer,
        src: Pointer,
        size: WordLike,
        *,
        cache_policy: WordLike | None = None,
        byte_mask: WordLike | None = None,
    ) -> None:
        """Store bytes of shared memory; of each 16 those that `byte_mask` names (sm_100).

        What threads wrote there needs `fence_proxy_async` before; the store is complete when a
        `cp_async_bulk_wait_group` of this thread covers the group that it was committed to.

        PTX ISA, cp.async.bulk.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_prefetch_l2(
        self,
        src: Pointer,
        size: WordLike,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Prefetch bytes of global memory into L2.

        PTX ISA, cp.async.bulk.prefetch.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_reduce_shared_cta_to_cluster(
        self,
        op: AtomicOp,
        type: ScalarType,
        dst: Pointer,
        mbar: Barrier | Barriers,
        src: Pointer,
        size: WordLike,
    ) -> None:
        """Reduce bytes of shared memory into another CTA's, completed on its `mbar`.

        `dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.

        PTX ISA, cp.reduce.async.bulk.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_reduce_shared_cta_to_global(
        self,
        op: AtomicOp,
        type: ScalarType,
        dst: Pointer,
        src: Pointer,
        size: WordLike,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Combine global memory with bytes of shared memory, as a part of a bulk group.

        PTX ISA, cp.reduce.async.bulk.  sm_90 and later, PTX 8.0.
        """

    def multimem_cp_async_bulk(
        self,
        dst: Pointer,
        src: Pointer,
        size: WordLike,
        *,
        byte_mask: WordLike | None = None,
    ) -> None:
        """Store bytes of shared memory in the memory of all GPUs that `dst` names.

        As `cp_async_bulk_shared_cta_to_global`; never run on several GPUs.

        PTX ISA, multimem.cp.async.bulk.  sm_90 and later, PTX 9.1.
        """

    def multimem_cp_reduce_async_bulk(
        self,
        op: AtomicOp,
        type: ScalarType,
        dst: Pointer,
        src: Pointer,
        size: WordLike,
    ) -> None:
        """Combine the memory of all GPUs that `dst` names with bytes of shared memory, as a part of
        a bulk group.

        PTX ISA, multimem.cp.reduce.async.bulk.  sm_90 and later, PTX 9.1.
        """

    def cp_async_bulk_commit_group(self) -> None:
        """Commit this thread's bulk stores since the last commit, as one group.

        PTX ISA, cp.async.bulk.commit_group.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_wait_group(self, n: int) -> None:
        """Wait until all but the `n` latest groups of this thread are complete.

        PTX ISA, cp.async.bulk.wait_group.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_wait_group_read(self, n: int) -> None:
        """Wait until all but the `n` latest groups of this thread have read shared memory.

        PTX ISA, cp.async.bulk.wait_group.  sm_90 and later, PTX 8.0.
        """

    def st_async_shared_cluster(
        self,
        type: ScalarType,
        address: Pointer,
        values: Vector | Sequence[WordLike],
        mbar: Barrier | Barriers,
    ) -> None:
        """Store one, two or four values (.b32, .b64) in a CTA of the cluster, whose `mbar` counts.

        Raises: InputError for another number of values.

        PTX ISA, st.async.  sm_90 and later, PTX 8.1.
        """

    def red_async_shared_cluster(
        self,
        op: AtomicOp,
        type: ScalarType,
        address: Pointer,
        value: WordLike,
        mbar: Barrier | Barriers,
    ) -> None:
        """Combine a value in the shared memory of another CTA, whose `mbar` counts it.

        PTX ISA, red.async.  sm_90 and later, PTX 8.1.
        """

    def cp_async_bulk_tensor_g2s_tile(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        tmap: Pointer,
        coords: Sequence[IntLike],
        *,
        cta_mask: WordLike | None = None,
        cache_policy: WordLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None:
        """Copy a tile to shared memory; `coords` are elements, innermost dimension first.

        The innermost one is a multiple of 16 bytes.

        PTX ISA, cp.async.bulk.tensor.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_tensor_g2s_cta_tile(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        tmap: Pointer,
        coords: Sequence[IntLike],
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Copy a tile to the CTA's own shared memory (PTX 8.6).

        PTX ISA, cp.async.bulk.tensor.  sm_90 and later, PTX 8.6.
        """

    def cp_async_bulk_tensor_g2s_im2col(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        tmap: Pointer,
        coords: Sequence[IntLike],
        offsets: Sequence[IntLike],
        *,
        mode: LoadMode = LoadMode.IM2COL,
        cta_mask: WordLike | None = None,
        cache_policy: WordLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None:
        """Copy pixels of images to shared memory, of this CTA or of those in `cta_mask`.

        `offsets` are those within a filter, W first, or the halo and the offset of a wide copy.

        PTX ISA, cp.async.bulk.tensor.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_tensor_g2s_cta_im2col(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        tmap: Pointer,
        coords: Sequence[IntLike],
        offsets: Sequence[IntLike],
        *,
        mode: LoadMode = LoadMode.IM2COL,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Copy pixels of images to the CTA's own shared memory (PTX 8.6).

        PTX ISA, cp.async.bulk.tensor.  sm_90 and later, PTX 8.6.
        """

    def cp_async_bulk_tensor_g2s_tile_gather4(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        *,
        cta_mask: WordLike | None = None,
        cache_policy: WordLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None:
        """Copy four rows, from `column` on, to shared memory; boxes of the map are one row.

        PTX ISA, cp.async.bulk.tensor.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX
        8.6.
        """

    def cp_async_bulk_tensor_g2s_cta_tile_gather4(
        self,
        dst: Pointer,
        mbar: Barrier | Barriers,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Copy four rows to the CTA's own shared memory (PTX 8.6).

        PTX ISA, cp.async.bulk.tensor.  sm_100 and later, PTX 8.6.
        """

    def cp_async_bulk_tensor_s2g_tile(
        self,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Store a tile from shared memory; `coords` are elements, innermost dimension first.

        What threads wrote there needs `fence_proxy_async` before; the store is complete when a
        `cp_async_bulk_wait_group` of this thread covers the group that it was committed to.

        PTX ISA, cp.async.bulk.tensor.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_tensor_s2g_im2col(
        self,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Store pixels of images from shared memory, from the pixel at `coords` on.

        PTX ISA, cp.async.bulk.tensor.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_tensor_s2g_tile_scatter4(
        self,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Store four rows, from `column` on; boxes of the map are one row.

        PTX ISA, cp.async.bulk.tensor.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f, PTX
        8.6.
        """

    def cp_async_bulk_tensor_reduce_tile(
        self,
        op: AtomicOp,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Combine a tile in shared memory with the tensor, in elements of the map's type.

        PTX ISA, cp.reduce.async.bulk.tensor.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_tensor_reduce_im2col(
        self,
        op: AtomicOp,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Combine pixels in shared memory with those of images, from the one at `coords` on.

        PTX ISA, cp.reduce.async.bulk.tensor.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_tensor_reduce_tile_scatter4(
        self,
        op: AtomicOp,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Combine four rows in shared memory with those of the tensor.

        PTX ISA, cp.reduce.async.bulk.tensor.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or
        sm_110a/f, PTX 8.6.
        """

    def cp_async_bulk_tensor_prefetch_tile(
        self,
        tmap: Pointer,
        coords: Sequence[IntLike],
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Prefetch a tile into L2.

        PTX ISA, cp.async.bulk.prefetch.tensor.  sm_90 and later, PTX 8.0.
        """

    def cp_async_bulk_tensor_prefetch_tile_gather4(
        self,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        *,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Prefetch four rows into L2.

        PTX ISA, cp.async.bulk.prefetch.tensor.  sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or
        sm_110a/f, PTX 8.6.
        """

    def cp_async_bulk_tensor_prefetch_im2col(
        self,
        tmap: Pointer,
        coords: Sequence[IntLike],
        offsets: Sequence[IntLike],
        *,
        mode: LoadMode = LoadMode.IM2COL,
        cache_policy: WordLike | None = None,
    ) -> None:
        """Prefetch pixels of images into L2.

        PTX ISA, cp.async.bulk.prefetch.tensor.  sm_90 and later, PTX 8.0.
        """

    def tensormap_replace(
        self,
        tmap: Pointer,
        field: MapField,
        new: IntLike | Pointer,
        *,
        dim: int | None = None,
    ) -> None:
        """Replace a field of the tensor map of 128 bytes at `tmap`, in tiled mode.

        global_address (a pointer, or its number) and global_stride (in bytes) have 64 bits, the
        others 32; rank is written as the rank less 1.  box_dim, global_dim, global_stride and
        element_stride are those of dimension `dim` in 0..4; elemtype, interleave_layout,
        swizzle_mode, fill_mode and swizzle_atomicity are codes, which are numbers.

        Raises: InputError where `dim` is missing or too much, or a code is no number.

        PTX ISA, tensormap.replace.  sm_90a, sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f, sm_110a/f,
        sm_120a/f or sm_121a/f, PTX 8.3.
        """

    def tensormap_cp_fenceproxy(self, dst: Pointer, src: Pointer, scope: Scope = Scope.GPU) -> None:
        """Copy the tensor map at `src` (shared memory) to `dst` (global memory), and hand it on.

        The threads of a whole warp execute it together.

        PTX ISA, tensormap.cp_fenceproxy.  sm_90 and later, PTX 8.3.
        """

    def prefetch_tensormap(self, tmap: Pointer) -> None:
        """Prefetch a tensor map that TMA copies will use; one thread is enough.

        PTX ISA, prefetch, prefetchu.  sm_90 and later, PTX 8.0.
        """

    def createpolicy_fractional(
        self,
        primary: CachePriority,
        fraction: FloatLike = 1.0,
        *,
        secondary: CachePriority | None = None,
    ) -> Int:
        """A policy by which L2 keeps a fraction of what is accessed so, the rest as `secondary`.

        Which part that is the hardware decides.  `secondary` is `FIRST` or `UNCHANGED`, which is
        what None means.

        Raises: InputError for a fraction outside 0 < fraction <= 1, or another `secondary`.

        PTX ISA, createpolicy.  sm_80 and later, PTX 7.4.
        """

    def createpolicy_range(
        self,
        primary: CachePriority,
        address: Pointer,
        primary_size: WordLike,
        total_size: WordLike,
        *,
        secondary: CachePriority | None = None,
    ) -> Int:
        """A policy for `total_size` bytes around `address`, the first `primary_size` as `primary`.

        What lies behind these, and as many bytes before `address` as behind, are `secondary`;
        elsewhere the policy says nothing.

        Raises: InputError for a `secondary` that is not None, `FIRST` or `UNCHANGED`.

        PTX ISA, createpolicy.  sm_80 and later, PTX 7.4.
        """

    def createpolicy_cvt_l2(self, access_property: WordLike) -> Int:
        """The policy of an access property of CUDA C++ (64 bits).

        PTX ISA, createpolicy.  sm_80 and later, PTX 7.4.
        """

    def shfl_sync(
        self,
        mode: Shuffle,
        value: Shuffled,
        lane: WordLike,
        bounds: WordLike | None = None,
        *,
        membermask: WordLike = -1,
    ) -> Shuffled:
        """The number of another lane, or the thread's own where that is out of `bounds`.

        `lane` is a distance (UP, DOWN), a mask for exclusive or with the thread's lane (BFLY),
        or a lane (IDX).  `bounds` is PTX's operand c: the clamp value, and from bit 8 on the
        mask of segments; by default the whole warp is one segment.

        64-bit values take two instructions, 8- and 16-bit ones one.

        Raises: InputError for what is no number of the kernel.

        PTX ISA, shfl.sync.
        """

    def shfl_sync_p(
        self,
        mode: Shuffle,
        value: Shuffled,
        lane: WordLike,
        bounds: WordLike | None = None,
        *,
        membermask: WordLike = -1,
    ) -> tuple[Shuffled, Int]:
        """As `shfl_sync`; also returns whether the source lane is within bounds.

        PTX ISA, shfl.sync.
        """

    def vote_sync(self, mode: Vote, says: WordLike, *, membermask: WordLike = -1) -> Int:
        """Vote of the warp: whether `says` holds in all lanes, in any, or is equal in all (UNI);
        of a ballot, one bit for each lane.

        PTX ISA, vote.sync.
        """

    def match_any_sync(self, value: WordLike, *, membermask: WordLike = -1) -> Int:
        """The mask of lanes with the same value, of 32 or 64 bits, as this one.

        PTX ISA, match.sync.
        """

    def match_all_sync(self, value: WordLike, *, membermask: WordLike = -1) -> tuple[Int, Int]:
        """The mask of members if all have one value, of 32 or 64 bits, else 0; and whether so.

        PTX ISA, match.sync.
        """

    def redux_sync(
        self,
        op: WarpReduce,
        type: ScalarType,
        value: Shuffled,
        *,
        abs: bool = False,
        nan: bool = False,
        membermask: WordLike = -1,
    ) -> Shuffled:
        """One value of all members: .s32 or .u32 numbers, .b32 bits, or an .f32 or its bits.

        LLVM has no sum of .u32: the bits are those of .s32.  `abs` and `nan` are for .f32, whose
        numbers then have no sign, or are NaN as soon as one is.

        Raises: InputError for a Float that is not reduced as .f32.

        PTX ISA, redux.sync.  sm_80 and later, PTX 7.0.
        """

    def activemask(self) -> Int:
        """The mask of lanes that execute this together, by no guaranteed choice.

        PTX ISA, activemask.
        """

    def nanosleep(self, nanoseconds: WordLike) -> None:
        """Sleep for up to twice as many nanoseconds, a million at most.

        PTX ISA, nanosleep.
        """

    def wmma_load_a(
        self,
        p: Pointer,
        *,
        stride: WordLike | None = None,
        layout: MmaLayout,
        shape: WmmaShape,
        type: ScalarType | MatrixType,
    ) -> Vector:
        """Load A of a warp's multiply.

        All threads of the warp execute it; `stride` is the elements between lines of `layout`.

        PTX ISA, Warp-level Matrix Load Instruction: wmma.load.
        """

    def wmma_load_b(
        self,
        p: Pointer,
        *,
        stride: WordLike | None = None,
        layout: MmaLayout,
        shape: WmmaShape,
        type: ScalarType | MatrixType,
    ) -> Vector:
        """Load B of a warp's multiply.

        All threads of the warp execute it; `stride` is the elements between lines of `layout`.

        PTX ISA, Warp-level Matrix Load Instruction: wmma.load.
        """

    def wmma_load_c(
        self,
        p: Pointer,
        *,
        stride: WordLike | None = None,
        layout: MmaLayout,
        shape: WmmaShape,
        type: ScalarType,
    ) -> Vector:
        """Load C of a warp's multiply.

        All threads of the warp execute it; `stride` is the elements between lines of `layout`.

        PTX ISA, Warp-level Matrix Load Instruction: wmma.load.
        """

    def wmma_store_d(
        self,
        p: Pointer,
        r: Vector | Sequence[WordLike],
        *,
        stride: WordLike | None = None,
        layout: MmaLayout,
        shape: WmmaShape,
        type: ScalarType,
    ) -> None:
        """Store D of a warp's multiply.

        All threads of the warp execute it; `stride` is the elements between lines of `layout`.

        PTX ISA, Warp-level Matrix Store Instruction: wmma.store.
        """

    def wmma_mma_f16(
        self,
        a: Vector | Sequence[WordLike],
        b: Vector | Sequence[WordLike],
        c: Vector | Sequence[WordLike],
        *,
        alayout: MmaLayout,
        blayout: MmaLayout,
        shape: WmmaShape,
        dtype: ScalarType,
        ctype: ScalarType,
    ) -> Vector:
        """D = A·B + C of f16 by a warp; returns the registers of D.

        PTX ISA, Warp-level Matrix Multiply-and-Accumulate Instruction: wmma.mma.
        """

    def wmma_mma_typed(
        self,
        a: Vector | Sequence[WordLike],
        b: Vector | Sequence[WordLike],
        c: Vector | Sequence[WordLike],
        *,
        alayout: MmaLayout,
        blayout: MmaLayout,
        shape: WmmaShape,
        rnd: Rounding | None = None,
        dtype: ScalarType,
        atype: ScalarType | MatrixType,
        btype: ScalarType | MatrixType,
        ctype: ScalarType,
        satfinite: bool = False,
    ) -> Vector:
        """D = A·B + C by a warp, of the types named; returns the registers of D.

        PTX ISA, Warp-level Matrix Multiply-and-Accumulate Instruction: wmma.mma.
        """

    def wmma_mma_b1(
        self,
        a: Vector | Sequence[WordLike],
        b: Vector | Sequence[WordLike],
        c: Vector | Sequence[WordLike],
        *,
        op: BitOperation,
    ) -> Vector:
        """D = C + popcount of `op` of single bits, by a warp; returns registers of D.

        PTX ISA, Warp-level Matrix Multiply-and-Accumulate Instruction: wmma.mma.
        """

    def st_bulk(self, a: Pointer, size: WordLike, initval: int) -> None:
        """Fill `size` bytes of shared memory, a multiple of 8, with `initval`, which is 0.

        PTX ISA, st.bulk.  sm_100 and later, PTX 8.6.
        """

    def membar(self, *, level: MembarLevel) -> None:
        """Order this thread's earlier memory accesses before later ones; `fence` is newer.

        PTX ISA, membar / fence.
        """

    def prefetch(self, a: Pointer, *, level: CacheLevel) -> None:
        """Prefetch the cache line of address `a` into the cache `level`.

        PTX ISA, prefetch, prefetchu.
        """

    def prefetchu(self, a: Pointer) -> None:
        """Prefetch the cache line of the generic address `a` into the uniform cache.

        PTX ISA, prefetch, prefetchu.
        """

    def isspacep(self, a: Pointer, *, space: Space) -> Int:
        """Whether the generic address `a` is one of the state space.

        PTX ISA, isspacep.
        """

    def discard(self, a: Pointer, size: int) -> None:
        """Drop `size` (128) bytes at `a` from L2, not written back: then undefined.

        PTX ISA, discard.  sm_80 and later, PTX 7.4.
        """

    def applypriority(self, a: Pointer, size: int) -> None:
        """Give the `size` (128) bytes at `a` in L2 the eviction priority evict_normal.

        PTX ISA, applypriority.  sm_80 and later, PTX 7.4.
        """

    def multimem_ld_reduce(
        self,
        a: Pointer,
        *,
        sem: Sem | None = None,
        scope: Scope | None = None,
        op: AtomicOp,
        acc: AccPrecision | None = None,
        vec: Vec | None = None,
        type: ScalarType,
    ) -> Int | Float | Vector:
        """Load from several GPUs and combine by `op`.

        `a` is a multimem address, which names the same place in the memory of several GPUs.

        PTX ISA, multimem.ld_reduce, multimem.st, multimem.red.  sm_90 and later, PTX 8.1.
        """

    def multimem_st(
        self,
        a: Pointer,
        b: WordLike | Vector | Sequence[WordLike],
        *,
        sem: Sem | None = None,
        scope: Scope | None = None,
        vec: Vec | None = None,
        type: ScalarType,
    ) -> None:
        """Store `b` to several GPUs.

        `a` is a multimem address, which names the same place in the memory of several GPUs.

        PTX ISA, multimem.ld_reduce, multimem.st, multimem.red.  sm_90 and later, PTX 8.1.
        """

    def multimem_red(
        self,
        a: Pointer,
        b: WordLike | Vector | Sequence[WordLike],
        *,
        sem: Sem | None = None,
        op: AtomicOp,
        vec: Vec | None = None,
        type: ScalarType,
    ) -> None:
        """Combine `b` with memory of several GPUs by `op`.

        `a` is a multimem address, which names the same place in the memory of several GPUs.

        PTX ISA, multimem.ld_reduce, multimem.st, multimem.red.  sm_90 and later, PTX 8.1.
        """

    def mul_hi(self, a: WordLike, b: WordLike, *, type: ScalarType) -> Int:
        """The upper half of the product of `a` and `b`.

        PTX ISA, mul.
        """

    def mul24_lo(self, a: WordLike, b: WordLike, *, type: ScalarType) -> Int:
        """The low 32 bits of the product of the low 24 bits of `a` and of `b`.

        PTX ISA, mul24.
        """

    def sad(self, a: WordLike, b: WordLike, c: WordLike, *, type: ScalarType) -> Int:
        """`c` plus the absolute difference of `a` and `b`.

        PTX ISA, sad.
        """

    def dp4a(
        self,
        a: WordLike,
        b: WordLike,
        c: WordLike,
        *,
        atype: ScalarType,
        btype: ScalarType,
    ) -> Int:
        """`c` plus the dot product of the four bytes of `a` and of `b`.

        PTX ISA, dp4a.
        """

    def prmt(
        self,
        a: WordLike,
        b: WordLike,
        c: WordLike,
        *,
        mode: PermuteMode | None = None,
    ) -> Int:
        """Four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), selected by 4 bits of `c` each.

        PTX ISA, prmt.
        """

    def bfind(self, a: WordLike, *, shiftamt: bool = False, type: ScalarType) -> Int:
        """The position of the highest bit that is not a sign, 0xffffffff if there is none.

        With `shiftamt` the left shift that brings it to the highest position.

        PTX ISA, bfind.
        """

    def fns(self, mask: WordLike, base: WordLike, offset: WordLike) -> Int:
        """The position of the `offset`-th set bit of `mask` from bit `base` on, or 0xffffffff.

        PTX ISA, fns.
        """

    def szext(self, a: WordLike, b: WordLike, *, mode: FunnelMode, type: ScalarType) -> Int:
        """The low `b` bits of `a`, sign- or zero-extended by `type`.

        `mode` says what `b` beyond the width means: CLAMP or WRAP.

        PTX ISA, szext.
        """

    def bmsk(self, a: WordLike, b: WordLike, *, mode: FunnelMode) -> Int:
        """A mask of `b` ones from bit `a` on.

        `mode` says what beyond the width means.

        PTX ISA, bmsk.
        """

    def pmevent_mask(self, a: int) -> None:
        """Trigger the performance monitor events whose bits of the 16 in `a` are set.

        PTX ISA, pmevent.
        """

    def clusterlaunchcontrol_try_cancel_async(
        self,
        a: Pointer,
        mbar: Barrier | Barriers,
        *,
        multicast: bool = False,
    ) -> None:
        """Ask to cancel a cluster that has not started, and take its work.

        The response, 16 bytes, is written to shared memory at `a` and completed on `mbar`; with
        `multicast`, in every CTA of the cluster.

        PTX ISA, clusterlaunchcontrol.try_cancel.  sm_100 and later, PTX 8.6.
        """

    def clusterlaunchcontrol_query_cancel_is_canceled(self, response: Vector) -> Int:
        """Whether the cluster asked for will not start: its work is this one's.

        `response` is what try_cancel has written: `b.load(there, u32, 4, align=16)`.

        PTX ISA, clusterlaunchcontrol.query_cancel.  sm_100 and later, PTX 8.6.
        """

    def clusterlaunchcontrol_query_cancel_get_first_ctaid_dimension(
        self,
        response: Vector,
        *,
        dimension: ClusterDimension,
    ) -> Int:
        """The index in the grid of the first CTA of a canceled cluster; undefined where none
        is canceled.

        PTX ISA, clusterlaunchcontrol.query_cancel.  sm_100 and later, PTX 8.6.
        """
