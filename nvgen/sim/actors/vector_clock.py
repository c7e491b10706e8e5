"""Vector clocks of threads and of asynchronous operations.

Layer: nvgen.sim.  Time is counted in ticks, one for the whole launch, and moves on at each release.
A `Clock` says, for every thread and operation, up to which tick its accesses happen before what
comes next.  Clocks are values: to acquire is to replace one by its join with another, so that the
threads of a warp that have acquired the same share one.

Orders that are followed: program order of a thread; bar and barrier, all forms; bar.warp.sync;
mbarriers, from an arrival (or a completion of bytes, or a commit) to a look that succeeds; an
operation behind its issue, and behind what it is pipelined with where its thread comes behind the
issue of that; tcgen05.wait; bulk wait groups; wgmma.wait_group; tcgen05.dealloc before a later
alloc; releases and acquires, also as a fence with a relaxed, volatile or atomic access, or with a
relaxed arrival or wait on an mbarrier.  Of these fences tcgen05.fence::before_thread_sync is one
that releases, ::after_thread_sync one that acquires.  Behind wgmma.wait_group a relaxed arrival,
too, releases the reads of the multiplies.

That an operation on tensor memory is complete is not enough for another one: see
`tensor_fences`.

An mbarrier object is memory: mbarrier.init and mbarrier.inval write its eight bytes, and all other
uses, those by copies and commits too, read them as strong accesses do.  A relaxed
barrier.cluster.arrive releases only what its threads have fenced, by fence.mbarrier_init no more
than mbarriers that were made; and the begin of the threads, which happens before any access from
another CTA to the shared memory of theirs.

The use of a value that tcgen05.ld brings orders no accesses to memory (Register dependencies, same
thread).  Scopes count for fences and for accesses to memory: see `scopes`; those of mbarriers for
what threads of one CTA write and threads of another one access: see `narrowed`.  Of the proxies,
fence.proxy.async is followed for shared memory, and what tensor maps need.  Shuffles and votes
order what their threads have read before what one of these writes behind a fence, and mbarriers
that it invalidates, and no more.

PTX ISA, Memory Consistency Model: Causality order; Memory Consistency Model for 5th generation of
TensorCore operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass

Ticks = NDArray[np.int32]

LANES = 32
GROUP = LANES
"""The column of a warp that stands for all its threads together."""

WIDE = LANES + 1
"""Columns of a warp."""

BEGIN = 1
"""The tick at which every thread begins: a clock that has a later one of a CTA is after its
beginning.
"""

NEVER_RUNS = np.iinfo(np.int32).max
"""The tick for lanes without a thread."""


class Order(Enum):
    """The memory ordering of an access."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    BOTH = "acq_rel"

    @property
    def acquires(self) -> bool:
        """Whether what it reads from happens before what follows."""
        return self in (Order.ACQUIRE, Order.BOTH)

    @property
    def releases(self) -> bool:
        """Whether what precedes it happens before a read of it."""
        return self in (Order.RELEASE, Order.BOTH)


NO_TICKS: Ticks = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """A vector clock: up to which tick every thread and operation happens before.

    For a thread that is the floor of its CTA, or its own tick in the CTA's row if that is later;
    for an operation the tick in its column.  `tensor` is the operations on tensor memory that a
    tcgen05.fence::after_thread_sync lets the next ones rely on, in the ticks of `tensor_fences`.
    `proxied` is the clock that is visible to the async proxy, where there was a fence.proxy.async.
    `narrow` is what threads have handed on by arrivals at mbarriers whose scope, or that of the
    wait, does not include both, or by fence.mbarrier_init: see `narrowed`.
    """

    floors: Mapping[int, int] = field(default_factory=dict)
    rows: Mapping[int, Ticks] = field(default_factory=dict)
    ops: Ticks = field(default_factory=lambda: NO_TICKS)
    tensor: Ticks = field(default_factory=lambda: NO_TICKS)
    proxied: Clock | None = None
    narrow: Clock | None = None

    def floor(self, cta: int) -> int:
        """The tick of each thread of a CTA that this clock is ordered after."""
        return self.floors.get(cta, 0)

    def has_begun(self, cta: int) -> bool:
        """Whether this clock is ordered after the first instruction of some thread of a CTA."""
        row = self.rows.get(cta)
        if self.floor(cta) >= BEGIN or (row is not None and _latest(row) >= BEGIN):
            return True
        return self.narrow is not None and self.narrow.has_begun(cta)


NOTHING = Clock()


def join(a: Clock | None, b: Clock | None) -> Clock:
    """The join of two clocks."""
    if a is b or b is None or b is NOTHING:
        return a or NOTHING
    if a is None or a is NOTHING:
        return b
    floors = a.floors
    if b.floors is not floors:
        floors = dict(a.floors)
        for cta, floor in b.floors.items():
            floors[cta] = max(floor, floors.get(cta, 0))
    rows: dict[int, Ticks] = {}
    for cta in {*a.rows, *b.rows}:
        row = _joined_row(a.rows.get(cta), b.rows.get(cta))
        if not floors.get(cta, 0) or floors[cta] < _latest(row):
            rows[cta] = row
    proxied = a.proxied if b.proxied is None else join(a.proxied, b.proxied)
    narrow = a.narrow if b.narrow is None else join(a.narrow, b.narrow)
    ops, tensor = joined_ops(a.ops, b.ops), joined_ops(a.tensor, b.tensor)
    return Clock(floors, rows, ops, tensor, proxied, narrow)


def narrowed(clock: Clock) -> Clock:
    """A clock that threads learn of through a scope that does not include them.

    What threads wrote does not happen before what follows.  Operations that are complete do, and so
    does what threads have read: libraries rely on it where they give a buffer back to the copies of
    another CTA by an arrival without a scope.
    """
    threads = Clock(clock.floors, clock.rows)
    narrow = join(threads, clock.narrow)
    return Clock(ops=clock.ops, tensor=clock.tensor, proxied=clock.proxied, narrow=narrow)


def whole(clock: Clock) -> Clock:
    """A clock joined with those acquired through scopes that are too narrow."""
    return clock if clock.narrow is None else join(clock, clock.narrow)


def common(a: Clock, b: Clock) -> Clock:
    """The meet of two clocks."""
    floors = {cta: min(floor, b.floor(cta)) for cta, floor in a.floors.items() if cta in b.floors}
    rows: dict[int, Ticks] = {}
    for cta in {*a.rows, *b.rows}:
        ones, others = _levels(a, cta, b.rows.get(cta)), _levels(b, cta, a.rows.get(cta))
        rows[cta] = grouped(np.minimum(ones, others))
    proxied = None
    if a.proxied is not None and b.proxied is not None:
        proxied = a.proxied if a.proxied is b.proxied else common(a.proxied, b.proxied)
    narrow = None
    if a.narrow is not None and b.narrow is not None:
        narrow = a.narrow if a.narrow is b.narrow else common(a.narrow, b.narrow)
    ops, tensor = common_ops(a.ops, b.ops), common_ops(a.tensor, b.tensor)
    return Clock(floors, rows, ops, tensor, proxied, narrow)


def _levels(clock: Clock, cta: int, other: Ticks | None) -> Ticks:
    """The tick of each column of a CTA in a clock, of which one of two clocks has a row."""
    row = clock.rows.get(cta)
    if row is not None:
        return np.maximum(row, np.int32(clock.floor(cta)))
    assert other is not None
    found: Ticks = np.where(other == NEVER_RUNS, NEVER_RUNS, np.int32(clock.floor(cta)))
    return found


def _latest(row: Ticks) -> int:
    """The latest tick in a row, without lanes that were not launched."""
    return int(row.max(initial=0, where=row != NEVER_RUNS))


def _joined_row(a: Ticks | None, b: Ticks | None) -> Ticks:
    if a is None or b is None:
        found = a if a is not None else b
        assert found is not None
        return found
    if a is b or (a >= b).all():
        return a
    return grouped(np.maximum(a, b))


def grouped(row: Ticks) -> Ticks:
    """The row with the column of each whole warp set to the least of its threads."""
    wide = row.reshape(-1, WIDE)
    wide[:, GROUP] = wide[:, :GROUP].min(axis=1)
    return row


def joined_ops(a: Ticks, b: Ticks) -> Ticks:
    """The join of two rows of operations."""
    if a is b or not b.size:
        return a
    if a.size < b.size:
        a, b = b, a
    if (a[: b.size] >= b).all():
        return a
    found = a.copy()
    np.maximum(found[: b.size], b, out=found[: b.size])
    return found


def common_ops(a: Ticks, b: Ticks) -> Ticks:
    """The meet of two rows of operations."""
    if a is b:
        return a
    size = min(a.size, b.size)
    found: Ticks = np.minimum(a[:size], b[:size])
    return found
