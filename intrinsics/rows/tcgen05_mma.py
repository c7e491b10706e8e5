"""tcgen05.mma: the four heads, ten opcodes, and the control-word ladder.

PTX ISA, TensorCore 5th Generation Matrix Multiply and accumulate Operations.

A record keeps kind, scale vector, ashift and collectors in packed words (`intrinsics.words`); its
opcode spells the CTA group, block scaling, sparsity and weight-stationarity.  The ladder's
messages are those that back-end verifiers print, to the letter; each rule says where ptxas
disagrees.
"""

from __future__ import annotations

from intrinsics.modifiers import (
    AShift,
    BlockScale,
    CollectorA,
    CollectorB,
    CollectorWs,
    CtaGroup,
    MmaKind,
    ScalarType,
    ScaleVec,
)
from intrinsics.row import (
    By,
    Code,
    Completion,
    Effect,
    Effects,
    Llvm,
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
from intrinsics.rows.tcgen05 import ARCH_CONDITIONAL, CG, SM_107, TCGEN05, conditional
from intrinsics.targets import Feature, named, since, with_feature
from intrinsics.words import MmaWords

SCALED = (MmaKind.MXF8F6F4, MmaKind.MXF4, MmaKind.MXF4NVF4)
PLAIN = tuple(kind for kind in MmaKind if kind not in SCALED)
FP4 = (MmaKind.MXF4, MmaKind.MXF4NVF4)


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
_SINGLE = when(scale_vec=(ScaleVec.X1, ScaleVec.X2, ScaleVec.X4))
_BLOCK = when(scale_vec=(ScaleVec.BLOCK16, ScaleVec.BLOCK32))
_USE_OR_FILL = (CollectorA.USE, CollectorA.FILL)

# fmt: off
_KINDS: tuple[Rule, ...] = (
    when(kind=MmaKind.I8).needs(
        "i8-target", since("8.6", named("100a 101a 110a")),
        "INT8 type is supported only on arch-conditional variants.",
        "kind::i8 exists on these three only; kind::f8f6f4 runs on every tcgen05 target"),
    when(kind=MmaKind.TI16).needs("ti16-target", SM_107),
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
        kind=SCALED),
    when(kind=SCALED).must(
        "block-scale-required", ".block_scale and its scale operands are required for this kind",
        block_scale=BlockScale.BLOCK_SCALE),
    when(scale_vec=tuple(ScaleVec)).must(
        "scale-vec-block-scale", "a scale vector size needs .block_scale",
        block_scale=BlockScale.BLOCK_SCALE),
    when(kind=MmaKind.MXF8F6F4).must(
        "mxf8f6f4-scale-vec", _SCALE_SIZE, scale_vec=absent_or(ScaleVec.X1, ScaleVec.BLOCK32)),
    when(kind=MmaKind.MXF4NVF4).must(
        "mxf4nvf4-scale-vec", _SCALE_SIZE,
        scale_vec=(ScaleVec.X2, ScaleVec.X4, ScaleVec.BLOCK16, ScaleVec.BLOCK32)),
    when(kind=MmaKind.MXF4).must(
        "mxf4-scale-vec", _SCALE_SIZE, scale_vec=absent_or(ScaleVec.X2, ScaleVec.BLOCK32)),
)

_ACCUMULATOR: tuple[Rule, ...] = (
    when(scale_d=True).needs(
        "scale-d-target", since("8.6", with_feature(Feature.HAS_SCALE_INPUT_ACCUMULATOR)),
        "Scale input accumulator is not supported on this architecture.",
        "scale D in the epilogue instead"),
    when(scale_d=True, kind=tuple(k for k in PLAIN if k is not MmaKind.I8)).must(
        "scale-d-kind", "Scale input accumulator can only be used with f16 and tf32 types",
        kind=(MmaKind.F16, MmaKind.TF32, MmaKind.TI16)),
    when(scale_d=True, kind=SCALED).must(
        "scale-d-kind", "Scale input accumulator can only be used with f16 and tf32 types",
        kind=(MmaKind.F16, MmaKind.TF32)),
    when(scale_d=True, kind=MmaKind.I8).is_wrong(
        "scale-d-i8", "Scale input accumulator can only be used with f16 and tf32 types",
        "ptxas takes the operand and drops it without a word", ptxas_accepts=True),
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
    when(collector_b=tuple(CollectorB)).needs("collector-b-target", SM_107),
)

_LANES: tuple[Rule, ...] = (
    when(mask=True).must(
        "lane-mask-block-scale", "a lane mask has no place in a block-scaled MMA",
        block_scale=None),
)

_SPARSE: tuple[Rule, ...] = (
    when(kind=FP4).needs(
        "sparse-fp4-target", since("8.6", ARCH_CONDITIONAL),
        "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants."),
    when(scale_d=True, kind=MmaKind.TI16).must(
        "scale-d-mask", "a sparse kind::ti16 takes a lane mask or a scale for D, not both",
        mask=False),
)

_STATIONARY: tuple[Rule, ...] = (
    when(cta_group=CtaGroup.TWO).is_wrong(
        "ws-cta-group", "cta_group::2 is not supported with weight stationary"),
    when(kind=SCALED).is_wrong(
        "ws-kind", "Cannot use weight stationary with mxf8f6f4 and fp4 types"),
)
# fmt: on

# ---- operands --------------------------------------------------------------------------------

_IDESC = value("idesc", ScalarType.U32, symbols=False)
_B = value("b", ScalarType.U64)
_ENABLE_D = predicate("enable_d", number_too=True)
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
_SP_META = tensor_address("sp_meta", untyped=True)
_SFA = tensor_address("sfa", untyped=True)
_SFB = tensor_address("sfb", untyped=True)
_ZERO_MASK = value("zero_mask", ScalarType.U64, Numbers(marker=1 << 39))
"""A literal without the descriptor's nonzero-mask bit is no mask: ptxas takes a scale for D so."""

_EFFECTS = Effects(
    Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.ASYNC_PROXY, completion=Completion.COMMIT
)

# ---- LLVM's intrinsics -----------------------------------------------------------------------

_LLVM_KIND: Code = {0: MmaKind.F16, 1: MmaKind.TF32, 2: MmaKind.F8F6F4, 3: MmaKind.I8}
_LLVM_OP: Code = {
    0: CollectorA.DISCARD,
    1: CollectorA.LASTUSE,
    2: CollectorA.FILL,
    3: CollectorA.USE,
}
_CODES: dict[str, Code] = {
    "kind": _LLVM_KIND,
    "collector_a": _LLVM_OP,
    "cta_group": {1: CtaGroup.ONE, 2: CtaGroup.TWO},
}
_RESIDENCIES = (("shared", "i64:a", Residency.SHARED), ("tensor", "p6:a", Residency.TENSOR))
_WS_CODES: dict[str, Code] = {
    "kind": _LLVM_KIND,
    "collector_ws": {
        buffer << 2 | op: CollectorWs(f"collector::b{buffer}::{name}")
        for buffer in range(4)
        for op, name in enumerate(("discard", "lastuse", "fill", "use"))
    },
}


def _plain_codes(*, scaled: bool, shifted: bool) -> dict[str, Code]:
    """LLVM's verifier takes f16 and tf32 only beside scale_d, discard and lastuse beside ashift."""
    kinds = {code: kind for code, kind in _LLVM_KIND.items() if code < 2 or not scaled}
    ops = {code: op for code, op in _LLVM_OP.items() if code < 2 or not shifted}
    return {**_CODES, "kind": kinds, "collector_a": ops}


def _plain_spellings(sparse: bool) -> list[Llvm]:
    """`tcgen05.mma[.sp].{shared,tensor}[.scale_d][.disable_output_lane.cgN][.ashift]`."""
    head, meta = ("tcgen05.mma.sp", ", p6:sp_meta") if sparse else ("tcgen05.mma", "")
    found = []
    for name, a, residency in _RESIDENCIES:
        shifts = (None, AShift.ASHIFT) if residency is Residency.TENSOR else (None,)
        for scale, scale_arg in (("", ""), (".scale_d", ", i64:scale_d")):
            args = f"p6:d, {a}, i64:b, i32:idesc, i1:enable_d{meta}{scale_arg}"
            for shift in shifts:
                codes = _plain_codes(scaled=bool(scale), shifted=shift is not None)
                given = {"a": residency, "ashift": shift}
                tail = ".ashift" if shift else ""
                found.append(
                    Llvm(
                        f"{head}.{name}{scale}{tail}",
                        f"{args}, i32#kind, i32#cta_group, i32#collector_a",
                        given=given,
                        codes=codes,
                    )
                )
                found.append(
                    Llvm(
                        f"{head}.{name}{scale}.disable_output_lane.{{cta_group}}{tail}",
                        f"{args}, v*i32:mask, i32#kind, i32#collector_a",
                        given=given,
                        holes=CG,
                        codes=codes,
                    )
                )
    return found


_SCALE_NAMES = (
    ("mxf8f6f4.block_scale", MmaKind.MXF8F6F4, None),
    ("mxf8f6f4.block_scale.block32", MmaKind.MXF8F6F4, ScaleVec.BLOCK32),
    ("mxf4.block_scale", MmaKind.MXF4, None),
    ("mxf4.block_scale.block32", MmaKind.MXF4, ScaleVec.BLOCK32),
    ("mxf4nvf4.block_scale.block16", MmaKind.MXF4NVF4, ScaleVec.BLOCK16),
    ("mxf4nvf4.block_scale.block32", MmaKind.MXF4NVF4, ScaleVec.BLOCK32),
)


def _scaled_spellings(sparse: bool) -> list[Llvm]:
    """`tcgen05.mma[.sp].{shared,tensor}.<kind>.block_scale[.blockN]`."""
    head, meta = ("tcgen05.mma.sp", ", p6:sp_meta") if sparse else ("tcgen05.mma", "")
    return [
        Llvm(
            f"{head}.{name}.{scaled}",
            f"p6:d, {a}, i64:b, i32:idesc, i1:enable_d{meta}, p6:sfa, p6:sfb, "
            "i32#cta_group, i32#collector_a",
            given={
                "a": residency,
                "kind": kind,
                "scale_vec": size,
                "block_scale": BlockScale.BLOCK_SCALE,
            },
            codes=_CODES,
        )
        for name, a, residency in _RESIDENCIES
        for scaled, kind, size in _SCALE_NAMES
    ]


def _stationary_spellings(sparse: bool) -> list[Llvm]:
    """`tcgen05.mma.ws[.sp].{shared,tensor}[.zero_col_mask]`; two numbers give the collector."""
    head, meta = ("tcgen05.mma.ws.sp", ", p6:sp_meta") if sparse else ("tcgen05.mma.ws", "")
    return [
        Llvm(
            f"{head}.{name}{tail}",
            f"p6:d, {a}, i64:b, i32:idesc, i1:enable_d{meta}{zero}, i32#kind, "
            "i32#collector_ws/4, i32#collector_ws%4",
            given={"a": residency, "cta_group": CtaGroup.ONE},
            codes=_WS_CODES,
        )
        for name, a, residency in _RESIDENCIES
        for tail, zero in (("", ""), (".zero_col_mask", ", i64:zero_mask"))
    ]


# ---- the rows --------------------------------------------------------------------------------

_AXES = {
    "cta_group": CtaGroup,
    "kind": MmaKind,
    "block_scale": BlockScale,
    "scale_vec": ScaleVec,
    "ashift": AShift,
    "collector_a": CollectorA,
    "collector_b": CollectorB,
}
_WS_AXES = {"cta_group": CtaGroup, "kind": MmaKind, "collector_ws": CollectorWs}
_MODIFIERS = ".cta_group.kind{.block_scale}{.scale_vec}{.ashift}{.collector_a}{.collector_b}"


_ELSEWHERE = ("decompress::lut::b",)


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
    "tcgen05.mma", _MODIFIERS,
    "[d], a, b, idesc {, [sfa], [sfb]} {, mask}, enable_d {, scale_d}",
    axes=_AXES, operands=_operands(_SFA, _SFB, _MASK, _SCALE_D),
    section="tcgen05.mma",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_SCALES, *_ACCUMULATOR, *_COLLECTOR, *_LANES),
    tied={"block_scale": "sfa"},
    effects=_EFFECTS,
    llvm=(*_plain_spellings(sparse=False), *_scaled_spellings(sparse=False)),
    words=MmaWords(), opcode="TCGEN05_MMA_*_DENSE", numbers=_numbers("CTA", "_DENSE"),
    slots="d a b idesc sfa sfb mask ctrl collector scale_spelling enable_d scale_d",
    late={"sp": "tcgen05.mma.sp"}, elsewhere=_ELSEWHERE,
    unsimulated=("block_scale", "ashift", "collector_b", "mask"),
)

MMA_SP = Row(
    "tcgen05.mma.sp", _MODIFIERS,
    "[d], a, b, [sp_meta], idesc {, [sfa], [sfb]} {, mask}, enable_d {, scale_d}",
    axes=_AXES, operands=_operands(_SP_META, _SFA, _SFB, _MASK, _SCALE_D),
    section="tcgen05.mma.sp",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_SPARSE, *_SCALES, *_ACCUMULATOR, *_COLLECTOR, *_LANES),
    tied={"block_scale": "sfa"},
    effects=_EFFECTS,
    llvm=(*_plain_spellings(sparse=True), *_scaled_spellings(sparse=True)),
    words=MmaWords(), opcode="TCGEN05_MMA_*_SPARSE", numbers=_numbers("CTA", "_SPARSE"),
    slots="d a b sp_meta idesc sfa sfb mask ctrl collector scale_spelling enable_d scale_d",
    simulated=False,
)

MMA_WS = Row(
    "tcgen05.mma.ws", ".cta_group.kind{.collector_ws}",
    "[d], a, b, idesc, enable_d {, zero_mask}",
    axes=_WS_AXES, operands=_operands(_ZERO_MASK),
    section="tcgen05.mma.ws",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_STATIONARY),
    effects=_EFFECTS,
    llvm=tuple(_stationary_spellings(sparse=False)),
    words=MmaWords(weight_stationary=True), opcode="TCGEN05_MMA_WS_DENSE",
    numbers=_numbers("WS", "_DENSE"),
    slots="d a b idesc ctrl collector enable_d zero_mask",
    late={"sp": "tcgen05.mma.ws.sp"}, simulated=False,
)

MMA_WS_SP = Row(
    "tcgen05.mma.ws.sp", ".cta_group.kind{.collector_ws}",
    "[d], a, b, [sp_meta], idesc, enable_d {, zero_mask}",
    axes=_WS_AXES, operands=_operands(_SP_META, _ZERO_MASK),
    section="tcgen05.mma.ws.sp",
    needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    rules=(*_KINDS, *_STATIONARY),
    effects=_EFFECTS,
    llvm=tuple(_stationary_spellings(sparse=True)),
    words=MmaWords(weight_stationary=True), opcode="TCGEN05_MMA_WS_SPARSE",
    numbers=_numbers("WS", "_SPARSE"),
    slots="d a b sp_meta idesc ctrl collector enable_d zero_mask",
    simulated=False,
)
# fmt: on

ROWS = (MMA, MMA_SP, MMA_WS, MMA_WS_SP)
