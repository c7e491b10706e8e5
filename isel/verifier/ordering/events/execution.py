"""One execution of a record that has to do with order.

Layer: isel.verifier.ordering.events.  What the records of memory, barriers, copies and tensor
memory have in common: operands as numbers, the log, releases, and the mbarriers that are named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from intrinsics.mir import MachineInstr, Reg
from isel.verifier.function.events import Kind
from isel.verifier.function.values import LANES
from isel.verifier.ordering import together, windows
from isel.verifier.ordering.clocks import (
    HANDED,
    Clock,
    Counters,
    Release,
    Source,
    joined,
    source_of,
)
from isel.verifier.ordering.life import PUBLISHED
from isel.verifier.ordering.log import Access, Point, Region
from isel.verifier.ordering.machine import Machine
from isel.verifier.ordering.meetings import Delivery, Mbarrier
from isel.verifier.ordering.numbers import Number, lanes_of, uniform
from isel.verifier.ordering.scene import Scene
from isel.verifier.ordering.strand import Strand, named

WGMMA = "wgmma"
"""What the clocks count of the multiplies of a warpgroup."""


@dataclass(slots=True)
class Execution:
    """A record, and the threads that execute it: those of a strand in the lanes of a mask.

    `written` are the registers that it writes and that somebody asks for.
    """

    run: Scene
    strand: Strand
    mi: MachineInstr
    index: int
    mask: int
    written: Sequence[Reg]

    # ---- operands ------------------------------------------------------------------------------

    @property
    def machine(self) -> Machine:
        """The machine of the run."""
        return self.run.machine

    def slot(self, name: str) -> Number:
        """The value of an operand, None without one."""
        return self.run.slot(self.strand, self.mi, name)

    def number(self, name: str) -> int | None:
        """The value of an operand where it is known and the same for all of these threads."""
        return uniform(self.slot(name), self.mask)

    def write(self, name: str, number: Number) -> None:
        """Give the register of an operand a value."""
        self.run.write(self.strand, self.mi.get(name), number, self.mask)

    def forget(self) -> None:
        """Give every register that the record writes an unknown value."""
        for reg in self.written:
            self.run.write(self.strand, reg, None, self.mask)

    def forget_all(self) -> None:
        """As `forget`, for all threads of the strand."""
        for reg in self.written:
            self.strand.registers.pop(reg, None)

    def is_unknown(self, what: str) -> bool:
        """Note something that the run cannot follow; the strand goes on."""
        self.run.log.cannot_follow(what)
        return True

    def __str__(self) -> str:
        return named(self.strand.actor)

    # ---- clocks --------------------------------------------------------------------------------

    @property
    def counters(self) -> Counters:
        """What the warp has issued."""
        counters, actor = self.machine.counters, self.strand.actor
        if actor not in counters:
            counters[actor] = Counters()
        return counters[actor]

    @property
    def thread(self) -> int:
        """The first of these threads, among those of all CTAs."""
        return self.strand.actor * LANES + (self.mask & -self.mask).bit_length() - 1

    def source(self, kind: str) -> Source:
        """What the clocks count of this warp."""
        return source_of(kind, self.strand.actor)

    def here(self) -> Point:
        """The last access of the warp, which whoever it tells knows from then on."""
        return self.source("warp"), self.counters.get("warp")

    def knows(self, point: Point) -> bool:
        """Whether something happened before this, for these threads."""
        source, count = point
        return source == self.source("warp") or self.strand.clocks.known.get(source, 0) >= count

    def issued(self, kind: str) -> Clock:
        """All operations of a kind that the warp has issued."""
        return {self.source(kind): self.counters.get(kind)}

    def release(self, *, arrives: bool = False) -> Release:
        """What these threads release here, where they may arrive somewhere by it."""
        if arrives:
            here = len(self.run.log.accesses), self.index
            self.run.log.arrivals.setdefault(self.strand.actor, []).append(here)
        mine = self.strand.clocks
        self.counters.next(HANDED)
        known = joined(mine.known, self.issued("warp"))
        relaxed = known if mine.relaxed is mine.known else joined(mine.relaxed, known)
        before = joined(joined(mine.before, mine.late), mine.acquired)
        return Release(known, before, mine.proxied, relaxed)

    def relaxed_release(self) -> Release:
        """What a relaxed arrival or write hands on: what fences let it, of either kind."""
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
        """Log an access: complete when the clock of its `source` has its `count`.

        Pieces that end in front of their beginning, or begin in front of the memory, are none:
        spoilt operands give them.
        """
        counters, mine = self.counters, self.strand.clocks
        here = counters.next("warp")
        number = count if count is not None else here if done == "warp" else counters.next(done)
        there = [piece for piece in found if 0 <= piece.first <= piece.last]
        access = Access(
            self.index, kind, self.strand.rank, self.strand.actor, len(self.run.log.accesses),
            found if len(there) == len(found) else there,
            (source or self.source(done), number), mine.known, mine.fenced,
            mine.proxied, mine.acquired, mine.relaxed,
            (self.source("warp"), here), by_proxy, accumulates,
        )  # fmt: skip
        self.run.log.accesses.append(access)
        together.accessed(self.machine, access, self.mask)

    def deliver(self, mbarrier: Mbarrier, what: Delivery) -> None:
        """Let an asynchronous operation bring something to an mbarrier when it completes."""
        self.counters.next(HANDED)
        self.run.deliver(mbarrier, what)

    def wait(
        self, over: Callable[[], bool], resume: Callable[[], bool], what: str,
        mbarrier: int | None = None,
    ) -> bool:  # fmt: skip
        """Make the strand wait before the record, and do `resume` there when that is over."""
        return self.run.wait(self.strand, self.index, over, resume, what, mbarrier)

    def named(self) -> dict[int, int]:
        """The addresses of the mbarriers that these threads name, with the threads for each."""
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
        """The mbarrier at an address, which these threads know; None where none was made."""
        found = self.machine.mbarriers.get(address)
        if found is None:
            self.machine.early.setdefault(address, []).append((self.index, str(self)))
            self.run.absent(address)
        elif not self.knows(found.made) and self.strand.actor not in found.told:
            found.told.add(self.strand.actor)
            got = f"{self} can come to it without a barrier after {{line}}"
            self.run.log.breach(PUBLISHED, self.index, got, found.made_by)
        return found


Event: TypeAlias = Callable[[Execution], bool]
"""What a record does; False where the strand waits before it."""


def nothing(e: Execution) -> bool:
    """A record without an effect on order, whose results are data."""
    e.forget()
    return True
