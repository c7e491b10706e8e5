"""Floating-point arithmetic by fractions: what IEEE 754 says, from its definition.

A format is its significand's bits and its exponents; a number is a fraction, or one of the words
`nan`, `+inf`, `-inf`, and of a zero the sign counts.  Nothing of nvgen's is used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Kind:
    """A binary format: width, bits of the significand (the hidden one too), least exponent."""

    width: int
    precision: int
    least: int  # of a normal number

    @property
    def exponents(self) -> int:
        return self.width - self.precision

    @property
    def largest(self) -> Fraction:
        top = (1 << self.exponents - 1) - 1
        return (2 - Fraction(1, 1 << self.precision - 1)) * Fraction(2) ** top

    @property
    def infinity(self) -> int:
        return ((1 << self.exponents) - 1) << self.precision - 1


HALF = Kind(16, 11, -14)
BFLOAT = Kind(16, 8, -126)
FLOAT = Kind(32, 24, -126)
DOUBLE = Kind(64, 53, -1022)
KINDS = {"half": HALF, "bfloat": BFLOAT, "float": FLOAT, "double": DOUBLE}


@dataclass(frozen=True)
class Number:
    """A value with its sign: finite, or infinite, or none."""

    negative: bool
    size: Fraction | None  # None: infinite
    nan: bool = False

    @property
    def value(self) -> Fraction:
        assert self.size is not None
        return -self.size if self.negative else self.size

    @property
    def infinite(self) -> bool:
        return self.size is None and not self.nan


NAN = Number(False, None, True)


def read(bits: int, kind: Kind) -> Number:
    """The number that a pattern stands for."""
    negative = bool(bits >> kind.width - 1)
    size = bits & (1 << kind.width - 1) - 1
    if size > kind.infinity:
        return NAN
    if size == kind.infinity:
        return Number(negative, None)
    exponent, fraction = divmod(size, 1 << kind.precision - 1)
    significand = Fraction(fraction, 1 << kind.precision - 1) + (1 if exponent else 0)
    return Number(negative, significand * Fraction(2) ** (kind.least + max(exponent, 1) - 1))


def write(number: Number, kind: Kind, mode: str = "rn") -> int:
    """The pattern of the nearest number in the direction of `mode`; -1 for a NaN."""
    if number.nan:
        return -1
    sign = number.negative << kind.width - 1
    if number.size is None:
        return sign | kind.infinity
    if number.size == 0:
        return sign
    exponent = _exponent(number.size)
    quantum = Fraction(2) ** (max(exponent, kind.least) - kind.precision + 1)
    steps = whole(number.size / quantum, mode, negative=number.negative)
    rounded = steps * quantum
    if rounded > kind.largest:
        inward = {"rz": True, "rm": not number.negative, "rp": number.negative}.get(mode, False)
        return sign | kind.infinity - inward
    return sign | _size_bits(rounded, kind)


def write_flushed(number: Number, kind: Kind) -> int:
    """The pattern of the nearest number, a zero of its sign in place of a subnormal one.

    What is subnormal is told by the number rounded to the significand's bits whatever its exponent,
    as an H200 does: a product just below the least normal number is not rounded up to it.
    """
    if number.size:
        quantum = Fraction(2) ** (_exponent(number.size) - kind.precision + 1)
        if whole(number.size / quantum, "rn", negative=number.negative) * quantum < (
            Fraction(2) ** kind.least
        ):
            return number.negative << kind.width - 1
    return write(number, kind)


def _exponent(size: Fraction) -> int:
    """The power of two at or just below a positive size."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def _size_bits(size: Fraction, kind: Kind) -> int:
    """A positive number of the format as bits, by its place among all of them."""
    exponent = max(_exponent(size), kind.least) if size else kind.least
    steps = size / Fraction(2) ** (exponent - kind.precision + 1)
    assert steps.denominator == 1
    return (exponent - kind.least) * (1 << kind.precision - 1) + steps.numerator


def whole(size: Fraction, mode: str, *, negative: bool) -> int:
    """A size as a whole number: rn, rz, rm, rp, and rna for halves away from zero."""
    down = size.numerator // size.denominator
    rest = size - down
    match mode:
        case "rn":
            return down + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1))
        case "rna":
            return down + (rest >= Fraction(1, 2))
        case "rm":
            return down + (rest > 0 and negative)
        case "rp":
            return down + (rest > 0 and not negative)
    return down


# ---- operations ------------------------------------------------------------------------------


def add(a: Number, b: Number, mode: str = "rn") -> Number:
    if a.nan or b.nan or (a.infinite and b.infinite and a.negative != b.negative):
        return NAN
    if a.infinite or b.infinite:
        return a if a.infinite else b
    total = a.value + b.value
    if total == 0:
        both = a.negative and b.negative
        return Number(a.negative if a.negative == b.negative else mode == "rm" or both, total)
    return Number(total < 0, abs(total))


def negative(a: Number) -> Number:
    return a if a.nan else Number(not a.negative, a.size)


def multiply(a: Number, b: Number) -> Number:
    if a.nan or b.nan or (a.infinite and b.size == 0) or (b.infinite and a.size == 0):
        return NAN
    sign = a.negative != b.negative
    if a.size is None or b.size is None:
        return Number(sign, None)
    return Number(sign, a.size * b.size)


def divide(a: Number, b: Number) -> Number:
    if a.nan or b.nan or (a.infinite and b.infinite) or (a.size == 0 and b.size == 0):
        return NAN
    sign = a.negative != b.negative
    if a.infinite or b.size == 0:
        return Number(sign, None)
    if a.size is None or b.size is None:
        return Number(sign, Fraction(0))
    return Number(sign, a.size / b.size)


def remainder(a: Number, b: Number) -> Number:
    """C's fmod: the quotient is cut to an integer, the sign is the dividend's."""
    if a.nan or b.nan or a.infinite or b.size == 0:
        return NAN
    if b.size is None or a.size is None:
        return a
    return Number(a.negative, a.size % b.size)


def root(a: Number, kind: Kind, mode: str) -> int:
    """The square root's pattern: the two neighbours' squares tell on which side it lies."""
    if a.nan or (a.negative and a.size != 0):
        return -1
    if a.size is None or a.size == 0:
        return write(a, kind)
    scale = 4 * kind.precision + 8
    shift = scale + (a.size.denominator.bit_length() | 1) * 2
    scaled = a.size * Fraction(4) ** shift
    below = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(below * below) == scaled
    # a little above the cut root, as far as any rounding can tell
    size = (Fraction(below) + (0 if exact else Fraction(1, 2))) / Fraction(2) ** shift
    return write(Number(False, size), kind, mode)
