"""Tile multiplies from text: what is printed is read back, and what is no multiply is told."""

from __future__ import annotations

import pytest

from asmprinter.tile_reader import read_tiles
from asmprinter.tile_words import has_tiles
from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.multiplies.mma_atom import AtomError, parse_atom
from intrinsics.multiplies.tile_dot import pick_dot
from intrinsics.multiplies.tile_multiply import Names, Tile, TileMultiply

E = ElementType
MULTIPLIES = {
    "plain": TileMultiply(Tile(64, 16, E.BF16), Tile(16, 128, E.BF16), Tile(64, 128, E.F32)),
    "fast": TileMultiply(
        Tile(64, 16, E.F16), Tile(16, 128, E.BF16), Tile(64, 128, E.F32), "nnan, contract",
        Names("x", "y", "z", "w"),
    ),
    "integers": TileMultiply(Tile(128, 32, E.S8), Tile(32, 64, E.U8), Tile(128, 64, E.S32)),
}  # fmt: skip


@pytest.mark.parametrize("name", MULTIPLIES)
def test_both_forms_are_read_back(name: str):
    multiply = MULTIPLIES[name]
    dot = pick_dot(multiply)
    found = read_tiles(f"// two\n{multiply}\n\n{dot}\n", "k.tile")
    assert [read.op for read in found] == [multiply, dot]
    assert found[0].place.line == 2
    assert found[0].place.file == "k.tile"


DOCUMENTED = """\
%a_tile : !cuda_tile.tile<64x16xbf16>
%b_tile : !cuda_tile.tile<16x128xbf16>   // from shared memory

%d = cuda_tile.mmaf %a_tile, %b_tile, %acc { fastmath = "contract" }
   : !cuda_tile.tile<64x16xbf16>, !cuda_tile.tile<16x128xbf16>, !cuda_tile.tile<64x128xf32>
"""


def test_operands_that_are_declared_are_of_their_types():
    (found,) = read_tiles(DOCUMENTED)
    assert found.op.fastmath == "contract"
    with pytest.raises(InputError, match="%b_tile is of another type"):
        read_tiles(DOCUMENTED.replace(": !cuda_tile.tile<16x128x", ": !cuda_tile.tile<16x64x", 1))


def test_a_text_without_a_multiply():
    assert has_tiles(DOCUMENTED)
    assert not has_tiles("define void @k() {\n  ret void\n}\n")
    assert read_tiles("") == []


LOWERED = """\
// the allocation, hoisted to where the function begins
%tmem_d = nv_tileas.alloc_tmem { num_columns = 128 : i32 } : !nv_tileas.tmem<64x128xf32>
%tok = nv_tileas.umma %tmem_d, %a_desc, %b_desc { kind = #nvvm.tcgen05_mma_kind<f16> }
     -> !nv_tileas.async_token
nv_tileas.dealloc_tmem %tmem_d : !nv_tileas.tmem<64x128xf32>
"""


def test_a_multiply_that_was_taken_apart_is_told_to_be():
    assert has_tiles(LOWERED)
    with pytest.raises(InputError) as told:
        read_tiles(LOWERED, "k.mlir")
    (found,) = told.value.findings
    assert (found.rule, found.place.line, found.got) == (
        "tile/lowered", 2, "nv_tileas.alloc_tmem",
    )  # fmt: skip
    assert "nv_tileaa.dot" in found.expected


def test_a_multiply_is_read_beside_what_became_of_it():
    (found,) = read_tiles(f"{DOCUMENTED}\n{LOWERED}")
    assert found.op.fastmath == "contract"


def test_llvm_ir_may_speak_of_the_other_forms():
    assert not has_tiles("; lowered from nv_tileas.umma\ndefine void @k() {\n  ret void\n}\n")


def test_element_types_have_two_names():
    text = DOCUMENTED.replace("bf16", "f8E4M3FN")
    (found,) = read_tiles(text)
    assert found.op.a.element is E.E4M3


BROKEN = {
    "%b_tile, %acc {": ("%b_tile {", "not understood"),
    "xf32>": ("xf33>", "no element type"),
    "64x128xf32": ("128xf32", "two dimensions"),
    '"contract"': ("contract", "an attribute that"),
    "fastmath": ("quickmath", "an attribute that"),
}


@pytest.mark.parametrize("old", BROKEN)
def test_what_is_no_multiply(old: str):
    new, told = BROKEN[old]
    with pytest.raises(InputError, match=told) as caught:
        read_tiles(DOCUMENTED.replace(old, new), "k.tile")
    (finding,) = caught.value.findings
    assert finding.rule == "tile/syntax"
    assert finding.place.line == 4
    assert finding.expected


DOT = str(pick_dot(MULTIPLIES["plain"]))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("-> tensor<64x128xf32>", "-> tensor<64x64xf32>", "another type than C"),
        ("-> tensor<64x128xf32>", "", "another type than C"),
        ("input_precision", "precision", "an attribute that nv_tileaa.dot does not have"),
        (',\n           input_precision = "bf16"', "", "has no attribute input_precision"),
    ],
)
def test_the_second_form_has_a_result_an_atom_and_a_precision(old: str, new: str, told: str):
    assert old in DOT
    with pytest.raises(InputError, match=told):
        read_tiles(DOT.replace(old, new))


def test_numbers_of_any_length_are_answered():
    with pytest.raises(InputError, match="two dimensions"):
        read_tiles(DOCUMENTED.replace("64x128xf32", f"{'9' * 5000}x128xf32"))
    with pytest.raises(AtomError, match="names no MMA atom"):
        parse_atom(f"sm100_umma_m{'9' * 5000}n128k16_f32_bf16_bf16")
