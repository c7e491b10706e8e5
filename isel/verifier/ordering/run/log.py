"""The log of a run: accesses with their vector clocks, arrivals, and what could not be followed.

Layer: isel.verifier.ordering.  Races, deadlocks and rules about whole runs are found in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import NamedTuple, TypeAlias

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.function.events import Kind
from isel.verifier.function.tensor_memory import lanes
from isel.verifier.ordering.matrices import Operands
from isel.verifier.ordering.memory_regions import Region
from isel.verifier.ordering.run.clocks import Clock, Source
from isel.verifier.ordering.run.strand import named, warpgroup_of
from isel.verifier.ordering.run.synchronisation import Mbarrier, Progress, Waiter
from isel.verifier.rule import VerifierRule

Point: TypeAlias = tuple[Source, int]
"""An epoch: a source and a count; it happened before a clock that has at least this count."""


@dataclass(slots=True)
class Access:
    """One execution of a record that accesses memory.

    It is complete for a clock that contains the epoch `done`, and issued for one that contains
    `issue`. The clocks are those of its thread when it was issued.  `by_proxy` says that it goes
    through the async proxy, `warp` counts the warps of all CTAs; `accumulates` that it certainly
    adds to what it writes.

    `alone` is the mask of its threads that since then have neither arrived at a barrier nor
    synchronised with those of their warp that did, first by the record `by`; from the epoch
    `synchronised` of the warp on they have.
    """

    index: int
    kind: Kind
    rank: int
    warp: int
    turn: int
    regions: Sequence[Region]
    done: tuple[Source, int]
    known: Clock
    fenced: Clock
    proxied: Clock
    acquired: Clock
    relaxed: Clock
    issue: tuple[Source, int]
    by_proxy: bool = False
    accumulates: bool = False
    alone: int = 0
    by: int = -1
    synchronised: int = 0

    @property
    def warpgroup(self) -> int:
        """The warpgroup of its warp, among those of all CTAs."""
        return warpgroup_of(self.warp)

    def __str__(self) -> str:
        return named(self.warp)


@dataclass(slots=True)
class Stuck:
    """A wait that never ends: the record, the warp `actor`, and what it waits for.

    `at_mbarrier` says that it is at an mbarrier, `without_arrivals` that the mbarrier got no
    arrival while that of another CTA did; `progress` is how far its phase has come, None where it
    is no mbarrier.  `alone` says that no thread which waits for something else can signal it;
    `elsewhere` are the records that signal other mbarriers of its variable, here or in another CTA.
    `behind` are the records that the warp may come to then, where it is its first wait for this
    mbarrier.
    """

    index: int
    actor: int
    waits_for: str
    at_mbarrier: bool = False
    without_arrivals: bool = False
    progress: Progress | None = None
    alone: bool = False
    elsewhere: tuple[int, ...] = ()
    behind: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule about one record that was broken in a run; `{line}` in `got` is that of the record
    `other`.

    `doubtful` says that the run had guessed before.
    """

    rule: VerifierRule
    index: int
    got: str
    other: int
    doubtful: bool


@dataclass(frozen=True, slots=True)
class Remote:
    """An access to memory of another CTA, complete for a clock that contains the epoch `done`."""

    index: int
    actor: int
    rank: int
    done: Point


class Waited(NamedTuple):
    """A wait that is over: the number of accesses before it, its record, and the mbarrier, of which
    it saw that `phase` complete; -1 is the one before the first.
    """

    turn: int
    record: int
    mbarrier: Mbarrier | None
    phase: int


class Tracked(NamedTuple):
    """The mbarrier that tracks so many operations of a source, and its phase then."""

    operations: int
    at: int
    name: str
    phase: int


class End(NamedTuple):
    """The clocks of threads when they exited; in `relaxed`, relaxed synchronisation counts too."""

    known: Clock
    relaxed: Clock


@dataclass(slots=True)
class Log:
    """The log of a run with all integer arguments equal to `number`, but those that others are
    divided by to `divisor`, if that is not 0; `reads_arguments` if it read one.

    How far to trust it: `guessed` says that branches on unknown conditions were taken, `assumed`
    that assumed contents of memory had a part in it, and `differs` unequal ones, `truncated` that
    the budget ended the run.  `certain` counts the accesses before the first guess.  `unknown`
    names what could not be followed.

    What happened: `accesses` in order; `stuck` are the waits of a deadlock; `breaches` the broken
    rules about single records; `remote` the accesses to other CTAs, but for copies and multiplies;
    `ends` the clocks with which the threads of each CTA exited; `late` the threads that may see a
    phase of an mbarrier too late; `committed` how many operations of each warp commits track;
    `tracked` which mbarriers track operations and copies of a source, and how many of them.

    For each mbarrier and phase, `expected` has the expect-tx bytes, `copies` the copies of unknown
    size that complete on it, each as the warp that issues it and its destination, and
    `copied_bytes` the bytes of those of known size.
    `arrivals` has the records at which each warp arrived, with the number of accesses before them,
    and `waits` those at which it has waited, with the mbarrier or None;
    `synchronised` the number of accesses before the threads of a warp last synchronised.  `threads`
    has the warps and masks that executed a record; `warpgroup_instructions` the warpgroup
    instructions of each warp, in order; `lanes` the lanes of tensor memory that a record loads or
    stores, once for each warp; `multiplied` the multiplies, in order; `unknown_writes` the records
    that write to an unknown address which may be in shared memory; `strong` the addresses of strong
    stores; `misaligned` the records whose address is not aligned, with where that is;
    `outside` those that access what is beyond all shared memory, `elsewhere` those that access a
    CTA, of this rank, which the cluster does not have; `uninitialised` those that use an mbarrier
    which nobody has initialised;
    `highest_rank` is the highest rank of a CTA that was named outside of the cluster.
    """

    number: int = field(default=0, compare=False)  # logs are equal where runs did the same
    divisor: int = field(default=0, compare=False)
    highest_rank: int = 0
    accesses: list[Access] = field(default_factory=list)
    stuck: list[Stuck] = field(default_factory=list)
    guessed: bool = False
    assumed: bool = False
    differs: bool = False
    reads_arguments: bool = False
    truncated: bool = False
    unknown: list[str] = field(default_factory=list)
    committed: dict[Source, int] = field(default_factory=dict)
    arrivals: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    waits: dict[int, list[Waited]] = field(default_factory=dict, compare=False)
    synchronised: dict[int, int] = field(default_factory=dict)
    threads: dict[int, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))
    warpgroup_instructions: dict[int, list[int]] = field(default_factory=dict)
    tracked: dict[Source, list[Tracked]] = field(default_factory=dict)
    expected: dict[tuple[int, int], int] = field(default_factory=dict)
    copies: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)
    copied_bytes: dict[tuple[int, int], int] = field(default_factory=dict)
    breaches: dict[tuple[str, int, int], Breach] = field(default_factory=dict)
    remote: list[Remote] = field(default_factory=list)
    ends: dict[int, list[End]] = field(default_factory=dict)
    certain: int | None = None
    late: list[tuple[str, Waiter]] = field(default_factory=list)
    lanes: dict[tuple[int, int, int], lanes.LaneAccess] = field(default_factory=dict)
    multiplied: dict[Operands, None] = field(default_factory=dict)
    unknown_writes: set[int] = field(default_factory=set)
    strong: set[int] = field(default_factory=set)
    misaligned: dict[int, str] = field(default_factory=dict)
    outside: dict[int, str] = field(default_factory=dict)
    elsewhere: dict[int, int] = field(default_factory=dict)
    uninitialised: dict[int, str] = field(default_factory=dict)

    def executes(self, records: Collection[int]) -> bool:
        """Whether the run has work to do, and executes all of these records."""
        return bool(self.number) and self.threads.keys() >= set(records)

    def guess(self) -> None:
        """Note that the run took a branch on a condition that is not known."""
        self.guessed = True
        self.doubt()

    def assume(self) -> None:
        """Note that memory was assumed to hold unequal numbers, which others may contradict."""
        self.differs = True
        self.doubt()

    def cannot_follow(self, what: str) -> None:
        """Note something that the run does not model."""
        self.unknown.append(what)
        self.doubt()

    def doubt(self) -> None:
        """Note that from here on findings may be due to an unknown value."""
        if self.certain is None:
            self.certain = len(self.accesses)

    @property
    def is_in_doubt(self) -> bool:
        """Whether what happens in the whole run may be due to a guess, or to unequal numbers that
        memory was assumed to hold.
        """
        return self.guessed or self.differs or bool(self.unknown)

    def is_doubtful(self, turn: int) -> bool:
        """Whether what happened after the access of number `turn` may be due to a guess."""
        return self.certain is not None and turn >= self.certain

    def breach(self, rule: VerifierRule, index: int, got: str, other: int = -1) -> None:
        """Log a broken rule of a record, once for each rule, record, and record that is `other`."""
        self._note(Breach(rule, index, got, other, self.certain is not None))

    def left(self, rule: VerifierRule, index: int, got: str) -> None:
        """Log what a record leaves undone at the end of the run, under any schedule."""
        self._note(Breach(rule, index, got, -1, self.is_in_doubt))

    def _note(self, found: Breach) -> None:
        self.breaches.setdefault((found.rule.id, found.index, found.other), found)

    def tracker_of(self, access: Access) -> Tracked | None:
        """The mbarrier that tracks an operation's completion, None if there is none."""
        source, number = access.done
        found = (one for one in self.tracked.get(source, ()) if one.operations >= number)
        return next(found, None)

    def waited(self, actor: int, index: int, mbarrier: Mbarrier | None = None) -> None:
        """Log that a warp has waited at a record."""
        phase = 0 if mbarrier is None else mbarrier.phase - 1
        self.waits.setdefault(actor, []).append(Waited(len(self.accesses), index, mbarrier, phase))

    def wait_before(self, access: Access) -> Waited | None:
        """The last wait of the access's warp before the access."""
        found = self.waits.get(access.warp, ())
        return next((wait for wait in reversed(found) if wait.turn <= access.turn), None)

    def arrival_behind(self, access: Access) -> int | None:
        """The record of the first arrival of the access's warp after the access."""
        found = self.arrivals.get(access.warp, ())
        return next((index for turn, index in found if turn > access.turn), None)
