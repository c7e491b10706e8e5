"""Protocols of mbarriers and clusters that are several instructions.

Layer: nvgen.shared_memory.  Initialisation and invalidation of mbarriers, expected bytes of copies,
barriers of clusters, the peer of a CTA pair.  PTX ISA, mbarrier; barrier.cluster;
membar / fence: fence.mbarrier_init.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from llvmlite import ir

from intrinsics.limits import MOST_CLUSTER, MOST_TX
from intrinsics.modifiers import ClusterDimension, ScalarType, Scope, Space
from intrinsics.targets import Feature
from nvgen.calling.refusals import described, refuse, whole
from nvgen.instructions.roles import ExecutionScope, check_scope
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import SharedScales, SharedTile, Tiles
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Barrier, Barriers, Pointer, pointer_of

Counted: TypeAlias = tuple[Barrier | Barriers, int]
"""One or several mbarriers, and how many arrivals a phase of each expects."""

Copied: TypeAlias = SharedTile | SharedScales | Tiles[SharedTile] | Tiles[SharedScales] | Pointer
"""What copies fill: a tile, one tile of a ring, or, for a tensor map, one box of it."""

There = TypeVar("There", Barrier, Pointer)
"""What lies at one place of the shared memory of each CTA."""

_ODD_CTA = 1 << 24


class Protocols(SharedMemory):
    """Operations on mbarriers and clusters that are several instructions.

    Where the target is not known, it is one with clusters: sm_90 or later.
    """

    _loops = 0  # over blocks

    # ---- mbarriers ---------------------------------------------------------------------------

    def make_mbarriers(self, *counted: Counted, scope: Scope | None = None) -> None:
        """Initialise mbarriers; all threads of the CTA execute it, and may use them afterwards.

        One thread initialises them and, from sm_90 on, makes that visible to the cluster and the
        async proxy; then a barrier follows, of the whole cluster if `scope` is CLUSTER (the default
        in a kernel with clusters).  An mbarrier may come with its arrival count: `(barrier, 128)`.

        Raises: InputError where not all threads execute it, or for no possible number of arrivals.
        """
        self.whole_cta("make_mbarriers")
        with self.if_thread(0):
            for barrier, count in map(_counted, counted):
                for one in _each(barrier):
                    self.mbarrier_init(one, count)
            if not self._is_wide(scope):
                self._announce()
        self.cluster_sync(scope=scope, memory=False)

    def invalidate_mbarriers(
        self, *barriers: Barrier | Barriers, scope: Scope | None = None
    ) -> None:
        """Invalidate mbarriers, whose memory may then be used otherwise; all threads of the CTA
        execute it.

        It begins with a barrier, of the cluster if `scope` is CLUSTER. No thread may use the
        mbarriers any more, and no copy to them may be in flight.

        Raises: InputError where not all threads execute it.
        """
        self.whole_cta("invalidate_mbarriers")
        self.cluster_sync(scope=scope)
        with self.if_thread(0):
            for barrier in barriers:
                for one in _each(barrier):
                    self.mbarrier_inval(one)
            self._announce()
        self.cluster_sync(scope=Scope.CTA)

    @contextmanager
    def blocks(self) -> Iterator[tuple[Int, Int, Int]]:
        """A loop over blocks of the grid, by their x, y and z: the CTA's own, then those of CTAs
        that have not started, whose work it takes over (clusterlaunchcontrol, from sm_100 on).

        The next one is asked for when an iteration begins, and comes while it runs.  All threads of
        the CTA execute it, and meet at the end of each.

        Raises: InputError where not all threads execute it, and in a kernel with clusters.
        """
        if self.cluster > 1:
            raise refuse("a CTA takes over blocks, not clusters", got=f"clusters of {self.cluster}")
        self._loops += 1
        response = self.shared_array(f"blocks.{self._loops}", ScalarType.U32, 4)
        told = self.mbarrier(f"blocks.told.{self._loops}")
        self.make_mbarriers((told, 1))
        block = [self.variable(n) for n in (self.ctaid_x, self.ctaid_y, self.ctaid_z)]
        goes, parity = self.variable(1), self.variable(0)
        with self.while_(lambda: goes.value != 0):
            with self.if_thread(0):
                self.mbarrier_arrive_expect_tx(told, 16)
                self.clusterlaunchcontrol_try_cancel_async(response, told)
            yield block[0].value, block[1].value, block[2].value
            self.wait(told, parity.value)
            answer = self.load(response, ScalarType.U32, 4, align=16)
            taken = self.clusterlaunchcontrol_query_cancel_is_canceled(answer)
            goes.set(taken.zext(32))
            parity.set(parity.value ^ 1)
            with self.if_(taken):
                first = self.clusterlaunchcontrol_query_cancel_get_first_ctaid_dimension
                for one, dimension in zip(block, ClusterDimension, strict=True):
                    one.set(first(answer, dimension=dimension))
            self.fence_proxy_async(Space.SHARED_CTA)  # all have read it before it is written again
            self.barrier_cta_sync_aligned()

    def transaction_bytes(self, *copied: Copied, ctas: int = 1) -> int:
        """The bytes that copies complete on one mbarrier: of whole tiles, and of boxes of tensor
        maps.

        A tile counts once, in however many parts it is copied; a ring counts as one tile.  A
        multicast counts its whole box at each CTA. `ctas` is how many CTAs each copy that much.

        Raises: InputError for anything else, and for more than a phase can expect.
        """
        found = ctas * sum(self._bytes_of(one) for one in copied)
        if not 0 < found <= MOST_TX:
            got, expected = f"{found} bytes", f"1 to {MOST_TX}"
            raise refuse("no number of bytes that a phase expects", got=got, expected=expected)
        return found

    def arrive_expecting(self, barrier: Barrier, *copied: Copied, ctas: int = 1) -> Int:
        """Arrive, and expect the bytes of copies (see `transaction_bytes`).  Returns the phase's
        token.

        One thread executes it once per phase, before the copies or after them.
        """
        return self.mbarrier_arrive_expect_tx(barrier, self.transaction_bytes(*copied, ctas=ctas))

    def _bytes_of(self, copied: Copied) -> int:
        match copied:
            case SharedTile() | SharedScales() | Tiles():
                return copied.nbytes
            case Pointer() if (known := self._maps.get(copied.value.name)) and known.box_bytes:
                return known.box_bytes
        expected = "a tile in shared memory, or a tensor map of this kernel"
        hint = "what a copy brings into an array is a box: its tensor map"
        raise refuse(
            "nothing that a copy fills", got=described(copied), expected=expected, hint=hint
        )

    # ---- clusters ----------------------------------------------------------------------------

    def cluster_sync(
        self, *, scope: Scope | None = None, memory: bool = True, aligned: bool = True
    ) -> None:
        """A barrier of all threads of the cluster, or of the CTA.

        It is `barrier.cluster` if the target has clusters, the kernel's have more than one CTA, and
        `scope` is CLUSTER (the default); else it is barrier 0 of the CTA. Without `memory` the
        cluster's barrier is relaxed: it orders only the initialisation of mbarriers.  Inside of
        roles `barrier_cluster_sync` is the same, which every role then executes.

        Raises: InputError for another scope than CTA or CLUSTER, or where not all threads execute
        it.
        """
        self.whole_cta("cluster_sync")
        if not self._is_wide(scope):
            (self.barrier_cta_sync_aligned if aligned else self.barrier_cta_sync)()
            return
        if not memory:
            self.fence_mbarrier_init_release_cluster()
        self.barrier_cluster_arrive(relaxed=not memory, aligned=aligned)
        self.barrier_cluster_wait(aligned=aligned)

    def barrier_cluster_sync(self) -> None:
        """Arrive at the cluster's barrier and wait there; whole warps only."""
        self.barrier_cluster_arrive()
        self.barrier_cluster_wait()

    def of_even_cta(self, barrier: Barrier) -> Barrier:
        """The mbarrier of the even CTA of this CTA's pair, at the offset of `barrier`.

        The CTA's rank is at bit 24 of a shared::cluster address; a TMA copy with cta_group 2 may
        arrive there.

        Raises: InputError for what is not an mbarrier.
        """
        builder, pointer = self.at_caller(), pointer_of(barrier).value
        address = Int(self, builder.ptrtoint(pointer, ir.IntType(32))) & ~_ODD_CTA
        even = self.at_caller().inttoptr(address.value, pointer.type)
        return Barrier(barrier.name, Pointer(self, even))

    def of_cta(self, there: There, rank: IntLike) -> There:
        """An mbarrier, or an address in shared memory, at the same offset in CTA `rank` of the
        cluster.

        That CTA has started after a cluster barrier (`cluster_sync`, or `make_mbarriers`); another
        one at the end keeps it from exiting before others have finished their accesses.

        Raises: InputError for a rank that is known and that no CTA of the cluster has; a kernel
        made without `cluster` may be launched with as many as there can be.
        """
        most = self.cluster if self.cluster > 1 else MOST_CLUSTER
        if not isinstance(rank, Int) and whole(rank, "rank of a CTA", 0) >= most:
            raise refuse(
                "the cluster has no such CTA",
                got=f"rank {rank}",
                expected=f"0 to {most - 1}: {'it has' if most == self.cluster else 'at most'} "
                f"{most} CTAs",
            )
        if isinstance(there, Pointer):
            return self.mapa_shared_cluster(there, rank)
        moved = self.mapa_shared_cluster(pointer_of(there), rank)
        return Barrier(there.name, moved)

    def peer_rank(self) -> Int:
        """The rank of the other CTA of this CTA's pair; the two differ in the lowest bit.

        Raises: InputError where the cluster has no CTA pairs.
        """
        if self.cluster % 2:
            got = f"clusters of {self.cluster}"
            expected = "KernelBuilder(…, cluster=2), or another even number"
            raise refuse("a CTA has a peer in a cluster of pairs", got=got, expected=expected)
        return self.sreg("cluster.ctarank") ^ 1

    def of_peer(self, there: There) -> There:
        """An mbarrier, or an address in shared memory, at the same offset in the other CTA of the
        pair.

        Raises: InputError where the cluster has no CTA pairs.
        """
        return self.of_cta(there, self.peer_rank())

    def _is_wide(self, scope: Scope | None) -> bool:
        """Whether the threads to synchronise are those of several CTAs."""
        if scope not in (None, Scope.CTA, Scope.CLUSTER):
            raise refuse("no scope of threads that meet", got=scope.value, expected="CTA, CLUSTER")
        return scope is not Scope.CTA and self.cluster > 1 and self._has_clusters()

    # ---- threads and targets -----------------------------------------------------------------

    def whole_cta(self, operation: str) -> None:
        """Whether all threads of the CTA execute what is built."""
        check_scope(self, f"{operation} is for all threads of the CTA", ExecutionScope.CTA)

    def _has_clusters(self) -> bool:
        return self.target is None or Feature.HAS_CLUSTERS in self.target.features

    def _announce(self) -> None:
        """Make the thread's mbarrier initialisations visible, where the target has such a fence."""
        if self._has_clusters():
            self.fence_mbarrier_init_release_cluster()


def _counted(given: object) -> Counted:
    """An mbarrier with its arrival count."""
    match given:
        case (Barrier() | Barriers() as barrier, count):
            return barrier, whole(count, "number of arrivals")
    name = getattr(given, "name", "")
    got, expected = name or repr(given), f"({name or 'an mbarrier'}, 1), or another number"
    raise refuse(
        "mbarriers come with the arrivals that a phase of them expects", got=got, expected=expected
    )


def _each(barrier: Barrier | Barriers) -> Iterator[Barrier]:
    if isinstance(barrier, Barrier):
        yield barrier
    else:
        yield from (barrier[number] for number in range(barrier.count))
