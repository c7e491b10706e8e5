"""Integer instructions, evaluated in each lane where their operands are known.

Layer: isel.verifier.ordering.  Input: a record, and numbers for its operands.  Integers are kept
without a sign, as bits.  PTX ISA, Integer Arithmetic, Comparison and Selection, Logic and Shift
Instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import BoolOp, Compare
from isel.verifier.function.flow.integers import COMPARISONS, reader, signed, typed
from isel.verifier.ordering.integers.numbers import Number, lanes_of, lanewise, packed

Operation: TypeAlias = Callable[..., int]


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def _binary(operation: Callable[[int, int], int], *, by_type: bool = False, wide: bool = False):  # type: ignore[no-untyped-def]
    def make(mi: MachineInstr) -> Operation:
        type_ = mi.scalar_type()
        mask = _mask(type_.bits * (2 if wide else 1))
        if by_type or wide:
            read = reader(type_)
            return lambda a, b: operation(read(a), read(b)) & mask
        return lambda a, b: operation(a, b) & mask

    return make


def _multiply_add(*, wide: bool) -> Callable[[MachineInstr], Operation]:
    def make(mi: MachineInstr) -> Operation:
        type_ = mi.scalar_type()
        mask = _mask(type_.bits * (2 if wide else 1))
        read = reader(type_)
        return lambda a, b, c: (read(a) * read(b) + c) & mask

    return make


def _high(mi: MachineInstr) -> Operation:
    type_ = mi.scalar_type()
    mask = _mask(type_.bits)
    return lambda a, b: (typed(type_, a) * typed(type_, b) >> type_.bits) & mask


def _divide(a: int, b: int) -> int:
    if b == 0:
        return -1
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - _divide(a, b) * b if b else a


def _shl(mi: MachineInstr) -> Operation:
    bits = mi.scalar_type().bits
    return lambda a, n: a << min(n & 0xFFFFFFFF, bits) & _mask(bits)


def _shr(mi: MachineInstr) -> Operation:
    type_ = mi.scalar_type()
    last = type_.bits - 1 if type_.is_signed else type_.bits
    return lambda a, n: typed(type_, a) >> min(n & 0xFFFFFFFF, last) & _mask(type_.bits)


def _bfe(mi: MachineInstr) -> Operation:
    type_ = mi.scalar_type()

    def run(a: int, first: int, count: int) -> int:
        first, count = first & 0xFF, count & 0xFF
        found = (a & _mask(type_.bits)) >> first & _mask(count)
        if type_.is_signed and count:
            found = signed(found, count) & _mask(type_.bits)
        return found

    return run


def _bfi(mi: MachineInstr) -> Operation:
    bits = mi.scalar_type().bits

    def run(a: int, b: int, first: int, count: int) -> int:
        field = _mask(count & 0xFF) << (first & 0xFF) & _mask(bits)
        return b & ~field & _mask(bits) | a << (first & 0xFF) & field

    return run


def _not(mi: MachineInstr) -> Operation:
    mask = _mask(mi.scalar_type().bits)
    return lambda a: ~a & mask


def _negative(mi: MachineInstr) -> Operation:
    mask = _mask(mi.scalar_type().bits)
    return lambda a: -a & mask


def _absolute(mi: MachineInstr) -> Operation:
    type_ = mi.scalar_type()
    return lambda a: abs(typed(type_, a))


def _popc(mi: MachineInstr) -> Operation:
    mask = _mask(mi.scalar_type().bits)
    return lambda a: (a & mask).bit_count()


def _clz(mi: MachineInstr) -> Operation:
    bits = mi.scalar_type().bits
    return lambda a: bits - (a & _mask(bits)).bit_length()


def _brev(mi: MachineInstr) -> Operation:
    bits = mi.scalar_type().bits
    return lambda a: int(f"{a & _mask(bits):0{bits}b}"[::-1], 2)


def _bfind(mi: MachineInstr) -> Operation:
    type_ = mi.scalar_type()
    shift = mi.form.attributes.get("shiftamt") is not None

    def run(a: int) -> int:
        value = typed(type_, a)
        length = (~value if value < 0 else value).bit_length()
        if not length:
            return _mask(32)
        return type_.bits - length if shift else length - 1

    return run


def _convert(mi: MachineInstr) -> Operation:
    source, wanted = mi.scalar_type("atype"), mi.scalar_type("dtype")
    return lambda a: typed(source, a) & _mask(wanted.bits)


def _lop3(mi: MachineInstr) -> Operation:
    def run(a: int, b: int, c: int, table: int) -> int:
        found = 0
        for row in range(8):
            if table >> row & 1:
                x = a if row & 4 else ~a
                y = b if row & 2 else ~b
                z = c if row & 1 else ~c
                found |= x & y & z
        return found & _mask(32)

    return run


def _prmt(mi: MachineInstr) -> Operation | None:
    if mi.form.attributes.get("mode") is not None:
        return None

    def run(a: int, b: int, select: int) -> int:
        both = b << 32 | a & _mask(32)
        found = 0
        for byte in range(4):
            code = select >> 4 * byte & 15
            value = both >> 8 * (code & 7) & 0xFF
            if code & 8:
                value = 0xFF if value & 0x80 else 0
            found |= value << 8 * byte
        return found

    return run


def _funnel(*, left: bool) -> Callable[[MachineInstr], Operation]:
    def make(mi: MachineInstr) -> Operation:
        wraps = getattr(mi.form.attributes.get("mode"), "value", "") == "wrap"

        def run(a: int, b: int, n: int) -> int:
            n = n & 31 if wraps else min(n & _mask(32), 32)
            both = b << 32 | a & _mask(32)
            return (both << n >> 32 if left else both >> n) & _mask(32)

        return run

    return make


def compared(mi: MachineInstr, a: Number, b: Number, c: Number) -> tuple[Number, Number]:
    """The two predicates of setp, each combined with a third where there is one."""
    compare, how = mi.form.attributes["cmp"], mi.form.attributes.get("combine")
    assert isinstance(compare, Compare)
    operation, read = COMPARISONS[compare], reader(mi.scalar_type())
    found = lanewise(lambda x, y: int(operation(read(x), read(y))), a, b)
    return _combined(found, how, c)


def compared_with_zero(mi: MachineInstr, a: Number, b: Number, c: Number) -> tuple[Number, Number]:
    """As `compared`, of floating-point numbers: known only for comparisons with zero."""
    magnitude = (1 << mi.scalar_type().bits - 1) - 1
    asks = mi.form.attributes["cmp"] in _ZERO and isinstance(b, int) and b & magnitude == 0
    found = lanewise(lambda x: int(x & magnitude == 0), a) if asks else None
    if mi.form.attributes["cmp"] in (Compare.NE, Compare.NEU):
        found = lanewise(lambda x: x ^ 1, found)
    return _combined(found, mi.form.attributes.get("combine"), c)


_ZERO = (Compare.EQ, Compare.EQU, Compare.NE, Compare.NEU)


def _combined(found: Number, how: object, c: Number) -> tuple[Number, Number]:
    """A predicate and its complement, each combined with a third one."""
    opposite = lanewise(lambda x: x ^ 1, found)
    match how:
        case BoolOp.AND:
            return conjunction(found, c), conjunction(opposite, c)
        case BoolOp.OR:
            return disjunction(found, c), disjunction(opposite, c)
        case BoolOp.XOR:
            return lanewise(int.__xor__, found, c), lanewise(int.__xor__, opposite, c)
    return found, opposite


def conjunction(a: Number, b: Number) -> Number:
    """a and b, known where one of them is false."""
    pairs = zip(lanes_of(a), lanes_of(b), strict=True)
    return packed(
        tuple(0 if 0 in (x, y) else None if None in (x, y) else x & y for x, y in pairs)  # type: ignore[operator]
    )


def disjunction(a: Number, b: Number) -> Number:
    """a or b of predicates, known where one of them is true."""
    pairs = zip(lanes_of(a), lanes_of(b), strict=True)
    return packed(
        tuple(1 if 1 in (x, y) else None if None in (x, y) else x | y for x, y in pairs)  # type: ignore[operator]
    )


def selected(a: Number, b: Number, c: Number) -> Number:
    """a where the predicate c holds, else b."""
    if isinstance(c, int):
        return a if c else b
    if a == b:
        return a
    triples = zip(lanes_of(a), lanes_of(b), lanes_of(c), strict=True)
    return packed(tuple(None if p is None else x if p else y for x, y, p in triples))


PURE: dict[str, tuple[tuple[str, ...], Callable[[MachineInstr], Operation | None]]] = {
    "add.int": (("a", "b"), _binary(int.__add__)),
    "sub.int": (("a", "b"), _binary(int.__sub__)),
    "mul.lo": (("a", "b"), _binary(int.__mul__)),
    "mul.hi": (("a", "b"), _high),
    "mul.wide": (("a", "b"), _binary(int.__mul__, wide=True)),
    "mad.lo": (("a", "b", "c"), _multiply_add(wide=False)),
    "mad.wide": (("a", "b", "c"), _multiply_add(wide=True)),
    "div.int": (("a", "b"), _binary(_divide, by_type=True)),
    "rem.int": (("a", "b"), _binary(_remainder, by_type=True)),
    "min": (("a", "b"), _binary(min, by_type=True)),
    "max": (("a", "b"), _binary(max, by_type=True)),
    "and": (("a", "b"), _binary(int.__and__)),
    "or": (("a", "b"), _binary(int.__or__)),
    "xor": (("a", "b"), _binary(int.__xor__)),
    "not": (("a",), _not),
    "neg.int": (("a",), _negative),
    "abs.int": (("a",), _absolute),
    "popc": (("a",), _popc),
    "clz": (("a",), _clz),
    "brev": (("a",), _brev),
    "bfind": (("a",), _bfind),
    "shl": (("a", "b"), _shl),
    "shr": (("a", "b"), _shr),
    "shf.l": (("a", "b", "c"), _funnel(left=True)),
    "shf.r": (("a", "b", "c"), _funnel(left=False)),
    "bfe": (("a", "b", "c"), _bfe),
    "bfi": (("a", "b", "c", "e"), _bfi),
    "lop3": (("a", "b", "c", "lut"), _lop3),
    "prmt": (("a", "b", "c"), _prmt),
    "cvt.int": (("a",), _convert),
}
"""By row: the operands, and the function that makes the operation of a record."""
