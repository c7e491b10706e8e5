"""The simulated machine: CTAs, warps, and threads that run in groups.

Layer: nvgen.sim.  The threads of a warp run as fragments, each a program counter with a mask of
lanes; fragments at the same place merge.  A fragment runs a block at a time, fairly with the others
(under a random schedule some warps are slow), until it ends, or waits: for a barrier, for the rest
of its warp, for a value that a loop polls.  When all wait, the engine lets one asynchronous
operation take effect; when there is none, that is a deadlock.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Finding, Place, SimulationError
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CtaGroup
from nvgen.sim.async_ops.engine import (
    COPIES,
    MAP_READ,
    AsyncOp,
    BulkGroups,
    CopyGroups,
    Engine,
    Mode,
)
from nvgen.sim.async_ops.multiplies import MultiplyGroups, RegisterUse
from nvgen.sim.faults import fault, located, not_simulated
from nvgen.sim.memory.layout import LocalLayout
from nvgen.sim.memory.local import LocalMemory
from nvgen.sim.memory.regions import Bytes, Memory, Region
from nvgen.sim.memory.tensor_maps import TensorMaps
from nvgen.sim.memory.tensor_memory import TensorMemory
from nvgen.sim.threads.barriers import CtaBarrier, MBarrier
from nvgen.sim.threads.clusters import RANK_SHIFT, Cluster
from nvgen.sim.threads.limits import Limits
from nvgen.sim.threads.warpgroups import Warpgroup, left_out

WARP = 32
FULL = (1 << WARP) - 1

Lanes = NDArray[np.bool_]
Values = NDArray[np.generic]


@functools.cache
def lanes_of(mask: int) -> Lanes:
    """A mask as an array of 32 flags."""
    flags = np.array([mask >> lane & 1 for lane in range(WARP)], np.bool_)
    flags.setflags(write=False)
    return flags


def mask_of(flags: Lanes) -> int:
    """32 flags as a mask."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


@functools.cache
def lane_numbers(mask: int) -> tuple[int, ...]:
    """The lanes of a mask, in order."""
    return tuple(lane for lane in range(WARP) if mask >> lane & 1)


def first_lane(mask: int) -> int:
    """The lowest lane of a mask."""
    return (mask & -mask).bit_length() - 1


# ---- outcomes --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wait:
    """The fragment must try this record again later; `why` is for the deadlock report.

    A `patient` one could go on, but only to ask the same again: it waits until nothing else moves.
    """

    why: str
    patient: bool = False


class Jumped:
    """The record has moved its fragment (a branch, an exit)."""


JUMPED = Jumped()

Outcome = Wait | Jumped | None
Step = Callable[["Fragment"], Outcome]


@dataclass(slots=True)
class Instruction:
    """A record compiled: what it does, and what to call it."""

    run: Step
    mi: MachineInstr
    place: Place


@dataclass(slots=True)
class CodeBlock:
    """A block compiled."""

    name: str
    instructions: list[Instruction]


# ---- threads ---------------------------------------------------------------------------------


PATIENCE = 10_000
"""How often a loop may ask in vain, with nothing else under way, before it counts as stuck."""


@dataclass(frozen=True, slots=True)
class Polled:
    """A look at an mbarrier that found its phase not complete."""

    barrier: MBarrier
    phase: str
    op: str
    place: Place

    @property
    def what(self) -> str:
        """The barrier and the phase, in words."""
        return f"{self.barrier.name}, {self.phase}"


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A function compiled; `sizes` are the bytes of its parameters, its result and its calls'."""

    name: str
    blocks: list[CodeBlock]
    registers: Callable[[], Registers]
    params: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    local: LocalLayout = field(default_factory=LocalLayout)

    def frame(self, depth: int, local: LocalMemory) -> Frame:
        """Registers, parameters and local variables for one warp.

        Raises: Fault when the local variables find no place any more.
        """
        found = self.registers()
        passed = {name: np.full((WARP, size), 0xCD, np.uint8) for name, size in self.sizes.items()}
        return Frame(self, depth, found.memory, found.values, passed, local.place(self.local))


@dataclass(slots=True, eq=False)
class Frame:
    """What a warp's threads have of a function at one depth of calls.

    `memory` holds all registers in one piece, `passed` the parameters by name, a row for each lane;
    the local variables begin at `local`; `stack` is where the stack of each thread began.
    """

    code: Code
    depth: int
    memory: Bytes
    values: list[Values]
    passed: dict[str, Bytes]
    local: int
    loads: dict[int, AsyncOp] = field(default_factory=dict)  # register -> tcgen05.ld under way
    multiplies: RegisterUse = field(default_factory=RegisterUse)  # of its warpgroup
    stack: NDArray[np.int64] = field(default_factory=lambda: np.zeros(WARP, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """Where threads go on after a call, and what they go back to then."""

    frame: Frame
    block: int
    at: int
    results: tuple[str, ...]
    outer: Return | None


@dataclass(slots=True, eq=False)
class Fragment:
    """Threads of one warp that are at the same place."""

    warp: Warp
    mask: int
    frame: Frame
    block: int = 0
    at: int = 0
    back: Return | None = None
    waiting: str = ""
    seen: int = -1  # the machine's version when it began to wait
    loops: dict[int, tuple[int, int]] = field(default_factory=dict)
    polled: Polled | None = None  # the mbarrier that it asked last, in vain
    patient: bool = False  # waits although it could go on
    nudged: bool = False  # and goes on now
    outer_loops: list[dict[int, tuple[int, int]]] = field(default_factory=list)  # of the callers

    @property
    def lanes(self) -> Lanes:
        """The mask as flags."""
        return lanes_of(self.mask)

    def goto(self, block: int) -> Jumped:
        """Go on at the start of a block."""
        self.block, self.at = block, 0
        return JUMPED

    def fork(self, mask: int, at: int) -> Fragment:
        """Some of the threads as a fragment of their own, at another record of the block."""
        found = Fragment(self.warp, mask, self.frame, self.block, at, self.back)
        found.outer_loops = [{} for _ in self.outer_loops]
        self.warp.fragments.append(found)
        return found

    def part(self, mask: int) -> Fragment:
        """Some of the threads, while they do one thing more or less than the others."""
        return Fragment(self.warp, mask, self.frame, self.block, self.at, self.back)


@dataclass(slots=True)
class Registers:
    """A warp's registers: the memory that holds them all, and each as an array of 32 values."""

    memory: Bytes
    values: list[Values]


@dataclass(slots=True, eq=False)
class Warp:
    """32 threads with their local memories and registers: those of `frame`, while one of its
    fragments runs.
    """

    cta: Cta
    number: int
    frame: Frame
    local: LocalMemory
    launched: int = FULL
    alive: int = FULL
    fragments: list[Fragment] = field(default_factory=list)
    registers: list[Values] = field(init=False)
    frames: dict[tuple[str, int], Frame] = field(default_factory=dict)
    returns: dict[tuple[object, ...], Return] = field(default_factory=dict)
    carry: Values = field(default_factory=lambda: np.zeros(WARP, np.bool_))  # the flag CC.CF

    def __post_init__(self) -> None:
        self.registers = self.frame.values

    @property
    def state(self) -> Bytes:
        """All registers of the function that runs, in one piece."""
        return self.frame.memory

    @property
    def loads(self) -> dict[int, AsyncOp]:
        """Loads from tensor memory under way, by the registers that they write."""
        return self.frame.loads

    def enter(self, frame: Frame) -> None:
        """Let the registers be those of `frame`."""
        self.frame, self.registers = frame, frame.values

    def frame_of(self, code: Code, depth: int) -> Frame:
        """The frame of a function at a depth: threads that are there at once share it by lanes."""
        found = self.frames.get((code.name, depth))
        if found is None:
            found = self.frames[code.name, depth] = code.frame(depth, self.local)
        return found

    def way_back(self, fragment: Fragment, results: tuple[str, ...]) -> Return:
        """Where a fragment goes on behind the record that it is at; one object for each place."""
        at = fragment.at + 1
        key = (fragment.frame, fragment.block, at, fragment.back)
        found = self.returns.get(key)
        if found is None:
            made = Return(fragment.frame, fragment.block, at, results, fragment.back)
            found = self.returns[key] = made
        return found

    def settle(self, registers: tuple[int, ...]) -> None:
        """Finish the loads whose registers are used now: a true dependency is respected."""
        for register in registers:
            op = self.loads.get(register)
            if op is not None:
                self.cta.machine.engine.finish(op)

    def merge(self) -> None:
        """Make one fragment of those that stand at the same place."""
        if len(self.fragments) < 2:
            return
        places: dict[tuple[object, ...], Fragment] = {}
        for fragment in self.fragments:
            place = (fragment.block, fragment.at, fragment.frame, fragment.back)
            other = places.setdefault(place, fragment)
            if other is not fragment:
                other.mask |= fragment.mask
                other.seen = -1
                other.loops.clear()
                other.outer_loops = [{} for _ in other.outer_loops]
        self.fragments = list(places.values())


@dataclass(slots=True, eq=False)
class Cta:
    """A thread block: its warps, memories and barriers."""

    machine: Machine
    index: tuple[int, int, int]
    number: int
    rank: int
    shared: Region
    params: Region
    dynamic_size: int = 0
    cluster: Cluster = field(default_factory=Cluster)
    warps: list[Warp] = field(default_factory=list)
    tensor: TensorMemory = field(default_factory=TensorMemory)
    mbarriers: dict[int, MBarrier] = field(default_factory=dict)
    barriers: dict[int, CtaBarrier] = field(default_factory=dict)
    bulk: dict[tuple[int, int], BulkGroups] = field(default_factory=dict)  # by warp and lane
    copies: dict[tuple[int, int], CopyGroups] = field(default_factory=dict)  # by warp and lane
    multiplies: dict[int, MultiplyGroups] = field(default_factory=dict)  # by warp
    warpgroups: dict[int, Warpgroup] = field(default_factory=dict)

    def barrier(self, number: int) -> CtaBarrier:
        """Barrier `number` of the CTA."""
        if not 0 <= number < 16:
            raise fault(
                "barrier",
                "a CTA has sixteen barriers",
                got=str(number),
                expected="0..15",
                section="barrier",
            )
        return self.barriers.setdefault(number, CtaBarrier(number))

    @property
    def threads_alive(self) -> int:
        """Threads that have not exited."""
        return sum(warp.alive.bit_count() for warp in self.warps)

    @property
    def peer(self) -> Cta | None:
        """The other CTA of the pair, whose rank differs in the last bit; None without one."""
        other = self.rank ^ 1
        return self.cluster.ctas[other] if other < len(self.cluster.ctas) else None

    def symbol(self, name: str) -> int:
        """The address of a variable or parameter; that of a shared one has the CTA's rank.

        Raises: NotSimulatedError for what has no memory here.
        """
        found = self.machine.symbol(name)
        return found | self.rank << RANK_SHIFT if name in self.machine.shared_names else found


@dataclass(slots=True, eq=False)
class Machine:
    """A launch under way."""

    functions: Mapping[str, Code]
    memory: Memory
    engine: Engine
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    symbols: dict[str, int]
    tensor_maps: TensorMaps
    limits: Limits
    shared_names: frozenset[str] = frozenset()
    explicit_cluster: bool = False
    cta_group: CtaGroup | None = None  # of the first tcgen05 instruction that has one
    ctas: list[Cta] = field(default_factory=list)
    steps: int = 0
    nudges: int = 0  # how often patient fragments were let go on, since the version below
    nudged_at: int = -1
    _leaders: dict[int, int] = field(default_factory=dict)
    _paces: dict[Warp, float] = field(default_factory=dict)

    def changed(self) -> None:
        """Note that something a waiting thread may look at has changed."""
        self.memory.version += 1

    def symbol(self, name: str) -> int:
        """The address of a variable or parameter.

        Raises: NotSimulatedError for what has no memory here, such as a function.
        """
        if name not in self.symbols:
            raise not_simulated(f"the address of {name}")
        return self.symbols[name]

    def leader(self, mask: int) -> int:
        """The lane that elect.sync elects among `mask`: always the same one for the same mask."""
        chosen = self._leaders.get(mask)
        if chosen is None:
            lanes = lane_numbers(mask)
            match self.engine.schedule.mode:
                case Mode.EARLY:
                    chosen = lanes[0]
                case Mode.LATE:
                    chosen = lanes[-1]
                case Mode.RANDOM:
                    chosen = self.engine.dice.choice(lanes)
            self._leaders[mask] = chosen
        return chosen

    # ---- running -----------------------------------------------------------------------------

    def run(self) -> None:
        """Run every thread to its end.

        Raises: SimulationError.
        """
        while True:
            ahead, behind = self._turn()
            if not ahead and not behind:
                break
            self.check_limits()
            before = self.memory.version
            moved = self._go_on(ahead) or self._go_on(behind)
            moved |= self.memory.version != before  # an operation that took effect in between
            for cta in self.ctas:
                for warp in cta.warps:
                    warp.merge()
            if not moved and not self.engine.progress() and not self._nudge():
                self._stuck()
        self._finish()

    def _go_on(self, fragments: list[Fragment]) -> bool:
        """Let fragments run, each to its next stop; True if one did anything."""
        moved = False
        for fragment in fragments:
            if fragment.waiting and fragment.seen == self.memory.version:
                continue
            if self._slice(fragment):
                moved = True
            self.engine.perhaps()
        return moved

    def _turn(self) -> tuple[list[Fragment], list[Fragment]]:
        """The fragments in the order of their turns, and those who wait for the others this time.

        Under a random schedule some warps are slow, and fall far behind.
        """
        order = [f for cta in self.ctas for warp in cta.warps for f in warp.fragments]
        match self.engine.schedule.mode:
            case Mode.EARLY:
                return order, []
            case Mode.LATE:
                return order[::-1], []
            case Mode.RANDOM:
                dice = self.engine.dice
                dice.shuffle(order)
                goes = [dice.random() < self._pace(f.warp) for f in order]
                ahead = [f for f, now in zip(order, goes, strict=True) if now]
                return ahead, [f for f, now in zip(order, goes, strict=True) if not now]

    def _pace(self, warp: Warp) -> float:
        """How often a warp takes its turn under a random schedule."""
        pace = self._paces.get(warp)
        if pace is None:
            pace = self._paces[warp] = self.engine.dice.choice((1.0, 1.0, 0.3, 0.03))
        return pace

    def _slice(self, fragment: Fragment) -> bool:
        """Run a fragment to the end of its block, or until it waits; True if it did anything."""
        start = fragment.block, fragment.at
        before = self.memory.version
        instructions = fragment.frame.code.blocks[fragment.block].instructions
        fragment.warp.enter(fragment.frame)
        clocks = self.engine.clocks
        while True:
            if fragment.at >= len(instructions):
                fragment.goto(fragment.block + 1)
                self._check_end(fragment)
                self.check_limits()
                return True
            instruction = instructions[fragment.at]
            self.steps += 1
            if clocks is not None:
                clocks.turn(fragment, instruction)
            try:
                outcome = instruction.run(fragment)
            except SimulationError as error:
                raise self._told(error, instruction, fragment) from None
            if outcome is None:
                fragment.at += 1
            elif isinstance(outcome, Wait):
                fragment.waiting, fragment.seen = outcome.why, self.memory.version
                fragment.patient = outcome.patient
                return (fragment.block, fragment.at) != start or self.memory.version != before
            else:
                fragment.waiting = ""
                self.check_limits()
                return True
            fragment.waiting = ""

    def _check_end(self, fragment: Fragment) -> None:
        code = fragment.frame.code
        if fragment.block >= len(code.blocks):
            raise fault(
                "end-of-code",
                f"control runs past the end of {code.name}",
                hint="end the last block with ret",
            )

    def check_limits(self) -> None:
        """Whether the run may go on.

        Raises: LimitError, which says where every warp stands.
        """
        if self.steps <= self.limits.steps and not self.limits.is_late():
            return
        from nvgen.sim.threads.report import unfinished

        raise unfinished(self)

    def _told(
        self, error: SimulationError, instruction: Instruction, fragment: Fragment
    ) -> SimulationError:
        return located(error, instruction.place, instruction.mi.opcode)

    # ---- ends --------------------------------------------------------------------------------

    def _nudge(self) -> bool:
        """Let the patient fragments go on; False if there are none, or they asked often enough."""
        if self.memory.version != self.nudged_at:
            self.nudged_at, self.nudges = self.memory.version, 0
        self.nudges += 1
        patient = [
            fragment
            for cta in self.ctas
            for warp in cta.warps
            for fragment in warp.fragments
            if fragment.waiting and fragment.patient
        ]
        for fragment in patient:
            fragment.nudged, fragment.seen = True, -1
        return bool(patient) and self.nudges <= PATIENCE

    def _stuck(self) -> None:
        from nvgen.sim.threads.report import deadlock

        raise deadlock(self)

    def _finish(self) -> None:
        """All threads have exited: nothing may be under way, nothing may be kept.

        Only what a bulk copy has read already may still be on its way to global memory, and small
        copies to shared memory that nobody will read.
        """
        findings: list[Finding] = []
        self.engine.finish_all(op for op in self.engine.pending if op.kind in (*COPIES, MAP_READ))
        self.engine.finish_all(op for op in self.engine.pending if op.kind == "remote")
        self.engine.finish_all(op for op in self.engine.pending if op.kind == "bulk" and op.ready)
        if self.engine.pending:
            op = self.engine.pending[0]
            findings.append(
                located(
                    fault(
                        "exit-pending",
                        f"the kernel ends while {op} is under way",
                        expected="a wait for its completion",
                    ),
                    op.place,
                    op.name,
                ).findings[0]
            )
        for cta in self.ctas:
            for column, count in cta.tensor.allocations.items():
                findings.append(
                    fault(
                        "tensor-memory-leak",
                        "tensor memory is not deallocated at exit",
                        got=f"{count} columns at {column} of CTA {cta.number}",
                        expected="tcgen05.dealloc before the kernel exits",
                        section="tcgen05.alloc",
                        place=cta.tensor.places.get(column),
                    ).findings[0]
                )
        findings += (error.findings[0] for error in left_out(self.ctas))
        if findings:
            raise SimulationError(findings)
