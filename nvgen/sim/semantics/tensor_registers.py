"""tcgen05 between tensor memory and registers: load, store, and the waits for them.

Layer: nvgen.sim.semantics.  Loads and stores are asynchronous: a load's registers arrive at their
first use or at wait::ld, a store lands at wait::st, and under a late schedule not before.  PTX
ISA, Tensor Memory and Register Load/Store Instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts import fragment_cells
from intrinsics.mir import Imm, MachineInstr
from intrinsics.modifiers import LdStShape, ScalarType, WaitOp
from intrinsics.tensor_address import TensorAddress
from nvgen.sim.compile import Compiler, Maker, uniform
from nvgen.sim.engine import AsyncOp
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.machine import Fragment, Outcome, Step, Warp, first_lane


@dataclass(frozen=True, slots=True)
class _Fragment:
    """The cells of a collective load or store, counted from its address."""

    what: str
    lanes: NDArray[np.int64]
    columns: NDArray[np.int64]
    starts: tuple[int, ...]  # the lanes of its warp where it may begin

    @classmethod
    def of(cls, mi: MachineInstr, plain: str) -> _Fragment:
        """The cells of a record.

        Raises: NotSimulatedError for one that packs or unpacks.
        """
        shape = mi.form.facts["shape"]
        if mi.form.facts[plain] is not None:
            raise not_simulated(f"{mi.row.head} with .{plain}::16b")
        assert isinstance(shape, LdStShape)
        split, registers = mi.get("half_split"), mi["r"]
        assert isinstance(registers, tuple)
        cells = fragment_cells(shape, len(registers), split.value if isinstance(split, Imm) else 0)
        return cls(mi.row.head, *cells, (0,) if shape is LdStShape.S32X32B else (0, 16))

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


def ld(c: Compiler, mi: MachineInstr) -> Step:
    """Load registers from the warp's lanes."""
    cells = _Fragment.of(mi, "pack")
    address = c.address(mi["taddr"])
    targets = mi["r"]
    assert isinstance(targets, tuple)
    registers = tuple(r for r in targets if type(r) is int)
    writers = [c.set(r) if type(r) is int else None for r in targets]
    place = c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        engine = warp.cta.machine.engine
        lanes, columns = cells.at(warp, uniform(address(warp), fragment, "taddr"))
        agent = f"tcgen05.ld of warp {warp.number}"
        part = fragment.part(fragment.mask)
        loads = fragment.frame.loads
        warp.settle(registers)

        def effect() -> None:
            found = warp.cta.tensor.read(lanes, columns, agent)
            for i, write in enumerate(writers):
                if write is not None:
                    write(part, found[:, i])
            for register in registers:
                loads.pop(register, None)
            warp.cta.machine.changed()

        thread = (warp.cta.number, warp.number, first_lane(fragment.mask))
        op = AsyncOp("tcgen05.ld", thread, "ld", effect, place)
        for register in registers:
            loads[register] = op
        engine.issue(op)
        return None

    return run


def st(c: Compiler, mi: MachineInstr) -> Step:
    """Store registers to the warp's lanes."""
    cells = _Fragment.of(mi, "unpack")
    address = c.address(mi["taddr"])
    sources = mi["r"]
    assert isinstance(sources, tuple)
    getters = [c.get(source, ScalarType.B32) for source in sources]
    place = c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        lanes, columns = cells.at(warp, uniform(address(warp), fragment, "taddr"))
        data: NDArray[np.uint32] = np.stack([get(warp) for get in getters], axis=1).astype(
            np.uint32
        )
        agent = f"tcgen05.st of warp {warp.number}"

        def effect() -> None:
            warp.cta.tensor.write(lanes, columns, data, agent)
            warp.cta.machine.changed()

        thread = (warp.cta.number, warp.number, first_lane(fragment.mask))
        warp.cta.machine.engine.issue(AsyncOp("tcgen05.st", thread, "st", effect, place))
        return None

    return run


def wait(c: Compiler, mi: MachineInstr) -> Step:
    """Let all loads, or all stores, of the warp take effect."""
    kind = "ld" if mi.form.facts["op"] is WaitOp.LD else "st"

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        engine = warp.cta.machine.engine
        mine = (warp.cta.number, warp.number)
        engine.finish_all(op for op in engine.pending if op.kind == kind and op.thread[:2] == mine)
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    "tcgen05.ld": ld,
    "tcgen05.st": st,
    "tcgen05.wait": wait,
}
