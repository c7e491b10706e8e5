"""The loops of a graph that is given by each node's successors.

Layer: isel.  Nodes are numbers; the first is where control comes in.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import inverted
from isel.control_flow import reach


@dataclass(frozen=True, slots=True)
class Loop:
    """The nodes of a loop, and those of them where control comes into it."""

    blocks: frozenset[int]
    entries: frozenset[int]


def innermost_loops(after: Sequence[Sequence[int]]) -> dict[int, Loop]:
    """The innermost loop around each node that is in one.

    A loop is a strongly connected part of the graph; those inside it are the parts that remain
    without its entries.
    """
    found: dict[int, Loop] = {}
    before = inverted(after)
    pending = [frozenset(range(len(after)))]
    while pending:
        inside = pending.pop()
        for part in _cycles(after, inside):
            entries = frozenset(
                i for i in part if i == 0 or any(j not in part for j in before[i])
            ) or frozenset([min(part)])
            found.update(dict.fromkeys(part, Loop(part, entries)))
            pending.append(part - entries)
    return found


def _cycles(after: Sequence[Sequence[int]], inside: frozenset[int]) -> list[frozenset[int]]:
    """The strongly connected parts of the graph within `inside` that have a cycle."""
    within = [
        [j for j in after[i] if j in inside] if i in inside else [] for i in range(len(after))
    ]
    before = inverted(within)
    found: list[frozenset[int]] = []
    left = set(inside)
    while left:
        start = min(left)
        part = frozenset(reach(within, within[start]) & reach(before, before[start]))
        left -= part | {start}
        if part:
            found.append(part)
    return found
