"""The class of operand B, for every type that the rows of wgmma multiply."""

from __future__ import annotations

import pytest

from intrinsics.catalog import rows
from intrinsics.descriptors.operand_b import OperandBClass, operand_b_class
from intrinsics.findings import InputError
from intrinsics.modifiers import Modifier
from tests.each import each

BIT, BYTE, FLOAT, EXTENDED = OperandBClass

# Bits have the smallest class; i4, i8 and u8 are bytes; f16, bf16, tf32 and f8 are floats.
DENSE = {
    "b1": BIT,
    **dict.fromkeys(("s4", "u4", "s8", "u8"), BYTE),
    **dict.fromkeys(("f16", "bf16", "tf32", "e4m3", "e5m2"), FLOAT),
}


@each("type, expected", DENSE.items())
def test_the_class_of_a_type(type: str, expected: OperandBClass) -> None:
    assert operand_b_class(type) is expected
    assert operand_b_class(type, sparse=True) is EXTENDED


def test_every_type_that_wgmma_multiplies_has_one() -> None:
    found = [row for row in rows() if row.id.startswith("wgmma.mma_async")]
    types = {v for row in found if "btype" in row.qualifier for v in row.qualifier["btype"].values}
    names = {t.value for t in types if isinstance(t, Modifier)}
    assert names == set(DENSE) - {"s4", "u4"}
    assert {operand_b_class(t) for t in types if isinstance(t, Modifier)} == {BIT, BYTE, FLOAT}


def test_no_type_has_two_classes() -> None:
    of_classes = [name for each in OperandBClass for name in each.types]
    assert sorted(of_classes) == sorted(DENSE)


@pytest.mark.parametrize("type", ["f64", "s32", "", "b16"])
def test_no_class(type: str) -> None:
    with pytest.raises(InputError, match="no type of operand B"):
        operand_b_class(type)
