"""Where threads synchronise: mbarriers with their phases, and barriers of CTAs and clusters.

Layer: isel.verifier.ordering.  PTX ISA, mbarrier: Phase, Expect-tx, Complete-tx; barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isel.verifier.ordering.clocks import HANDED, NO_RELEASE, Counters, Release, Source


@dataclass(frozen=True, slots=True)
class Delivery:
    """What an asynchronous operation brings to an mbarrier when it completes.

    `bytes` of transactions (None: not known how many; 0 for an arrival by tcgen05.commit).
    """

    release: Release
    bytes: int | None = 0
    arrivals: int = 0


@dataclass(frozen=True, slots=True)
class Waiter:
    """Threads that have seen a phase complete, by its parity: the record, their warp, the phase.

    A clock is behind that if it has the count of `multiply`, the next one that they take part in;
    and `handed` is how often their warp had handed on what it knows, by `counters`.
    """

    index: int
    actor: int
    phase: int
    multiply: tuple[Source, int]
    counters: Counters
    handed: int

    def may_be_behind(self, release: Release) -> bool:
        """Whether nothing says that they saw it before what is released.

        If they have handed on something since, that may be what the release came from.
        """
        source, count = self.multiply
        return self.counters.get(HANDED) == self.handed and release.relaxed.get(source, 0) < count


@dataclass(slots=True)
class Mbarrier:
    """One mbarrier object.

    It was `made` by the record `made_by`; `told` are the warps of which it was said that they do
    not know that, `heard` says that something has arrived ever.
    `expected` arrivals complete a phase once its transactions are balanced.  Where it is not known
    how many bytes a copy brings, the transactions are balanced when all copies have been delivered.

    `waiters` have seen the last phase complete.  Who asks by parity has to do so before the next
    one completes, behind which the answer is that of the phase before: `late` are those for whom
    nothing in the phases says that they did.
    """

    expected: int
    at: int
    made: tuple[Source, int]
    made_by: int
    phase: int = 0
    pending: int = 0
    bytes: int = 0
    whole: int = 0
    unknown: bool = False
    brought: bool = False
    release: Release = NO_RELEASE
    over: Release = NO_RELEASE
    outstanding: list[Delivery] = field(default_factory=list)
    told: set[int] = field(default_factory=set)
    heard: bool = False
    waiters: list[Waiter] = field(default_factory=list)
    late: list[Waiter] = field(default_factory=list)

    @property
    def progress(self) -> str:
        """How many arrivals its phase has, behind the words for a wait."""
        come = self.expected - self.pending
        return f"; phase {self.phase} has {come} of {self.expected} arrivals"

    def __post_init__(self) -> None:
        self.pending = self.expected

    def arrive(self, count: int, release: Release) -> None:
        """Threads arrive."""
        self.heard = True
        self.release = self.release.and_(release)
        self.pending -= count
        self._complete()

    def expect(self, count: int | None) -> None:
        """A phase waits for so many more bytes."""
        if count is None:
            self.unknown = True
        else:
            self.bytes += count
            self.whole += count

    def deliver(self, *, known: bool = False) -> bool:
        """Let what is outstanding happen; False if there is nothing.

        With `known` only where it is known how many bytes come: of others more may follow.
        """
        if not self.outstanding:
            return False
        if known and (self.unknown or any(one.bytes is None for one in self.outstanding)):
            return False
        arrived, self.outstanding = self.outstanding, []
        self.heard = True
        for one in arrived:
            self.release = self.release.and_(one.release)
            self.pending -= one.arrivals
            self.brought |= not one.arrivals
            if one.bytes is None:
                self.unknown = True
            else:
                self.bytes -= one.bytes
            if one.arrivals:
                self._complete()
        self._complete()
        return True

    def is_over(self, phase: int) -> bool:
        """Whether the phase with this number is complete."""
        return self.phase > phase

    def has_parity_over(self, parity: int) -> bool:
        """Whether a wait for the phase of this parity succeeds now."""
        return self.phase & 1 != parity & 1

    def _complete(self) -> None:
        if self.pending > 0 or not self._is_balanced():
            return
        self.late += [one for one in self.waiters if one.may_be_behind(self.release)]
        self.waiters = []
        self.over = self.over.and_(self.release)
        self.release = NO_RELEASE
        self.phase += 1
        self.pending = self.expected
        self.bytes, self.whole, self.unknown, self.brought = 0, 0, False, False

    def _is_balanced(self) -> bool:
        if self.unknown:
            return not self.outstanding and (self.brought or self.bytes <= 0)
        return self.bytes == 0


@dataclass(slots=True)
class Barrier:
    """A barrier of a CTA or cluster: how many threads it waits for, who came, what they release.

    `short` says that threads ended which it had waited for: that orders nothing in the manual.
    """

    wanted: int
    of_all: bool = False
    arrived: int = 0
    generation: int = 0
    short: bool = False
    release: Release = NO_RELEASE
    over: Release = NO_RELEASE

    def arrive(self, threads: int, release: Release) -> None:
        """Threads come; the last of them completes the barrier, which then begins anew."""
        self.release = self.release.and_(release)
        self.arrived += threads
        self._complete()

    def leave(self, threads: int, *, arrived: bool) -> None:
        """Threads end, and are waited for no more; if they had `arrived`, others still are."""
        self.wanted -= threads
        if arrived:
            self.arrived -= threads
        else:
            self.short = True
        if self.arrived:
            self._complete()

    def _complete(self) -> None:
        if self.arrived >= self.wanted:
            self.over, self.release = self.release, NO_RELEASE
            self.arrived = 0
            self.generation += 1


@dataclass(slots=True)
class Flag:
    """A place that threads write and read strongly: what was released there, and how often."""

    release: Release = NO_RELEASE
    version: int = 0

    def write(self, release: Release) -> None:
        """A strong write."""
        self.release = self.release.and_(release)
        self.version += 1
