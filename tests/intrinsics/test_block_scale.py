"""Block scalings: the triples of Tables 54 and 55, and the texts to the letter."""

from __future__ import annotations

import itertools

import pytest

from intrinsics.element import ElementType as E
from intrinsics.modifiers import MmaKind as K
from intrinsics.multiplies.block_scale import block_scale, check_block_scale
from tests.each import each

NARROW = (E.E4M3, E.E5M2, E.E2M3, E.E3M2, E.E2M1)
TABLE_55 = {
    (32, 32): (NARROW, {E.UE8M0}, {K.MXF8F6F4}),
    (64, 32): ((E.E2M1,), {E.UE8M0}, {K.MXF4, K.MXF4NVF4}),
    (64, 16): ((E.E2M1,), {E.UE8M0, E.UE4M3}, {K.MXF4NVF4}),
    (96, 32): ((E.E2M1,), {E.UE8M0}, {K.MXF4, K.MXF4NVF4}),
    (96, 16): ((E.E2M1,), {E.UE8M0, E.UE4M3}, {K.MXF4NVF4}),
}


SIZES = list(itertools.product((16, 32, 64, 96, 128), (16, 32, 64)))


@each("size", SIZES, ids=str)
def test_what_the_tables_have_is_taken_and_nothing_else(size: tuple[int, int]) -> None:
    types, factors, kinds = TABLE_55.get(size, ((), set(), set()))
    found = block_scale(*size)
    assert set(found.kinds if found else ()) == kinds
    for a, b in itertools.product((*NARROW, E.F16), repeat=2):
        for factor in (E.UE8M0, E.UE4M3, E.F32):
            legal = a in types and b in types and factor in factors
            assert (check_block_scale(*size, a, b, factor, factor) == []) is legal


TEXTS = {
    "expects sfa/sfb element types to be the same": (64, 16, E.E2M1, E.E2M1, E.UE8M0, E.UE4M3),
    "expects A and B element types are valid 4bit types, such asFloat4E2M1FNType or "
    "FloatNV4E0M3FType , when (atom_K=64 && vecSize=16)": (
        64, 16, E.E4M3, E.E2M1, E.UE4M3, E.UE4M3,
    ),
    "expects sfa/sfb element types to be Float8E8M0FNUType or Float8E4M3FNType "
    "when (atom_K=64 && vecSize=16)": (64, 16, E.E2M1, E.E2M1, E.F32, E.F32),
    "expects A/B element types to be Float4E2M1FNType and sfa/sfb element types to be "
    "Float8E8M0FNUType when (atom_K=64 && vecSize=32)": (
        64, 32, E.E2M1, E.E2M1, E.UE4M3, E.UE4M3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_texts_to_the_letter(text: str) -> None:
    (found,) = check_block_scale(*TEXTS[text])
    assert found.text == text
    assert found.got
    assert found.expected


def test_a_size_that_there_is_not() -> None:
    (found,) = check_block_scale(64, 64, E.E2M1, E.E2M1, E.UE8M0, E.UE8M0)
    assert found.got == "(64, 64)"
    assert "(64, 16)" in found.expected
