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
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from intrinsics.findings import Place, SimulationError, input_error
from nvgen.sim.faults import located

if TYPE_CHECKING:
    from nvgen.sim.races.happens_before import Clocks
    from nvgen.sim.races.vector_clock import Clock, Ticks
    from nvgen.sim.threads.machine import Warp


class Mode(Enum):
    """The three kinds of schedule."""

    EARLY = "early"
    LATE = "late"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule: `early`, `late`, `random:SEED`, or `delay:N,…`, which is early but for some.

    `delayed` are the numbers of these operations, in the order of issue from 1.
    """

    mode: Mode
    seed: int = 0
    delayed: frozenset[int] = frozenset()

    def __str__(self) -> str:
        if self.delayed:
            return "delay:" + ",".join(map(str, sorted(self.delayed)))
        return f"random:{self.seed}" if self.mode is Mode.RANDOM else self.mode.value


def parse_schedule(said: object) -> Schedule:
    """Read a schedule.

    Raises: InputError.
    """
    text = said if isinstance(said, str) else f"a {type(said).__name__}"
    if match := re.fullmatch(r"random:(\d{1,19})", text, re.ASCII):
        return Schedule(Mode.RANDOM, int(match[1]))
    if match := re.fullmatch(r"delay:(\d{1,19}(?:,\d{1,19})*+)", text, re.ASCII):
        return Schedule(Mode.EARLY, delayed=frozenset(map(int, match[1].split(","))))
    if text in ("early", "late"):
        return Schedule(Mode(text))
    raise input_error(
        "run/schedule",
        "no such schedule",
        got=text,
        expected="early, late, random:SEED or delay:N,…",
    )


COPIES = ("copy", "copy.arrive")
"""Kinds of small copies and of their arrivals at mbarriers."""

MAP_READ, MAP_COPY = "map", "map.copy"
"""Kinds: what reads a tensor map in global memory for a copy; the copy of one by a warp."""

MOST_FOLLOWED = 1 << 14
"""How many operations are remembered that are done, while races are looked for."""


@dataclass(slots=True, eq=False)
class AsyncOp:
    """An operation under way: what it is, who issued it, what it waits for, what it does."""

    name: str
    thread: tuple[int, int, int]  # CTA, warp, lane
    kind: str
    effect: Callable[[], None]
    place: Place
    after: tuple[AsyncOp, ...] = ()
    lazy: bool = False  # only a wait for it shows that it is there: the last one to be late
    number: int = 0
    done: bool = False
    column: int = 0  # of its own in the clocks
    tick: int = 0
    issued: int = 0  # the tick of its issue
    issuer: Warp | None = None
    together: tuple[Warp, ...] = ()  # the warps that issue it, where these are several
    knows: Clock | None = None  # what comes before it
    complete: Clock | None = None  # what comes before whoever waits for it
    relies: Ticks | None = None  # one on tensor memory: what it relies on there, itself among it
    unfenced: dict[tuple[int, int], str] = field(default_factory=dict)  # see `tensor_knowledge`

    @property
    def collective(self) -> bool:
        """Whether all threads of its fragment issued it, and not one of them."""
        return self.kind in ("ld", "st", "copy", MAP_COPY)

    @property
    def ready(self) -> bool:
        """Whether everything that it must come after has taken effect."""
        return all(op.done for op in self.after)

    def __str__(self) -> str:
        return f"{self.name} #{self.number}"


Member = TypeVar("Member")


@dataclass(slots=True)
class Groups(Generic[Member]):
    """What a thread or a warp has begun: what is in no group yet, and its groups, oldest first."""

    open: list[Member] = field(default_factory=list)
    committed: list[list[Member]] = field(default_factory=list)

    def commit(self) -> None:
        """Make a group of what was begun since the last one, even of nothing."""
        self.committed.append(self.open)
        self.open = []

    def older(self, count: int) -> list[Member]:
        """What is in all groups but the `count` latest."""
        older = self.committed[: max(len(self.committed) - count, 0)]
        return [member for group in older for member in group]


@dataclass(slots=True)
class BulkGroups(Groups[tuple[AsyncOp, AsyncOp]]):
    """One thread's bulk copies that a wait_group counts: each as its read, then its write."""

    def but_the_last(self, count: int, *, reads: bool) -> list[AsyncOp]:
        """The operations of all groups but the `count` latest: the reads alone, or the writes."""
        return [read if reads else write for read, write in self.older(count)]

    def forget(self, *, reads: bool = False) -> None:
        """Drop the oldest groups that are complete, unless they were waited for as reads only."""
        while not reads and self.committed and all(write.done for _, write in self.committed[0]):
            del self.committed[0]


@dataclass(slots=True)
class CopyGroups(Groups[AsyncOp]):
    """One thread's small copies; `before` is what its next arrival comes after."""

    before: list[AsyncOp] = field(default_factory=list)

    def add(self, op: AsyncOp) -> None:
        """Note a copy that was issued."""
        self.open.append(op)
        self.before.append(op)

    def but_the_last(self, count: int) -> list[AsyncOp]:
        """The operations of all groups but the `count` latest."""
        return self.older(count)

    def keep(self, count: int) -> None:
        """Drop all groups but the `count` latest, as they have been waited for."""
        del self.committed[: max(len(self.committed) - count, 0)]
        if not self.committed and not self.open:
            self.before = [op for op in self.before if not op.done]


@dataclass(slots=True)
class Engine:
    """The operations under way."""

    schedule: Schedule
    pending: list[AsyncOp] = field(default_factory=list)
    issued: int = 0
    clocks: Clocks | None = None  # where races are looked for
    followed: list[AsyncOp] = field(default_factory=list)  # done, and perhaps not waited for
    review_at: int = 64  # how many of these there may be
    dice: random.Random = field(init=False)
    eagerness: float = field(init=False)  # how likely an operation takes effect at any moment

    def __post_init__(self) -> None:
        self.dice = random.Random(self.schedule.seed)
        self.eagerness = self.dice.choice((0.0, 0.005, 0.02, 0.1, 0.5))

    def issue(self, op: AsyncOp) -> None:
        """Begin an operation; under `early` it takes effect here."""
        self.issued += 1
        op.number = self.issued
        if self.clocks is not None:
            self.clocks.begin(op)
        op.after = tuple(other for other in op.after if not other.done)
        self.pending.append(op)
        if self.schedule.mode is Mode.EARLY and op.number not in self.schedule.delayed:
            self.finish(op)

    def finish(self, op: AsyncOp) -> None:
        """Let an operation take effect, after all that it must come after.

        Raises: SimulationError at the operation's place.
        """
        if op.done:
            return
        for other in op.after:
            self.finish(other)
        op.done = True
        self.pending.remove(op)
        self.act(op)

    def act(self, op: AsyncOp) -> None:
        """Let an operation do what it does, in its own name.

        Raises: SimulationError at the operation's place.
        """
        clocks = self.clocks
        who = clocks.who if clocks is not None else None
        if clocks is not None:
            clocks.who = op
            self._follow(op)
        try:
            op.effect()
        except SimulationError as error:
            raise located(error, op.place, str(op)) from None
        finally:
            if clocks is not None:
                clocks.who = who

    def _follow(self, op: AsyncOp) -> None:
        """Remember an operation for those that come behind it, though it is done."""
        self.followed.append(op)
        if len(self.followed) >= self.review_at:
            assert self.clocks is not None
            self.followed = [o for o in self.followed if not self.clocks.is_known(o)]
            del self.followed[:-MOST_FOLLOWED]
            self.review_at = 2 * len(self.followed) + 64

    @property
    def tracked(self) -> list[AsyncOp]:
        """Operations that another may come behind: those under way, and those done of late."""
        return self.followed + self.pending if self.followed else self.pending

    def finish_all(self, ops: Iterable[AsyncOp]) -> None:
        """Let several operations take effect, in the schedule's order."""
        waiting = [op for op in ops if not op.done]
        while waiting:
            self.finish(self._choose(waiting))
            waiting = [op for op in waiting if not op.done]

    def wait(self, warp: Warp, mask: int, ops: Sequence[AsyncOp]) -> None:
        """Let several operations take effect, as threads wait for them and know of them then."""
        self.finish_all(ops)
        if self.clocks is not None and ops:
            self.clocks.wait(warp, mask, ops)

    def progress(self) -> bool:
        """Let one operation take effect because nothing else can go on; False if there is none."""
        if not self.pending:
            return False
        self.finish(self._choose(self.pending))
        return True

    def perhaps(self) -> None:
        """Under a random schedule, maybe let one operation take effect now."""
        if (
            self.schedule.mode is Mode.RANDOM
            and self.pending
            and self.dice.random() < self.eagerness
        ):
            self.finish(self._choose(self.pending))

    def _choose(self, ops: list[AsyncOp]) -> AsyncOp:
        ready = [op for op in ops if op.ready] or ops
        match self.schedule.mode:
            case Mode.EARLY:
                return ready[0]
            case Mode.LATE:
                return ([op for op in ready if not op.lazy] or ready)[-1]
            case Mode.RANDOM:
                return self.dice.choice(ready)
