"""The wgmma operations of a warp in flight, and the registers that they own.

Layer: nvgen.sim.  From its issue until a wait for its group a multiply owns its accumulators and
the registers of A: any other access to one is a fault, under every schedule.  Registers that others
have accessed may be used by a multiply only after a fence.  PTX ISA, wgmma.mma_async; wgmma.fence;
wgmma.commit_group; wgmma.wait_group.
"""

from __future__ import annotations

from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Reg
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.async_ops.groups import Groups
from nvgen.sim.faults import Fault, fault

_FENCE = "wgmma.fence"
_WAIT = "wgmma.wait_group"


@dataclass(frozen=True, slots=True)
class Registers:
    """The registers of a multiply in one thread: D, in order, A if it is in registers, and the
    shape.

    Multiplies with the same shape and type of D may follow each other on the same accumulators.
    """

    d: tuple[Reg, ...]
    a: frozenset[Reg]
    all: frozenset[Reg]
    shape: tuple[int, str]

    @classmethod
    def of(cls, d: tuple[Reg, ...], a: tuple[Reg, ...], shape: tuple[int, str]) -> Registers:
        """The registers of a record."""
        return cls(d, frozenset(a), frozenset((*d, *a)), shape)

    def shares(self, other: Registers) -> bool:
        """Whether two multiplies have the same accumulators, of one shape."""
        return self.d == other.d and self.shape == other.shape

    def follows(self, other: Registers) -> bool:
        """Whether a multiply with these registers may be issued while the other is in flight.

        Both may read A from the same registers.
        """
        if self.shares(other):
            return self.a.isdisjoint(other.d) and other.a.isdisjoint(self.d)
        return self.all.isdisjoint(other.d) and other.a.isdisjoint(self.d)


@dataclass(slots=True, eq=False)
class Use:
    """A multiply that owns registers of a frame until its warp has waited for it."""

    op: AsyncOp
    owner: RegisterUse
    registers: Registers


@dataclass(slots=True, eq=False)
class RegisterUse:
    """The owners of a frame's registers: multiplies in flight, and accesses since the last
    fence.
    """

    flight: list[Use] = field(default_factory=list)
    touched: set[Reg] = field(default_factory=set)  # by others than multiplies
    multiplied: list[Registers] = field(default_factory=list)  # whose accumulators were written

    def touch(self, registers: frozenset[Reg], groups: MultiplyGroups) -> None:
        """Record an access to registers by another instruction.

        Raises: Fault when a multiply owns one of them.
        """
        for use in self.flight:
            if not use.registers.all.isdisjoint(registers):
                raise _under_way(use, registers, groups)
        self.touched |= registers

    def claim(self, registers: Registers, groups: MultiplyGroups) -> None:
        """Record that a multiply needs registers.

        Raises: Fault when another one owns them, or a fence is missing.
        """
        for use in self.flight:
            if not registers.follows(use.registers):
                raise _under_way(use, registers.all, groups)
        if not self.touched.isdisjoint(registers.all):
            raise _unfenced(registers, self.touched & registers.all)
        for other in self.multiplied:
            if not registers.shares(other) and (both := registers.all.intersection(other.d)):
                raise _unfenced(registers, both, other)

    def keep(self, use: Use) -> None:
        """Record that a multiply owns its registers."""
        self.flight.append(use)
        if use.registers not in self.multiplied:
            self.multiplied.append(use.registers)

    def fence(self) -> None:
        """Order earlier accesses to the registers before later multiplies."""
        self.touched.clear()
        self.multiplied.clear()


def _under_way(use: Use, registers: frozenset[Reg], groups: MultiplyGroups) -> Fault:
    part = "an accumulator" if not registers.isdisjoint(use.registers.d) else "a register of A"
    if use in groups.open:
        expected = f"wgmma.commit_group behind the multiply, then {_WAIT} 0, before the access"
        state = "it is in no group"
    else:
        later = sum(use not in group for group in groups.since(use))
        expected = f"{_WAIT} {later} before the access"
        state = f"its group was not waited for; groups behind it: {later}"
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
    who = "another instruction has accessed"
    if other is not None:
        who = f"a multiply of another shape has written (n {other.shape[0]}, {other.shape[1]})"
    return fault(
        "wgmma-fence",
        f"{part} that {who} are used by a multiply, with no fence in between",
        got=f"{len(which)} register{'s' * (len(which) > 1)} of each thread",
        expected=f"{_FENCE} between the access and the multiply",
        hint="only accumulators of multiplies of the same shape need none",
        section=_FENCE,
    )


# ---- groups ----------------------------------------------------------------------------------


@dataclass(slots=True)
class MultiplyGroups(Groups[Use]):
    """The multiplies of one warp: those not committed yet, and its groups, the oldest first."""

    fenced: bool = False  # whether there has been a fence at all
    commits: int = 0

    def commit(self) -> None:
        """Make a group of what was issued since the last commit, even if that is nothing."""
        Groups.commit(self)
        self.commits += 1

    def take(self, count: int) -> list[Use]:
        """Remove all groups but the `count` latest, which are waited for."""
        older = self.older(count)
        del self.committed[: max(len(self.committed) - count, 0)]
        return older

    def since(self, use: Use) -> list[list[Use]]:
        """The groups from that of a multiply on."""
        at = next((i for i, group in enumerate(self.committed) if use in group), 0)
        return self.committed[at:]
