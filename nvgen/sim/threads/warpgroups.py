"""Warpgroups: four warps that execute the same wgmma instructions, and each multiply together.

Layer: nvgen.sim.  The first warps to reach a multiply wait for the others; the last one issues it,
with the same descriptors.  Other instructions do not wait, but all four warps must execute the same
ones in the same order, at any distance: each instruction is recorded and compared with those of the
warps ahead.  PTX ISA, wgmma.mma_async; wgmma.fence; wgmma.commit_group; wgmma.wait_group: .aligned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import Generic, TypeVar

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import WARPGROUP_WARPS
from intrinsics.mir import MachineInstr
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.parts import StrandPart, WarpPart
from nvgen.sim.async_ops.multiplies import Registers
from nvgen.sim.faults import Fault, fault

StrandT = TypeVar("StrandT", bound=StrandPart)

OPERANDS = ("the descriptor of A", "the descriptor of B", "scale-d")
"""Operands that must be the same in all warps."""


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """An instruction of a warpgroup, with its source location."""

    mi: MachineInstr
    place: Place

    def __str__(self) -> str:
        return f"{self.mi.row.head} at {self.place}"


@dataclass(slots=True, eq=False)
class Arrival(Generic[StrandT]):
    """A warp that has reached a multiply, with its values of `OPERANDS`."""

    strand: StrandT
    operands: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Issued:
    """A multiply that was issued: its registers, and how many groups were committed before."""

    op: AsyncOp
    registers: Registers
    commits: int


@dataclass(slots=True, eq=False)
class Warpgroup(Generic[StrandT]):
    """Four warps that multiply together.

    `executed` are the instructions that some of them executed, or are at, and others did not yet;
    `dropped` counts those before; `progress` is how many each warp has executed.
    """

    warps: tuple[WarpPart, ...]
    executed: deque[Aligned] = field(default_factory=deque)
    dropped: int = 0
    progress: dict[int, int] = field(default_factory=dict)  # by warp
    here: dict[int, Arrival[StrandT]] = field(default_factory=dict)  # by warp
    passed: set[int] = field(default_factory=set)  # whose multiply was issued by the last to come
    issued: list[Issued] = field(default_factory=list)  # in order

    @classmethod
    def of(cls, number: int, warps: Sequence[WarpPart]) -> Warpgroup[StrandT]:
        """The warpgroup of a number, of all warps of a CTA.

        Raises: Fault when the CTA has not all of its four warps.
        """
        first = number * WARPGROUP_WARPS
        own = warps[first : first + WARPGROUP_WARPS]
        if len(own) < WARPGROUP_WARPS or any(warp.launched != own[0].launched for warp in own):
            raise fault(
                "warpgroup-size",
                "wgmma needs a whole warpgroup",
                got=f"{sum(w.launched.bit_count() for w in own)} threads from warp {first} on",
                expected="128 threads, which begin at a multiple of 128",
                section="wgmma.mma_async",
            )
        return cls(tuple(own))

    def come(self, warp: WarpPart, here: Aligned) -> None:
        """Record that a warp is at an instruction.

        Raises: Fault when another warp executed another one there.
        """
        at = self.progress.setdefault(warp.number, 0) - self.dropped
        if at == len(self.executed):
            self.executed.append(here)
        elif self.executed[at].mi is not here.mi:
            raise _diverged(warp.number, here, self.executed[at])

    def go_on(self, warp: WarpPart) -> None:
        """Record that a warp has executed its instruction."""
        self.progress[warp.number] += 1
        if len(self.progress) == WARPGROUP_WARPS and min(self.progress.values()) > self.dropped:
            self.executed.popleft()
            self.dropped += 1

    def left_out(self) -> Fault | None:
        """The first instruction that some warps have executed when all have exited, and one has
        not.
        """
        if not self.executed:
            return None
        absent = [w.number for w in self.warps if self.progress.get(w.number, 0) == self.dropped]
        return fault(
            "warpgroup-divergence",
            f"{self.executed[0].mi.row.head} is executed by a part of a warpgroup",
            got=f"not by warp{'s' * (len(absent) > 1)} {', '.join(map(str, absent))}",
            expected=_TOGETHER,
            hint=_HINT,
            section=self.executed[0].mi.row.section,
            place=self.executed[0].place,
        )

    def meet(self, arrival: Arrival[StrandT]) -> bool:
        """Record the arrival of a warp; True for the last of the four.

        Raises: Fault when the warps do not have the same operands.
        """
        number = arrival.strand.warp.number
        for other in self.here.values():
            if other.strand.warp.number != number:
                _check_same(arrival, other)
        gone = [warp.number for warp in self.warps if not warp.alive]
        if gone:
            raise fault(
                "warpgroup-exited",
                "a multiply of a warpgroup of which a warp has ended",
                got=f"warp {gone[0]} has ended",
                expected="all four warps",
                section="wgmma.mma_async",
            )
        self.here[number] = arrival
        return len(self.here) == WARPGROUP_WARPS

    def missing(self) -> list[int]:
        """The warps that have not arrived."""
        return [warp.number for warp in self.warps if warp.number not in self.here]

    def leave(self, last: WarpPart) -> list[Arrival[StrandT]]:
        """The four arrivals, in order; all warps but the last continue at their next turn."""
        arrivals = [self.here[warp.number] for warp in self.warps]
        self.here = {}
        self.passed = {warp.number for warp in self.warps} - {last.number}
        return arrivals

    def before(self, registers: Registers, commits: int) -> tuple[AsyncOp, ...]:
        """The operations ordered before a multiply: those on its accumulators, and of earlier
        groups.

        The last on each accumulator is included even if it is complete.
        """
        last = {one.registers.d: one for one in self.issued}
        self.issued = [
            one for one in self.issued if not one.op.done or last[one.registers.d] is one
        ]
        return tuple(
            one.op
            for one in self.issued
            if one.commits < commits or not registers.all.isdisjoint(one.registers.d)
        )


_TOGETHER = "the same instructions in all four warps, equally often"
_HINT = "branch on what all threads of the warpgroup decide alike, as on tid.x / 128"


def _diverged(warp: int, here: Aligned, other: Aligned) -> Fault:
    return fault(
        "warpgroup-divergence",
        f"warp {warp} and the warpgroup's other warps execute different instructions",
        got=f"{here.mi.row.head} in warp {warp}, and in another one {other}",
        expected=_TOGETHER,
        hint=_HINT,
        section=here.mi.row.section,
    )


def _check_same(one: Arrival[StrandT], other: Arrival[StrandT]) -> None:
    names = f"warps {other.strand.warp.number} and {one.strand.warp.number}"
    for name, mine, theirs in zip(OPERANDS, one.operands, other.operands, strict=True):
        if mine != theirs:
            raise fault(
                "warpgroup-operands",
                f"{names} of a warpgroup differ in {name} of a multiply",
                got=f"{theirs:#x} and {mine:#x}",
                expected="the same descriptors and the same scale-d in all four warps",
                section="wgmma.mma_async",
            )
