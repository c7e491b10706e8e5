"""mbarrier operations.

Layer: nvgen.sim.semantics.  Objects live beside shared memory, found by their address.  Under every
schedule but `early`, a wait fails at least once a phase and thread, as a real one may.  Arrivals,
and what is expected, may go to another CTA of the cluster, where they come later.  The state that
an arrival returns holds the phase and the arrivals that it found pending.  PTX ISA, mbarrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from intrinsics.findings import Place
from intrinsics.mir import MachineInstr, Mem
from intrinsics.modifiers import ScalarType, Sem, Space
from nvgen.sim.barriers import MBarrier
from nvgen.sim.clusters import check_runs, members, owner_of
from nvgen.sim.compile import Compiler, Getter, Maker
from nvgen.sim.engine import Mode
from nvgen.sim.faults import Fault, fault
from nvgen.sim.machine import (
    WARP,
    Cta,
    Fragment,
    Outcome,
    Polled,
    Step,
    Values,
    Warp,
    lane_numbers,
    lanes_of,
)
from nvgen.sim.memory import SHARED_WINDOW, Access, Proxy, window_of
from nvgen.sim.remote import deliver, send
from nvgen.sim.shared import shared_layout

SIZE = 8
"""Bytes of an mbarrier object."""


class _Where:
    """The mbarrier operand of a record."""

    def __init__(self, c: Compiler, mi: MachineInstr, *, own: bool) -> None:
        op = mi["mbar"]
        assert isinstance(op, Mem)
        self.address = c.address(op)
        self.op = mi.row.head
        space = mi.form.facts.get("space")
        assert space is None or isinstance(space, Space)
        self.space = space
        self.own = own  # whether it must be one of the thread's CTA
        self.section = mi.row.section
        many = mi.form.facts.get("multicast") is not None
        self.mask = c.get(mi["cta_mask"], ScalarType.U32) if many else None
        offsets, _ = shared_layout(c.module, c.function)
        sizes = {v.name: v.size for v in (*c.module.variables, *c.function.variables)}
        self.variables = {at: (name, sizes[name]) for name, at in offsets.items()}

    def lanes(self, fragment: Fragment) -> Iterator[tuple[int, Cta, int]]:
        """(lane, CTA, offset in its shared memory) for every thread of the fragment.

        A multicast has one for each CTA of its mask, at the offset of the address.
        """
        warp = fragment.warp
        addresses = self.address(warp)
        for lane in lane_numbers(fragment.mask):
            owner, offset = self._owner(warp.cta, int(addresses[lane]))
            if self.mask is None:
                yield lane, owner, offset
                continue
            for member in members(warp.cta, int(self.mask(warp)[lane]), self.op):
                yield lane, member, offset

    def groups(self, fragment: Fragment, values: Values) -> Iterator[tuple[int, int, int]]:
        """(lanes, offset, value) for the threads that agree on address and value."""
        lanes = lanes_of(fragment.mask)
        addresses, wanted = self.address(fragment.warp)[lanes], values[lanes]
        if (addresses == addresses[0]).all() and (wanted == wanted[0]).all():
            _, offset = self._owner(fragment.warp.cta, int(addresses[0]))
            yield fragment.mask, offset, int(wanted[0])
            return
        for lane, _, offset in self.lanes(fragment):
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
        """What to call the object at `address`."""
        for start, (name, size) in self.variables.items():
            if start <= address < start + size:
                return name if size == SIZE else f"{name}[{(address - start) // SIZE}]"
        return f"mbarrier {address:#x}"


def to_shared(address: int, space: Space | None) -> int:
    """A shared address from one of a given state space (None: generic).

    Raises: Fault for a generic address that is not in shared memory.
    """
    if space is not None:
        return address
    if window_of(address) is not Space.SHARED:
        raise fault("mbarrier-space", "an mbarrier lies in shared memory", got=f"{address:#x}")
    return address - SHARED_WINDOW


def _count(c: Compiler, mi: MachineInstr, slot: str) -> Getter | None:
    op = mi.get(slot)
    return None if op is None else c.get(op, ScalarType.U32)


def init(c: Compiler, mi: MachineInstr) -> Step:
    """Make an object."""
    where, count = _Where(c, mi, own=True), _count(c, mi, "count")
    assert count is not None

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        counts = count(warp)
        for lane, _, address in where.lanes(fragment):
            expected = int(counts[lane])
            if not 1 <= expected <= 0xFFFFF:
                raise fault(
                    "mbarrier-count",
                    "an mbarrier expects 1 to 1048575 arrivals",
                    got=str(expected),
                    expected="1..1048575",
                    section="mbarrier.init",
                )
            _touch(warp, address)
            warp.cta.mbarriers[address] = MBarrier.new(
                where.name(address), expected, warp.cta.machine.engine.clocks
            )
        return None

    return run


def _touch(warp: Warp, address: int) -> None:
    """Bounds and alignment of the object's eight bytes."""
    warp.cta.machine.memory.access(
        warp.cta.shared,
        np.array([address], np.int64),
        SIZE,
        Access.WRITE,
        Proxy.GENERIC,
        "mbarrier.init",
        align=SIZE,
    )


def inval(c: Compiler, mi: MachineInstr) -> Step:
    """Give the object's memory back."""
    where = _Where(c, mi, own=True)

    def run(fragment: Fragment) -> Outcome:
        cta = fragment.warp.cta
        for _, _, address in where.lanes(fragment):
            where.object(cta, address)
            del cta.mbarriers[address]
        cta.machine.changed()
        return None

    return run


# ---- arrivals --------------------------------------------------------------------------------

_PENDING_BITS = 32
_NO_COMPLETE = 1 << 63


def _state(found: MBarrier, *, no_complete: bool) -> int:
    """The state that an arrival returns, as the object is before it."""
    return found.phase << _PENDING_BITS | found.pending | (_NO_COMPLETE if no_complete else 0)


def _phase_of(state: int) -> int:
    return (state & ~_NO_COMPLETE) >> _PENDING_BITS


@dataclass(frozen=True, slots=True)
class _Arrival:
    """What one thread does to an mbarrier: expect bytes, count them as come, arrive."""

    where: _Where
    cta: Cta
    offset: int
    expect: int = 0
    complete: int = 0
    arrivals: int = 0
    drop: bool = False

    def __call__(self) -> None:
        """Do it.

        Raises: Fault when the CTA has exited, or there is no object.
        """
        check_runs(self.cta, self.where.op)
        found = self.where.object(self.cta, self.offset)
        if self.expect:
            found.expect(self.expect)
        if self.complete:
            found.complete(self.complete)
        if self.arrivals:
            (found.drop if self.drop else found.arrive)(self.arrivals)
        self.cta.machine.changed()


def _arrive(*, drop: bool, expect: bool) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        where = _Where(c, mi, own=False)
        counts = _count(c, mi, "count")
        sizes = _count(c, mi, "tx_count") if expect else None
        state = mi.get("state")
        write = c.set(state) if type(state) is int else None
        stays = mi.form.facts.get("no_complete") is not None
        hand_on = _Handing.of(c, mi)

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            states = np.zeros(WARP, np.uint64)
            for lane, owner, offset in where.lanes(fragment):
                arrivals = int(counts(warp)[lane]) if counts is not None else 1
                size = int(sizes(warp)[lane]) if sizes is not None else 0
                arrival = _Arrival(where, owner, offset, size, 0, arrivals, drop)
                if owner is warp.cta and where.mask is None:
                    found = where.object(owner, offset)
                    phase = found.phase
                    states[lane] = _state(found, no_complete=stays)
                    hand_on(warp, lane, arrival)
                    if stays and found.phase != phase:
                        raise _completed(where, found, arrivals)
                else:
                    if write is not None:
                        raise _has_no_state(where)
                    hand_on(warp, lane, arrival)
            if write is not None:
                write(fragment, states)
            return None

        return run

    return make


def _completed(where: _Where, found: MBarrier, arrivals: int) -> Fault:
    return fault(
        "mbarrier-no-complete",
        f"{where.op}.noComplete completes the phase of {found.name}",
        got=f"{arrivals} arrivals, the last ones of the phase",
        expected="an arrival that leaves the phase open",
        section="mbarrier.arrive",
    )


def _has_no_state(where: _Where) -> Fault:
    return fault(
        "mbarrier-remote-state",
        f"{where.op} on another CTA's mbarrier returns no state",
        expected="_ in place of the state",
        section="mbarrier.arrive",
    )


@dataclass(frozen=True, slots=True)
class _Handing:
    """How an arrival comes to its mbarrier: at once in the own CTA, later in another one.

    One with release semantics (`ordered`) comes after what the CTA has sent before it.
    """

    name: str
    place: Place
    ordered: bool

    @classmethod
    def of(cls, c: Compiler, mi: MachineInstr) -> _Handing:
        """That of a record; arrivals release where they say nothing else."""
        return cls(mi.row.head, c.place(mi), mi.form.facts.get("sem") is not Sem.RELAXED)

    def __call__(self, warp: Warp, lane: int, arrival: _Arrival) -> None:
        """Let one thread's arrival happen."""
        if arrival.cta is not warp.cta:
            thread = (warp.cta.number, warp.number, lane)
            send(warp.cta, thread, self.name, arrival, self.place, ordered=self.ordered)
            return
        if self.ordered:
            deliver(warp.cta)
        arrival()


def _transaction(*, complete: bool) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        where, sizes = _Where(c, mi, own=False), _count(c, mi, "tx_count")
        assert sizes is not None
        hand_on = _Handing.of(c, mi)

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            for lane, owner, offset in where.lanes(fragment):
                size = int(sizes(warp)[lane])
                expected, come = (0, size) if complete else (size, 0)
                hand_on(warp, lane, _Arrival(where, owner, offset, expected, come))
            return None

        return run

    return make


def pending_count(c: Compiler, mi: MachineInstr) -> Step:
    """The arrivals that were pending before the one that a state is of."""
    state, count = c.get(mi["state"], ScalarType.U64), mi["count"]
    assert type(count) is int
    write = c.set(count)

    def run(fragment: Fragment) -> Outcome:
        states = state(fragment.warp).astype(np.uint64)
        given = states[lanes_of(fragment.mask)]
        if not (given & np.uint64(_NO_COMPLETE)).all():
            raise fault(
                "mbarrier-state",
                "mbarrier.pending_count of what is no state of an arrival without completion",
                expected="the state that mbarrier.arrive or arrive_drop with .noComplete returns",
                section="mbarrier.pending_count",
            )
        write(fragment, (states & np.uint64((1 << _PENDING_BITS) - 1)).astype(np.uint32))
        return None

    return run


# ---- waits -----------------------------------------------------------------------------------


def _wait(*, parity: bool) -> Maker:
    """Whether a phase has completed: the one of a token, or the one of a parity."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        where = _Where(c, mi, own=True)
        slot, type_ = ("phase", ScalarType.U32) if parity else ("state", ScalarType.U64)
        wanted = c.get(mi[slot], type_)
        result = mi["done"]
        assert type(result) is int
        write = c.set(result)
        place = c.place(mi)

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            done = 0
            fragment.polled = None
            for lanes, address, value in where.groups(fragment, wanted(warp)):
                found = where.object(warp.cta, address)
                asked = value & 1 if parity else _phase_of(value)
                passed = found.passed(asked) if parity else found.phase > asked
                sees = _may_see(warp, lanes, found) if passed else 0
                done |= sees
                if sees and found.clocks is not None:
                    found.clocks.learn(warp, sees, found.known)
                if sees != lanes:
                    phase = f"parity {asked}" if parity else f"phase {asked}"
                    fragment.polled = Polled(found, phase, mi.opcode, place)
            write(fragment, lanes_of(done))
            return None

        return run

    return make


def _may_see(warp: Warp, lanes: int, found: MBarrier) -> int:
    """The lanes whose look may succeed: under a late or random schedule the first one fails."""
    if warp.cta.machine.engine.schedule.mode is Mode.EARLY:
        return lanes
    before = found.looked.get(warp.number, 0)
    if lanes & ~before:
        found.looked[warp.number] = before | lanes
        warp.cta.machine.changed()
    return lanes & before


SEMANTICS: dict[str, Maker] = {
    "mbarrier.init": init,
    "mbarrier.inval": inval,
    "mbarrier.arrive": _arrive(drop=False, expect=False),
    "mbarrier.arrive_drop": _arrive(drop=True, expect=False),
    "mbarrier.arrive.expect_tx": _arrive(drop=False, expect=True),
    "mbarrier.arrive_drop.expect_tx": _arrive(drop=True, expect=True),
    "mbarrier.expect_tx": _transaction(complete=False),
    "mbarrier.complete_tx": _transaction(complete=True),
    "mbarrier.pending_count": pending_count,
    "mbarrier.test_wait": _wait(parity=False),
    "mbarrier.test_wait.parity": _wait(parity=True),
    "mbarrier.try_wait": _wait(parity=False),
    "mbarrier.try_wait.parity": _wait(parity=True),
}
