"""mbarrier objects: initialisation, invalidation and waits.

Layer: nvgen.sim.semantics.  Objects are kept beside shared memory, by address.  Under every
schedule but `early`, a wait fails at least once for each phase and thread, as a real one may.  PTX
ISA, mbarrier.
"""

from __future__ import annotations

import numpy as np

from intrinsics.findings import Place
from intrinsics.limits import MOST_TX
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Sem
from nvgen.sim.async_ops.schedule import Mode
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Proxy
from nvgen.sim.semantics.mbarrier_operand import (
    SIZE,
    MBarrierOperand,
    count_of,
    is_narrow,
)
from nvgen.sim.semantics.synchronization.mbarrier_arrive import phase_of
from nvgen.sim.threads.barriers import MBarrier
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Polled, Step, Strand, Warp, lanes_of


def init(c: Compiler, mi: MachineInstr) -> Step:
    """Initialise an object."""
    where, count = MBarrierOperand(c, mi, own=True), count_of(c, mi, "count")
    assert count is not None

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        counts = count(warp)
        for lane, _, address in where.lanes(strand):
            expected = int(counts[lane])
            if not 1 <= expected <= MOST_TX:
                raise fault(
                    "mbarrier-count",
                    f"an mbarrier expects 1 to {MOST_TX} arrivals",
                    got=str(expected),
                    expected=f"1..{MOST_TX}",
                    section="mbarrier.init",
                )
            _check_none(warp.cta.mbarriers.get(address))
            _touch(warp, lane, address, "mbarrier.init")
            warp.cta.mbarriers[address] = MBarrier.new(
                where.name(address), expected, warp.cta.machine.engine.clocks
            )
        return None

    return run


def _check_none(valid: MBarrier | None) -> None:
    """Whether no mbarrier that has completed phases is there already.

    Raises: Fault.
    """
    if valid is not None and valid.phase:
        raise fault(
            "mbarrier-valid",
            f"{valid.name} is initialised where a valid mbarrier is",
            got=f"one in its phase {valid.phase}",
            expected="mbarrier.inval of it before",
            section="mbarrier.init",
        )


def _touch(warp: Warp, lane: int, address: int, agent: str) -> None:
    """A thread writes the object's eight bytes: bounds, alignment, and races."""
    warp.cta.machine.memory.access(
        warp.cta.shared,
        np.array([address], np.int64),
        SIZE,
        Access.WRITE,
        Proxy.GENERIC,
        agent,
        align=SIZE,
        lanes=np.array([lane], np.intp),
    )


def inval(c: Compiler, mi: MachineInstr) -> Step:
    """Invalidate an object."""
    where = MBarrierOperand(c, mi, own=True)

    def run(strand: Strand) -> Outcome:
        cta = strand.warp.cta
        clocks = cta.machine.engine.clocks
        if clocks is not None:
            clocks.learn_of_reads(strand)
        for lane, _, address in where.lanes(strand):
            where.object(cta, address)
            _touch(strand.warp, lane, address, where.op)
            del cta.mbarriers[address]
        cta.machine.changed()
        return None

    return run


# ---- waits -----------------------------------------------------------------------------------


def _wait(*, parity: bool) -> Maker:
    """Whether a phase is complete, that of a token or that of a parity."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        where = MBarrierOperand(c, mi, own=True)
        slot, type_ = ("phase", ScalarType.U32) if parity else ("state", ScalarType.U64)
        wanted = c.get(mi[slot], type_)
        result = mi["done"]
        assert type(result) is int
        write = c.set(result)
        place = c.place(mi)
        acquires = mi.form.attributes.get("sem") is not Sem.RELAXED
        narrow = is_narrow(mi)

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            done = 0
            before, strand.polled = strand.polled, None
            where.use(strand)
            for lanes, address, value in where.groups(strand, wanted(warp)):
                found = where.object(warp.cta, address)
                asked = value & 1 if parity else phase_of(value)
                passed = found.passed(asked) if parity else found.phase > asked
                sees = _may_see(warp, lanes, found) if passed else 0
                done |= sees
                if sees:
                    found.seen[warp.number] = found.phase - 1
                elif parity:
                    _check_missed(before, found, asked, place)
                if sees and found.clocks is not None:
                    afar = None if narrow else found.released_afar
                    observed = (found.released, afar, None)
                    found.clocks.observe_release(strand, sees, observed, acquires=acquires)
                if sees != lanes:
                    phase = f"parity {asked}" if parity else f"phase {asked}"
                    awaits = found.phase - passed if parity else asked
                    strand.polled = Polled(found, phase, awaits, mi.opcode, place)
            write(strand, lanes_of(done))
            return None

        return run

    return make


def _check_missed(before: Polled | None, found: MBarrier, parity: int, place: Place) -> None:
    """Check that the phase of the last execution of the same wait is still the current or the last
    one.

    Raises: Fault when that phase is complete, and the next one, too: the parity is the same again.
    """
    if before is None or before.barrier is not found or before.place != place:
        return
    if before.awaits & 1 == parity == found.phase & 1 and found.phase >= before.awaits + 2:
        raise fault(
            "mbarrier-phase-missed",
            f"phase {before.awaits} of {found.name} ended while a thread waited for it by its "
            "parity, and so did the next one before it looked again",
            got=f"phase {found.phase} under way, of the same parity {parity}",
            expected="no phase that ends before all who wait for the one before it have seen that",
            hint="let each warp that waits arrive, and count them in mbarrier.init",
            section="mbarrier, Phase of the mbarrier object",
        )


def _may_see(warp: Warp, lanes: int, found: MBarrier) -> int:
    """The lanes whose wait may succeed: under a late or random schedule the first test fails."""
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
    "mbarrier.test_wait": _wait(parity=False),
    "mbarrier.test_wait.parity": _wait(parity=True),
    "mbarrier.try_wait": _wait(parity=False),
    "mbarrier.try_wait.parity": _wait(parity=True),
}
