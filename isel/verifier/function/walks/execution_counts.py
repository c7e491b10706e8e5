"""Execution counts of nodes: which are executed equally often, and which once for certain.

Layer: isel.verifier.function.  Input: the flow of a warp, and lanes.  Output: for nodes, whether
one dominates the other and is post-dominated by it in the same loop, and whether every iteration
executes them.
"""

from __future__ import annotations

from isel.control_flow import dominators, post_dominators, reach
from isel.loops import Loop, innermost_loops
from isel.verifier.function.flow.graph import EXIT
from isel.verifier.function.flow.warp_flow import Lanes, Leader, WarpFlow


def successors_of(flow: WarpFlow, lanes: int) -> list[list[int]]:
    """The successors of each node for a thread that is one of `lanes`, or elected among them."""
    end = len(flow.edges)
    found: list[list[int]] = []
    for edges in flow.edges:
        taken = []
        for edge in edges:
            match edge.condition:
                case Lanes(mask) if not mask & lanes:
                    continue
                case Leader(elected=False):
                    continue
            taken.append(end if edge.target == EXIT else edge.target)
        found.append(taken)
    return [*found, []]


class ExecutionCounts:
    """The control flow of a thread, and which nodes it executes equally often."""

    def __init__(self, successors: list[list[int]]) -> None:
        inside = reach(successors, [0])
        self.successors = [after if n in inside else [] for n, after in enumerate(successors)]
        self.later = post_dominators(self.successors)
        self.earlier = dominators(self.successors)
        self.loops = innermost_loops(self.successors)

    def loop(self, node: int) -> int:
        """The header of the innermost loop around a node; -1 for none."""
        found = self.loops.get(node)
        return min(found.entries) if found is not None else -1

    def are_equal(self, a: int, b: int) -> bool:
        """Whether a thread executes two nodes equally often."""
        if self.loops.get(a) != self.loops.get(b):
            return False
        return a == b or self._follows(a, b) or self._follows(b, a)

    def _follows(self, a: int, b: int) -> bool:
        """Whether `b` post-dominates `a`, and `a` dominates `b`."""
        return bool(self.later[a] >> b & 1 and self.earlier[b] >> a & 1)

    def is_certain(self, node: int) -> bool:
        """Whether every thread executes a node once, or once in every iteration of its loop."""
        loop = self.loops.get(node)
        if loop is None:
            return bool(self.later[0] >> node & 1)
        return all(node in loop.entries or not self._avoids(loop, e, node) for e in loop.entries)

    def _avoids(self, loop: Loop, entry: int, node: int) -> bool:
        """Whether an iteration of the loop may skip a node."""
        within = [[n for n in after if n in loop.blocks and n != node] for after in self.successors]
        return entry in reach(within, within[entry])
