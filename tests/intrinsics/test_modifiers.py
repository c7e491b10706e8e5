"""The words of PTX, and element types."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from intrinsics import modifiers
from intrinsics.element import ElementType
from intrinsics.modifiers import (
    BlockScale,
    CtaGroup,
    Dim,
    LdStNum,
    LdStShape,
    Modifier,
    ScalarType,
    Space,
    Vec,
    WaitOp,
)
from tests.each import each

SETS = [
    cls
    for cls in vars(modifiers).values()
    if isinstance(cls, type) and issubclass(cls, Modifier) and cls is not Modifier
]


@each("cls", SETS, ids=lambda cls: cls.__name__)
def test_members_are_told_apart_in_ptx_and_in_opcodes(cls: type[Modifier]):
    members = list(cls)
    assert len({m.value for m in members}) == len(members) == len(cls.__members__)
    assert len({m.opcode for m in members}) == len(members)
    for member in members:
        assert re.fullmatch(r"[A-Z0-9_]+", member.opcode)
        assert member.ptx == (member.value if member.value.startswith("::") else f".{member.value}")


@pytest.mark.parametrize(
    ("member", "ptx", "opcode"),
    [
        (CtaGroup.ONE, ".cta_group::1", "CTA_GROUP1"),
        (LdStShape.S32X32B, ".32x32b", "32X32B"),
        (Space.SHARED_CTA, ".shared::cta", "SHARED_CTA"),
        (WaitOp.LD, "::ld", "LD"),
        (BlockScale.BLOCK_SCALE, ".block_scale", "BLOCK_SCALED"),
        (ScalarType.F16X2, ".f16x2", "F16X2"),
    ],
)
def test_spellings(member: Modifier, ptx: str, opcode: str):
    assert (member.ptx, member.opcode) == (ptx, opcode)


def test_widths_of_types():
    """The number in a type's name, times how many of it are packed; a predicate is one bit.

    Of the narrow formats each lies in 8 bits; of those of four bits that are not padded, two do.
    """
    for type_ in ScalarType:
        if narrow := re.fullmatch(r"(u?e\d+m\d+)(p4)?(?:x(\d))?", type_.value):
            each = 4 if narrow[1] == "e2m1" and not narrow[2] else 8
            assert type_.bits == each * int(narrow[3] or 1)
            continue
        match = re.fullmatch(r"[a-z]+(\d+)(?:x(\d))?", type_.value)
        expected = int(match[1]) * int(match[2] or 1) if match else 1
        assert type_.bits == expected
    assert ScalarType.PRED.bits == 1


def test_kinds_of_types():
    kinds = {"b": "b", "u": "i", "s": "i", "f": "f"}
    for type_ in ScalarType:
        if re.fullmatch(r"[busf]\d+", type_.value):
            assert type_.kind == kinds[type_.value[0]]
            assert type_.is_signed is type_.value.startswith("s")
    assert ScalarType.PRED.kind == "p"
    assert ScalarType.BF16.kind == ScalarType.TF32.kind == "f"


def test_numbers_in_words():
    assert [num.times for num in LdStNum] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert [vec.count for vec in Vec] == [2, 4, 8]
    assert [dim.rank for dim in Dim] == [0, 1, 2, 3, 4, 5, 6]  # the ends are no copy's


@each("element", ElementType)
def test_elements_are_as_wide_as_numpy_says(element: ElementType):
    dtype = np.dtype(element.numpy)
    if element.is_integer:
        assert np.issubdtype(dtype, np.integer)
        assert np.iinfo(dtype).bits == element.bits
        assert (np.iinfo(dtype).min < 0) is element.value.startswith("s")
    else:
        assert ml_dtypes.finfo(dtype).bits == element.bits


@each(
    "element, exponent, mantissa",
    [
        ("e4m3", 4, 3), ("e5m2", 5, 2), ("e2m3", 2, 3), ("e3m2", 3, 2), ("e2m1", 2, 1),
        ("ue8m0", 8, 0), ("ue4m3", 4, 3), ("bf16", 8, 7), ("f16", 5, 10), ("f32", 8, 23),
    ],
)  # fmt: skip
def test_elements_are_the_formats_that_their_names_say(element: str, exponent: int, mantissa: int):
    info = ml_dtypes.finfo(ElementType(element).numpy)
    assert (info.nexp, info.nmant) == (exponent, mantissa)
