"""tcgen05 between tensor memory and registers: load, store, and the waits for them.

Layer: nvgen.sim.semantics.  Loads and stores are asynchronous: a load's registers arrive at their
first use or at wait::ld, a store lands at wait::st, and under a late schedule not before.  PTX
ISA, Tensor Memory and Register Load/Store Instructions; Packing and Unpacking.

A packing load makes a register of the low halves of two adjacent columns, the first in its low
bits; an unpacking store is the reverse.  So where a register stands for column c, it stands for
columns 2c and 2c + 1 then; the second half of a .16x32bx2 still begins where its operand says.
This is CuTe's reading (Copy_Traits of SM100_TMEM_LOAD_*_16b).  What an unpacking store leaves in
the high halves is not documented: they get the pattern of uninitialised memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.tensor_address import TensorAddress
from intrinsics.layouts.fragments import fragment_cells
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr, Op
from intrinsics.modifiers import LdStShape, ScalarType, WaitOp
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.faults import fault
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand, Warp, first_lane
from nvgen.sim.threads.steps import uniform

Words = NDArray[np.uint32]

_UNKNOWN_HALF = np.uint32(0xCDCD0000)


@dataclass(frozen=True, slots=True)
class CollectiveCells:
    """The cells of a collective load or store, counted from its address.

    Lanes and columns broadcast to (32 threads, registers), or where `packed` to
    (32, registers, 2 halves).
    """

    what: str
    lanes: NDArray[np.int64]
    columns: NDArray[np.int64]
    starts: tuple[int, ...]  # the lanes of its warp where it may begin
    packed: bool

    @classmethod
    def of(cls, mi: MachineInstr, registers: int, *, packed: bool = False) -> CollectiveCells:
        """The cells of a record that moves so many registers."""
        shape = mi.form.attributes["shape"]
        assert isinstance(shape, LdStShape)
        split = mi.get("half_split")
        lanes, columns = fragment_cells(shape, registers)
        if packed:
            columns = columns * 2
        if isinstance(split, Imm):
            columns = columns + np.arange(32, dtype=np.int64)[:, None] // 16 * split.value
        if packed:
            lanes, columns = lanes[..., None], columns[..., None] + np.arange(2, dtype=np.int64)
        starts = (0,) if shape is LdStShape.S32X32B else (0, 16)
        return cls(mi.row.head, lanes, columns, starts, packed)

    def at(self, warp: Warp, address: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lanes and columns from an address, which must lie in the warp's own lanes.

        Raises: Fault.
        """
        where = TensorAddress.decode(address)
        own = warp.number % 4 * 32
        if where.lane not in [own + start for start in self.starts]:
            raise fault(
                "lane-quarter",
                f"{self.what}: warp {warp.number} can access lanes {own} to {own + 31} only",
                got=str(where),
                expected=" or ".join(f"lane {own + start}" for start in self.starts),
                hint="add the warp's number in its warpgroup times 32 << 16 to the address",
                section="Access restrictions",
            )
        return where.lane + self.lanes, where.column + self.columns


# ---- load ------------------------------------------------------------------------------------


def collective_load(
    c: Compiler,
    mi: MachineInstr,
    cells: CollectiveCells,
    targets: tuple[Op, ...],
    results: Callable[[Words], Words],
) -> Step:
    """Load a warp's cells, and write what `results` makes of them.

    `results` is given the cells in the shape that `cells` has, and returns (32, targets).
    """
    address = c.address(mi["taddr"])
    registers = tuple(r for r in targets if type(r) is int)
    writers = [c.set(r) if type(r) is int else None for r in targets]
    place = c.place(mi)
    head = mi.row.head

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        engine = warp.cta.machine.engine
        lanes, columns = cells.at(warp, uniform(address(warp), strand, "taddr"))
        agent = f"{head} of warp {warp.number}"
        part = strand.part(strand.mask)
        loads = strand.frame.loads

        def effect() -> None:
            found = results(warp.cta.tensor.read(lanes, columns, agent))
            for i, write in enumerate(writers):
                if write is not None:
                    write(part, found[:, i])
            for register in registers:
                loads.pop(register, None)
            warp.cta.machine.changed()

        thread = (warp.cta.number, warp.number, first_lane(strand.mask))
        op = AsyncOp(head, thread, "ld", effect, place)
        for register in registers:
            loads[register] = op
        engine.issue(op)
        return None

    return run


def ld(c: Compiler, mi: MachineInstr) -> Step:
    """Load registers from the warp's lanes."""
    targets = mi["r"]
    assert isinstance(targets, tuple)
    packed = mi.form.attributes["pack"] is not None
    cells = CollectiveCells.of(mi, len(targets), packed=packed)
    return collective_load(c, mi, cells, targets, _pack if packed else _as_loaded)


def _as_loaded(cells: Words) -> Words:
    return cells


def _pack(cells: Words) -> Words:
    low = cells & np.uint32(0xFFFF)
    found: Words = low[..., 0] | low[..., 1] << np.uint32(16)
    return found


# ---- store -----------------------------------------------------------------------------------


def st(c: Compiler, mi: MachineInstr) -> Step:
    """Store registers to the warp's lanes."""
    sources = mi["r"]
    assert isinstance(sources, tuple)
    cells = CollectiveCells.of(mi, len(sources), packed=mi.form.attributes["unpack"] is not None)
    address = c.address(mi["taddr"])
    getters = [c.get(source, ScalarType.B32) for source in sources]
    place = c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        lanes, columns = cells.at(warp, uniform(address(warp), strand, "taddr"))
        given: Words = np.stack([get(warp) for get in getters], axis=1).astype(np.uint32)
        data = _unpack(given) if cells.packed else given
        agent = f"tcgen05.st of warp {warp.number}"

        def effect() -> None:
            warp.cta.tensor.write(lanes, columns, data, agent)
            warp.cta.machine.changed()

        thread = (warp.cta.number, warp.number, first_lane(strand.mask))
        warp.cta.machine.engine.issue(AsyncOp("tcgen05.st", thread, "st", effect, place))
        return None

    return run


def _unpack(words: Words) -> Words:
    low, high = words & np.uint32(0xFFFF), words >> np.uint32(16)
    return np.stack([low, high], axis=-1) | _UNKNOWN_HALF


# ---- wait ------------------------------------------------------------------------------------


def wait(c: Compiler, mi: MachineInstr) -> Step:
    """Complete all loads, or all stores, of the warp."""
    kind = "ld" if mi.form.attributes["op"] is WaitOp.LD else "st"

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        engine = warp.cta.machine.engine
        mine = (warp.cta.number, warp.number)
        ops = [op for op in engine.tracked if op.kind == kind and op.thread[:2] == mine]
        engine.wait(warp, strand.mask, ops)
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "tcgen05.ld": ld,
    "tcgen05.st": st,
    "tcgen05.wait": wait,
}
