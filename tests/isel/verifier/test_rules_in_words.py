"""Rules of tcgen05 in their own words, each broken by one statement, and its legal neighbours.

What breaks a rule ptxas rejects, too.  Messages are compared to the letter, "colletor" included:
scripts match on them.
"""

from __future__ import annotations

import re

from intrinsics.findings import (
    Severity,
)
from tests.each import each
from tests.isel.verifier.records import NEWEST, SCALES, _judge_in_module, mma, verdicts
from tests.oracle.ptxas import required_ptxas


def messages(statements: str, target: str = "sm_100a", ptx: str = NEWEST) -> list[str]:
    return [f.message for f in verdicts(statements, target, ptx)]


SPARSE = ", [%r5]"
BLOCK = ".block_scale"

RULES: dict[str, list[tuple[str, str]]] = {
    "INT8 type is supported only on arch-conditional variants.": [
        (mma(".cta_group::1.kind::i8"), "sm_100f"),
        (mma(".cta_group::1.kind::i8"), "sm_103a"),
    ],
    "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants.": [
        (mma(".sp.cta_group::1.kind::mxf4.block_scale", sp=SPARSE, scales=SCALES), "sm_100f"),
        (mma(".sp.cta_group::1.kind::mxf4nvf4.block_scale.block16", sp=SPARSE, scales=SCALES),
         "sm_103f"),
    ],
    "Explicit scale vector size is supported only on arch-conditional variants.": [
        (mma(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", scales=SCALES), "sm_100f"),
    ],
    "Scale input accumulator is not supported on this architecture.": [
        (mma(".cta_group::1.kind::f16", more=", 2"), "sm_110a"),
    ],
    "Scale input accumulator can only be used with f16 and tf32 types": [
        (mma(".cta_group::1.kind::f8f6f4", more=", 2"), "sm_100a"),
        (mma(".cta_group::1.kind::i8", more=", 2"), "sm_100a"),
    ],
    "Block scale is not supported for f16, tf32, f8f6f4, and i8 types": [
        (mma(".cta_group::1.kind::f16.block_scale", scales=SCALES), "sm_100a"),
        (mma(".cta_group::2.kind::f8f6f4.block_scale", scales=SCALES), "sm_103a"),
    ],
    "ashift is not supported with tcgen05.mma.block_scale variants": [
        (mma(".cta_group::1.kind::mxf4.block_scale.ashift", a="[%r6]", scales=SCALES), "sm_100a"),
    ],
    "cta_group::2 is not supported with weight stationary": [
        (mma(".ws.cta_group::2.kind::f16"), "sm_100a"),
    ],
    "Cannot use weight stationary with mxf8f6f4 and fp4 types": [
        (mma(".ws.cta_group::1.kind::mxf8f6f4"), "sm_100a"),
        (mma(".ws.sp.cta_group::1.kind::mxf4", sp=SPARSE), "sm_100a"),
    ],
    "Cannot use collector::a::use or colletor::a::fill with ashift": [
        (mma(".cta_group::1.kind::f16.ashift.collector::a::use", a="[%r6]"), "sm_100a"),
        (mma(".cta_group::2.kind::tf32.ashift.collector::a::fill", a="[%r6]"), "sm_100a"),
    ],
    "scale vector size is not legal for this input family": [
        (mma(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::2X", scales=SCALES), "sm_100a"),
        (mma(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::1X", scales=SCALES), "sm_100a"),
        (mma(".cta_group::1.kind::mxf4nvf4.block_scale", scales=SCALES), "sm_100a"),
        (mma(".cta_group::1.kind::mxf4.block_scale.scale_vec::4X", scales=SCALES), "sm_100a"),
    ],
    "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op": [
        ("tcgen05.cp.cta_group::1.64x128b [%r1], %rd1;", "sm_100a"),
        ("tcgen05.cp.cta_group::2.64x128b.warpx4 [%r1], %rd1;", "sm_103f"),
    ],
    "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op": [
        ("tcgen05.cp.cta_group::1.32x128b [%r1], %rd1;", "sm_110a"),
        ("tcgen05.cp.cta_group::1.32x128b.warpx2::02_13.b8x16.b4x16_p64 [%r1], %rd1;", "sm_100a"),
    ],
    "only shapes 64x128b and 32x128b are multicast to warps": [
        ("tcgen05.cp.cta_group::1.128x128b.warpx4 [%r1], %rd1;", "sm_100a"),
    ],
    "the formats of a decompression come together": [
        ("tcgen05.cp.cta_group::1.128x128b.b8x16 [%r1], %rd1;", "sm_100a"),
    ],
    "tcgen05.cp supported only on arch-conditional or family-conditional variants from SM100 "
    "onwards.": [
        ("tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;", "sm_120a"),
    ],
    "tcgen05.shift supported only on arch-conditional variants from SM100 onwards.": [
        ("tcgen05.shift.cta_group::1.down [%r1];", "sm_100f"),
    ],
    "tcgen05.ld.red is not supported on this architecture": [
        ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r1, %r2}, %r3, [%r4];", "sm_100a"),
    ],
    ".abs is for floating point": [
        ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.abs.u32 {%r1, %r2}, %r3, [%r4];", "sm_103a"),
    ],
    ".NaN is for floating point": [
        ("tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.NaN.s32 {%r1, %r2}, %r3, [%r4], 8;",
         "sm_110f"),
    ],
    "tcgen05.ld.spcompress is not supported on this architecture": [
        ("tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 {%r1}, "
         "{%r2, %r3}, [%r4];", "sm_107f"),
    ],
    "tcgen05.ld.red.spcompress is not supported on this architecture": [
        ("tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 "
         "{%r1}, {%r2, %r3}, %r5, [%r4];",
         "sm_103a"),
    ],
    "only f8f6f4 and mxf8f6f4 look the numbers of B up in a table": [
        (mma(".cta_group::1.kind::tf32.decompress::lut::b", sp=SPARSE), "sm_107a"),
    ],
    "ashift and decompress::lut::b exclude each other": [
        (mma(".cta_group::1.kind::f8f6f4.ashift.decompress::lut::b", a="[%r6]", sp=SPARSE),
         "sm_107f"),
    ],
    ".decompress::lut::b is not supported on sm_110a": [
        (mma(".cta_group::1.kind::f8f6f4.decompress::lut::b", sp=SPARSE), "sm_110a"),
    ],
    ".collector::b::use is not supported on sm_100a": [
        (mma(".cta_group::1.kind::f16.collector::b::use"), "sm_100a"),
    ],
    "tcgen05.mma supported only on arch-conditional or family-conditional variants from "
    "SM100 onwards.": [
        (mma(".cta_group::1.kind::f16"), "sm_100"),
    ],
    "tcgen05.wait supported only on arch-conditional or family-conditional variants from "
    "SM100 onwards.": [
        ("tcgen05.wait::ld.sync.aligned;", "sm_90a"),
    ],
    "two-CTA TMA tensor copies are not supported on this architecture": [
        ("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::1 "
         "[%rd1], [%rd2, {%r1}], [mbar];",
         "sm_90a"),
    ],
}  # fmt: skip
"""The sentence of each rule, and the statements that break it with their targets."""
LADDER = [(text, *broken) for text, of_rule in RULES.items() for broken in of_rule]


@each("text, statement, target", LADDER)
def test_each_rule_has_its_own_words(text: str, statement: str, target: str):
    """The statement breaks this one rule, and the verifier says so once, in these words."""
    assert messages(statement, target) == [text]


@each("text, statement, target", LADDER)
def test_what_the_ladder_rejects_ptxas_rejects(text: str, statement: str, target: str):
    """But for scale-input-d on kind::i8, which ptxas takes and drops without a word."""
    required_ptxas()
    _, errors, _ = _judge_in_module([statement], target)
    assert bool(errors) is (", 2;" not in statement or "kind::i8" not in statement)


LEGAL_NEIGHBOURS = [
    (mma(".cta_group::1.kind::i8"), "sm_100a"),
    (mma(".cta_group::1.kind::i8"), "sm_110a"),
    (mma(".sp.cta_group::1.kind::mxf4.block_scale", sp=SPARSE, scales=SCALES), "sm_103a"),
    (mma(".sp.cta_group::1.kind::mxf8f6f4.block_scale", sp=SPARSE, scales=SCALES), "sm_100f"),
    (mma(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", scales=SCALES), "sm_107a"),
    (mma(".cta_group::1.kind::mxf8f6f4.block_scale.block32", scales=SCALES), "sm_100f"),
    (mma(".cta_group::1.kind::tf32", more=", 15"), "sm_103f"),
    (mma(".cta_group::1.kind::f16.ashift.collector::a::lastuse", a="[%r6]"), "sm_100a"),
    (mma(".cta_group::1.kind::f16.ashift.collector::a::discard", a="[%r6]"), "sm_100a"),
    (mma(".cta_group::1.kind::mxf4.block_scale.collector::a::fill", scales=SCALES), "sm_100a"),
    (mma(".ws.cta_group::1.kind::f8f6f4.collector::b3::use"), "sm_100a"),
    (mma(".ws.cta_group::1.kind::f16", a="[%r6]"), "sm_110f"),
    (mma(".sp.cta_group::2.kind::f16", sp=SPARSE), "sm_100a"),
    (mma(".cta_group::1.kind::f16.collector::a::fill.collector::b::use"), "sm_107a"),
    (mma(".cta_group::1.kind::f8f6f4.decompress::lut::b", sp=SPARSE), "sm_107f"),
    (
        mma(
            ".cta_group::2.kind::mxf8f6f4.block_scale.decompress::lut::b", sp=SPARSE, scales=SCALES
        ),
        "sm_107a",
    ),
    ("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%r1], %rd1;", "sm_100a"),
    ("tcgen05.cp.cta_group::2.64x128b.warpx2::01_23.b8x16.b6x16_p32 [%r1], %rd1;", "sm_110f"),
    ("tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %rd1;", "sm_107f"),
    ("tcgen05.cp.cta_group::1.4x256b [%r1], %rd1;", "sm_103f"),
    ("tcgen05.shift.cta_group::2.down [%r1];", "sm_103a"),
    ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.abs.NaN.f32 {%f1, %f2}, %f3, [%r4];", "sm_103f"),
    ("tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.s32 {%r1, %r2}, %r3, [%r4], 8;", "sm_101a"),
    (
        "tcgen05.ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.abs.f32.b2 "
        "{%r1}, {%r2, %r3}, [%r4];",
        "sm_107a",
    ),
    (mma(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", scales=SCALES), "sm_100a"),
]


@each("statement, target", LEGAL_NEIGHBOURS)
def test_the_legal_neighbours_of_the_ladder(statement: str, target: str):
    """What is often said to be forbidden and the machine has (ptxas agrees) is accepted."""
    assert messages(statement, target) == []
    required_ptxas()
    assert _judge_in_module([statement], target)[1] == []


def test_a_finding_says_everything_that_helps():
    (finding,) = verdicts(mma(".cta_group::1.kind::i8"), "sm_103a")
    assert finding.rule == "tcgen05.mma/i8-target"
    assert finding.severity is Severity.ERROR
    assert finding.op == "tcgen05.mma.cta_group::1.kind::i8"
    assert "sm_103a" in finding.got
    assert set(re.findall(r"sm_\d+a", finding.expected)) == {"sm_100a", "sm_101a", "sm_110a"}
    assert "kind::f8f6f4" in finding.hint
    assert finding.section.startswith("PTX ISA, tcgen05.mma")
    assert (finding.place.line, finding.place.column, finding.place.function) == (8, 1, "k")


def test_multicast_names_the_target_it_lacks():
    """On a target without bulk copies the multicast has words of its own."""
    copy = (
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%rd1], [%rd2, {%r1}], [mbar], %rs1;"
    )
    assert messages(copy, "sm_90") == []
    assert "cluster multicast TMA requires a compatible SM target" in messages(copy, "sm_80")
