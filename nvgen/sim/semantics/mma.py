"""tcgen05.mma, .sp, .ws and .ws.sp: operands decoded and checked, and the operation issued.

Layer: nvgen.sim.semantics.  What a multiply reads is in `mma_operands` and `mma_sparse`, how it
counts in `mma_numbers`, what it writes in `mma_effect`; what its descriptors may say in
`mma_check`.  The machine keeps a multiply behind earlier ones of the same accumulator and shape,
and behind copies and shifts; other multiplies may overtake it.  PTX ISA,
tcgen05.mma; Pipelined tcgen05 Instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import Imm, MachineInstr, Mem
from intrinsics.modifiers import CtaGroup, MmaKind, Modifier, ScalarType, ScaleVec
from intrinsics.smem_desc import SharedMemoryDescriptor
from intrinsics.tensor_address import LANES, TensorAddress, ZeroColumnMask
from nvgen.sim.clusters import participants
from nvgen.sim.collectors import Held, Usage
from nvgen.sim.compile import Compiler, Getter, Maker, one_lane
from nvgen.sim.engine import AsyncOp
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.machine import Fragment, Outcome, Step, Warp
from nvgen.sim.semantics.mma_check import (
    Form,
    Shape,
    scale_address,
    shape_of,
    shared_descriptor,
    tensor_address,
)
from nvgen.sim.semantics.mma_effect import Extras, Multiply
from nvgen.sim.semantics.tensor_order import TensorOp, earlier

Word: TypeAlias = Callable[[Warp, int], int]
"""Gives the value of an operand in a lane."""


@dataclass(frozen=True, slots=True)
class _Operands:
    """The operands of a record that it has, each as what gives its value."""

    d: Word
    a: Word
    b: Word
    idesc: Word
    enable_d: Word
    shift: int
    sfa: Word | None
    sfb: Word | None
    sp_meta: Word | None
    zero_mask: Word | None
    mask: tuple[Word, ...]

    @classmethod
    def of(cls, c: Compiler, mi: MachineInstr) -> _Operands:
        """The operands of a record."""

        def word(slot: str, type_: ScalarType) -> Word | None:
            op = mi.get(slot)
            if op is None:
                return None
            return _lane_of(c.address(op) if isinstance(op, Mem) else c.get(op, type_))

        def needed(slot: str, type_: ScalarType) -> Word:
            found = word(slot, type_)
            assert found is not None, slot
            return found

        scale, mask = mi.get("scale_d"), mi.get("mask")
        return cls(
            needed("d", ScalarType.U32),
            needed("a", ScalarType.U64),
            needed("b", ScalarType.U64),
            needed("idesc", ScalarType.U32),
            needed("enable_d", ScalarType.PRED),
            scale.value if isinstance(scale, Imm) else 0,
            word("sfa", ScalarType.U32),
            word("sfb", ScalarType.U32),
            word("sp_meta", ScalarType.U32),
            word("zero_mask", ScalarType.U64),
            tuple(_lane_of(c.get(op, ScalarType.B32)) for op in mask)
            if isinstance(mask, tuple)
            else (),
        )


def _lane_of(get: Getter | Callable[[Warp], NDArray[np.int64]]) -> Word:
    return lambda warp, lane: int(get(warp)[lane])


def mma(c: Compiler, mi: MachineInstr) -> Step:
    """Issue one matrix multiply."""
    form, group = _form(mi), mi.facts().get("cta_group")
    operands = _Operands.of(c, mi)
    buffer, usage = _collector(mi)
    name, place = mi.row.head, c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        lane = one_lane(fragment, name)
        ctas = participants(warp.cta, group, name)
        shape = shape_of(operands.idesc(warp, lane), form)
        d = tensor_address(operands.d(warp, lane), "D", shape.path.lane_starts)
        held = ctas[0].tensor.collectors.claim(buffer, usage)
        operation = Multiply(
            ctas,
            shape,
            name,
            d,
            _matrix_a(operands, warp, lane, shape, d),
            shared_descriptor(operands.b(warp, lane), "B", shape),
            bool(operands.enable_d(warp, lane)),
            operands.shift,
            _extras(operands, warp, lane, shape, d, held),
        )
        thread = (warp.cta.number, warp.number, lane)
        engine = warp.cta.machine.engine
        before = tuple(
            op
            for op in engine.pending
            if isinstance(op.effect, Multiply) and operation.follows(op.effect)
        )
        before += earlier(engine, TensorOp.MMA, ctas)
        engine.issue(AsyncOp(name, thread, "mma", operation, place, before))
        return None

    return run


def _form(mi: MachineInstr) -> Form:
    facts = mi.facts()
    kind, scale_vec = facts["kind"], facts.get("scale_vec")
    assert isinstance(kind, MmaKind)
    return Form(
        kind,
        2 if facts.get("cta_group") is CtaGroup.TWO else 1,
        mi.row.id.startswith("tcgen05.mma.ws"),
        mi.get("sp_meta") is not None,
        isinstance(mi["a"], Mem),
        facts.get("ashift") is not None,
        scale_vec if isinstance(scale_vec, ScaleVec) else None,
    )


def _collector(mi: MachineInstr) -> tuple[str, Usage]:
    """The collector buffer of a record and what it does with it: by default, discard."""
    facts = mi.facts()
    found = facts.get("collector_ws") or facts.get("collector_a")
    if not isinstance(found, Modifier):
        return ("b0" if mi.row.id.startswith("tcgen05.mma.ws") else "a"), Usage.DISCARD
    _, buffer, usage = found.value.split("::")
    return buffer, Usage(usage)


def _matrix_a(
    operands: _Operands, warp: Warp, lane: int, shape: Shape, d: TensorAddress
) -> SharedMemoryDescriptor | TensorAddress:
    word = operands.a(warp, lane)
    if not shape.form.a_in_tensor:
        return shared_descriptor(word, "A", shape)
    return _beside(tensor_address(word, "A", shape.path.lane_starts), "A", d)


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


def _extras(
    operands: _Operands, warp: Warp, lane: int, shape: Shape, d: TensorAddress, held: Held | None
) -> Extras:
    scales = metadata = None
    if operands.sfa is not None and operands.sfb is not None:
        scales = (
            scale_address(operands.sfa(warp, lane), "SFA"),
            scale_address(operands.sfb(warp, lane), "SFB"),
        )
    if operands.sp_meta is not None:
        where = tensor_address(operands.sp_meta(warp, lane), "the metadata", shape.path.lane_starts)
        metadata = _beside(where, "the metadata", d)
    zeros, skipped = _zero_columns(operands, warp, lane, shape)
    return Extras(scales, metadata, _mask(operands, warp, lane), zeros, skipped, held)


def _mask(operands: _Operands, warp: Warp, lane: int) -> NDArray[np.bool_] | None:
    """The lanes of each CTA that are not written; None for none."""
    words = np.array([word(warp, lane) for word in operands.mask], "<u4")
    if not words.any():
        return None
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return bits.reshape(-1, LANES).astype(np.bool_)


_MAX_SHIFTS = (0, 8, 16, 32)


def _zero_columns(
    operands: _Operands, warp: Warp, lane: int, shape: Shape
) -> tuple[NDArray[np.bool_] | None, int]:
    """Which columns of B count as zero, and how many lie before the first.

    Raises: Fault for a shift that is too large; NotSimulatedError for one beyond what the
    instruction descriptor announces.
    """
    if operands.zero_mask is None:
        return None, 0
    i = shape.idesc
    mask = ZeroColumnMask.decode(operands.zero_mask(warp, lane))
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
