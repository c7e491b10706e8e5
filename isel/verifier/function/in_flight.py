"""The multiplies of a warpgroup that a thread may still have in flight, group by group.

Layer: isel.verifier.function.  Input: the events of one thread, in order.  Output: what may run
after each of them.  wgmma.commit_group makes a group of what was issued, and wgmma.wait_group N
leaves the N latest groups.  PTX ISA, wgmma.commit_group, wgmma.wait_group.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from intrinsics.mir import Imm, MachineInstr
from isel.verifier.function.events import Event
from isel.verifier.function.flow import Graph

FENCE, COMMIT, WAIT = "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"
ORDERING = (FENCE, COMMIT, WAIT)
"""Rows of what orders multiplies."""

_TOLD_APART = 16
"""Groups beyond which the oldest are one: a wait that leaves more waits for none, as kernels go."""

T = TypeVar("T", bound=Hashable)
U = TypeVar("U", bound=Hashable)


@dataclass(frozen=True, slots=True)
class InFlight(Generic[T]):
    """What may run: issued and in no group yet, then the groups from the oldest on."""

    issued: frozenset[T] = frozenset()
    groups: tuple[frozenset[T], ...] = ()

    def __iter__(self) -> Iterator[T]:
        yield from self.issued
        for group in self.groups:
            yield from group

    def issue(self, multiply: T) -> InFlight[T]:
        """After another multiply."""
        return InFlight(self.issued | {multiply}, self.groups)

    def after(self, event: Event, kept: int) -> InFlight[T]:
        """After a commit or a wait.  Groups before the `kept` latest are told apart no more."""
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
        """With other names for the multiplies; those without one are left out."""

        def changed(those: frozenset[T]) -> frozenset[U]:
            return frozenset(name for name in map(change, those) if name is not None)

        return InFlight(changed(self.issued), tuple(map(changed, self.groups)))


def left_by(wait: MachineInstr) -> int:
    """How many groups a wait leaves in flight."""
    n = wait["n"]
    return n.value if isinstance(n, Imm) else 0


def most_left(graph: Graph) -> int:
    """The most groups that a wait of a function leaves, which are told apart: not very many."""
    left = (left_by(mi) for mi in graph.records if mi.row.id == WAIT)
    return min(max(left, default=0), _TOLD_APART)
