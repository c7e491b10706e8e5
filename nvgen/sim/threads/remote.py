"""Operations on the shared memory of other CTAs that their issuers do not wait for.

Layer: nvgen.sim.  An arrival at another CTA's mbarrier takes effect some time after its issue: at
the latest when a thread of the issuing CTA fences, synchronises with others of the CTA at a
barrier, or arrives with release semantics, so that no thread that synchronises with it can miss it.
After a cluster barrier with relaxed arrivals it may still be in flight: on an H100 the CTA that it
went to exited meanwhile, and the launch failed.  PTX ISA, Memory Consistency Model;
mbarrier.arrive.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.findings import Place
from nvgen.sim.actors.operation import AsyncOp
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
    """Issue an operation of `cta` on another CTA.

    An `ordered` one takes effect after earlier ones.
    """
    before = tuple(_under_way(cta)) if ordered else ()
    engine = cta.machine.engine
    op = AsyncOp(name, thread, KIND, effect, place, before)
    engine.issue(op)
    if engine.clocks is not None:
        engine.clocks.precedes(op)


def deliver(cta: Cta) -> None:
    """Let all remote operations of `cta` take effect.

    Raises: SimulationError with the source location of the operation that fails.
    """
    if len(cta.cluster.ctas) > 1:
        cta.machine.engine.finish_all(_under_way(cta))


def _under_way(cta: Cta) -> list[AsyncOp]:
    pending = cta.machine.engine.in_flight
    return [op for op in pending if op.kind == KIND and op.thread[0] == cta.number]
