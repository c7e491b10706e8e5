"""The names of tcgen05.mma in LLVM IR: LLVM 22's, and those of forms that LLVM 22 does not have.

The latter follow LLVM's scheme, a word for each modifier; they are

    .ti16              behind the place of A, instead of the number of the kind
    .scale_vec_1x      behind .block_scale, as .block16 and .block32; so are _2x and _4x
    .decompress_lut_b  with the address of the table behind enable-input-d, as sparse metadata
    .collector_b       last, with the number of b's operation behind the number of a's

PTX ISA, tcgen05.mma; LLVM, User Guide for NVPTX Back-end.
"""

from __future__ import annotations

import itertools

from intrinsics.modifiers import (
    AShift,
    BlockScale,
    CollectorA,
    CollectorB,
    CollectorWs,
    CtaGroup,
    Decompress,
    MmaKind,
    ScaleVec,
)
from intrinsics.row import Attribute, Code, Llvm, Residency
from intrinsics.rows.tcgen05 import CG

_LLVM_KIND: Code = {0: MmaKind.F16, 1: MmaKind.TF32, 2: MmaKind.F8F6F4, 3: MmaKind.I8}
_OPS = ("discard", "lastuse", "fill", "use")
"""What a collector does, in the order of LLVM's numbers."""

_CODES: dict[str, Code] = {
    "kind": _LLVM_KIND,
    "collector_a": {n: CollectorA(f"collector::a::{op}") for n, op in enumerate(_OPS)},
    "collector_b": {n: CollectorB(f"collector::b::{op}") for n, op in enumerate(_OPS)},
    "cta_group": {1: CtaGroup.ONE, 2: CtaGroup.TWO},
}
EVERY_CODE = _CODES
"""LLVM's numbers, by what they say; not every intrinsic takes all of them."""

_RESIDENCIES = (("shared", "i64:a", Residency.SHARED), ("tensor", "p6:a", Residency.TENSOR))
_WS_CODES: dict[str, Code] = {
    "kind": _LLVM_KIND,
    "collector_ws": {
        buffer << 2 | op: CollectorWs(f"collector::b{buffer}::{name}")
        for buffer in range(4)
        for op, name in enumerate(_OPS)
    },
}
_KIND_NAMES = ((None, "", "i32#kind, "), (MmaKind.TI16, ".ti16", ""))
"""Kinds with a name of their own, the name, and the argument for the others."""

_COLLECTORS = (("", "i32#collector_a"), (".collector_b", "i32#collector_a, i32#collector_b"))
_TABLE = ", p6:lut"
_SHIFTED = (CollectorA.DISCARD, CollectorA.LASTUSE)


def _plain_codes(*, scaled: bool, shifted: bool) -> dict[str, Code]:
    """LLVM's verifier takes f16 and tf32 only beside scale_d, discard and lastuse beside ashift."""
    kinds = {code: kind for code, kind in _LLVM_KIND.items() if code < 2 or not scaled}
    ops = {n: op for n, op in _CODES["collector_a"].items() if op in _SHIFTED or not shifted}
    return {**_CODES, "kind": kinds, "collector_a": ops}


def plain_spellings(sparse: bool) -> list[Llvm]:
    """`tcgen05.mma[.sp].{shared,tensor}[.scale_d][.disable_output_lane.cgN][.ashift]`, and ours."""
    head, meta = ("tcgen05.mma.sp", ", p6:sp_meta") if sparse else ("tcgen05.mma", "")
    found = []
    for (name, a, residency), kind, collector, scaled, shifted in itertools.product(
        _RESIDENCIES, _KIND_NAMES, _COLLECTORS, (False, True), (False, True)
    ):
        if (shifted and residency is Residency.SHARED) or (scaled and kind[0] is not None):
            continue
        given: dict[str, Attribute] = {"a": residency, "ashift": AShift.ASHIFT if shifted else None}
        if kind[0] is not None:
            given["kind"] = kind[0]
        scale = ", i64:scale_d" if scaled else ""
        found += _with_lanes(
            f"{head}.{name}{kind[1]}{'.scale_d' * scaled}",
            ("." + AShift.ASHIFT.value) * shifted + collector[0],
            f"p6:d, {a}, i64:b, i32:idesc, i1:enable_d{meta}{scale}",
            (kind[2], collector[1]),
            given,
            _plain_codes(scaled=scaled, shifted=shifted),
        )
    return found if sparse else found + _decompressing_spellings()


def _with_lanes(
    name: str,
    tail: str,
    args: str,
    numbers: tuple[str, str],
    given: dict[str, Attribute],
    codes: dict[str, Code],
) -> list[Llvm]:
    """A multiply of all lanes, and one with a mask: then the name says the CTA group."""
    kind, collectors = numbers
    own = not kind or tail.endswith(_COLLECTORS[1][0])
    lanes = f"{name}.disable_output_lane.{{cta_group}}{tail}"
    whole = f"{args}, {kind}i32#cta_group, {collectors}"
    masked = f"{args}, v*i32:mask, {kind}{collectors}"
    return [
        Llvm(name + tail, whole, given=given, codes=codes, own=own),
        Llvm(lanes, masked, given=given, holes=CG, codes=codes, own=own),
    ]


def _decompressing_spellings() -> list[Llvm]:
    """`tcgen05.mma.{shared,tensor}.f8f6f4.decompress_lut_b[.disable_output_lane.cgN]`."""
    return [
        spelling
        for (name, a, residency), (collector, numbers) in itertools.product(
            _RESIDENCIES, _COLLECTORS
        )
        for spelling in _with_lanes(
            f"tcgen05.mma.{name}.f8f6f4.decompress_lut_b",
            collector,
            f"p6:d, {a}, i64:b, i32:idesc, i1:enable_d{_TABLE}",
            ("", numbers),
            {"a": residency, "kind": MmaKind.F8F6F4, "decompress": Decompress.LUT_B},
            _CODES,
        )
    ]


_SCALE_NAMES: tuple[tuple[MmaKind, ScaleVec | None, str], ...] = (
    (MmaKind.MXF8F6F4, None, ""),
    (MmaKind.MXF8F6F4, ScaleVec.BLOCK32, ".block32"),
    (MmaKind.MXF4, None, ""),
    (MmaKind.MXF4, ScaleVec.BLOCK32, ".block32"),
    (MmaKind.MXF4NVF4, ScaleVec.BLOCK16, ".block16"),
    (MmaKind.MXF4NVF4, ScaleVec.BLOCK32, ".block32"),
    (MmaKind.MXF8F6F4, ScaleVec.X1, ".scale_vec_1x"),
    (MmaKind.MXF4, ScaleVec.X2, ".scale_vec_2x"),
    (MmaKind.MXF4NVF4, ScaleVec.X2, ".scale_vec_2x"),
    (MmaKind.MXF4NVF4, ScaleVec.X4, ".scale_vec_4x"),
)

_OWN_SIZES = (ScaleVec.X1, ScaleVec.X2, ScaleVec.X4)


def scaled_spellings(sparse: bool) -> list[Llvm]:
    """`tcgen05.mma[.sp].{shared,tensor}.<kind>.block_scale[.blockN]`, and ours."""
    head, meta = ("tcgen05.mma.sp", ", p6:sp_meta") if sparse else ("tcgen05.mma", "")
    found = []
    for (name, a, residency), (kind, size, text), (tail, numbers), table in itertools.product(
        _RESIDENCIES, _SCALE_NAMES, _COLLECTORS, (False, True)
    ):
        if table and (sparse or kind is not MmaKind.MXF8F6F4):
            continue
        given: dict[str, Attribute] = {
            "a": residency,
            "kind": kind,
            "scale_vec": size,
            "block_scale": BlockScale.BLOCK_SCALE,
        }
        if table:
            given["decompress"] = Decompress.LUT_B
        found.append(
            Llvm(
                f"{head}.{name}.{kind.name.lower()}.block_scale{text}"
                + ".decompress_lut_b" * table
                + tail,
                f"p6:d, {a}, i64:b, i32:idesc, i1:enable_d{_TABLE if table else meta}, "
                f"p6:sfa, p6:sfb, i32#cta_group, {numbers}",
                given=given,
                codes=_CODES,
                own=table or bool(tail) or size in _OWN_SIZES,
            )
        )
    return found


def stationary_spellings(sparse: bool) -> list[Llvm]:
    """`tcgen05.mma.ws[.sp].{shared,tensor}[.zero_col_mask]`; two numbers give the collector."""
    head, meta = ("tcgen05.mma.ws.sp", ", p6:sp_meta") if sparse else ("tcgen05.mma.ws", "")
    return [
        Llvm(
            f"{head}.{name}{kind[1]}{tail}",
            f"p6:d, {a}, i64:b, i32:idesc, i1:enable_d{meta}{zero}, {kind[2]}"
            "i32#collector_ws/4, i32#collector_ws%4",
            given={"a": residency, "cta_group": CtaGroup.ONE}
            | ({} if kind[0] is None else {"kind": kind[0]}),
            codes=_WS_CODES,
            own=kind[0] is not None,
        )
        for name, a, residency in _RESIDENCIES
        for kind in _KIND_NAMES
        for tail, zero in (("", ""), (".zero_col_mask", ", i64:zero_mask"))
    ]
