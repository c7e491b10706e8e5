"""Columns of operations in vector clocks: reused, since a clock has a number for each.

Layer: nvgen.sim.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.vector_clock import Ticks
from nvgen.sim.races.tensor_fences import ACCESSES, complete, padded


def _few() -> Ticks:
    return np.zeros(16, np.int32)


@dataclass(slots=True, eq=False)
class Columns:
    """The last operation of each column: its tick, and of one on tensor memory the number of its
    completion.
    """

    ticks: Ticks = field(default_factory=_few)
    numbers: Ticks = field(default_factory=_few)
    count: int = 0

    def take(self, op: AsyncOp, known: Ticks, relied: Ticks) -> int:
        """A column for an operation; `known` and `relied` are those of its issuer.

        It is one whose last operation happens before the new one, so that a clock that contains the
        new one contains the last.  An operation on tensor memory must rely on the last one as well.
        """
        column = self._free(op, known, relied)
        self.ticks[column] = op.tick
        if op.kind in ACCESSES:
            self.numbers[column] = complete(op.tick)
        return column

    def _free(self, op: AsyncOp, known: Ticks, relied: Ticks) -> int:
        n = min(known.size, self.count)
        free = known[:n] >= self.ticks[:n]
        if op.kind in ACCESSES:
            free &= padded(relied, n) >= self.numbers[:n]
        columns = np.flatnonzero(free)
        if columns.size:
            return int(columns[0])
        if self.count == self.ticks.size:
            self.ticks = np.concatenate([self.ticks, np.zeros_like(self.ticks)])
            self.numbers = np.concatenate([self.numbers, np.zeros_like(self.numbers)])
        self.count += 1
        return self.count - 1
