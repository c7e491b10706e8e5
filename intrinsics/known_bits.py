"""Words of which only some bits are known, and what arithmetic leaves known of them.

Layer: intrinsics.  A descriptor is often a constant, whose address part alone is computed: every
bit is known, or unknown, for itself.  Numbers have up to 64 bits; a shorter one is its own zero
extension, whose upper bits are known to be 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WIDTH = 64
_ALL = (1 << WIDTH) - 1


class KnownBits(NamedTuple):
    """`mask` has a 1 for each bit that is known; `value` are these bits, with 0 for the others."""

    mask: int
    value: int

    @property
    def number(self) -> int | None:
        """The whole number, None when a bit of it is not known."""
        return self.value if self.mask == _ALL else None

    @property
    def most(self) -> int:
        """The largest number that it may be."""
        return self.value | (_ALL & ~self.mask)

    def field(self, first: int, width: int) -> int | None:
        """`width` bits from bit `first` on, None when one of them is not known."""
        bits = (1 << width) - 1
        return self.value >> first & bits if self.mask >> first & bits == bits else None

    def low(self, bits: int) -> KnownBits:
        """Its lowest bits, with zeros above them."""
        kept = (1 << bits) - 1
        return KnownBits(self.mask | _ALL & ~kept, self.value & kept)

    def signed(self, bits: int) -> KnownBits:
        """Its lowest bits, with copies of the last of them above."""
        kept = (1 << bits - 1) - 1
        if not self.mask >> bits - 1 & 1:
            return KnownBits(self.mask & kept, self.value & kept)
        above = _ALL & ~kept if self.value >> bits - 1 & 1 else 0
        return KnownBits(self.mask | _ALL & ~kept, self.value & kept | above)


UNKNOWN = KnownBits(0, 0)


def exactly(number: int) -> KnownBits:
    """A number all of whose bits are known; a negative one in two's complement."""
    return KnownBits(_ALL, number & _ALL)


def multiple_of(power: int, rest: int = 0) -> KnownBits:
    """A number of which no more is known than what it leaves when divided by a power of two."""
    return KnownBits(power - 1, rest & (power - 1))


def meet(a: KnownBits, b: KnownBits) -> KnownBits:
    """The bits that are known, and equal, in both."""
    if a == b:
        return a
    mask = a.mask & b.mask & ~(a.value ^ b.value)
    return KnownBits(mask, a.value & mask)


def conjunction(a: KnownBits, b: KnownBits) -> KnownBits:
    """a & b."""
    mask = a.mask & b.mask | a.mask & ~a.value | b.mask & ~b.value
    return KnownBits(mask, a.value & b.value)


def disjunction(a: KnownBits, b: KnownBits) -> KnownBits:
    """a | b."""
    return KnownBits(a.mask & b.mask | a.value | b.value, a.value | b.value)


def difference_of_bits(a: KnownBits, b: KnownBits) -> KnownBits:
    """a ^ b."""
    mask = a.mask & b.mask
    return KnownBits(mask, (a.value ^ b.value) & mask)


def inverse(a: KnownBits) -> KnownBits:
    """All bits the other way round."""
    return KnownBits(a.mask, ~a.value & a.mask)


def total(a: KnownBits, b: KnownBits, carry: int = 0) -> KnownBits:
    """a + b + carry: a bit is known where both bits and the carry into it are."""
    least = a.value + b.value + carry & _ALL
    most = a.most + b.most + carry & _ALL
    no_carry = ~(most ^ a.most ^ b.most)
    carried = least ^ a.value ^ b.value
    mask = a.mask & b.mask & (no_carry | carried) & _ALL
    return KnownBits(mask, least & mask)


def difference(a: KnownBits, b: KnownBits) -> KnownBits:
    """a - b."""
    return total(a, inverse(b), 1)


def product(a: KnownBits, b: KnownBits) -> KnownBits:
    """a * b: known are its zeros at either end, unless both numbers are."""
    if a.number is not None and b.number is not None:
        return exactly(a.number * b.number)
    zeros = (1 << min(_trailing_zeros(a) + _trailing_zeros(b), WIDTH)) - 1
    above = (a.most * b.most).bit_length()
    return KnownBits((zeros | _ALL & ~((1 << above) - 1)) & _ALL, 0)


def _trailing_zeros(a: KnownBits) -> int:
    """How many bits at the low end are known to be 0."""
    perhaps = a.most
    return (perhaps & -perhaps).bit_length() - 1 if perhaps else WIDTH


def shifted_left(a: KnownBits, count: int) -> KnownBits:
    """a << count."""
    count = min(count, WIDTH)
    return KnownBits((a.mask << count | (1 << count) - 1) & _ALL, a.value << count & _ALL)


def shifted_right(a: KnownBits, count: int) -> KnownBits:
    """a >> count, zeros coming in."""
    count = min(count, WIDTH)
    return KnownBits(a.mask >> count | _ALL & ~(_ALL >> count), a.value >> count)


def by_table(table: int, inputs: Sequence[KnownBits]) -> KnownBits:
    """The logical operation of three inputs that `table` gives, as lop3 has it.

    Bit i of `table` is the result where the inputs are the bits of i, the first the highest.
    """
    may_be = [0, 0]
    for i in range(8):
        possible = _ALL
        for place, word in zip((4, 2, 1), inputs, strict=True):
            possible &= word.most if i & place else ~word.value
        may_be[table >> i & 1] |= possible
    mask = _ALL & ~(may_be[0] & may_be[1])
    return KnownBits(mask, may_be[1] & mask)
