"""Tensor maps that a kernel writes, and the fences between that and their use.

Layer: nvgen.sim.semantics.  tensormap.replace reads and writes all 128 bytes, as the threads that
execute it.  tensormap.cp_fenceproxy is a copy by a warp, and a proxy release.  A proxy release and
a proxy acquire count as fences, too: together they synchronise as these do.  PTX
ISA, tensormap.replace; tensormap.cp_fenceproxy; membar / fence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr, Mem
from intrinsics.modifiers import MapField, ScalarType, Space
from nvgen.launching.tensor_map import SIZE
from nvgen.sim.actors.operation import MAP_COPY, AsyncOp
from nvgen.sim.faults import Fault, fault
from nvgen.sim.memory.map_fields import fields_of
from nvgen.sim.memory.regions import Access, Bytes, Proxy, Region, gather, scatter, window_of
from nvgen.sim.memory.tensor_maps import Fields
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand, lane_numbers
from nvgen.sim.threads.remote import deliver
from nvgen.sim.threads.steps import uniform

ALIGN = 64
"""Bytes that a tensor map is aligned to.  CUDA driver API, cuTensorMapEncodeTiled."""


def replace(c: Compiler, mi: MachineInstr) -> Step:
    """Change a field of the tensor map at each thread's address."""
    which, space = mi.form.attributes["field"], mi.form.attributes["space"]
    assert isinstance(which, MapField)
    assert space is None or isinstance(space, Space)
    assert isinstance(mi["a"], Mem)
    address, new = c.address(mi["a"]), _new_maker(c, mi)
    dimension = mi.get("ord")
    at = c.get(dimension, ScalarType.U32) if dimension is not None else None
    agent = mi.row.head

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cta = warp.cta
        for there, mask in _alike(address, strand).items():
            part, lanes = strand.part(mask), np.array(lane_numbers(mask), np.intp)
            region, place = _place(cta, there, space, agent)
            fields = _fields(cta, _read(cta, region, place, agent, lanes))
            number = 0 if at is None else uniform(at(warp), part, "the dimension of a field")
            value = uniform(new(warp), part, "the field of one tensor map")
            changed = cta.machine.tensor_maps.changed(fields.replaced(which, number, value))
            _write(cta, region, place, np.frombuffer(changed, np.uint8), agent, lanes)
        return None

    return run


def _new_maker(c: Compiler, mi: MachineInstr) -> Getter:
    code = mi.get("code")
    if code is not None:
        return c.get(code, ScalarType.U32)
    wide = mi.form.attributes["type"] is ScalarType.B64
    return c.get(mi["new"], ScalarType.B64 if wide else ScalarType.B32)


def _fields(cta: Cta, there: Bytes) -> Fields:
    found = cta.machine.tensor_maps.at(there.tobytes())
    if found is None:
        raise fault(
            "tensor-map",
            "tensormap.replace: there is no tensor map",
            got="other bytes",
            expected="a tensor map, copied as it was passed to the kernel; or 128 zeros",
            hint="how a tensor map is encoded is not public: it is written by tensormap.replace",
            section="tensormap.replace",
        )
    return found if isinstance(found, Fields) else fields_of(found)


def _place(cta: Cta, address: int, space: Space | None, agent: str) -> tuple[Region, int]:
    """The memory that an address of a tensor map lies in, and the address as it counts them.

    Raises: Fault when it is neither global memory nor the CTA's own shared memory.
    """
    if space is None and window_of(address) not in (Space.GLOBAL, Space.SHARED):
        raise _misplaced(agent, address, "global memory, or shared memory of the CTA")
    where = np.array([address], np.int64)
    region, there, _ = next(find(cta, where, space, agent, Access.READ))
    if region is not cta.shared and region not in cta.machine.memory.allocations:
        raise _misplaced(agent, address, "global memory, or shared memory of the CTA")
    return region, int(there[0])


def _misplaced(agent: str, address: int, expected: str) -> Fault:
    return fault(
        "tensor-map-space",
        f"{agent}: the tensor map lies elsewhere",
        got=f"address {address:#x}",
        expected=expected,
        section=agent,
    )


def _read(cta: Cta, region: Region, address: int, agent: str, lanes: NDArray[np.intp]) -> Bytes:
    """The bytes of a tensor map, which each of some lanes reads."""
    where = np.full(len(lanes), address, np.int64)
    offsets = cta.machine.memory.access(
        region, where, SIZE, Access.READ, Proxy.GENERIC, agent, align=ALIGN, lanes=lanes
    )
    found: Bytes = gather(region, offsets, SIZE)[0]
    return found


def _write(
    cta: Cta,
    region: Region,
    address: int,
    data: Bytes,
    agent: str,
    lanes: NDArray[np.intp] | None = None,
) -> None:
    """Write the bytes of a tensor map, by each of some lanes, or by the operation that runs."""
    where = np.full(1 if lanes is None else len(lanes), address, np.int64)
    offsets = cta.machine.memory.access(
        region, where, SIZE, Access.WRITE, Proxy.GENERIC, agent, align=ALIGN, lanes=lanes
    )
    scatter(region, offsets, np.broadcast_to(data, (len(where), SIZE)))


# ---- fences ----------------------------------------------------------------------------------


def copy(c: Compiler, mi: MachineInstr) -> Step:
    """Copy 128 bytes of shared memory to global memory, and release them to copies.

    Each thread reads the map, and all of them have waited for the copy behind it.
    """
    assert isinstance(mi["dst"], Mem)
    assert isinstance(mi["src"], Mem)
    target, source = c.address(mi["dst"]), c.address(mi["src"])
    c.get(mi["size"], ScalarType.U32)
    agent, place = mi.row.head, c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cta, engine = warp.cta, warp.cta.machine.engine
        to = uniform(target(warp), strand, "the address that a tensor map goes to")
        at = uniform(source(warp), strand, "the address that a tensor map comes from")
        lanes = np.array(lane_numbers(strand.mask), np.intp)
        data = _read(cta, *_place(cta, at, Space.SHARED_CTA, agent), agent, lanes)
        region, there = _place(cta, to, Space.GLOBAL, agent)

        def effect() -> None:
            _write(cta, region, there, data, agent)

        thread = (cta.number, warp.number, int(lanes[0]))
        op = AsyncOp(agent, thread, MAP_COPY, effect, place)
        engine.issue(op)
        engine.wait(warp, strand.mask, [op])
        _release(strand)
        return None

    return run


def release(c: Compiler, mi: MachineInstr) -> Step:
    """A proxy release: earlier writes to tensor maps become visible to copies after an acquire."""

    def run(strand: Strand) -> Outcome:
        _release(strand)
        return None

    return run


def acquire(c: Compiler, mi: MachineInstr) -> Step:
    """A proxy acquire of the tensor map at each thread's address."""
    address = c.address(mi["a"])
    c.get(mi["size"], ScalarType.U32)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        machine = warp.cta.machine
        _fence(strand)
        for at, mask in _alike(address, strand).items():
            if window_of(at) is not Space.GLOBAL:
                raise _misplaced(mi.row.head, at, "global memory")
            next(find(warp.cta, np.array([at]), Space.GLOBAL, mi.row.head, Access.READ))
            machine.tensor_maps.order.acquire(machine.engine.clocks, strand.part(mask), at)
        return None

    return run


def _alike(address: Getter, strand: Strand) -> dict[int, int]:
    """The lanes of a strand by their addresses."""
    found: dict[int, int] = {}
    values = address(strand.warp)
    for lane in lane_numbers(strand.mask):
        found[int(values[lane])] = found.get(int(values[lane]), 0) | 1 << lane
    return found


def _release(strand: Strand) -> None:
    """A proxy release, ordered after a fence."""
    machine = strand.warp.cta.machine
    machine.tensor_maps.order.release(machine.engine.clocks, strand)
    _fence(strand)


def _fence(strand: Strand) -> None:
    deliver(strand.warp.cta)
    clocks = strand.warp.cta.machine.engine.clocks
    if clocks is not None:
        clocks.fence(strand)


SEMANTICS: dict[str, Maker] = {
    "tensormap.replace": replace,
    "tensormap.replace.dimension": replace,
    "tensormap.replace.code": replace,
    "tensormap.cp_fenceproxy": copy,
    "fence.proxy.tensormap.release": release,
    "fence.proxy.tensormap.acquire": acquire,
}
