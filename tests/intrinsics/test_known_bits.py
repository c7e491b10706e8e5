"""Known bits: whatever the unknown ones are, what is said to be known of a result holds.

Two words are drawn with a number that each may be; the operation on the numbers, in Python's
integers, must agree with the result in every bit that is said to be known.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrinsics import known_bits as kb
from intrinsics.known_bits import UNKNOWN, KnownBits, exactly

ALL = (1 << 64) - 1
WORDS = st.one_of(
    st.integers(0, ALL),
    st.integers(0, 255),
    st.sampled_from([0, 1, ALL, 1 << 63, 0x3FFF, 64 << 32]),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, KnownBits]:
    """A number, and what is known of it."""
    number, mask = draw(WORDS), draw(WORDS)
    return number, KnownBits(mask, number & mask)


def agrees(number: int, known: KnownBits) -> bool:
    return (number ^ known.value) & known.mask == 0 and known.value & ~known.mask == 0


BINARY: dict[str, tuple[Callable[[KnownBits, KnownBits], KnownBits], Callable[[int, int], int]]] = {
    "and": (kb.conjunction, lambda x, y: x & y),
    "or": (kb.disjunction, lambda x, y: x | y),
    "xor": (kb.difference_of_bits, lambda x, y: x ^ y),
    "add": (kb.total, lambda x, y: x + y),
    "sub": (kb.difference, lambda x, y: x - y),
    "mul": (kb.product, lambda x, y: x * y),
}


@pytest.mark.parametrize("name", BINARY)
@given(a=pairs(), b=pairs())
def test_two_operands(name: str, a: tuple[int, KnownBits], b: tuple[int, KnownBits]) -> None:
    ours, meant = BINARY[name]
    wanted = meant(a[0], b[0]) & ALL
    assert agrees(wanted, ours(a[1], b[1]))
    assert ours(exactly(a[0]), exactly(b[0])) == exactly(wanted)


@given(a=pairs(), count=st.integers(0, 80))
def test_shifts(a: tuple[int, KnownBits], count: int) -> None:
    number, known = a
    assert agrees(number << count & ALL, kb.shifted_left(known, count))
    assert agrees(number >> count, kb.shifted_right(known, count))


@given(a=pairs(), width=st.sampled_from([8, 16, 32, 64]))
def test_extensions(a: tuple[int, KnownBits], width: int) -> None:
    number, known = a
    low = number & (1 << width) - 1
    assert agrees(low, known.low(width))
    signed = low - (1 << width) if low >> width - 1 else low
    assert agrees(signed & ALL, known.signed(width))
    assert agrees(~number & ALL, kb.inverse(known))


@given(a=pairs(), b=pairs(), c=pairs(), table=st.integers(0, 255))
def test_logic_by_table(
    a: tuple[int, KnownBits], b: tuple[int, KnownBits], c: tuple[int, KnownBits], table: int
) -> None:
    """lop3: 0xF0, 0xCC and 0xAA are the tables of its inputs themselves."""
    wanted = sum(
        (table >> ((a[0] >> i & 1) << 2 | (b[0] >> i & 1) << 1 | c[0] >> i & 1) & 1) << i
        for i in range(64)
    )
    assert agrees(wanted, kb.by_table(table, [a[1], b[1], c[1]]))
    assert kb.by_table(0xF0, [a[1], b[1], c[1]]) == a[1]
    assert kb.by_table(0xCC, [a[1], b[1], c[1]]) == b[1]
    assert kb.by_table(0xAA, [a[1], b[1], c[1]]) == c[1]


@given(a=pairs(), b=pairs())
def test_what_holds_of_both_holds_of_each(
    a: tuple[int, KnownBits], b: tuple[int, KnownBits]
) -> None:
    both = kb.meet(a[1], b[1])
    assert agrees(a[0], both)
    assert agrees(b[0], both)


def test_the_address_part_of_a_descriptor_alone_is_unknown() -> None:
    """An address of 18 bits, cut and shifted, beside constants; then a step of 32 bytes."""
    field = kb.shifted_right(kb.conjunction(UNKNOWN, exactly(0x3FFFF)), 4)
    word = kb.disjunction(field, exactly(2 << 61 | 1 << 46 | 64 << 32 | 1 << 16))
    assert [word.field(*f) for f in ((0, 14), (14, 2), (16, 14), (32, 14), (61, 3))] == [
        None, 0, 1, 64, 2,
    ]  # fmt: skip
    step = kb.total(word, exactly(2))
    assert step.field(14, 1) is None  # a carry may come here, and no further
    assert [step.field(*f) for f in ((15, 1), (16, 14), (32, 14))] == [0, 1, 64]


def test_the_end_of_a_product_is_known() -> None:
    """A stage of a ring times 16 KiB: a multiple of it."""
    stage = UNKNOWN.low(2)
    found = kb.product(stage, exactly(16384))
    assert found.field(0, 14) == 0
    assert found.field(16, 48) == 0
    assert found.field(14, 2) is None


def test_a_multiple_of_the_alignment() -> None:
    assert kb.multiple_of(1024, 48).field(0, 10) == 48
    assert kb.multiple_of(1024).field(0, 11) is None
