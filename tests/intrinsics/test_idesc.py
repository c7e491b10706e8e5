"""The instruction descriptor: 32 bits, written out of the manual's Tables 39, 42, 43, 44 and 49."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics.descriptors.idesc import (
    DENSE_K,
    InstructionDescriptor,
    format_of,
    n_values,
    reserved_bits,
)
from intrinsics.element import ElementType, Major
from intrinsics.modifiers import CtaGroup, MmaKind
from tests.each import each
from tests.turns import examples

E, K = ElementType, MmaKind

PLAIN = (K.F16, K.TF32, K.F8F6F4, K.I8)
SCALED = (K.MXF8F6F4, K.MXF4, K.MXF4NVF4)
FP4 = (K.MXF4, K.MXF4NVF4)
DOCUMENTED = (*PLAIN, *SCALED)

# ---- the tables ------------------------------------------------------------------------------

NARROW = {E.E4M3: 0, E.E5M2: 1, E.E2M3: 3, E.E3M2: 4, E.E2M1: 5}
INPUTS = {
    K.F16: {E.F16: 0, E.BF16: 1},
    K.TF32: {E.TF32: 2},
    K.F8F6F4: NARROW,
    K.I8: {E.U8: 0, E.S8: 1},
    K.MXF8F6F4: NARROW,
    K.MXF4: {E.E2M1: 1},
    K.MXF4NVF4: {E.E2M1: 1},
}
OUTPUTS = {
    K.F16: {E.F16: 0, E.F32: 1},
    K.TF32: {E.F32: 1},
    K.F8F6F4: {E.F16: 0, E.F32: 1},
    K.I8: {E.S32: 2},
}
SCALES = {
    K.MXF8F6F4: {E.UE8M0: 1},
    K.MXF4: {E.UE8M0: 1},
    K.MXF4NVF4: {E.UE8M0: 1, E.UE4M3: 0},
}


def by_the_table(d: InstructionDescriptor) -> int:
    """The descriptor, bit by bit as the table of its kind has them."""
    fields = [
        (int(d.sparse), 2),
        (INPUTS[d.kind][d.a], 7),
        (INPUTS[d.kind][d.b], 10),
        (int(d.negate_a), 13),
        (int(d.negate_b), 14),
        (int(d.a_major is Major.MN), 15),
        (int(d.b_major is Major.MN), 16),
        (d.n // 8, 17),
    ]
    if d.kind in SCALED:
        assert d.scale is not None
        fields += [(d.sfb_id, 4), (SCALES[d.kind][d.scale], 23), (d.m // 128, 27), (d.sfa_id, 29)]
        fields += [(int(d.k96), 31)]
    else:
        assert d.d is not None
        fields += [(d.selector, 0), (int(d.saturate), 3), (OUTPUTS[d.kind][d.d], 4)]
        fields += [(d.m // 16, 24), (d.max_shift, 30)]
    return sum(value << low for value, low in fields)


@st.composite
def descriptors(draw: st.DrawFn) -> InstructionDescriptor:
    """Any descriptor that has an encoding, whether or not its shape exists."""
    kind = draw(st.sampled_from(DOCUMENTED))
    scaled = kind in SCALED
    inputs = st.sampled_from(list(INPUTS[kind]))
    major, flag, two_bits = st.sampled_from(Major), st.booleans(), st.integers(0, 3)
    return InstructionDescriptor(
        kind,
        m=draw(st.integers(0, 3).map(lambda n: n * 128))
        if scaled
        else draw(st.integers(0, 31).map(lambda n: n * 16)),
        n=draw(st.integers(0, 63)) * 8,
        a=draw(inputs),
        b=draw(inputs),
        d=None if scaled else draw(st.sampled_from(list(OUTPUTS[kind]))),
        a_major=draw(major),
        b_major=draw(major),
        negate_a=draw(flag),
        negate_b=draw(flag),
        sparse=draw(flag),
        selector=0 if scaled else draw(two_bits),
        saturate=not scaled and draw(flag),
        max_shift=0 if scaled else draw(two_bits),
        scale=draw(st.sampled_from(list(SCALES[kind]))) if scaled else None,
        sfa_id=draw(two_bits) if scaled else 0,
        sfb_id=draw(two_bits) if scaled else 0,
        k96=kind in FP4 and draw(flag),
    )


# ---- bits ------------------------------------------------------------------------------------


@examples(400)
@given(descriptors())
def test_encoding(descriptor: InstructionDescriptor):
    word = descriptor.encode()
    assert word == by_the_table(descriptor)
    assert 0 <= word < 1 << 32
    assert reserved_bits(word, descriptor.kind) == 0


@examples(400)
@given(descriptors())
def test_decoding_is_the_reverse(descriptor: InstructionDescriptor):
    assert InstructionDescriptor.decode(descriptor.encode(), descriptor.kind) == descriptor


@pytest.mark.parametrize(
    ("word", "kind", "m", "n", "types", "b_major"),
    [
        # Seen in what NVIDIA's tile compiler writes.
        (0x8210010, K.F16, 128, 128, (E.F32, E.F16, E.F16), Major.MN),
        (0x8410490, K.F16, 128, 256, (E.F32, E.BF16, E.BF16), Major.MN),
        (0x8210910, K.TF32, 128, 128, (E.F32, E.TF32, E.TF32), Major.MN),
        (0x10410010, K.F16, 256, 256, (E.F32, E.F16, E.F16), Major.MN),
        (0x4110010, K.F16, 64, 64, (E.F32, E.F16, E.F16), Major.MN),
        (0x8210010, K.F8F6F4, 128, 128, (E.F32, E.E4M3, E.E4M3), Major.MN),
        # 64 x 128 x 16 in bf16 with an f32 accumulator, both operands K-major.
        (0x4200490, K.F16, 64, 128, (E.F32, E.BF16, E.BF16), Major.K),
    ],
)
def test_descriptors_seen_elsewhere(
    word: int,
    kind: MmaKind,
    m: int,
    n: int,
    types: tuple[ElementType, ElementType, ElementType],
    b_major: Major,
):
    d, a, b = types
    expected = InstructionDescriptor(kind, m, n, a, b, d, b_major=b_major)
    assert expected.encode() == word
    assert InstructionDescriptor.decode(word, kind) == expected
    assert (
        InstructionDescriptor.decode(word, kind).problems(
            CtaGroup.TWO if m == 256 else CtaGroup.ONE
        )
        == []
    )


def test_a_transposed_a_is_bit_15():
    """The same with A MN-major."""
    word = InstructionDescriptor(K.F16, 64, 128, E.BF16, E.BF16, E.F32, a_major=Major.MN).encode()
    assert word == 0x4208490 == 0x4200490 | 1 << 15


RESERVED = {
    # Tables 42, 43 and 44: the rows called "Reserved".
    "plain": (6, 23, 29),
    "mxf8f6f4": (0, 1, 3, 6, 24, 25, 26, 31),
    "fp4": (0, 1, 3, 6, 12, 24, 25, 26),
}


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_reserved_bits(kind: MmaKind):
    table = "fp4" if kind in FP4 else "mxf8f6f4" if kind is K.MXF8F6F4 else "plain"
    expected = sum(1 << bit for bit in RESERVED[table])
    assert reserved_bits(0xFFFF_FFFF, kind) == expected
    assert len({format_of(k) for k in DOCUMENTED}) == 3


# ---- what has no code ------------------------------------------------------------------------


def plain(**changes: object) -> InstructionDescriptor:
    fields: dict[str, object] = {
        "kind": K.F16, "m": 128, "n": 128, "a": E.F16, "b": E.F16, "d": E.F32,
    }  # fmt: skip
    return InstructionDescriptor(**{**fields, **changes})


def scaled(kind: MmaKind = K.MXF8F6F4, **changes: object) -> InstructionDescriptor:
    input_type = E.E4M3 if kind is K.MXF8F6F4 else E.E2M1
    fields: dict[str, object] = {
        "kind": kind, "m": 128, "n": 128, "a": input_type, "b": input_type, "scale": E.UE8M0,
    }  # fmt: skip
    return InstructionDescriptor(**{**fields, **changes})


@each(
    "descriptor, what",
    [
        (plain(a=E.E4M3), "A of type e4m3"),
        (plain(b=E.TF32), "B of type tf32"),
        (plain(d=E.S32), "D of type s32"),
        (plain(d=None), "D of type none"),
        (plain(m=100), "M = 100"),
        (plain(m=512), "M = 512"),
        (plain(n=4), "N = 4"),
        (plain(n=512), "N = 512"),
        (plain(m=-16), "M = -16"),
        (scaled(scale=None), "type none"),
        (scaled(m=64), "M = 64"),
        (scaled(K.MXF4, a=E.E4M3), "A of type e4m3"),
    ],
)
def test_fields_without_a_code(descriptor: InstructionDescriptor, what: str):
    with pytest.raises(ValueError, match=what):
        descriptor.encode()


@pytest.mark.parametrize("kind", [K.MXF8F6F4, K.MXF4])
def test_scales_that_the_kind_does_not_take(kind: MmaKind):
    """Tables 43 and 44: ue4m3 belongs to mxf4nvf4 alone."""
    with pytest.raises(ValueError, match="ue4m3"):
        scaled(kind, scale=E.UE4M3).encode()
    with pytest.raises(ValueError, match="scale"):
        InstructionDescriptor.decode(scaled(kind).encode() & ~(1 << 23), kind)


@pytest.mark.parametrize(
    "descriptor",
    [plain(selector=4), plain(max_shift=4), scaled(sfa_id=4), scaled(sfb_id=4), scaled(sfa_id=-1)],
    ids=["selector", "max_shift", "sfa_id", "sfb_id", "negative sfa_id"],
)
def test_fields_of_two_bits(descriptor: InstructionDescriptor):
    """A larger number would spill into the field above it."""
    with pytest.raises(ValueError, match="="):
        descriptor.encode()


@pytest.mark.parametrize(
    ("kind", "low", "code"),
    [(K.F16, 7, 2), (K.TF32, 7, 0), (K.F8F6F4, 10, 2), (K.I8, 7, 3), (K.F16, 4, 2), (K.MXF4, 7, 0)],
)
def test_type_codes_that_mean_nothing(kind: MmaKind, low: int, code: int):
    good = (scaled(kind) if kind in SCALED else _first(kind)).encode()
    width = 3 if low == 4 else 7
    with pytest.raises(ValueError, match=f"code {code} "):
        InstructionDescriptor.decode(good & ~(width << low) | code << low, kind)


def _first(kind: MmaKind) -> InstructionDescriptor:
    input_type, output = next(iter(INPUTS[kind])), next(iter(OUTPUTS[kind]))
    return InstructionDescriptor(kind, 128, 128, input_type, input_type, output)


def test_a_kind_that_the_manual_does_not_describe():
    with pytest.raises(ValueError, match="kind::ti16"):
        InstructionDescriptor.decode(0, K.TI16)


# ---- shapes ----------------------------------------------------------------------------------


def table_39(kind: MmaKind, group: int, *, sparse: bool, ws: bool) -> tuple[set[int], set[int]]:
    """The values of M and of N that exist."""
    if ws:
        if kind in SCALED or group == 2:
            return set(), set()
        return {32, 64, 128}, {64, 128} if sparse else {64, 128, 256}
    if kind in SCALED:
        rows = {128} if group == 1 else {256} if sparse else {128, 256}
    else:
        rows = {64, 128} if group == 1 else {128, 256}
    if kind is K.I8 and group == 1:
        return rows, {8, 16, 24, 32, *range(48, 257, 16)}
    step = 32 if kind is K.I8 else 8 * group
    return rows, set(range(step, 257, step))


CASES = list(itertools.product(DOCUMENTED, (1, 2), (False, True), (False, True)))


@each("kind, group, sparse, ws", CASES)
def test_the_shapes_that_exist(kind: MmaKind, group: int, sparse: bool, ws: bool):
    rows, columns = table_39(kind, group, sparse=sparse, ws=ws)
    cta_group = CtaGroup.ONE if group == 1 else CtaGroup.TWO
    some = next(iter(columns), 128)
    base = scaled(kind) if kind in SCALED else _first(kind)
    for m in range(16, 513, 16):
        shape = _shaped(base, m, some, sparse=sparse)
        wrong = [p for p in shape.problems(cta_group, ws=ws) if p.rule == "shape-m"]
        assert (not wrong) is (m in rows), m
        assert all(p.got == str(m) and p.expected for p in wrong)
    for n in range(8, 513, 8):
        shape = _shaped(base, next(iter(rows), 128), n, sparse=sparse)
        wrong = [p for p in shape.problems(cta_group, ws=ws) if p.rule.startswith("shape")]
        assert (not wrong) is (n in columns), n
    if columns and not ws:
        assert set(n_values(kind, group, sparse=sparse)) == columns


def _shaped(base: InstructionDescriptor, m: int, n: int, *, sparse: bool) -> InstructionDescriptor:
    return InstructionDescriptor(
        base.kind, m, n, base.a, base.b, base.d, sparse=sparse, scale=base.scale
    )


@pytest.mark.parametrize(
    ("kind", "k"),
    [(K.F16, 16), (K.TF32, 8), (K.F8F6F4, 32), (K.I8, 32), (K.MXF8F6F4, 32), (K.MXF4, 64),
     (K.MXF4NVF4, 64)],
)  # fmt: skip
def test_k(kind: MmaKind, k: int):
    """32 bytes of A a row; twice as many elements when half of them are left out."""
    base = scaled(kind) if kind in SCALED else _first(kind)
    assert base.k == DENSE_K[kind] == k
    assert _shaped(base, 128, 128, sparse=True).k == 2 * k


def test_k_of_96():
    assert scaled(K.MXF4, k96=True).k == 96
    assert scaled(K.MXF4NVF4, k96=True).encode() >> 31 == 1


def rules(descriptor: InstructionDescriptor, group: CtaGroup = CtaGroup.ONE) -> set[str]:
    return {p.rule for p in descriptor.problems(group)}


@each("kind", DOCUMENTED)
@each("side", ["a", "b"])
def test_who_transposes_and_who_negates(kind: MmaKind, side: str):
    """Table 49: no transposition of 4-bit types, no negation of integers."""
    base = scaled if kind in SCALED else None
    transposed = {f"{side}_major": Major.MN}
    negated = {f"negate_{side}": True}
    make = (lambda **c: base(kind, **c)) if base else (lambda **c: _changed(_first(kind), **c))
    assert ("transpose" in rules(make(**transposed))) is (kind in FP4)
    assert ("negate" in rules(make(**negated))) is (kind is K.I8)


def _changed(base: InstructionDescriptor, **changes: object) -> InstructionDescriptor:
    return dataclasses.replace(base, **changes)


def test_a_half_accumulator_takes_half_inputs():
    """Table 39, kind::f16: D of .f16 goes with A and B of .f16, not with .bf16."""
    assert plain(d=E.F16).problems() == []
    assert plain(d=E.F16, a=E.BF16, b=E.BF16).problems() != []


@pytest.mark.parametrize(
    ("group", "m", "sparse", "there"),
    [
        (CtaGroup.TWO, 256, False, True),
        (CtaGroup.TWO, 128, False, False),
        (CtaGroup.ONE, 128, False, False),
        (CtaGroup.TWO, 256, True, False),
    ],
)
def test_where_k_of_96_exists(group: CtaGroup, m: int, sparse: bool, there: bool):
    """Table 39: a CTA pair, 256 rows, dense."""
    descriptor = scaled(K.MXF4, m=m, k96=True, sparse=sparse)
    assert (descriptor.problems(group) == []) is there


# ---- in words --------------------------------------------------------------------------------


@examples(100)
@given(descriptors())
def test_an_explanation_covers_the_bits_that_are_not_reserved(descriptor: InstructionDescriptor):
    covered = 0
    for bits, _, meaning in descriptor.explain():
        low, _, high = bits.partition("-")
        for bit in range(int(low), int(high or low) + 1):
            assert not covered >> bit & 1, bits
            covered |= 1 << bit
        assert meaning
    assert covered == 0xFFFF_FFFF & ~reserved_bits(0xFFFF_FFFF, descriptor.kind)


def test_a_descriptor_in_words():
    text = str(InstructionDescriptor.decode(0x4208490, K.F16))
    assert text == "M64 N128 K16 f32 <- bf16 x bf16, MN-major x K-major"
