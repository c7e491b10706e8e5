"""Vector clocks: what happens before what a thread does now, and what may rely on that.

Layer: isel.verifier.ordering.  A clock maps sources to counts.  A source is a warp, whose accesses
are counted as it makes them, or a kind of asynchronous operation of a warp or an mbarrier, counted
as they are issued; with n for a source in the clock, its first n accesses are complete.

Three clocks answer the manual's three questions.  `known`: is it complete, and does it happen
before what comes now?  (Memory Consistency Model, causality order; tcgen05.wait and
tcgen05.commit.)  `fenced`: may an asynchronous tcgen05 operation rely on it?  (tcgen05.fence.)
`proxied`: may the async proxy rely on it?  (fence.proxy.async.)  A fourth, `relaxed`, is the clock
as it would be if relaxed arrivals and waits ordered anything: it tells a missing fence from threads
that never met.  Clocks are never changed once they are shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

Source: TypeAlias = tuple[str, int]
"""What is counted, and of which warp or mbarrier."""

Clock: TypeAlias = Mapping[Source, int]

_ZERO: Clock = MappingProxyType({})


def zero() -> Clock:
    """The clock at the beginning."""
    return _ZERO


def joined(one: Clock, other: Clock) -> Clock:
    """The larger count of either clock for each source."""
    if one is other or not other:
        return one
    if not one:
        return other
    if len(one) < len(other):
        one, other = other, one
    new = {s: n for s, n in other.items() if one.get(s, 0) < n}
    return {**one, **new} if new else one


@dataclass(frozen=True, slots=True)
class Release:
    """The clocks that a release leaves for those who acquire it."""

    known: Clock = field(default_factory=zero)
    fenced: Clock = field(default_factory=zero)
    proxied: Clock = field(default_factory=zero)
    relaxed: Clock = field(default_factory=zero)

    def and_(self, other: Release) -> Release:
        """Both."""
        return Release(
            joined(self.known, other.known),
            joined(self.fenced, other.fenced),
            joined(self.proxied, other.proxied),
            joined(self.relaxed, other.relaxed),
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
            self.known = joined(self.known, release.known)
            self.proxied = joined(self.proxied, release.proxied)
        self.relaxed = joined(self.relaxed, release.relaxed)
        self.acquired = joined(self.acquired, release.fenced)

    def complete(self, clock: Clock) -> None:
        """Wait for the end of operations of these threads."""
        self.known = joined(self.known, clock)

    def unite(self, other: ThreadClocks) -> None:
        """Threads of one warp are together again."""
        for name in (
            "known",
            "fenced",
            "proxied",
            "relaxed",
            "acquired",
            "before",
            "ordered",
            "late",
        ):
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
