"""Arrivals at mbarriers, and expect-tx and complete-tx operations.

Layer: nvgen.sim.semantics.  One in the own CTA takes effect at once, one in another CTA of the
cluster later.  The state that an arrival returns has the phase and the pending count before it. PTX
ISA, mbarrier.arrive; mbarrier.expect_tx; mbarrier.pending_count.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Sem
from nvgen.sim.actors.vector_clock import NOTHING
from nvgen.sim.faults import Fault, fault
from nvgen.sim.races.happens_before import Clocks, Sent
from nvgen.sim.semantics.mbarrier_operand import (
    MBarrierOperand,
    count_of,
    is_narrow,
    use_object,
)
from nvgen.sim.threads.barriers import MBarrier
from nvgen.sim.threads.clusters import check_runs
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import WARP, Cta, Outcome, Step, Strand, Warp, lanes_of
from nvgen.sim.threads.remote import deliver, send

_PENDING_BITS = 32
_NO_COMPLETE = 1 << 63


def _state(found: MBarrier, *, no_complete: bool) -> int:
    """The state that an arrival returns: the object before it."""
    return found.phase << _PENDING_BITS | found.pending | (_NO_COMPLETE if no_complete else 0)


def phase_of(state: int) -> int:
    """The phase in a state."""
    return (state & ~_NO_COMPLETE) >> _PENDING_BITS


@dataclass(frozen=True, slots=True)
class _Arrival:
    """The effect of one thread on an mbarrier: expect-tx, complete-tx, arrivals."""

    where: MBarrierOperand
    cta: Cta
    offset: int
    expect: int = 0
    complete: int = 0
    arrivals: int = 0
    drop: bool = False
    relaxed: int = -1  # the lane of a thread of the own CTA that does not release
    remote: bool = False  # comes from another CTA
    narrow: bool = False  # at the scope .cta
    sent: Sent | None = None  # what it hands on from there, if it does not release

    def __call__(self) -> None:
        """Do it.

        Raises: Fault when the CTA has exited, or there is no object.
        """
        check_runs(self.cta, self.where.op)
        if self.remote:
            use_object(self.cta, np.array([self.offset], np.int64), self.where.op)
        found = self.where.object(self.cta, self.offset)
        if self.expect:
            found.expect(self.expect, self._sent(found.clocks))
        if self.complete:
            found.complete(self.complete)
        if self.arrivals:
            arrive = found.drop if self.drop else found.arrive
            arrive(self.arrivals, self.relaxed, self._sent(found.clocks))
        self.cta.machine.changed()

    def _sent(self, clocks: Clocks | None) -> Sent | None:
        """What it hands on to another CTA, as far as its scope goes; None within its own."""
        if not self.remote or clocks is None:
            return None
        sent = clocks.sent_with_actor(self.sent) if self.sent else clocks.sent_by_actor()
        return (sent[0], NOTHING) if sent is not None and self.narrow else sent


def _arrive(*, drop: bool, expect: bool) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        where = MBarrierOperand(c, mi, own=False)
        counts = count_of(c, mi, "count")
        sizes = count_of(c, mi, "tx_count") if expect else None
        state = mi.get("state")
        write = c.set(state) if type(state) is int else None
        stays = mi.form.attributes.get("no_complete") is not None
        hand_on = _Delivery.of(c, mi)

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            states = np.zeros(WARP, np.uint64)
            where.use(strand)
            for lane, owner, offset in where.lanes(strand):
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
                write(strand, states)
            return None

        return run

    return make


def _completed(where: MBarrierOperand, found: MBarrier, arrivals: int) -> Fault:
    return fault(
        "mbarrier-no-complete",
        f"{where.op}.noComplete completes the phase of {found.name}",
        got=f"{arrivals} arrivals, the last ones of the phase",
        expected="an arrival that leaves the phase open",
        section="mbarrier.arrive",
    )


def _has_no_state(where: MBarrierOperand) -> Fault:
    return fault(
        "mbarrier-remote-state",
        f"{where.op} on another CTA's mbarrier returns no state",
        expected="_ in place of the state",
        section="mbarrier.arrive",
    )


@dataclass(frozen=True, slots=True)
class _Delivery:
    """The delivery of an arrival: at once in the own CTA, later in another one.

    One with release semantics (`ordered`) takes effect after earlier remote operations of the CTA.
    """

    name: str
    place: Place
    ordered: bool
    narrow: bool

    @classmethod
    def of(cls, c: Compiler, mi: MachineInstr) -> _Delivery:
        """The delivery for a record; arrivals have release semantics by default."""
        ordered = mi.form.attributes.get("sem") is not Sem.RELAXED
        return cls(mi.row.head, c.place(mi), ordered, is_narrow(mi))

    def __call__(self, warp: Warp, lane: int, arrival: _Arrival) -> None:
        """Deliver one thread's arrival."""
        if arrival.cta is not warp.cta:
            thread = (warp.cta.number, warp.number, lane)
            clocks = warp.cta.machine.engine.clocks
            sent = clocks.sent_by(lane) if clocks is not None and not self.ordered else None
            effect = replace(arrival, remote=True, narrow=self.narrow, sent=sent)
            send(warp.cta, thread, self.name, effect, self.place, ordered=self.ordered)
            return
        if self.ordered:
            deliver(warp.cta)
            arrival()
        else:
            replace(arrival, relaxed=lane)()


def _transaction(*, complete: bool) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        where, sizes = MBarrierOperand(c, mi, own=False), count_of(c, mi, "tx_count")
        assert sizes is not None
        hand_on = _Delivery.of(c, mi)

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            where.use(strand)
            for lane, owner, offset in where.lanes(strand):
                size = int(sizes(warp)[lane])
                expected, come = (0, size) if complete else (size, 0)
                hand_on(warp, lane, _Arrival(where, owner, offset, expected, come))
            return None

        return run

    return make


def pending_count(c: Compiler, mi: MachineInstr) -> Step:
    """The pending count in a state."""
    state, count = c.get(mi["state"], ScalarType.U64), mi["count"]
    assert type(count) is int
    write = c.set(count)

    def run(strand: Strand) -> Outcome:
        states = state(strand.warp).astype(np.uint64)
        given = states[lanes_of(strand.mask)]
        if not (given & np.uint64(_NO_COMPLETE)).all():
            raise fault(
                "mbarrier-state",
                "mbarrier.pending_count of what is no state of an arrival without completion",
                expected="the state that mbarrier.arrive or arrive_drop with .noComplete returns",
                section="mbarrier.pending_count",
            )
        write(strand, (states & np.uint64((1 << _PENDING_BITS) - 1)).astype(np.uint32))
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "mbarrier.arrive": _arrive(drop=False, expect=False),
    "mbarrier.arrive_drop": _arrive(drop=True, expect=False),
    "mbarrier.arrive.expect_tx": _arrive(drop=False, expect=True),
    "mbarrier.arrive_drop.expect_tx": _arrive(drop=True, expect=True),
    "mbarrier.expect_tx": _transaction(complete=False),
    "mbarrier.complete_tx": _transaction(complete=True),
    "mbarrier.pending_count": pending_count,
}
