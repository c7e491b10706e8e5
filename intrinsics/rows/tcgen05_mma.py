"""tcgen05.mma: the four heads, ten opcodes, and the control-word ladder.

PTX ISA, TensorCore 5th Generation Matrix Multiply and accumulate Operations.

A record keeps kind, scale vector, ashift and collectors in packed words (`descriptors.words`); its
opcode spells the CTA group, block scaling, sparsity and weight-stationarity.  The ladder's
messages are those that back-end verifiers print, to the letter; each rule says where ptxas
disagrees.
"""

from __future__ import annotations

from intrinsics.descriptors.packed_fields import MmaFields
from intrinsics.modifiers import (
    FP4_KINDS,
    SCALED_KINDS,
    AShift,
    BlockScale,
    CollectorA,
    CollectorB,
    CollectorWs,
    CtaGroup,
    Decompress,
    MmaKind,
    ScalarType,
    ScaleVec,
)
from intrinsics.row import (
    By,
    Completion,
    Effect,
    Effects,
    Numbers,
    Operand,
    Residency,
    Row,
    Rule,
    VectorNumbers,
    absent_or,
    matrix,
    number,
    per,
    predicate,
    tensor_address,
    value,
    vector,
    when,
)
from intrinsics.rows.tcgen05 import ARCH_CONDITIONAL, EXTENDED, TCGEN05, conditional
from intrinsics.rows.tcgen05_mma_names import (
    plain_spellings,
    scaled_spellings,
    stationary_spellings,
)
from intrinsics.targets import Feature, since

OPCODE_NUMBERS = {
    "TCGEN05_MMA_CTA_GROUP1_BLOCK_SCALED_DENSE": 10521,
    "TCGEN05_MMA_CTA_GROUP1_DENSE": 10522,
    "TCGEN05_MMA_CTA_GROUP1_SPARSE": 10523,
    "TCGEN05_MMA_CTA_GROUP1_BLOCK_SCALED_SPARSE": 10524,
    "TCGEN05_MMA_CTA_GROUP2_BLOCK_SCALED_DENSE": 10525,
    "TCGEN05_MMA_CTA_GROUP2_DENSE": 10526,
    "TCGEN05_MMA_CTA_GROUP2_SPARSE": 10527,
    "TCGEN05_MMA_CTA_GROUP2_BLOCK_SCALED_SPARSE": 10528,
    "TCGEN05_MMA_WS_DENSE": 10529,
    "TCGEN05_MMA_WS_SPARSE": 10530,
}

# ---- the ladder ------------------------------------------------------------------------------

_SCALE_SIZE = "scale vector size is not legal for this input family"
_SCALING = "tcgen05, Valid combinations of scale_vectorsize with types and MMA-Kind"
_SINGLE = when(scale_vec=(ScaleVec.X1, ScaleVec.X2, ScaleVec.X4))
_BLOCK = when(scale_vec=(ScaleVec.BLOCK16, ScaleVec.BLOCK32))
_USE_OR_FILL = (CollectorA.USE, CollectorA.FILL)

# fmt: off
_KINDS: tuple[Rule, ...] = (
    when(kind=MmaKind.I8).needs(
        "i8-target", since("8.6", Feature.HAS_TCGEN05_I8),
        "INT8 type is supported only on arch-conditional variants.",
        "kind::i8 exists on these three only; kind::f8f6f4 runs on every tcgen05 target"),
    when(kind=MmaKind.TI16).needs("ti16-target", EXTENDED),
)

_SCALES: tuple[Rule, ...] = (
    when(kind=MmaKind.MXF4NVF4).needs("mxf4nvf4-version", since("8.7")),
    _SINGLE.needs(
        "scale-vec-target", since("8.6", ARCH_CONDITIONAL),
        "Explicit scale vector size is supported only on arch-conditional variants.",
        "leave the size out, or write .block32 or .block16 (PTX 8.8)"),
    _BLOCK.needs("block-version", since("8.8")),
    when(block_scale=BlockScale.BLOCK_SCALE).must(
        "block-scale-kind", "Block scale is not supported for f16, tf32, f8f6f4, and i8 types",
        section="tcgen05, Block Scaling", kind=SCALED_KINDS),
    when(kind=SCALED_KINDS).must(
        "block-scale-required", ".block_scale and its scale operands are required for this kind",
        section="tcgen05, Block Scaling",
        block_scale=BlockScale.BLOCK_SCALE),
    when(scale_vec=tuple(ScaleVec)).must(
        "scale-vec-block-scale", "a scale vector size needs .block_scale",
        block_scale=BlockScale.BLOCK_SCALE),
    when(kind=MmaKind.MXF8F6F4).must(
        "mxf8f6f4-scale-vec", _SCALE_SIZE, section=_SCALING,
        scale_vec=absent_or(ScaleVec.X1, ScaleVec.BLOCK32)),
    when(kind=MmaKind.MXF4NVF4).must(
        "mxf4nvf4-scale-vec", _SCALE_SIZE, section=_SCALING,
        scale_vec=(ScaleVec.X2, ScaleVec.X4, ScaleVec.BLOCK16, ScaleVec.BLOCK32)),
    when(kind=MmaKind.MXF4).must(
        "mxf4-scale-vec", _SCALE_SIZE, section=_SCALING,
        scale_vec=absent_or(ScaleVec.X2, ScaleVec.BLOCK32)),
)

_ACCUMULATOR: tuple[Rule, ...] = (
    when(scale_d=True).needs(
        "scale-d-target", since("8.6", Feature.HAS_SCALE_INPUT_ACCUMULATOR),
        "Scale input accumulator is not supported on this architecture.",
        "scale D in the epilogue instead"),
    when(scale_d=True, kind=(MmaKind.F8F6F4, *SCALED_KINDS)).must(
        "scale-d-kind", "Scale input accumulator can only be used with f16 and tf32 types",
        kind=(MmaKind.F16, MmaKind.TF32)),
    when(scale_d=True, kind=MmaKind.I8).is_wrong(
        "scale-d-i8", "Scale input accumulator can only be used with f16 and tf32 types",
        "ptxas takes the operand and drops it without a word", ptxas_accepts=True),
    when(scale_d=True, kind=MmaKind.TI16).is_wrong(
        "scale-d-ti16", "Scale input accumulator can only be used with f16 and tf32 types",
        "ptxas takes the operand, and then has no code for it", ptxas_accepts=True),
)

_COLLECTOR: tuple[Rule, ...] = (
    when(ashift=AShift.ASHIFT).must(
        "ashift-block-scale", "ashift is not supported with tcgen05.mma.block_scale variants",
        block_scale=None),
    when(ashift=AShift.ASHIFT).must(
        "ashift-residency", "ashift shifts rows of A in tensor memory", a=Residency.TENSOR),
    when(ashift=AShift.ASHIFT).must(
        "ashift-collector", "Cannot use collector::a::use or colletor::a::fill with ashift",
        collector_a=absent_or(CollectorA.LASTUSE, CollectorA.DISCARD)),
    when(collector_b=tuple(CollectorB)).needs("collector-b-target", EXTENDED),
)

_DECOMPRESS: tuple[Rule, ...] = (
    when(decompress=Decompress.LUT_B).needs("decompress-target", EXTENDED),
    when(decompress=Decompress.LUT_B).must(
        "decompress-kind", "only f8f6f4 and mxf8f6f4 look the numbers of B up in a table",
        kind=(MmaKind.F8F6F4, MmaKind.MXF8F6F4)),
    when(decompress=Decompress.LUT_B).must(
        "decompress-ashift", "ashift and decompress::lut::b exclude each other", ashift=None),
)

_LANES: tuple[Rule, ...] = (
    when(mask=True).must(
        "lane-mask-block-scale", "a lane mask has no place in a block-scaled MMA",
        block_scale=None),
)

_SPARSE: tuple[Rule, ...] = (
    when(kind=FP4_KINDS).needs(
        "sparse-fp4-target", since("8.6", ARCH_CONDITIONAL),
        "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants."),
)

_STATIONARY: tuple[Rule, ...] = (
    when(cta_group=CtaGroup.TWO).is_wrong(
        "ws-cta-group", "cta_group::2 is not supported with weight stationary"),
    when(kind=SCALED_KINDS).is_wrong(
        "ws-kind", "Cannot use weight stationary with mxf8f6f4 and fp4 types"),
)
# fmt: on

# ---- operands --------------------------------------------------------------------------------

_IDESC = value("idesc", ScalarType.U32, symbols=False)
_B = value("b", ScalarType.U64)
_ENABLE_D = predicate(
    "enable_d", Numbers(0, 1, rule="enable-d-number", ptxas_accepts=True), number_too=True
)
"""A literal that is no truth value may be a word of another place: ptxas takes any for true."""

_SCALE_D = number(
    "scale_d",
    By("kind", {MmaKind.I8: Numbers(), MmaKind.TI16: Numbers()}, Numbers(0, 15)),
)
_MASK = vector(
    "mask",
    ScalarType.B32,
    per(cta_group={CtaGroup.ONE: 4, CtaGroup.TWO: 8}),
    numbers=VectorNumbers.SOME,
)
_D = tensor_address("d", untyped=True)
_LUT = tensor_address("lut", untyped=True)
_SP_META = tensor_address("sp_meta", untyped=True)
_SFA = tensor_address("sfa", untyped=True)
_SFB = tensor_address("sfb", untyped=True)
_ZERO_MASK = value(
    "zero_mask",
    ScalarType.U64,
    Numbers(marker=1 << 39, rule="zero-mask-number", ptxas_accepts=True),
)
"""A literal without the descriptor's nonzero-mask bit is no mask: ptxas takes a scale for D so."""

_EFFECTS = Effects(
    Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.ASYNC_PROXY, completion=Completion.COMMIT
)

# ---- the rows --------------------------------------------------------------------------------

_QUALIFIERS = {
    "cta_group": CtaGroup,
    "kind": MmaKind,
    "block_scale": BlockScale,
    "scale_vec": ScaleVec,
    "ashift": AShift,
    "collector_a": CollectorA,
    "collector_b": CollectorB,
}
_WS_QUALIFIERS = {"cta_group": CtaGroup, "kind": MmaKind, "collector_ws": CollectorWs}
_MODIFIERS = ".cta_group.kind{.block_scale}{.scale_vec}{.ashift}{.collector_a}{.collector_b}"


def _operands(*more: Operand) -> tuple[Operand, ...]:
    return (_D, matrix("a"), _B, _IDESC, _ENABLE_D, *more)


def _numbers(begin: str, end: str) -> dict[str, int]:
    return {
        name: number
        for name, number in OPCODE_NUMBERS.items()
        if name.startswith(f"TCGEN05_MMA_{begin}") and name.endswith(end)
    }


# fmt: off
MMA = Row(
    "tcgen05.mma",
    ".cta_group.kind{.block_scale}{.scale_vec}{.ashift}{.decompress}{.collector_a}{.collector_b}",
    "[d], a, b {, [lut]}, idesc {, [sfa], [sfb]} {, mask}, enable_d {, scale_d}",
    qualifiers={**_QUALIFIERS, "decompress": Decompress},
    operands=_operands(_LUT, _SFA, _SFB, _MASK, _SCALE_D),
    section="tcgen05.mma",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_SCALES, *_ACCUMULATOR, *_COLLECTOR, *_DECOMPRESS, *_LANES),
    tied={"block_scale": "sfa", "decompress": "lut"},
    effects=_EFFECTS,
    llvm=(*plain_spellings(sparse=False), *scaled_spellings(sparse=False)),
    packed_fields=MmaFields(), opcode="TCGEN05_MMA_*_DENSE", numbers=_numbers("CTA", "_DENSE"),
    slots="d a b lut idesc sfa sfb mask ctrl collector scale_spelling enable_d scale_d",
    late={"sp": "tcgen05.mma.sp"},
    unsimulated=("decompress", "collector_b"),
)

MMA_SP = Row(
    "tcgen05.mma.sp", _MODIFIERS,
    "[d], a, b, [sp_meta], idesc {, [sfa], [sfb]} {, mask}, enable_d {, scale_d}",
    qualifiers=_QUALIFIERS, operands=_operands(_SP_META, _SFA, _SFB, _MASK, _SCALE_D),
    section="tcgen05.mma.sp",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_SPARSE, *_SCALES, *_ACCUMULATOR, *_COLLECTOR, *_LANES),
    tied={"block_scale": "sfa"},
    effects=_EFFECTS,
    llvm=(*plain_spellings(sparse=True), *scaled_spellings(sparse=True)),
    packed_fields=MmaFields(), opcode="TCGEN05_MMA_*_SPARSE", numbers=_numbers("CTA", "_SPARSE"),
    slots="d a b sp_meta idesc sfa sfb mask ctrl collector scale_spelling enable_d scale_d",
    unsimulated=("ashift", "collector_b"),
)

MMA_WS = Row(
    "tcgen05.mma.ws", ".cta_group.kind{.collector_ws}",
    "[d], a, b, idesc, enable_d {, zero_mask}",
    qualifiers=_WS_QUALIFIERS, operands=_operands(_ZERO_MASK),
    section="tcgen05.mma.ws",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_STATIONARY),
    effects=_EFFECTS,
    llvm=tuple(stationary_spellings(sparse=False)),
    packed_fields=MmaFields(weight_stationary=True), opcode="TCGEN05_MMA_WS_DENSE",
    numbers=_numbers("WS", "_DENSE"),
    slots="d a b idesc ctrl collector enable_d zero_mask",
    late={"sp": "tcgen05.mma.ws.sp"},
)

MMA_WS_SP = Row(
    "tcgen05.mma.ws.sp", ".cta_group.kind{.collector_ws}",
    "[d], a, b, [sp_meta], idesc, enable_d {, zero_mask}",
    qualifiers=_WS_QUALIFIERS, operands=_operands(_SP_META, _ZERO_MASK),
    section="tcgen05.mma.ws.sp",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_STATIONARY),
    effects=_EFFECTS,
    llvm=tuple(stationary_spellings(sparse=True)),
    packed_fields=MmaFields(weight_stationary=True), opcode="TCGEN05_MMA_WS_SPARSE",
    numbers=_numbers("WS", "_SPARSE"),
    slots="d a b sp_meta idesc ctrl collector enable_d zero_mask",
)
# fmt: on

ROWS = (MMA, MMA_SP, MMA_WS, MMA_WS_SP)
