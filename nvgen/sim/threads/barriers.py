"""mbarrier objects, the barriers of a CTA, and the barrier of a cluster.

Layer: nvgen.sim.  PTX ISA, mbarrier; barrier; barrier.cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import MOST_TX
from nvgen.sim.actors.parts import WarpPart
from nvgen.sim.actors.vector_clock import Clock, join
from nvgen.sim.faults import fault
from nvgen.sim.races.happens_before import Clocks, Sent


@dataclass(slots=True)
class MBarrier:
    """One mbarrier object.

    `phase` counts completed phases, so its parity is that of the current phase.  `pending` arrivals
    and `tx` bytes are outstanding; `bytes_expected` and `bytes_arrived` are kept for reports.
    """

    name: str
    expected: int
    pending: int
    phase: int = 0
    tx: int = 0
    next_expected: int = 0
    bytes_expected: int = 0
    bytes_arrived: int = 0
    looked: dict[int, int] = field(default_factory=dict)  # warp -> lanes, of tests
    seen: dict[int, int] = field(default_factory=dict)  # warp -> last phase observed
    clocks: Clocks | None = None  # where races are looked for
    gathered: Clock | None = None  # the join of the releases of this phase
    released: Clock | None = None  # and of the phases that are complete
    gathered_afar: Clock | None = None  # beside these, for waits of .cluster: of other CTAs
    released_afar: Clock | None = None

    @classmethod
    def new(cls, name: str, count: int, clocks: Clocks | None = None) -> MBarrier:
        """An object that expects `count` arrivals in each phase."""
        return cls(name, count, count, next_expected=count, clocks=clocks)

    def _gather(self, relaxed: int = -1, sent: Sent | None = None) -> None:
        """Join the current actor's release, or what another CTA `sent`, to that of this phase."""
        if self.clocks is None:
            return
        if sent is None:
            self.gathered = join(self.gathered, self.clocks.release_of_arrival(relaxed))
            return
        self.gathered = join(self.gathered, sent[0])
        self.gathered_afar = join(self.gathered_afar, sent[1])

    def arrive(self, count: int, relaxed: int = -1, sent: Sent | None = None) -> None:
        """Count arrivals; `relaxed` is the lane of a thread whose arrival does not release, `sent`
        the clocks that an arrival from another CTA releases.

        Raises: Fault when there are more than the phase still expects.
        """
        if count > self.pending:
            raise fault(
                "mbarrier-arrivals",
                f"more arrivals on {self.name} than its phase expects",
                got=f"{count} arrivals",
                expected=f"at most {self.pending}",
                section="mbarrier.arrive",
            )
        self._gather(relaxed, sent)
        self.pending -= count
        self._settle()

    def expect_arrival(self) -> None:
        """Expect one more arrival in this phase."""
        self.pending += 1
        self.expected += 1

    def drop(self, count: int, relaxed: int = -1, sent: Sent | None = None) -> None:
        """Arrive, and expect `count` fewer from the next phase on."""
        self.next_expected -= count
        self.arrive(count, relaxed, sent)

    def expect(self, size: int, sent: Sent | None = None) -> None:
        """Expect `size` more bytes in this phase; `sent` as for arrivals."""
        if sent is not None:
            self._gather(sent=sent)
        self.tx += size
        self.bytes_expected += size
        self._check_tx()
        self._settle()  # all bytes may have completed before: so it is on an H200

    def complete(self, size: int) -> None:
        """Complete `size` bytes."""
        self._gather()
        self.tx -= size
        self.bytes_arrived += size
        self._check_tx()
        self._settle()

    def _check_tx(self) -> None:
        if abs(self.tx) > MOST_TX:
            raise fault(
                "mbarrier-tx",
                f"the transaction count of {self.name} is out of range",
                got=str(self.tx),
                expected=f"-{MOST_TX}..{MOST_TX}",
                section="Tracking asynchronous operations",
            )

    def _settle(self) -> None:
        if self.pending == 0 and self.tx == 0:
            self.phase += 1
            self.released, self.gathered = join(self.released, self.gathered), None
            self.released_afar = join(self.released_afar, self.gathered_afar)
            self.gathered_afar = None
            self.expected = self.pending = self.next_expected
            self.bytes_expected = self.bytes_arrived = 0
            self.looked.clear()

    def passed(self, parity: int) -> bool:
        """Whether the phase of `parity` is complete: the current one has the other parity."""
        return self.phase & 1 != parity

    def missed(self, warp: int, parity: int) -> str:
        """The phases of a parity that ended after the last one that a warp observed, in words.

        A thread that waits for each phase cannot observe that: the next phase has the same parity.
        """
        last = self.seen.get(warp, -1)
        if self.passed(parity) or (last + 1) & 1 != parity or self.phase < last + 3:
            return ""
        return f"it saw none of the phases {last + 1} to {self.phase - 1} of {self.name} end"

    def missing(self) -> str:
        """The outstanding arrivals and bytes of this phase, in words."""
        parts = []
        if self.pending:
            parts.append(f"{self.pending} more arrival{'s' if self.pending > 1 else ''}")
        if self.tx > 0:
            parts.append(f"{self.tx} bytes that were expected and did not come")
        if self.tx < 0:
            parts.append(f"an expect_tx for {-self.tx} bytes that came unexpected")
        return " and ".join(parts)

    def describe(self) -> str:
        """The arrivals and bytes of this phase, counted and outstanding, in words."""
        arrived = self.expected - self.pending
        return (
            f"phase {self.phase} (parity {self.phase & 1}): {arrived} of {self.expected} arrivals, "
            f"{self.bytes_arrived} of {self.bytes_expected} expected bytes"
        )


@dataclass(slots=True)
class CtaBarrier:
    """One of a CTA's sixteen barriers: its arrivals, and how often it completed."""

    number: int
    arrived: int = 0
    generation: int = 0
    needed: int | None = None  # None: every thread of the CTA that has not exited
    reduced: list[bool] = field(default_factory=list)
    result: list[bool] = field(default_factory=list)
    inside: dict[tuple[int, int], int] = field(default_factory=dict)
    gathered: Clock | None = None  # the join of the clocks of this generation's arrivals
    released: Clock | None = None  # and of the last generation's
    whole: bool = False  # every thread of the CTA waited

    def join(self, warp: int, mask: int) -> int:
        """Record arrivals of the threads of `mask`.

        Returns those that had not arrived, as a mask.
        """
        came = 0
        for lane in range(32):
            if mask >> lane & 1 and (warp, lane) not in self.inside:
                self.inside[warp, lane] = self.generation
                came |= 1 << lane
        return came

    def holds(self, warp: int, mask: int) -> bool:
        """Whether some thread of `mask` must still wait."""
        return any(
            self.inside[warp, lane] == self.generation for lane in range(32) if mask >> lane & 1
        )

    def leave(self, warp: int, mask: int) -> None:
        """Release the threads of `mask`."""
        for lane in range(32):
            if mask >> lane & 1:
                del self.inside[warp, lane]

    def arrive(self, threads: int, needed: int | None, alive: int) -> None:
        """Count arrivals; it completes at `needed` of them, or at all that are `alive`.

        Raises: Fault when threads disagree on how many are needed.
        """
        if self.arrived and (self.needed or alive) != (needed or alive):
            raise fault(
                "barrier-count",
                f"threads disagree on the count of barrier {self.number}",
                got=str(needed or alive),
                expected=str(self.needed or alive),
                section="barrier",
            )
        self.needed = needed
        self.arrived += threads
        self.settle(alive)

    def settle(self, alive: int) -> None:
        """Complete the barrier if enough have arrived, as when the last one that was missing
        exits.
        """
        if self.arrived and self.arrived >= (self.needed or alive):
            self.arrived = 0
            self.generation += 1
            self.released, self.gathered, self.whole = self.gathered, None, self.needed is None
            self.result, self.reduced = self.reduced, []


@dataclass(slots=True)
class ClusterBarrier:
    """The barrier of a cluster: arrivals, as masks by rank and warp.

    `arrived` are those of the current phase; `passed` arrived in a phase that is complete, and have
    not waited for it yet.
    """

    arrived: dict[tuple[int, int], int] = field(default_factory=dict)
    passed: dict[tuple[int, int], int] = field(default_factory=dict)
    relaxed: dict[tuple[int, int], bool] = field(default_factory=dict)  # how a warp arrived last
    gathered: Clock | None = None  # the join of the releases of this phase
    released: Clock | None = None  # and of the phases that are complete

    def arrive(self, rank: int, warp: int, mask: int, *, relaxed: bool) -> None:
        """Record arrivals of the threads of `mask`.

        Raises: Fault for one that has arrived before and has not waited since, and for threads of
        one warp of which some arrive with .relaxed and some without.
        """
        key = rank, warp
        if self.arrived.get(key) and self.relaxed[key] is not relaxed:
            raise fault(
                "cluster-barrier-mixed",
                "threads of a warp arrive at the cluster's barrier with .relaxed and without it",
                got=f"lanes {mask:#010x}, after lanes {self.arrived[key]:#010x}",
                expected="the same semantics for all threads of a warp",
                hint="an H200 waits for ever behind such arrivals",
                section="barrier.cluster",
            )
        self.relaxed[key] = relaxed
        again = mask & (self.arrived.get(key, 0) | self.passed.get(key, 0))
        if again:
            raise fault(
                "cluster-barrier-again",
                "a thread arrives at the cluster's barrier again before it has waited there",
                got=f"lanes {again:#010x}",
                expected="barrier.cluster.wait between two arrivals",
                section="barrier.cluster",
            )
        self.arrived[key] = self.arrived.get(key, 0) | mask

    def holds(self, rank: int, warp: int, mask: int) -> bool:
        """Whether some thread of `mask` must still wait; if not, all of them are released.

        Raises: Fault for one that has not arrived.
        """
        key = rank, warp
        arrived, passed = self.arrived.get(key, 0), self.passed.get(key, 0)
        strangers = mask & ~(arrived | passed)
        if strangers:
            raise fault(
                "cluster-barrier-no-arrive",
                "a thread waits at the cluster's barrier without having arrived there",
                got=f"lanes {strangers:#010x}",
                expected="barrier.cluster.arrive before it",
                section="barrier.cluster",
            )
        if mask & arrived:
            return True
        self.passed[key] = passed & ~mask
        return False

    def late(self, rank: int, warp: WarpPart) -> int:
        """The threads of a warp that have neither exited nor arrived, as a mask."""
        return warp.alive & ~self.arrived.get((rank, warp.number), 0)

    def settle(self, warps: Iterable[tuple[int, WarpPart]]) -> None:
        """Complete the barrier if no thread of `warps` (with their ranks) is missing."""
        if not any(self.arrived.values()) or any(self.late(rank, warp) for rank, warp in warps):
            return
        for key, mask in self.arrived.items():
            self.passed[key] = self.passed.get(key, 0) | mask
        self.arrived.clear()
        self.released, self.gathered = join(self.released, self.gathered), None
