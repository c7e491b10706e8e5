"""The roles of a kernel: warps with equal flows and events.

Layer: isel.verifier.function.  Input: a function and the dimensions of its block.  Output: for each
warp its flow and events, and the warps grouped by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineFunction
from isel.control_flow import components
from isel.verifier.function.events import Event, Kind, eventful, events_of
from isel.verifier.function.flow.callees import NOTHING_CALLED, Callees
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.flow.threads import Threads, threads_of
from isel.verifier.function.flow.values import LANES, constant
from isel.verifier.function.flow.warp_flow import WarpFlow
from isel.verifier.function.flow.warps import Warp
from isel.verifier.function.idle_waits import idle_waits
from isel.verifier.function.walks.paths import Walker
from isel.verifier.function.walks.tracking import Tracked

Block = tuple[int, int, int]

_OWN_PLACES = (Kind.TENSOR_LOAD, Kind.TENSOR_STORE, Kind.SHARED_STORE)
"""Events of one role whose addresses may differ from warp to warp."""


@dataclass(slots=True)
class Role:
    """Warps that take the same CFG paths with the same events; `walker` is that of the first."""

    warps: list[int]
    walker: Walker

    def events(self) -> Iterator[Event]:
        """The events of one of the warps, node by node."""
        return self.walker.each()

    def __str__(self) -> str:
        first, last = self.warps[0], self.warps[-1]
        if first == last:
            return f"warp {first}"
        if self.warps == list(range(first, last + 1)):
            return f"warps {first} to {last}"
        return "warps " + ", ".join(str(w) for w in self.warps)


class Analysis:
    """A function, and the flow of each warp of its block.

    `block` is () when it is not known: then one warp, whose threads have unknown numbers, stands
    for all.  `rank` is that of the CTA in its cluster, None for any.  `graph` is the function's,
    where it was made before.  `threads` are those of each warp that execute each node.
    """

    def __init__(
        self,
        function: MachineFunction,
        block: tuple[int, ...],
        callees: Callees = NOTHING_CALLED,
        rank: int | None = None,
        graph: Graph | None = None,
    ) -> None:
        self.function = function
        self.callees = callees
        self.graph = graph or Graph(function, callees)
        self.block = block
        self._eventful = eventful(self.graph)
        self.threads: list[list[Threads]] = []
        tracked: dict[object, Tracked] = {}
        self.walkers = [self._walk(warp, tracked) for warp in _warps(block, rank)]
        self.roles = _group(self.walkers)
        self._ranks: dict[int, Analysis] = {}

    def of_rank(self, rank: int) -> Analysis:
        """The analysis of the CTA of this rank in the cluster."""
        if rank not in self._ranks:
            self._ranks[rank] = Analysis(self.function, self.block, self.callees, rank, self.graph)
        return self._ranks[rank]

    def _walk(self, warp: Warp, tracked: dict[object, Tracked]) -> Walker:
        flow = WarpFlow(self.graph, warp)
        threads = threads_of(flow)
        self.threads.append(threads)
        return Walker.of(flow, events_of(flow, threads, self._eventful), tracked)

    @cached_property
    def sites(self) -> dict[int, list[tuple[int, Event]]]:
        """Events by record, with the warps that execute them."""
        found: dict[int, list[tuple[int, Event]]] = {}
        for walker in self.walkers:
            for event in walker.each():
                found.setdefault(event.index, []).append((walker.flow.warp.number, event))
        return found

    @cached_property
    def idle_waits(self) -> list[set[int]]:
        """For each role, its waits that succeed at once."""
        asked = self.events(Kind.ASK)
        return [idle_waits(asked, role.walker) for role in self.roles]

    @cached_property
    def repeated(self) -> dict[int, set[int]]:
        """For each warp, the records that it may execute more than once."""
        found: dict[int, set[int]] = {}
        for role in self.roles:
            found |= dict.fromkeys(role.warps, _repeated(role.walker.flow))
        return found

    def events(self, *kinds: Kind) -> list[Event]:
        """The events of some kinds, one for each record and role."""
        return [e for role in self.roles for e in role.events() if e.kind in kinds]


def _warps(block: tuple[int, ...], rank: int | None) -> list[Warp]:
    if not block:
        return [Warp(0, ())]
    x, y, z = (*block, 1, 1)[:3]
    known = {} if rank is None else {"cluster_ctarank": constant(rank)}
    return [Warp(n, (x, y, z), dict(known)) for n in range(-(-x * y * z // LANES))]


def _group(walkers: list[Walker]) -> list[Role]:
    roles: dict[object, Role] = {}
    for walker in walkers:
        key = _signature(walker)
        if key in roles:
            roles[key].warps.append(walker.flow.warp.number)
        else:
            roles[key] = Role([walker.flow.warp.number], walker)
    return list(roles.values())


def _signature(walker: Walker) -> object:
    edges = tuple(tuple(found) for found in walker.flow.edges)
    events = tuple(
        (e.index, e.kind, e.threads, e.count, None if e.kind in _OWN_PLACES else e.place)
        for e in walker.each()
    )
    return edges, events


def _repeated(flow: WarpFlow) -> set[int]:
    """The records on a cycle of the flow."""
    found: set[int] = set()
    successors = flow.successors()
    loops = components(successors)
    for number in flow.reached():
        if any(loops[following] == loops[number] for following in successors[number]):
            node = flow.graph.nodes[number]
            found.update(range(node.first, node.first + len(node.records)))
    return found
