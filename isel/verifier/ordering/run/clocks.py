"""Vector clocks of threads: which accesses happen before what a thread does next.

Layer: isel.verifier.ordering.  A clock maps a source to an epoch.  A source is a warp, whose
accesses are counted in program order, or one kind of asynchronous operation of a warp or of an
mbarrier, counted in the order of issue; a clock with epoch n for a source says that the first n
accesses or operations of that source are complete.

Each thread has four clocks.  `known`: complete, and happens before what comes next (Memory
Consistency Model, Causality Order; tcgen05.wait and tcgen05.commit).  `fenced`: an asynchronous
tcgen05 operation may rely on it (tcgen05.fence).  `proxied`: the async proxy may rely on it
(fence.proxy.async).  `relaxed`: the clock as it would be if relaxed arrivals and waits ordered
anything, which tells a missing fence from a missing synchronisation; it is the same object as
`known` where nothing relaxed is in the thread's past.  Clocks are immutable once they are shared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The unit of a clock component: accesses or operations of a warp, thread, CTA or mbarrier.

    `source_of` makes each once; clocks compare the keys by identity, which is the cheapest.
    """

    kind: str
    of: int


@functools.cache
def source_of(kind: str, of: int) -> Source:
    """The one source of a kind and a number (of a warp, thread, CTA or mbarrier)."""
    return Source(kind, of)


Clock: TypeAlias = Mapping[Source, int]

_ZERO: Clock = MappingProxyType({})


def zero() -> Clock:
    """The clock at the beginning."""
    return _ZERO


WIDE = "wide"
"""The source that counts a warp's accesses as "warp" does, for what threads of other CTAs know of
them through scopes that have both.
"""


def parted(release: Release) -> tuple[Release, Clock]:
    """A release as threads outside of its scope see it, and the part of its clock that they do not
    see.
    """
    wide = {source: n for source, n in release.known.items() if source.kind == WIDE}
    known = {source: n for source, n in release.known.items() if source.kind != WIDE}
    relaxed = known if release.relaxed is release.known else release.relaxed
    return Release(known, release.fenced, release.proxied, relaxed), wide


def joined(one: Clock, other: Clock) -> Clock:
    """The component-wise maximum of two clocks; one of the two objects itself where it is that.

    Threads that synchronised share one object then, and joining it with itself costs nothing.
    """
    if one is other or not other or one == other:
        return one
    if not one:
        return other
    if len(one) < len(other):
        one, other = other, one
    new = {s: n for s, n in other.items() if one.get(s, 0) < n}
    if not new:
        return one
    both = {**one, **new}
    return other if both == other else both


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Release:
    """The clocks that a release makes available to acquires."""

    known: Clock = field(default_factory=zero)
    fenced: Clock = field(default_factory=zero)
    proxied: Clock = field(default_factory=zero)
    relaxed: Clock = field(default_factory=zero)

    def and_(self, other: Release) -> Release:
        """The component-wise maximum of two releases."""
        known = joined(self.known, other.known)
        alike = self.relaxed is self.known and other.relaxed is other.known
        return Release(
            known,
            joined(self.fenced, other.fenced),
            joined(self.proxied, other.proxied),
            known if alike else joined(self.relaxed, other.relaxed),
        )

    def completing(self, clock: Clock) -> Release:
        """This release after the asynchronous operations in `clock` have completed."""
        return self.and_(Release(clock, clock, clock, clock))


NO_RELEASE = Release()


@dataclass(slots=True)
class ThreadClocks:
    """The vector clocks of threads that execute convergently.

    `acquired` is added to `fenced` at tcgen05.fence::after_thread_sync; `before` is what the last
    tcgen05.fence::before_thread_sync made visible to tcgen05 operations of other threads; `ordered`
    are the loads and stores of tensor memory before that fence, and `late` those whose wait came
    after it, which other threads may rely on after a release; `released` is what the last fence of
    the generic proxy lets relaxed accesses release, `acquiring` what relaxed accesses read and the
    next fence acquires; `initialised` is what came before the last fence.mbarrier_init.
    """

    known: Clock = field(default_factory=zero)
    fenced: Clock = field(default_factory=zero)
    proxied: Clock = field(default_factory=zero)
    relaxed: Clock = field(default_factory=zero)
    acquired: Clock = field(default_factory=zero)
    before: Clock = field(default_factory=zero)
    ordered: Clock = field(default_factory=zero)
    late: Clock = field(default_factory=zero)
    initialised: Clock = field(default_factory=zero)
    released: Release = NO_RELEASE
    acquiring: Release = NO_RELEASE

    def copy(self) -> ThreadClocks:
        """A copy, for threads that diverge."""
        return ThreadClocks(
            self.known, self.fenced, self.proxied, self.relaxed, self.acquired, self.before,
            self.ordered, self.late, self.initialised, self.released, self.acquiring,
        )  # fmt: skip

    def acquire(self, release: Release, *, relaxed: bool = False) -> None:
        """Join a release; after a relaxed wait or read, most of it counts from the next fence
        on.
        """
        if relaxed:
            self.acquiring = self.acquiring.and_(release)
        else:
            self.complete(release.known)
            self.proxied = joined(self.proxied, release.proxied)
        if relaxed or release.relaxed is not release.known:
            self.relaxed = joined(self.relaxed, release.relaxed)
        self.acquired = joined(self.acquired, release.fenced)

    def complete(self, clock: Clock) -> None:
        """Join the completion of operations that these threads have waited for."""
        alike = self.relaxed is self.known
        self.known = joined(self.known, clock)
        self.relaxed = self.known if alike else joined(self.relaxed, clock)

    def unite(self, other: ThreadClocks) -> None:
        """Join the clocks of threads of the same warp that reconverge."""
        if self.relaxed is not self.known or other.relaxed is not other.known:
            self.relaxed = joined(self.relaxed, other.relaxed)
            self.known = joined(self.known, other.known)
        else:
            self.relaxed = self.known = joined(self.known, other.known)
        for name in ("fenced", "proxied", "acquired", "before", "ordered", "late", "initialised"):
            setattr(self, name, joined(getattr(self, name), getattr(other, name)))
        self.released = self.released.and_(other.released)
        self.acquiring = self.acquiring.and_(other.acquiring)


RELEASES = "releases"
"""The source in clocks that counts a warp's releases."""


@dataclass(slots=True)
class Counters:
    """The epochs of a warp's sources: how many accesses and operations of each kind it has
    issued.
    """

    counts: dict[str, int] = field(default_factory=dict)

    def next(self, kind: str) -> int:
        """Count one more of a kind, and give its epoch."""
        self.counts[kind] = found = self.counts.get(kind, 0) + 1
        return found

    def get(self, kind: str) -> int:
        """The epoch of the last one of a kind, 0 where there was none."""
        return self.counts.get(kind, 0)
