"""Integers with a carry flag, of 24 bits, by bytes and by fields of bits, 32 lanes at a time.

Layer: nvgen.sim.semantics.  PTX ISA, Integer Arithmetic, Extended-Precision Integer Arithmetic,
Logic and Shift Instructions, and prmt.  Numbers are Python's here: nothing wraps before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import BoolOp, FunnelMode, PermuteMode, ScalarType
from nvgen.sim.faults import fault
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.lane_values import flags, unsigned
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand, Values

T = ScalarType
_ALL = 0xFFFF_FFFF


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _numbers(values: Values, type_: ScalarType) -> list[int]:
    """Each lane as its type has it."""
    found = [int(v) & ((1 << type_.bits) - 1) for v in values]
    return [_signed(v, type_.bits) for v in found] if type_.is_signed else found


def _lanes(found: Sequence[int], bits: int) -> Values:
    mask = (1 << bits) - 1
    return np.array([number & mask for number in found], unsigned(bits))


def _reg(mi: MachineInstr, slot: str = "d") -> int:
    reg = mi[slot]
    assert type(reg) is int
    return reg


# ---- one number a lane -----------------------------------------------------------------------

_Compute = Callable[..., int]


def _each(
    compute: Callable[[MachineInstr], _Compute],
    types: Callable[[MachineInstr], Sequence[ScalarType]],
    *slots: str,
    bits: Callable[[MachineInstr], int] = lambda _: 32,
) -> Maker:
    """An operation on one number of each operand, whose types `types` gives."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        of, width, one = types(mi), bits(mi), compute(mi)
        gets: list[Getter] = [c.get(mi[s], t) for s, t in zip(slots, of, strict=True)]
        write = c.set(_reg(mi))

        def run(strand: Strand) -> Outcome:
            columns = [_numbers(get(strand.warp), t) for get, t in zip(gets, of, strict=True)]
            found = [0] * WARP
            for lane in np.flatnonzero(strand.lanes):
                found[lane] = one(*(column[lane] for column in columns))
            write(strand, _lanes(found, width))
            return None

        return run

    return make


def _same(count: int) -> Callable[[MachineInstr], Sequence[ScalarType]]:
    return lambda mi: (mi.scalar_type(),) * count


def _width(mi: MachineInstr) -> int:
    return mi.scalar_type().bits


def _product_24(mi: MachineInstr) -> Callable[[int, int], int]:
    signed, high = mi.scalar_type().is_signed, mi.row.head.endswith(".hi")

    def compute(a: int, b: int) -> int:
        x, y = (_signed(v, 24) if signed else v & 0xFF_FFFF for v in (a, b))
        return x * y >> 16 if high else x * y

    return compute


def _sum_24(mi: MachineInstr) -> Callable[[int, int, int], int]:
    multiply = _product_24(mi)
    saturates = mi.form.attributes.get("sat") is not None

    def compute(a: int, b: int, c: int) -> int:
        product = (
            _signed(multiply(a, b), 32) if mi.scalar_type().is_signed else multiply(a, b) & _ALL
        )
        total = product + c
        return min(max(total, -(1 << 31)), (1 << 31) - 1) if saturates else total

    return compute


def _difference(mi: MachineInstr) -> Callable[[int, int, int], int]:
    return lambda a, b, c: c + abs(a - b)


def _parts(value: int, bits: int, type_: ScalarType) -> list[int]:
    found = [value >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [_signed(v, bits) for v in found] if type_.is_signed else found


def _dot_4(mi: MachineInstr) -> Callable[[int, int, int], int]:
    left, right = mi.scalar_type("atype"), mi.scalar_type("btype")

    def compute(a: int, b: int, c: int) -> int:
        pairs = zip(_parts(a, 8, left), _parts(b, 8, right), strict=True)
        return c + sum(x * y for x, y in pairs)

    return compute


def _dot_2(mi: MachineInstr) -> Callable[[int, int, int], int]:
    left, right = mi.scalar_type("atype"), mi.scalar_type("btype")
    first = 2 if mi.row.head.endswith(".hi") else 0

    def compute(a: int, b: int, c: int) -> int:
        pairs = zip(_parts(a, 16, left), _parts(b, 8, right)[first : first + 2], strict=True)
        return c + sum(x * y for x, y in pairs)

    return compute


_PICKS: dict[PermuteMode, Callable[[int, int], int]] = {
    PermuteMode.F4E: lambda n, i: n + i,
    PermuteMode.B4E: lambda n, i: (n - i) % 8,
    PermuteMode.RC8: lambda n, i: n,
    PermuteMode.ECL: lambda n, i: max(n, i),
    PermuteMode.ECR: lambda n, i: min(n, i),
    PermuteMode.RC16: lambda n, i: (n & 1) * 2 + (i & 1),
}
"""Which of the eight bytes becomes byte `i`, for the mode's number `n`."""


def _permute(mi: MachineInstr) -> Callable[[int, int, int], int]:
    mode = mi.form.attributes["mode"]

    def compute(a: int, b: int, c: int) -> int:
        whole, found = b << 32 | a, 0
        pick = _PICKS[mode] if isinstance(mode, PermuteMode) else None
        for i in range(4):
            chosen = pick(c & 3, i) if pick else c >> 4 * i & 15
            byte = whole >> 8 * (chosen & 7) & 0xFF
            if chosen & 8:
                byte = 0xFF if byte & 0x80 else 0
            found |= byte << 8 * i
        return found

    return compute


def _insert(mi: MachineInstr) -> Callable[[int, int, int, int], int]:
    bits = _width(mi)

    def compute(a: int, b: int, first: int, count: int) -> int:
        if max(first, count) > 255:
            raise fault(
                "bit-field",
                "bfi with a position or length beyond 255",
                expected="0 to 255",
                hint="the manual takes the low byte; a machine may take more of the number",
                section="bfi",
            )
        mask = ((1 << count) - 1) << first & ((1 << bits) - 1)
        return (b & ~mask) | (a << first & mask)

    return compute


def _find(mi: MachineInstr) -> Callable[[int], int]:
    bits, from_top = _width(mi), mi.form.attributes["shiftamt"] is not None

    def compute(a: int) -> int:
        place = (~a if a < 0 else a).bit_length() - 1
        return bits - 1 - place if from_top and place >= 0 else place

    return compute


def _find_nth(mi: MachineInstr) -> Callable[[int, int, int], int]:
    def compute(mask: int, base: int, offset: int) -> int:
        step = -1 if offset < 0 else 1
        left = max(abs(offset) - 1, 0)
        places = range(base, 32 if step > 0 else -1, step) if base < 32 else range(0)
        for place in places if offset else places[:1]:
            if mask >> place & 1:
                if not left:
                    return place
                left -= 1
        return -1

    return compute


def _cnot(mi: MachineInstr) -> Callable[[int], int]:
    return lambda a: int(a == 0)


def _extend(mi: MachineInstr) -> Callable[[int, int], int]:
    clamps, signed = mi.form.attributes["mode"] is FunnelMode.CLAMP, mi.scalar_type().is_signed

    def compute(a: int, b: int) -> int:
        count = min(b, 32) if clamps else b & 31
        field = a & ((1 << count) - 1)
        return _signed(field, count) if signed and count else field

    return compute


def _bit_mask(mi: MachineInstr) -> Callable[[int, int], int]:
    clamps = mi.form.attributes["mode"] is FunnelMode.CLAMP

    def compute(a: int, b: int) -> int:
        first, count = (min(v, 32) if clamps else v & 31 for v in (a, b))
        return ((1 << count) - 1) << first

    return compute


def _table(a: int, b: int, c: int, lut: int) -> int:
    """A function of three bits, as a table of its eight results."""
    found = 0
    for row in range(8):
        if lut >> row & 1:
            x, y, z = (v if row >> at & 1 else ~v for v, at in ((a, 2), (b, 1), (c, 0)))
            found |= x & y & z
    return found & _ALL


def _lut(mi: MachineInstr) -> Callable[[int, int, int, int], int]:
    return _table


_BOOL = {BoolOp.AND: np.logical_and, BoolOp.OR: np.logical_or}


def lop3_bool(c: Compiler, mi: MachineInstr) -> Step:
    """A function of three bits, and whether any result is set, with another predicate."""
    gets = [c.get(mi[slot], T.U32) for slot in ("a", "b", "c", "lut")]
    other, op = c.get(mi["q"], T.PRED), mi.form.attributes["op"]
    assert isinstance(op, BoolOp)
    d, write_p = mi.get("d"), c.set(_reg(mi, "p"))
    write = c.set(d) if type(d) is int else None

    def run(strand: Strand) -> Outcome:
        columns = [_numbers(get(strand.warp), T.U32) for get in gets]
        found = _lanes([_table(*row) for row in zip(*columns, strict=True)], 32)
        third = flags(other(strand.warp))
        if write is not None:
            write(strand, found)
        write_p(strand, _BOOL[op](found != 0, third))
        return None

    return run


# ---- the carry flag --------------------------------------------------------------------------


def _carrying(
    compute: Callable[..., int], *slots: str, reads: bool = False, borrows: bool = False
) -> Maker:
    """Unsigned arithmetic in full, whose carry or borrow is the flag.

    After a subtraction the flag is the borrow's, and a subtraction takes it so.
    """

    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        bits = type_.bits
        gets = [c.get(mi[slot], type_) for slot in slots]
        write = c.set(_reg(mi))
        writes = "cc" not in mi.form.attributes or mi.form.attributes["cc"] is not None

        def run(strand: Strand) -> Outcome:
            warp = strand.warp
            columns = [_numbers(get(warp), type_) for get in gets]
            found = [0] * WARP
            carry = warp.carry.copy()
            for lane in np.flatnonzero(strand.lanes):
                total = compute(*(column[lane] for column in columns), bits=bits)
                if reads:
                    total += -int(carry[lane]) if borrows else int(carry[lane])
                found[lane] = total
                carry[lane] = total < 0 if borrows else total >> bits != 0
            write(strand, _lanes(found, bits))
            if writes:
                warp.carry = carry
            return None

        return run

    return make


def _add(a: int, b: int, *, bits: int) -> int:
    return _unsigned(a, bits) + _unsigned(b, bits)


def _subtract(a: int, b: int, *, bits: int) -> int:
    return _unsigned(a, bits) - _unsigned(b, bits)


def _multiply_low(a: int, b: int, c: int, *, bits: int) -> int:
    return _unsigned(a * b, bits) + _unsigned(c, bits)


def _multiply_high(a: int, b: int, c: int, *, bits: int) -> int:
    return _unsigned(a * b >> bits, bits) + _unsigned(c, bits)


def _unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


_WORDS: tuple[ScalarType, ...] = (T.U32,) * 3

SEMANTICS: dict[str, Maker] = {
    "add.cc": _carrying(_add, "a", "b"),
    "addc": _carrying(_add, "a", "b", reads=True),
    "sub.cc": _carrying(_subtract, "a", "b", borrows=True),
    "subc": _carrying(_subtract, "a", "b", reads=True, borrows=True),
    "mad.lo.cc": _carrying(_multiply_low, "a", "b", "c"),
    "mad.hi.cc": _carrying(_multiply_high, "a", "b", "c"),
    "madc.lo": _carrying(_multiply_low, "a", "b", "c", reads=True),
    "madc.hi": _carrying(_multiply_high, "a", "b", "c", reads=True),
    "mul24.lo": _each(_product_24, _same(2), "a", "b"),
    "mul24.hi": _each(_product_24, _same(2), "a", "b"),
    "mad24.lo": _each(_sum_24, _same(3), "a", "b", "c"),
    "mad24.hi": _each(_sum_24, _same(3), "a", "b", "c"),
    "sad": _each(_difference, _same(3), "a", "b", "c", bits=_width),
    "dp4a": _each(_dot_4, lambda _: _WORDS, "a", "b", "c"),
    "dp2a.lo": _each(_dot_2, lambda _: _WORDS, "a", "b", "c"),
    "dp2a.hi": _each(_dot_2, lambda _: _WORDS, "a", "b", "c"),
    "prmt": _each(_permute, lambda _: _WORDS, "a", "b", "c"),
    "bfi": _each(
        _insert,
        lambda mi: (mi.scalar_type(), mi.scalar_type(), T.U32, T.U32),
        "a",
        "b",
        "c",
        "e",
        bits=_width,
    ),
    "bfind": _each(_find, _same(1), "a"),
    "fns": _each(_find_nth, lambda _: (T.U32, T.U32, T.S32), "mask", "base", "offset"),
    "cnot": _each(_cnot, _same(1), "a", bits=_width),
    "szext": _each(_extend, lambda _: (T.U32, T.U32), "a", "b"),
    "bmsk": _each(_bit_mask, lambda _: (T.U32, T.U32), "a", "b"),
    "lop3": _each(_lut, lambda _: (*_WORDS, T.U32), "a", "b", "c", "lut"),
    "lop3.bool": lop3_bool,
}
"""What each row does when it runs: one function a row, found by the row's id."""
