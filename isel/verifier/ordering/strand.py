"""Threads of one warp that execute together, and where they are.

Layer: isel.verifier.ordering.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from isel.verifier.ordering.clocks import Knowledge
from isel.verifier.ordering.numbers import Number, merged


@dataclass(slots=True)
class Strand:
    """Threads of a warp (`mask`) at a step of a node.

    `joins` are the nodes where they wait for the others that they parted from, innermost last;
    `waiting` says whether what they wait for has happened, None while they do not wait; `again` is
    how often they were sent on from a wait that failed.
    """

    rank: int
    warp: int
    mask: int
    node: int = 0
    step: int = 0
    registers: dict[int, Number] = field(default_factory=dict)
    knowledge: Knowledge = field(default_factory=Knowledge)
    joins: list[int] = field(default_factory=list)
    waiting: Callable[[], bool] | None = None
    resume: Callable[[], bool] | None = None
    what: str = ""
    at: int = -1
    failed: bool = False
    tokens: dict[int, int] = field(default_factory=dict)
    branches: dict[int, int] = field(default_factory=dict)
    asked: dict[int, tuple[int, int]] = field(default_factory=dict)
    seen: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def part(self, mask: int) -> Strand:
        """The threads of a mask, as a strand of their own."""
        return Strand(
            self.rank, self.warp, mask, self.node, self.step, dict(self.registers),
            self.knowledge.copy(), list(self.joins), tokens=dict(self.tokens),
            branches=dict(self.branches), seen=dict(self.seen), asked=dict(self.asked),
        )  # fmt: skip

    def unite(self, other: Strand) -> None:
        """Take in threads that are at the same place."""
        for reg, number in other.registers.items():
            self.registers[reg] = merged(self.registers.get(reg), number, other.mask)
        self.mask |= other.mask
        self.knowledge.unite(other.knowledge)
        self.tokens |= other.tokens
        for record, count in other.branches.items():
            self.branches[record] = max(self.branches.get(record, 0), count)
