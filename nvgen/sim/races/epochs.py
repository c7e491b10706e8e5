"""Epochs: the actor and the tick of an access, in one number; comparison with clocks.

Layer: nvgen.sim.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.vector_clock import Clock, Ticks
from nvgen.sim.races.scopes import Clusters

Epochs = NDArray[np.int64]

TICK = 31
_STRONG = 29
OPERATION = 1 << 62
ACTOR = (1 << _STRONG) - 1
"""The bits of an epoch that name the actor: a column of a thread, or of an operation."""


def epoch(actor: int, tick: int, *, operation: bool = False) -> int:
    """Actor and tick in one number; 0 is no access."""
    return (OPERATION if operation else 0) | tick << TICK | actor


@dataclass(frozen=True, slots=True)
class Accessor:
    """The accessor of memory: epochs that broadcast over its elements, and their clocks.

    `parts` are the elements that have one clock each (None: all).  `group` is the epoch's actor
    that stands for the whole warp, -1 for an operation.  `relies` is what an operation on tensor
    memory relies on there.
    """

    epochs: Epochs
    group: int
    parts: tuple[tuple[Clock, NDArray[np.intp] | None], ...]
    cta: int
    warp: int = -1
    relies: Ticks | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """The description and source location of an access; `kind` is that of an operation, `cta` the
    CTA that issued it.
    """

    what: str
    place: Place
    kind: str = ""
    cta: int = -1


@dataclass(slots=True, eq=False)
class Sites:
    """Numbered sites: shadow memory keeps the number."""

    all: list[Site] = field(default_factory=list)
    numbers: dict[tuple[int, str], int] = field(default_factory=dict)

    def add(self, key: tuple[int, str], site: Site) -> int:
        """Number a new site."""
        number = self.numbers[key] = len(self.all)
        self.all.append(site)
        return number


WEAK = 0
"""The strength of a weak access; that of a strong one is 1 for `.cta`, 2 for `.cluster`, else 3."""


def strong_mark(epochs: Epochs, strength: int) -> Epochs:
    """Epochs with the strength of the access in their upper bits."""
    return epochs | strength << _STRONG if strength else epochs


def strength_of(epochs: Epochs) -> Epochs:
    """The strength of the accesses of some epochs."""
    return epochs >> _STRONG & 3


def _are_morally_strong(
    prior: Epochs, accessor: Accessor, stride: int, strength: int, clusters: Clusters
) -> NDArray[np.bool_]:
    """Which earlier accesses do not race with a strong one: both strong, their scopes wide enough.

    PTX ISA, Memory Consistency Model: Morally strong operations.
    """
    least = np.minimum(strength_of(prior), strength)
    far = np.zeros_like(least)
    threads = (prior < OPERATION) & (least > WEAK)
    if accessor.group >= 0 and threads.any() and least[threads].min() < _WIDEST:
        far[threads] = clusters.all_between((prior[threads] & ACTOR) // stride, accessor.cta)
    found: NDArray[np.bool_] = least > far
    return found


_WIDEST = 3


def tick_of(epoch: int) -> int:
    """The tick of an epoch."""
    return epoch >> TICK & 0x7FFFFFFF


def below(floor: int) -> int:
    """A number above the epochs of all threads at this tick and before."""
    return (floor + 1) << TICK


def unordered(
    prior: Epochs, accessor: Accessor, stride: int, clusters: Clusters, strength: int = WEAK
) -> NDArray[np.bool_]:
    """Which of these earlier accesses do not happen before an accessor's access.

    `prior` has a row for each part of the access; a CTA has `stride` columns.
    """
    if strength == WEAK and prior.size == len(accessor.parts) == accessor.epochs.size == 1:
        return np.array([[_is_one_unordered(int(prior[0, 0]), accessor, stride)]])
    actors = prior & ACTOR
    found: NDArray[np.bool_] = prior != 0
    if strength:
        found &= ~_are_morally_strong(prior, accessor, stride, strength, clusters)
    if accessor.group >= 0:
        own = (actors == (accessor.epochs & ACTOR)) | (actors == accessor.group)
        found &= ~(own & (prior < OPERATION))
    else:
        found &= prior != accessor.epochs
    if not found.any():
        return found
    for clock, rows in accessor.parts:
        if rows is None:
            found &= ~_is_ordered(clock, prior, actors, stride)
        else:
            found[rows] &= ~_is_ordered(clock, prior[rows], actors[rows], stride)
    return found


def _is_one_unordered(prior: int, accessor: Accessor, stride: int) -> bool:
    """`unordered` for one epoch and one accessor of a weak access, the common case."""
    if not prior:
        return False
    own, actor = int(accessor.epochs[0, 0]), prior & ACTOR
    if accessor.group < 0:
        if prior == own:
            return False
    elif prior < OPERATION and actor in (own & ACTOR, accessor.group):
        return False
    clock, tick = accessor.parts[0][0], tick_of(prior)
    if prior >= OPERATION:
        return actor >= clock.ops.size or int(clock.ops[actor]) < tick
    cta, column = divmod(actor, stride)
    row = clock.rows.get(cta)
    return tick > clock.floor(cta) and (row is None or int(row[column]) < tick)


def unseen(prior: Epochs, clock: Clock | None, stride: int) -> NDArray[np.bool_]:
    """Which of these writes, of threads alone, do not happen before a clock."""
    found: NDArray[np.bool_] = (prior != 0) & (prior < OPERATION)
    if clock is not None and found.any():
        found &= ~_is_ordered(clock, prior, prior & ACTOR, stride)
    return found


def is_known(prior: Epochs, clock: Clock, stride: int) -> bool:
    """Whether all of these accesses happen before a clock."""
    return bool(_is_ordered(clock, prior, prior & ACTOR, stride).all())


def _is_ordered(clock: Clock, prior: Epochs, actors: Epochs, stride: int) -> NDArray[np.bool_]:
    """Which epochs happen before a clock."""
    ticks = prior >> TICK & 0x7FFFFFFF
    ops = prior >= OPERATION
    known = np.zeros(prior.shape, np.bool_)
    if ops.any():
        inside = ops & (actors < clock.ops.size)
        known[inside] = clock.ops[actors[inside]] >= ticks[inside]
        if ops.all():
            return known
    threads = ~ops
    ctas = actors // stride
    for cta in np.unique(ctas[threads]):
        here = threads & (ctas == cta)
        level = ticks[here] <= clock.floor(int(cta))
        row = clock.rows.get(int(cta))
        if row is not None:
            level |= row[actors[here] - int(cta) * stride] >= ticks[here]
        known[here] = level
    return known
