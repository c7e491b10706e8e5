"""Operands of one record: which types, vectors and numbers fit, and what is said where none do."""

from __future__ import annotations

import itertools
import re

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.targets import parse_ptx
from isel.verifier.record import verify_records
from tests.each import each
from tests.isel.verifier.records import (
    NEWEST,
    _judge_in_module,
    assemble,
    in_kernel,
    mma,
    verdicts,
)
from tests.oracle import ptxas
from tests.oracle.ptxas import required_ptxas

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
    required_ptxas()
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
    required_ptxas()
    _, errors, _ = assemble(text, "sm_100a")
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
    required_ptxas()
    _, errors, _ = assemble(text, "sm_90a")
    assert bool(found) is bool(errors), (statement, errors)


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
    required_ptxas()
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
