"""One asynchronous operation: its issuer, its effect, and the operations ordered before it.

Layer: nvgen.sim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.actors.parts import WarpPart
from nvgen.sim.actors.vector_clock import Clock, Ticks

COPIES = ("copy", "copy.arrive")
"""Kinds of small copies and of their arrivals at mbarriers."""

MAP_READ, MAP_COPY = "map", "map.copy"
"""Kinds: the read of a tensor map in global memory for a copy; the copy of one by a warp."""

ASYNC_STORES = "st.async"
"""Kind: the stores of several threads of a warp to one CTA of the cluster."""


@dataclass(slots=True, eq=False)
class AsyncOp:
    """An operation in flight: its issuer, its effect, and the operations that it waits for."""

    name: str
    thread: tuple[int, int, int]  # CTA, warp, lane
    kind: str
    effect: Callable[[], None]
    place: Place
    after: tuple[AsyncOp, ...] = ()
    lazy: bool = False  # only waits observe it: it is delayed the longest
    number: int = 0
    done: bool = False
    failed: bool = False  # its effect was a fault
    column: int = 0  # of its own in the clocks
    tick: int = 0
    issued: int = 0  # the tick of its issue
    issuer: WarpPart | None = None
    together: tuple[WarpPart, ...] = ()  # the warps that issue it, if there are several
    before: Clock | None = None  # what happens before it
    completion: Clock | None = None  # what happens before its completion
    relies: Ticks | None = None  # on tensor memory: the operations it may rely on, and itself
    unfenced: dict[tuple[int, int], str] = field(default_factory=dict)  # see `tensor_knowledge`

    @property
    def collective(self) -> bool:
        """Whether all threads of its strand issued it together."""
        return self.kind in ("ld", "st", "copy", MAP_COPY, ASYNC_STORES)

    @property
    def ready(self) -> bool:
        """Whether all operations ordered before it have taken effect."""
        return all(op.done for op in self.after)

    @property
    def hopeless(self) -> bool:
        """Whether the operation needs the result of one that failed."""
        seen: set[int] = set()
        pending = [*self.after]
        while pending:
            op = pending.pop()
            if op.failed:
                return True
            if id(op) not in seen:
                seen.add(id(op))
                pending += op.after
        return False

    def __str__(self) -> str:
        return f"{self.name} #{self.number}"
