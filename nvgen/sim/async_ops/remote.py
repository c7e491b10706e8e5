"""What threads do to the shared memory of other CTAs and do not wait for.

Layer: nvgen.sim.  An arrival at another CTA's mbarrier takes effect some time after its issue: at
the latest when a thread of the issuing CTA fences, meets others of the CTA at a barrier, or arrives
with release semantics, so that no thread that synchronises with it can find it missing.  Behind a
barrier of the cluster with relaxed arrivals it may still be on its way: on an H100 the CTA that it
goes to exited meanwhile, and the launch failed.  PTX ISA, Memory Consistency Model;
mbarrier.arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from intrinsics.findings import Place
from nvgen.sim.async_ops.operation import AsyncOp

if TYPE_CHECKING:
    from nvgen.sim.threads.machine import Cta

KIND = "remote"


def send(
    cta: Cta,
    thread: tuple[int, int, int],
    name: str,
    effect: Callable[[], None],
    place: Place,
    *,
    ordered: bool,
) -> None:
    """Begin an operation of `cta` on another CTA; an `ordered` one comes after those before it."""
    before = tuple(_under_way(cta)) if ordered else ()
    cta.machine.engine.issue(AsyncOp(name, thread, KIND, effect, place, before))


def deliver(cta: Cta) -> None:
    """Let everything that the threads of `cta` have sent take effect.

    Raises: SimulationError at the place of what goes wrong.
    """
    if len(cta.cluster.ctas) > 1:
        cta.machine.engine.finish_all(_under_way(cta))


def _under_way(cta: Cta) -> list[AsyncOp]:
    pending = cta.machine.engine.in_flight
    return [op for op in pending if op.kind == KIND and op.thread[0] == cta.number]
