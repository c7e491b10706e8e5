"""tcgen05.mma, .sp, .ws and .ws.sp: operands decoded and checked, and the operation issued.

Layer: nvgen.sim.semantics.  The fields of a record are decoded in `mma_record`, its descriptors
checked in `mma_check`; operands are read in `mma_operands` and `mma_sparse`, arithmetic is in
`mma_numbers`, the effect in `mma_effect`.  A multiply is ordered after earlier ones of the same
accumulator and shape, and after copies and shifts; other multiplies may overtake it.  PTX ISA,
tcgen05.mma; Pipelined tcgen05 Instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.descriptors.tensor_address import TensorAddress, ZeroColumnMask
from intrinsics.limits import LANES
from intrinsics.mir import MachineInstr
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.collectors import Held
from nvgen.sim.semantics.tcgen05.mma_check import (
    DecodedMma,
    scale_address,
    shape_of,
    shared_descriptor,
    tensor_address,
)
from nvgen.sim.semantics.tcgen05.mma_effect import Extras, MmaOperation
from nvgen.sim.semantics.tcgen05.mma_record import Operands, Values, collector_of, form_of
from nvgen.sim.semantics.tcgen05.order import TensorOp, earlier
from nvgen.sim.threads.clusters import participants
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand
from nvgen.sim.threads.steps import one_lane


def mma(c: Compiler, mi: MachineInstr) -> Step:
    """Issue one matrix multiply."""
    form, group = form_of(mi), mi.attributes().get("cta_group")
    operands = Operands.of(c, mi)
    buffer, usage = collector_of(mi)
    name, place = mi.row.head, c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        lane = one_lane(strand, name)
        ctas = participants(warp.cta, group, name)
        given = operands.values(warp, lane)
        shape = shape_of(given.idesc, form)
        d = tensor_address(given.d, "D", shape.path.lane_starts)
        a, b = _matrix_a(given, shape, d), shared_descriptor(given.b, "B", shape)
        extras = _extras(given, shape, d, ctas[0].tensor.collectors.claim(buffer, usage))
        effect = MmaOperation(ctas, shape, name, d, a, b, given.enable_d, operands.scale_d, extras)
        engine = warp.cta.machine.engine
        before = tuple(
            op
            for op in engine.tracked
            if isinstance(op.effect, MmaOperation) and effect.follows(op.effect)
        )
        before += earlier(engine, TensorOp.MMA, ctas)
        thread = (warp.cta.number, warp.number, lane)
        engine.issue(AsyncOp(name, thread, "mma", effect, place, before))
        return None

    return run


def _matrix_a(
    given: Values, shape: DecodedMma, d: TensorAddress
) -> SharedMemoryDescriptor | TensorAddress:
    if not shape.form.a_in_tensor:
        return shared_descriptor(given.a, "A", shape)
    return _beside(tensor_address(given.a, "A", shape.path.lane_starts), "A", d)


def _beside(where: TensorAddress, name: str, d: TensorAddress) -> TensorAddress:
    """An address that must begin at D's lane.

    Raises: Fault.
    """
    if where.lane != d.lane:
        raise fault(
            "lane-alignment",
            f"{name} and D begin at different lanes",
            got=f"{name} at {where}, D at {d}",
            expected="the same lane for both",
            section="Data Path Layout Organization",
        )
    return where


def _extras(given: Values, shape: DecodedMma, d: TensorAddress, held: Held | None) -> Extras:
    scales = metadata = None
    if given.sfa is not None and given.sfb is not None:
        scales = scale_address(given.sfa, "SFA"), scale_address(given.sfb, "SFB")
    if given.sp_meta is not None:
        where = tensor_address(given.sp_meta, "the metadata", shape.path.lane_starts)
        metadata = _beside(where, "the metadata", d)
    zeros, skipped = _zero_columns(given.zero_mask, shape)
    return Extras(scales, metadata, _mask(given.mask), zeros, skipped, held)


def _mask(words: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """The lanes of each CTA that are not written; None for none."""
    if not any(words):
        return None
    bits = np.unpackbits(np.array(words, "<u4").view(np.uint8), bitorder="little")
    return bits.reshape(-1, LANES).astype(np.bool_)


_MAX_SHIFTS = (0, 8, 16, 32)


def _zero_columns(word: int | None, shape: DecodedMma) -> tuple[NDArray[np.bool_] | None, int]:
    """Which columns of B count as zero, and how many lie before the first.

    A start count leaves out as many of the lowest bits of its sub-mask as it says, and so more than
    the first run where that is shorter: this is the manual's text, which has no example of it.

    Raises: Fault for a shift that is too large; NotSimulatedError for one beyond what the
    instruction descriptor announces.
    """
    if word is None:
        return None, 0
    i, mask = shape.idesc, ZeroColumnMask.decode(word)
    limit = 16 if i.m == 32 else 32
    if mask.shift > limit:
        raise fault(
            "zero-mask",
            "the zero-column mask shifts B too far",
            got=f"{mask.shift} columns with M = {i.m}",
            expected=f"at most {limit}",
            section="Zero-Column Mask Descriptor (Table 45)",
        )
    announced = _MAX_SHIFTS[i.max_shift]
    if mask.shift > announced:
        raise not_simulated(
            f"a column shift of {mask.shift}, where the instruction descriptor has a maximum "
            f"of {announced}"
        )
    bits = mask.mask(i.m, i.n)
    zeros = np.array([bits >> column & 1 for column in range(i.n)], np.bool_)
    return (zeros if zeros.any() else None), mask.shift


SEMANTICS: dict[str, Maker] = {
    "tcgen05.mma": mma,
    "tcgen05.mma.sp": mma,
    "tcgen05.mma.ws": mma,
    "tcgen05.mma.ws.sp": mma,
}
