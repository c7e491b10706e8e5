"""What was accessed when: the log that races are found in.

Layer: isel.verifier.ordering.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from isel.verifier.function import lanes
from isel.verifier.function.events import Kind
from isel.verifier.ordering.clocks import Clock, Source
from isel.verifier.ordering.meetings import Waiter
from isel.verifier.ordering.strand import named, warpgroup_of
from isel.verifier.rule import VerifierRule

Point: TypeAlias = tuple[Source, int]
"""Something that is counted: it happened for a clock that has so much of its source."""

Operands: TypeAlias = tuple[object, ...]
"""A multiply: its record, the rank of its CTA, and its operands that are known, by name."""


class Memory(Enum):
    """What is accessed."""

    SHARED = auto()
    TENSOR = auto()


@dataclass(frozen=True, slots=True)
class Region:
    """`first` to `last` (bytes of shared memory, columns of tensor memory) in the lanes of a mask.

    `exact` says that all of it is accessed; else it is the hull of what is, or a guess.
    """

    memory: Memory
    rank: int
    first: int
    last: int
    lanes: int = -1
    writes: bool = False
    exact: bool = True
    name: str = ""

    def meets(self, other: Region) -> bool:
        """Whether both have a place in common, and one of them writes it."""
        return (
            (self.writes or other.writes)
            and self.first < other.last
            and other.first < self.last
            and self.lanes & other.lanes != 0
        )

    def covers(self, other: Region) -> bool:
        """Whether every place of the other is one of this."""
        return (
            self.first <= other.first and other.last <= self.last and other.lanes & ~self.lanes == 0
        )


@dataclass(slots=True)
class Access:
    """One execution of a record that accesses memory.

    It is complete for a clock that has the count `done` of its source, and its thread has come so
    far for one that has `issue`.  The clocks are those of its thread when it was issued.
    `by_proxy` says that it goes through the async proxy, `warp` counts the warps of all CTAs;
    `accumulates` that it certainly adds to what it writes.
    `alone` are its threads that have not arrived anywhere since, nor synchronised with those that
    did, by the record `by` first; from the count `met` of their warp on they have.
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
    met: int = 0

    @property
    def warpgroup(self) -> int:
        """The warpgroup of its warp, among those of all CTAs."""
        return warpgroup_of(self.warp)

    def __str__(self) -> str:
        return named(self.warp)


@dataclass(slots=True)
class Stuck:
    """Where a thread waits that nobody will wake: the record, its warp, and for what.

    `at_mbarrier` says that it is at an mbarrier, `unheard` that nothing ever arrived at that, but
    in another CTA; `progress` is how far its phase has come.
    """

    index: int
    actor: int
    waits_for: str
    at_mbarrier: bool = False
    unheard: bool = False
    progress: str = ""


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a record broke in a run, and in which words: `{line}` is the record `other`.

    `doubtful` says that something had been guessed before.
    """

    rule: VerifierRule
    index: int
    got: str
    other: int
    doubtful: bool


@dataclass(frozen=True, slots=True)
class Remote:
    """What a record did to memory of another CTA: it is over for a clock that has `done`."""

    index: int
    actor: int
    rank: int
    done: Point


class End(NamedTuple):
    """What threads knew when they left; `relaxed` if relaxed arrivals and waits order, too."""

    known: Clock
    relaxed: Clock


@dataclass(slots=True)
class Log:
    """What a run did whose integer arguments were all `number`; `argued` if it asked for one.

    `stuck` are the waits of a deadlock; `guessed` says that branches were taken whose conditions
    nobody knows, `made_up` that what memory holds had a part in it, `cut` that the run was ended
    early.  `certain` counts the accesses before anything was guessed or unknown.  `breaches` are
    the rules that single records broke; `remote` is what was done to other CTAs, but for copies and
    multiplies, and `ends` what the threads of each CTA knew when they left.
    For each mbarrier and phase, `expected` has the bytes that it waits for, `copies` where copies
    of unknown size go that bring them, `brought` how many those of known size bring.  `unknown` is
    what could not be followed, `committed` how many operations of each warp commits track,
    `arrivals` where each warp arrived, and behind how many accesses; `met` behind how many the
    threads of a warp last synchronised;
    `threads` which threads of which warp executed a record, as masks; `together` what each warp
    executed, in order, of what is for a warpgroup;
    `tracked` which mbarriers track operations and copies of a source, and how many of them;
    `late` which threads may see a phase of an mbarrier too late;
    `lanes` which lanes of tensor memory warps load and store, for each record and warp once;
    `multiplied` has what was multiplied, in order; `astray` are records that write at addresses
    which nobody knows, perhaps of shared memory, and `strong` the addresses of strong and atomic
    writes; `furthest` is the highest rank of a CTA that was named, and is not in the cluster.
    """

    number: int = field(default=0, compare=False)  # logs are equal where runs did the same
    furthest: int = 0
    accesses: list[Access] = field(default_factory=list)
    stuck: list[Stuck] = field(default_factory=list)
    guessed: bool = False
    made_up: bool = False
    argued: bool = False
    cut: bool = False
    unknown: list[str] = field(default_factory=list)
    committed: dict[Source, int] = field(default_factory=dict)
    arrivals: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    met: dict[int, int] = field(default_factory=dict)
    threads: dict[int, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))
    together: dict[int, list[int]] = field(default_factory=dict)
    tracked: dict[Source, list[tuple[int, str]]] = field(default_factory=dict)
    expected: dict[tuple[int, int], int] = field(default_factory=dict)
    copies: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    brought: dict[tuple[int, int], int] = field(default_factory=dict)
    breaches: dict[tuple[str, int], Breach] = field(default_factory=dict)
    remote: list[Remote] = field(default_factory=list)
    ends: dict[int, list[End]] = field(default_factory=dict)
    certain: int | None = None
    late: list[tuple[str, Waiter]] = field(default_factory=list)
    lanes: dict[tuple[int, int, int], lanes.Access] = field(default_factory=dict)
    multiplied: dict[Operands, None] = field(default_factory=dict)
    astray: set[int] = field(default_factory=set)
    strong: set[int] = field(default_factory=set)

    def guess(self) -> None:
        """Note that the run goes a way that another might not."""
        self.guessed = True
        self.doubt()

    def cannot_follow(self, what: str) -> None:
        """Note something that the run does not understand."""
        self.unknown.append(what)
        self.doubt()

    def doubt(self) -> None:
        """Note that what is found from here on may be due to what the run does not know."""
        if self.certain is None:
            self.certain = len(self.accesses)

    def is_doubtful(self, turn: int) -> bool:
        """Whether what happened behind so many accesses may be due to a guess."""
        return self.certain is not None and turn >= self.certain

    def breach(self, rule: VerifierRule, index: int, got: str, other: int = -1) -> None:
        """Note that a record breaks a rule; what it does again is not said again."""
        self._note(Breach(rule, index, got, other, self.certain is not None))

    def left(self, rule: VerifierRule, index: int, got: str) -> None:
        """Note what a record has left undone in the end, in whatever order things happened."""
        self._note(Breach(rule, index, got, -1, self.guessed or bool(self.unknown)))

    def _note(self, found: Breach) -> None:
        self.breaches.setdefault((found.rule.id, found.index), found)

    def tracker_of(self, access: Access) -> str:
        """The mbarrier that tracks the end of an operation, by name; "" where there is none."""
        source, number = access.done
        found = (name for count, name in self.tracked.get(source, ()) if count >= number)
        return next(found, "")

    def arrival_behind(self, access: Access) -> int | None:
        """The record where the warp of an access first arrived somewhere behind it."""
        found = self.arrivals.get(access.warp, ())
        return next((index for turn, index in found if turn > access.turn), None)
