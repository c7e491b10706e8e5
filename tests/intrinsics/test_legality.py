"""Numbers, register classes and words about rules: the small parts of a judgement.

Whole judgements are compared with the rules themselves in `test_row_rules`.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics import catalog
from intrinsics.legality import describe, expected, got, judge
from intrinsics.modifiers import CtaGroup, MmaKind, ScalarType, ScaleVec
from intrinsics.operand_types import fits
from intrinsics.row import Attribute, Numbers, Residency, when
from intrinsics.targets import TARGETS, named, since
from tests.each import each
from tests.turns import examples

# ---- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "good", "bad", "text"),
    [
        (Numbers(), [-(1 << 40), -1, 0, 1, 1 << 40], [], "any integer"),
        (Numbers(0, 15), [0, 15], [-1, 16], "0..15"),
        (Numbers(1), [1, 1 << 30], [0, -1], "at least 1"),
        (Numbers(32, 512, multiple=32, power_of_two=True), [32, 64, 512], [0, 16, 96, 1024],
         "a power of 2 in 32..512"),
        (Numbers(0, multiple=32), [0, 32, 96], [-32, 16, 33], "a multiple of 32, at least 0"),
        (Numbers(multiple=16), [-16, 0, 48], [8, 17], "a multiple of 16"),
        (Numbers(multiple=32, nonzero=True), [32, 64], [0, 16], "a multiple of 32"),
    ],
)  # fmt: skip
def test_which_numbers_an_operand_takes(
    numbers: Numbers, good: list[int], bad: list[int], text: str
):
    assert [n for n in good if not numbers.accepts(n)] == []
    assert [n for n in bad if numbers.accepts(n)] == []
    assert text in str(numbers)


@pytest.mark.parametrize("name", ["tcgen05.ld", "tcgen05.st"])
def test_how_many_registers_tensor_memory_fills(name: str):
    """PTX ISA, Tables 47 and 48: 1, 2 or 4 a repetition, and never more than 128."""
    row = catalog.row(name)
    count = row.operand["r"].count
    assert count is not None
    each = {"16x64b": 1, "32x32b": 1, "16x32bx2": 1, "16x128b": 2, "16x256b": 4}
    for shape in row.qualifier["shape"].values:
        for repeat in row.qualifier["num"].values:
            attributes: dict[str, Attribute] = {"shape": shape, "num": repeat}
            registers = each[shape.value] * int(repeat.value[1:])
            assert count.of(attributes) == registers
            half = shape.value == "16x32bx2"
            whole = dict.fromkeys(row.attribute_names) | attributes | {"half_split": half}
            assert (judge(row, whole).broken == ()) is (registers <= 128)


# ---- register classes ------------------------------------------------------------------------

T = ScalarType
SIMPLE = [t for t in T if re.fullmatch(r"[bus](8|16|32|64)|f(32|64)", t.value)]


@examples(200)
@given(st.sampled_from(SIMPLE), st.sampled_from(SIMPLE))
def test_which_registers_agree_with_a_type(wanted: ScalarType, cls: ScalarType):
    """PTX ISA, Operand Type Checking: same width, and not an integer for a float."""
    families = {wanted.value[0], cls.value[0]}
    mixed = "f" in families and bool(families & {"u", "s"})
    assert fits(wanted, cls) is (wanted.bits == cls.bits and not mixed)


@each("other", SIMPLE)
def test_predicates_agree_with_nothing_else(other: ScalarType):
    assert fits(T.PRED, T.PRED)
    assert not fits(T.PRED, other)
    assert not fits(other, T.PRED)
    assert not fits(other, T.PRED, widened=True)


def test_wider_registers_hold_what_ld_st_and_cvt_move():
    """PTX ISA, Operand Size Exceeding Instruction-Type Size."""
    assert fits(T.U8, T.B32, widened=True)
    assert fits(T.B16, T.B64, widened=True)
    assert not fits(T.B32, T.B16, widened=True)
    assert not fits(T.B32, T.B64)


# ---- in words --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "text"),
    [(MmaKind.I8, ".kind::i8"), (True, "given"), (False, "absent"), (None, "absent")],
)
def test_attributes_in_words(attribute: Attribute, text: str):
    assert describe(attribute) == text


def test_a_demand_in_words():
    rule = when(kind=MmaKind.MXF4).must("x", scale_vec=(None, ScaleVec.X2))
    qualifier, _, allowed = expected(rule).partition(": ")
    assert (qualifier, set(allowed.split(" or "))) == ("scale_vec", {".scale_vec::2X", "absent"})
    assert got(rule, {"kind": MmaKind.MXF4, "scale_vec": ScaleVec.X4}) == (
        ".kind::mxf4, .scale_vec::4X"
    )


def test_a_gate_in_words():
    rule = when(kind=MmaKind.I8).needs("x", since("8.6", named("100a 110a")))
    assert expected(rule) == "sm_100a or sm_110a, PTX 8.6 or later"


def test_a_prohibition_in_words():
    rule = when(cta_group=CtaGroup.TWO).is_wrong("x", "no")
    assert expected(rule) == "not .cta_group::2"


# ---- whole judgements ------------------------------------------------------------------------


def dense(**attributes: Attribute) -> dict[str, Attribute]:
    row = catalog.row("tcgen05.mma")
    usual: dict[str, Attribute] = dict.fromkeys(row.attribute_names)
    usual.update(dict.fromkeys(row.optional, False))
    usual.update(cta_group=CtaGroup.ONE, kind=MmaKind.F16, a=Residency.SHARED)
    return {**usual, **attributes}


def test_a_form_that_the_manual_shows_first():
    judgement = judge(catalog.row("tcgen05.mma"), dense())
    assert judgement.broken == ()
    assert str(judgement.first_ptx(TARGETS["sm_100a"])) == "8.6"
    assert judgement.first_ptx(TARGETS["sm_90a"]) is None
    assert judgement.targets() == named("100af 101af 103af 107af 110af")


def test_every_gate_narrows_the_targets():
    judgement = judge(catalog.row("tcgen05.mma"), dense(kind=MmaKind.I8))
    assert judgement.targets() == named("100a 101a 110a")
    missing = judgement.missing(TARGETS["sm_103a"], since("9.5").since)
    assert [d.rule.id for d in missing if d.rule] == ["i8-target"]
    both = judge(catalog.row("tcgen05.mma"), dense(kind=MmaKind.F16, scale_d=True))
    assert both.targets() == named("100af 103af 107af")


def test_what_a_row_itself_needs_is_no_rule():
    judgement = judge(catalog.row("tcgen05.mma"), dense())
    (demand,) = judgement.missing(TARGETS["sm_90a"], since("9.5").since)
    assert demand.rule is None
