"""Divergence: which threads of a warp execute a record together.

Layer: isel.verifier.function.  Input: the flow of one warp.  Output: for each node the lanes that
execute it.  A divergent branch splits the warp until its immediate post-dominator, where threads
reconverge; nodes in between are executed by a part of it.
"""

from __future__ import annotations

import itertools

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
    """A way out of a branch that some threads of a warp take, while others certainly do not.

    `start` is where these go on, `nodes` are those where they are without the others; `condition`
    sends the others to `elsewhere`.  `perhaps`: an unknown part of the warp comes to the branch, in
    which there may be no others.
    """

    start: int
    nodes: frozenset[int]
    condition: Lanes | Leader
    elsewhere: int
    perhaps: bool


def partings(flow: WarpFlow, threads: list[Threads]) -> list[Parting]:
    """Where threads of a warp diverge; `threads` are those of each node.

    Those come first that not only a part of the warp comes to.
    """
    successors = flow.successors()
    there = [(n, ways) for n in flow.reached() if not threads[n].one and (ways := _ways(flow, n))]
    after = post_dominators(successors) if there else []
    found = []
    for split, ways in there:
        joins = meetings(after, split, end=len(flow.edges))
        sides = [reach(successors, [to], joins) for to in successors[split]]
        for mine, condition in ways:
            alone = frozenset(sides[mine] - sides[1 - mine])
            start, elsewhere = successors[split][mine], successors[split][1 - mine]
            found.append(Parting(start, alone, condition, elsewhere, threads[split].part))
    return sorted(found, key=lambda parting: parting.perhaps)


def _ways(flow: WarpFlow, split: int) -> list[tuple[int, Lanes | Leader]]:
    """The edges of a branch that not all threads take which come to it, by number, each with the
    condition under which others take the other edge.
    """
    found: list[tuple[int, Lanes | Leader]] = []
    for mine, other in itertools.permutations(range(len(flow.edges[split])), 2):
        match flow.edges[split][mine].condition, flow.edges[split][other].condition:
            case Lanes() | Leader(), (Lanes() | Leader() as condition):
                found.append((mine, condition))
            case Assumed(lanes=lanes), _ if refused := flow.lanes[split] & ~lanes:
                found.append((mine, Lanes(refused)))
    return found


def _splits(edge: Edge) -> bool:
    condition = edge.condition
    if isinstance(condition, Assumed):
        return condition.spread is not Spread.CTA
    return isinstance(condition, Leader)


def meetings(after: list[int], split: int, end: int) -> set[int]:
    """The nodes where the threads that diverge at `split` have reconverged, or exited."""
    return {*nodes_of(after[split] & ~(1 << split)), end}
