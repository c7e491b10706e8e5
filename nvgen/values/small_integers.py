"""Integers of 8 and of 4 bits, and E2M1, as f16 or bf16, without instructions that convert.

Layer: nvgen.values.  A byte under the exponent of 1024 (of bf16: 128) is a floating-point number,
from which that power of two is subtracted.  Of bf16 seven bits have room; the eighth, in a number
of its own, chooses what is subtracted.  E2M1 in the place of sign, last bits of the exponent and
first bit of the mantissa lacks the difference of the two biases, a power of two, which multiplies
it.  Every step is exact.  PTX ISA, prmt; sub; mul.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.modifiers import ScalarType
from nvgen.values.number_types import PAIR_OF, called, constant
from nvgen.values.numbers import Float, Int, number_of

T = ScalarType

_UNIT = {T.F16: 1024, T.BF16: 128}
"""The power of two whose last bit of the mantissa is worth 1."""

_HIGH = {T.F16: 0x64, T.BF16: 0x43}
"""The upper byte of that number; its lower byte is 0."""

_E2M1 = {T.F16: (9, 2.0**14), T.BF16: (6, 2.0**126)}
"""How far E2M1 is shifted to its place, and the power of two that it lacks there."""

_TWO = 0x00010001
"""A number of 16 bits, times this, twice in a word."""

_FOUR = 0x01010101
"""A byte, times this, four times in a word."""


def halves_of(word: Int, type_: ScalarType, *, signed: bool, packed: bool) -> Iterator[Float]:
    """The four integers of a register, or the eight of four bits each, as pairs of `type_`."""
    return _of_nibbles(word, type_, signed) if packed else _of_bytes(word, type_, signed)


def _of_bytes(word: Int, type_: ScalarType, signed: bool) -> Iterator[Float]:
    flipped = word ^ 0x80 * _FOUR if signed and type_ is T.F16 else word
    for i in (0, 1):
        spread = _chosen(flipped, _HIGH[type_] * _FOUR, 0x4140 + 0x0202 * i)
        if type_ is T.F16:
            yield _pair(spread, type_) - (_UNIT[type_] + 0x80 * signed)
            continue
        seven, eighth = (_pair(spread & kept * _TWO, type_) for kept in (0xFF7F, 0xFF80))
        yield seven - eighth if signed else seven + (eighth - 2 * _UNIT[type_])


def _of_nibbles(word: Int, type_: ScalarType, signed: bool) -> Iterator[Float]:
    sign = 8 * signed  # flipped, it makes of -8 to 7 the numbers 0 to 15
    upper = word >> 4
    for i in range(4):
        nibbles = _chosen(word, upper, 0x4400 + 0x1111 * i) & 0xF * _TWO
        yield _pair(nibbles ^ (_HIGH[type_] << 8 | sign) * _TWO, type_) - (_UNIT[type_] + sign)


def halves_of_e2m1(word: Int, type_: ScalarType) -> Iterator[Float]:
    """The eight numbers in E2M1 of a register, as pairs of `type_`."""
    upper, (places, factor) = word >> 4, _E2M1[type_]
    for i in range(4):
        nibbles = _chosen(word, upper, 0x4400 + 0x1111 * i)
        signs, numbers = nibbles << 12 & 0x8000 * _TWO, nibbles << places & (7 << places) * _TWO
        yield _pair(signs | numbers, type_) * factor


def _chosen(low: Int, high: Int | int, way: int) -> Int:
    """Four of the eight bytes of two words."""
    other = high.value if isinstance(high, Int) else constant(high, 32)
    return low.like(called(low.builder, "llvm.nvvm.prmt", low.value, other, constant(way, 32)))


def _pair(word: Int, type_: ScalarType) -> Float:
    found = number_of(word.builder, word.value, PAIR_OF[type_])
    assert isinstance(found, Float)
    return found
