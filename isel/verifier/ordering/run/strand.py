"""Strands: threads of one warp that execute convergently.

Layer: isel.verifier.ordering.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from itertools import compress
from operator import is_not

from intrinsics.lazy_dataclass import dataclass
from isel.verifier.ordering.integers.numbers import Number, merged
from isel.verifier.ordering.run.clocks import ThreadClocks

_WARPS = 64
"""More warps than a CTA can have: warps of a cluster are numbered CTA by CTA."""


def place_of(actor: int) -> tuple[int, int]:
    """The rank of the CTA, and the warp in that CTA, of the warp `actor` of a cluster."""
    return divmod(actor, _WARPS)


def named(actor: int) -> str:
    """The name of a warp in messages."""
    rank, warp = place_of(actor)
    return f"warp {warp} of CTA {rank}" if rank else f"warp {warp}"


def warpgroup_of(actor: int) -> int:
    """The number of a warp's warpgroup in the cluster."""
    return actor // 4


@dataclass(slots=True, eq=False)
class Strand:
    """Threads of a warp (`mask`) that execute convergently, at a step of a node.

    `actor` is the number of the warp in the cluster; `joins` are the nodes where they wait to
    reconverge with threads that diverged, innermost last.  A blocked strand has `waiting`, which
    says whether its wait is over, the wait's description `what`, the record `at` and, if it is one,
    the address of the `mbarrier`; `resume` is done when the wait is over.  `members` are the last
    bar.warp.sync at which it blocked and its mask.  `failed` says that the wait returned without
    success.  `generation` is that of the cluster's barrier at which it
    arrived (-1: none), `branches` counts its branches on unknown data, `asked` and `seen` are the
    results of its earlier waits and strong loads.
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
    members: tuple[int, int | None] = (-1, None)
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
        """Merge with a strand at the same record."""
        mine, others = self.registers, other.registers
        # Most registers have not changed since the threads diverged.
        changed = list(compress(others, map(is_not, others.values(), map(mine.get, others))))
        for reg in changed:
            mine[reg] = merged(mine.get(reg), others[reg], other.mask)
        self.mask |= other.mask
        self.clocks.unite(other.clocks)
        self.generation = max(self.generation, other.generation)
        for record, count in other.branches.items():
            self.branches[record] = max(self.branches.get(record, 0), count)
