"""One asynchronous operation: what it is, its issuer, and what it comes after.

Layer: nvgen.sim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from intrinsics.findings import Place
from nvgen.sim.races.vector_clock import Clock, Ticks
from nvgen.sim.threads.parts import WarpPart

COPIES = ("copy", "copy.arrive")
"""Kinds of small copies and of their arrivals at mbarriers."""

MAP_READ, MAP_COPY = "map", "map.copy"
"""Kinds: what reads a tensor map in global memory for a copy; the copy of one by a warp."""

ASYNC_STORES = "st.async"
"""Kind: what several threads of a warp store to one CTA of the cluster."""


@dataclass(slots=True, eq=False)
class AsyncOp:
    """An operation in flight: what it is, its issuer, what it waits for, what it does."""

    name: str
    thread: tuple[int, int, int]  # CTA, warp, lane
    kind: str
    effect: Callable[[], None]
    place: Place
    after: tuple[AsyncOp, ...] = ()
    lazy: bool = False  # only a wait for it shows that it is there: the last one to be late
    number: int = 0
    done: bool = False
    failed: bool = False  # its effect was a fault
    column: int = 0  # of its own in the clocks
    tick: int = 0
    issued: int = 0  # the tick of its issue
    issuer: WarpPart | None = None
    together: tuple[WarpPart, ...] = ()  # the warps that issue it, where these are several
    before: Clock | None = None  # what happens before it
    completion: Clock | None = None  # what happens before that which waits for it
    relies: Ticks | None = None  # one on tensor memory: what it relies on there, itself among it
    unfenced: dict[tuple[int, int], str] = field(default_factory=dict)  # see `tensor_knowledge`

    @property
    def collective(self) -> bool:
        """Whether all threads of its fragment issued it, and not one of them."""
        return self.kind in ("ld", "st", "copy", MAP_COPY, ASYNC_STORES)

    @property
    def ready(self) -> bool:
        """Whether everything that it must come after has taken effect."""
        return all(op.done for op in self.after)

    @property
    def hopeless(self) -> bool:
        """Whether it comes after one that failed, and lacks what that would have given it."""
        return any(op.failed or op.hopeless for op in self.after)

    def __str__(self) -> str:
        return f"{self.name} #{self.number}"
