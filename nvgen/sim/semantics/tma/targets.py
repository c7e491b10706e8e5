"""Destinations of a tile load: the CTAs, and the mbarriers that it completes on.

Layer: nvgen.sim.semantics.  PTX ISA, cp.async.bulk.tensor: .multicast::cluster, .cta_group.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CtaGroup, Multicast, ScalarType, Space
from nvgen.sim.faults import fault
from nvgen.sim.threads.clusters import members, owner_of, peer_of
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.machine import Cta, Warp

SECTION = "cp.async.bulk.tensor"


@dataclass(frozen=True, slots=True)
class Signal:
    """The mbarrier that a load completes on, in its destination CTA or that one's peer."""

    offset: int
    rank: int
    pair: bool  # .cta_group::2: of the one whose rank has the parity of `rank`

    def of(self, target: Cta) -> Cta:
        """The CTA of the mbarrier for a copy to `target`."""
        if not self.pair or (target.rank ^ self.rank) & 1 == 0:
            return target
        return peer_of(target, SECTION)


def signal_maker(c: Compiler, mi: MachineInstr, space: Space) -> Callable[[Warp, int, Cta], Signal]:
    """The mbarrier of a load, from its operand and its destination CTA.

    A copy to .shared::cta completes on no mbarrier of another CTA.
    """
    mbar = c.address(mi["mbar"])
    pair = mi.form.attributes["cta_group"] is CtaGroup.TWO

    def signal(warp: Warp, lane: int, target: Cta) -> Signal:
        owner, offset = owner_of(warp.cta, int(mbar(warp)[lane]), space, f"{SECTION} (mbarrier)")
        allowed = (target, target.peer) if pair else (target,)
        if owner not in allowed:
            raise fault(
                "tma-mbarrier",
                "the copy's mbarrier is not in the CTA that it goes to"
                + (", nor in its peer" if pair else ""),
                got=f"an mbarrier of CTA {owner.number}, a copy to CTA {target.number}",
                expected="an mbarrier of the same CTA" + (" pair" if pair else ""),
                hint="an H100 counts the bytes where they come, on what lies at the same offset"
                + ("" if pair else "; with .cta_group::2 it may be in the peer CTA"),
                section=SECTION,
            )
        return Signal(offset, owner.rank, pair)

    return signal


def targets_maker(c: Compiler, mi: MachineInstr) -> Callable[[Warp, int, Cta], list[Cta]]:
    """The destination CTAs of a load: the one of its address, or those of the mask."""
    mask_op = mi.get("cta_mask")
    if mask_op is None:
        return lambda warp, lane, first: [first]
    mask = c.get(mask_op, mask_type(mi))

    def targets(warp: Warp, lane: int, first: Cta) -> list[Cta]:
        return members(warp.cta, int(mask(warp)[lane]), SECTION)

    return targets


def mask_type(mi: MachineInstr) -> ScalarType:
    """The type of a multicast's mask."""
    wide = mi.form.attributes["multicast"] is Multicast.CLUSTER_32B
    return ScalarType.U32 if wide else ScalarType.U16
