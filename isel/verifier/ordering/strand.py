"""Threads of one warp that execute together, and where they are.

Layer: isel.verifier.ordering.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import compress
from operator import is_not

from isel.verifier.ordering.clocks import ThreadClocks
from isel.verifier.ordering.numbers import Number, merged

_WARPS = 64
"""More warps than a CTA can have: warps of a cluster are numbered CTA by CTA."""


def place_of(actor: int) -> tuple[int, int]:
    """The rank of the CTA and the warp in it, of the warp `actor` of a cluster."""
    return divmod(actor, _WARPS)


def named(actor: int) -> str:
    """A warp in words."""
    rank, warp = place_of(actor)
    return f"warp {warp} of CTA {rank}" if rank else f"warp {warp}"


def warpgroup_of(actor: int) -> int:
    """The warpgroup of a warp, among those of the cluster."""
    return actor // 4


@dataclass(slots=True, eq=False)
class Strand:
    """Threads of a warp (`mask`) at a step of a node.

    `actor` is the number of the warp among those of the cluster.
    `joins` are the nodes where they wait for the others that they parted from, innermost last.
    `waiting` says whether what they wait for has happened, None while they do not wait; `what` and
    `at` name it, and the record, `mbarrier` is its address where it is one; `resume` is done there.
    `failed` says that they were sent on from a wait that did not succeed.  `generation` is that of
    the cluster's barrier at which they arrived (-1: at none), `branches` how often they came to a
    branch on unknown data, `asked` and `seen` what they found at waits and strong loads before.
    """

    rank: int
    warp: int
    mask: int
    actor: int = field(init=False)
    node: int = 0
    step: int = 0
    registers: dict[int, Number] = field(default_factory=dict)
    clocks: ThreadClocks = field(default_factory=ThreadClocks)
    joins: list[int] = field(default_factory=list)
    waiting: Callable[[], bool] | None = None
    resume: Callable[[], bool] | None = None
    what: str = ""
    at: int = -1
    mbarrier: int | None = None
    failed: bool = False
    generation: int = -1
    branches: dict[int, int] = field(default_factory=dict)
    asked: dict[int, tuple[int, int]] = field(default_factory=dict)
    seen: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.actor = self.rank * _WARPS + self.warp

    def part(self, mask: int) -> Strand:
        """The threads of a mask, as a strand of their own."""
        return Strand(
            self.rank, self.warp, mask, self.node, self.step, dict(self.registers),
            self.clocks.copy(), list(self.joins), generation=self.generation,
            branches=dict(self.branches), seen=dict(self.seen), asked=dict(self.asked),
        )  # fmt: skip

    def unite(self, other: Strand) -> None:
        """Take in threads that are at the same place."""
        mine, others = self.registers, other.registers
        # Most have not changed since the threads parted.
        changed = list(compress(others, map(is_not, others.values(), map(mine.get, others))))
        for reg in changed:
            mine[reg] = merged(mine.get(reg), others[reg], other.mask)
        self.mask |= other.mask
        self.clocks.unite(other.clocks)
        self.generation = max(self.generation, other.generation)
        for record, count in other.branches.items():
            self.branches[record] = max(self.branches.get(record, 0), count)
