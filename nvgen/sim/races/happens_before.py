"""The happens-before order of a launch: vector clocks of threads and operations.

Layer: nvgen.sim.  `Clocks` is notified of every instruction, every issue of an operation and every
synchronisation; it keeps the clocks of every warp (`warp_clocks`).  Synchronisation of threads,
asynchronous operations and tensor memory share this state: one question, whatever its length.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.parts import InstructionPart, StrandPart, WarpPart
from nvgen.sim.actors.vector_clock import (
    BEGIN,
    GROUP,
    NEVER_RUNS,
    NO_TICKS,
    NOTHING,
    WIDE,
    Clock,
    Ticks,
    common,
    grouped,
    join,
    joined_ops,
    narrowed,
    whole,
)
from nvgen.sim.races.clock_columns import Columns
from nvgen.sim.races.epochs import Sites
from nvgen.sim.races.scopes import (
    Clusters,
    LocationReleases,
    Observed,
    Reach,
    Released,
    by_reach,
    fenced,
    joined,
    within,
)
from nvgen.sim.races.signals import Signals, Warp
from nvgen.sim.races.tensor_fences import (
    ACCESSES,
    AFTER,
    BEFORE,
    MOVES,
    complete,
    issued,
    level,
    marked,
)
from nvgen.sim.races.warp_clocks import WarpClocks, lane_indices

Sent = tuple[Clock, Clock]
"""What an arrival at another CTA's mbarrier releases: to any wait, and to one of .cluster."""


@dataclass(slots=True, eq=False)
class Clocks:
    """The clocks of a launch, and its current actor.

    `actor` is the strand or operation that executes; `at` the instruction of the strand.
    """

    warps_each: int  # of a CTA
    clusters: Clusters
    now: int = BEGIN + 1
    actor: StrandPart | AsyncOp | None = None
    at: InstructionPart | None = None
    released: Clock | None = None  # of the strand at this instruction, once computed
    missed: Clock = NOTHING  # what was released, and is too far away for some scope
    sites: Sites = field(default_factory=Sites)
    signals: Signals = field(default_factory=Signals)
    _warps: dict[WarpPart, WarpClocks] = field(default_factory=dict)
    _columns: Columns = field(default_factory=Columns)
    _blanks: dict[int, Ticks] = field(default_factory=dict)  # by CTA

    @property
    def stride(self) -> int:
        """The number of columns of a CTA."""
        return self.warps_each * WIDE

    def warp_of(self, actor: int) -> Warp:
        """The CTA and the warp within it whose threads an epoch's column counts for."""
        cta, column = divmod(actor, self.stride)
        return cta, column // WIDE

    def of(self, warp: WarpPart) -> WarpClocks:
        """The clocks of a warp's threads."""
        found = self._warps.get(warp)
        if found is None:
            local = warp.number * WIDE
            cta = warp.cta.number
            found = WarpClocks(warp, cta, cta * self.stride + local, local, self._blank(warp))
            self._warps[warp] = found
        return found

    # ---- turns -----------------------------------------------------------------------------------

    def turn(self, strand: StrandPart, instruction: InstructionPart) -> None:
        """Set the current actor: a strand that executes an instruction."""
        self.actor, self.at, self.released = strand, instruction, None

    def narrowed(self, strand: StrandPart) -> None:
        """Restrict the current actor to the threads whose guard holds."""
        self.actor, self.released = strand, None

    # ---- releases -------------------------------------------------------------------------------

    def release(self, strand: StrandPart, mask: int, *, each: bool = False) -> Clock:
        """The clock that threads of a strand release; their next accesses are in a later epoch.

        It is the join of theirs, or with `each` the meet.
        """
        mine = self.of(strand.warp)
        known = mine.common(mask) if each else mine.joined(mask)
        found = known.rows.get(mine.cta, mine.blank)
        row: Ticks = np.maximum(found, np.int32(known.floor(mine.cta)))
        own = row[mine.local : mine.local + WIDE]
        own[lane_indices(mask)] = self.now
        own[GROUP] = own[:GROUP].min()
        self.now += 1
        lanes = lane_indices(mask).tolist()
        said = mine.tensor.released_by_all(lanes) if each else mine.tensor.released(lanes)
        tensor = joined_ops(known.tensor, said)
        rows = {**known.rows, mine.cta: row}
        return Clock(known.floors, rows, known.ops, tensor, known.proxied, known.narrow)

    def _blank(self, warp: WarpPart) -> Ticks:
        """The row of a warp's CTA in a clock that none of its threads happens before."""
        found = self._blanks.get(warp.cta.number)
        if found is None:
            found = np.full(self.stride, NEVER_RUNS, np.int32)
            wide = found.reshape(-1, WIDE)
            for other in warp.cta.warps:
                wide[other.number, lane_indices(other.launched)] = 0
            self._blanks[warp.cta.number] = grouped(found)
        return found

    def release_of_actor(self) -> Clock | None:
        """The clock that the current actor releases, by its threads or by its completion."""
        if self.actor is None:
            return None
        if isinstance(self.actor, AsyncOp):
            return self.actor.completion
        if self.released is None:
            self.released = self.release(self.actor, self.actor.mask)
        return self.released

    def release_of_arrival(self, relaxed: int) -> Clock | None:
        """The clock that the current actor releases by an arrival.

        `relaxed` is the lane of a relaxed arrival, -1 for one that releases.
        """
        if self.actor is not None and not isinstance(self.actor, AsyncOp):
            self._signal(self.actor.warp)
        if relaxed < 0 or self.actor is None or isinstance(self.actor, AsyncOp):
            return self.release_of_actor()
        mine = self.of(self.actor.warp)
        if mine.multiplied is NOTHING:
            return mine.released[relaxed][Reach.CTA]
        return join(mine.released[relaxed][Reach.CTA], mine.multiplied)

    def sent_by(self, lane: int) -> Sent | None:
        """The clocks that a relaxed arrival at another CTA's mbarrier releases.

        It tells of the beginning of its CTA in any case.
        """
        if self.actor is None or isinstance(self.actor, AsyncOp):
            return None
        mine = self.of(self.actor.warp)
        begun = Clock({mine.cta: BEGIN})
        near = self._narrowed(join(begun, self.release_of_arrival(lane)))
        return near, join(mine.released[lane][Reach.CLUSTER], begun)

    def sent_with_actor(self, sent: Sent) -> Sent:
        """What a relaxed arrival releases, and that the arrival itself is complete."""
        assert isinstance(self.actor, AsyncOp)
        return join(sent[0], _alone(self.actor)), sent[1]

    def sent_by_actor(self) -> Sent | None:
        """The clocks that an arrival with release semantics releases to another CTA."""
        release = self.release_of_actor()
        return None if release is None else (self._narrowed(release), release)

    def _narrowed(self, clock: Clock) -> Clock:
        """What a scope hands on to threads that it does not include; see `narrowed`."""
        found = narrowed(clock)
        self.missed = join(self.missed, found.narrow)
        return found

    def fenced_by(self, strand: StrandPart) -> Clock:
        """The clock that threads release by an arrival without release semantics: that of their
        fences.

        Their beginning happens before in any case.
        """
        mine = self.of(strand.warp)
        runs = Clock({mine.cta: BEGIN})
        release = [mine.released[lane][Reach.CTA] for lane in lane_indices(strand.mask).tolist()]
        return functools.reduce(join, {id(clock): clock for clock in release}.values(), runs)

    def acquire(self, warp: WarpPart, mask: int, clock: Clock | None) -> None:
        """Let threads acquire a clock."""
        self.of(warp).acquire(mask, clock)

    def adopt(self, warp: WarpPart, mask: int, clock: Clock | None) -> None:
        """Let threads acquire a clock into which they have released theirs."""
        if clock is not None:
            self.of(warp).adopt(mask, clock)

    def meet(self, strand: StrandPart) -> None:
        """Synchronise the threads of a strand with each other.

        What one has read by a relaxed read counts for each of them after its next fence.
        """
        release = self.release(strand, strand.mask)
        mine = self.of(strand.warp)
        mine.adopt(strand.mask, release)
        seen: Observed | None = None
        for lane in lane_indices(strand.mask).tolist():
            observed = mine.seen[lane]
            if observed is not None:
                seen = joined(seen, observed)
        if seen is not None:
            for lane in lane_indices(strand.mask).tolist():
                mine.seen[lane] = seen

    def exchange(self, strand: StrandPart) -> None:
        """Note what the threads of a strand have done when they meet in a shuffle or a vote, which
        orders no memory by itself: see `learn_of_reads`.
        """
        mine = self.of(strand.warp)
        if strand.mask & ~mine.exchanged:
            mine.exchanged = strand.mask
            mine.met = strand.mask, narrowed(self.release(strand, strand.mask))

    def learn_of_reads(self, strand: StrandPart) -> None:
        """Order what threads had read when they met in a shuffle or a vote before what these write
        behind a fence, or mbarriers that they invalidate.

        Libraries rely on it: one lane tells for its warp that all have waited for an mbarrier.
        """
        mine = self.of(strand.warp)
        mask, clock = mine.met
        if not strand.mask & ~mask:
            mine.acquire(strand.mask, clock)

    def flat(self, clock: Clock | None, cta: int) -> Clock:
        """A clock that includes all threads of a CTA up to this tick; none of them is running."""
        known = clock or NOTHING
        floors = {**known.floors, cta: self.now}
        self.now += 1
        rows = {number: row for number, row in known.rows.items() if number != cta}
        return Clock(floors, rows, known.ops, known.tensor, known.proxied, known.narrow)

    # ---- fences ----------------------------------------------------------------------------------

    def fence(self, strand: StrandPart, reach: Reach = Reach.LAUNCH) -> None:
        """A fence: earlier relaxed reads acquire, later relaxed writes release."""
        self.learn_of_reads(strand)
        self._acquire(strand, reach)
        self._release(strand, reach)

    def fence_inits(self, strand: StrandPart) -> None:
        """fence.mbarrier_init: what other threads may use as mbarriers, and not read as data."""
        mine = self.of(strand.warp)
        release = self._narrowed(self.release(strand, strand.mask))
        for lane in lane_indices(strand.mask).tolist():
            near, cluster, launch = mine.released[lane]
            mine.released[lane] = join(near, release), join(cluster, release), launch

    def fence_before(self, strand: StrandPart) -> None:
        """tcgen05.fence::before_thread_sync."""
        self.of(strand.warp).tensor.fence_before(lane_indices(strand.mask).tolist())
        self._release(strand)

    def fence_after(self, strand: StrandPart) -> None:
        """tcgen05.fence::after_thread_sync."""
        self._acquire(strand)
        mine = self.of(strand.warp)
        mine.tensor.fence_after(lane_indices(strand.mask).tolist(), mine.lanes)

    def fence_proxies(self, strand: StrandPart) -> None:
        """fence.proxy.async: what happens before it becomes visible to the async proxy."""
        mine = self.of(strand.warp)
        release = self.release(strand, strand.mask)
        known = whole(release)
        seen = join(release.proxied, Clock(known.floors, known.rows))
        mine.acquire(strand.mask, Clock(proxied=seen))

    def _acquire(self, strand: StrandPart, reach: Reach = Reach.LAUNCH) -> None:
        """Let threads acquire what their relaxed reads have read, of threads in a scope."""
        mine = self.of(strand.warp)
        alike: dict[int, tuple[Observed, int]] = {}  # lanes by what they have read
        for lane in lane_indices(strand.mask).tolist():
            observed = mine.seen[lane]
            if observed is not None:
                alike[id(observed)] = (
                    observed,
                    alike.get(id(observed), (observed, 0))[1] | 1 << lane,
                )
        for observed, lanes in alike.values():
            mine.acquire(lanes, within(observed, reach))
            for clock in observed[reach + 1 :]:
                self.missed = join(self.missed, clock)
        if reach is Reach.LAUNCH:
            for lane in lane_indices(strand.mask).tolist():
                mine.seen[lane] = None

    def _release(self, strand: StrandPart, reach: Reach = Reach.LAUNCH) -> None:
        """Let the next relaxed writes of threads release their clocks, as far as they reach."""
        mine = self.of(strand.warp)
        release = self.release(strand, strand.mask)
        alike: dict[int, Released] = {}
        for lane in lane_indices(strand.mask).tolist():
            before = mine.released[lane]
            if id(before) not in alike:
                alike[id(before)] = fenced(before, release, reach)
            mine.released[lane] = alike[id(before)]

    def observe_flag(
        self,
        strand: StrandPart,
        lanes: int,
        flag: LocationReleases,
        reach: Reach,
        *,
        acquires: bool,
    ) -> None:
        """Record that threads read a released value, by a strong read of that reach."""
        cta = strand.warp.cta.number
        self.observe_release(
            strand, lanes, flag.observed_by(cta, reach, self.clusters), acquires=acquires
        )
        self.missed = join(self.missed, flag.missed(cta, reach, self.clusters))

    def observe_release(
        self, strand: StrandPart, lanes: int, observed: Observed, *, acquires: bool
    ) -> None:
        """Record that threads read a released value: an acquire, or one after their next fence."""
        mine = self.of(strand.warp)
        self.signals.observe(strand.warp, self.at)
        if acquires:
            mine.acquire(lanes, within(observed, Reach.LAUNCH))
            return
        alike: dict[int, Observed] = {}
        for lane in lane_indices(lanes).tolist():
            old = mine.seen[lane]
            if id(old) not in alike:
                alike[id(old)] = joined(old, observed)
            mine.seen[lane] = alike[id(old)]

    def releases_of_write(
        self,
        strand: StrandPart,
        lane: int,
        reach: Reach,
        *,
        releases: bool,
        alone: bool = False,
    ) -> Sequence[tuple[Reach, Clock]]:
        """The clocks, with their scopes, that an ordered write of a thread releases; `alone`
        excludes the other threads of its strand.
        """
        self._signal(strand.warp)
        if not releases:
            return by_reach(self.of(strand.warp).released[lane], reach)
        clock = self.release(strand, 1 << lane) if alone else self.release_of_actor()
        return [] if clock is None else [(reach, clock)]

    def _signal(self, warp: WarpPart) -> None:
        """Record that a warp signals others; its next accesses are in a later epoch."""
        self.now += 1
        self.signals.send(warp, self.at, self.now)

    # ---- operations ------------------------------------------------------------------------------

    def begin(self, op: AsyncOp) -> None:
        """Set the clock of an operation at its issue: that of its issuers, and of operations before
        it.
        """
        if self.actor is None:
            return
        if isinstance(self.actor, AsyncOp):
            known = self.actor.completion or NOTHING
            op.issuer = None
        elif op.together:
            op.issuer = self.actor.warp
            known = self._shared(op.together)
            self.now += 1
        elif op.collective:
            op.issuer = self.actor.warp
            known = self.release(self.actor, self.actor.mask, each=True)
        else:
            op.issuer = self.actor.warp
            known = self.release(self.actor, 1 << op.thread[2])
        op.issued = self.now - 1
        relied = relies = self._relied(op)
        for other in reversed(op.after):  # also completed ones
            if _has(known, other) and _relies(relies, other):
                continue
            if self._is_issued_after(op, other, known, relies):
                known = join(known, other.completion)
                if op.kind == "mma" and other.relies is not None:
                    relies = joined_ops(relies, other.relies)
        op.before, op.tick = known, self.now
        self.now += 1
        op.column = self._columns.take(op, known.ops, relied)
        ticks = marked(known.ops, op.column, op.tick)
        op.completion = Clock(
            known.floors,
            known.rows,
            ticks,
            self._released_columns(op, known.tensor, relies),
            known.proxied,
            known.narrow,
        )

    def _relied(self, op: AsyncOp) -> Ticks:
        """The operations on tensor memory that an operation may rely on, for its issuers."""
        if op.issuer is None or op.kind not in ACCESSES:
            return NO_TICKS
        return self.of(op.issuer).tensor.ordered_before_all(self._issuers(op))

    def _issuers(self, op: AsyncOp) -> list[int]:
        """The lanes that issue an operation, for which it counts."""
        if not op.collective:
            return [op.thread[2]]
        assert not isinstance(self.actor, AsyncOp | None)
        lanes: list[int] = lane_indices(self.actor.mask).tolist()
        return lanes

    def _is_issued_after(self, op: AsyncOp, other: AsyncOp, known: Clock, relies: Ticks) -> bool:
        """Whether an operation is issued after another one that it takes effect after."""
        if op.issuer is None or other.issuer is None or op.together == other.together != ():
            return True
        if not _has_issue(known, other, self.stride):
            return False
        if op.kind != "mma" or op.thread == other.thread:
            return True
        if level(relies, other.column) >= issued(other.tick):
            return True
        is_observed = level(known.tensor, other.column) >= issued(other.tick)
        op.unfenced[other.column, other.tick] = AFTER if is_observed else BEFORE
        return False

    def _released_columns(self, op: AsyncOp, observed: Ticks, relies: Ticks) -> Ticks:
        """The operations on tensor memory that the completion of an operation releases."""
        if op.issuer is None:
            return observed
        mine, lanes = self.of(op.issuer).tensor, self._issuers(op)
        if op.kind == "commit":
            return joined_ops(observed, mine.committed(lanes[0]))
        if op.kind not in ACCESSES:
            return observed
        op.relies = marked(relies, op.column, complete(op.tick))
        mine.issue(lanes, op)
        return observed if op.kind in MOVES else joined_ops(observed, op.relies)

    def _shared(self, warps: tuple[WarpPart, ...]) -> Clock:
        """The meet of the clocks of several warps; an access of only one of them is not in it."""
        clocks = [self.of(warp).common(warp.launched) for warp in warps]
        return functools.reduce(common, {id(clock): clock for clock in clocks}.values())

    def precedes(self, op: AsyncOp) -> None:
        """Order an operation that its thread does not wait for before what that releases later."""
        if op.issuer is not None:
            self.of(op.issuer).acquire(1 << op.thread[2], _alone(op))

    def is_observed(self, op: AsyncOp) -> bool:
        """Whether an operation's completion happens before its issuer's next instruction."""
        if op.issuer is None:
            return True
        mine, lane = self.of(op.issuer), op.thread[2]
        return _has(mine.lanes[lane], op) and _relies(mine.tensor.fenced[lane], op)

    def wait(self, warp: WarpPart, mask: int, ops: Sequence[AsyncOp]) -> None:
        """Record that threads have waited for operations."""
        found: Clock | None = None
        for op in reversed(ops):
            if found is not None and _has(found, op):
                continue
            found = join(found, op.completion)
            if op.together:
                mine = self.of(warp)
                mine.multiplied = join(mine.multiplied, Clock(ops=found.ops))
        self.acquire(warp, mask, found)
        self.of(warp).tensor.waited(lane_indices(mask).tolist(), ops)


def _alone(op: AsyncOp) -> Clock:
    """The completion of an operation, without what happens before it."""
    return Clock(ops=marked(NO_TICKS, op.column, op.tick))


def _has(clock: Clock, op: AsyncOp) -> bool:
    """Whether the completion of an operation happens before a clock."""
    return clock.ops.size > op.column and int(clock.ops[op.column]) >= op.tick


def _relies(relied: Ticks, op: AsyncOp) -> bool:
    """Whether the completion of an operation may be relied on.

    Outside tensor memory without a fence.
    """
    return op.relies is None or level(relied, op.column) >= complete(op.tick)


def _has_issue(clock: Clock, op: AsyncOp, stride: int) -> bool:
    """Whether the issue of an operation happens before a clock."""
    cta, warp, lane = op.thread
    known = whole(clock)
    if known.floor(cta) >= op.issued:
        return True
    row = known.rows.get(cta)
    return row is not None and int(row[warp * WIDE + lane]) >= op.issued
