"""cp.async: copies of a few bytes by each thread, their groups, and their arrivals at mbarriers.

Layer: nvgen.sim.semantics.  The copies of a strand are one operation, from which those of threads
that wait or arrive without the others are parted: a thread waits for its own copies alone.  At some
moment before that, an operation reads global and writes shared memory.  The manual does not say by
which proxy, so no proxy fence is asked for behind it; the verifier says so as a review.  An arrival
on an mbarrier takes effect when all earlier copies of its thread are complete; without `.noinc` the
phase expects one arrival more from its issue on.  PTX ISA, cp.async; cp.async.commit_group;
cp.async.wait_group; cp.async.mbarrier.arrive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr
from intrinsics.modifiers import ScalarType, Space
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.async_ops.groups import CopyGroups
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Proxy, gather, scatter
from nvgen.sim.semantics.bulk_groups import commits, count_of
from nvgen.sim.semantics.mbarrier_operand import MBarrierOperand, use_object
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.threads.barriers import MBarrier
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand, Warp, lane_numbers

_SECTION = "cp.async"


def copy(c: Compiler, mi: MachineInstr) -> Step:
    """Issue the copies of a strand, each of its thread's number of bytes."""
    amount = mi["size"]
    assert isinstance(amount, Imm)
    size = amount.value
    dst, src, wanted = c.address(mi["dst"]), c.address(mi["src"]), _bytes_read(c, mi, size)
    space, place = mi.form.attributes["space"], c.place(mi)
    assert isinstance(space, Space)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        lanes = strand.lanes
        reads = wanted(warp)[lanes].astype(np.int64)
        moved = _Copy(strand.mask, warp.cta, space, dst(warp)[lanes], src(warp)[lanes], reads, size)
        moved.check()
        op = moved.issued(warp, place)
        for lane in lane_numbers(strand.mask):
            _groups(warp, lane).add(op)
        return None

    return run


def _bytes_read(c: Compiler, mi: MachineInstr, size: int) -> Getter:
    """How many bytes each thread reads; the others that it writes are zeros."""
    if "ignore_src" in mi.form.slots:
        ignored = c.get(mi["ignore_src"], ScalarType.PRED)
        return lambda warp: np.where(ignored(warp).astype(np.bool_), 0, size)
    source = mi.get("src_size")
    if source is None:
        return lambda warp: np.full(32, size)
    given = c.get(source, ScalarType.U32)
    return lambda warp: given(warp).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Copy:
    """The copies of the threads of a mask, an element of each array for each of them."""

    mask: int
    cta: Cta
    space: Space
    dst: NDArray[np.int64]
    src: NDArray[np.int64]
    wanted: NDArray[np.int64]
    size: int

    def check(self) -> None:
        """Check that no thread reads more bytes than it writes.

        Raises: Fault.
        """
        if (self.wanted > self.size).any():
            raise fault(
                "copy-size",
                "cp.async reads more bytes than it writes",
                got=f"{int(self.wanted.max())} bytes into {self.size}",
                expected=f"at most {self.size}",
                hint="PTX leaves open what such a copy does",
                section=_SECTION,
            )

    def of(self, mask: int) -> _Copy:
        """The copies of some of the threads."""
        kept = [mask >> lane & 1 == 1 for lane in lane_numbers(self.mask)]
        arrays = (self.dst[kept], self.src[kept], self.wanted[kept])
        return _Copy(mask, self.cta, self.space, *arrays, self.size)

    def issued(self, warp: Warp, place: Place) -> AsyncOp:
        """The operation that does them."""
        thread = (self.cta.number, warp.number, next(iter(lane_numbers(self.mask))))
        op = AsyncOp("cp.async", thread, "copy", self, place, lazy=True)
        self.cta.machine.engine.issue(op)
        return op

    def __call__(self) -> None:
        """Read global memory, then write shared memory."""
        data = np.zeros((self.dst.size, self.size), np.uint8)
        for count in np.unique(self.wanted):
            if count:
                self._read(data, int(count))
        memory = self.cta.machine.memory
        agent = "cp.async"
        for region, where, part in find(self.cta, self.dst, self.space, agent, Access.WRITE):
            offsets = memory.access(
                region, where, self.size, Access.WRITE, Proxy.ASYNC, agent, align=self.size
            )
            scatter(region, offsets, data[part])
        self.cta.machine.changed()

    def _read(self, data: NDArray[np.uint8], count: int) -> None:
        """Read the sources of the threads that want `count` bytes."""
        chosen = np.flatnonzero(self.wanted == count)
        memory = self.cta.machine.memory
        addresses = self.src[chosen]
        for region, where, part in find(self.cta, addresses, Space.GLOBAL, "cp.async", Access.READ):
            offsets = memory.access(
                region, where, count, Access.READ, Proxy.GENERIC, "cp.async", align=self.size
            )
            data[chosen[part], :count] = gather(region, offsets, count)


# ---- groups ----------------------------------------------------------------------------------


def _groups(warp: Warp, lane: int) -> CopyGroups:
    return warp.cta.copies.setdefault((warp.number, lane), CopyGroups())


def wait_group(c: Compiler, mi: MachineInstr) -> Step:
    """Let each thread's groups take effect, all but the latest ones."""
    count = count_of(mi)

    def run(strand: Strand) -> Outcome:
        _wait(strand, count)
        return None

    return run


def wait_all(c: Compiler, mi: MachineInstr) -> Step:
    """Let all copies of each thread take effect, in groups or not."""

    def run(strand: Strand) -> Outcome:
        for lane in lane_numbers(strand.mask):
            _groups(strand.warp, lane).commit()
        _wait(strand, 0)
        return None

    return run


def _wait(strand: Strand, count: int) -> None:
    """Wait for all but the latest groups of each thread; once for threads with the same groups."""
    warp = strand.warp
    alike: dict[tuple[AsyncOp, ...], int] = {}  # lanes by what they wait for
    for lane in lane_numbers(strand.mask):
        groups = _groups(warp, lane)
        ops = tuple(groups.but_the_last(count))
        alike[ops] = alike.get(ops, 0) | 1 << lane
    for ops, lanes in alike.items():
        own = [_parted(warp, op, lanes) for op in ops]
        warp.cta.machine.engine.wait(warp, lanes, own)
    for lane in lane_numbers(strand.mask):
        _groups(warp, lane).keep(count)


def _parted(warp: Warp, op: AsyncOp, lanes: int) -> AsyncOp:
    """The part of an operation in flight that does the copies of some of its threads.

    Arrivals are of single threads.
    """
    copies = op.effect
    if op.done or not isinstance(copies, _Copy) or not copies.mask & ~lanes:
        return op
    op.effect = copies.of(copies.mask & ~lanes)
    part = copies.of(copies.mask & lanes).issued(warp, op.place)
    for lane in lane_numbers(copies.mask & lanes):
        _groups(warp, lane).replace(op, part)
    return part


# ---- mbarriers -------------------------------------------------------------------------------


def arrive(c: Compiler, mi: MachineInstr) -> Step:
    """Let each thread's copies arrive at an mbarrier of its CTA when they are complete."""
    where = MBarrierOperand(c, mi, own=True)
    counted = mi.form.attributes["noinc"] is None
    place = c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        where.use(strand)
        for lane, owner, offset in where.lanes(strand):
            found = where.object(owner, offset)
            if counted:
                found.expect_arrival()
            thread = (owner.number, warp.number, lane)
            groups = _groups(warp, lane)
            for op in [*groups.before]:
                _parted(warp, op, strand.mask)
            effect = _Arrival(owner, offset, found, where.op)
            op = AsyncOp(where.op, thread, "copy.arrive", effect, place, tuple(groups.before))
            groups.before = [op]
            owner.machine.engine.issue(op)
        owner.machine.changed()
        return None

    return run


@dataclass(frozen=True, slots=True)
class _Arrival:
    """The arrival of one thread's copies."""

    cta: Cta
    offset: int
    barrier: MBarrier
    name: str

    def __call__(self) -> None:
        """Arrive.

        Raises: Fault when the phase expects no arrival more.
        """
        use_object(self.cta, np.array([self.offset], np.int64), self.name)
        self.barrier.arrive(1)
        self.cta.machine.changed()


SEMANTICS: dict[str, Maker] = {
    "cp.async": copy,
    "cp.async.ignore_src": copy,
    "cp.async.commit_group": commits(_groups),
    "cp.async.wait_group": wait_group,
    "cp.async.wait_all": wait_all,
    "cp.async.mbarrier.arrive": arrive,
}
