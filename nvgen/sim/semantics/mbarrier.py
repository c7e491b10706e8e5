"""mbarrier operations.

Layer: nvgen.sim.semantics.  Objects live beside shared memory, found by their address.  Under every
schedule but `early`, a wait fails at least once a phase and thread, as a real one may.  PTX ISA,
mbarrier.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from intrinsics.mir import MachineInstr, Mem
from intrinsics.modifiers import ScalarType, Space
from nvgen.sim.barriers import MBarrier
from nvgen.sim.compile import Compiler, Getter, Maker
from nvgen.sim.engine import Mode
from nvgen.sim.faults import fault, not_simulated
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
from nvgen.sim.memory import SHARED_WINDOW, Access, Proxy
from nvgen.sim.shared import shared_layout

SIZE = 8
"""Bytes of an mbarrier object."""


class _Where:
    """The mbarrier operand of a record."""

    def __init__(self, c: Compiler, mi: MachineInstr, slot: str = "mbar") -> None:
        op = mi[slot]
        assert isinstance(op, Mem)
        self.address = c.address(op)
        self.op = mi.row.head
        self.space = mi.form.facts.get("space")
        offsets, _ = shared_layout(c.module, c.function)
        sizes = {v.name: v.size for v in (*c.module.variables, *c.function.variables)}
        self.variables = {at: (name, sizes[name]) for name, at in offsets.items()}

    def lanes(self, fragment: Fragment) -> Iterator[tuple[int, int]]:
        """(lane, shared address) for every thread of the fragment."""
        addresses = self.address(fragment.warp)
        for lane in lane_numbers(fragment.mask):
            yield lane, to_shared(int(addresses[lane]), self.space)

    def groups(self, fragment: Fragment, values: Values) -> Iterator[tuple[int, int, int]]:
        """(lanes, shared address, value) for the threads that agree on address and value."""
        lanes = lanes_of(fragment.mask)
        addresses, wanted = self.address(fragment.warp)[lanes], values[lanes]
        if (addresses == addresses[0]).all() and (wanted == wanted[0]).all():
            yield fragment.mask, to_shared(int(addresses[0]), self.space), int(wanted[0])
            return
        for lane, address in self.lanes(fragment):
            yield 1 << lane, address, int(values[lane])

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


def to_shared(address: int, space: object) -> int:
    """A shared address from one of a given state space (None: generic)."""
    if space is None:
        if not address & SHARED_WINDOW:
            raise fault("mbarrier-space", "an mbarrier lies in shared memory", got=f"{address:#x}")
        return address - SHARED_WINDOW
    if space is Space.SHARED_CLUSTER and address >> 24:
        raise not_simulated("an mbarrier of another CTA of the cluster")
    return address


def _count(c: Compiler, mi: MachineInstr, slot: str) -> Getter | None:
    op = mi.get(slot)
    return None if op is None else c.get(op, ScalarType.U32)


def init(c: Compiler, mi: MachineInstr) -> Step:
    """Make an object."""
    where, count = _Where(c, mi), _count(c, mi, "count")
    assert count is not None

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        counts = count(warp)
        for lane, address in where.lanes(fragment):
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
            warp.cta.mbarriers[address] = MBarrier.new(where.name(address), expected)
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
    where = _Where(c, mi)

    def run(fragment: Fragment) -> Outcome:
        cta = fragment.warp.cta
        for _, address in where.lanes(fragment):
            where.object(cta, address)
            del cta.mbarriers[address]
        cta.machine.changed()
        return None

    return run


def _arrive(*, drop: bool, expect: bool) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        where = _Where(c, mi)
        counts = _count(c, mi, "count")
        sizes = _count(c, mi, "tx_count")
        state = mi.get("state")
        write = c.set(state) if type(state) is int else None
        stays = mi.form.facts.get("no_complete") is not None

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            tokens = np.zeros(WARP, np.uint64)
            for lane, address in where.lanes(fragment):
                found = where.object(warp.cta, address)
                tokens[lane] = found.phase
                if expect and sizes is not None:
                    found.expect(int(sizes(warp)[lane]))
                arrivals = int(counts(warp)[lane]) if counts is not None else 1
                (found.drop if drop else found.arrive)(arrivals)
                if stays and found.phase != tokens[lane]:
                    raise fault(
                        "mbarrier-no-complete",
                        f"{where.op}.noComplete completes the phase of {found.name}",
                        got=f"{arrivals} arrivals, the last ones of the phase",
                        expected="an arrival that leaves the phase open",
                        section="mbarrier.arrive",
                    )
            warp.cta.machine.changed()
            if write is not None:
                write(fragment, tokens)
            return None

        return run

    return make


def _transaction(*, complete: bool) -> Maker:
    def make(c: Compiler, mi: MachineInstr) -> Step:
        where, sizes = _Where(c, mi), _count(c, mi, "tx_count")
        assert sizes is not None

        def run(fragment: Fragment) -> Outcome:
            warp = fragment.warp
            for lane, address in where.lanes(fragment):
                found = where.object(warp.cta, address)
                size = int(sizes(warp)[lane])
                (found.complete if complete else found.expect)(size)
            warp.cta.machine.changed()
            return None

        return run

    return make


def _wait(*, parity: bool) -> Maker:
    """Whether a phase has completed: the one of a token, or the one of a parity."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        where = _Where(c, mi)
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
                passed = found.passed(value & 1) if parity else found.phase > value
                sees = _may_see(warp, lanes, found) if passed else 0
                done |= sees
                if sees != lanes:
                    phase = f"parity {value & 1}" if parity else f"phase {value}"
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
    "mbarrier.test_wait": _wait(parity=False),
    "mbarrier.test_wait.parity": _wait(parity=True),
    "mbarrier.try_wait": _wait(parity=False),
    "mbarrier.try_wait.parity": _wait(parity=True),
}
