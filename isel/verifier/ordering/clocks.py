"""Vector clocks: what happens before what a thread does now, and what may rely on that.

Layer: isel.verifier.ordering.  A clock maps sources to counts.  A source is a warp, whose accesses
are counted as it makes them, or a kind of asynchronous operation of a warp or an mbarrier, counted
as they are issued; with n for a source in the clock, its first n accesses are complete.

Three clocks answer the manual's three questions.  `known`: is it complete, and does it happen
before what comes now?  (Memory Consistency Model, causality order; tcgen05.wait and
tcgen05.commit.)  `fenced`: may an asynchronous tcgen05 operation rely on it?  (tcgen05.fence.)
`proxied`: may the async proxy rely on it?  (fence.proxy.async.)  A fourth, `relaxed`, is the clock
as it would be if relaxed arrivals and waits ordered anything: it tells a missing fence from threads
that never met.  That of a thread has all that it knows, and is the same object as `known` where
nothing relaxed was ever in its past.  Clocks are never changed once they are shared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What is counted, and of which warp, thread, CTA or mbarrier; `source_of` makes each once.

    Clocks are keyed by them, and told apart by identity, which costs the least.
    """

    kind: str
    of: int


@functools.cache
def source_of(kind: str, of: int) -> Source:
    """The one source of a kind."""
    return Source(kind, of)


Clock: TypeAlias = Mapping[Source, int]

_ZERO: Clock = MappingProxyType({})


def zero() -> Clock:
    """The clock at the beginning."""
    return _ZERO


def joined(one: Clock, other: Clock) -> Clock:
    """The larger count of either clock for each source: one of the two itself where it has that.

    What many threads share is then one object, which costs nothing to join with itself.
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


@dataclass(frozen=True, slots=True)
class Release:
    """The clocks that a release leaves for those who acquire it."""

    known: Clock = field(default_factory=zero)
    fenced: Clock = field(default_factory=zero)
    proxied: Clock = field(default_factory=zero)
    relaxed: Clock = field(default_factory=zero)

    def and_(self, other: Release) -> Release:
        """Both."""
        known = joined(self.known, other.known)
        alike = self.relaxed is self.known and other.relaxed is other.known
        return Release(
            known,
            joined(self.fenced, other.fenced),
            joined(self.proxied, other.proxied),
            known if alike else joined(self.relaxed, other.relaxed),
        )

    def completing(self, clock: Clock) -> Release:
        """The same, behind the end of asynchronous operations."""
        return self.and_(Release(clock, clock, clock, clock))


NO_RELEASE = Release()


@dataclass(slots=True)
class ThreadClocks:
    """The vector clocks of the threads of a strand.

    `acquired` becomes `fenced` at tcgen05.fence::after_thread_sync; `before` is what the last
    tcgen05.fence::before_thread_sync lets others rely on; `ordered` the loads and stores of tensor
    memory before it, and `late` those that were waited for behind it, on which others may rely
    behind a release; `released` is what the last fence of the generic proxy lets relaxed accesses
    hand on, `acquiring` what such accesses have read.
    """

    known: Clock = field(default_factory=zero)
    fenced: Clock = field(default_factory=zero)
    proxied: Clock = field(default_factory=zero)
    relaxed: Clock = field(default_factory=zero)
    acquired: Clock = field(default_factory=zero)
    before: Clock = field(default_factory=zero)
    ordered: Clock = field(default_factory=zero)
    late: Clock = field(default_factory=zero)
    released: Release = NO_RELEASE
    acquiring: Release = NO_RELEASE

    def copy(self) -> ThreadClocks:
        """For threads that part."""
        return replace(self)

    def acquire(self, release: Release, *, relaxed: bool = False) -> None:
        """Take over a release; a relaxed wait or read leaves most of that to the next fence."""
        if relaxed:
            self.acquiring = self.acquiring.and_(release)
        else:
            self.complete(release.known)
            self.proxied = joined(self.proxied, release.proxied)
        if relaxed or release.relaxed is not release.known:
            self.relaxed = joined(self.relaxed, release.relaxed)
        self.acquired = joined(self.acquired, release.fenced)

    def complete(self, clock: Clock) -> None:
        """Wait for what is in a clock, as for the end of operations of these threads."""
        alike = self.relaxed is self.known
        self.known = joined(self.known, clock)
        self.relaxed = self.known if alike else joined(self.relaxed, clock)

    def unite(self, other: ThreadClocks) -> None:
        """Threads of one warp are together again."""
        if self.relaxed is not self.known or other.relaxed is not other.known:
            self.relaxed = joined(self.relaxed, other.relaxed)
            self.known = joined(self.known, other.known)
        else:
            self.relaxed = self.known = joined(self.known, other.known)
        for name in ("fenced", "proxied", "acquired", "before", "ordered", "late"):
            setattr(self, name, joined(getattr(self, name), getattr(other, name)))
        self.released = self.released.and_(other.released)
        self.acquiring = self.acquiring.and_(other.acquiring)


HANDED = "handed"
"""What counts how often a warp has handed on what it knows."""


@dataclass(slots=True)
class Counters:
    """How many accesses and operations a warp has issued, by kind."""

    counts: dict[str, int] = field(default_factory=dict)

    def next(self, kind: str) -> int:
        """Count one more."""
        self.counts[kind] = found = self.counts.get(kind, 0) + 1
        return found

    def get(self, kind: str) -> int:
        """How many there were."""
        return self.counts.get(kind, 0)
