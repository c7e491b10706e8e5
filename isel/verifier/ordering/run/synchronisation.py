"""Synchronisation objects of a run: mbarriers with their phases, barriers, and flags in memory.

Layer: isel.verifier.ordering.  PTX ISA, mbarrier: Phase, Expect-tx, Complete-tx; barrier.
"""

from __future__ import annotations

from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Scope
from isel.verifier.ordering.run.clocks import (
    NO_RELEASE,
    RELEASES,
    Clock,
    Counters,
    Release,
    Source,
    joined,
    zero,
)

_NOTHING = zero()


@dataclass(frozen=True, slots=True)
class Delivery:
    """The effect of an asynchronous operation's completion on an mbarrier.

    `bytes` is its complete-tx count (None: not known; 0 for an arrival by tcgen05.commit).
    """

    release: Release
    bytes: int | None = 0
    arrivals: int = 0


@dataclass(frozen=True, slots=True)
class Waiter:
    """Threads that have observed a phase complete by its parity: the record, their warp, the phase.

    A clock is ordered after that if it contains the epoch `multiply`, the next one that they take
    part in; `last_release` is the epoch of their warp's last release then, by `counters`.
    """

    index: int
    actor: int
    phase: int
    multiply: tuple[Source, int]
    counters: Counters
    last_release: int

    def may_be_behind(self, release: Release) -> bool:
        """Whether the threads that wait may observe the phase after a release: nothing orders them
        before it.

        If they have released something since, that may be what the release acquired.
        """
        source, count = self.multiply
        return (
            self.counters.get(RELEASES) == self.last_release
            and release.relaxed.get(source, 0) < count
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an mbarrier's phase: arrivals and bytes so far, and those expected.

    The record `made_by` initialised the mbarrier; `signals` arrive at it, or expect or bring bytes.
    """

    phase: int
    come: int
    arrivals: int
    brought: int
    bytes: int
    made_by: int
    signals: tuple[int, ...]


@dataclass(slots=True)
class Mbarrier:
    """One mbarrier object.

    The record `made_by` initialised it at the epoch `made`; `reported` are the warps for which a
    missing order with that was reported, `has_arrivals` says that something has ever arrived.
    `expected` arrivals complete a phase once its tx-count is zero.  Where the size of a copy is not
    known, the tx-count counts as zero when all copies have been delivered.

    `afar` is what arrivals of other CTAs release to waits of .cluster alone.

    `users` has the last use of each warp: the record, its name, the epoch; `signals` the records
    that arrive, or expect or bring bytes, in order; `came` are the warps that did so in this phase.

    `waiters` have observed the last phase complete.  A wait by parity has to return before the next
    phase completes, after which the parity is that of the phase before: `late` are the threads that
    nothing orders so.
    """

    expected: int
    at: int
    made: tuple[Source, int]
    made_by: int
    phase: int = 0
    pending: int = 0
    bytes: int = 0
    expected_bytes: int = 0
    unknown: bool = False
    copied: bool = False
    release: Release = NO_RELEASE
    completed: Release = NO_RELEASE
    afar: Clock = field(default_factory=zero)
    completed_afar: Clock = field(default_factory=zero)
    outstanding: list[Delivery] = field(default_factory=list)
    reported: set[int] = field(default_factory=set)
    has_arrivals: bool = False
    users: dict[int, tuple[int, str, tuple[Source, int]]] = field(default_factory=dict)
    signals: dict[int, None] = field(default_factory=dict)
    came: set[int] = field(default_factory=set)
    waiters: list[Waiter] = field(default_factory=list)
    late: list[Waiter] = field(default_factory=list)

    @property
    def progress(self) -> Progress:
        """The progress of its phase."""
        return Progress(
            self.phase, self.expected - self.pending, self.expected,
            self.expected_bytes - self.bytes, self.expected_bytes, self.made_by,
            tuple(self.signals),
        )  # fmt: skip

    def __post_init__(self) -> None:
        self.pending = self.expected

    def arrive(self, count: int, release: Release, afar: Clock = _NOTHING) -> None:
        """Count arrivals of threads, with what they release, and `afar` beside it to waits of
        .cluster.
        """
        self.has_arrivals = True
        self.afar = joined(self.afar, afar)
        self.release = self.release.and_(release)
        self.pending -= count
        self._complete()

    def expect(self, count: int | None) -> None:
        """Add to the expected bytes of the phase; None where it is not known how many."""
        if count is None:
            self.unknown = True
        else:
            self.bytes += count
            self.expected_bytes += count

    def released(self, scope: object) -> Release:
        """The clocks that completed phases release to a wait of a scope."""
        if scope is not Scope.CLUSTER or not self.completed_afar:
            return self.completed
        return self.completed.and_(Release(self.completed_afar, relaxed=self.completed_afar))

    def deliver(self, *, known: bool = False) -> bool:
        """Complete outstanding operations; False if there is none.

        With `known` only if the size of all is known: otherwise more copies may follow in the
        phase.
        """
        if not self.outstanding:
            return False
        if known and (self.unknown or any(one.bytes is None for one in self.outstanding)):
            return False
        arrived, self.outstanding = self.outstanding, []
        self.has_arrivals = True
        for one in arrived:
            self.release = self.release.and_(one.release)
            self.pending -= one.arrivals
            self.copied |= not one.arrivals
            if one.bytes is None:
                self.unknown = True
            else:
                self.bytes -= one.bytes
            if one.arrivals:
                self._complete()
        self._complete()
        return True

    def is_over(self, phase: int) -> bool:
        """Whether the phase of this number is complete."""
        return self.phase > phase

    def has_parity_over(self, parity: int) -> bool:
        """Whether a wait for this parity succeeds now."""
        return self.phase & 1 != parity & 1

    def _complete(self) -> None:
        if self.pending > 0 or not self._is_balanced():
            return
        self.late += [one for one in self.waiters if one.may_be_behind(self.release)]
        self.waiters = []
        self.completed = self.completed.and_(self.release)
        self.completed_afar = joined(self.completed_afar, self.afar)
        self.release, self.afar = NO_RELEASE, zero()
        self.phase += 1
        self.pending = self.expected
        self.came = set()
        self.bytes, self.expected_bytes, self.unknown, self.copied = 0, 0, False, False

    def _is_balanced(self) -> bool:
        if self.unknown:
            return not self.outstanding and (self.copied or self.bytes <= 0)
        return self.bytes == 0


@dataclass(slots=True)
class Barrier:
    """A barrier of a CTA or cluster: the number of threads it waits for, arrivals, and their
    releases.

    `short` says that threads exited for which it had waited: in the manual that orders nothing.
    `points` are the epochs of the arrivals of this phase by warp, `before` those of the last one;
    `unwaited` has the phase of each warp's last arrival, if it did not wait.
    """

    wanted: int
    of_all: bool = False
    arrived: int = 0
    generation: int = 0
    short: bool = False
    release: Release = NO_RELEASE
    completed: Release = NO_RELEASE
    points: dict[int, tuple[Source, int]] = field(default_factory=dict)
    before: dict[int, tuple[Source, int]] = field(default_factory=dict)
    unwaited: dict[int, int] = field(default_factory=dict)

    def arrive(self, threads: int, release: Release) -> None:
        """Count arrivals; the last one completes the barrier, which then begins anew."""
        self.release = self.release.and_(release)
        self.arrived += threads
        self._complete()

    def leave(self, threads: int, *, arrived: bool) -> None:
        """Threads exit, and are waited for no more; if they had `arrived`, the others still are."""
        self.wanted -= threads
        if arrived:
            self.arrived -= threads
        else:
            self.short = True
        if self.arrived:
            self._complete()

    def _complete(self) -> None:
        if self.arrived >= self.wanted:
            self.completed, self.release = self.release, NO_RELEASE
            self.before, self.points = self.points, {}
            self.arrived = 0
            self.generation += 1


@dataclass(slots=True)
class StrongLocation:
    """A memory location that threads access by strong operations: its last release, and its
    version.
    """

    release: Release = NO_RELEASE
    version: int = 0

    def write(self, release: Release) -> None:
        """Publish a release by a strong write."""
        self.release = self.release.and_(release)
        self.version += 1
