"""Clusters: CTAs that are launched together, and shared memory addresses across them.

Layer: nvgen.sim.  A shared address has the rank of a CTA in its cluster in bits 24 and up, and an
offset in that CTA's shared memory below: so the code that ptxas makes for sm_90 and later computes
the addresses of a CTA's own variables too.  The shared memory of a CTA exists for others until all
of its threads have exited.  PTX ISA, Cluster of Cooperative Thread Arrays; Shared State Space;
mapa; tcgen05, CTA Pair.
"""

from __future__ import annotations

from intrinsics.modifiers import SHARED_OF_CTA, CtaGroup, Space
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import OFFSETS, RANK_SHIFT
from nvgen.sim.threads.machine import Cta


def cta_of_rank(cta: Cta, rank: int, agent: str) -> Cta:
    """The CTA of a rank in the cluster of `cta`.

    Raises: Fault when there is none.
    """
    ctas = cta.cluster.ctas
    if not 0 <= rank < len(ctas):
        raise fault(
            "cluster-rank",
            f"{agent}: the cluster has no CTA of this rank",
            got=f"rank {rank}",
            expected=f"0 to {len(ctas) - 1}",
            hint="an address of shared memory has the rank in bits 24 and up",
            section="mapa",
        )
    return ctas[rank]


def cta_at(cta: Cta, rank: int, agent: str) -> Cta:
    """The CTA of a rank in the cluster of `cta`, for an access to its shared memory.

    Raises: Fault when there is none, or all its threads have exited.
    """
    found = cta_of_rank(cta, rank, agent)
    check_runs(found, agent)
    return found


def check_runs(cta: Cta, agent: str) -> None:
    """Check that the shared memory of a CTA still exists.

    Raises: Fault when all its threads have exited.
    """
    if not cta.threads_alive:
        raise fault(
            "exited-cta",
            f"{agent} reaches shared memory of a CTA that has exited",
            got=f"CTA {cta.number}, rank {cta.rank} of its cluster",
            expected="a CTA with a thread that runs",
            hint="a CTA waits for what it has started before it exits (of a ring of buffers: "
            "producer.drain()); those of a cluster meet at barrier.cluster.arrive and .wait",
            section="Shared State Space",
        )


def owner_of(cta: Cta, address: int, space: Space | None, agent: str) -> tuple[Cta, int]:
    """The CTA whose shared memory an address names, and the offset in it.

    `address` is one of .shared (or of the shared window, where `space` is None).

    Raises: Fault when the cluster has no such CTA, it has exited, or the state space is that of the
    own CTA and the address another one's.
    """
    rank = address >> RANK_SHIFT
    if rank == cta.rank:
        return cta, address & OFFSETS
    if space in SHARED_OF_CTA:
        raise fault(
            "shared-cta",
            f"{agent}: the address is not one of the CTA's own shared memory",
            got=f"{address:#x}, rank {rank}",
            expected=f"an address of rank {cta.rank}",
            hint=".shared::cluster reaches the other CTAs of the cluster",
            section="Shared State Space",
        )
    return cta_at(cta, rank, agent), address & OFFSETS


def members(cta: Cta, mask: int, agent: str) -> list[Cta]:
    """The CTAs of a multicast's mask, by rank.

    None for an empty mask: an H100 then copies nothing, and signals nothing.

    Raises: Fault for one that the cluster does not have, or that has exited.
    """
    return [cta_at(cta, rank, agent) for rank in range(mask.bit_length()) if mask >> rank & 1]


def peer_of(cta: Cta, agent: str) -> Cta:
    """The other CTA of the pair.

    Raises: Fault when there is none.
    """
    if cta.peer is None:
        raise fault(
            "cta-pair",
            f"{agent}: .cta_group::2 works on a pair of CTAs, and this one has no peer",
            got=f"rank {cta.rank} of a cluster of {len(cta.cluster.ctas)}",
            expected="a cluster of an even number of CTAs",
            section="tcgen05, CTA Pair",
        )
    return cta.peer


def participants(cta: Cta, group: object, agent: str) -> tuple[Cta, ...]:
    """The CTAs that a tcgen05 operation works on: the own one, or the pair, the even one first.

    Raises: Fault when .cta_group::2 finds no peer, or one that has exited, and when a kernel uses
    both values of .cta_group.
    """
    machine = cta.machine
    chosen = CtaGroup.TWO if group is CtaGroup.TWO else CtaGroup.ONE
    if machine.cta_group is None:
        machine.cta_group = chosen
    elif machine.cta_group is not chosen:
        raise fault(
            "cta-group-mixed",
            f"{agent}: the tcgen05 instructions of a kernel have one .cta_group",
            got=f".{chosen.value}",
            expected=f".{machine.cta_group.value}, as in those before",
            section="tcgen05.alloc",
        )
    if chosen is CtaGroup.ONE:
        return (cta,)
    peer = peer_of(cta, agent)
    if not peer.threads_alive:
        raise fault(
            "exited-peer",
            f"{agent}: the peer CTA has exited",
            got=f"CTA {peer.number}, rank {peer.rank} of its cluster",
            expected="a peer that is active",
            hint="let the cluster meet at barrier.cluster.arrive and .wait before a CTA exits",
            section="tcgen05, Issue Granularity",
        )
    return (cta, peer) if cta.rank < peer.rank else (peer, cta)
