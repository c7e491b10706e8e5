"""The state of a run: what events and pure records read and change.

Layer: isel.verifier.ordering.  `execute` schedules the warps; events and plain records act on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from intrinsics.mir import (
    FloatImm,
    Imm,
    MachineFunction,
    Mem,
    Module,
    Not,
    Op,
    Special,
    Sym,
)
from isel.verifier.ordering.integers.numbers import Number, lanewise, merged, moved
from isel.verifier.ordering.integers.windows import in_window, offset_of, rank_of
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.program import Program
from isel.verifier.ordering.run.clocks import Source
from isel.verifier.ordering.run.log import Log, Tracked
from isel.verifier.ordering.run.machine import Launch, Machine, special
from isel.verifier.ordering.run.strand import Strand
from isel.verifier.ordering.run.synchronisation import Delivery, Mbarrier


class RunState:
    """A cluster in the middle of a run: its machine, and its strands; `ready` are the runnable
    ones.

    `budget` is how many more records may be executed, `most_quiet` how many of them while no warp
    comes to an event, and `least` the budget at which that many are; in a `late` run asynchronous
    operations complete as late as they can.  A run that `seeks` is made to learn which CTAs the
    cluster has: when one is named that it lacks, it takes at most as long again.
    """

    def __init__(
        self, module: Module, function: MachineFunction, program: Program, launch: Launch,
        budget: int, *, late: bool = False, seeks: bool = False,
    ) -> None:  # fmt: skip
        self.program = program
        self.launch = launch
        self.machine = Machine.of(module, function, launch)
        self.budget = budget
        self.most_quiet = self.least = 0
        self.late = late
        self._whole = budget if seeks else 0
        self.end = len(program.steps)
        self.strands: list[Strand] = []
        self.of_warps: dict[int, list[Strand]] = {}
        self.ready: deque[Strand] = deque()
        self._specials: dict[tuple[str, int, int], Number] = {}
        self._places: dict[int, tuple[str, int]] = {}
        self._anywhere: dict[tuple[int, int], tuple[Region, ...]] = {}

    @property
    def log(self) -> Log:
        """The log of the run so far."""
        return self.machine.log

    # ---- operands ------------------------------------------------------------------------------

    def value(self, strand: Strand, op: Op | None) -> Number:
        """The value of an operand for the threads of a strand."""
        if type(op) is int:
            return strand.registers.get(op)
        if type(op) is Imm:
            return op.value
        if op is None:
            return None
        if type(op) is Mem:
            base = op.base
            number = strand.registers.get(base) if type(base) is int else self.value(strand, base)
            return moved(number, op.offset) if op.offset else number
        if type(op) is Sym:
            return moved(self.machine.address(op.name, strand), op.offset)
        if type(op) is Not:
            return lanewise(lambda x: x ^ 1, strand.registers.get(op.reg))
        if type(op) is Special:
            key = op.name, strand.rank, strand.warp
            if key not in self._specials:
                self._specials[key] = special(op.name, self.launch, strand.rank, strand.warp)
            return self._specials[key]
        return op.bits if type(op) is FloatImm else None

    def write(self, strand: Strand, op: Op | None, number: Number, mask: int) -> None:
        """Write a register in the lanes of a mask, if it is in the slice."""
        if type(op) is int:
            if op not in self.program.wanted:
                return
            old = strand.registers.get(op)
            strand.registers[op] = number if mask == strand.mask else merged(old, number, mask)
        elif isinstance(op, tuple):
            for one in op:
                self.write(strand, one, number, mask)

    # ---- threads -------------------------------------------------------------------------------

    def others(self, strand: Strand) -> list[Strand]:
        """The other strands of the warp."""
        there = self.of_warps[strand.actor]
        return [s for s in there if s is not strand] if len(there) > 1 else []

    def lanes_of(self, strand: Strand) -> int:
        """How many threads of the warp have not exited."""
        return sum(s.mask.bit_count() for s in self.of_warps[strand.actor])

    def begin(self, strand: Strand) -> None:
        """Add a strand to its warp."""
        self.strands.append(strand)
        self.of_warps.setdefault(strand.actor, []).append(strand)

    def end_of(self, strand: Strand) -> None:
        """Remove a strand from its warp."""
        self.strands.remove(strand)
        self.of_warps[strand.actor].remove(strand)

    def together(self, strand: Strand) -> list[Strand]:
        """The other strands of the warp at the same record."""
        here = strand.node, strand.step, strand.joins
        return [s for s in self.others(strand) if (s.node, s.step, s.joins) == here]

    def take_in(self, strand: Strand, other: Strand) -> None:
        """Reconverge with a strand at the same record."""
        strand.unite(other)
        self.end_of(other)
        if other in self.ready:
            self.ready.remove(other)

    def gather(self, strand: Strand, index: int) -> bool:
        """Wait at a record for all threads of the warp.

        Whether the strand goes on, with all of them.
        """
        for other in self.others(strand):
            if (other.node, other.step) == (strand.node, strand.step):
                self.take_in(strand, other)
        if not self.others(strand) or strand.failed:
            strand.failed = False
            return True

        def all_here() -> bool:
            place = strand.node, strand.step
            return all((s.node, s.step) == place for s in self.others(strand))

        return self.wait(strand, index, all_here, None, "the other threads of its warp")

    def wait(
        self, strand: Strand, index: int, over: Callable[[], bool],
        resume: Callable[[], bool] | None, what: str, mbarrier: int | None = None,
    ) -> bool:  # fmt: skip
        """Block a strand before a record until `over` holds, and then do `resume` there."""
        strand.mbarrier = mbarrier
        strand.waiting, strand.resume, strand.what, strand.at = over, resume, what, index
        return False

    def deliver(self, mbarrier: Mbarrier, what: Delivery) -> None:
        """Queue the effect of an asynchronous operation on an mbarrier, for when it completes."""
        mbarrier.outstanding.append(what)
        self.machine.outstanding[mbarrier.at] = mbarrier
        self.machine.changed = True

    def track(self, source: Source, count: int, mbarrier: Mbarrier) -> None:
        """Log the mbarrier that tracks the first `count` operations of a source."""
        found = Tracked(count, mbarrier.at, self.name_of(mbarrier.at), mbarrier.phase)
        self.log.tracked.setdefault(source, []).append(found)

    def absent(self, address: int) -> None:
        """Note that no mbarrier was initialised at an address.

        A rule of its own reports it if it is certain.
        """
        rank = rank_of(address)
        is_there = rank < self.launch.ctas
        if not is_there and rank > self.log.highest_rank:
            self.log.highest_rank = rank
            if self._whole:
                self.budget = min(self.budget, self._whole - self.budget)
        if self.log.guessed or not is_there:
            self.log.cannot_follow(f"no mbarrier at {address:#x}")

    def anywhere(self, index: int, rank: int, *, writes: bool) -> tuple[Region, ...]:
        """The variable that a record accesses at an index which follows from data alone."""
        found = self._anywhere.get((index, rank))
        if found is None:
            name = self.program.indexed(index)
            there = [v for v in self.machine.variables if v.name == name and v.sized]
            found = self._anywhere[index, rank] = tuple(
                Region(
                    Memory.SHARED, rank, in_window(v.first, rank), in_window(v.last, rank),
                    writes=writes, exact=False,
                )
                for v in there
            )  # fmt: skip
        return found

    def name_of(self, address: int) -> str:
        """A shared address in words: its variable and offset."""
        name, offset = self.place_of(address)
        return f"{name}+{offset}" if offset else name

    def place_of(self, address: int) -> tuple[str, int]:
        """The variable that a shared address lies in, and its offset there."""
        found = self._places.get(address)
        if found is None:
            offset = offset_of(address)
            there = [(at, name) for name, at in self.machine.addresses.items() if at <= offset]
            first, name = max(there, default=(0, ""))
            found = self._places[address] = name, offset - first
        return found
