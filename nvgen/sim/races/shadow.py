"""Shadow memory: for each byte the last write and the last reads, with their epochs.

Layer: nvgen.sim.  A byte of shared or global memory (a cell of tensor memory) has the epoch and the
site of its last write and of two reads, by different threads or operations.  An access that none of
the clocks orders after one of these, where one of the two writes, is a race: it is found under
every schedule, whichever of the two is executed first. Not checked are reads beyond the two;
threads of one warp that write a byte by one instruction; weak writes of the value that is there
already; two strong accesses (relaxed, volatile, atomic) whose scopes include each other's thread.
PTX ISA, Memory Consistency Model: Conflict and data-races.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.vector_clock import NOTHING, WIDE, Order, whole
from nvgen.sim.faults import Fault
from nvgen.sim.races.accessor import accessor_of, site_of
from nvgen.sim.races.epochs import (
    ACTOR,
    OPERATION,
    WEAK,
    Accessor,
    Epochs,
    Site,
    below,
    is_known,
    strength_of,
    strong_mark,
    tick_of,
    unordered,
    unseen,
)
from nvgen.sim.races.happens_before import Clocks
from nvgen.sim.races.indices import Index, as_table, index_of, numbers_of
from nvgen.sim.races.report import NOTHING_BETWEEN, Between, race, unstarted
from nvgen.sim.races.scopes import LocationReleases, Reach
from nvgen.sim.races.tensor_fences import missing_fence, unfenced

NOTHING_ELSE: Mapping[int, LocationReleases | None] = MappingProxyType({})

CELLS = "cells"
"""The unit of tensor memory."""

Sites = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Change = tuple[Bytes, Bytes]
"""The bytes before a write, and those that it writes, a row for each part."""


@dataclass(slots=True, eq=False)
class _Kept:
    """The latest accesses of one kind: epochs, and sites in the program.

    No epoch is later than the tick `top`.
    """

    epochs: Epochs
    sites: Sites
    top: int = 0

    @classmethod
    def of(cls, size: int) -> _Kept:
        """`size` bytes without an access."""
        return cls(np.zeros(size, np.int64), np.zeros(size, np.int32))

    def at(self, index: Index) -> Epochs:
        """The epochs of some bytes, in as many rows as the index has."""
        if isinstance(index, tuple):
            return as_table(self.epochs, index[0])[index[1]]
        return self.epochs[index]

    def sites_at(self, index: Index) -> Sites:
        """The sites of the accesses to some bytes, in as many rows as the index has."""
        if isinstance(index, tuple):
            return as_table(self.sites, index[0])[index[1]]
        return self.sites[index]

    def put(self, index: Index, marks: Epochs, site: int, rows: int) -> None:
        """Record an access to some bytes."""
        self.top = max(self.top, int(marks[0, 0]))
        if isinstance(index, slice):
            self.epochs[index].reshape(rows, -1)[:] = marks
            self.sites[index] = site
        elif isinstance(index, tuple):
            as_table(self.epochs, index[0])[index[1]] = marks
            as_table(self.sites, index[0])[index[1]] = site
        else:
            self.epochs[index] = marks
            self.sites[index] = site

    def clear(self, index: slice | NDArray[np.int64]) -> None:
        """Clear the accesses to some bytes."""
        self.epochs[index] = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Act:
    """An access: its bytes in so many parts, its accessor, and how it is ordered.

    Each part is one number where it is not a `vector`.
    """

    index: Index
    rows: int
    accessor: Accessor
    agent: str
    writes: bool
    strength: int
    vector: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Conflict:
    """Accesses of one kind that an access races with: those of the bytes that are `found`."""

    kept: _Kept
    verb: str
    prior: Epochs
    found: NDArray[np.bool_]

    @property
    def at(self) -> int:
        """The first of the bytes."""
        return int(np.flatnonzero(self.found)[0])

    @property
    def epoch(self) -> int:
        """The epoch of the earlier access to it."""
        return int(self.prior.reshape(-1)[self.at])

    @property
    def tick(self) -> int:
        """The tick of the earlier access; of several races the latest one is reported."""
        return tick_of(self.epoch)


@dataclass(slots=True, eq=False)
class Shadow:
    """The accesses to one memory.

    `home` is the CTA whose threads alone access it, -1 if others do too.  `owner` is the CTA whose
    shared memory it is, which others may access only after it has begun; -1 for other memory.
    """

    clocks: Clocks
    name: str
    unit: str
    writes: _Kept
    reads: _Kept
    others: _Kept
    home: int = -1
    owner: int = -1
    names: Mapping[int, str] = field(default_factory=dict)  # of what begins at an offset
    flags: dict[int, LocationReleases] = field(default_factory=dict)  # by offset

    @classmethod
    def of(
        cls,
        clocks: Clocks,
        name: str,
        size: int,
        *,
        home: int = -1,
        unit: str = "bytes",
        owner: int = -1,
        names: Mapping[int, str] | None = None,
    ) -> Shadow:
        """The shadow of a memory of `size` bytes, with the names of what lies in it."""
        kept = _Kept.of(size), _Kept.of(size), _Kept.of(size)
        return cls(clocks, name, unit, *kept, home, owner, names or {})

    # ---- accesses --------------------------------------------------------------------------------

    def touch(
        self,
        offsets: NDArray[np.int64],
        size: int,
        agent: str,
        *,
        writes: bool,
        order: Order = Order.WEAK,
        reach: Reach = Reach.LAUNCH,
        lanes: NDArray[np.intp] | None = None,
        change: Change | None = None,
        as_object: bool = False,
        vector: bool = True,
    ) -> None:
        """Record accesses of `size` bytes at `offsets`, made by the current actor.

        `lanes` are the threads that make them, one each.  `change` tells which bytes a write leaves
        as they are; an mbarrier is used `as_object`, for which fence.mbarrier_init counts.
        Without `vector` each part is one number.
        Raises: Fault when an earlier access races with one of these, or the memory is that of a CTA
        that may not have begun.
        """
        flat = offsets.reshape(-1)
        if not flat.size:
            return
        same = flat.size > 1 and flat[0] == flat[-1] and bool((flat == flat[0]).all())
        accessor = accessor_of(self.clocks, flat.size, lanes, same=same)
        if accessor is None:
            return
        if accessor.cta != self.owner >= 0:
            self._check_begun(accessor, agent)
        strength = WEAK if order is Order.WEAK else reach + 1
        act = _Act(*index_of(flat, size), accessor, agent, writes, strength, vector)
        first = _with_narrow(act) if as_object else act
        conflicts = [self._check(self.writes, "wrote", first, change)]
        if writes:
            behind = _with_narrow(act)
            conflicts.append(self._check(self.reads, "reads", behind))
            conflicts.append(self._check(self.others, "reads", behind))
        if any(conflicts):
            raise self._race(max((c for c in conflicts if c), key=lambda c: c.tick), act)
        if writes:
            self._keep(self.writes, act)
        else:
            self._keep_read(act)

    def _check_begun(self, accessor: Accessor, agent: str) -> None:
        """Check that the beginning of another CTA happens before an access to its memory.

        Raises: Fault.
        """
        if not all(clock.has_begun(self.owner) for clock, _ in accessor.parts):
            raise unstarted(agent, f"{self.name}, by CTA {accessor.cta}")

    def _check(
        self, kept: _Kept, verb: str, act: _Act, change: Change | None = None
    ) -> _Conflict | None:
        """Earlier accesses that race with this one."""
        prior = self._after_floor(kept, act)
        if prior is None:
            return None
        found = self._unordered(prior, act, act.strength)
        if act.strength != WEAK and not act.vector:
            found = found | self._is_torn(kept, prior, act)
        if not found.any():
            return None
        if change is not None and act.writes and act.accessor.group >= 0:
            before, after = change
            found &= before[numbers_of(act.index)].reshape(after.shape) != after
        return _Conflict(kept, verb, prior, found) if found.any() else None

    def _is_torn(self, kept: _Kept, prior: Epochs, act: _Act) -> NDArray[np.bool_]:
        """Which bytes of numbers have accesses by other numbers, of which these have only parts.

        Strong accesses race where the two do not overlap completely.  PTX ISA, Memory Consistency
        Model: Morally strong operations.
        """
        sites = kept.sites_at(act.index).reshape(prior.shape)
        torn = ((prior != prior[:, :1]) | (sites != sites[:, :1])).any(axis=1)
        if not torn.any():
            return np.zeros(prior.shape, np.bool_)
        strong = (strength_of(prior) != WEAK) & (prior < OPERATION)
        found: NDArray[np.bool_] = self._unordered(prior, act) & torn[:, None] & strong
        return found

    def _after_floor(self, kept: _Kept, act: _Act) -> Epochs | None:
        """The epochs of an access's bytes, a row for each part.

        None where all of them happen before.
        """
        floor = self._floor(act.accessor)
        if not kept.top or kept.top < floor:
            return None
        prior = kept.at(act.index)
        latest = int(prior.max())
        return prior.reshape(act.rows, -1) if latest and latest >= floor else None

    def _unordered(self, prior: Epochs, act: _Act, strength: int = WEAK) -> NDArray[np.bool_]:
        """Which of the earlier accesses do not happen before this one.

        Repeated epochs are compared once.
        """
        few = prior
        together = len(act.accessor.epochs) == 1 and all(
            rows is None for _, rows in act.accessor.parts
        )
        if together and bool((prior == prior[0, 0]).all()):
            few = prior[:1, :1]
        elif prior.shape[1] > 1 and bool((prior == prior[:, :1]).all()):
            few = prior[:, :1]
        found = unordered(few, act.accessor, self.clocks.stride, self.clocks.clusters, strength)
        if act.accessor.relies is not None and self.unit == CELLS:
            found |= unfenced(few, act.accessor.relies)
        if not found.any():
            return found
        return np.broadcast_to(found, prior.shape).copy()

    def _race(self, conflict: _Conflict, act: _Act) -> Fault:
        which = int(numbers_of(act.index).reshape(-1)[conflict.at])
        first = self.clocks.sites.all[int(conflict.kept.sites[which])]
        count = int(conflict.found.sum())
        return race(
            first,
            conflict.verb,
            self._missing(first, conflict.epoch, act),
            act.agent,
            writes=act.writes,
            what=f"{count} {self.unit} of {self.name}, {self._where(which)}",
            between=self._between(conflict.epoch, act),
        )

    def _between(self, prior: int, act: _Act) -> Between:
        """Who makes two accesses that race, and where they signal and hear in between."""
        signals, mine = self.clocks.signals, act.accessor
        if prior >= OPERATION or mine.group < 0:
            return NOTHING_BETWEEN
        first, second = self.clocks.warp_of(prior & ACTOR), (mine.cta, mine.warp)
        if first == second:
            return NOTHING_BETWEEN
        behind = signals.behind(first, tick_of(prior))
        return Between(first[0], second[0], behind, signals.before(second))

    def _floor(self, accessor: Accessor) -> int:
        """A number above all thread epochs that happen before every part of the access."""
        if self.home != accessor.cta:
            return 0
        return below(min(clock.floor(self.home) for clock, _ in accessor.parts))

    def _keep(self, kept: _Kept, act: _Act) -> None:
        marks = strong_mark(act.accessor.epochs, act.strength)
        kept.put(act.index, marks, site_of(self.clocks, act.agent), act.rows)

    def _keep_read(self, act: _Act) -> None:
        """Record a read; the last one is kept beside it, if the two are not ordered."""
        there = self._after_floor(self.reads, act)
        if there is not None:
            left = self._unordered(there, act)
            if left.any():
                where = numbers_of(act.index).reshape(there.shape)[left]
                self.others.epochs[where] = there[left]
                self.others.top = self.reads.top
                self.others.sites[where] = self.reads.sites[where]
        self._keep(self.reads, act)

    def unseen(self, offsets: NDArray[np.int64], size: int) -> int:
        """The number of bytes read through the async proxy that are not yet visible to it.

        Threads wrote them, with no fence.proxy.async between the write and the issue.
        """
        actor = self.clocks.actor
        flat = offsets.reshape(-1)
        if not isinstance(actor, AsyncOp) or not flat.size:
            return 0
        prior = self.writes.at(index_of(flat, size)[0])
        fenced = (actor.before or NOTHING).proxied
        return int(unseen(prior, fenced, self.clocks.stride).sum())

    def is_open(self, offset: int, lanes: NDArray[np.intp]) -> bool:
        """Whether the last write of a byte happens before what none of these threads do now."""
        where = np.full(lanes.size, offset, np.int64)
        accessor = accessor_of(self.clocks, lanes.size, lanes, same=False)
        if accessor is None:
            return False
        act = _Act(*index_of(where, 1), accessor, "", writes=False, strength=WEAK)
        prior = self.writes.at(act.index).reshape(act.rows, -1)
        return bool(self._unordered(prior, act).all())

    def clear(self, index: slice | NDArray[np.int64]) -> None:
        """Clear the accesses to bytes that are allocated anew."""
        for kept in (self.writes, self.reads, self.others):
            kept.clear(index)

    # ---- flags -----------------------------------------------------------------------------------

    def observe(
        self, offsets: NDArray[np.int64], lanes: NDArray[np.intp], order: Order, reach: Reach, *,
        instead: Mapping[int, LocationReleases | None] = NOTHING_ELSE,
    ) -> None:  # fmt: skip
        """Record that threads read what others may have released here.

        `instead` is what those of some numbers read that find an earlier value.
        """
        actor = self.clocks.actor
        if not self.flags or actor is None or isinstance(actor, AsyncOp):
            return
        places = zip(lanes.tolist(), offsets.reshape(-1).tolist(), strict=True)
        for number, (lane, offset) in enumerate(places):
            flag = instead[number] if number in instead else self.flags.get(offset)
            if flag is not None:
                self.clocks.observe_flag(actor, 1 << lane, flag, reach, acquires=order.acquires)

    def publish(
        self, offsets: NDArray[np.int64], lanes: NDArray[np.intp], order: Order, reach: Reach, *,
        alone: bool = False,
    ) -> None:  # fmt: skip
        """Record that threads write what others may acquire; with `alone` each for itself."""
        actor = self.clocks.actor
        if actor is None or isinstance(actor, AsyncOp):
            return
        for lane, offset in zip(lanes.tolist(), offsets.reshape(-1).tolist(), strict=True):
            found = self.clocks.releases_of_write(
                actor, lane, reach, releases=order.releases, alone=alone
            )
            if found:
                self.flags.setdefault(offset, LocationReleases()).add(actor.warp.cta.number, found)

    def exchange(
        self, offsets: NDArray[np.int64], lanes: NDArray[np.intp], order: Order, reach: Reach
    ) -> None:
        """Record that threads read and write atomically, those of one place one after the other.

        What one releases there the next one may acquire, in the same warp too.
        """
        places = offsets.reshape(-1).tolist()
        if len(set(places)) == len(places):
            self.observe(offsets, lanes, order, reach)
            self.publish(offsets, lanes, order, reach)
            return
        for at in range(len(places)):
            one, lane = offsets[at : at + 1], lanes[at : at + 1]
            self.observe(one, lane, order, reach)
            self.publish(one, lane, order, reach, alone=True)

    # ---- words -----------------------------------------------------------------------------------

    def _missing(self, site: Site, epoch: int, act: _Act) -> str:
        """What is missing after an earlier access.

        A wait for an operation of a kind, a fence after it, or an order of threads, which are of
        one warp, of one CTA, or of two.
        """
        actor = self.clocks.actor
        accessor = act.accessor
        if self._is_out_of_scope(epoch, act.strength):
            prior = np.full((act.rows, 1), epoch)
            return "scope" if self._unordered(prior, act, act.strength).any() else "size"
        if epoch >= OPERATION:
            fence = missing_fence(actor, epoch) if isinstance(actor, AsyncOp) else ""
            return fence or site.kind
        if isinstance(actor, AsyncOp) and tick_of(epoch) > actor.tick:
            return actor.kind  # the thread is ordered after its issue
        cta, local = divmod(epoch & ACTOR, self.clocks.stride)
        if cta != accessor.cta:
            return "CTA"
        return "warp" if local // WIDE == accessor.warp else "thread"

    def _is_out_of_scope(self, epoch: int, strength: int) -> bool:
        """Whether two strong accesses race, or the earlier access was released at a scope that does
        not include who read that.
        """
        prior = np.array([[epoch]], np.int64)
        if strength != WEAK and strength_of(prior)[0, 0] != WEAK:
            return True
        return self.clocks.missed is not NOTHING and is_known(
            prior, self.clocks.missed, self.clocks.stride
        )

    def _where(self, offset: int) -> str:
        if self.unit == CELLS:
            return f"lane {offset // 512}, column {offset % 512}"
        begun = max((at for at in self.names if at <= offset), default=None)
        named = "" if begun is None else f", byte {offset - begun} of {self.names[begun]}"
        return f"offset {offset:#x}{named}"


def _with_narrow(act: _Act) -> _Act:
    """The access with what is known through scopes that are too narrow, which counts for reads."""
    parts = act.accessor.parts
    if all(clock.narrow is None for clock, _ in parts):
        return act
    wide = tuple((whole(clock), rows) for clock, rows in parts)
    return replace(act, accessor=replace(act.accessor, parts=wide))
