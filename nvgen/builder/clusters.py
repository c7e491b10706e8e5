"""The builder's verbs for clusters: barriers, addresses of other CTAs, fences, registers.

Layer: nvgen.builder.  PTX ISA, barrier.cluster, mapa, getctarank, membar / fence, setmaxnreg,
griddepcontrol.
"""

from __future__ import annotations

from intrinsics.modifiers import Aligned, GridControl, ScalarType, Scope, Sem, Space
from intrinsics.row import Fact
from intrinsics.rows.cluster import FenceRestrict
from nvgen.builder.intrinsics import IntrinsicCalls, of_mbarrier
from nvgen.builder.values import Barrier, Int, IntLike, Pointer, pointer_of

_CLUSTER = Space.SHARED_CLUSTER
_ODD_CTA = 1 << 24


class ClusterVerbs(IntrinsicCalls):
    """Calls of the intrinsics that are about the CTAs of a cluster."""

    def barrier_cluster_arrive(self, *, relaxed: bool = False, aligned: bool = True) -> None:
        """Arrive at the cluster's barrier; `relaxed` hands on nothing that was written before.

        Every thread of the cluster that has not exited arrives, and waits before it arrives again.
        """
        facts: dict[str, Fact] = {"aligned": _aligned(aligned)}
        if relaxed:
            facts["sem"] = Sem.RELAXED
        self._call("barrier.cluster.arrive", facts, {})

    def barrier_cluster_wait(self, *, aligned: bool = True) -> None:
        """Wait until every thread of the cluster has arrived at its barrier, or has exited."""
        self._call("barrier.cluster.wait", {"aligned": _aligned(aligned)}, {})

    def barrier_cluster_sync(self) -> None:
        """Arrive at the cluster's barrier and wait there; whole warps only."""
        self.barrier_cluster_arrive()
        self.barrier_cluster_wait()

    def mapa_shared_cluster(self, address: Pointer, rank: IntLike) -> Pointer:
        """What is at `address` in the shared memory of CTA `rank` of the cluster."""
        facts: dict[str, Fact] = {"space": _CLUSTER, "type": ScalarType.U64}
        value = self._call("mapa", facts, {"a": address, "b": rank})
        return Pointer(self, value)

    def of_even_cta(self, barrier: Barrier) -> Barrier:
        """The mbarrier of the even CTA of this CTA's pair, at the same place as `barrier`.

        The rank in the cluster is at bit 24 of an address of shared memory; a copy by TMA with
        cta_group 2 may arrive there.
        """
        builder, pointer = self.at_caller(), pointer_of(barrier).value
        address = Int(self, builder.ptrtoint(pointer, self.int_type(32))) & ~_ODD_CTA
        even = self.at_caller().inttoptr(address.value, pointer.type)
        return Barrier(barrier.name, Pointer(self, even))

    def of_cta(self, barrier: Barrier, rank: IntLike) -> Barrier:
        """The mbarrier of CTA `rank` of the cluster, at the same place as `barrier`."""
        return Barrier(barrier.name, self.mapa_shared_cluster(pointer_of(barrier), rank))

    def mbarrier_arrive_space_cluster(
        self, mbar: Barrier, count: IntLike = 1, *, relaxed: bool = False
    ) -> None:
        """Arrive at an mbarrier of any CTA of the cluster, at cluster scope; it gives no token."""
        self._call("mbarrier.arrive", remote(relaxed=relaxed), of_mbarrier(mbar, count=count))

    def getctarank_shared_cluster(self, address: Pointer) -> Int:
        """The rank of the CTA whose shared memory `address` is in."""
        facts: dict[str, Fact] = {"space": _CLUSTER, "type": ScalarType.U64}
        return Int(self, self._call("getctarank", facts, {"a": address}))

    def fence_acquire_sync_restrict(self) -> None:
        """What other CTAs have released of the cluster's shared memory is seen behind it."""
        self._call("fence.sync_restrict", _ACQUIRE, {})

    def fence_release_sync_restrict(self) -> None:
        """What this thread has done in its CTA's shared memory is handed on to the cluster."""
        self._call("fence.sync_restrict", _RELEASE, {})

    def fence_proxy_async_generic_acquire(self) -> None:
        """As `fence_acquire_sync_restrict`, between the async and the generic proxy."""
        self._call("fence.proxy.async::generic", _ACQUIRE, {})

    def fence_proxy_async_generic_release(self) -> None:
        """As `fence_release_sync_restrict`, between the async and the generic proxy."""
        self._call("fence.proxy.async::generic", _RELEASE, {})

    def fence_proxy_alias(self) -> None:
        """Order accesses by different virtual addresses of the same memory."""
        self._call("fence.proxy.alias", {}, {})

    def fence_proxy_tensormap_release(self, scope: Scope = Scope.GPU) -> None:
        """Hand on what was written to a tensor map."""
        facts: dict[str, Fact] = {"sem": Sem.RELEASE, "scope": scope}
        self._call("fence.proxy.tensormap.release", facts, {})

    def fence_proxy_tensormap_acquire(self, tmap: Pointer, scope: Scope = Scope.GPU) -> None:
        """See what others have written to the 128 bytes of a tensor map, before it is used."""
        facts: dict[str, Fact] = {"sem": Sem.ACQUIRE, "scope": scope}
        self._call("fence.proxy.tensormap.acquire", facts, {"a": tmap, "size": 128})

    def setmaxnreg_inc(self, count: int) -> None:
        """Wait for registers, until each thread of the warpgroup has `count`.

        All four warps execute it, and `count` is a multiple of 8 in 24..256.
        """
        self._call("setmaxnreg.inc", {}, {"count": count})

    def setmaxnreg_dec(self, count: int) -> None:
        """Give registers back: each thread of the warpgroup keeps `count`."""
        self._call("setmaxnreg.dec", {}, {"count": count})

    def griddepcontrol_wait(self) -> None:
        """Wait until the grids that this one depends on are through, and their memory is seen."""
        self._call("griddepcontrol", {"action": GridControl.WAIT}, {})

    def griddepcontrol_launch_dependents(self) -> None:
        """Let the grids that depend on this one start."""
        self._call("griddepcontrol", {"action": GridControl.LAUNCH_DEPENDENTS}, {})


_ACQUIRE: dict[str, Fact] = {"sem": Sem.ACQUIRE, "restrict": FenceRestrict.SHARED_CLUSTER}
_RELEASE: dict[str, Fact] = {"sem": Sem.RELEASE, "restrict": FenceRestrict.SHARED_CTA}


def _aligned(aligned: bool) -> Aligned | None:
    return Aligned.ALIGNED if aligned else None


def remote(*, relaxed: bool) -> dict[str, Fact]:
    """What an operation on an mbarrier of any CTA of the cluster says of its order and place."""
    sem = Sem.RELAXED if relaxed else Sem.RELEASE
    return {"sem": sem, "scope": Scope.CLUSTER, "space": _CLUSTER}
