"""tcgen05.alloc, dealloc and relinquish_alloc_permit, of one CTA or of a pair.

Layer: nvgen.sim.semantics.  A pair allocates the same columns in both CTAs, when a warp of each has
come; each of the two writes their address to its own shared memory.  Late and random schedules
allocate from the last column down.  PTX ISA, Tensor Memory Allocation and Management Instructions.

An exclusive allocation waits until there is no other, is a multiple of 32 columns, and is given
back exclusively (PTX ISA 9.4, as public projects quote it).  It keeps other CTAs from allocating;
here no CTA has to share its tensor memory with others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CtaGroup, ScalarType, Space
from intrinsics.row import Attribute, Row
from nvgen.sim.async_ops.schedule import Mode
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Proxy, scatter
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.threads.clusters import participants
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand, Wait
from nvgen.sim.threads.steps import uniform

Ctas = tuple[Cta, ...]

Act = Callable[[Ctas, tuple[int, ...]], int | None]
"""The effect of an operation on its CTAs, by its operands; None where it must wait."""

_DONE = 0


def alloc(c: Compiler, mi: MachineInstr) -> Step:
    """Allocate columns, and write their address to shared memory."""
    count = c.get(mi["ncols"], ScalarType.U32)
    address = c.address(mi["dst"])
    space = Space.SHARED_CTA if mi.form.attributes["space"] is Space.SHARED_CTA else None
    place, group = c.place(mi), mi.form.attributes["cta_group"]
    exclusive = mi.form.attributes["exclusive"] is not None

    def act(ctas: Ctas, operands: tuple[int, ...]) -> int | None:
        columns, _ = operands
        late = ctas[0].machine.engine.schedule.mode is not Mode.EARLY
        first, *others = (cta.tensor for cta in ctas)
        start = first.allocate(columns, *others, from_top=late, exclusive=exclusive)
        if start is not None:
            for cta in ctas:
                cta.tensor.places[start] = place
        return start

    def run(strand: Strand) -> Outcome:
        columns = uniform(count(strand.warp), strand, "nCols")
        found = _together(strand, mi.row, group, (columns, exclusive), act)
        if isinstance(found, Wait):
            return found
        if found is None:
            return Wait(f"{columns} free columns of tensor memory")
        cta = strand.warp.cta
        for owner in (cta, cta.peer) if group is CtaGroup.TWO else (cta,):
            assert owner is not None
            owner.tensor.record_allocation(strand)
        chosen = address(strand.warp)[strand.lanes][:1]
        _write(strand, chosen, space, found)
        return None

    return run


def _write(
    strand: Strand, address: np.ndarray[tuple[int], np.dtype[np.int64]], space: Space | None,
    start: int,
) -> None:  # fmt: skip
    """Write the address of an allocation to the CTA's own shared memory.

    Raises: Fault when it is not there.
    """
    warp = strand.warp
    agent = f"tcgen05.alloc of warp {warp.number}"
    region, where, _ = next(find(warp.cta, address, space, agent, Access.WRITE))
    if region is not warp.cta.shared:
        raise fault(
            "alloc-destination",
            f"{agent} writes the address outside of the CTA's own shared memory",
            got=f"{int(address[0]):#x} in {region.name}",
            expected="an address of .shared::cta",
            section="tcgen05.alloc",
        )
    offsets = warp.cta.machine.memory.access(
        region, where, 4, Access.WRITE, Proxy.GENERIC, agent, align=4
    )
    scatter(region, offsets, np.array([[start]], np.uint32).view(np.uint8))


def dealloc(c: Compiler, mi: MachineInstr) -> Step:
    """Deallocate columns."""
    count, taddr = c.get(mi["ncols"], ScalarType.U32), c.get(mi["taddr"], ScalarType.U32)
    group, exclusive = mi.form.attributes["cta_group"], mi.form.attributes["exclusive"] is not None

    def run(strand: Strand) -> Outcome:
        columns = uniform(count(strand.warp), strand, "nCols")
        start = uniform(taddr(strand.warp), strand, "taddr")
        agent = f"tcgen05.dealloc of warp {strand.warp.number}"

        def arrives() -> None:
            strand.warp.cta.tensor.record_deallocation(start, columns, agent)

        found = _together(strand, mi.row, group, (start, columns, exclusive), _release, arrives)
        return found if isinstance(found, Wait) else None

    return run


def _release(ctas: Ctas, operands: tuple[int, ...]) -> int:
    start, columns, exclusive = operands
    numbers = [cta.number for cta in ctas]
    for op in ctas[0].machine.engine.in_flight:
        if op.thread[0] in numbers and op.kind in ("mma", "ld", "st"):
            raise fault(
                "dealloc-busy",
                f"tcgen05.dealloc while {op} is under way",
                expected="a wait for its completion",
                section="tcgen05.dealloc",
            )
    for cta in ctas:
        cta.tensor.release(start, columns, exclusive=bool(exclusive))
    ctas[0].machine.changed()
    return _DONE


def relinquish(c: Compiler, mi: MachineInstr) -> Step:
    """Give up the permit to allocate."""
    group = mi.form.attributes["cta_group"]

    def run(strand: Strand) -> Outcome:
        found = _together(strand, mi.row, group, (), _give_up)
        return found if isinstance(found, Wait) else None

    return run


def _give_up(ctas: Ctas, operands: tuple[int, ...]) -> int:
    for cta in ctas:
        cta.tensor.permit = False
    return _DONE


def _together(
    strand: Strand,
    row: Row,
    group: Attribute,
    operands: tuple[int, ...],
    act: Act,
    arrives: Callable[[], None] = lambda: None,
) -> Wait | int | None:
    """The result of `act`; for a pair, once warps of both CTAs have arrived, and once for both of
    them.

    `arrives` is called for each warp, in a pair before it waits for the other.

    Raises: Fault when there is no pair, or its warps have different operands.
    """
    cta, head = strand.warp.cta, row.head
    peer = cta.peer
    if group is not CtaGroup.TWO or peer is None:
        answer = act(participants(cta, group, head), operands)
        arrives()
        return answer
    meetings = cta.cluster.meetings_of(cta.rank)
    meeting = meetings.join(head, cta.rank, strand.warp.number, operands)
    if meeting.answer is None:
        ctas = participants(cta, group, head)
        if cta.rank not in meeting.announced:
            meeting.announced.add(cta.rank)
            arrives()
        if peer.rank not in meeting.operands:
            return Wait(f"a warp of the peer, CTA {peer.number}, at {head}.cta_group::2")
        if operands != meeting.operands[peer.rank]:
            raise fault(
                "pair-operands",
                f"the warps of a pair come to {head} with different operands",
                got=f"{operands}, and {meeting.operands[peer.rank]} in the peer",
                expected="the same in both CTAs",
                section=row.section,
            )
        meeting.answer = act(ctas, operands)
        if meeting.answer is None:
            return None
        cta.machine.changed()
    meetings.leave(head, meeting, cta.rank)
    return meeting.answer


SEMANTICS: dict[str, Maker] = {
    "tcgen05.alloc": alloc,
    "tcgen05.dealloc": dealloc,
    "tcgen05.relinquish_alloc_permit": relinquish,
}
