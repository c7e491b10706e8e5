"""Abstract execution of a kernel, for its synchronisation.

Layer: isel.verifier.ordering.  Input: a program and how it is launched.  Output: the log of a run.
Warps run until they wait.  When all wait, asynchronous operations complete; when none is left that
could, it is a deadlock.  Where a branch depends on unknown data, a loop is left after `ROUNDS`
iterations, and other branches take both successors; such a run is `guessed`.
"""

from __future__ import annotations

from intrinsics.mir import MachineInstr, Not, Reg
from intrinsics.row import IssueScope
from isel.verifier.function.flow.values import LANES
from isel.verifier.ordering import lifetimes
from isel.verifier.ordering.events import event_of
from isel.verifier.ordering.events.execution import Execution, nothing
from isel.verifier.ordering.integers.calculations import Calculation, Straight
from isel.verifier.ordering.integers.numbers import masks_of
from isel.verifier.ordering.integers.windows import in_window, rank_of
from isel.verifier.ordering.program import Step
from isel.verifier.ordering.run.clocks import ThreadClocks, source_of, zero
from isel.verifier.ordering.run.log import End, Log, Stuck
from isel.verifier.ordering.run.machine import Launch
from isel.verifier.ordering.run.plain import compute
from isel.verifier.ordering.run.plain_step import Plain
from isel.verifier.ordering.run.run_state import RunState
from isel.verifier.ordering.run.strand import Strand
from isel.verifier.ordering.run.synchronisation import Mbarrier

ROUNDS = 3
"""Iterations of a loop whose condition is not known."""

_QUIET = 4
"""The part of the budget, one in so many, after which a run ends if no warp comes to an event: a
loop that counts down from 0 does nothing else until the budget is spent.
"""


class Run(RunState):
    """One run of a cluster; `budget` is how many records it may execute.

    Warps are scheduled round-robin, one event each.  Asynchronous operations complete at once; in a
    `late` run only when no warp can proceed, the last warps are scheduled first, and each wait
    fails once before it blocks.
    """

    def run(self) -> Log:
        """Execute all warps until they exit, deadlock, or spend the budget."""
        threads = self.launch.threads
        for rank in range(self.launch.ctas):
            for warp in range(-(-threads // LANES)):
                count = min(threads - warp * LANES, LANES)
                self.begin(Strand(rank, warp, (1 << count) - 1, clocks=_begun(self.launch, rank)))
        self.ready.extend(reversed(self.strands) if self.late else self.strands)
        self.most_quiet = self.budget // _QUIET
        self.least = self.budget - self.most_quiet
        while self.budget > 0:
            while self.ready and self.budget > 0:
                self._advance(self.ready.popleft())
                if not self.late and self.machine.changed:
                    self.machine.changed = False
                    self._deliver(known=True)
            if self.budget <= 0 or not (self._wake() or self._deliver() or self._retry()):
                break
        for at, mbarrier in self.machine.mbarriers.items():
            self.log.late += [(self.name_of(at), waiter) for waiter in mbarrier.late]
        self.log.truncated = self.budget <= 0
        if not self.log.truncated:
            for at, uses in self.machine.uninitialised.items():
                if rank_of(at) < self.launch.ctas:
                    index, who = uses[0]
                    self.log.uninitialised.setdefault(index, f"{who} at {self.name_of(at)}")
            self._end()
        return self.log

    def _end(self) -> None:
        """Log the waits that never end, or else the tensor memory that is still allocated."""
        self.log.stuck += [self._stuck(s) for s in self.strands if s.waiting is not None]
        if self.log.stuck:
            return
        for mine in self.machine.allocations.values():
            for one in mine:
                if one.freed is None and not one.lost:
                    self.log.left(
                        lifetimes.NEVER_FREED, one.index, "a way on which nothing frees it"
                    )

    def _stuck(self, s: Strand) -> Stuck:
        """A wait that never ends, and what is known of its mbarrier."""
        at = s.mbarrier
        mbarrier = None if at is None else self.machine.mbarriers.get(at)
        begins = all(one.mbarrier is not mbarrier for one in self.log.waits.get(s.actor, ()))
        return Stuck(
            s.at,
            s.actor,
            s.what,
            at_mbarrier=at is not None,
            without_arrivals=at is not None and self._has_arrivals_elsewhere(at),
            progress=None if mbarrier is None else mbarrier.progress,
            alone=mbarrier is not None and not self._is_helped(mbarrier),
            elsewhere=() if at is None else self._signals_elsewhere(at),
            behind=self.program.reachable(s.node, s.warp) if begins else frozenset[int](),
        )

    def _is_helped(self, mbarrier: Mbarrier) -> bool:
        """Whether threads that wait for something else may signal an mbarrier in this phase.

        Where more bytes came than were expected, nobody can; where nothing has ever arrived, or no
        byte, it is not known who would.
        """
        if not mbarrier.pending and mbarrier.bytes < mbarrier.expected_bytes:
            return False
        others = [s for s in self.strands if s.mbarrier != mbarrier.at]
        if not mbarrier.pending or not mbarrier.signals:
            return bool(others)
        return any(
            s.actor not in mbarrier.came
            and not self.program.reachable(s.node, s.warp).isdisjoint(mbarrier.signals)
            for s in others
        )

    def _signals_elsewhere(self, address: int) -> tuple[int, ...]:
        """The records that signal other mbarriers of the same variable, in this CTA or another."""
        variable, _ = self.place_of(address)
        return tuple(
            index
            for at, one in self.machine.mbarriers.items()
            if at != address and self.place_of(at)[0] == variable
            for index in one.signals
        )

    def _has_arrivals_elsewhere(self, address: int) -> bool:
        """Whether an mbarrier got no arrival, but the one at the same offset in another CTA did."""
        mbarriers = self.machine.mbarriers
        others = [in_window(address, rank) for rank in range(self.launch.ctas)]
        arrived = [at for at in others if at in mbarriers and mbarriers[at].has_arrivals]
        return bool(arrived) and address not in arrived

    # ---- what waits ----------------------------------------------------------------------------

    def _wake(self) -> bool:
        """Resume the threads whose wait is over; whether there were any."""
        woken = [s for s in self.strands if s.waiting is not None and s.waiting()]
        if woken:
            for strand in self.strands:
                strand.failed = False
        for strand in woken:
            strand.waiting = None
        self.ready.extend(reversed(woken) if self.late else woken)
        return bool(woken)

    def _deliver(self, *, known: bool = False) -> bool:
        """Complete asynchronous operations; whether that may have changed a phase.

        Where all threads wait, operations on mbarriers that are waited for complete first: copies
        of unknown size may have successors in the same phase.
        """
        there = self.machine.mbarriers
        found = {
            at: m
            for at, m in self.machine.outstanding.items()
            if m.outstanding and there.get(at) is m
        }
        self.machine.outstanding = dict(found)
        if known:
            delivered = [m.deliver(known=True) for m in found.values()]
        else:
            awaited = {s.mbarrier for s in self.strands if s.waiting is not None}
            delivered = [m.deliver() for at, m in found.items() if at in awaited]
            if not any(delivered):
                delivered = [m.deliver() for m in found.values()]
        return self._wake() or any(delivered)

    def _retry(self) -> bool:
        """Resume threads, once, whose wait may end otherwise; whether there were any.

        First those whose wait may return without success, then those that wait to reconverge, then
        those that another cluster may wake.
        """
        waiting = [s for s in self.strands if s.waiting is not None]
        found = [s for s in waiting if not s.failed and s.at in self.machine.polls]
        if not found:
            found = [s for s in waiting if s.what == "join"]
            for strand in found:
                strand.joins.pop()
        found = found or [s for s in waiting if s.at in self.machine.ended_elsewhere]
        for strand in found:
            strand.failed = strand.what != "join"
            strand.waiting = None
        self.ready.extend(found)
        return bool(found)

    # ---- one strand ----------------------------------------------------------------------------

    def _advance(self, strand: Strand) -> None:
        """Execute a strand until it waits or ends."""
        while self.budget > 0:
            if strand.node >= self.end:
                self._finish(strand)
                return
            joins = strand.joins and strand.node == strand.joins[-1] and strand.step == 0
            if joins and not self._join(strand):
                return
            steps = self.program.steps[strand.node]
            while strand.step < len(steps):
                step = steps[strand.step]
                if step.straight is not None and self._pass(strand, step.straight):
                    continue
                self.budget -= 1
                if step.calculation is not None and step.mi.guard is None:
                    self._calculate(strand, step.calculation, strand.mask)
                elif not self._execute(strand, step):
                    return
                strand.step += 1
                if step.is_event:
                    self.ready.append(strand)
                    self.least = self.budget - self.most_quiet
                    return
                if self.budget <= 0:
                    return
            if not self._leave(strand):
                return

    def _finish(self, strand: Strand) -> None:
        """Count exited threads as arrived at the barriers that wait for all threads."""
        self.end_of(strand)
        self.log.ends.setdefault(strand.rank, []).append(
            End(strand.clocks.known, strand.clocks.relaxed)
        )
        threads = strand.mask.bit_count()
        for (rank, _), barrier in self.machine.barriers.items():
            if barrier.of_all and rank in (-1, strand.rank):
                arrived = rank < 0 and strand.generation == barrier.generation
                barrier.leave(threads, arrived=arrived)
        self.machine.changed = True
        for rank in (strand.rank, -1):
            self.machine.exited[rank] = self.machine.exited.get(rank, 0) + threads

    def _join(self, strand: Strand) -> bool:
        """Wait for the diverged threads of the warp; whether these go on, reconverged."""
        for other in self.together(strand):
            self.take_in(strand, other)
        if self._missing(strand):
            return self.wait(strand, -1, lambda: not self._missing(strand), None, "join")
        strand.joins.pop()
        return True

    def _missing(self, strand: Strand) -> list[Strand]:
        """Diverged threads of the warp that may still reach the same reconvergence point."""
        others = self.others(strand)
        if not others:
            return []
        depth = len(strand.joins)
        together = self.together(strand)
        return [s for s in others if s.joins[:depth] == strand.joins and s not in together]

    # ---- branches ------------------------------------------------------------------------------

    def _leave(self, strand: Strand) -> bool:
        """Go on to the successor node; whether these threads still exist as one group."""
        self.budget -= 1  # a loop may have no record in the slice
        if self.budget < self.least:
            self.budget = 0
        end = self.program.exits[strand.node]
        strand.step = 0
        if end.branch is None:
            strand.node = end.next
            return True
        taken = self._taken(strand, end.branch, end.index)
        if taken == strand.mask:
            strand.node = end.taken
        elif not taken:
            strand.node = end.next
        else:
            self._split(strand, taken, end.taken, end.next)
            return False
        return True

    def _split(self, strand: Strand, taken: int, target: int, following: int) -> None:
        strand.joins.append(self.program.joins[strand.node])
        other = strand.part(strand.mask & ~taken)
        strand.mask = taken
        strand.node, other.node = target, following
        self.begin(other)
        self.ready.extend((strand, other))

    def _taken(self, strand: Strand, branch: MachineInstr, index: int) -> int:
        """The mask of the threads that take a branch."""
        assert branch.guard is not None
        number = self.value(strand, branch.guard)
        if isinstance(number, int):
            return strand.mask if number else 0
        holds, unknown = masks_of(number)
        if not unknown & strand.mask:
            return holds & strand.mask
        self.log.guess()
        count = strand.branches[index] = strand.branches.get(index, 0) + 1
        back, stays = self.program.back[strand.node]
        if back != stays:
            leaves = count > ROUNDS
            if leaves:
                strand.branches[index] = 0
            return strand.mask if back != leaves else 0
        return strand.mask if count % 2 == self.late else 0

    # ---- records -------------------------------------------------------------------------------

    def _execute(self, strand: Strand, step: Step) -> bool:
        """Execute a record; False where the threads block before it."""
        if strand.resume is not None:
            resume, strand.resume = strand.resume, None
            return resume()
        mi, mask = step.mi, strand.mask
        if mi.guard is not None:
            if mi.form.is_terminator:
                return True
            mask = self._guarded(strand, mi.guard)
            if not mask:
                return True
        if step.calculation is not None:
            self._calculate(strand, step.calculation, mask)
            return True
        if not step.is_event:
            compute(Plain(self, strand, mi, mask))
            return True
        machine, row = self.machine, mi.form.row
        log = machine.log
        log.threads[step.index].add((strand.actor, mask))
        if row.effects.scope is IssueScope.WARPGROUP:
            log.warpgroup_instructions.setdefault(strand.actor, []).append(step.index)
        execution = Execution(self, strand, mi, mask, machine, step.index, step.written)
        event = event_of(row)
        if event is not None:
            return event(execution)
        if row.id not in log.unknown:
            log.cannot_follow(row.id)
        return nothing(execution)

    def _pass(self, strand: Strand, straight: Straight) -> bool:
        """Do calculations that follow each other; whether the budget is enough for all of them.

        Their results are from the cache where the same operands occurred before.
        """
        count = len(straight.calculations)
        if self.budget <= count:
            return False
        registers = strand.registers
        get = registers.get
        numbers = tuple([
            get(op) if type(op) is int else self.value(strand, op) for op in straight.sources
        ])  # fmt: skip
        found = straight.results.get(numbers)
        if found is None:
            for one in straight.calculations:
                self._calculate(strand, one, strand.mask)
            written = (op for one in straight.calculations for op in one.targets)
            straight.results[numbers] = {op: registers[op] for op in written if type(op) is int}
        else:
            registers.update(found)
        self.budget -= count
        strand.step += count
        return True

    def _calculate(self, strand: Strand, what: Calculation, mask: int) -> None:
        """Write the results of a pure record, from the cache where its operands occurred before."""
        registers = strand.registers
        get = registers.get
        numbers = tuple([
            get(op) if type(op) is int else self.value(strand, op) for op in what.sources
        ])  # fmt: skip
        found = what.results.get(numbers)
        if found is None:
            found = what.run(*numbers)
            if len(found) != len(what.targets):  # the record is an error, which is told elsewhere
                found = (None,) * len(what.targets)
            what.results[numbers] = found
        for op, number in zip(what.targets, found, strict=True):
            if type(op) is int and mask == strand.mask:
                registers[op] = number
            elif op is not None:
                self.write(strand, op, number, mask)

    def _guarded(self, strand: Strand, guard: Reg | Not) -> int:
        """The mask of the threads whose guard holds or is not known."""
        number = self.value(strand, guard)
        if isinstance(number, int):
            return strand.mask if number else 0
        holds, unknown = masks_of(number)
        if unknown & strand.mask:
            self.log.guess()
        return (holds | unknown) & strand.mask


def _begun(launch: Launch, rank: int) -> ThreadClocks:
    """The clocks of a thread at its start, which include that its CTA has started."""
    clock = {source_of("cta", rank): 1} if launch.ctas > 1 else zero()
    return ThreadClocks(known=clock, relaxed=clock)
