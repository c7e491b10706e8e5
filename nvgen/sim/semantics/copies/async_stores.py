"""Asynchronous stores and reductions of single values: st.async, red.async.

Layer: nvgen.sim.semantics.  One to shared memory of a cluster is an operation of the generic proxy:
it takes effect at some moment, then completes its bytes on an mbarrier of the same CTA.  The stores
of a warp's threads to distinct addresses of one CTA are one operation.  PTX ISA, st.async;
red.async.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, Space
from nvgen.sim.actors.operation import ASYNC_STORES, AsyncOp
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import Fault, fault
from nvgen.sim.memory.regions import Access, Bytes, Proxy, gather, scatter
from nvgen.sim.semantics.copies.bulk import to_itself
from nvgen.sim.semantics.copies.bulk_memory import count_bytes
from nvgen.sim.semantics.mbarrier_operand import to_shared
from nvgen.sim.semantics.memory.atomic import Combine, combination
from nvgen.sim.threads.clusters import check_runs, owner_of
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import unsigned
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand, Warp, lane_numbers


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Issue stores of one or several elements to shared memory of the cluster."""
    type_ = mi.form.attributes["type"]
    assert isinstance(type_, ScalarType)
    value = mi["b"]
    getters = [c.get(part, type_) for part in (value if isinstance(value, tuple) else (value,))]

    def data(warp: Warp, lane: int) -> Bytes:
        values = [get(warp)[lane] for get in getters]
        return np.array(values).astype(unsigned(type_.bits)).view(np.uint8)

    return _issue(c, mi, data, None, remote=False)


def red(c: Compiler, mi: MachineInstr) -> Step:
    """Issue reductions of an element in the shared memory of another CTA."""
    type_ = mi.form.attributes["type"]
    assert isinstance(type_, ScalarType)
    value = c.get(mi["b"], type_)

    def data(warp: Warp, lane: int) -> Bytes:
        return np.array([value(warp)[lane]]).astype(unsigned(type_.bits)).view(np.uint8)

    return _issue(c, mi, data, combination(mi, type_, flush=False), remote=True)


def _issue(
    c: Compiler,
    mi: MachineInstr,
    data: Callable[[Warp, int], Bytes],
    combine: Combine | None,
    *,
    remote: bool,
) -> Step:
    """Operations of a strand's threads; `remote` ones go to another CTA than their own."""
    address, mbar, name = c.address(mi["a"]), c.address(mi["mbar"]), mi.row.head
    space, place = mi.form.attributes["space"], c.place(mi)
    assert space is None or isinstance(space, Space)

    def owner(warp: Warp, given: int, what: str) -> tuple[Cta, int]:
        agent = f"{name} ({what})" if what else name
        return owner_of(warp.cta, to_shared(given, space), Space.SHARED_CLUSTER, agent)

    def run(strand: Strand) -> Outcome:
        warp, cta = strand.warp, strand.warp.cta
        _in_cluster(cta, mi)
        together: dict[tuple[int, int, int], _Values] = {}
        for lane in lane_numbers(strand.mask):
            target, at = owner(warp, int(address(warp)[lane]), "")
            signalled, barrier = owner(warp, int(mbar(warp)[lane]), "mbarrier")
            if signalled is not target:
                raise _elsewhere(mi, target, signalled)
            if remote and target is cta:
                raise to_itself(mi)
            alone = lane if combine else -1
            values = together.setdefault(
                (target.number, barrier, alone), _Values(target, barrier, combine, name, lane)
            )
            if at in values.data:  # which of the two remains is undefined
                values = together[target.number, barrier, lane] = replace(
                    values, data={}, lane=lane
                )
            values.data[at] = data(warp, lane)
        for values in together.values():
            thread = (cta.number, warp.number, values.lane)
            kind = ASYNC_STORES if len(values.data) > 1 else "tma"
            cta.machine.engine.issue(AsyncOp(name, thread, kind, values, place))
        cta.machine.changed()
        return None

    return run


def _in_cluster(cta: Cta, mi: MachineInstr) -> None:
    if len(cta.cluster.ctas) < 2:
        raise fault(
            "lone-cta",
            f"{mi.row.head} on an mbarrier in a cluster of one CTA",
            expected="a cluster of several CTAs",
            hint="the manual leaves open what it does in one of a single CTA",
            section=mi.row.section,
        )


def _elsewhere(mi: MachineInstr, target: Cta, signalled: Cta) -> Fault:
    return fault(
        "async-mbarrier",
        f"{mi.row.head}: the mbarrier is not in the CTA that the value goes to",
        got=f"an mbarrier of CTA {signalled.number}, a value for CTA {target.number}",
        expected="an mbarrier of the same CTA",
        section=mi.row.section,
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """Values in flight to a CTA's shared memory, by address, and the mbarrier that they complete
    on.

    `lane` is the first thread that issues one.
    """

    cta: Cta
    barrier: int
    combine: Combine | None
    name: str
    lane: int
    data: dict[int, Bytes] = field(default_factory=dict)

    def __call__(self) -> None:
        """Write the values, and complete their bytes.

        Raises: Fault when the CTA has exited, or has no mbarrier there.
        """
        check_runs(self.cta, self.name)
        memory, where, new = self.cta.machine.memory, np.array([*self.data]), [*self.data.values()]
        size = new[0].size
        order = Order.WEAK if self.combine is None else Order.RELAXED
        for kind in (Access.WRITE,) if self.combine is None else (Access.READ, Access.WRITE):
            offsets = memory.access(
                self.cta.shared, where, size, kind, Proxy.GENERIC, self.name, align=size,
                order=order,
            )  # fmt: skip
        if self.combine is not None:
            old = int.from_bytes(gather(self.cta.shared, offsets, size)[0].tobytes(), "little")
            found = self.combine(old, int.from_bytes(new[0].tobytes(), "little"))
            new = [np.frombuffer(found.to_bytes(size, "little"), np.uint8)]
        scatter(self.cta.shared, offsets, np.stack(new))
        count_bytes(self.cta, self.barrier, size * len(new), self.name)


SEMANTICS: dict[str, Maker] = {"st.async": store, "red.async": red}
