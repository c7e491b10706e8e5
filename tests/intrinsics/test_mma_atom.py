"""Names of MMA atoms: what they say, and descriptors whose bits the PTX ISA gives."""

from __future__ import annotations

import pytest

from intrinsics.element import ElementType, Major
from intrinsics.modifiers import MmaKind
from intrinsics.multiplies.mma_atom import PATTERN, AtomError, parse_atom
from tests.each import each

E = ElementType


def test_the_parts_of_a_name():
    atom = parse_atom("sm100_umma_m64n128k16_f32_bf16_bf16")
    assert (atom.m, atom.n, atom.k) == (64, 128, 16)
    assert (atom.d, atom.a, atom.b) == (E.F32, E.BF16, E.BF16)
    assert atom.kind is MmaKind.F16


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sm100_umma_m128n256k16_f16_f16_f16", MmaKind.F16),
        ("sm100_umma_m128n8k8_f32_tf32_tf32", MmaKind.TF32),
        ("sm100_umma_m64n16k32_f32_e4m3_e5m2", MmaKind.F8F6F4),
        ("sm100_umma_m64n16k32_f16_e2m1_e3m2", MmaKind.F8F6F4),
        ("sm100_umma_m128n32k32_s32_s8_u8", MmaKind.I8),
    ],
)
def test_the_kind_follows_from_the_types(name: str, kind: MmaKind):
    assert parse_atom(name).kind is kind


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [
        (Major.K, Major.K, 0x4200490),
        (Major.MN, Major.K, 0x4208490),
        (Major.K, Major.MN, 0x4210490),
        (Major.MN, Major.MN, 0x4218490),
    ],
)
def test_the_descriptor(a: Major, b: Major, word: int):
    """Table 42: D f32 at 4, bf16 at 7 and 10, transposed at 15 and 16, N/8 at 17, M/16 at 24."""
    assert word == 1 << 4 | 1 << 7 | 1 << 10 | (a is Major.MN) << 15 | (b is Major.MN) << 16 | (
        128 // 8 << 17 | 64 // 16 << 24
    )
    atom = parse_atom("sm100_umma_m64n128k16_f32_bf16_bf16")
    assert atom.descriptor(a, b).encode() == word


@each(
    "name",
    [
        "", "sm100_umma", "sm90_wgmma_m64n128k16_f32_bf16_bf16",
        "sm100_umma_m64n128k16_f32_bf16", "SM100_umma_m64n128k16_f32_bf16_bf16",
        "sm100_umma_m64n128k16_f32_bf16_bf16 ", "sm100_umma_m64n128k16_f32_bf16_bf16_sp",
        "sm100_umma_m64n128k64_f32_mxf4_mxf4_bs", "sm100_umma_m64n128k16_f32_bf16_bf16_2cta",
        "sm100_umma_m0n128k16_f32_bf16_bf16", "sm100_umma_m64n0k16_f32_bf16_bf16",
        "sm100_umma_m64n264k16_f32_bf16_bf16", "sm100_umma_m128n8k16_f16_bf16_bf16",
        "sm100_umma_m64n128k16_f32_f32_f32", "sm100_umma_m64n128k16_bf16_bf16_bf16",
        "sm100_umma_m64n128k32_f32_s8_s8",
    ],
)  # fmt: skip
def test_names_of_none(name: str):
    with pytest.raises(AtomError) as caught:
        parse_atom(name)
    assert str(caught.value)
    assert caught.value.expected


def test_the_pattern_is_an_atom():
    assert parse_atom(PATTERN).name == PATTERN
