"""wgmma: multiplies of a warpgroup, and the groups that they are committed to.

Layer: isel.verifier.ordering.events.  PTX ISA, wgmma.mma_async, wgmma.commit_group,
wgmma.wait_group.
"""

from __future__ import annotations

from isel.verifier.function.events import Kind
from isel.verifier.ordering import matrices
from isel.verifier.ordering.events.copies import commit_group, complete
from isel.verifier.ordering.events.execution import WGMMA, Event, Execution
from isel.verifier.ordering.matrices import Multiplied
from isel.verifier.ordering.run.clocks import Source, joined, source_of
from isel.verifier.ordering.run.strand import warpgroup_of


def _source(e: Execution) -> Source:
    """The multiplies of a warpgroup, which its four warps issue and complete together."""
    return source_of(WGMMA, warpgroup_of(e.strand.actor))


def multiply(e: Execution) -> bool:
    """wgmma.mma_async reads its matrices through the async proxy."""
    numbers = {
        name: n for name in ("a", "b")
        if type(e.mi.get(name)) is int and (n := e.number(name)) is not None
        and e.machine.has_variable_at(matrices.start_of(n))
    }  # fmt: skip
    key = e.index, e.strand.rank, *numbers.items()
    found = e.run.program.touched.get(key)
    if found is None:
        read = matrices.of_warpgroup(e.mi, numbers, e.strand.rank)
        found = e.run.program.touched[key] = Multiplied.of((), read)
    e.run.log.multiplied[key] = None
    count = e.counters.next(WGMMA)
    e.log(Kind.WARPGROUP_MULTIPLY, found.touched, count=count, source=_source(e), by_proxy=True)
    e.forget_all()
    return True


def _wait_group(e: Execution) -> bool:
    if not e.run.gather(e.strand, e.index):
        return False
    clocks, clock = e.strand.clocks, {_source(e): complete(e, WGMMA)}
    clocks.complete(clock)
    clocks.proxied = joined(clocks.proxied, clock)
    return True


EVENTS: dict[str, Event] = {
    "wgmma.commit_group": commit_group(WGMMA),
    "wgmma.wait_group": _wait_group,
}
"""By row; `wgmma.mma_async` has a row for each type."""
