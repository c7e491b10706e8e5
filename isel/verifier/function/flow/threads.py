"""Divergence: which threads of a warp execute a record together.

Layer: isel.verifier.function.  Input: the flow of one warp.  Output: for each node the lanes that
execute it.  A divergent branch splits the warp until its immediate post-dominator, where threads
reconverge; nodes in between are executed by a part of it.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from isel.control_flow import nodes_of, post_dominators, reach
from isel.verifier.function.flow.values import Spread
from isel.verifier.function.flow.warp_flow import Assumed, Edge, Lanes, Leader, WarpFlow


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Threads:
    """Threads of one warp: at most those in `lanes`.

    `one` says that it is only one of them, `part` that it is an unknown number of them, `perhaps`
    that other warps may branch differently, so that it is not known which of them come here.
    """

    lanes: int
    one: bool = False
    part: bool = False
    perhaps: bool = False

    @property
    def count(self) -> int | None:
        """The number of threads; None if unknown."""
        if self.one or self.lanes.bit_count() == 1:
            return 1
        return None if self.part else self.lanes.bit_count()

    def with_guard(self, guard: object) -> Threads:
        """The threads for which a guard with this condition holds."""
        match guard:
            case Lanes(mask):
                return Threads(self.lanes & mask, self.one, self.part, self.perhaps)
            case Leader(elected, perhaps):
                return Threads(
                    self.lanes,
                    self.one or elected,
                    self.part or not elected,
                    self.perhaps or perhaps,
                )
            case Assumed(_, _, spread, lanes):
                return Threads(
                    self.lanes & lanes,
                    self.one,
                    self.part or spread is Spread.THREAD,
                    self.perhaps or spread is not Spread.CTA,
                )
        return self

    def __str__(self) -> str:
        if self.part and not self.one:
            return "some threads of the warp"
        count = 1 if self.one else self.lanes.bit_count()
        return "one thread" if count == 1 else f"{count} threads"


def threads_of(flow: WarpFlow) -> list[Threads]:
    """For each node, the threads that execute it."""
    count = len(flow.graph.nodes)
    found = [Threads(flow.lanes[n]) for n in range(count)]
    splits = [n for n in flow.reached() if any(_splits(e) for e in flow.edges[n])]
    if not splits:
        return found
    successors = flow.successors()
    after = post_dominators(successors)
    for split in splits:
        joins = meetings(after, split, end=count)
        sides = [
            (edge, reach(successors, [to], joins))
            for edge, to in zip(flow.edges[split], successors[split], strict=True)
        ]
        for node in set().union(*(nodes for _, nodes in sides)):
            takers = [edge for edge, nodes in sides if node in nodes]
            if len(takers) == 1:
                found[node] = found[node].with_guard(takers[0].condition)
    return found


@dataclass(frozen=True, slots=True)
class Parting:
    """A way out of a branch to which all threads of a warp come, that some of them take.

    `start` is where these go on, `nodes` are those where they are without the others; `condition`
    sends the others to `elsewhere`.
    """

    start: int
    nodes: frozenset[int]
    condition: Lanes | Leader
    elsewhere: int


def partings(flow: WarpFlow, threads: list[Threads]) -> list[Parting]:
    """Nodes where threads of a warp diverge for certain; `threads` are those of each node."""
    whole, successors = Threads(flow.warp.lanes), flow.successors()
    certain = []
    for n in flow.reached():
        edges = flow.edges[n]
        known = [e.condition for e in edges if isinstance(e.condition, (Lanes, Leader))]
        if len(known) == len(edges) == 2 and threads[n] == whole:
            certain.append((n, known))
    after = post_dominators(successors) if certain else []
    found = []
    for split, conditions in certain:
        joins = meetings(after, split, end=len(flow.edges))
        sides = [reach(successors, [to], joins) for to in successors[split]]
        for mine, other in ((0, 1), (1, 0)):
            alone = frozenset(sides[mine] - sides[other])
            start, elsewhere = successors[split][mine], successors[split][other]
            found.append(Parting(start, alone, conditions[other], elsewhere))
    return found


def _splits(edge: Edge) -> bool:
    condition = edge.condition
    if isinstance(condition, Assumed):
        return condition.spread is not Spread.CTA
    return isinstance(condition, Leader)


def meetings(after: list[int], split: int, end: int) -> set[int]:
    """The nodes where the threads that diverge at `split` have reconverged, or exited."""
    return {*nodes_of(after[split] & ~(1 << split)), end}
