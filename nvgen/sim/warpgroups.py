"""Warpgroups: four warps that come to each multiply together.

Layer: nvgen.sim.  The first warps to come to a multiply wait for the others; the last one issues
it.  All four must be at the same instruction, with the same descriptors.  PTX ISA, wgmma.mma_async.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nvgen.sim.engine import AsyncOp
from nvgen.sim.faults import fault
from nvgen.sim.multiplies import Registers

if TYPE_CHECKING:
    from nvgen.sim.machine import Cta, Fragment, Warp

WARPS = 4
"""Warps of a warpgroup."""

OPERANDS = ("the descriptor of A", "the descriptor of B", "scale-d")
"""What all warps must give alike."""


@dataclass(slots=True, eq=False)
class Arrival:
    """A warp that has come to a multiply: where, and with what of `OPERANDS`."""

    fragment: Fragment
    record: object
    operands: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Issued:
    """A multiply that was issued: its registers, and how many groups its warps had made before."""

    op: AsyncOp
    registers: Registers
    commits: int


@dataclass(slots=True, eq=False)
class Warpgroup:
    """Four warps that multiply together."""

    warps: tuple[Warp, ...]
    here: dict[int, Arrival] = field(default_factory=dict)  # by warp
    passed: set[int] = field(default_factory=set)  # whose multiply was issued by the last to come
    issued: list[Issued] = field(default_factory=list)  # in order

    def meet(self, arrival: Arrival) -> bool:
        """Note that a warp has come; True when it is the last of the four.

        Raises: Fault when the warps do not come to one instruction with the same operands.
        """
        number = arrival.fragment.warp.number
        for other in self.here.values():
            if other.fragment.warp.number != number:
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
        return len(self.here) == WARPS

    def missing(self) -> list[int]:
        """The warps that have not come yet."""
        return [warp.number for warp in self.warps if warp.number not in self.here]

    def leave(self, last: Warp) -> list[Arrival]:
        """The four that have come, in order; all but the last one go on at their next turn."""
        arrivals = [self.here[warp.number] for warp in self.warps]
        self.here = {}
        self.passed = {warp.number for warp in self.warps} - {last.number}
        return arrivals

    def before(self, registers: Registers, commits: int) -> tuple[AsyncOp, ...]:
        """What a multiply comes after: those on its accumulators, and those of earlier groups.

        The last on each accumulator is among them though it be done.
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


def _check_same(one: Arrival, other: Arrival) -> None:
    names = f"warps {other.fragment.warp.number} and {one.fragment.warp.number}"
    if one.record is not other.record:
        instruction = other.fragment.frame.code.blocks[other.fragment.block]
        place = instruction.instructions[other.fragment.at].place
        raise fault(
            "warpgroup-divergence",
            f"{names} of a warpgroup are at different multiplies",
            got=f"the other one at {place}",
            expected="the same instruction in all four warps",
            section="wgmma.mma_async",
        )
    for name, mine, theirs in zip(OPERANDS, one.operands, other.operands, strict=True):
        if mine != theirs:
            raise fault(
                "warpgroup-operands",
                f"{names} of a warpgroup differ in {name} of a multiply",
                got=f"{theirs:#x} and {mine:#x}",
                expected="the same descriptors and the same scale-d in all four warps",
                section="wgmma.mma_async",
            )


def warpgroup_of(warp: Warp) -> Warpgroup:
    """The warpgroup of a warp.

    Raises: Fault when the CTA has not all of its four warps.
    """
    cta: Cta = warp.cta
    number = warp.number // WARPS
    found = cta.warpgroups.get(number)
    if found is None:
        warps = cta.warps[number * WARPS : (number + 1) * WARPS]
        if len(warps) < WARPS or any(w.launched != warps[0].launched for w in warps):
            raise fault(
                "warpgroup-size",
                "a multiply needs a whole warpgroup",
                got=f"{sum(w.launched.bit_count() for w in warps)} threads from warp "
                f"{number * WARPS} on",
                expected="128 threads, which begin at a multiple of 128",
                section="wgmma.mma_async",
            )
        found = cta.warpgroups[number] = Warpgroup(tuple(warps))
    return found
