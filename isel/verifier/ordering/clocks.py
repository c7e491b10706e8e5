"""Vector clocks: what a thread knows to be over, and what tcgen05 and the async proxy may use.

Layer: isel.verifier.ordering.  A clock maps sources to counts.  A source is a warp, whose accesses
are counted as it makes them, or a kind of asynchronous operation of a warp or an mbarrier, counted
as they are issued; a clock that has n of a source knows that its first n accesses are complete.

Three clocks answer the manual's three questions.  `known`: is it complete, and ordered before what
comes now?  (Memory Consistency Model, causality order; tcgen05.wait and tcgen05.commit.)  `fenced`:
may an asynchronous tcgen05 operation rely on it?  (tcgen05.fence.)  `proxied`: may the async proxy
rely on it?  (fence.proxy.async.)  A fourth, `rumour`, knows what relaxed arrivals and waits would
have said if they ordered anything: it tells a missing fence from threads that never met.  Clocks
are never changed once they are shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

Source: TypeAlias = tuple[str, int]
"""What is counted, and of which warp or mbarrier."""

Clock: TypeAlias = Mapping[Source, int]

NOTHING: Clock = MappingProxyType({})


def nothing() -> Clock:
    """The clock that knows of nothing."""
    return NOTHING


def joined(one: Clock, other: Clock) -> Clock:
    """What either of two clocks knows."""
    if one is other or not other:
        return one
    if not one:
        return other
    if len(one) < len(other):
        one, other = other, one
    new = {s: n for s, n in other.items() if one.get(s, 0) < n}
    return {**one, **new} if new else one


@dataclass(frozen=True, slots=True)
class Told:
    """What is said where threads synchronise."""

    known: Clock = field(default_factory=nothing)
    fenced: Clock = field(default_factory=nothing)
    proxied: Clock = field(default_factory=nothing)
    rumour: Clock = field(default_factory=nothing)

    def and_(self, other: Told) -> Told:
        """Both."""
        return Told(
            joined(self.known, other.known),
            joined(self.fenced, other.fenced),
            joined(self.proxied, other.proxied),
            joined(self.rumour, other.rumour),
        )


SILENCE = Told()


@dataclass(slots=True)
class Knowledge:
    """What the threads of a strand know.

    `heard` waits for tcgen05.fence::after_thread_sync to become `fenced`; `before` is what the last
    tcgen05.fence::before_thread_sync lets others rely on; `released` is what the last fence of the
    generic proxy lets relaxed accesses hand on, `acquiring` what such accesses have read.
    """

    known: Clock = field(default_factory=nothing)
    fenced: Clock = field(default_factory=nothing)
    proxied: Clock = field(default_factory=nothing)
    rumour: Clock = field(default_factory=nothing)
    heard: Clock = field(default_factory=nothing)
    before: Clock = field(default_factory=nothing)
    released: Told = SILENCE
    acquiring: Told = SILENCE

    def copy(self) -> Knowledge:
        """For threads that part."""
        return replace(self)

    def learn(self, told: Told) -> None:
        """Hear what was said where these threads waited."""
        self.known = joined(self.known, told.known)
        self.rumour = joined(self.rumour, told.rumour)
        self.heard = joined(self.heard, told.fenced)
        self.proxied = joined(self.proxied, told.proxied)

    def unite(self, other: Knowledge) -> None:
        """Threads of one warp are together again."""
        for name in ("known", "fenced", "proxied", "rumour", "heard", "before"):
            setattr(self, name, joined(getattr(self, name), getattr(other, name)))
        self.released = self.released.and_(other.released)
        self.acquiring = self.acquiring.and_(other.acquiring)


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
