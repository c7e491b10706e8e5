"""Bulk tensor copies: a tile from global to shared memory or back, in the background.

Layer: nvgen.sim.semantics.  A load reads global memory and writes shared memory when it takes
effect, then counts its bytes on the mbarrier; a multicast is one load for each CTA of its mask,
each at a moment of its own.  Elements outside of the tensor come as zeros and
count too.  A store takes effect twice: it reads shared memory at some moment before the
wait_group.read that covers it ends, then it writes global memory before the wait_group ends;
elements behind the tensor's end are dropped.  PTX ISA, cp.async.bulk.tensor;
cp.async.bulk.wait_group; Tensors, Swizzling Modes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import Imm, MachineInstr, Mem
from intrinsics.modifiers import Dim, LoadMode, ScalarType, Space, StoreMode
from intrinsics.swizzling import swizzle
from nvgen.sim.clusters import check_runs, owner_of
from nvgen.sim.compile import Compiler, Maker
from nvgen.sim.engine import AsyncOp, BulkGroups
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.machine import Cta, Fragment, Outcome, Step, Warp, lane_numbers
from nvgen.sim.memory import Access, BoundMap, Proxy, gather, scatter
from nvgen.sim.semantics.memory import find
from nvgen.sim.semantics.tma_targets import SECTION, signal_maker, targets_maker
from nvgen.tensor_fields import Element, Fill, Interleave
from nvgen.tensor_map import SIZE, TensorMap

_ALIGNED = 128
"""Bytes that a copy's shared address is aligned to; an H200 traps on less, swizzled or not."""

_ATOM = 16
"""Bytes that stay together under every swizzling; the rows of a box are whole atoms."""


def load(c: Compiler, mi: MachineInstr) -> Step:
    """Issue a tile load, or those of a multicast."""
    space = mi.form.facts["dst_space"]
    assert isinstance(space, Space)
    tile, signal = _tile_maker(c, mi, "dst", space), signal_maker(c, mi, space)
    targets = targets_maker(c, mi)
    place = c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        cta = warp.cta
        for lane in lane_numbers(fragment.mask):
            first = tile(warp, lane)
            thread = (cta.number, warp.number, lane)
            to = signal(warp, lane, first.cta)
            for target in targets(warp, lane, first.cta):
                copy = _Load(replace(first, cta=target), to.of(target), to.offset)
                name = _LOAD if target is cta else f"{_LOAD} to CTA {target.number}"
                cta.machine.engine.issue(AsyncOp(name, thread, "tma", copy, place))
        cta.machine.changed()
        return None

    return run


_LOAD = "TMA load"


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Issue a tile store: its read, and after that its write."""
    tile = _tile_maker(c, mi, "src", Space.SHARED_CTA)
    place = c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        engine = warp.cta.machine.engine
        for lane in lane_numbers(fragment.mask):
            copy = _Store(_not_negative(tile(warp, lane)))
            thread = (warp.cta.number, warp.number, lane)
            name = "TMA store"
            read = AsyncOp(f"{name} (read)", thread, "bulk.read", copy.read, place, lazy=True)
            write = AsyncOp(name, thread, "bulk", copy.write, place, (read,), lazy=True)
            _groups(warp, lane).open.append((read, write))
            engine.issue(read)
            engine.issue(write)
        return None

    return run


def _tile_maker(
    c: Compiler, mi: MachineInstr, slot: str, space: Space
) -> Callable[[Warp, int], _Tile]:
    """Gives the tile that a copy of one thread moves, between a tensor and the address `slot`."""
    dim, coords = mi.form.facts["dim"], mi["coords"]
    if mi.form.facts["mode"] not in (None, LoadMode.TILE, StoreMode.TILE):
        raise not_simulated("tensor copies that are no tiles")
    assert isinstance(dim, Dim)
    assert isinstance(coords, tuple)
    assert isinstance(mi[slot], Mem)
    getters = [c.get(part, ScalarType.S32) for part in coords]
    shared, tmap = c.address(mi[slot]), c.address(mi["tmap"])

    def tile(warp: Warp, lane: int) -> _Tile:
        at = tuple(int(get(warp).view(np.int32)[lane]) for get in getters)
        map_ = tensor_map_at(warp.cta, int(tmap(warp)[lane]), dim.rank)
        owner, offset = owner_of(warp.cta, int(shared(warp)[lane]), space, SECTION)
        found = _Tile(owner, map_, at, offset)
        found.check()
        return found

    return tile


def _not_negative(tile: _Tile) -> _Tile:
    """The tile of a store, which begins in the tensor or behind it.

    Raises: Fault when it begins before it.
    """
    if min(tile.at) < 0:
        raise fault(
            "tma-coordinate",
            "a tile store begins before the tensor",
            got=f"coordinates {tile.at}, innermost first",
            expected="no negative coordinate",
            hint="an H200 ends the kernel with an illegal instruction",
            section=SECTION,
        )
    return tile


def tensor_map_at(cta: Cta, address: int, rank: int) -> BoundMap:
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
            section=SECTION,
        )
    map_ = found.map
    if map_.im2col or map_.copied != map_.box or not _is_simulated(map_):
        raise not_simulated("tensor copies that are no plain tiles")
    if len(found.map.dims) != rank:
        raise fault(
            "tensor-map-rank",
            "the copy has another rank than its tensor map",
            got=f"{rank}d",
            expected=f"{len(found.map.dims)}d",
            section=SECTION,
        )
    return found


def _is_simulated(map_: TensorMap) -> bool:
    converted = (Element.F32_FTZ, Element.TF32, Element.TF32_FTZ)
    plain = map_.interleave is Interleave.NONE and map_.fill is Fill.ZEROS
    return plain and not map_.element.is_packed and map_.element not in converted


# ---- tiles -----------------------------------------------------------------------------------

Slices = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class _Tile:
    """A box of a tensor at coordinates (innermost first), and its place in shared memory."""

    cta: Cta
    bound: BoundMap
    at: tuple[int, ...]
    where: int

    @property
    def map(self) -> TensorMap:
        return self.bound.map

    def check(self) -> None:
        """Whether a copy may begin here.

        Raises: Fault.
        """
        if self.at[0] * self.map.item_size % 16:
            raise fault(
                "tma-coordinate",
                "the copy's innermost coordinate is no multiple of 16 bytes",
                got=f"{self.at[0]} elements of {self.map.item_size} bytes",
                expected=f"a multiple of {16 // self.map.item_size} elements",
                hint="an H200 ends the kernel with an illegal instruction",
                section=SECTION,
            )
        if self.where % _ALIGNED:
            raise fault(
                "tma-alignment",
                "the copy's shared address is misaligned",
                got=f"shared address {self.where:#x}",
                expected=f"a multiple of {_ALIGNED}",
                section=SECTION,
            )

    def atoms(self) -> NDArray[np.int64]:
        """Shared addresses of the box's atoms of 16 bytes, in the order of its elements."""
        count = self.map.box_bytes // _ATOM
        row, within = np.divmod(np.arange(count, dtype=np.int64) * _ATOM, self.map.row_bytes)
        pitch = max(self.map.row_bytes, self.map.swizzle.span)
        return swizzle(self.where + row * pitch + within, self.map.swizzle)

    def inside(self) -> tuple[Slices, Slices] | None:
        """The part of the box that lies in the tensor, in the box and in the tensor, outermost
        first; None if there is none.
        """
        box: list[slice] = []
        tensor: list[slice] = []
        for start, extent, size in zip(self.at, self.map.box, self.map.dims, strict=True):
            low, high = max(start, 0), min(start + extent, size)
            if low >= high:
                return None
            box.append(slice(low - start, high - start))
            tensor.append(slice(low, high))
        return tuple(box[::-1]), tuple(tensor[::-1])


@dataclass(frozen=True, slots=True)
class _Load:
    """A tile on its way to shared memory, and the mbarrier that counts its bytes."""

    tile: _Tile
    signalled: Cta
    barrier: int

    def __call__(self) -> None:
        """Write the tile, then count its bytes.

        Raises: Fault when a CTA that it reaches has exited, or has no mbarrier there.
        """
        tile, cta = self.tile, self.tile.cta
        check_runs(cta, _LOAD)
        check_runs(self.signalled, _LOAD)
        data = np.ascontiguousarray(self._elements()).view(np.uint8).reshape(-1, _ATOM)
        offsets = cta.machine.memory.access(
            cta.shared, tile.atoms(), _ATOM, Access.WRITE, Proxy.ASYNC, "TMA load"
        )
        scatter(cta.shared, offsets, data)
        barrier = self.signalled.mbarriers.get(self.barrier)
        if barrier is None:
            raise fault(
                "mbarrier-uninitialized",
                "a TMA load completes on what is no mbarrier",
                got=f"shared address {self.barrier:#x}",
                section="mbarrier.init",
            )
        barrier.complete(data.size)
        cta.machine.changed()

    def _elements(self) -> NDArray[np.generic]:
        """The box, with zeros outside of the tensor."""
        bound, inside = self.tile.bound, self.tile.inside()
        found = np.zeros(bound.map.box[::-1], bound.array.dtype)
        if inside is None:
            return found
        box, tensor = inside
        if bound.written is not None and not bound.written[tensor].all():
            raise fault(
                "uninitialized",
                "TMA load reads global memory that nobody has written (async proxy)",
                got=f"{int((~bound.written[tensor]).sum())} unwritten bytes",
                expected="written memory",
                hint="is a wait for the operation that writes it missing?",
            )
        bound.touch(tensor, "TMA load", writes=False)
        found[box] = bound.array[tensor]
        return found


@dataclass(slots=True)
class _Store:
    """A tile on its way to global memory."""

    tile: _Tile
    data: NDArray[np.uint8] | None = None

    def read(self) -> None:
        """Take the tile out of shared memory."""
        cta = self.tile.cta
        offsets = cta.machine.memory.access(
            cta.shared, self.tile.atoms(), _ATOM, Access.READ, Proxy.ASYNC, "TMA store"
        )
        self.data = gather(cta.shared, offsets, _ATOM).reshape(-1)

    def write(self) -> None:
        """Put the tile into the tensor."""
        assert self.data is not None
        bound, inside = self.tile.bound, self.tile.inside()
        if inside is None:
            return
        box, tensor = inside
        bound.touch(tensor, "TMA store", writes=True)
        elements = self.data.view(bound.array.dtype).reshape(bound.map.box[::-1])
        bound.array[tensor] = elements[box]
        assert bound.written is not None
        bound.written[tensor] = True
        self.tile.cta.machine.changed()


# ---- groups ----------------------------------------------------------------------------------


def _groups(warp: Warp, lane: int) -> BulkGroups:
    return warp.cta.bulk.setdefault((warp.number, lane), BulkGroups())


def commit_group(c: Compiler, mi: MachineInstr) -> Step:
    """Each thread makes a group of its stores since the last one."""

    def run(fragment: Fragment) -> Outcome:
        for lane in lane_numbers(fragment.mask):
            _groups(fragment.warp, lane).commit()
        return None

    return run


def wait_group(c: Compiler, mi: MachineInstr) -> Step:
    """Let each thread's groups take effect, all but the latest ones."""
    n = mi["n"]
    assert isinstance(n, Imm)
    count = n.value & 0xFFFF_FFFF
    reads = mi.form.facts["read"] is not None

    def run(fragment: Fragment) -> Outcome:
        engine = fragment.warp.cta.machine.engine
        for lane in lane_numbers(fragment.mask):
            groups = _groups(fragment.warp, lane)
            engine.wait(fragment.warp, 1 << lane, groups.but_the_last(count, reads=reads))
            groups.forget(reads=reads)
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "cp.async.bulk.tensor.load": load,
    "cp.async.bulk.tensor.store": store,
    "cp.async.bulk.commit_group": commit_group,
    "cp.async.bulk.wait_group": wait_group,
}
