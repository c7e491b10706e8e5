"""Loads, stores and address conversion.

Layer: nvgen.sim.semantics.  There is one GPU, so the memory that a multimem address names is its
own, and a reduction of it what it holds.  PTX ISA, ld; st; cvta; multimem.ld_reduce.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import SHARED_SPACES, ScalarType, Sem, Space
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.regions import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    RANK_SHIFT,
    SHARED_WINDOW,
    Access,
    Proxy,
    Region,
    gather,
    scatter,
    window_of,
)
from nvgen.sim.races.scopes import reach_of
from nvgen.sim.races.shadow import NOTHING_ELSE
from nvgen.sim.races.warp_clocks import lane_indices
from nvgen.sim.threads.clusters import owner_of
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import held, unsigned
from nvgen.sim.threads.machine import FULL, WARP, Cta, Machine, Outcome, Step, Strand, Warp
from nvgen.sim.threads.remote import deliver

Addresses = NDArray[np.int64]

_PARAM = (Space.PARAM, Space.PARAM_ENTRY)


def find(
    cta: Cta,
    addresses: Addresses,
    space: Space | None,
    agent: str,
    kind: Access,
    owners: Owners | None = None,
) -> Iterator[tuple[Region, Addresses, NDArray[np.intp]]]:
    """The regions that addresses of a state space lie in, each with the offsets in it and their
    positions among `addresses`.

    `owners` are the threads that make the access, each of which has a local memory of its own.
    """
    every = np.arange(addresses.size)
    if space is None:
        yield from _find_generic(cta, addresses, agent, kind, owners)
    elif space in SHARED_SPACES and len(cta.cluster.ctas) == 1:
        yield cta.shared, addresses, every
    elif space in SHARED_SPACES:
        for owner, chosen in _owners(cta, addresses, space, agent):
            yield owner.shared, addresses[chosen] - (owner.rank << RANK_SHIFT), chosen
    elif space in _PARAM:
        yield cta.params, addresses, every
    elif space in (Space.GLOBAL, Space.CONST):
        for region, chosen in cta.machine.memory.regions_at(addresses, agent, kind):
            yield region, addresses[chosen], chosen
    elif space is Space.LOCAL and owners is not None:
        yield owners.warp.local.region, owners.local_offsets(addresses, agent, kind), every
    else:
        raise not_simulated(f"memory of state space .{space.value}")


def _find_generic(
    cta: Cta, addresses: Addresses, agent: str, kind: Access, owners: Owners | None
) -> Iterator[tuple[Region, Addresses, NDArray[np.intp]]]:
    """The regions that generic addresses lie in, by their windows."""
    windows = np.array([_WINDOWS.index(window_of(int(a))) for a in addresses])
    for number, window in enumerate(_WINDOWS):
        chosen = np.flatnonzero(windows == number)
        if chosen.size:
            moved = addresses[chosen] - _BASES[window]
            space = Space.SHARED_CLUSTER if window is Space.SHARED else window
            some = owners.some(chosen) if owners is not None else None
            for region, where, part in find(cta, moved, space, agent, kind, some):
                yield region, where, chosen[part]


def _owners(
    cta: Cta, addresses: Addresses, space: Space, agent: str
) -> Iterator[tuple[Cta, NDArray[np.intp]]]:
    """The CTAs whose shared memory these addresses name, and which of the addresses.

    Raises: Fault as `owner_of` does.
    """
    ranks = addresses >> RANK_SHIFT
    if (ranks == cta.rank).all():
        yield cta, np.arange(addresses.size)
        return
    for rank in np.unique(ranks):
        chosen = np.flatnonzero(ranks == rank)
        yield owner_of(cta, int(addresses[chosen[0]]), space, agent)[0], chosen


_BASES = {
    Space.GLOBAL: 0,
    Space.SHARED: SHARED_WINDOW,
    Space.PARAM: PARAM_WINDOW,
    Space.LOCAL: LOCAL_WINDOW,
}
_WINDOWS = list(_BASES)
"""The windows of the generic address space."""


@dataclass(frozen=True, slots=True)
class Owners:
    """The lanes of a warp that make an access, in order, and its bytes in each."""

    warp: Warp
    lanes: NDArray[np.intp]
    size: int

    @classmethod
    def of(cls, strand: Strand, size: int) -> Owners:
        """All threads of a strand."""
        return cls(strand.warp, lane_indices(strand.mask), size)

    def some(self, chosen: NDArray[np.intp]) -> Owners:
        """Some of them."""
        return Owners(self.warp, self.lanes[chosen], self.size)

    def local_offsets(self, addresses: Addresses, agent: str, kind: Access) -> Addresses:
        """The offsets in the warp's local memory of addresses in its threads' own local memory.

        Raises: Fault for what lies outside of a thread's own.
        """
        local = self.warp.local
        each = local.size
        outside = local.is_outside(self.lanes, addresses, self.size)
        if outside.any():
            raise fault(
                "out-of-bounds",
                f"{agent} {kind.value}s outside of local memory",
                got=f"{self.size} bytes at {int(addresses[outside][0]):#x}",
                expected=f"0x0 to {each:#x} ({each} bytes)",
            )
        return addresses + self.lanes * local.stride


def _space(mi: MachineInstr) -> Space | None:
    found = mi.form.attributes["space"]
    return found if isinstance(found, Space) else None


_ORDERS = {
    Sem.VOLATILE: Order.RELAXED,
    Sem.RELAXED: Order.RELAXED,
    Sem.MMIO: Order.RELAXED,
    Sem.ACQUIRE: Order.ACQUIRE,
    Sem.RELEASE: Order.RELEASE,
    Sem.ACQ_REL: Order.BOTH,
    Sem.SC: Order.BOTH,
}


def order_of(mi: MachineInstr, otherwise: Order = Order.WEAK) -> Order:
    """The memory ordering of a record; `otherwise` if it names none."""
    sem = mi.form.attributes.get("sem")
    return _ORDERS.get(sem, otherwise) if isinstance(sem, Sem) else otherwise


def _agent(warp: Warp, mi: MachineInstr) -> str:
    return f"{mi.row.head} of warp {warp.number}"


def load(c: Compiler, mi: MachineInstr) -> Step:
    """A load of one or several elements into each lane."""
    type_ = mi.form.attributes["type"]
    assert isinstance(type_, ScalarType)
    space, address = _space(mi), c.address(mi["a"])
    result = mi["d"]
    targets = result if isinstance(result, tuple) else (result,)
    size = type_.bits // 8
    element = held(type_.bits)
    setter = c.set_whole if size > 8 else c.set
    writers = [(setter(r), _width(c, r)) if type(r) is int else None for r in targets]
    order, reach = order_of(mi), reach_of(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        agent = _agent(warp, mi)
        chosen = address(warp)[strand.lanes]
        total = size * len(writers)
        owners = Owners.of(strand, total)
        data = np.empty((chosen.size, total), np.uint8)
        for region, where, part in find(warp.cta, chosen, space, agent, Access.READ, owners):
            lanes = owners.lanes[part]
            offsets = warp.cta.machine.memory.access(
                region, where, total, Access.READ, Proxy.GENERIC, agent,
                align=total, order=order, reach=reach, lanes=lanes, vector=len(writers) > 1,
            )  # fmt: skip
            found = gather(region, offsets, total)
            if order is not Order.WEAK and region.shadow is not None:
                late = region.earlier.put(found, offsets, lanes) if region.earlier else NOTHING_ELSE
                warp.cta.machine.memory.version += bool(late)  # who polls goes on polling
                region.shadow.observe(offsets, lanes, order, reach, instead=late)
            data[part] = found
        columns = data.view(element)
        for i, writer in enumerate(writers):
            if writer is None:
                continue
            write, width = writer
            values = extended(columns[:, i], type_, width)
            if strand.mask != FULL:
                some, values = values, np.zeros(WARP, values.dtype)
                values[strand.lanes] = some
            write(strand, values)
        return None

    return run


def _width(c: Compiler, reg: int) -> int:
    return c.function.regs.classes[reg].bits


def extended(raw: NDArray[np.generic], type_: ScalarType, width: int) -> NDArray[np.generic]:
    """A value in a register that may be wider: by its sign, if the type has one."""
    if type_.is_signed:
        signed = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
        return raw.view(signed[type_.bits]).astype(signed[width]).view(unsigned(width))
    return raw.astype(held(width))


def store(c: Compiler, mi: MachineInstr) -> Step:
    """A store of one or several elements from each lane."""
    type_ = mi.form.attributes["type"]
    assert isinstance(type_, ScalarType)
    space, address = _space(mi), c.address(mi["a"])
    value = mi["b"]
    sources = value if isinstance(value, tuple) else (value,)
    size = type_.bits // 8
    element = held(type_.bits)
    getter = c.get_whole if size > 8 else c.get
    getters = [getter(source, type_) for source in sources]
    order, reach = order_of(mi), reach_of(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        if order.releases:
            deliver(warp.cta)
        agent = _agent(warp, mi)
        chosen = address(warp)[strand.lanes]
        total = size * len(getters)
        columns = np.empty((chosen.size, len(getters)), element)
        for i, get in enumerate(getters):
            columns[:, i] = get(warp)[strand.lanes]
        data = columns.view(np.uint8)
        owners = Owners.of(strand, total)
        for region, where, part in find(warp.cta, chosen, space, agent, Access.WRITE, owners):
            if region is warp.cta.params:
                raise fault("param-store", "kernel parameters cannot be written", section="st")
            lanes = owners.lanes[part]
            offsets = warp.cta.machine.memory.access(
                region, where, total, Access.WRITE, Proxy.GENERIC, agent,
                align=total, order=order, reach=reach, lanes=lanes, data=data[part],
                vector=len(getters) > 1,
            )  # fmt: skip
            if order is not Order.WEAK and region.shadow is not None:
                if region.earlier is not None:
                    region.earlier.keep(offsets, total, region.data)
                region.shadow.publish(offsets, lanes, order, reach)
            turns = _order_of_lanes(warp.cta.machine, offsets)
            scatter(region, offsets[turns], data[part][turns])
        return None

    return run


def _order_of_lanes(machine: Machine, offsets: Addresses) -> NDArray[np.intp] | slice:
    """The order in which the lanes of one store write: where several write to one address, which of
    their values stays is not defined.
    """
    if offsets.size < 2 or (offsets[1:] > offsets[:-1]).all():
        return slice(None)
    if np.unique(offsets).size == offsets.size:
        return slice(None)
    return np.array(machine.in_some_order(range(offsets.size)), np.intp)


_GENERIC = (
    dict.fromkeys(SHARED_SPACES, SHARED_WINDOW)
    | dict.fromkeys(_PARAM, PARAM_WINDOW)
    | {Space.LOCAL: LOCAL_WINDOW}
)


def cvta(c: Compiler, mi: MachineInstr) -> Step:
    """An address moved into its window of the generic space, or out of it."""
    space = mi.form.attributes["space"]
    assert isinstance(space, Space)
    base = _GENERIC.get(space, 0)
    size = mi.form.attributes["size"]
    assert isinstance(size, ScalarType)
    source = c.get(mi["a"], size)
    result = mi["d"]
    assert type(result) is int
    write = c.set(result)
    sign = -1 if mi.row.id == "cvta.to" else 1

    def run(strand: Strand) -> Outcome:
        address = source(strand.warp).astype(np.int64) + sign * base
        write(strand, address.view(np.uint64))
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "ld": load, "multimem.ld_reduce": load, "st": store, "multimem.st": store,
    "cvta": cvta, "cvta.to": cvta,
}  # fmt: skip
