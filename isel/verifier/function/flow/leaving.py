"""Lanes that have left the kernel where the other lanes of their warp execute a record.

Layer: isel.verifier.function.  Input: the flow of one warp, and a node to which some of its lanes
never come.  Lanes have left if, from the branch on where they part from the others, they only
execute ordinary instructions, no loop, and nothing with an effect that the others execute later.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.row import Effect
from isel.control_flow import components, post_dominators, reach
from isel.verifier.function.flow.decisive import synchronises
from isel.verifier.function.flow.graph import EXIT, Node
from isel.verifier.function.flow.threads import Threads, meetings
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.flow.warp_flow import Assumed, Edge, Lanes, Leader, WarpFlow


def others_left(flow: WarpFlow, node: int, threads: Threads) -> bool:
    """Whether the lanes of the warp that are not among the `threads` at a node have left."""
    absent = flow.warp.lanes if threads.one else flow.warp.lanes & ~threads.lanes
    lanes = [lane for lane in range(LANES) if absent >> lane & 1]
    if not lanes:
        return False
    successors = flow.successors()
    later, loops = reach(successors, [node]), components(successors)
    after = post_dominators(successors)
    for lane in lanes:
        own = _of_lane(flow, lane, threads.one)
        parted = list(_parted(own, successors, after, node))
        alone = reach(own, [to for split in parted for to in own[split]]) - {len(own) - 1}
        if not parted or node in reach(own, [0]):
            return False
        if any(loops[to] == loops[one] for one in alone for to in successors[one]):
            return False
        if not all(_is_left_by(flow.graph.nodes[one], one in later) for one in alone):
            return False
    return True


def _of_lane(flow: WarpFlow, lane: int, follows: bool) -> list[list[int]]:
    """The nodes that each node leads one lane to, which is not elected if it `follows`."""
    end = len(flow.edges)
    return [
        *(
            [end if e.target == EXIT else e.target for e in found if _takes(e, lane, follows)]
            for found in flow.edges
        ),
        [],
    ]


def _takes(edge: Edge, lane: int, follows: bool) -> bool:
    match edge.condition:
        case Lanes(mask):
            return bool(mask >> lane & 1)
        case Assumed(lanes=lanes):
            return bool(lanes >> lane & 1)
        case Leader(elected=elected):
            return not (elected and follows)
    return True


def _parted(
    own: list[list[int]], successors: list[list[int]], after: list[int], node: int
) -> Iterator[int]:
    """The branches where a lane diverges from those that reach a node before they reconverge."""
    for split in reach(own, [0]):
        refused = set(successors[split]).difference(own[split])
        if refused and node in reach(successors, refused, meetings(after, split, len(own) - 1)):
            yield split


def _is_left_by(node: Node, shared: bool) -> bool:
    """Whether lanes that execute a node only leave; others execute it later if it is `shared`."""
    for mi in node.records:
        effects = mi.row.effects
        if effects.effect & Effect.TERMINATOR:
            continue
        if synchronises(mi.row) or effects.effect & (Effect.CONVERGENT | Effect.BARRIER):
            return False
        if shared and not effects.is_pure:
            return False
    return True
