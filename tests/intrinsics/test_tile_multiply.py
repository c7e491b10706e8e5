"""The first two forms of an MMA: how they read, what is wrong with them, which atom they get.

The texts that are compared to the letter are those that tile compilers print; shapes and types are
those of the manual's Table 39.
"""

from __future__ import annotations

import pytest

from intrinsics.element import ElementType
from intrinsics.multiplies.mma_atom import AtomError, parse_atom
from intrinsics.multiplies.tile_dot import TileDot, dot_of, multiply_of, pick_dot, tile_of
from intrinsics.multiplies.tile_multiply import Tile, TileMultiply
from intrinsics.row import Problem

E = ElementType
PLAIN = TileMultiply(
    Tile(64, 16, E.BF16), Tile(16, 128, E.BF16), Tile(64, 128, E.F32), fastmath="contract"
)
DOT = pick_dot(PLAIN)

STAGE_1 = """\
%acc_out = cuda_tile.mmaf %a_tile, %b_tile, %acc_in
         { fastmath = "contract" }
         : !cuda_tile.tile<64x16xbf16>,
           !cuda_tile.tile<16x128xbf16>,
           !cuda_tile.tile<64x128xf32>"""

STAGE_2 = """\
%acc_out = nv_tileaa.dot %a_tile, %b_tile, %acc_in
         { atom            = #cute.mma_atom<sm100_umma_m64n128k16_f32_bf16_bf16>,
           input_precision = "bf16",
           fastmath        = "contract" }
         : tensor<64x16xbf16>, tensor<16x128xbf16>, tensor<64x128xf32>
              -> tensor<64x128xf32>"""


def multiply(
    a: tuple[int, int] = (64, 16), b: tuple[int, int] = (16, 128), c: tuple[int, int] = (64, 128),
    types: tuple[E, E, E] = (E.BF16, E.BF16, E.F32), fastmath: str = "",
) -> TileMultiply:  # fmt: skip
    return TileMultiply(
        Tile(*a, types[0]), Tile(*b, types[1]), Tile(*c, types[2]), fastmath=fastmath
    )


def only(op: TileMultiply | TileDot, rule: str) -> Problem:
    (problem,) = op.problems()
    assert problem.rule == rule
    assert problem.got
    assert problem.expected
    return problem


def test_both_forms_read_as_they_are_documented():
    assert str(PLAIN) == STAGE_1
    assert str(DOT) == STAGE_2
    assert not PLAIN.problems()
    assert not DOT.problems()


def test_without_fast_math_there_is_no_attribute():
    assert "fastmath" not in str(multiply())
    assert "fastmath" not in str(pick_dot(multiply()))


def test_integers_have_an_operation_of_their_own():
    integers = multiply((64, 32), (32, 128), types=(E.S8, E.U8, E.S32))
    assert integers.op == "cuda_tile.mmai"
    assert not integers.problems()


# ---- the first form --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({"b": (32, 128)}, "K is 16 in A and 32 in B"),
        ({"c": (128, 128)}, "M is 64 in A and 128 in C"),
        ({"c": (64, 64)}, "N is 128 in B and 64 in C"),
    ],
)
def test_tiles_that_do_not_fit_together(sizes: dict[str, tuple[int, int]], told: str):
    assert only(multiply(**sizes), "dimensions").text == f"tile dimensions must conform: {told}"


def test_a_tile_that_is_too_large():
    """Two to the 24th elements are the most; A and B of this one are small."""
    most = multiply((4096, 16), (16, 4096), (4096, 4096))
    assert not most.problems()
    problem = only(multiply((8192, 16), (16, 4096), (8192, 4096)), "maximum")
    assert problem.text.startswith("tile would exceed the maximum of 16777216 elements")
    assert problem.subject == "c"


@pytest.mark.parametrize("size", [0, 3, 48])
def test_sizes_are_powers_of_two(size: int):
    found = multiply((64, size), (size, 128)).problems()
    assert [p.rule for p in found] == ["power-of-two", "power-of-two"]
    assert [p.subject for p in found] == ["a", "b"]


@pytest.mark.parametrize("fastmath", ["contract", "reassoc", "fast", "nnan, ninf,nsz", ""])
def test_fast_math_is_what_llvm_calls_it(fastmath: str):
    assert not multiply(fastmath=fastmath).problems()


def test_fast_math_that_there_is_not():
    problem = only(multiply(fastmath="contract, quick"), "fastmath")
    assert problem.text.startswith("fastmath attribute is not one of {reassoc, contract, ")
    assert problem.got == '"quick"'


def test_integers_and_floating_point_numbers_do_not_mix():
    found = multiply(types=(E.S8, E.S8, E.F32)).problems()
    assert [p.rule for p in found] == ["element", "element"]


# ---- the second form -------------------------------------------------------------------------


def dot(atom: str, precision: str = "bf16", *, of: TileMultiply = PLAIN) -> TileDot:
    return TileDot(of.a, of.b, of.c, atom, precision)


def test_an_atom_that_gives_another_type():
    half = multiply(types=(E.F16, E.F16, E.F32))
    problem = only(dot("sm100_umma_m64n128k16_f16_f16_f16", "f16", of=half), "output-type")
    assert problem.text.startswith("atom output type does not match accumulator: f16 in ")
    assert (problem.got, problem.expected) == ("f32", "f16")


def test_an_atom_that_takes_other_inputs():
    found = dot("sm100_umma_m64n128k16_f32_f16_f16", "f16").problems()
    assert [p.subject for p in found] == ["a", "b"]
    for problem in found:
        assert problem.text.startswith("atom input precision incompatible with operand type: f16")


def test_a_precision_that_the_atom_does_not_have():
    problem = only(dot(DOT.atom, "tf32"), "input-precision")
    assert (problem.got, problem.expected) == ("tf32", "bf16")


def test_tiles_of_the_second_form_are_judged_as_those_of_the_first():
    problem = only(dot(DOT.atom, of=multiply(b=(32, 128))), "dimensions")
    assert problem.text == "tile dimensions must conform: K is 16 in A and 32 in B"


def test_a_tile_that_is_no_whole_number_of_atoms():
    assert only(dot("sm100_umma_m128n128k16_f32_bf16_bf16"), "atom-shape").got == "64"


NO_ATOMS = {
    "m64": "names no MMA atom of sm_100",
    "sm90_wgmma_m64n128_f32_bf16_bf16": "names no MMA atom",
    "sm90_wgmma_m64n264k16_f32_bf16_bf16": "no target has an instruction for",
    "sm120_mma_m16n8k32_f32_bf16_bf16": "no target has an instruction for",
}


@pytest.mark.parametrize("name", NO_ATOMS)
def test_an_atom_that_is_none(name: str):
    assert NO_ATOMS[name] in only(dot(name), "atom").text


@pytest.mark.parametrize(
    "name",
    [
        "sm80_mma_m16n8k16_f32_bf16_bf16",
        "sm90_wgmma_m64n128k16_f32_bf16_bf16",
        "sm120_mma_m16n8k16_f32_bf16_bf16",
    ],
)
def test_an_atom_of_another_machine_is_one(name: str):
    assert dot(name).problems() == []


# ---- the atom that is picked -----------------------------------------------------------------

PICKED = {
    ((64, 16), 128, E.BF16, E.BF16, E.F32): "m64n128k16_f32_bf16_bf16",
    ((128, 64), 256, E.F16, E.F16, E.F16): "m128n256k16_f16_f16_f16",
    ((256, 32), 512, E.F16, E.BF16, E.F32): "m128n256k16_f32_f16_bf16",
    ((128, 32), 64, E.F32, E.F32, E.F32): "m128n64k8_f32_tf32_tf32",
    ((64, 32), 8, E.E4M3, E.E5M2, E.F32): "m64n8k32_f32_e4m3_e5m2",
    ((128, 64), 32, E.S8, E.U8, E.S32): "m128n32k32_s32_s8_u8",
}


@pytest.mark.parametrize("case", PICKED, ids=PICKED.values())
def test_the_largest_atom_that_divides_the_tile(case: tuple[tuple[int, int], int, E, E, E]):
    (m, k), n, *types = case
    found = pick_dot(multiply((m, k), (k, n), (m, n), (types[0], types[1], types[2])))
    assert found.atom == f"sm100_umma_{PICKED[case]}"
    assert not found.problems()


def test_a_pair_has_atoms_of_its_own():
    found = pick_dot(multiply((256, 16), (16, 256), (256, 256)), pair=True)
    assert found.atom == "sm100_umma_m256n256k16_f32_bf16_bf16_2cta"
    assert not found.problems()


def test_f32_enters_as_tf32():
    found = pick_dot(multiply((128, 8), (8, 64), (128, 64), (E.F32, E.F32, E.F32)))
    assert found.input_precision == "tf32"


@pytest.mark.parametrize(
    ("op", "told"),
    [
        (multiply((32, 16), (16, 128), (32, 128)), "no atom has a M of 32"),
        (multiply((64, 8), (8, 128)), "no atom has a K of 8"),
        (multiply(types=(E.BF16, E.E4M3, E.F32)), "no kind multiplies bf16 by e4m3"),
        (multiply(types=(E.BF16, E.BF16, E.S32)), "kind::f16 gives no s32"),
        (multiply(types=(E.BF16, E.BF16, E.F16)), "D of f16 takes f16 inputs"),
    ],
)
def test_tiles_that_have_no_atom(op: TileMultiply, told: str):
    with pytest.raises(AtomError, match=told):
        pick_dot(op)


NAMES = (
    "sm100_umma_m64n128k16_f32_bf16_bf16",
    "sm100_umma_m128n8k32_s32_u8_s8",
    "sm100_umma_m64n128k32_f32_bf16_bf16_sp",
    "sm100_umma_m256n32k16_f16_f16_f16_2cta",
    "sm100_umma_m128n64k32_f32_e4m3_e2m1_bs",
    "sm100_umma_m128n64k64_f32_e2m1_e2m1_bs",
    "sm100_umma_m128n64k64_f32_e2m1_e2m1_bs16",
    "sm100_umma_m256n64k64_f32_e5m2_e5m2_sp_bs_2cta",
    "sm100_umma_m32n256k16_f32_f16_f16_ws",
    "sm100_umma_m64n128k32_f32_f16_f16_sp_ws",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_atoms_are_read_back(name: str):
    assert parse_atom(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_an_atom_fits_the_tile_of_its_own_size(name: str):
    atom = parse_atom(name)
    made = dot_of(tile_of(atom), atom)
    assert not [p for p in made.problems() if p.rule != "power-of-two"]
    assert multiply_of(made) == tile_of(atom)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sm100_umma_m64n128k16_f32_bf16_bf16_sp", "sparse kind::f16 has no K of 16"),
        ("sm100_umma_m64n128k16_f32_e4m3_e4m3_bs", "no block-scaled kind has K of 16"),
        ("sm100_umma_m64n128k32_f32_mxf8f6f4_mxf8f6f4_bs", "'mxf8f6f4' is no element type"),
        ("sm100_umma_m128n128k32_f16_e4m3_e4m3_bs", "gives f32 only"),
        ("sm100_umma_m128n128k64_f32_e4m3_e4m3_bs", "does not multiply e4m3"),
        ("sm100_umma_m64n128k32_f32_e4m3_e4m3_bs", "M does not exist"),
        ("sm100_umma_m128n128k16_f32_f16_f16_ws_2cta", "cta_group::2 is not supported with weight"),
        ("sm100_umma_m128n128k32_f32_e4m3_e4m3_bs_ws", "Cannot use weight stationary with mxf8"),
        ("sm100_umma_m128n8k16_f32_f16_f16_ws", "N does not exist"),
    ],
)
def test_variants_that_there_are_not(name: str, told: str):
    with pytest.raises(AtomError, match=told):
        parse_atom(name)


@pytest.mark.parametrize(
    ("name", "told", "expected"),
    [
        ("m128n128k32_f32_f16_f16_2cta_sp", "another order", "m128n128k32_f32_f16_f16_sp_2cta"),
        ("m128n64k32_f32_e4m3_e4m3_ws_bs", "another order", "m128n64k32_f32_e4m3_e4m3_bs_ws"),
        ("m128n64k32_f32_mxf8f6f4_mxf8f6f4_bs", "but a kind", "e4m3, e5m2, e2m3, e3m2, e2m1"),
        ("m64n128k32_s32_i8_i8", "'i8' is no element type of an MMA, but a kind", "u8, s8"),
    ],
)
def test_what_would_be_right_is_named(name: str, told: str, expected: str):
    with pytest.raises(AtomError, match=told) as caught:
        parse_atom(f"sm100_umma_{name}")
    assert caught.value.expected.removeprefix("sm100_umma_") == expected
