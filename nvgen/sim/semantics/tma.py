"""Bulk tensor copies: a tile from global to shared memory, in the background.

Layer: nvgen.sim.semantics.  The copy reads global memory and writes shared memory when it takes
effect, then counts its bytes on the mbarrier.  Elements outside of the tensor come as zeros and
count too. PTX ISA, cp.async.bulk.tensor; Tensors, Swizzling Modes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts import swizzle
from intrinsics.mir import MachineInstr, Mem
from intrinsics.modifiers import Dim, ScalarType, Space
from nvgen.sim.compile import Compiler, Maker
from nvgen.sim.engine import AsyncOp
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.machine import Cta, Fragment, Outcome, Step, lane_numbers
from nvgen.sim.memory import Access, Proxy, gather, scatter
from nvgen.sim.semantics.mbarrier import to_shared
from nvgen.sim.semantics.memory import find
from nvgen.tensor_map import SIZE, TensorMap


def load(c: Compiler, mi: MachineInstr) -> Step:
    """Issue a tile load."""
    dim = mi.form.facts["dim"]
    assert isinstance(dim, Dim)
    coords = mi["coords"]
    assert isinstance(coords, tuple)
    getters = [c.get(part, ScalarType.S32) for part in coords]
    dst, tmap, mbar = (c.address(mi[slot]) for slot in ("dst", "tmap", "mbar"))
    place = c.place(mi)
    assert isinstance(mi["dst"], Mem)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        cta = warp.cta
        engine = cta.machine.engine
        for lane in lane_numbers(fragment.mask):
            where = int(dst(warp)[lane])
            barrier = to_shared(int(mbar(warp)[lane]), Space.SHARED)
            at = tuple(int(get(warp).view(np.int32)[lane]) for get in getters)
            map_ = tensor_map_at(cta, int(tmap(warp)[lane]), dim.rank)
            copy = _Copy(cta, map_, at, _own(where), barrier)
            thread = (cta.number, warp.number, lane)
            engine.issue(AsyncOp("TMA load", thread, "tma", copy.land, place))
        cta.machine.changed()
        return None

    return run


def _own(address: int) -> int:
    if address >> 24:
        raise not_simulated("a copy to another CTA of the cluster")
    return address


def tensor_map_at(cta: Cta, address: int, rank: int) -> TensorMap:
    """The tensor map whose 128 bytes lie at a generic address.

    Raises: Fault when there is none, or its rank is another.
    """
    addresses = np.array([address], np.int64)
    agent = "cp.async.bulk.tensor"
    region, where, _ = next(find(cta, addresses, None, agent, Access.READ))
    offsets = cta.machine.memory.access(
        region, where, SIZE, Access.READ, Proxy.ASYNC, agent, align=64
    )
    found = cta.machine.tensor_maps.get(gather(region, offsets, SIZE).tobytes())
    if found is None:
        raise fault(
            "tensor-map",
            "cp.async.bulk.tensor: there is no tensor map",
            got=f"address {address:#x}",
            expected="a tensor map passed to the kernel",
            section="cp.async.bulk.tensor",
        )
    if len(found.dims) != rank:
        raise fault(
            "tensor-map-rank",
            "the copy has another rank than its tensor map",
            got=f"{rank}d",
            expected=f"{len(found.dims)}d",
            section="cp.async.bulk.tensor",
        )
    return found


_ALIGNED = 128
"""Bytes that a copy's destination is aligned to; an H200 traps on less, swizzled or not."""


class _Copy:
    """One tile on its way."""

    def __init__(
        self, cta: Cta, map_: TensorMap, at: tuple[int, ...], where: int, barrier: int
    ) -> None:
        self.cta = cta
        self.map = map_
        self.at = at
        self.where = where
        self.barrier = barrier
        if at[0] * map_.item_size % 16:
            raise fault(
                "tma-coordinate",
                "the copy's innermost coordinate is no multiple of 16 bytes",
                got=f"{at[0]} elements of {map_.item_size} bytes",
                expected=f"a multiple of {16 // map_.item_size} elements",
                hint="an H200 ends the kernel with an illegal instruction",
                section="cp.async.bulk.tensor",
            )
        if where % _ALIGNED:
            raise fault(
                "tma-alignment",
                "the copy's destination is misaligned",
                got=f"shared address {where:#x}",
                expected=f"a multiple of {_ALIGNED}",
                section="cp.async.bulk.tensor",
            )

    def land(self) -> None:
        """Write the tile, then count its bytes."""
        tile = self._tile()
        cta, memory = self.cta, self.cta.machine.memory
        data = np.ascontiguousarray(tile).view(np.uint8).reshape(-1)
        row, within = np.divmod(np.arange(data.size, dtype=np.int64), self.map.row_bytes)
        pitch = max(self.map.row_bytes, self.map.swizzle.span)
        addresses = swizzle(self.where + row * pitch + within, self.map.swizzle)
        offsets = memory.access(cta.shared, addresses, 1, Access.WRITE, Proxy.ASYNC, "TMA load")
        scatter(cta.shared, offsets, data[:, None])
        barrier = cta.mbarriers.get(self.barrier)
        if barrier is None:
            raise fault(
                "mbarrier-uninitialized",
                "a TMA load completes on what is no mbarrier",
                got=f"shared address {self.barrier:#x}",
                section="mbarrier.init",
            )
        barrier.complete(data.size)
        cta.machine.changed()

    def _tile(self) -> NDArray[np.generic]:
        """The box at the coordinates, outermost dimension first; zeros outside of the tensor."""
        tile = np.zeros(self.map.box[::-1], self.map.array.dtype)
        inner: list[slice] = []
        outer: list[slice] = []
        for start, extent, size in zip(self.at, self.map.box, self.map.dims, strict=True):
            low, high = max(start, 0), min(start + extent, size)
            if low >= high:
                return tile
            inner.append(slice(low - start, high - start))
            outer.append(slice(low, high))
        tile[tuple(inner[::-1])] = self.map.array[tuple(outer[::-1])]
        return tile


SEMANTICS: dict[str, Maker] = {"cp.async.bulk.tensor.load": load}
