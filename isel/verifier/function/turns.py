"""How often a thread comes to the nodes of a flow: equally often, and once for certain.

Layer: isel.verifier.function.  Input: a warp's flow and lanes.  Output: for nodes, whether one
stands behind the other in a straight run of the same loop, and whether every turn comes by.
"""

from __future__ import annotations

from isel.control_flow import dominators, post_dominators, reach
from isel.loops import Loop, innermost_loops
from isel.verifier.function.flow import EXIT, Lanes, Leader, WarpFlow


def ways_of(flow: WarpFlow, lanes: int) -> list[list[int]]:
    """The ways of a thread that is one of `lanes`, or elected among them."""
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


class Turns:
    """A thread's ways, and which nodes it comes to equally often."""

    def __init__(self, ways: list[list[int]]) -> None:
        inside = reach(ways, [0])
        self.ways = [after if n in inside else [] for n, after in enumerate(ways)]
        self.later = post_dominators(self.ways)
        self.earlier = dominators(self.ways)
        self.loops = innermost_loops(self.ways)

    def loop(self, node: int) -> int:
        """The first node of the innermost loop around one; -1 for none."""
        found = self.loops.get(node)
        return min(found.entries) if found is not None else -1

    def are_equal(self, a: int, b: int) -> bool:
        """Whether a thread comes to two nodes equally often."""
        if self.loops.get(a) != self.loops.get(b):
            return False
        return a == b or self._follows(a, b) or self._follows(b, a)

    def _follows(self, a: int, b: int) -> bool:
        """Whether `b` comes behind every `a`, and `a` before every `b`."""
        return bool(self.later[a] >> b & 1 and self.earlier[b] >> a & 1)

    def is_certain(self, node: int) -> bool:
        """Whether every thread comes to a node once, or once in every turn of its loop."""
        loop = self.loops.get(node)
        if loop is None:
            return bool(self.later[0] >> node & 1)
        return all(node in loop.entries or not self._avoids(loop, e, node) for e in loop.entries)

    def _avoids(self, loop: Loop, entry: int, node: int) -> bool:
        """Whether a turn of the loop need not come to a node."""
        within = [[n for n in after if n in loop.blocks and n != node] for after in self.ways]
        return entry in reach(within, within[entry])
