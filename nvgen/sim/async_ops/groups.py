"""Groups of asynchronous operations that are waited for together, the oldest first.

Layer: nvgen.sim.  PTX ISA, cp.async.bulk.commit_group; cp.async.commit_group.
"""

from __future__ import annotations

from dataclasses import field
from typing import Generic, TypeVar

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.operation import AsyncOp

Member = TypeVar("Member")


@dataclass(slots=True)
class Groups(Generic[Member]):
    """The operations of a thread or warp: those not committed yet, and its groups, the oldest
    first.
    """

    open: list[Member] = field(default_factory=list)
    committed: list[list[Member]] = field(default_factory=list)

    def commit(self) -> None:
        """Make a group of what was issued since the last commit, even if that is nothing."""
        self.committed.append(self.open)
        self.open = []

    def older(self, count: int) -> list[Member]:
        """The operations of all groups but the `count` latest."""
        older = self.committed[: max(len(self.committed) - count, 0)]
        return [member for group in older for member in group]

    def keep(self, count: int) -> None:
        """Drop all groups but the `count` latest, as they have been waited for."""
        del self.committed[: max(len(self.committed) - count, 0)]


@dataclass(slots=True)
class BulkGroups(Groups[tuple[AsyncOp, AsyncOp]]):
    """One thread's bulk copies that a wait_group counts: each as its read, then its write."""

    def but_the_last(self, count: int, *, reads: bool) -> list[AsyncOp]:
        """The operations of all groups but the `count` latest: the reads alone, or the writes."""
        return [read if reads else write for read, write in self.older(count)]


@dataclass(slots=True)
class CopyGroups(Groups[AsyncOp]):
    """One thread's cp.async copies; `before` are those that its next arrival is ordered after."""

    before: list[AsyncOp] = field(default_factory=list)

    def add(self, op: AsyncOp) -> None:
        """Add a copy that was issued."""
        self.open.append(op)
        self.before.append(op)

    def replace(self, op: AsyncOp, part: AsyncOp) -> None:
        """Put the part of an operation that does this thread's copies in the operation's place."""
        for ops in (self.open, self.before, *self.committed):
            ops[:] = [part if one is op else one for one in ops]

    def but_the_last(self, count: int) -> list[AsyncOp]:
        """The operations of all groups but the `count` latest."""
        return self.older(count)

    def keep(self, count: int) -> None:
        """Drop all groups but the `count` latest; arrivals are ordered after what is left."""
        Groups.keep(self, count)
        if not self.committed and not self.open:
            self.before = [op for op in self.before if not op.done]
