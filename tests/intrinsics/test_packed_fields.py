"""The packed words of a tcgen05.mma record: bits in, fields out, and back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics import catalog
from intrinsics.descriptors.packed_fields import (
    KIND_CODES,
    SCALE_VEC_CODES,
    SPELLING_CODES,
    CollectorWord,
    ControlWord,
    MmaFields,
)
from intrinsics.mir import form_attribute_names
from intrinsics.modifiers import (
    AShift,
    BlockScale,
    CollectorA,
    CollectorB,
    CollectorWs,
    CtaGroup,
    MmaKind,
    ScaleVec,
)
from intrinsics.row import Attribute, Residency
from tests.each import each
from tests.turns import examples

WORDS = st.integers(0, (1 << 32) - 1)

# The layouts, as (field, lowest bit, width); what follows the last field must be zero.
CONTROL = (
    ("cta_group", 0, 2),
    ("scale_vec_size", 2, 2),
    ("scale_input_acc", 4, 1),
    ("block_scale", 5, 1),
    ("mma_kind", 6, 3),
    ("reserved", 9, 23),
)
COLLECTOR = (
    ("valid", 0, 1),
    ("op", 1, 2),
    ("ashift", 3, 1),
    ("buffer", 4, 3),
    ("b_valid", 7, 1),
    ("b_op", 8, 2),
    ("reserved", 10, 22),
)


# ---- bits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "low", "width"), CONTROL)
def test_each_field_of_the_control_word_lies_where_it_should(field: str, low: int, width: int):
    word = ControlWord.decode(((1 << width) - 1) << low)
    assert getattr(word, field) == (1 << width) - 1
    assert [name for name, _, _ in CONTROL if getattr(word, name)] == [field]


@pytest.mark.parametrize(("field", "low", "width"), COLLECTOR)
def test_each_field_of_the_collector_word_lies_where_it_should(field: str, low: int, width: int):
    word = CollectorWord.decode(((1 << width) - 1) << low)
    assert getattr(word, field) == (1 << width) - 1
    assert [name for name, _, _ in COLLECTOR if getattr(word, name)] == [field]


@examples(200)
@given(WORDS)
def test_words_and_fields_are_the_same_thing(word: int):
    """Reserved bits are a field too, so that nothing of a bad word is lost."""
    assert ControlWord.decode(word).encode() == word
    assert CollectorWord.decode(word).encode() == word


@examples(200)
@given(WORDS)
def test_any_word_can_be_explained(word: int):
    for found, layout in (
        (ControlWord.decode(word), CONTROL),
        (CollectorWord.decode(word), COLLECTOR),
    ):
        rows = found.explain()
        assert [row[1] for row in rows] == [name for name, _, _ in layout]
        bits = [f"{low}" if width == 1 else f"{low}-{low + width - 1}" for _, low, width in layout]
        assert [row[0] for row in rows] == bits
        assert str(found)


def test_reserved_bits_are_pointed_out():
    assert "must be 0" in ControlWord.decode(1 << 20).explain()[-1][2]
    assert "must be 0" in CollectorWord.decode(1 << 20).explain()[-1][2]
    assert "must be 0" not in ControlWord.decode(0xC1).explain()[-1][2]


# ---- codes -----------------------------------------------------------------------------------


def test_the_codes_of_kinds():
    """The seven that back ends have; 6, which they leave free, is the kind that came later."""
    assert {code: kind.value.removeprefix("kind::") for code, kind in KIND_CODES.items()} == {
        0: "mxf4nvf4", 1: "i8", 2: "mxf8f6f4", 3: "f16", 4: "tf32", 5: "f8f6f4", 6: "ti16",
        7: "mxf4",
    }  # fmt: skip


def test_the_codes_of_scale_vectors():
    """0 says none at all, so an explicit 1X needs a code of its own."""
    assert SCALE_VEC_CODES == {1: ScaleVec.X2, 2: ScaleVec.X4, 3: ScaleVec.X1}
    assert SPELLING_CODES == {16: ScaleVec.BLOCK16, 32: ScaleVec.BLOCK32}


def test_llvms_codes_are_other_codes():
    """LLVM numbers kinds f16 0, tf32 1, f8f6f4 2, i8 3: converted, never copied."""
    (plain,) = [p for p in catalog.row("tcgen05.mma").llvm if p.name == "tcgen05.mma.shared"]
    kinds = (MmaKind.F16, MmaKind.TF32, MmaKind.F8F6F4, MmaKind.I8)
    assert dict(plain.codes["kind"]) == dict(enumerate(kinds))
    assert all(KIND_CODES[code] is not kind for code, kind in enumerate(kinds))
    assert dict(plain.codes["collector_a"]) == {
        0: CollectorA.DISCARD, 1: CollectorA.LASTUSE, 2: CollectorA.FILL, 3: CollectorA.USE,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (193, "kind::f16 cta_group::1"),
        (194, "kind::f16 cta_group::2"),
        (0x101, "kind::tf32 cta_group::1"),
        (0x41, "kind::i8 cta_group::1"),
        (0xA1, "kind::mxf8f6f4 cta_group::1 block_scale"),
        (0x1E5, "kind::mxf4 cta_group::1 block_scale scale_vec::2X"),
        (0xD1, "kind::f16 cta_group::1 scale-input-d"),
    ],
)
def test_control_words_in_words(word: int, text: str):
    assert str(ControlWord.decode(word)) == text


@each(
    "word, text",
    [
        # 0, 1 and 3 mean what they mean in other back ends.
        (0, "no collector"),
        (1, "collector::a::fill"),
        (3, "collector::a::use"),
        # There bit 2 is ashift and half of the operation at once, so that 5 and 7 say two things;
        # here they say one, and ashift has a bit of its own.
        (5, "collector::a::lastuse"),
        (7, "collector::a::discard"),
        (8, "ashift"),
        (13, "collector::a::lastuse ashift"),
        (0b0010001, "collector::b0::fill"),
        (0b1000011, "collector::b3::use"),
        (0b1_10000000, "collector::b::use"),
    ],
)
def test_collector_words_in_words(word: int, text: str):
    assert str(CollectorWord.decode(word)) == text


# ---- packing ---------------------------------------------------------------------------------

DENSE = MmaFields()
STATIONARY = MmaFields(weight_stationary=True)


def dense(**attributes: Attribute) -> dict[str, Attribute]:
    """Attributes of a plain MMA; what is not named is absent."""
    usual: dict[str, Attribute] = {
        "cta_group": CtaGroup.ONE,
        "kind": MmaKind.F16,
        "a": Residency.SHARED,
    }
    return {**usual, **attributes}


def test_a_dense_mma_that_fills_the_collector():
    """kind::f16 on one CTA is 0xC1 = 193, collector::a::fill is 1."""
    assert DENSE.pack(dense(collector_a=CollectorA.FILL)) == {"ctrl": 193, "collector": 1}


@each("kind", MmaKind)
@each("group", CtaGroup)
def test_kind_and_group(kind: MmaKind, group: CtaGroup):
    word = DENSE.pack(dense(kind=kind, cta_group=group))["ctrl"]
    assert KIND_CODES[word >> 6] is kind
    assert word & 3 == (1 if group is CtaGroup.ONE else 2)


@pytest.mark.parametrize(
    ("size", "field", "spelling"),
    [
        (None, 0, 0),
        (ScaleVec.X1, 3, 0),
        (ScaleVec.X2, 1, 0),
        (ScaleVec.X4, 2, 0),
        (ScaleVec.BLOCK16, 0, 16),
        (ScaleVec.BLOCK32, 0, 32),
    ],
)
def test_scale_vectors_and_how_they_are_spelled(size: ScaleVec | None, field: int, spelling: int):
    attributes = dense(kind=MmaKind.MXF4, block_scale=BlockScale.BLOCK_SCALE, scale_vec=size)
    words = DENSE.pack(attributes)
    assert words["ctrl"] >> 2 & 3 == field
    assert words["ctrl"] >> 5 & 1 == 1
    assert words["scale_spelling"] == spelling


@each("number", range(16))
def test_collectors_of_a_weight_stationary_mma(number: int):
    buffer, op = divmod(number, 4)
    name = ("fill", "use", "lastuse", "discard")[op]
    collector = CollectorWs(f"collector::b{buffer}::{name}")
    word = STATIONARY.pack({"kind": MmaKind.F16, "collector_ws": collector})["collector"]
    assert word == 1 | op << 1 | (buffer + 1) << 4


def test_the_words_of_every_form_say_what_the_form_says():
    """Unpacking gives the packed qualifiers back, for all combinations of the plain row."""
    row = catalog.row("tcgen05.mma")
    qualifiers = sorted(DENSE.qualifiers)
    choices = [row.qualifier[name].attributes for name in qualifiers]
    scaled = {"block_scale": BlockScale.BLOCK_SCALE, "sfa": True, "sfb": True}
    plain = {"block_scale": None, "sfa": False, "sfb": False}
    for group, scale, scale_d in itertools.product(CtaGroup, (scaled, plain), (False, True)):
        opcode: dict[str, Attribute] = {"cta_group": group, "scale_d": scale_d, **scale}  # type: ignore[dict-item]
        for values in itertools.product(*choices):
            attributes = dict(zip(qualifiers, values, strict=True))
            if attributes["scale_vec"] is not None and scale is plain:
                continue  # there is nowhere to put the spelling
            found, problems = DENSE.unpack(DENSE.pack({**opcode, **attributes}), opcode)
            assert (found, problems) == (attributes, ())


def test_the_words_of_every_weight_stationary_form():
    row = catalog.row("tcgen05.mma.ws")
    for group, kind, collector in itertools.product(
        CtaGroup, MmaKind, row.qualifier["collector_ws"].attributes
    ):
        attributes: dict[str, Attribute] = {
            "cta_group": group,
            "kind": kind,
            "collector_ws": collector,
        }
        found, problems = STATIONARY.unpack(STATIONARY.pack(attributes), {})
        assert (found, problems) == (attributes, ())


def test_no_qualifier_is_both_in_the_opcode_and_in_a_word():
    for name in ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"):
        row = catalog.row(name)
        assert row.packed_fields is not None
        assert row.packed_fields.qualifiers <= set(row.qualifier)
        assert not row.packed_fields.qualifiers & set(row.opcode_qualifiers)
        assert not row.packed_fields.qualifiers & set(form_attribute_names(row))


# ---- contradictions --------------------------------------------------------------------------


def rules(
    words: dict[str, int], attributes: dict[str, Attribute], *, ws: bool = False
) -> list[str]:
    _, problems = (STATIONARY if ws else DENSE).unpack(words, attributes)
    assert all(p.text and p.expected for p in problems)
    return [p.rule for p in problems]


ONE_CTA: dict[str, Attribute] = {"cta_group": CtaGroup.ONE, "block_scale": None, "scale_d": False}


@pytest.mark.parametrize("group", [0, 2, 3])
def test_the_group_must_be_the_opcodes(group: int):
    assert rules({"ctrl": 0xC0 | group, "collector": 0}, ONE_CTA) == ["word-contradicts-opcode"]


@pytest.mark.parametrize("group", [0, 3])
def test_groups_that_no_mma_has_are_rejected_in_a_stationary_one_too(group: int):
    assert "word-contradicts-opcode" in rules({"ctrl": 0xC0 | group, "collector": 0}, {}, ws=True)


def test_a_spelling_and_a_size_cannot_both_be_given():
    attributes: dict[str, Attribute] = {**ONE_CTA, "block_scale": BlockScale.BLOCK_SCALE}
    both = {"ctrl": 0x1E5, "collector": 0, "scale_spelling": 32}
    assert rules(both, attributes) == ["scale-spelling"]
    assert rules({**both, "scale_spelling": 8}, attributes) == ["scale-spelling"]
    assert rules({**both, "scale_spelling": 0}, attributes) == []


@each(
    "word, ws",
    [
        (0b0000010, False),  # an operation without the valid bit
        (0b0010000, False),  # a buffer without the valid bit
        (0b0010001, False),  # b0 in an MMA whose collector holds A
        (0b0000001, True),  # a in one whose collectors hold B
        (0b1010001, True),  # a fifth buffer of B
        (0b0011001, True),  # ashift has no place there
        (0b0110010001, True),  # nor has collector::b
        (0b0100000000, False),  # an operation on b without its valid bit
    ],
)
def test_collector_words_that_contradict_themselves(word: int, ws: bool):
    control = {} if ws else ONE_CTA
    assert rules({"ctrl": 0xC1, "collector": word}, control, ws=ws) == ["collector-word"]


@examples(150)
@given(WORDS, WORDS, st.booleans())
def test_any_words_can_be_unpacked(ctrl: int, collector: int, ws: bool):
    words = STATIONARY if ws else DENSE
    found, _ = words.unpack({"ctrl": ctrl, "collector": collector}, {} if ws else ONE_CTA)
    assert found.keys() == words.qualifiers
    assert isinstance(found["kind"], MmaKind)
    assert found.get("ashift") in (None, AShift.ASHIFT)
    assert found.get("collector_b") in (None, *CollectorB)
