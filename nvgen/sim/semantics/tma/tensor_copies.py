"""Bulk tensor copies: a box from global to shared memory or back, asynchronously.

Layer: nvgen.sim.semantics.  A load reads global memory and writes shared memory when it takes
effect, then completes its bytes on the mbarrier; a multicast is one load for each CTA of its mask,
each at a moment of its own.  Elements outside of the tensor are zeros and count too.  A store takes
effect twice: it reads shared memory before the wait_group.read that covers it ends, and writes
global memory before the wait_group ends; elements beyond the tensor are dropped.  A reduction does
so too, and combines its elements with those in memory.  A prefetch has no effect.  PTX ISA,
cp.async.bulk.tensor; cp.reduce.async.bulk.tensor; cp.async.bulk.prefetch.tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Mem
from intrinsics.modifiers import AtomicOp, Dim, LoadMode, ScalarType, Space, StoreMode
from intrinsics.tma.fields import Fill
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import Fault, fault, not_simulated
from nvgen.sim.memory.bound_maps import AnyMap, Rows
from nvgen.sim.memory.regions import Access, Proxy, gather, scatter
from nvgen.sim.semantics.bulk_groups import groups
from nvgen.sim.semantics.mbarrier_operand import signalled
from nvgen.sim.semantics.tma.boxes import (
    ATOM,
    Box,
    four_rows,
    image_rows,
    tile_rows,
    wide_rows,
)
from nvgen.sim.semantics.tma.maps import MapMode, map_reader, tensor_map_at
from nvgen.sim.semantics.tma.reduce import combined, loaded, not_a_number
from nvgen.sim.semantics.tma.targets import SECTION, signal_maker, targets_maker
from nvgen.sim.threads.clusters import check_runs, owner_of
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand, Warp, lane_numbers

_KINDS = {
    LoadMode.IM2COL: MapMode.IMAGES,
    LoadMode.IM2COL_W: MapMode.WIDE,
    LoadMode.IM2COL_W128: MapMode.WIDE_128,
    StoreMode.IM2COL_NO_OFFS: MapMode.IMAGES,
}
_FOUR = (LoadMode.GATHER4, StoreMode.SCATTER4)
_LOAD = "TMA load"


def load(c: Compiler, mi: MachineInstr) -> Step:
    """Issue a load, or those of a multicast."""
    space = mi.form.attributes["dst_space"]
    assert isinstance(space, Space)
    box, signal = _box_maker(c, mi, "dst", space), signal_maker(c, mi, space)
    targets, reads = targets_maker(c, mi), map_reader(c, mi, _LOAD)
    place = c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cta = warp.cta
        for lane in lane_numbers(strand.mask):
            first = box(warp, lane)
            thread = (cta.number, warp.number, lane)
            to = signal(warp, lane, first.cta)
            before = reads(warp, lane)
            for target in targets(warp, lane, first.cta):
                copy = _Load(replace(first, cta=target), to.of(target), to.offset)
                name = _LOAD if target is cta else f"{_LOAD} to CTA {target.number}"
                cta.machine.engine.issue(AsyncOp(name, thread, "tma", copy, place, before))
        cta.machine.changed()
        return None

    return run


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Issue a store or a reduction: its read, and ordered after that its write."""
    box = _box_maker(c, mi, "src", Space.SHARED_CTA)
    place, op = c.place(mi), mi.form.attributes.get("op")
    assert op is None or isinstance(op, AtomicOp)
    name = "TMA store" if op is None else "TMA reduction"
    tile = mi.form.attributes["mode"] in (None, StoreMode.TILE)
    reads = map_reader(c, mi, name)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        engine = warp.cta.machine.engine
        for lane in lane_numbers(strand.mask):
            copy = _Store(_storable(box(warp, lane), tile=tile), name, op)
            memory, atoms = warp.cta.machine.memory, copy.box.atoms()
            memory.check_fenced(warp.cta.shared, atoms, ATOM, name)  # a later fence is too late
            thread = (warp.cta.number, warp.number, lane)
            before = reads(warp, lane)
            read = AsyncOp(
                f"{name} (read)", thread, "bulk.read", copy.read, place, before, lazy=True
            )
            write = AsyncOp(name, thread, "bulk", copy.write, place, (read,), lazy=True)
            groups(warp, lane).open.append((read, write))
            engine.issue(read)
            engine.issue(write)
        return None

    return run


def prefetch(c: Compiler, mi: MachineInstr) -> Step:
    """Check that there is such a tensor; caches change no result."""
    found = _rows_maker(c, mi)

    def run(strand: Strand) -> Outcome:
        for lane in lane_numbers(strand.mask):
            found(strand.warp, lane)
        return None

    return run


# ---- boxes -----------------------------------------------------------------------------------


def _box_maker(
    c: Compiler, mi: MachineInstr, slot: str, space: Space
) -> Callable[[Warp, int], Box]:
    """The box of a copy of one thread, between a tensor and the address in `slot`."""
    assert isinstance(mi[slot], Mem)
    shared, rows = c.address(mi[slot]), _rows_maker(c, mi)

    def box(warp: Warp, lane: int) -> Box:
        bound, first, found = rows(warp, lane)
        owner, offset = owner_of(warp.cta, int(shared(warp)[lane]), space, SECTION)
        made = Box(owner, bound, first, found, offset)
        made.check()
        return made

    return box


def _rows_maker(c: Compiler, mi: MachineInstr) -> Callable[[Warp, int], tuple[AnyMap, int, Rows]]:
    """The tensor map of a copy, its innermost coordinate, and its rows."""
    dim, mode = mi.form.attributes["dim"], mi.form.attributes["mode"]
    assert isinstance(dim, Dim)
    tmap, coords = c.address(mi["tmap"]), _numbers(c, mi, "coords", ScalarType.S32)
    offsets = _numbers(c, mi, "offsets", ScalarType.U16)
    kind = MapMode.TILES
    if isinstance(mode, LoadMode | StoreMode):
        kind = _KINDS.get(mode, MapMode.TILES)

    def rows(warp: Warp, lane: int) -> tuple[AnyMap, int, Rows]:
        at = tuple(int(get(warp).view(np.int32)[lane]) for get in coords)
        bound = tensor_map_at(warp.cta, int(tmap(warp)[lane]), dim.rank, kind)
        within = [int(get(warp)[lane]) & 0xFFFF for get in offsets]
        if kind in (MapMode.WIDE, MapMode.WIDE_128):
            return bound, at[0], wide_rows(bound.map, at, *within)
        if kind is MapMode.IMAGES:
            within = within or [0] * (dim.rank - 2)
            return bound, at[0], image_rows(bound.map, at, within)
        if mode in _FOUR:
            return bound, at[0], four_rows(bound.map, at[1:])
        return bound, at[0], tile_rows(bound.map, at)

    return rows


def _numbers(c: Compiler, mi: MachineInstr, slot: str, type_: ScalarType) -> list[Getter]:
    given = mi.get(slot)
    if given is None:
        return []
    assert isinstance(given, tuple)
    return [c.get(part, type_) for part in given]


def _storable(box: Box, *, tile: bool) -> Box:
    """The box of a store, which begins in the tensor or behind it.

    Raises: Fault when it begins before it, or when images have pixels outside of them;
    NotSimulatedError for padded elements.
    """
    if box.map.element.is_padded:
        raise not_simulated("stores of elements that are padded in shared memory")
    images = box.map.im2col
    if images is not None and (min(images.lower) < 0 or max(images.upper) > 0):
        raise _not_stored(
            "pixels are stored through a bounding box that leaves the image",
            f"corners {images.lower} and {images.upper}, W first",
            "a bounding box within the image",
        )
    if box.first >= 0 and (not box.rows.size or box.rows.min() >= 0):
        return box
    raise _not_stored(
        f"{'a tile' if tile else 'an image'} store begins before the tensor",
        f"coordinates {(box.first, *map(int, box.rows[0]))}, innermost first",
        "no negative coordinate",
    )


def _not_stored(text: str, got: str, expected: str) -> Fault:
    return fault(
        "tma-coordinate", text, got=got, expected=expected,
        hint="an H100 ends the kernel with an illegal instruction", section=SECTION,
    )  # fmt: skip


# ---- what copies do --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Load:
    """A box in flight to shared memory, and its mbarrier."""

    box: Box
    signalled: Cta
    barrier: int

    def __call__(self) -> None:
        """Write the box, then complete its bytes.

        Raises: Fault when a CTA that it accesses has exited, or has no mbarrier there.
        """
        box, cta = self.box, self.box.cta
        check_runs(cta, _LOAD)
        check_runs(self.signalled, _LOAD)
        data = np.ascontiguousarray(self._elements()).view(np.uint8).reshape(-1, box.bytes_per_atom)
        offsets = cta.machine.memory.access(
            cta.shared, box.atoms(), box.bytes_per_atom, Access.WRITE, Proxy.ASYNC, _LOAD
        )
        scatter(cta.shared, offsets, data)
        cta.shared.written[box.padding()] = False  # whether padding is written is not documented
        what = "a TMA load completes on"
        found = signalled(self.signalled, self.barrier, _LOAD, what, "mbarrier.init")
        found.complete(data.size)
        cta.machine.changed()

    def _elements(self) -> NDArray[np.generic]:
        """The box, with zeros or NaNs outside of the tensor."""
        bound, inside = self.box.bound, self.box.inside()
        found = np.zeros((len(self.box.rows), self.box.width), bound.dtype)
        if self.box.map.fill is Fill.NANS:
            found[:] = not_a_number(bound.dtype)
        if not inside.count:
            return found
        there = bound.read(inside.rows, inside.elements, _LOAD)
        numbers, elements = inside.in_box
        found[numbers, elements] = loaded(self.box.map.element, there)
        return found


@dataclass(slots=True)
class _Store:
    """A box in flight to global memory, and the operation that combines it (None: it is stored)."""

    box: Box
    name: str
    op: AtomicOp | None = None
    data: NDArray[np.uint8] | None = None

    def read(self) -> None:
        """Read the box from shared memory."""
        cta = self.box.cta
        offsets = cta.machine.memory.access(
            cta.shared, self.box.atoms(), ATOM, Access.READ, Proxy.ASYNC, self.name
        )
        self.data = gather(cta.shared, offsets, ATOM).reshape(-1)

    def write(self) -> None:
        """Write the box to the tensor."""
        assert self.data is not None
        bound, inside = self.box.bound, self.box.inside()
        if not inside.count:
            return
        order = Order.WEAK if self.op is None else Order.RELAXED
        shape = (len(self.box.rows), self.box.width)
        numbers, within = inside.in_box
        elements = self.data.view(bound.dtype).reshape(shape)[numbers, within]
        if self.op is not None:
            there = bound.read(inside.rows, inside.elements, self.name, order=order)
            elements = combined(self.op, self.box.map.element, there, elements)
        bound.write(inside.rows, inside.elements, elements, self.name, order=order)
        self.box.cta.machine.changed()


SEMANTICS: dict[str, Maker] = {
    "cp.async.bulk.tensor.load": load,
    "cp.async.bulk.tensor.load.im2col": load,
    "cp.async.bulk.tensor.store": store,
    "cp.reduce.async.bulk.tensor": store,
    "cp.async.bulk.prefetch.tensor": prefetch,
    "cp.async.bulk.prefetch.tensor.im2col": prefetch,
}
