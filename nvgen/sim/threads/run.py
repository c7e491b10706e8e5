"""The scheduler of a run: strands take turns, wait, and exit.

Layer: nvgen.sim.  A strand executes a block at a time, round-robin with the others (under a
random schedule some warps are slow), until it exits or waits.  When all wait, the engine lets one
asynchronous operation take effect; when there is none, that is a deadlock.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import field

import numpy as np

from intrinsics.findings import SimulationError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Form
from intrinsics.modifiers import Sem
from nvgen.sim.actors.operation import COPIES, MAP_READ
from nvgen.sim.async_ops.engine import Engine
from nvgen.sim.async_ops.schedule import Mode
from nvgen.sim.faults import fault, located
from nvgen.sim.threads.machine import Cta, Machine, Strand, Wait, Warp
from nvgen.sim.threads.report import deadlock, unfinished

_SIGNALS = ("atom", "red", "membar", "fence")
_PAUSES = 0.3
"""How likely a strand stops behind a signal, under a random schedule."""

PATIENCE = 10_000
"""How often a polling loop may fail, with nothing in flight, before it counts as stuck."""


def check_limits(machine: Machine) -> None:
    """Check the limits of the run.

    Raises: LimitError, with the position of every warp.
    """
    if machine.steps > machine.limits.steps or machine.limits.is_late():
        raise unfinished(machine)


@dataclass(slots=True, eq=False)
class Run:
    """A launch that runs to its end."""

    machine: Machine
    nudges: int = 0  # polls of patient strands since the version below
    nudged_at: int = -1
    _paces: dict[Warp, float] = field(default_factory=dict)

    def to_end(self) -> None:
        """Run every thread to its end; arithmetic overflows and NaNs are as on a GPU.

        Raises: SimulationError.
        """
        with np.errstate(all="ignore"):
            self._turns()
            _finish(self.machine)

    def _turns(self) -> None:
        """Schedule until no thread is left."""
        machine = self.machine
        while True:
            ahead, behind = self._turn()
            if not ahead and not behind:
                break
            check_limits(machine)
            before = machine.memory.version
            moved = self._go_on(ahead) or self._go_on(behind)
            moved |= machine.memory.version != before  # an operation that took effect in between
            for cta in machine.ctas:
                for warp in cta.warps:
                    warp.merge()
            if not moved and not machine.engine.progress() and not self._nudge():
                raise deadlock(machine)

    def _go_on(self, strands: list[Strand]) -> bool:
        """Execute strands, each to its next stop; True if one made progress."""
        moved = False
        for strand in strands:
            if strand.waiting and strand.seen == self.machine.memory.version:
                continue
            if self._slice(strand):
                moved = True
            self.machine.engine.perhaps()
        return moved

    def _turn(self) -> tuple[list[Strand], list[Strand]]:
        """The strands that take a turn, in order, and those that are skipped this time.

        Under a random schedule some warps are slow, and fall far behind.
        """
        order = [f for cta in self.machine.ctas for warp in cta.warps for f in warp.strands]
        match self.machine.engine.schedule.mode:
            case Mode.EARLY:
                return order, []
            case Mode.LATE:
                return order[::-1], []
            case Mode.RANDOM:
                dice = self.machine.engine.dice
                dice.shuffle(order)
                goes = [dice.random() < self._pace(f.warp) for f in order]
                ahead = [f for f, now in zip(order, goes, strict=True) if now]
                return ahead, [f for f, now in zip(order, goes, strict=True) if not now]

    def _pace(self, warp: Warp) -> float:
        """The rate at which a warp takes turns under a random schedule."""
        pace = self._paces.get(warp)
        if pace is None:
            pace = self._paces[warp] = self.machine.engine.dice.choice((1.0, 1.0, 0.3, 0.03))
        return pace

    def _slice(self, strand: Strand) -> bool:
        """Execute a strand to the end of its block, or until it waits.

        True if it made progress.
        """
        machine, memory = self.machine, self.machine.memory
        start = strand.block, strand.at
        before = memory.version
        instructions = strand.frame.code.blocks[strand.block].instructions
        strand.warp.enter(strand.frame)
        clocks, dice = machine.engine.clocks, machine.engine.dice
        is_random = machine.engine.schedule.mode is Mode.RANDOM
        while True:
            if strand.at >= len(instructions):
                strand.goto(strand.block + 1)
                _check_end(strand)
                check_limits(machine)
                return True
            instruction = instructions[strand.at]
            machine.steps += 1
            if clocks is not None:
                clocks.turn(strand, instruction)
            try:
                outcome = instruction.run(strand)
            except SimulationError as error:
                by = f"CTA {strand.warp.cta.number}" if len(machine.ctas) > 1 else ""
                raise located(error, instruction.place, instruction.mi.opcode, by) from None
            if outcome is None:
                strand.at += 1
                if is_random and _is_signal(instruction.mi.form) and dice.random() < _PAUSES:
                    return True
            elif isinstance(outcome, Wait):
                strand.waiting, strand.seen = outcome.why, memory.version
                strand.patient = outcome.patient
                return (strand.block, strand.at) != start or memory.version != before
            else:
                strand.waiting = ""
                check_limits(machine)
                return True
            strand.waiting = ""

    def _nudge(self) -> bool:
        """Let the polling strands poll again.

        False if there are none, or they did so often enough.
        """
        if self.machine.memory.version != self.nudged_at:
            self.nudged_at, self.nudges = self.machine.memory.version, 0
        self.nudges += 1
        patient = [
            strand
            for cta in self.machine.ctas
            for warp in cta.warps
            for strand in warp.strands
            if strand.waiting and strand.patient
        ]
        for strand in patient:
            strand.nudged, strand.seen = True, -1
        return bool(patient) and self.nudges <= PATIENCE


@functools.cache
def _is_signal(form: Form) -> bool:
    """Whether threads tell others something in memory by records of a form, or fence that."""
    if form.row.id.startswith(_SIGNALS):
        return True
    return form.row.id in ("ld", "st") and form.attributes.get("sem") not in (None, Sem.WEAK)


def _check_end(strand: Strand) -> None:
    code = strand.frame.code
    if strand.block >= len(code.blocks):
        raise fault(
            "end-of-code",
            f"control runs past the end of {code.name}",
            hint="end the last block with ret",
        )


# ---- ends ------------------------------------------------------------------------------------


def _finish(machine: Machine) -> None:
    """Check the end of a launch: no operation in flight, no tensor memory allocated.

    Allowed are writes of bulk copies to global memory that have read their source, and cp.async
    copies that no thread reads.
    """
    engine = machine.engine
    engine.finish_all(op for op in engine.in_flight if op.kind in (*COPIES, MAP_READ))
    engine.finish_all(op for op in engine.in_flight if op.kind == "remote")
    engine.finish_all(op for op in engine.in_flight if op.kind == "bulk" and op.ready)
    left = [*_in_flight(engine), *_allocated(machine.ctas), *_left_out(machine.ctas)]
    if left:
        raise SimulationError([finding for error in left for finding in error.findings[:1]])


def _in_flight(engine: Engine) -> Iterator[SimulationError]:
    """The first operation that no thread has waited for."""
    for op in engine.in_flight[:1]:
        error = fault(
            "exit-pending",
            f"the kernel ends while {op} is under way",
            expected="a wait for its completion",
        )
        yield located(error, op.place, op.name)


def _allocated(ctas: Iterable[Cta]) -> Iterator[SimulationError]:
    """Tensor memory that is not freed."""
    for cta in ctas:
        for column, count in cta.tensor.allocations.items():
            yield fault(
                "tensor-memory-leak",
                "tensor memory is not deallocated at exit",
                got=f"{count} columns at {column} of CTA {cta.number}",
                expected="tcgen05.dealloc before the kernel exits",
                section="tcgen05.alloc",
                place=cta.tensor.places.get(column),
            )


def _left_out(ctas: Iterable[Cta]) -> Iterator[SimulationError]:
    """Instructions that only a part of a warpgroup has executed."""
    for cta in ctas:
        for group in cta.warpgroups.values():
            error = group.left_out()
            if error is not None:
                yield error
