"""Paths of a graph, and its dominators: it is given by each node's successors.

Layer: isel.  Nodes are numbers; a node without successors is an end.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable, Iterator, Sequence


def reach(
    after: Sequence[Iterable[int]], starts: Iterable[int], stops: Container[int] = ()
) -> set[int]:
    """The nodes reachable from `starts`, these among them, up to the first of `stops`."""
    found: set[int] = set()
    pending = list(starts)
    while pending:
        node = pending.pop()
        if node not in found and node not in stops:
            found.add(node)
            pending += after[node]
    return found


def nodes_of(bits: int) -> Iterator[int]:
    """The nodes that bits stand for, the lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def live_on_entry(
    after: Sequence[Iterable[int]], read: Sequence[int], written: Sequence[int]
) -> list[int]:
    """The values live on entry to each node, as bits.

    `read` is what a node reads before it writes it, `written` what it certainly writes.
    """
    live = list(read)
    changed = True
    while changed:
        changed = False
        for node in reversed(range(len(live))):
            behind = 0
            for following in after[node]:
                behind |= live[following]
            found = live[node] | behind & ~written[node]
            if found != live[node]:
                live[node], changed = found, True
    return live


def components(after: Sequence[Sequence[int]]) -> list[int]:
    """The strongly connected component of each node, by a number: nodes of one reach each other.

    A node is on a cycle if it shares its component with another one, or follows itself.
    """
    low, found = [0] * len(after), [0] * len(after)  # numbers begin with 1
    stack: list[int] = []
    count = 0
    for root in range(len(after)):
        work = [(root, 0)] if not low[root] else []
        while work:
            node, at = work.pop()
            if not at:
                count += 1
                low[node] = found[node] = count
                stack.append(node)
            if at < len(after[node]):
                work.append((node, at + 1))
                if not low[after[node][at]]:
                    work.append((after[node][at], 0))
                continue
            first = min([found[node], *(found[t] for t in after[node])])
            if first < low[node]:
                found[node] = first
                continue
            while True:
                other = stack.pop()
                found[other] = len(after) + low[node]
                if other == node:
                    break
    return found


def post_dominators(after: Sequence[Sequence[int]]) -> list[int]:
    """The post-dominators of each node, as bits: every path to an end passes them; itself is one.

    From where no path leads to an end, these are all nodes.
    """
    everything = (1 << len(after)) - 1
    later = [everything if following else 1 << i for i, following in enumerate(after)]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(after))):
            if not after[i]:
                continue
            common = everything
            for following in after[i]:
                common &= later[following]
            if common | 1 << i != later[i]:
                later[i] = common | 1 << i
                changed = True
    return later


def dominators(after: Sequence[Sequence[int]]) -> list[int]:
    """The dominators of each node, as bits: every path from node 0 passes them; itself is one.

    Where no path leads, these are all nodes.
    """
    found = [(1 << len(after)) - 1] * len(after)
    below, pending = dominator_tree(after), []
    if found:
        found[0], pending = 1, [0]
    while pending:
        node = pending.pop()
        for dominated in below[node]:
            found[dominated] = found[node] | 1 << dominated
        pending += below[node]
    return found


def dominator_tree(after: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each node, those that it dominates directly: no other dominator is between them.

    Nodes that no path from node 0 leads to are below none.  (Cooper, Harvey, Kennedy: A Simple,
    Fast Dominance Algorithm.)
    """
    order = _in_flow_order(after)
    rank = {node: i for i, node in enumerate(order)}
    before: list[list[int]] = [[] for _ in after]
    for node in order:
        for target in after[node]:
            before[target].append(node)
    above: dict[int, int] = {0: 0}

    def meet(one: int, other: int) -> int:
        """The nearest node that dominates both."""
        while one != other:
            if rank[one] > rank[other]:
                one = above[one]
            else:
                other = above[other]
        return one

    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [p for p in before[node] if p in above]
            nearest = functools.reduce(meet, known)
            if above.get(node) != nearest:
                above[node] = nearest
                changed = True
    below: list[list[int]] = [[] for _ in after]
    for node in order[1:]:
        below[above[node]].append(node)
    return below


class Dominators:
    """The tree of dominators, asked for what dominates several nodes.

    `below` and `above` are its edges, `order` the nodes that node 0 leads to, each with all that it
    dominates right behind.
    """

    def __init__(self, after: Sequence[Sequence[int]]) -> None:
        self.below = dominator_tree(after)
        self.order: list[int] = []
        self.above = [0] * len(after)
        pending = [0]
        while pending:
            node = pending.pop()
            self.order.append(node)
            for lower in self.below[node]:
                self.above[lower] = node
            pending += self.below[node]
        # of each node its place in that order, and how many nodes from there on it dominates
        self.rank = dict(zip(self.order, range(len(self.order)), strict=True))
        self._size = [1] * len(after)
        for node in reversed(self.order[1:]):
            self._size[self.above[node]] += self._size[node]

    def dominate(self, one: int, other: int) -> bool:
        """Whether every path from node 0 to `other` passes `one`."""
        return self.rank[one] <= self.rank[other] < self.rank[one] + self._size[one]

    def meet(self, one: int, other: int) -> int:
        """The nearest node that dominates both: `one`, or one above it."""
        while not self.dominate(one, other):
            one = self.above[one]
        return one

    def not_below(self, node: int) -> list[int]:
        """A node, and all that node 0 leads to and it does not dominate."""
        first = self.rank[node]
        return self.order[: first + 1] + self.order[first + self._size[node] :]


def _in_flow_order(after: Sequence[Sequence[int]]) -> list[int]:
    """The nodes that node 0 leads to, each behind all that dominate it."""
    seen = {0}
    finished: list[int] = []
    stack = [(0, iter(after[0]))] if after else []
    while stack:
        node, following = stack[-1]
        target = next((t for t in following if t not in seen), None)
        if target is None:
            finished.append(node)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(after[target])))
    return finished[::-1]
