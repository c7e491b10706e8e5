"""Warpgroups: what their multiplies have under way, and which registers belong to these meanwhile.

Layer: nvgen.sim.  The four warps of a warpgroup come to each multiply together; what they have
committed and waited for each of them knows by itself.  From its issue until a wait for its group a
multiply owns its accumulators and the registers of A: whoever else touches one is at fault, under
every schedule.  Registers that others touched are the multiply's only behind a fence.  PTX ISA,
wgmma.mma_async; wgmma.fence; wgmma.commit_group; wgmma.wait_group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nvgen.sim.engine import AsyncOp, Groups
from nvgen.sim.faults import Fault, fault

if TYPE_CHECKING:
    from intrinsics.mir import Reg
    from nvgen.sim.machine import Cta, Fragment, Frame, Warp

WARPS = 4
"""Warps of a warpgroup."""

_FENCE = "wgmma.fence"
_WAIT = "wgmma.wait_group"


@dataclass(frozen=True, slots=True)
class Registers:
    """The registers of a multiply in one thread: D, in order, A where it is there, and their shape.

    Multiplies of one shape and type of D may follow each other on the same accumulators.
    """

    d: tuple[Reg, ...]
    a: frozenset[Reg]
    all: frozenset[Reg]
    shape: tuple[int, str]

    @classmethod
    def of(cls, d: tuple[Reg, ...], a: tuple[Reg, ...], shape: tuple[int, str]) -> Registers:
        """Those of a record."""
        return cls(d, frozenset(a), frozenset((*d, *a)), shape)

    def shares(self, other: Registers) -> bool:
        """Whether the two have the same accumulators, of one shape."""
        return self.d == other.d and self.shape == other.shape

    def follows(self, other: Registers) -> bool:
        """Whether a multiply of these may be issued while one of the others is under way.

        Both may read A from the same registers.
        """
        if self.shares(other):
            return self.a.isdisjoint(other.d) and other.a.isdisjoint(self.d)
        return self.all.isdisjoint(other.d) and other.a.isdisjoint(self.d)


@dataclass(slots=True, eq=False)
class Use:
    """A multiply that has registers of a frame, until its warp has waited for it."""

    op: AsyncOp
    frame: Frame
    registers: Registers


@dataclass(slots=True, eq=False)
class RegisterUse:
    """Who has the registers of a frame: multiplies under way, and what happened since a fence."""

    flight: list[Use] = field(default_factory=list)
    touched: set[Reg] = field(default_factory=set)  # by others than multiplies
    multiplied: list[Registers] = field(default_factory=list)  # whose accumulators were written

    def touch(self, registers: frozenset[Reg], warp: Warp) -> None:
        """Another instruction reads or writes registers.

        Raises: Fault when a multiply has one of them.
        """
        for use in self.flight:
            if not use.registers.all.isdisjoint(registers):
                raise _under_way(use, registers, warp)
        self.touched |= registers

    def claim(self, registers: Registers, warp: Warp) -> None:
        """A multiply wants registers.

        Raises: Fault when another has them, or a fence is missing.
        """
        for use in self.flight:
            if not registers.follows(use.registers):
                raise _under_way(use, registers.all, warp)
        if not self.touched.isdisjoint(registers.all):
            raise _unfenced(registers, self.touched & registers.all)
        for other in self.multiplied:
            if not registers.shares(other) and (both := registers.all.intersection(other.d)):
                raise _unfenced(registers, both, other)

    def keep(self, use: Use) -> None:
        """Note that a multiply has its registers."""
        self.flight.append(use)
        if use.registers not in self.multiplied:
            self.multiplied.append(use.registers)

    def fence(self) -> None:
        """What others did to the registers comes before the multiplies that follow."""
        self.touched.clear()
        self.multiplied.clear()


def _under_way(use: Use, registers: frozenset[Reg], warp: Warp) -> Fault:
    part = "an accumulator" if not registers.isdisjoint(use.registers.d) else "a register of A"
    groups = groups_of(warp)
    if use in groups.open:
        expected = f"wgmma.commit_group behind the multiply, then {_WAIT} 0, before the access"
        state = "it is in no group"
    else:
        later = sum(use not in group for group in groups.since(use))
        expected = f"{_WAIT} {later} before the access" if later else f"{_WAIT} 0 before the access"
        state = f"its group is under way, with {later} behind it" if later else "so is its group"
    return fault(
        "wgmma-registers",
        f"{part} of {use.op} is accessed while the multiply is under way",
        got=f"the multiply at {use.op.place}; {state}",
        expected=expected,
        hint="registers of D and A belong to a multiply from its issue until a wait for its group",
        section=_WAIT,
    )


def _unfenced(
    registers: Registers, which: set[Reg] | frozenset[Reg], other: Registers | None = None
) -> Fault:
    part = "accumulators" if which & set(registers.d) else "registers of A"
    before = f"a multiply with n {other.shape[0]} and {other.shape[1]} sums" if other else "others"
    return fault(
        "wgmma-fence",
        f"{part} that {before} accessed last are used by a multiply without a fence",
        got=f"{len(which)} registers of each thread",
        expected=f"{_FENCE} between the access and the multiply",
        hint="only accumulators of multiplies of the same shape need none",
        section=_FENCE,
    )


# ---- groups ----------------------------------------------------------------------------------


@dataclass(slots=True)
class MultiplyGroups(Groups[Use]):
    """What one warp has issued: what is in no group yet, and its groups, oldest first."""

    fenced: bool = False  # whether there has been a fence at all
    commits: int = 0

    def commit(self) -> None:
        """Make a group of what was issued since the last one, even of nothing."""
        Groups.commit(self)
        self.commits += 1

    def take(self, count: int) -> list[Use]:
        """What is in all groups but the `count` latest, which are waited for."""
        older = self.older(count)
        del self.committed[: max(len(self.committed) - count, 0)]
        return older

    def since(self, use: Use) -> list[list[Use]]:
        """The groups from that of a multiply on."""
        at = next((i for i, group in enumerate(self.committed) if use in group), 0)
        return self.committed[at:]


def groups_of(warp: Warp) -> MultiplyGroups:
    """What a warp has issued with its warpgroup."""
    return warp.cta.multiplies.setdefault(warp.number, MultiplyGroups())


# ---- meeting ---------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Arrival:
    """A warp that has come to a multiply: where, and with what operands."""

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
    if one.operands != other.operands:
        at = next(i for i, (x, y) in enumerate(zip(one.operands, other.operands, strict=True))
                  if x != y)  # fmt: skip
        raise fault(
            "warpgroup-operands",
            f"{names} of a warpgroup give a multiply different operands",
            got=f"{other.operands[at]:#x} and {one.operands[at]:#x}",
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
