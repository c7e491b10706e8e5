"""The simulated machine: CTAs, warps, and threads that execute in strands.

Layer: nvgen.sim.  The threads of a warp execute as strands, each a program counter with a mask of
lanes; strands at the same record merge.  `nvgen.sim.threads.run` schedules them.  The state of a
launch, from the machine down to a strand: one question, whatever its length.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import WARPGROUP_WARPS
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CtaGroup
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.async_ops.engine import Engine
from nvgen.sim.async_ops.groups import BulkGroups, CopyGroups
from nvgen.sim.async_ops.multiplies import MultiplyGroups, RegisterUse
from nvgen.sim.async_ops.schedule import Mode
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.heap import Heap
from nvgen.sim.memory.layout import LocalLayout
from nvgen.sim.memory.local import LocalMemory, check_passed
from nvgen.sim.memory.regions import RANK_SHIFT, Bytes, Memory, Region
from nvgen.sim.memory.tensor_maps import TensorMaps
from nvgen.sim.memory.tensor_memory import TensorMemory
from nvgen.sim.threads.barriers import ClusterBarrier, CtaBarrier, MBarrier
from nvgen.sim.threads.limits import Limits
from nvgen.sim.threads.pairs import Meetings
from nvgen.sim.threads.warpgroups import Warpgroup

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
    """The strand must retry this record later; `why` is for the deadlock report.

    A `patient` one polls: it could go on, but only to test the same again, and waits until nothing
    else can proceed.
    """

    why: str
    patient: bool = False


class Jumped:
    """The record has moved its strand's program counter (a branch, an exit)."""


JUMPED = Jumped()

Outcome = Wait | Jumped | None
Step = Callable[["Strand"], Outcome]


@dataclass(slots=True)
class Instruction:
    """A compiled record."""

    run: Step
    mi: MachineInstr
    place: Place


@dataclass(slots=True)
class CodeBlock:
    """A block compiled."""

    name: str
    instructions: list[Instruction]


# ---- threads ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Polled:
    """A test of an mbarrier that failed; `awaits` is the phase's number."""

    barrier: MBarrier
    phase: str
    awaits: int
    op: str
    place: Place

    @property
    def what(self) -> str:
        """The barrier and the phase, in words."""
        return f"{self.barrier.name}, {self.phase}"


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A compiled function; `sizes` are the bytes of its parameters, its result and its calls'."""

    name: str
    blocks: list[CodeBlock]
    registers: Callable[[], Registers]
    params: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    local: LocalLayout = field(default_factory=LocalLayout)

    def frame(self, depth: int, local: LocalMemory) -> Frame:
        """Registers, parameters and local variables for one warp.

        Raises: Fault when parameters or local variables exceed local memory.
        """
        found = self.registers()
        check_passed(sum(self.sizes.values()))
        passed = {name: np.full((WARP, size), 0xCD, np.uint8) for name, size in self.sizes.items()}
        return Frame(self, depth, found.memory, found.values, passed, local.new_frame(self.local))


@dataclass(slots=True, eq=False)
class Frame:
    """The state of a function in a warp, at one depth of calls.

    `memory` holds all registers in one array, `passed` the parameters by name, a row for each lane;
    the local variables begin at `local`; `stack` is where the stack of each thread began.
    """

    code: Code
    depth: int
    memory: Bytes
    values: list[Values]
    passed: dict[str, Bytes]
    local: int
    loads: dict[int, AsyncOp] = field(default_factory=dict)  # register -> tcgen05.ld in flight
    multiplies: RegisterUse = field(default_factory=RegisterUse)  # of its warpgroup
    stack: NDArray[np.int64] = field(default_factory=lambda: np.zeros(WARP, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """The return address of a call, and the frame and outer return to restore."""

    frame: Frame
    block: int
    at: int
    results: tuple[str, ...]
    outer: Return | None


Loops = dict[int, tuple[int, bytes]]
"""By the last block of a loop: the machine's version and the registers at its last iteration."""


@dataclass(slots=True, eq=False)
class Strand:
    """Threads of one warp at the same record."""

    warp: Warp
    mask: int
    frame: Frame
    block: int = 0
    at: int = 0
    back: Return | None = None
    waiting: str = ""
    seen: int = -1  # the machine's version when it began to wait
    loops: Loops = field(default_factory=dict)
    polled: Polled | None = None  # its last failed test of an mbarrier
    patient: bool = False  # it polls
    nudged: bool = False  # it polls once more now
    outer_loops: list[Loops] = field(default_factory=list)  # of the callers

    @property
    def lanes(self) -> Lanes:
        """The mask as flags."""
        return lanes_of(self.mask)

    def goto(self, block: int) -> Jumped:
        """Continue at the start of a block."""
        self.block, self.at = block, 0
        return JUMPED

    def fork(self, mask: int, at: int) -> Strand:
        """Some of the threads as a strand of their own, at another record of the block."""
        found = Strand(self.warp, mask, self.frame, self.block, at, self.back)
        found.outer_loops = [{} for _ in self.outer_loops]
        self.warp.strands.append(found)
        return found

    def part(self, mask: int) -> Strand:
        """Some of the threads, for an instruction that only they execute."""
        return Strand(self.warp, mask, self.frame, self.block, self.at, self.back)


@dataclass(slots=True)
class Registers:
    """A warp's registers: one array, and a view of 32 values for each."""

    memory: Bytes
    values: list[Values]


@dataclass(slots=True, eq=False)
class Warp:
    """32 threads with their local memories and registers.

    The registers are those of `frame`, while one of its strands executes.
    """

    cta: Cta
    number: int
    frame: Frame
    local: LocalMemory
    launched: int = FULL
    alive: int = FULL
    strands: list[Strand] = field(default_factory=list)
    registers: list[Values] = field(init=False)
    frames: dict[tuple[str, int], Frame] = field(default_factory=dict)
    returns: dict[tuple[object, ...], Return] = field(default_factory=dict)
    multiplies: MultiplyGroups = field(default_factory=MultiplyGroups)
    carry: Values = field(default_factory=lambda: np.zeros(WARP, np.bool_))  # the flag CC.CF

    def __post_init__(self) -> None:
        self.registers = self.frame.values

    @property
    def state(self) -> Bytes:
        """All registers of the current function, in one array."""
        return self.frame.memory

    @property
    def loads(self) -> dict[int, AsyncOp]:
        """Loads from tensor memory in flight, by the registers that they write."""
        return self.frame.loads

    def enter(self, frame: Frame) -> None:
        """Make `frame` the current one."""
        self.frame, self.registers = frame, frame.values

    def frame_of(self, code: Code, depth: int) -> Frame:
        """The frame of a function at a depth.

        Threads that execute it at the same time use their own lanes.
        """
        found = self.frames.get((code.name, depth))
        if found is None:
            found = self.frames[code.name, depth] = code.frame(depth, self.local)
        return found

    def return_of(self, strand: Strand, results: tuple[str, ...]) -> Return:
        """The return after the record that a strand is at.

        One object for each call and callers.
        """
        at = strand.at + 1
        key = (strand.frame, strand.block, at, strand.back)
        found = self.returns.get(key)
        if found is None:
            made = Return(strand.frame, strand.block, at, results, strand.back)
            found = self.returns[key] = made
        return found

    def settle(self, registers: tuple[int, ...]) -> None:
        """Complete the loads whose registers are used now: a true dependency."""
        for register in registers:
            op = self.loads.get(register)
            if op is not None:
                self.cta.machine.engine.finish(op)

    def merge(self) -> None:
        """Merge strands that are at the same record."""
        if len(self.strands) < 2:
            return
        places: dict[tuple[object, ...], Strand] = {}
        for strand in self.strands:
            place = (strand.block, strand.at, strand.frame, strand.back)
            other = places.setdefault(place, strand)
            if other is not strand:
                other.mask |= strand.mask
                other.seen = -1
                other.loops.clear()
                other.outer_loops = [{} for _ in other.outer_loops]
        self.strands = list(places.values())


@dataclass(slots=True, eq=False)
class Cluster:
    """CTAs by their rank, and their barrier."""

    number: int = 0
    index: tuple[int, int, int] = (0, 0, 0)
    ctas: list[Cta] = field(default_factory=list)
    barrier: ClusterBarrier = field(default_factory=ClusterBarrier)
    meetings: dict[int, Meetings] = field(default_factory=dict)  # by the rank of the even CTA

    def meetings_of(self, rank: int) -> Meetings:
        """The rendezvous of the pair of a CTA."""
        return self.meetings.setdefault(rank & ~1, Meetings())

    def settle(self) -> None:
        """Complete the barrier if every thread that has not exited has arrived."""
        self.barrier.settle((cta.rank, warp) for cta in self.ctas for warp in cta.warps)

    def missing(self) -> str:
        """The CTAs and warps that have not arrived at the barrier, in words."""
        parts = []
        for cta in self.ctas:
            for warp in cta.warps:
                late = self.barrier.late(cta.rank, warp)
                if late:
                    parts.append(f"CTA {cta.number} warp {warp.number} ({late.bit_count()})")
        shown = ", ".join(parts[:_SHOWN])
        return f"{shown} and {len(parts) - _SHOWN} more warps" if len(parts) > _SHOWN else shown


_SHOWN = 6
"""The most warps that a report names."""


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
    warpgroups: dict[int, Warpgroup[Strand]] = field(default_factory=dict)

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

    def warpgroup(self, warp: int) -> Warpgroup[Strand]:
        """The warpgroup of the warp of a number.

        Raises: Fault when the CTA has not all of its four warps.
        """
        number = warp // WARPGROUP_WARPS
        found = self.warpgroups.get(number)
        if found is None:
            found = self.warpgroups[number] = Warpgroup.of(number, self.warps)
        return found

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
    """A launch that is being executed."""

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
    heap: Heap = field(default_factory=Heap)
    steps: int = 0
    _leaders: dict[int, int] = field(default_factory=dict)

    def changed(self) -> None:
        """Record a change that a waiting thread may observe."""
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
            chosen = self._leaders[mask] = self.in_some_order(lane_numbers(mask))[0]
        return chosen

    def in_some_order(self, lanes: Sequence[int]) -> list[int]:
        """Lanes in an order that is not defined: under an early schedule as they are, under a late
        one the other way round.
        """
        match self.engine.schedule.mode:
            case Mode.EARLY:
                return [*lanes]
            case Mode.LATE:
                return [*reversed(lanes)]
            case Mode.RANDOM:
                return self.engine.dice.sample(lanes, len(lanes))
