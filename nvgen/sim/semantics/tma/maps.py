"""The tensor map operand of a copy, and which tensor maps are simulated.

Layer: nvgen.sim.semantics.  PTX ISA, Tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Space
from intrinsics.tma.fields import Interleave, Wide
from nvgen.launching.tensor_map import SIZE, TensorMap
from nvgen.sim.actors.operation import MAP_READ, AsyncOp
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.bound_maps import AnyMap, BoundMap
from nvgen.sim.memory.map_fields import placed
from nvgen.sim.memory.regions import Access, Addresses, Proxy, Region, gather, window_of
from nvgen.sim.memory.tensor_maps import Fields
from nvgen.sim.semantics.bulk_groups import groups
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.semantics.tma.targets import SECTION
from nvgen.sim.semantics.tma.tensor_maps import ALIGN
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.machine import Cta, Warp

Reads = tuple[AsyncOp, ...]
"""The operation that reads the tensor map of a copy and that the copy is ordered after, or none."""


class MapMode(Enum):
    """The kind of a tensor map, in words."""

    TILES = "a tensor map of tiles"
    IMAGES = "a tensor map of images (im2col)"
    WIDE = "a tensor map of images (im2col::w)"
    WIDE_128 = "a tensor map of images (im2col::w::128)"


_WIDE = {None: MapMode.IMAGES, Wide.W: MapMode.WIDE, Wide.W128: MapMode.WIDE_128}


def tensor_map_at(cta: Cta, address: int, rank: int, kind: MapMode) -> AnyMap:
    """The tensor map whose 128 bytes are at a generic address, of the kind that a copy needs.

    Raises: Fault when there is none, it is of another kind or rank, or the kernel has written it
    and not released and acquired it.
    """
    found = _bound(cta, _bytes_at(cta, address), address)
    if len(found.map.dims) != rank:
        raise fault(
            "tensor-map-rank",
            "the copy has another rank than its tensor map",
            got=f"{rank}d",
            expected=f"{len(found.map.dims)}d",
            section=SECTION,
        )
    images = found.map.im2col
    given = MapMode.TILES if images is None else _WIDE[images.wide]
    if given is not kind:
        raise fault(
            "tensor-map-mode",
            "the copy is of another mode than its tensor map",
            got=given.value,
            expected=kind.value,
            section=SECTION,
        )
    _check_simulated(found.map)
    return found


def _bytes_at(cta: Cta, address: int) -> bytes:
    if window_of(address) is Space.SHARED:
        raise fault(
            "tensor-map-space",
            "a copy uses a tensor map in shared memory",
            got=f"address {address:#x}",
            expected="a tensor map in global or constant memory, or a parameter of the kernel",
            hint="tensormap.cp_fenceproxy copies it to global memory",
            section=SECTION,
        )
    machine = cta.machine
    addresses = np.array([address], np.int64)
    region, where, _ = next(find(cta, addresses, None, SECTION, Access.READ))
    offsets = machine.memory.access(
        region, where, SIZE, Access.READ, Proxy.ASYNC, SECTION, align=ALIGN
    )
    machine.tensor_maps.order.check(machine.engine.clocks, region, int(where[0]))
    return gather(region, offsets, SIZE).tobytes()


def _bound(cta: Cta, there: bytes, address: int) -> AnyMap:
    found = cta.machine.tensor_maps.at(there)
    if isinstance(found, Fields) and any(there):
        return placed(found, cta.machine.memory)
    if isinstance(found, BoundMap):
        return found
    raise fault(
        "tensor-map",
        "cp.async.bulk.tensor: there is no tensor map",
        got=f"address {address:#x}",
        expected="a tensor map that was passed to the kernel, or one that tensormap.replace made",
        section=SECTION,
    )


def _check_simulated(map_: TensorMap) -> None:
    if map_.interleave is not Interleave.NONE and map_.im2col is not None:
        raise not_simulated("interleaved tensor maps of images")


# ---- maps that threads may write while a copy uses them ----------------------------------------


def map_reader(c: Compiler, mi: MachineInstr, name: str) -> Callable[[Warp, int], Reads]:
    """A function that issues, for one thread, the read of a copy's tensor map before the copy.

    It is in the thread's open bulk group, even for a load.  There is none for a parameter of the
    kernel, which is constant, and where races are not sought.
    """
    address, place = c.address(mi["tmap"]), c.place(mi)

    def reads(warp: Warp, lane: int) -> Reads:
        cta, at = warp.cta, int(address(warp)[lane])
        engine = cta.machine.engine
        if engine.clocks is None or window_of(at) is not Space.GLOBAL:
            return ()
        where = np.array([at], np.int64)
        region, there, _ = next(find(cta, where, Space.GLOBAL, SECTION, Access.READ))
        effect = _Read(region, there - region.base, f"{name} (tensor map)")
        thread = (cta.number, warp.number, lane)
        op = AsyncOp(effect.agent, thread, MAP_READ, effect, place, lazy=True)
        groups(warp, lane).open.append((op, op))
        engine.issue(op)
        return (op,)

    return reads


@dataclass(frozen=True, slots=True)
class _Read:
    """The read of a tensor map, in flight."""

    region: Region
    offset: Addresses
    agent: str

    def __call__(self) -> None:
        if self.region.shadow is not None:
            self.region.shadow.touch(self.offset, SIZE, self.agent, writes=False)
