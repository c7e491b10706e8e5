"""The mbarrier that a record names: which CTA's, where, and what to call it.

Layer: nvgen.sim.semantics.  PTX ISA, mbarrier; Shared State Space.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr, Mem
from intrinsics.modifiers import ScalarType, Scope, Space
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import fault
from nvgen.sim.memory.layout import shared_layout
from nvgen.sim.memory.regions import SHARED_WINDOW, window_of
from nvgen.sim.threads.barriers import MBarrier
from nvgen.sim.threads.clusters import members, owner_of
from nvgen.sim.threads.compile import Compiler, Getter
from nvgen.sim.threads.machine import Cta, Strand, Values, lane_numbers, lanes_of

SIZE = 8
"""Bytes of an mbarrier object."""


class MBarrierOperand:
    """The mbarrier operand of a record."""

    def __init__(self, c: Compiler, mi: MachineInstr, *, own: bool) -> None:
        op = mi["mbar"]
        assert isinstance(op, Mem)
        self.address = c.address(op)
        self.op = mi.row.head
        space = mi.form.attributes.get("space")
        assert space is None or isinstance(space, Space)
        self.space = space
        self.own = own  # whether it must be one of the thread's CTA
        self.section = mi.row.section
        many = mi.form.attributes.get("multicast") is not None
        self.mask = c.get(mi["cta_mask"], ScalarType.U32) if many else None
        offsets, _ = shared_layout(c.module, c.function)
        sizes = {v.name: v.size for v in (*c.module.variables, *c.function.variables)}
        self.variables = {at: (name, sizes[name]) for name, at in offsets.items()}

    def lanes(self, strand: Strand) -> Iterator[tuple[int, Cta, int]]:
        """(lane, CTA, offset in its shared memory) for every thread of the strand.

        A multicast has one for each CTA of its mask, at the offset of the address.
        """
        warp = strand.warp
        addresses = self.address(warp)
        for lane in lane_numbers(strand.mask):
            owner, offset = self._owner(warp.cta, int(addresses[lane]))
            if self.mask is None:
                yield lane, owner, offset
                continue
            for member in members(warp.cta, int(self.mask(warp)[lane]), self.op):
                yield lane, member, offset

    def use(self, strand: Strand) -> None:
        """Record a use of the objects in the threads' own CTA.

        Raises: Fault when the initialisation of one does not happen before it.
        """
        cta = strand.warp.cta
        if cta.shared.shadow is None:
            return
        addresses = self.address(strand.warp)[lanes_of(strand.mask)]
        if self.mask is None and (addresses == addresses[0]).all():
            owner, offset = self._owner(cta, int(addresses[0]))
            if owner is cta:
                use_object(cta, np.full(addresses.size, offset, np.int64), self.op)
            return
        own = [(lane, at) for lane, owner, at in self.lanes(strand) if owner is cta]
        if own:
            numbers, offsets = np.array(own, np.int64).T
            use_object(cta, offsets, self.op, numbers)

    def groups(self, strand: Strand, values: Values) -> Iterator[tuple[int, int, int]]:
        """(lanes, offset, value) for the threads that agree on address and value."""
        lanes = lanes_of(strand.mask)
        addresses, wanted = self.address(strand.warp)[lanes], values[lanes]
        if (addresses == addresses[0]).all() and (wanted == wanted[0]).all():
            _, offset = self._owner(strand.warp.cta, int(addresses[0]))
            yield strand.mask, offset, int(wanted[0])
            return
        for lane, _, offset in self.lanes(strand):
            yield 1 << lane, offset, int(values[lane])

    def _owner(self, cta: Cta, address: int) -> tuple[Cta, int]:
        owner, offset = owner_of(cta, to_shared(address, self.space), self.space, self.op)
        if self.own and owner is not cta:
            raise fault(
                "mbarrier-remote",
                f"{self.op} on an mbarrier of another CTA",
                got=f"CTA {owner.number}, rank {owner.rank} of the cluster",
                expected="an mbarrier of the thread's own CTA",
                hint="arrive at it from here, and let a thread of its CTA wait",
                section=self.section,
            )
        return owner, offset

    def object(self, cta: Cta, address: int) -> MBarrier:
        """The object at an address.

        Raises: Fault when none was initialised there.
        """
        found = cta.mbarriers.get(address)
        if found is None:
            live = ", ".join(f"{b.name} at {a:#x}" for a, b in cta.mbarriers.items()) or "none"
            raise fault(
                "mbarrier-uninitialized",
                f"{self.op} on what is no mbarrier",
                got=f"shared address {address:#x}",
                expected=f"an mbarrier: {live}",
                hint="is mbarrier.init missing, or the barrier after it?",
                section="mbarrier.init",
            )
        return found

    def name(self, address: int) -> str:
        """The name of the mbarrier at `address`, for messages."""
        for start, (name, size) in self.variables.items():
            if start <= address < start + size:
                return name if size == SIZE else f"{name}[{(address - start) // SIZE}]"
        return f"mbarrier {address:#x}"


def use_object(
    cta: Cta, offsets: NDArray[np.int64], agent: str, lanes: NDArray[np.intp] | None = None
) -> None:
    """Record a use, by the current actor, of the objects at some offsets of a CTA's shared memory.

    Uses are strong: they do not race with each other, but with mbarrier.init, mbarrier.inval and
    plain stores.  `lanes` are the threads, where these are not all threads of the strand.  What
    lies outside of the memory is no object, which the caller tells.
    Raises: Fault when one of these is ordered neither before nor after a use.
    """
    shadow = cta.shared.shadow
    if shadow is not None and int(offsets.max()) + SIZE <= cta.shared.data.size:
        shadow.touch(
            offsets, SIZE, agent, writes=False, order=Order.RELAXED, lanes=lanes, as_object=True
        )


def signalled(cta: Cta, offset: int, agent: str, what: str, section: str) -> MBarrier:
    """The object that an operation completes on, at an offset of a CTA's shared memory.

    `what` says in words what the operation does to it.
    Raises: Fault when there is none, or its initialisation does not happen before the operation.
    """
    use_object(cta, np.array([offset], np.int64), agent)
    found = cta.mbarriers.get(offset)
    if found is None:
        raise fault(
            "mbarrier-uninitialized",
            f"{what} what is no mbarrier",
            got=f"shared address {offset:#x} of CTA {cta.number}",
            section=section,
        )
    return found


def to_shared(address: int, space: Space | None) -> int:
    """A shared address from one of a given state space (None: generic).

    Raises: Fault for a generic address that is not in shared memory.
    """
    if space is not None:
        return address
    if window_of(address) is not Space.SHARED:
        raise fault("mbarrier-space", "an mbarrier lies in shared memory", got=f"{address:#x}")
    return address - SHARED_WINDOW


def is_narrow(mi: MachineInstr) -> bool:
    """Whether an arrival or a wait has the scope .cta, which is the default."""
    return mi.form.attributes.get("scope", Scope.CTA) in (Scope.CTA, None)


def count_of(c: Compiler, mi: MachineInstr, slot: str) -> Getter | None:
    """The value of an optional 32-bit operand."""
    op = mi.get(slot)
    return None if op is None else c.get(op, ScalarType.U32)
