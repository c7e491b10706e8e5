"""IEEE 754 arithmetic on bit patterns, one number at a time, with every rounding mode.

Layer: nvgen.sim.  Input: bits in a format.  Output: bits, rounded once from the exact value, which
is a whole number times a power of two; quotients and roots are cut with a few bits to spare and a
mark that says that something was cut off.
IEEE 754-2019, 4.3 Rounding-direction attributes; PTX ISA, Floating Point Instructions.
"""

from __future__ import annotations

import math

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Rounding

_INTEGRAL = {
    Rounding.RNI: Rounding.RN,
    Rounding.RZI: Rounding.RZ,
    Rounding.RMI: Rounding.RM,
    Rounding.RPI: Rounding.RP,
}


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: bits in all, bits of the significand with the hidden one, exponent bias.

    Formats without infinities use all exponents for numbers; the top `reserved` patterns are NaN.
    """

    bits: int
    precision: int
    bias: int
    infinities: bool = True
    reserved: int = 0

    @property
    def fraction(self) -> int:
        """Bits of the fraction."""
        return self.precision - 1

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        """Infinity's bits (or what would be)."""
        top = (1 << self.bits - 1 - self.fraction) - 1
        return top << self.fraction

    @property
    def largest(self) -> int:
        """The largest finite number's bits."""
        if self.infinities:
            return self.infinity - 1
        return self.sign - 1 - self.reserved

    @property
    def nan(self) -> int:
        """The canonical NaN: all bits but the sign."""
        return self.sign - 1

    @property
    def quantum(self) -> int:
        """The exponent of the lowest bit of a subnormal number."""
        return 1 - self.bias - self.fraction


F16 = Format(16, 11, 15)
BF16 = Format(16, 8, 127)
TF32 = Format(19, 11, 127)
F32 = Format(32, 24, 127)
F64 = Format(64, 53, 1023)
E5M2 = Format(8, 3, 15)
E4M3 = Format(8, 4, 7, infinities=False, reserved=1)
E3M2 = Format(6, 3, 3, infinities=False)
E2M3 = Format(6, 4, 1, infinities=False)
E2M1 = Format(4, 2, 1, infinities=False)


def is_nan(bits: int, f: Format) -> bool:
    """Whether a pattern is a NaN."""
    size = bits & (f.sign - 1)
    return size > (f.infinity if f.infinities else f.largest)


def is_infinite(bits: int, f: Format) -> bool:
    """Whether a pattern is an infinity."""
    return f.infinities and bits & (f.sign - 1) == f.infinity


def decode(bits: int, f: Format) -> tuple[int, int, int]:
    """Sign, significand and exponent of a finite number: ±m·2^e."""
    field = bits >> f.fraction & (1 << f.bits - 1 - f.fraction) - 1
    m = bits & (1 << f.fraction) - 1
    sign = bits >> f.bits - 1 & 1
    return (sign, m | 1 << f.fraction, f.quantum + field - 1) if field else (sign, m, f.quantum)


def _rounds_up(rest: int, half: int, odd: int, sign: int, mode: Rounding) -> bool:
    """Whether what is cut off (against a half of the last place) adds one to the last place."""
    match mode:
        case Rounding.RN:
            return rest > half or (rest == half and bool(odd))
        case Rounding.RNA:
            return rest >= half
        case Rounding.RM:
            return bool(sign and rest)
        case Rounding.RP:
            return bool(not sign and rest)
    return False


def encode(sign: int, m: int, e: int, f: Format, mode: Rounding, *, cut: bool = False) -> int:
    """±m·2^e rounded to a format; `cut` says that the exact value is a little larger than m."""
    signed = sign << f.bits - 1
    if m == 0 and not cut:
        return signed
    # one more bit holds what was cut off
    m, e = m << 2 | cut, e - 2
    lowest = max(e + m.bit_length() - f.precision, f.quantum)
    drop = lowest - e
    if drop <= 0:
        kept = m << -drop
    else:
        rest, kept = m & (1 << drop) - 1, m >> drop
        kept += _rounds_up(2 * rest, 1 << drop, kept & 1, sign, mode)
        if kept.bit_length() > f.precision:
            kept, lowest = kept >> 1, lowest + 1
    if kept < 1 << f.fraction:
        return signed | kept
    size = (lowest - f.quantum + 1 << f.fraction) + kept - (1 << f.fraction)
    if size <= f.largest:
        return signed | size
    outward = {Rounding.RZ: False, Rounding.RM: bool(sign), Rounding.RP: not sign}
    return signed | (f.infinity if outward.get(mode, True) and f.infinities else f.largest)


# ---- arithmetic ------------------------------------------------------------------------------


def _zero(sign_a: int, sign_b: int, mode: Rounding) -> int:
    """The sign of an exact zero that is a sum."""
    if sign_a == sign_b:
        return sign_a
    return int(mode is Rounding.RM)


def multiply_add(
    a: int, b: int, c: int, f: Format, mode: Rounding, *, product_only: bool = False
) -> int:
    """a·b + c rounded once; with `product_only` a·b."""
    if is_nan(a, f) or is_nan(b, f) or (not product_only and is_nan(c, f)):
        return f.nan
    sign = (a ^ b) >> f.bits - 1 & 1
    if is_infinite(a, f) or is_infinite(b, f):
        zero = not (a & f.sign - 1 and b & f.sign - 1)
        against = not product_only and is_infinite(c, f) and c >> f.bits - 1 != sign
        return f.nan if zero or against else sign << f.bits - 1 | f.infinity
    if not product_only and is_infinite(c, f):
        return c
    (_, m, e), (_, n, k) = decode(a, f), decode(b, f)
    m, e = m * n, e + k
    if product_only:
        return encode(sign, m, e, f, mode)
    return _sum((sign, m, e), decode(c, f), f, mode)


def add(a: int, b: int, f: Format, mode: Rounding) -> int:
    """a + b."""
    if is_nan(a, f) or is_nan(b, f):
        return f.nan
    if is_infinite(a, f):
        return f.nan if is_infinite(b, f) and a != b else a
    if is_infinite(b, f):
        return b
    return _sum(decode(a, f), decode(b, f), f, mode)


def _sum(a: tuple[int, int, int], b: tuple[int, int, int], f: Format, mode: Rounding) -> int:
    lowest = min(a[2], b[2])
    x, y = ((-m if s else m) << e - lowest for s, m, e in (a, b))
    total = x + y
    if total == 0:
        return _zero(a[0], b[0], mode) << f.bits - 1
    return encode(int(total < 0), abs(total), lowest, f, mode)


def divide(a: int, b: int, f: Format, mode: Rounding) -> int:
    """a / b."""
    sign = (a ^ b) >> f.bits - 1 & 1
    signed = sign << f.bits - 1
    zero_a, zero_b = not a & f.sign - 1, not b & f.sign - 1
    infinite_a, infinite_b = is_infinite(a, f), is_infinite(b, f)
    if is_nan(a, f) or is_nan(b, f) or (zero_a and zero_b) or (infinite_a and infinite_b):
        return f.nan
    if infinite_a or zero_b:
        return signed | f.infinity
    if infinite_b or zero_a:
        return signed
    (_, m, e), (_, n, k) = decode(a, f), decode(b, f)
    spare = 2 * f.precision + 4
    quotient, rest = divmod(m << spare, n)
    return encode(sign, quotient, e - k - spare, f, mode, cut=rest != 0)


def square_root(a: int, f: Format, mode: Rounding) -> int:
    """The square root; of -0 it is -0."""
    if is_nan(a, f) or not a & f.sign - 1:
        return f.nan if is_nan(a, f) else a
    if a & f.sign:
        return f.nan
    if is_infinite(a, f):
        return a
    _, m, e = decode(a, f)
    spare = 2 * f.precision + 4 + (e & 1)
    m, e = m << spare, e - spare
    root = math.isqrt(m)
    return encode(0, root, e // 2, f, mode, cut=root * root != m)


# ---- conversions -----------------------------------------------------------------------------


def convert(bits: int, source: Format, to: Format, mode: Rounding) -> int:
    """A number in another format."""
    if is_nan(bits, source):
        return to.nan
    sign = bits >> source.bits - 1 & 1
    if is_infinite(bits, source):
        return sign << to.bits - 1 | (to.infinity if to.infinities else to.largest)
    _, m, e = decode(bits, source)
    return encode(sign, m, e, to, mode)


def from_integer(value: int, to: Format, mode: Rounding) -> int:
    """An integer as a number of a format."""
    return encode(int(value < 0), abs(value), 0, to, mode)


def to_integer(bits: int, f: Format, mode: Rounding) -> int:
    """The integer that a finite number is rounded to."""
    sign, m, e = decode(bits, f)
    mode = _INTEGRAL.get(mode, mode)
    if e >= 0:
        whole = m << e
    else:
        rest, whole = m & (1 << -e) - 1, m >> -e
        whole += _rounds_up(2 * rest, 1 << -e, whole & 1, sign, mode)
    return -whole if sign else whole
