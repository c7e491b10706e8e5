"""The wgmma multiplies that a thread may have in flight, by group.

Layer: isel.verifier.function.  Input: the events of one thread, in program order.  Output: the
multiplies in flight after each.  wgmma.commit_group makes a group of what was issued, and
wgmma.wait_group N waits for all but the N latest groups.  PTX ISA, wgmma.commit_group,
wgmma.wait_group.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr
from isel.verifier.function.events import Event
from isel.verifier.function.flow.graph import Graph

FENCE, COMMIT, WAIT = "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"
ORDERING = (FENCE, COMMIT, WAIT)
"""Rows that order multiplies."""

_MOST_GROUPS = 16
"""The most groups that are distinguished; waits that leave more in flight count as no waits."""

T = TypeVar("T", bound=Hashable)
U = TypeVar("U", bound=Hashable)


@dataclass(frozen=True, slots=True)
class InFlight(Generic[T]):
    """Operations in flight: those issued and not committed, then the groups, the oldest first."""

    issued: frozenset[T] = frozenset()
    groups: tuple[frozenset[T], ...] = ()

    def __iter__(self) -> Iterator[T]:
        yield from self.issued
        for group in self.groups:
            yield from group

    def issue(self, multiply: T) -> InFlight[T]:
        """The state after another operation."""
        return InFlight(self.issued | {multiply}, self.groups)

    def after(self, event: Event, kept: int) -> InFlight[T]:
        """The state after a commit or wait; groups before the `kept` latest are merged."""
        match event.mi.row.id:
            case "wgmma.commit_group":
                groups = (*self.groups, self.issued)
                if len(groups) > kept + 1:
                    groups = (groups[0] | groups[1], *groups[2:])
                return InFlight(frozenset(), groups)
            case "wgmma.wait_group":
                left = left_by(event.mi)
                return InFlight(self.issued, self.groups[-left:] if left else ())
        return self

    def map(self, change: Callable[[T], U | None]) -> InFlight[U]:
        """The state with operations renamed; those without a new name are dropped."""

        def changed(those: frozenset[T]) -> frozenset[U]:
            return frozenset(name for name in map(change, those) if name is not None)

        return InFlight(changed(self.issued), tuple(map(changed, self.groups)))


def left_by(wait: MachineInstr) -> int:
    """The number of groups that a wait leaves in flight."""
    n = wait["n"]
    return n.value if isinstance(n, Imm) else 0


def most_left(graph: Graph) -> int:
    """The most groups that a wait of a function leaves in flight and that are distinguished."""
    left = (left_by(mi) for mi in graph.records if mi.row.id == WAIT)
    return min(max(left, default=0), _MOST_GROUPS)
