"""Bulk copies of contiguous bytes: to shared memory, to another CTA's, to global memory.

Layer: nvgen.sim.semantics.  A copy that completes on an mbarrier reads and writes at some moment
before the wait on that mbarrier succeeds; a multicast is one copy for each CTA of its mask.  A copy
to global memory takes effect twice: it reads before the wait_group.read that covers it ends, and
writes before the wait_group ends.  PTX ISA, cp.async.bulk; cp.async.bulk.prefetch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Space
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.async_ops.groups import BulkGroups
from nvgen.sim.faults import Fault, fault
from nvgen.sim.memory.regions import Bytes, Flags
from nvgen.sim.semantics.copies.bulk_memory import PIECE, Stretch, count_bytes
from nvgen.sim.semantics.tma.targets import mask_type
from nvgen.sim.threads.clusters import members, owner_of
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand, Warp, lane_numbers

_NAME = "bulk copy"

StretchOf = Callable[[Warp, int], Stretch]


def stretch_maker(c: Compiler, mi: MachineInstr, slot: str, space: Space, name: str) -> StretchOf:
    """The range of memory at the address in a slot, for one thread."""
    address, size = c.address(mi[slot]), c.get(mi["size"], ScalarType.U32)
    agent = mi.row.head

    def stretch(warp: Warp, lane: int) -> Stretch:
        at, count = int(address(warp)[lane]), int(size(warp)[lane])
        cta = warp.cta
        if space is not Space.GLOBAL:
            cta, at = owner_of(cta, at, space, agent)
        found = Stretch(cta, space, at, count, name)
        found.check()
        return found

    return stretch


# ---- counted by an mbarrier ------------------------------------------------------------------


def load(c: Compiler, mi: MachineInstr) -> Step:
    """Issue copies from global to shared memory, those of a multicast in each of its CTAs."""
    space = mi.form.attributes["dst_space"]
    assert isinstance(space, Space)
    source = stretch_maker(c, mi, "src", Space.GLOBAL, _NAME)
    target, signal = stretch_maker(c, mi, "dst", space, _NAME), signal_maker(c, mi, space)
    mask = c.get(mi["cta_mask"], mask_type(mi)) if mi.get("cta_mask") is not None else None
    place = c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp, cta = strand.warp, strand.warp.cta
        for lane in lane_numbers(strand.mask):
            first, given = target(warp, lane), source(warp, lane)
            offset = signal(warp, lane, first.cta)
            to = [first.cta]
            if mask is not None:
                to = members(cta, int(mask(warp)[lane]), mi.row.head)
            for owner in to if given.size else ():
                copy = Copy(given, replace(first, cta=owner), offset)
                name = _NAME if owner is cta else f"{_NAME} to CTA {owner.number}"
                thread = (cta.number, warp.number, lane)
                cta.machine.engine.issue(AsyncOp(name, thread, "tma", copy, place))
        cta.machine.changed()
        return None

    return run


def load_part(c: Compiler, mi: MachineInstr) -> Step:
    """Issue copies to the own CTA whose first and last bytes may lie outside of an allocation."""
    source = stretch_maker(c, mi, "src", Space.GLOBAL, _NAME)
    target = stretch_maker(c, mi, "dst", Space.SHARED_CTA, _NAME)
    signal = signal_maker(c, mi, Space.SHARED_CTA)
    left, right = (c.get(mi[slot], ScalarType.U32) for slot in ("ignore_left", "ignore_right"))
    place = c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp, cta = strand.warp, strand.warp.cta
        for lane in lane_numbers(strand.mask):
            first, given = target(warp, lane), source(warp, lane)
            inside = _inside(given.size, int(left(warp)[lane]), int(right(warp)[lane]))
            copy = Copy(given, first, signal(warp, lane, first.cta), inside)
            thread = (cta.number, warp.number, lane)
            cta.machine.engine.issue(AsyncOp(_NAME, thread, "tma", copy, place))
        cta.machine.changed()
        return None

    return run


def _inside(size: int, left: int, right: int) -> Flags:
    """The bytes of a copy that are known to lie inside of an allocation.

    Raises: Fault when more than 15 at an end are not.
    """
    if max(left, right) >= PIECE:
        raise fault(
            "bulk-ignored",
            "cp.async.bulk.ignore_oob ignores more than 15 bytes at an end",
            got=f"{left} bytes at the beginning, {right} at the end",
            expected="0..15",
            section="cp.async.bulk",
        )
    index = np.arange(size)
    found: Flags = (index >= left) & (index < size - right)
    return found


def to_cluster(c: Compiler, mi: MachineInstr) -> Step:
    """Issue copies from the own shared memory to that of another CTA of the cluster."""
    return issued_to_cluster(c, mi, _NAME, "to", Copy)


Effect = Callable[[Stretch, Stretch, int], Callable[[], None]]
"""What an operation does, by its source, its target and the mbarrier that it completes on."""


def issued_to_cluster(c: Compiler, mi: MachineInstr, what: str, way: str, effect: Effect) -> Step:
    """Issue what reads the own shared memory, and writes that of another CTA of the cluster and
    completes on an mbarrier there.
    """
    source = stretch_maker(c, mi, "src", Space.SHARED_CTA, what)
    target = stretch_maker(c, mi, "dst", Space.SHARED_CLUSTER, what)
    signal = signal_maker(c, mi, Space.SHARED_CLUSTER)
    place = c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp, cta = strand.warp, strand.warp.cta
        for lane in lane_numbers(strand.mask):
            first = target(warp, lane)
            if first.cta is cta:
                raise to_itself(mi)
            made = effect(source(warp, lane), first, signal(warp, lane, first.cta))
            if not first.size:
                continue
            thread = (cta.number, warp.number, lane)
            name = f"{what} {way} CTA {first.cta.number}"
            cta.machine.engine.issue(AsyncOp(name, thread, "tma", made, place))
        cta.machine.changed()
        return None

    return run


def to_itself(mi: MachineInstr) -> Fault:
    """The finding about an operation on another CTA's shared memory that names the own one."""
    return fault(
        "own-cta",
        f"{mi.row.head} from shared memory goes to the CTA that executes it",
        expected="an address in another CTA of the cluster",
        hint="mapa gives the address in the CTA of a rank",
        section=mi.row.section,
    )


def signal_maker(c: Compiler, mi: MachineInstr, space: Space) -> Callable[[Warp, int, Cta], int]:
    """The offset of the mbarrier that a copy to a CTA completes on, which must be in that CTA."""
    mbar, agent = c.address(mi["mbar"]), mi.row.head

    def signal(warp: Warp, lane: int, target: Cta) -> int:
        owner, offset = owner_of(warp.cta, int(mbar(warp)[lane]), space, f"{agent} (mbarrier)")
        if owner is not target:
            raise fault(
                "bulk-mbarrier",
                "the copy's mbarrier is not in the CTA that it goes to",
                got=f"an mbarrier of CTA {owner.number}, a copy to CTA {target.number}",
                expected="an mbarrier of the same CTA",
                hint="an H100 counts the bytes where they come, on what lies at the same offset",
                section=mi.row.section,
            )
        return offset

    return signal


@dataclass(frozen=True, slots=True)
class Copy:
    """Bytes in flight to shared memory, and the mbarrier in the same CTA that they complete on.

    `inside` are those that are read; the others become undefined.
    """

    source: Stretch
    target: Stretch
    barrier: int
    inside: Flags | None = None

    def __call__(self) -> None:
        """Read, write, and complete the bytes.

        Raises: Fault when a CTA that it accesses has exited, or has no mbarrier there.
        """
        chosen = self.source.whole if self.inside is None else self.inside
        self.target.write(self.source.read(chosen), chosen)
        if self.inside is not None:
            self.target.spoil(~chosen)
        count_bytes(self.target.cta, self.barrier, self.target.size, self.target.agent)


# ---- in bulk groups --------------------------------------------------------------------------


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Issue copies to global memory: their reads, and after these their writes."""
    source = stretch_maker(c, mi, "src", Space.SHARED_CTA, _NAME)
    target = stretch_maker(c, mi, "dst", Space.GLOBAL, _NAME)
    masked = mi.form.attributes["cp_mask"] is not None
    mask = c.get(mi["byte_mask"], ScalarType.U16) if masked else None
    issue = issuer(c, mi, _NAME)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        for lane in lane_numbers(strand.mask):
            chosen = _masked(mask, warp, lane)
            to = target(warp, lane)
            issue(warp, lane, Store(source(warp, lane), to, np.resize(chosen, to.size)))
        return None

    return run


def _masked(mask: Getter | None, warp: Warp, lane: int) -> Flags:
    """Which of 16 bytes are written."""
    bits = (1 << PIECE) - 1 if mask is None else int(mask(warp)[lane])
    found: Flags = (bits >> np.arange(PIECE) & 1).astype(np.bool_)
    return found


@dataclass(slots=True)
class Store:
    """Bytes in flight from shared to global memory."""

    source: Stretch
    target: Stretch
    chosen: Flags
    data: Bytes | None = None

    def read(self) -> None:
        """Read the bytes from shared memory."""
        self.data = self.source.read(self.source.whole)

    def write(self) -> None:
        """Write the chosen bytes to global memory."""
        if self.data is None:  # the read has failed, and is reported
            return
        self.target.write(self.data, self.chosen)
        self.target.cta.machine.changed()


def issuer(c: Compiler, mi: MachineInstr, name: str) -> Callable[[Warp, int, Store], None]:
    """Issues a store of one thread, as a part of the bulk group that is open."""
    place = c.place(mi)

    def issue(warp: Warp, lane: int, copy: Store) -> None:
        engine, thread = warp.cta.machine.engine, (warp.cta.number, warp.number, lane)
        read = AsyncOp(f"{name} (read)", thread, "bulk.read", copy.read, place, lazy=True)
        write = AsyncOp(name, thread, "bulk", copy.write, place, (read,), lazy=True)
        groups = warp.cta.bulk.setdefault((warp.number, lane), BulkGroups())
        groups.open.append((read, write))
        engine.issue(read)
        engine.issue(write)

    return issue


# ---- to L2 -----------------------------------------------------------------------------------


def prefetch(c: Compiler, mi: MachineInstr) -> Step:
    """A hint without effect; its address and size must be multiples of 16 bytes."""
    source = stretch_maker(c, mi, "src", Space.GLOBAL, "bulk prefetch")

    def run(strand: Strand) -> Outcome:
        for lane in lane_numbers(strand.mask):
            source(strand.warp, lane)
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "cp.async.bulk.load": load,
    "cp.async.bulk.load.ignore_oob": load_part,
    "cp.async.bulk.to_cluster": to_cluster,
    "cp.async.bulk.store": store,
    "multimem.cp.async.bulk": store,
    "cp.async.bulk.prefetch": prefetch,
}
