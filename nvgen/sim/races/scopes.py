"""Scopes of synchronisation: for which threads a release, a fence or a strong access counts.

Layer: nvgen.sim.  A release synchronises with an acquire where each of the two, and the write and
the read in between, has a scope that includes the thread of the other one: `.cta` the threads of
the CTA, `.cluster` those of the cluster, `.gpu` and `.sys` all threads of the launch.

PTX ISA, Memory Consistency Model: Scope; Morally strong operations; Release and Acquire Patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import MembarLevel, Scope
from nvgen.sim.actors.vector_clock import Clock, join


class Reach(IntEnum):
    """The threads of a scope, and of two threads the narrowest scope that has both."""

    CTA = 0
    CLUSTER = 1
    LAUNCH = 2


_REACH = {
    Scope.CTA: Reach.CTA,
    Scope.CLUSTER: Reach.CLUSTER,
    MembarLevel.CTA: Reach.CTA,
}


def reach_of(mi: MachineInstr) -> Reach:
    """The scope of a record's memory ordering; the whole launch if the record names none."""
    scope = mi.form.attributes.get("scope", mi.form.attributes.get("level"))
    return (
        _REACH.get(scope, Reach.LAUNCH) if isinstance(scope, Scope | MembarLevel) else Reach.LAUNCH
    )


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cluster of each CTA, by their numbers in the grid."""

    numbers: NDArray[np.int64]

    def between(self, one: int, other: int) -> Reach:
        """The narrowest scope that contains the threads of two CTAs."""
        if one == other:
            return Reach.CTA
        same = self.numbers[one] == self.numbers[other]
        return Reach.CLUSTER if same else Reach.LAUNCH

    def all_between(self, ctas: NDArray[np.int64], other: int) -> NDArray[np.int64]:
        """`between` for many CTAs and one."""
        beyond = self.numbers[ctas] != self.numbers[other]
        away: NDArray[np.int64] = (ctas != other).astype(np.int64) + beyond
        return away


Observed = tuple[Clock | None, Clock | None, Clock | None]
"""What others have released to a thread, by how far they are away: a `Reach` is the index."""


def joined(one: Observed | None, other: Observed) -> Observed:
    """The join of two sets of clocks that a thread has acquired."""
    if one is None or one is other:
        return other
    first, second, third = (
        join(a, b) if b is not None else a for a, b in zip(one, other, strict=True)
    )
    return first, second, third


def within(observed: Observed, reach: Reach) -> Clock | None:
    """The clock acquired from threads inside a scope."""
    found: Clock | None = None
    for clock in observed[: reach + 1]:
        found = join(found, clock) if clock is not None else found
    return found


@dataclass(slots=True, eq=False)
class LocationReleases:
    """The clocks released by strong writes to one location, by the writer's CTA and scope."""

    releases: dict[tuple[int, Reach], Clock] = field(default_factory=dict)
    _observed: dict[tuple[int, Reach], Observed] = field(default_factory=dict)

    def add(self, cta: int, released: Iterable[tuple[Reach, Clock]]) -> None:
        """Record a write by a thread of a CTA."""
        for reach, clock in released:
            self.releases[cta, reach] = join(self.releases.get((cta, reach)), clock)
            self._observed.clear()

    def observed_by(self, cta: int, reach: Reach, clusters: Clusters) -> Observed:
        """The clocks that a read with this scope, by a thread of a CTA, acquires."""
        found = self._observed.get((cta, reach))
        if found is None:
            found = self._observed[cta, reach] = self._collect(cta, reach, clusters)
        return found

    def missed(self, cta: int, reach: Reach, clusters: Clusters) -> Clock | None:
        """The clock that such a read does not acquire, because one of the scopes excludes the other
        thread.
        """
        found: Clock | None = None
        for (other, far), clock in self.releases.items():
            least = min(reach, far)
            if least < Reach.LAUNCH and clusters.between(cta, other) > least:
                found = join(found, clock)
        return found

    def _collect(self, cta: int, reach: Reach, clusters: Clusters) -> Observed:
        found: list[Clock | None] = [None, None, None]
        for (other, far), clock in self.releases.items():
            away = clusters.between(cta, other)
            if away <= min(reach, far):
                found[away] = join(found[away], clock)
        return found[0], found[1], found[2]


Released = tuple[Clock | None, Clock | None, Clock | None]
"""What the latest fence that reaches so far, or further, releases: a `Reach` is the index."""

UNRELEASED: Released = (None, None, None)


def fenced(before: Released, release: Clock, reach: Reach) -> Released:
    """The clocks released by fences, one more fence included."""
    first, second, third = (release if far <= reach else before[far] for far in Reach)
    return first, second, third


def by_reach(released: Released, reach: Reach) -> Sequence[tuple[Reach, Clock]]:
    """The clocks, with their scopes, that a strong write of this scope releases after fences."""
    found: list[tuple[Reach, Clock]] = []
    for far in reversed(Reach):
        clock = released[far]
        if far <= reach and clock is not None and (not found or clock is not found[-1][1]):
            found.append((far, clock))
    return found
