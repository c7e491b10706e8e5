"""Dotted names to rows and modifiers."""

from __future__ import annotations

import pytest

from asmprinter.ptx.reading.opcodes import Candidate, read_opcode
from intrinsics.modifiers import (
    Compare,
    CtaGroup,
    LdStNum,
    LdStShape,
    MmaKind,
    NonCoherent,
    ScalarType,
    Scope,
    Sem,
    Space,
    Vec,
)
from tests.each import each


def best(name: str) -> Candidate:
    return read_opcode(name).candidates[0]


@pytest.mark.parametrize(
    ("name", "row", "attributes"),
    [
        ("tcgen05.ld.sync.aligned.16x256b.x4.b32", "tcgen05.ld",
         {"shape": LdStShape.S16X256B, "num": LdStNum.X4, "pack": None}),
        ("tcgen05.mma.cta_group::2.kind::tf32", "tcgen05.mma",
         {"cta_group": CtaGroup.TWO, "kind": MmaKind.TF32, "ashift": None}),
        ("ld.acquire.gpu.global.v2.f32", "ld",
         {"sem": Sem.ACQUIRE, "scope": Scope.GPU, "space": Space.GLOBAL, "vec": Vec.V2,
          "type": ScalarType.F32}),
        ("ld.global.nc.b32", "ld",
         {"space": Space.GLOBAL, "nc": NonCoherent.NC, "vec": None, "type": ScalarType.B32}),
        ("setp.le.s32", "setp.int", {"cmp": Compare.LE, "combine": None, "type": ScalarType.S32}),
        ("cvt.u64.u16", "cvt.int", {"dtype": ScalarType.U64, "atype": ScalarType.U16}),
    ],
)  # fmt: skip
def test_a_name_and_what_it_says(name: str, row: str, attributes: dict[str, object]):
    found = best(name)
    assert (found.row.id, found.problems) == (row, ())
    assert {key: found.attributes[key] for key in attributes} == attributes


@pytest.mark.parametrize("name", ["tcgen05.mma.ws.sp", "tcgen05.mma.ws", "tcgen05.mma.sp"])
def test_parts_of_the_head_that_look_like_modifiers(name: str):
    assert best(f"{name}.cta_group::1.kind::f16").row.head == name


def problems(name: str) -> dict[str, str]:
    """Rule and what stood there, of the best reading."""
    return {problem.rule: problem.got for problem in best(name).problems}


@each(
    "name, rule, got",
    [
        ("tcgen05.ld.sync.aligned.32x32b.b32", "missing-modifier", ""),
        ("tcgen05.ld.aligned.32x32b.x1.b32", "missing-modifier", ""),
        ("tcgen05.ld.sync.aligned.32x32b.x1.x2.b32", "duplicate-modifier", ".x2"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.unpack::16b.b32", "unknown-modifier", ".unpack::16b"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.f32", "types", ".f32"),
        ("tcgen05.alloc.cta_group::1.sync.aligned.global.b32", "state-spaces", ".global"),
        ("tcgen05.mma.cta_group::3.kind::f16", "unknown-modifier", ".cta_group::3"),
        ("cvt.u32", "types", ".u32"),
        ("add.s32.s32", "types", ".s32 .s32"),
        ("tcgen05.cp.cta_group::1.4x256b.b6x16_p32.b8x16", "formats", ".b6x16_p32 .b8x16"),
    ],
)
def test_what_is_wrong_with_a_name(name: str, rule: str, got: str):
    assert problems(name)[rule] == got


def test_the_legal_values_are_offered():
    (problem,) = best("tcgen05.alloc.sync.aligned.b32").problems
    assert problem.expected == ".cta_group::1 or .cta_group::2"


@pytest.mark.parametrize("name", ["bra.uni.uni", "tcgen05.wait::ld.sync.sync.aligned"])
def test_what_may_stand_twice(name: str):
    """ptxas does not mind."""
    assert best(name).problems == ()


@pytest.mark.parametrize(
    "name",
    [
        "tex.2d.v4.f32.s32",
        "txq.width.b32",
    ],
)
def test_instructions_of_ptx_that_no_row_describes(name: str):
    reading = read_opcode(name)
    assert reading.known_elsewhere
    assert reading.candidates == ()


@pytest.mark.parametrize("name", ["frobnicate.u32", "tcgen06.mma", "x"])
def test_what_is_no_instruction(name: str):
    reading = read_opcode(name)
    assert not reading.known_elsewhere
    assert reading.candidates == ()


@pytest.mark.parametrize("name", ["cvt.rs.f16x2.f32", "cvt.rs.bf16x2.f32"])
def test_forms_that_nvgen_does_not_know_yet(name: str):
    """The head is known, the modifier is PTX's: foreign, not wrong."""
    assert best(name).foreign


def test_rows_of_one_head_are_offered_best_first():
    found = read_opcode("mov.b64").candidates
    assert len(found) > 1
    assert [bool(c.problems) for c in found] == sorted(bool(c.problems) for c in found)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32", "mma.f8f6f4"),
        ("m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "mma.mxf4"),
    ],
)
def test_a_kind_tells_multiplies_of_narrow_types_apart(name: str, row: str):
    found = best(f"mma.sync.aligned.{name}")
    assert (found.row.id, found.problems, found.foreign) == (row, (), "")
