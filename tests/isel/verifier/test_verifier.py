"""The record verifier: one record, one verdict, in the words that users of other back ends know.

The illegal records below stand as PTX or MIR, each with the one thing wrong that its message is
about.  Messages are compared to the letter, "colletor" included: scripts match on them.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from llvmlite import binding

from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.catalog import Spelling, spellings
from intrinsics.findings import (
    Finding,
    InputError,
    SelectionError,
    Severity,
    VerificationError,
)
from intrinsics.mir import Module
from intrinsics.modifiers import CtaGroup
from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx, Target, parse_ptx
from isel.llvm import ir
from isel.llvm.reader import read_module
from isel.pipeline import lower
from isel.verifier.levels import verify
from isel.verifier.lowest_ptx import lowest_ptx
from isel.verifier.record import check_target, verify_records
from tests.each import each
from tests.oracle import llvm_intrinsics, mma_sync_signatures, ptxas, wmma_signatures
from tests.oracle.side_by_side import refusals
from tests.oracle.tensor_forms import IMPOSSIBLE

NEWEST = str(PTX_VERSIONS[-1])


def in_kernel(statements: str, target: str, ptx: str) -> str:
    return f"""\
.version {ptx}
.target {target}
.address_size 64
.shared .align 8 .b64 mbar;
.visible .entry k()
{{
.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
{statements}
ret;
}}
"""


def module_of(statements: str, target: str = "sm_100a", ptx: str = NEWEST) -> Module:
    """A kernel of PTX statements that the reader understands."""
    reading = read_ptx(in_kernel(statements, target, ptx), "k.ptx")
    assert reading.findings == []
    return reading.module


def verdicts(statements: str, target: str = "sm_100a", ptx: str = NEWEST) -> list[Finding]:
    """What the verifier says of PTX statements."""
    module = module_of(statements, target, ptx)
    return verify_records(module, module.target, parse_ptx(ptx))


def messages(statements: str, target: str = "sm_100a", ptx: str = NEWEST) -> list[str]:
    return [f.message for f in verdicts(statements, target, ptx)]


REPEATED = [
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r1}, [%r4];",
    "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r1, %r2}, %r2, [%r4];",
    "tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 {%r1}, {%r1, %r2}, [%r4];",
    "tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 "
    "{%r1}, {%r2, %r3}, %r3, [%r4];",
]


@pytest.mark.parametrize("statement", REPEATED)
def test_no_register_gets_two_results(statement: str):
    """ptxas refuses it too, as it generates code; the address may be one of the results."""
    assert [f.rule.partition("/")[2] for f in verdicts(statement, "sm_107a")] == [
        "repeated-register"
    ]
    _need_ptxas()
    assert "C7308" in "".join(ptxas.assemble(statement, "sm_107a", NEWEST))
    apart = re.sub(r"\{%r1, %r1\}", "{%r1, %r7}", statement)
    apart = re.sub(r"\}, %r\d,", "}, %r7,", apart).replace("{%r1}, {%r1", "{%r7}, {%r1")
    assert verdicts(apart, "sm_107a") == []
    assert verdicts(apart.replace("[%r4]", "[%r1]"), "sm_107a") == []


ELEMENTS = {"%r4": "bits", "%u5": "integer", "%s6": "integer", "%f7": "float", "%hx8": "halves",
            "1": "integer", "0f3F800000": "float"}  # fmt: skip
"""Elements of a vector, and what they are to ptxas."""


@each("pair", list(itertools.product(ELEMENTS, ELEMENTS)), ids=", ".join)
def test_elements_side_by_side_are_of_one_type(pair: tuple[str, str]):
    """Untyped bits go with all; PTX ISA, Vectors as Operands; ptxas says which others differ."""
    kinds = {ELEMENTS[element] for element in pair} - {"bits"}
    statement = f"tcgen05.st.sync.aligned.32x32b.x4.b32 [%r1], {{%r2, {pair[0]}, {pair[1]}, %r3}};"
    text = in_kernel(statement, "sm_100a", NEWEST).replace(
        ".reg .pred", ".reg .u32 %u<9>; .reg .s32 %s<9>; .reg .f16x2 %hx<9>; .reg .pred"
    )
    module = read_ptx(text, "k.ptx").module
    found = {f.rule for f in verify_records(module, module.target, parse_ptx(NEWEST))}
    assert found == ({"tcgen05.st/vector-types"} if len(kinds) > 1 else set())
    _need_ptxas()
    _, errors, _ = _assemble(text, "sm_100a")
    assert bool(errors) is (len(kinds) > 1)


WMMA = "wmma.mma{op}.sync.aligned.row.col.{shape}.{total}.{type}.{type}.{total} {d}, {a}, {b}, {d};"
FACTORS = [  # shape, type, type of the sums, registers of A and of B
    ("m8n8k32", "s4", "s32", 1, 1), ("m8n8k128", "b1", "s32", 1, 1),
    ("m8n32k16", "u8", "s32", 1, 4), ("m16n16k16", "s8", "s32", 2, 2),
    ("m16n16k8", "tf32", "f32", 4, 4),
]  # fmt: skip


@each("case", FACTORS, ids=lambda case: case[1])
@pytest.mark.parametrize("kept", ["%r", "%s", "%f", "%hx", "%r and %f"])
def test_factors_of_wmma_are_in_registers_of_their_kind(
    case: tuple[str, str, str, int, int], kept: str
):
    """A vector without a register of untyped bits has ptxas ask what its registers hold."""
    shape, type_, total, count, other = case
    first, _, rest = kept.partition(" and ")
    vector = [f"{first}1"] + [f"{rest or first}{n}" for n in range(2, count + 1)]
    sums = [f"%{'f' if total == 'f32' else 'r'}{n}" for n in range(2 if "m8n8" in shape else 8)]
    statement = WMMA.format(
        op=".xor.popc" if type_ == "b1" else "", shape=shape, total=total, type=type_,
        d=f"{{{', '.join(sums)}}}", a=f"{{{', '.join(vector)}}}",
        b=f"{{{', '.join(f'%r{n}' for n in range(other))}}}",
    )  # fmt: skip
    text = in_kernel(statement, "sm_90a", "8.0").replace(
        ".reg .pred", ".reg .s32 %s<9>; .reg .f16x2 %hx<9>; .reg .pred"
    )
    module = read_ptx(text, "k.ptx").module
    found = verify_records(module, module.target, parse_ptx("8.0"))
    assert {f.rule for f in found} <= {"wmma.mma/operands"}
    _need_ptxas()
    _, errors, _ = _assemble(text, "sm_90a")
    assert bool(found) is bool(errors), (statement, errors)


# ---- the ladder ------------------------------------------------------------------------------


def mma(modifiers: str, *, a: str = "%rd1", scales: str = "", more: str = "", sp: str = "") -> str:
    """A tcgen05.mma with these modifiers; `modifiers` begins behind the family's name."""
    return f"tcgen05.mma{modifiers} [%r1], {a}, %rd2{sp}, %r2{scales}, %p1{more};"


SCALES = ", [%r3], [%r4]"
SPARSE = ", [%r5]"
BLOCK = ".block_scale"

LADDER: list[tuple[str, str, str]] = [
    (
        "INT8 type is supported only on arch-conditional variants.",
        mma(".cta_group::1.kind::i8"),
        "sm_100f",
    ),
    (
        "INT8 type is supported only on arch-conditional variants.",
        mma(".cta_group::1.kind::i8"),
        "sm_103a",
    ),
    (
        "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants.",
        mma(".sp.cta_group::1.kind::mxf4.block_scale", sp=SPARSE, scales=SCALES),
        "sm_100f",
    ),
    (
        "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants.",
        mma(".sp.cta_group::1.kind::mxf4nvf4.block_scale.block16", sp=SPARSE, scales=SCALES),
        "sm_103f",
    ),
    (
        "Explicit scale vector size is supported only on arch-conditional variants.",
        mma(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", scales=SCALES),
        "sm_100f",
    ),
    (
        "Scale input accumulator is not supported on this architecture.",
        mma(".cta_group::1.kind::f16", more=", 2"),
        "sm_110a",
    ),
    (
        "Scale input accumulator can only be used with f16 and tf32 types",
        mma(".cta_group::1.kind::f8f6f4", more=", 2"),
        "sm_100a",
    ),
    (
        "Scale input accumulator can only be used with f16 and tf32 types",
        mma(".cta_group::1.kind::i8", more=", 2"),
        "sm_100a",
    ),
    (
        "Block scale is not supported for f16, tf32, f8f6f4, and i8 types",
        mma(".cta_group::1.kind::f16.block_scale", scales=SCALES),
        "sm_100a",
    ),
    (
        "Block scale is not supported for f16, tf32, f8f6f4, and i8 types",
        mma(".cta_group::2.kind::f8f6f4.block_scale", scales=SCALES),
        "sm_103a",
    ),
    (
        "ashift is not supported with tcgen05.mma.block_scale variants",
        mma(".cta_group::1.kind::mxf4.block_scale.ashift", a="[%r6]", scales=SCALES),
        "sm_100a",
    ),
    (
        "cta_group::2 is not supported with weight stationary",
        mma(".ws.cta_group::2.kind::f16"),
        "sm_100a",
    ),
    (
        "Cannot use weight stationary with mxf8f6f4 and fp4 types",
        mma(".ws.cta_group::1.kind::mxf8f6f4"),
        "sm_100a",
    ),
    (
        "Cannot use weight stationary with mxf8f6f4 and fp4 types",
        mma(".ws.sp.cta_group::1.kind::mxf4", sp=SPARSE),
        "sm_100a",
    ),
    (
        "Cannot use collector::a::use or colletor::a::fill with ashift",
        mma(".cta_group::1.kind::f16.ashift.collector::a::use", a="[%r6]"),
        "sm_100a",
    ),
    (
        "Cannot use collector::a::use or colletor::a::fill with ashift",
        mma(".cta_group::2.kind::tf32.ashift.collector::a::fill", a="[%r6]"),
        "sm_100a",
    ),
    (
        "scale vector size is not legal for this input family",
        mma(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::2X", scales=SCALES),
        "sm_100a",
    ),
    (
        "scale vector size is not legal for this input family",
        mma(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::1X", scales=SCALES),
        "sm_100a",
    ),
    (
        "scale vector size is not legal for this input family",
        mma(".cta_group::1.kind::mxf4nvf4.block_scale", scales=SCALES),
        "sm_100a",
    ),
    (
        "scale vector size is not legal for this input family",
        mma(".cta_group::1.kind::mxf4.block_scale.scale_vec::4X", scales=SCALES),
        "sm_100a",
    ),
    (
        "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op",
        "tcgen05.cp.cta_group::1.64x128b [%r1], %rd1;",
        "sm_100a",
    ),
    (
        "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op",
        "tcgen05.cp.cta_group::2.64x128b.warpx4 [%r1], %rd1;",
        "sm_103f",
    ),
    (
        "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op",
        "tcgen05.cp.cta_group::1.32x128b [%r1], %rd1;",
        "sm_110a",
    ),
    (
        "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op",
        "tcgen05.cp.cta_group::1.32x128b.warpx2::02_13.b8x16.b4x16_p64 [%r1], %rd1;",
        "sm_100a",
    ),
    (
        "only shapes 64x128b and 32x128b are multicast to warps",
        "tcgen05.cp.cta_group::1.128x128b.warpx4 [%r1], %rd1;",
        "sm_100a",
    ),
    (
        "the formats of a decompression come together",
        "tcgen05.cp.cta_group::1.128x128b.b8x16 [%r1], %rd1;",
        "sm_100a",
    ),
    (
        "tcgen05.cp supported only on arch-conditional or family-conditional variants from SM100 "
        "onwards.",
        "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;",
        "sm_120a",
    ),
    (
        "tcgen05.shift supported only on arch-conditional variants from SM100 onwards.",
        "tcgen05.shift.cta_group::1.down [%r1];",
        "sm_100f",
    ),
    (
        "tcgen05.ld.red is not supported on this architecture",
        "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r1, %r2}, %r3, [%r4];",
        "sm_100a",
    ),
    (
        ".abs is for floating point",
        "tcgen05.ld.red.sync.aligned.32x32b.x2.min.abs.u32 {%r1, %r2}, %r3, [%r4];",
        "sm_103a",
    ),
    (
        ".NaN is for floating point",
        "tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.NaN.s32 {%r1, %r2}, %r3, [%r4], 8;",
        "sm_110f",
    ),
    (
        "tcgen05.ld.spcompress is not supported on this architecture",
        "tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 {%r1}, {%r2, %r3}, [%r4];",
        "sm_107f",
    ),
    (
        "tcgen05.ld.red.spcompress is not supported on this architecture",
        "tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 "
        "{%r1}, {%r2, %r3}, %r5, [%r4];",
        "sm_103a",
    ),
    (
        "only f8f6f4 and mxf8f6f4 look the numbers of B up in a table",
        mma(".cta_group::1.kind::tf32.decompress::lut::b", sp=SPARSE),
        "sm_107a",
    ),
    (
        "ashift and decompress::lut::b exclude each other",
        mma(".cta_group::1.kind::f8f6f4.ashift.decompress::lut::b", a="[%r6]", sp=SPARSE),
        "sm_107f",
    ),
    (
        ".decompress::lut::b is not supported on sm_110a",
        mma(".cta_group::1.kind::f8f6f4.decompress::lut::b", sp=SPARSE),
        "sm_110a",
    ),
    (
        ".collector::b::use is not supported on sm_100a",
        mma(".cta_group::1.kind::f16.collector::b::use"),
        "sm_100a",
    ),
    (
        "tcgen05.mma supported only on arch-conditional or family-conditional variants from SM100 "
        "onwards.",
        mma(".cta_group::1.kind::f16"),
        "sm_100",
    ),
    (
        "tcgen05.wait supported only on arch-conditional or family-conditional variants from SM100 "
        "onwards.",
        "tcgen05.wait::ld.sync.aligned;",
        "sm_90a",
    ),
    (
        "two-CTA TMA tensor copies are not supported on this architecture",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::1 "
        "[%rd1], [%rd2, {%r1}], [mbar];",
        "sm_90a",
    ),
]  # fmt: skip


@each("text, statement, target", LADDER)
def test_each_rule_has_its_own_words(text: str, statement: str, target: str):
    """The statement breaks this one rule, and the verifier says so once, in these words."""
    assert messages(statement, target) == [text]


@each("text, statement, target", LADDER)
def test_what_the_ladder_rejects_ptxas_rejects(text: str, statement: str, target: str):
    """But for scale-input-d on kind::i8, which ptxas takes and drops without a word."""
    _need_ptxas()
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
    _need_ptxas()
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


# ---- versions --------------------------------------------------------------------------------


@each(
    "statement, target, first",
    [
        # PTX versions that ptxas 13.5 demands.
        ("tcgen05.wait::ld.sync.aligned;", "sm_100a", "8.6"),
        ("tcgen05.wait::ld.sync.aligned;", "sm_100f", "8.8"),
        (mma(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", scales=SCALES),
         "sm_100a", "8.7"),
        (mma(".cta_group::1.kind::mxf4.block_scale.block32", scales=SCALES), "sm_100a", "8.8"),
        (mma(".cta_group::1.kind::f16"), "sm_110a", "9.0"),
        (mma(".cta_group::1.kind::f16"), "sm_107a", "9.4"),
        ("mbarrier.try_wait.b64 %p1, [mbar], %rd1;", "sm_90", "7.8"),
        ("mbarrier.expect_tx.b64 [mbar], 8;", "sm_90", "8.0"),
        ("mbarrier.expect_tx.relaxed.cta.b64 [mbar], 8;", "sm_90", "8.0"),
        ("fence.proxy.async;", "sm_90", "8.0"),
        ("mov.u32 %r1, %cluster_ctarank;", "sm_90", "7.8"),
    ],
)  # fmt: skip
def test_the_lowest_version_is_the_one_that_the_forms_need(statement: str, target: str, first: str):
    module = module_of(statement, target)
    lowest = lowest_ptx(module, TARGETS[target])
    assert str(lowest) == first
    assert verify_records(module, TARGETS[target], lowest) == []
    below = PTX_VERSIONS[PTX_VERSIONS.index(lowest) - 1]
    assert verify_records(module, TARGETS[target], below) != []


def test_a_version_too_old_says_which_would_do():
    statement = mma(".cta_group::1.kind::mxf4.block_scale.block32", scales=SCALES)
    (finding,) = verdicts(statement, "sm_100a", "8.7")
    assert finding.rule == "tcgen05.mma/block-version"
    assert "8.8" in finding.message + finding.expected
    assert "8.8" in finding.hint


def test_a_target_that_the_version_does_not_have():
    (finding,) = check_target(TARGETS["sm_107a"], parse_ptx("9.3"))
    assert finding.rule == "target/ptx-version"
    assert "sm_107a" in finding.message
    assert "9.4" in finding.expected
    assert "sm_100a" in finding.hint
    assert check_target(TARGETS["sm_107a"], parse_ptx("9.4")) == []


# ---- packed words ----------------------------------------------------------------------------


def words(
    ctrl: int, collector: int = 0, *, opcode: str = "CTA_GROUP1_DENSE", more: str = ""
) -> str:
    """An MMA in MIR with these control and collector words."""
    return f"""\
target sm_100a
kernel @k(
  param @x : u32 size 4 align 4
) {{
bb.entry:
  TCGEN05_MMA_{opcode}
      d:         %0:b32
      a:         %1:b64
      b:         %2:b64
      idesc:     imm:136314896
      ctrl:      imm:{ctrl}
      collector: imm:{collector}
      enable_d:  imm:1
{more}  RET
}}
"""


def rules(text: str) -> list[str]:
    module = read_mir(text)
    return [f.rule for f in verify_records(module, module.target, PTX_VERSIONS[-1])]


def test_the_simplest_words_are_clean():
    """0xC1 is kind::f16 with cta_group::1, and collector word 1 is collector::a::fill."""
    module = read_mir(words(0xC1, 1))
    assert verify_records(module, module.target, PTX_VERSIONS[-1]) == []
    assert (
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill ["
        in print_ptx(module, PTX_VERSIONS[-1]).text
    )


@each("bit", range(9, 32))
def test_reserved_bits_of_the_control_word(bit: int):
    assert rules(words(0xC1 | 1 << bit)) == ["tcgen05.mma/reserved-bits"]


@each("bit", range(10, 32))
def test_reserved_bits_of_the_collector_word(bit: int):
    assert rules(words(0xC1, 1 << bit)) == ["tcgen05.mma/reserved-bits"]


@pytest.mark.parametrize("group", [0, 2, 3])
def test_a_control_word_that_contradicts_its_opcode(group: int):
    """cta_group 0 and 3 mean nothing to an MMA; 2 is another opcode."""
    assert rules(words(0xC0 | group)) == ["tcgen05.mma/word-contradicts-opcode"]


@pytest.mark.parametrize("bit", [4, 5])
def test_a_word_that_promises_operands_that_are_not_there(bit: int):
    """Bit 4 needs the scale-input-d operand, bit 5 a block-scaled opcode."""
    assert rules(words(0xC1 | 1 << bit)) == ["tcgen05.mma/word-contradicts-opcode"]


@pytest.mark.parametrize("collector", [0b10, 1 << 4, 0b1_0001, 1 << 8])
def test_collector_words_that_contradict_themselves(collector: int):
    """An operation without its valid bit, and a buffer of B in an MMA that has only A's."""
    assert rules(words(0xC1, collector)) == ["tcgen05.mma/collector-word"]


@pytest.mark.parametrize("code", [1, 2, 3])
def test_a_weight_stationary_word_has_no_scale_vector(code: int):
    """kind::f16 with cta_group::1, and a size of scale vectors in bits 2 and 3."""
    found = rules(words(0xC1 | code << 2, 0x17, opcode="WS_DENSE"))
    assert found == ["tcgen05.mma.ws/scale-vec-ws"]
    assert rules(words(0xC1, 0x17, opcode="WS_DENSE")) == []


@pytest.mark.parametrize("number", [-1, 2, 193])
def test_a_literal_enable_d_is_a_truth_value(number: int):
    text = words(0xC1).replace("enable_d:  imm:1", f"enable_d:  imm:{number}")
    assert rules(text) == ["tcgen05.mma/enable-d-number"]


@pytest.mark.parametrize("word", ["ctrl", "collector"])
def test_a_packed_word_in_a_register_is_refused_by_the_reader(word: str):
    """It becomes modifiers of the instruction, which no register can choose."""
    text = re.sub(rf"{word}:( +)imm:\d+", rf"{word}:\1%9:b32", words(0xC1))
    with pytest.raises(InputError) as caught:
        read_mir(text)
    (found,) = caught.value.findings
    assert f"{word} is a packed word" in found.message
    assert found.place.line == 6


SCALED = words(
    0xE1 & ~0xC0 | 0x80, opcode="CTA_GROUP1_BLOCK_SCALED_DENSE",
    more="      sfa: [%5:b32]\n      sfb: [%6:b32]\n      scale_spelling: %7:b32\n",
)  # fmt: skip


def test_the_spelling_of_a_scale_in_a_register_is_refused_by_the_reader():
    with pytest.raises(InputError, match="scale_spelling is a packed word"):
        read_mir(SCALED)
    assert rules(SCALED.replace("%7:b32", "imm:32")) == []


@pytest.mark.parametrize("word", ["ctrl", "collector"])
def test_a_record_made_with_a_packed_word_in_a_register_is_an_error(word: str):
    """Never one that is read as if the word were 0: neither judged nor printed so."""
    module = read_mir(words(0xC1))
    mi = next(iter(module.function("k").instructions()))
    at = mi.form.index[word]
    mi.ops = (*mi.ops[:at], 0, *mi.ops[at + 1 :])
    newest = PTX_VERSIONS[-1]
    for level in ("record", "all"):
        (found,) = verify(module, module.target, newest, level)
        assert (found.rule, found.subject) == ("tcgen05.mma/packed-word", word)
    with pytest.raises(VerificationError, match=f"{word} is packed into the instruction"):
        print_ptx(module, newest)


def test_operands_in_the_same_braces_come_and_go_together():
    """`{, [sfa], [sfb]}`: a record with one scale and not the other is no instruction."""
    opcode, ctrl = "CTA_GROUP1_BLOCK_SCALED_DENSE", 0xA1  # kind::mxf8f6f4, block_scale
    both = "      scale_spelling: imm:0\n      sfa: %3:b32\n      sfb: %4:b32\n"
    assert rules(words(ctrl, opcode=opcode, more=both)) == []
    for one in ("sfa: %3:b32", "sfb: %4:b32"):
        assert rules(words(ctrl, opcode=opcode, more=both.replace(f"      {one}\n", ""))) != []


# ---- operands --------------------------------------------------------------------------------


def alloc(columns: int) -> str:
    return f"tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd1], {columns};"


@each(
    "statement, rule",
    [
        (alloc(48), "tcgen05.alloc/immediate-range"),
        (alloc(16), "tcgen05.alloc/immediate-range"),
        (alloc(1024), "tcgen05.alloc/immediate-range"),
        (mma(".cta_group::1.kind::f16", more=", 16"), "tcgen05.mma/immediate-range"),
        ("mbarrier.init.b64 [mbar], 0;", "mbarrier.init/immediate-range"),
        ("mbarrier.init.b64 [mbar], 1048576;", "mbarrier.init/immediate-range"),
        ("bar.sync 16;", "bar.sync/immediate-range"),
        ("bar.sync 0, 33;", "bar.sync/immediate-range"),
        ("createpolicy.fractional.L2::evict_first.b64 %rd1, 1.5;",
         "createpolicy.fractional/immediate-range"),
        ("createpolicy.range.L2::evict_first.b64 %rd1, [%rd2], 256, 128;",
         "createpolicy.range/immediate-range"),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2, %r3}, [%r4];",
         "tcgen05.ld/vector-size"),
        ("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r4];", "tcgen05.ld/shape-num"),
        ("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%r4];", "tcgen05.ld/half-split"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r4], 8;", "tcgen05.ld/half-split"),
        ("add.s32 %r1, %r2, %f1;", "add/operands"),
        ("add.s32 %r1, %r2, %rd1;", "add/operands"),
        ("mov.u64 %rd1, %laneid;", "mov/special-register"),
        ("ld.global.b32 %r1, [mbar];", "ld/state-space"),
        (mma(".cta_group::1.kind::f16", a="[%rd1]"), "tcgen05.mma/operands"),
    ],
)  # fmt: skip
def test_operands_that_do_not_fit(statement: str, rule: str):
    assert rule in {f.rule for f in verdicts(statement)}
    _need_ptxas()
    assert _judge_in_module([statement], "sm_100a")[1] != []


@each("statement, text", [
    ("tcgen05.ld.sync.aligned.16x128b.x4.b32 {%r1, %r2}, [%r4];", "and .16x128b.x4 takes 8"),
    ("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%rd1, {%r1}];", "coords has 1 element, "),
    ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%rd1, {%r1, %r2}];",
     "coords has 2 elements, and .tile::gather4 takes 5"),
])  # fmt: skip
def test_a_vector_of_the_wrong_length_says_which_modifiers_decide(statement: str, text: str):
    """A tensor copy's rank says how many coordinates it has."""
    (found,) = [f for f in verdicts(statement) if f.rule.endswith("/vector-size")]
    assert text in found.message
    assert found.got != found.expected
    assert ("TMA rank must be in the range 1..5" in found.hint) == ("coords" in text)


def test_each_record_is_judged_alone_and_at_its_place():
    findings = verdicts("bar.sync 16;\nbar.sync 1;\nadd.s32 %r1, %r2, %rd1; bar.sync 17;")
    assert [(f.place.line, f.place.column, f.rule) for f in findings] == [
        (8, 1, "bar.sync/immediate-range"),
        (10, 1, "add/operands"),
        (10, 25, "bar.sync/immediate-range"),
    ]


# ---- closure: a gate of the verifier is a gate of the whole way ------------------------------


IMMEDIATES = {
    "setmaxnreg.inc.sync.aligned.u32": "64",
    "setmaxnreg.dec.sync.aligned.u32": "64",
    "pm.event.mask": "5",
}
"""Intrinsics whose one operand is a number to LLVM's verifier, which has a range for it."""


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of an intrinsic, with the codes of the immediates that encode qualifiers."""

    spelling: Spelling
    codes: tuple[tuple[str, int], ...]

    @functools.cached_property
    def attributes(self) -> dict[str, object]:
        """What the name and the immediates say."""
        found: dict[str, object] = dict(self.spelling.attributes)
        for qualifier, code in self.codes:
            found[qualifier] = self.spelling.pattern.codes[qualifier][code]
        return found

    @functools.cached_property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Types and values.

        A pattern lists `type:operand`, `type#qualifier` (`/4` and `%4` are parts of one code), and
        `type?operand`; `i32*` is one argument for each dimension.
        """
        if self.spelling.name.startswith("mma."):
            known = mma_sync_signatures.signature(self.spelling.name)
            given = [(type_, _MMA_VALUES.get(type_, "zeroinitializer")) for type_ in known.args]
            if known.selector is not None:
                given[known.selector] = ("i32", "0")
            return tuple(given)
        if self.spelling.name.startswith("wmma."):
            taken = wmma_signatures.signature(self.spelling.name).arguments
            return tuple((type_, self._wmma_value(type_)) for type_ in taken)
        parts = [part.strip() for part in self.spelling.pattern.args.split(",") if part.strip()]
        return tuple(argument for part in parts for argument in self._arguments(part))

    @staticmethod
    def _wmma_value(type_: str) -> str:
        pointer = re.fullmatch(r"ptr addrspace\((\d)\)", type_)
        return (
            f"%p{pointer[1].strip('0')}" if pointer else _MMA_VALUES.get(type_, "zeroinitializer")
        )

    def text(self) -> str:
        shown = ", ".join(f"{type_} {value}" for type_, value in self.arguments)
        assign = "" if self.result == "void" else "%result = "
        return f"{assign}call {self.result} @llvm.nvvm.{self.spelling.name}({shown})"

    def declaration(self) -> str:
        types = ", ".join(type_ for type_, _ in self.arguments)
        return f"declare {self.result} @llvm.nvvm.{self.spelling.name}({types})"

    def _arguments(self, part: str) -> Iterator[tuple[str, str]]:
        match = re.fullmatch(r"([\w*]+)([:#?])(\w+)(?:([/%])(\d+))?", part)
        assert match is not None, part
        type_, sign, name, scale, by = match.groups()
        if sign == "#":
            code = dict(self.codes)[name]
            number = code // int(by) if scale == "/" else code % int(by) if scale else code
            yield type_, ("false", "true")[number] if type_ == "i1" else str(number)
        elif sign == "?":
            yield type_, "true"
        elif self.spelling.name.startswith("wgmma.mma_async") and name in _WGMMA_NUMBERS:
            yield type_, _WGMMA_NUMBERS[name]
        elif type_.startswith("n*") and "bulk.tensor" in self.spelling.name:
            yield from [(type_[2:], "0")] * self._coordinates(name)
        elif type_.startswith("n*"):
            value = {"i64": "%l", "i32": "%i", "float": "%f"}.get(type_[2:], "0.0")
            yield from [(type_[2:], value)] * self._registers(name)
        elif self.spelling.name in IMMEDIATES:
            yield type_, IMMEDIATES[self.spelling.name]
        elif name in ("half_split", "scale_d", "n") and type_ != "i1":
            yield type_, "2"
        elif name in ("ord", "code"):  # of a field of a tensor map
            yield type_, "1"
        elif name == "size":  # bytes of a tensor map
            yield type_, "128"
        elif name == "initval":  # of st.bulk, which stores zeros alone
            yield type_, "0"
        elif type_.startswith("v"):
            yield ("i32", "%i") if self._registers(name) == 1 else (
                f"<{self._registers(name)} x {type_[2:]}>", "zeroinitializer",
            )  # fmt: skip
        elif type_.startswith("p"):
            yield f"ptr addrspace({type_[1:] or 0})", f"%p{type_[1:]}"
        else:
            names = {"i1": "%c", "i16": "%h", "i32": "%i", "i64": "%l", "float": "%f"}
            yield type_, names.get(type_, "zeroinitializer")

    def _coordinates(self, name: str) -> int:
        """How many coordinates or offsets a tensor copy has; one where there is no such rank."""
        if "gather4" in self.spelling.name or "scatter4" in self.spelling.name:
            return 5
        wide = ".im2col.w" in self.spelling.name and name == "offsets"
        rank = int(self.attributes["dim"].value[0])  # type: ignore[attr-defined]
        return 2 if wide else max(rank if name == "coords" else rank - 2, 1)

    def _registers(self, name: str) -> int:
        """The length of a vector; PTX ISA, Tables 47 and 48, and tcgen05.mma's lane mask.

        A compressing load keeps two numbers of four, and has 2 bits for the place of each.  A
        warpgroup holds 64 x N numbers of D, two of f16 in a register.
        """
        if shape := re.match(
            r"wgmma\.mma_async\.(?:sp\.)?m64n(\d+)k\d+\.(\w+)", self.spelling.name
        ):
            return 4 if name == "a" else int(shape[1]) // (4 if shape[2] == "f16" else 2)
        if move := re.match(
            r"(?:ld|st)matrix\.sync\.aligned\.m(\d+)n(\d+)\.x(\d)", self.spelling.name
        ):
            return int(move[3]) * (2 if move[1] == move[2] == "16" else 1)
        if stored := re.fullmatch(
            r"(?:st\.async|multimem)\.(?:\w+\.)*?(?:v(\d)\.)?[a-z]+\d\w*", self.spelling.name
        ):
            return int(stored[1] or 1)
        if name == "mask":
            return 8 if self.attributes["cta_group"] is CtaGroup.TWO else 4
        if name in ("cdata", "mdata"):
            times = int(self.attributes["num"].value[1:])  # type: ignore[attr-defined]
            return times // 2 if name == "cdata" else max(times // 32, 1)
        each = {"16x128b": 2, "16x256b": 4}.get(self.attributes["shape"].value, 1)  # type: ignore[attr-defined]
        return each * int(self.attributes["num"].value[1:])  # type: ignore[attr-defined]

    @functools.cached_property
    def result(self) -> str:
        if self.spelling.name.startswith("mma."):
            return mma_sync_signatures.signature(self.spelling.name).result
        if self.spelling.name.startswith("wmma."):
            return wmma_signatures.signature(self.spelling.name).result
        text = self.spelling.pattern.result
        if not text:
            return "void"
        if text.startswith("{"):
            return "{ " + ", ".join(map(self._result, text[1:-1].split(", "))) + " }"
        return self._result(text)

    def _result(self, text: str) -> str:
        type_, _, name = text.partition(":")
        if type_.startswith("p"):
            return f"ptr addrspace({type_[1:] or 0})"
        if not type_.startswith(("v*", "n*")):
            return type_
        count = self._registers(name)
        if type_.startswith("n*") and count > 1:
            return "{ " + ", ".join([type_[2:]] * count) + " }"
        return type_[2:] if count == 1 else f"<{count} x {type_[2:]}>"


_MMA_VALUES = {"float": "%f", "i32": "%i", "i16": "%h", "double": "0.0"}

_WGMMA_NUMBERS = {"scale_a": "1", "scale_b": "-1", "trans_a": "0", "trans_b": "1", "sp_sel": "0"}
"""Operands that must be numbers, as the manual has them."""

AT_MOST = 6
"""Choices of the immediates of one intrinsic, evenly out of all of them."""


@functools.cache
def asked() -> dict[str, Spelling]:
    """Every intrinsic that selects to a row; of wgmma's shapes, which differ in N, the two ends.

    All of these are selected and printed in tests/oracle/test_wgmma_names.py.
    """
    return {
        name: spelling
        for name, spelling in spellings().items()
        if not (shape := re.match(r"wgmma\.mma_async\.(?:sp\.)?m64n(\d+)k", name))
        or shape[1] in ("8", "256")
    }


def calls() -> Iterator[Call]:
    """The intrinsics, each with some of its immediates."""
    for spelling in asked().values():
        qualifiers = [n for n in spelling.pattern.codes if f"#{n}" in spelling.pattern.args]
        tables = [spelling.pattern.codes[qualifier] for qualifier in qualifiers]
        choices = list(itertools.product(*tables))
        for choice in choices[:: max(1, len(choices) // AT_MOST)]:
            yield Call(spelling, tuple(zip(qualifiers, choice, strict=True)))


MADE = {
    "%c": "icmp eq i32 %i, 0",
    "%p4": "addrspacecast ptr %p to ptr addrspace(4)",
    "%p5": "addrspacecast ptr %p to ptr addrspace(5)",
    "%p7": "addrspacecast ptr addrspace(3) %p3 to ptr addrspace(7)",
    "%p101": "addrspacecast ptr %p to ptr addrspace(101)",
}
"""What the calls use besides parameters."""

PARAMETERS = {
    "%h": "i16", "%i": "i32", "%l": "i64", "%f": "float", "%p": "ptr", "%p1": "ptr addrspace(1)",
    "%p3": "ptr addrspace(3)", "%p6": "ptr addrspace(6)",
}  # fmt: skip


def body_of(call: Call) -> str:
    """A kernel's parameters and body: a pointer, what the call uses, and the call."""
    used = {"%p", *re.findall(r"%\w+", call.text())}
    made = [f"{name} = {text}" for name, text in MADE.items() if name in used]
    used |= {name for text in made for name in re.findall(r"%\w+", text)}
    parameters = ", ".join(f"{kind} {name}" for name, kind in PARAMETERS.items() if name in used)
    lines = "".join(f"  {line}\n" for line in (*made, call.text(), "ret void"))
    return f"({parameters}) {{\n{lines}}}"


def text_of(found: Sequence[Call]) -> str:
    """One kernel for each call."""
    kernels = [f"define ptx_kernel void @k{n}{body_of(call)}" for n, call in enumerate(found)]
    return "\n".join([*sorted({call.declaration() for call in found}), *kernels])


@functools.cache
def everything(simplest: bool = False) -> tuple[tuple[Call, ...], ir.Module]:
    """The calls, and a kernel for each; LLVM's verifier, which rejects some, is not asked.

    Of the `simplest` there is one for each intrinsic.
    """
    found = tuple(first_calls() if simplest else calls())
    context = binding.create_context()
    with binding.parse_assembly(text_of(found), context=context) as module:
        text = str(module)
    return found, read_module(text)


def first_calls() -> list[Call]:
    """Each intrinsic with the first of its immediates."""
    return [next(iter(same)) for _, same in itertools.groupby(calls(), lambda c: c.spelling)]


def test_llvm_knows_every_spelling_and_its_signature():
    """LLVM gives the intrinsics that it knows their attributes, and verifies their types.

    It knows all but nvgen's own names for forms that it lacks.
    """
    simplest = first_calls()
    assert len(simplest) == len(asked())
    with binding.parse_assembly(text_of(simplest), context=binding.create_context()) as module:
        module.verify()
        text = str(module)
    declared = [line for line in text.splitlines() if line.startswith("declare ")]
    assert len(declared) == len(asked())
    unknown = [line for line in declared if not re.search(r"#\d+$", line)]
    names = {re.search(r"@llvm\.nvvm\.([\w.]+)\(", line)[1] for line in unknown}
    lacking = (
        *("tcgen05.", "wgmma.mma_async.", "mma.", "cp.async.", "st.async.", "red.async."),
        *("movmatrix.", "tensormap.cp_fenceproxy.", "createpolicy.", "multimem."),
    )
    some_lack = {name for name in asked() if name.startswith(lacking)}
    assert names == some_lack - set(llvm_intrinsics.all_names())


def without(module: ir.Module, names: set[str]) -> ir.Module:
    kept = {name: f for name, f in module.functions.items() if name not in names}
    return dataclasses.replace(module, functions=kept)


def emitted(module: ir.Module, target: Target, ptx: Ptx) -> tuple[set[str], set[str], Module]:
    """What selection rejects, what the verifier rejects, and the rest as machine code."""
    refused: set[str] = set()
    try:
        selected = lower(module, target, ptx)
    except SelectionError as error:
        refused = {f.place.function for f in error.findings}
        selected = lower(without(module, refused), target, ptx)
    findings = verify_records(selected, target, ptx, hints=False)
    wrong = {f.place.function for f in findings if f.severity is Severity.ERROR}
    selected.functions = [f for f in selected.functions if f.name not in wrong]
    return refused, wrong, selected


CLOSURE = [
    *((name, NEWEST) for name in ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_103f", "sm_110f")),
    ("sm_80", "7.0"), ("sm_90", "7.8"), ("sm_90a", "8.0"),
    *(("sm_100a", version) for version in ("8.6", "8.7", "8.8", "9.0", NEWEST)),
    ("sm_107a", NEWEST), ("sm_120a", NEWEST),
]  # fmt: skip
"""Targets, and versions of PTX in which they have more and more."""


@each("target, version", CLOSURE, turns=28)
def test_no_form_that_the_target_lacks_is_emitted(target: str, version: str):
    """Selection, then the verifier, reject it; whatever gets through, ptxas takes."""
    found, module = everything()
    ptx = parse_ptx(version)
    refused, wrong, rest = emitted(module, TARGETS[target], ptx)
    assert not refused & wrong
    assert len(refused) + len(wrong) + len(rest.functions) == len(found)
    _need_ptxas()
    printed = print_ptx(rest, ptx)
    status, errors, log = _assemble(printed.text, target)
    shown = [(printed.text.split("\n")[line - 1], text) for line, text in errors]
    assert (status, shown) == (0, []), log


@pytest.mark.turns(6)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100"])
def test_a_target_without_tensor_memory_selects_nothing_of_tcgen05(target: str):
    found, module = everything(simplest=True)
    refused, wrong, _ = emitted(module, TARGETS[target], PTX_VERSIONS[-1])
    of_tcgen05 = {
        f"k{n}" for n, call in enumerate(found) if call.spelling.name.startswith("tcgen05.")
    }
    assert of_tcgen05 <= refused
    assert not of_tcgen05 & wrong


@pytest.mark.turns(3)
def test_every_spelling_is_emitted_somewhere():
    """An intrinsic that no target takes would be a row nobody can use."""
    found, module = everything(simplest=True)
    names: set[str] = set()
    for target in ("sm_107a", "sm_120a", "sm_100a", "sm_90a", "sm_90"):
        done = {f"k{n}" for n, call in enumerate(found) if call.spelling.name in names}
        _, _, rest = emitted(without(module, done), TARGETS[target], PTX_VERSIONS[-1])
        names |= {found[int(f.name[1:])].spelling.name for f in rest.functions}
    assert names == {name for name in asked() if not re.fullmatch(IMPOSSIBLE, name)}


# ---- ptxas -----------------------------------------------------------------------------------


def _need_ptxas() -> None:
    try:
        ptxas.find_ptxas()
    except ptxas.PtxasMissingError as missing:
        pytest.skip(str(missing))


def _judge_in_module(statements: list[str], target: str) -> tuple[int, list[tuple[int, str]], str]:
    return _assemble(in_kernel("\n".join(statements), target, NEWEST), target)


def _assemble(text: str, target: str) -> tuple[int, list[tuple[int, str]], str]:
    """ptxas's exit status, its errors by line, and its whole log; no code is generated."""
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        command = [ptxas.find_ptxas(), f"-arch={ptxas.arch_of(target)}", "m.ptx"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    log = done.stdout + done.stderr
    errors = re.findall(r"m\.ptx, line (\d+); (?:error|fatal)\s*: (.*)", log)
    return done.returncode, [(int(line), text) for line, text in errors], log


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;", "8.7"),
        ("@%p1 cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f1, %f2}, %r2;", "8.7"),
        ("cvt.pack.sat.u16.s32 %r1, %r2, %r2;", "8.6"),
    ],
)
def test_statements_that_are_kept_have_the_version_that_they_need(statement: str, first: str):
    """Random bits for rounding are PTX 8.7's; ptxas takes the module with that version only."""
    body = f".reg .pred %p<2>;\n.reg .b32 %r<3>;\n.reg .f32 %f<3>;\n{statement}\nret;"
    text = f".version 8.8\n.target sm_100a\n.address_size 64\n.entry k() {{\n{body}\n}}\n"
    module = read_ptx(text).module
    assert str(lowest_ptx(module, TARGETS["sm_100a"])) == first
    found = refusals({"k": text.replace("8.8", first)}, "sm_100a")
    assert not found
    if first != "8.6":
        assert refusals({"k": text.replace("8.8", "8.6")}, "sm_100a")
