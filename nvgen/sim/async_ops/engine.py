"""Asynchronous operations, and the schedule that decides when they take effect.

Layer: nvgen.sim.  An operation takes effect at once, between its issue and the point where the
program has the right to see it, at a moment that the schedule picks:

    early    at issue
    late     when nothing else can go on, or an ordering rule forces it; unordered ones in reverse
    random   at any moment, by a seed

Operations that the machine keeps in order (pipelined pairs, a commit after what it tracks) wait for
each other under every schedule.  PTX ISA, Memory Consistency Model for 5th generation of TensorCore
operations.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import field

from intrinsics.findings import SimulationError
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.parts import WarpPart
from nvgen.sim.async_ops.schedule import Mode, Schedule
from nvgen.sim.faults import located
from nvgen.sim.races.happens_before import Clocks

MOST_FOLLOWED = 1 << 14
"""The most completed operations that are kept while races are sought."""


@dataclass(slots=True)
class Engine:
    """The operations in flight."""

    schedule: Schedule
    in_flight: list[AsyncOp] = field(default_factory=list)
    issued: int = 0
    clocks: Clocks | None = None  # where races are sought
    followed: list[AsyncOp] = field(default_factory=list)  # complete, and perhaps not waited for
    review_at: int = 64  # the number of these at which they are pruned
    dice: random.Random = field(init=False)
    eagerness: float = field(init=False)  # how likely an operation takes effect at any moment

    def __post_init__(self) -> None:
        self.dice = random.Random(self.schedule.seed)
        self.eagerness = self.dice.choice((0.0, 0.005, 0.02, 0.1, 0.5))

    def issue(self, op: AsyncOp) -> None:
        """Issue an operation; under `early` it takes effect here."""
        self.issued += 1
        op.number = self.issued
        if self.clocks is not None:
            self.clocks.begin(op)
        op.after = tuple(other for other in op.after if not other.done)
        self.in_flight.append(op)
        if self.schedule.mode is Mode.EARLY and op.number not in self.schedule.delayed:
            self.finish(op)

    def finish(self, op: AsyncOp) -> None:
        """Let an operation take effect, after all that are ordered before it.

        Raises: SimulationError with the operation's source location.
        """
        if op.done:
            return
        for other in op.after:
            self.finish(other)
        op.done = True
        self.in_flight.remove(op)
        self.act(op)

    def act(self, op: AsyncOp) -> None:
        """Run an operation's effect, as the current actor.

        Raises: SimulationError with the operation's source location.
        """
        clocks = self.clocks
        before = clocks.actor if clocks is not None else None
        if clocks is not None:
            clocks.actor = op
            self._follow(op)
        try:
            op.effect()
        except SimulationError as error:
            op.failed = True
            raise located(error, op.place, str(op)) from None
        finally:
            if clocks is not None:
                clocks.actor = before

    def _follow(self, op: AsyncOp) -> None:
        """Keep a completed operation for those that are ordered after it."""
        self.followed.append(op)
        if len(self.followed) >= self.review_at:
            assert self.clocks is not None
            self.followed = [o for o in self.followed if not self.clocks.is_observed(o)]
            del self.followed[:-MOST_FOLLOWED]
            self.review_at = 2 * len(self.followed) + 64

    @property
    def tracked(self) -> list[AsyncOp]:
        """Operations that another may be ordered after: those in flight, and those completed
        lately.
        """
        return self.followed + self.in_flight if self.followed else self.in_flight

    def finish_all(self, ops: Iterable[AsyncOp]) -> None:
        """Let several operations take effect, in the schedule's order."""
        waiting = [op for op in ops if not op.done]
        while waiting:
            self.finish(self._choose(waiting))
            waiting = [op for op in waiting if not op.done]

    def wait(self, warp: WarpPart, mask: int, ops: Sequence[AsyncOp]) -> None:
        """Let operations take effect, and order them before what follows in the threads that
        wait.
        """
        self.finish_all(ops)
        if self.clocks is not None and ops:
            self.clocks.wait(warp, mask, ops)

    def progress(self) -> bool:
        """Let one operation take effect, since no thread can proceed; False if there is none."""
        if not self.in_flight:
            return False
        self.finish(self._choose(self.in_flight))
        return True

    def perhaps(self) -> None:
        """Under a random schedule, maybe let one operation take effect now."""
        if (
            self.schedule.mode is Mode.RANDOM
            and self.in_flight
            and self.dice.random() < self.eagerness
        ):
            self.finish(self._choose(self.in_flight))

    def _choose(self, ops: list[AsyncOp]) -> AsyncOp:
        ready = [op for op in ops if op.ready] or ops
        match self.schedule.mode:
            case Mode.EARLY:
                return ready[0]
            case Mode.LATE:
                return ([op for op in ready if not op.lazy] or ready)[-1]
            case Mode.RANDOM:
                return self.dice.choice(ready)
