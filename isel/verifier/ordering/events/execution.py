"""One execution of an event: operands as numbers, the log, releases, and mbarriers by address.

Layer: isel.verifier.ordering.events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Reg
from isel.verifier.function.events import Kind
from isel.verifier.function.flow.values import LANES
from isel.verifier.ordering.events import regions, warp_order
from isel.verifier.ordering.integers import windows
from isel.verifier.ordering.integers.numbers import Number, lanes_of, uniform
from isel.verifier.ordering.lifetimes import PUBLISHED
from isel.verifier.ordering.memory_regions import Region
from isel.verifier.ordering.run.clocks import (
    RELEASES,
    WIDE,
    Clock,
    Counters,
    Release,
    Source,
    joined,
    source_of,
)
from isel.verifier.ordering.run.log import Access, Point
from isel.verifier.ordering.run.machine import Machine
from isel.verifier.ordering.run.plain_step import Plain
from isel.verifier.ordering.run.strand import named
from isel.verifier.ordering.run.synchronisation import Delivery, Mbarrier

_BY_ADDRESS = (Kind.SHARED_LOAD, Kind.SHARED_STORE, Kind.COPY_IN, Kind.COPY_OUT)
"""Accesses of bytes that the address and the size of the access name."""

_FIRST, _LAST = attrgetter("first"), attrgetter("last")

WGMMA = "wgmma"
"""The source in clocks that counts the multiplies of a warpgroup."""


@dataclass(slots=True)
class Execution(Plain):
    """An event, executed by the threads of a strand in the lanes of a mask.

    `written` are the registers that it writes and that the slice reads.
    """

    machine: Machine
    index: int
    written: Sequence[Reg]

    # ---- operands ------------------------------------------------------------------------------

    def number(self, name: str) -> int | None:
        """The value of an operand where it is known and the same for all of these threads."""
        return uniform(self.run.value(self.strand, self.mi.get(name)), self.mask)

    def forget(self) -> None:
        """Write unknown values to all registers that the record writes."""
        for reg in self.written:
            self.run.write(self.strand, reg, None, self.mask)

    def forget_all(self) -> None:
        """As `forget`, for all threads of the strand."""
        for reg in self.written:
            self.strand.registers.pop(reg, None)

    def is_unknown(self, what: str) -> bool:
        """Log something that the run cannot model, and continue."""
        self.run.log.cannot_follow(what)
        return True

    def __str__(self) -> str:
        return named(self.strand.actor)

    def aligned(self, address: Number, size: int) -> None:
        """Log an address in shared memory that is not aligned to `size` bytes."""
        at = regions.misaligned(address, self.mask, size)
        if at is not None:
            self.misaligned(at, size)

    def misaligned(self, address: int, size: int) -> None:
        """Log an address that is not aligned, if it is one of shared memory.

        Only if the variable is: otherwise it may be aligned where the variable lies.
        """
        if not windows.is_in_shared(address):
            return
        offset = windows.offset_of(address)
        there = next((v for v in self.machine.variables if v.first <= offset < v.last), None)
        if there is not None and there.align % size == 0:
            got = f"byte {offset - there.first} of {there.name}, for {size} bytes"
            self.run.log.misaligned.setdefault(self.index, got)

    # ---- clocks --------------------------------------------------------------------------------

    @property
    def counters(self) -> Counters:
        """The epochs of the warp's sources."""
        return self.machine.counters[self.strand.actor]

    @property
    def thread(self) -> int:
        """The number of the first of these threads in the cluster."""
        return self.strand.actor * LANES + (self.mask & -self.mask).bit_length() - 1

    def source(self, kind: str) -> Source:
        """A source of this warp, by kind."""
        return source_of(kind, self.strand.actor)

    def here(self) -> Point:
        """The epoch of the warp's last access."""
        return self.source("warp"), self.counters.get("warp")

    def knows(self, point: Point) -> bool:
        """Whether an epoch happens before this execution."""
        source, count = point
        return source == self.source("warp") or self.strand.clocks.known.get(source, 0) >= count

    def issued(self, kind: str) -> Clock:
        """A clock with all operations of a kind that the warp has issued."""
        return {self.source(kind): self.counters.get(kind)}

    def accessed(self) -> Clock:
        """A clock with all accesses of the warp, for other CTAs too."""
        count = self.counters.get("warp")
        if self.run.launch.ctas == 1:
            return {self.source("warp"): count}
        return {self.source("warp"): count, self.source(WIDE): count}

    def release(self, *, arrives: bool = False) -> Release:
        """The clocks that these threads release here; `arrives` if it is an arrival."""
        if arrives:
            here = len(self.run.log.accesses), self.index
            self.run.log.arrivals.setdefault(self.strand.actor, []).append(here)
        mine = self.strand.clocks
        self.counters.next(RELEASES)
        known = joined(mine.known, self.accessed())
        relaxed = known if mine.relaxed is mine.known else joined(mine.relaxed, known)
        before = joined(joined(mine.before, mine.late), mine.acquired)
        return Release(known, before, mine.proxied, relaxed)

    def relaxed_release(self) -> Release:
        """The clocks that a relaxed arrival or write releases: those of earlier fences, of either
        kind.
        """
        mine = self.strand.clocks
        fenced = joined(mine.before, mine.acquired)
        relaxed = joined(self.release().relaxed, fenced)
        return Release(joined(mine.released.known, fenced), fenced, mine.released.proxied, relaxed)

    # ---- the run -------------------------------------------------------------------------------

    def log(
        self, kind: Kind, found: Sequence[Region], *,
        done: str = "warp", count: int | None = None, by_proxy: bool = False,
        source: Source | None = None, accumulates: bool = False,
    ) -> None:  # fmt: skip
        """Log an access, complete for a clock with the epoch `count` of its `source`.

        Regions that are empty or begin below address 0, which invalid operands give, are dropped.
        """
        counters, mine = self.counters, self.strand.clocks
        here = counters.next("warp")
        number = count if count is not None else here if done == "warp" else counters.next(done)
        access = Access(
            self.index, kind, self.strand.rank, self.strand.actor, len(self.run.log.accesses),
            self._judged(kind, found),
            (source or self.source(done), number), mine.known, mine.fenced,
            mine.proxied, mine.acquired, mine.relaxed,
            (self.source("warp"), here), by_proxy, accumulates,
        )  # fmt: skip
        self.run.log.accesses.append(access)
        warp_order.accessed(self.machine, access, self.mask)

    def _judged(self, kind: Kind, found: Sequence[Region]) -> Sequence[Region]:
        """The regions that the log keeps of those given, which are judged once for a record."""
        judged, key = self.machine.judged, (self.index, id(found))
        if key not in judged:
            there = [piece for piece in found if 0 <= piece.first <= piece.last]
            if kind in _BY_ADDRESS:
                self._within(there)
            judged[key] = found, found if len(there) == len(found) else there
        return judged[key][1]

    def _within(self, found: Sequence[Region]) -> None:
        """Log an access beyond all shared memory of a CTA, or to a CTA that the cluster lacks."""
        end, ctas, log = self.machine.end, self.run.launch.ctas, self.run.log
        if not found or windows.are_in_one(
            min(map(_FIRST, found)), max(map(_LAST, found)), ctas, end
        ):
            return
        for piece in found:
            if piece.last <= piece.first:
                continue
            if windows.rank_of(piece.first) >= ctas:
                log.elsewhere.setdefault(self.index, windows.rank_of(piece.first))
            elif windows.offset_of(piece.last - 1) >= end:
                last = max(self.machine.variables, key=lambda v: v.last)
                beyond = windows.offset_of(piece.last) - last.first
                got = f"byte {beyond - 1} of {last.name}, which has {last.last - last.first}"
                log.outside.setdefault(self.index, got)

    def deliver(self, mbarrier: Mbarrier, what: Delivery) -> None:
        """Queue the effect of an asynchronous operation on an mbarrier, for when it completes."""
        self.counters.next(RELEASES)
        self.signals(mbarrier)
        self.run.deliver(mbarrier, what)

    def wait(
        self, over: Callable[[], bool], resume: Callable[[], bool], what: str,
        mbarrier: int | None = None,
    ) -> bool:  # fmt: skip
        """Block the strand before the record until `over` holds, and then do `resume` there."""
        return self.run.wait(self.strand, self.index, over, resume, what, mbarrier)

    def named(self) -> dict[int, int]:
        """The addresses of the mbarriers that these threads name, with the mask of threads for
        each.
        """
        found: dict[int, int] = {}
        peers, mbar = self.number("cta_mask"), self.slot("mbar")
        if isinstance(mbar, int):
            return dict.fromkeys(windows.in_ctas(mbar, peers), self.mask.bit_count())
        for lane, at in enumerate(lanes_of(mbar)):
            if not self.mask >> lane & 1:
                continue
            if at is None:
                self.is_unknown("mbarrier address")
                continue
            for one in windows.in_ctas(at, peers):
                found[one] = found.get(one, 0) + 1
        return found

    def mbarriers(self) -> list[tuple[Mbarrier, int]]:
        """The mbarriers that these threads name, with the number of threads for each."""
        here = []
        for at, threads in self.named().items():
            mbarrier = self.mbarrier_at(at)
            if mbarrier is not None:
                here.append((mbarrier, threads))
        return here

    def mbarrier_at(self, address: int) -> Mbarrier | None:
        """The mbarrier at an address; None where none was initialised."""
        found = self.machine.mbarriers.get(address)
        if found is None:
            self.machine.uninitialised.setdefault(address, []).append((self.index, str(self)))
            self.run.absent(address)
        elif not self.knows(found.made) and self.strand.actor not in found.reported:
            found.reported.add(self.strand.actor)
            away = windows.rank_of(address) != self.strand.rank
            barrier = "a barrier of the cluster" if away else "a barrier"
            got = f"{self} can come to it without {barrier} after {{line}}"
            self.run.log.breach(PUBLISHED, self.index, got, found.made_by)
        if found is not None:
            self.uses(found)
        return found

    def signals(self, mbarrier: Mbarrier) -> None:
        """Note that the record arrives at an mbarrier, or expects or brings bytes there."""
        mbarrier.signals[self.index] = None
        mbarrier.came.add(self.strand.actor)

    def uses(self, mbarrier: Mbarrier) -> None:
        """Note that the warp uses an mbarrier here, if the kernel invalidates some."""
        if self.run.program.invalidates:
            self.counters.next("warp")
            mbarrier.users[self.strand.actor] = self.index, str(self), self.here()


Event: TypeAlias = Callable[[Execution], bool]
"""The effect of a record; False where the strand blocks before it."""


def nothing(e: Execution) -> bool:
    """The event of a record that has no effect on order, and whose results are data."""
    e.forget()
    return True
