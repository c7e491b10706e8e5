"""Integer instructions against the manual's words, in Python's integers, which have no width."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.sim.ptx import run

WORDS = (0, 1, 2, 31, 32, 33, 0x7F, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
LONGS = (*WORDS, 0x8000_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF, (1 << 64) - 1, 0x0123_4567_89AB_CDEF)
REGISTERS = {16: "%rs", 32: "%r", 64: "%rd"}


def computed(
    statement: str, sources: Sequence[Sequence[int]], bits: int, result_bits: int
) -> list[int]:
    """What a statement gives for each thread's `a`, `b` and `c`: its operands are `{d}, {a}, …`."""
    arrays = [np.array(column, np.uint64) for column in sources]
    found = np.zeros(len(arrays[0]), np.uint64)
    register, result = REGISTERS[bits], REGISTERS[result_bits] + "9"
    names = {name: f"{register}{i + 1}" for i, name in enumerate("abc")}
    lines = [f"    mad.wide.u32 %rd{10 + i}, %tx, 8, %a{i};" for i in range(len(arrays) + 1)]
    lines += [
        f"    ld.global.b{bits} {register}{i + 1}, [%rd{10 + i}];" for i in range(len(arrays))
    ]
    lines.append(f"    {statement.format(d=result, **names)};")
    lines.append(f"    st.global.b{result_bits} [%rd{10 + len(arrays)}], {result};")
    run("\n".join(lines), *arrays, found, threads=len(found))
    return [int(v) for v in found]


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["clamp", "wrap"])
@pytest.mark.parametrize("way", ["l", "r"])
def test_a_funnel_shift_is_what_the_manual_says(way: str, mode: str):
    """PTX ISA, shf: [b, a] is shifted; the left gives its upper half, the right its lower."""
    pairs = [(0x1234_5678, 0x9ABC_DEF0), (0xFFFF_FFFF, 0), (0, 0x8000_0001)]
    cases = [(a, b, c) for a, b in pairs for c in (0, 1, 4, 31, 32, 33, 63, 64, 0xFFFF_FFFF)]
    wanted = []
    for a, b, c in cases:
        n = c & 31 if mode == "wrap" else min(c, 32)
        whole = b << 32 | a
        wanted.append(whole << n >> 32 & 0xFFFF_FFFF if way == "l" else whole >> n & 0xFFFF_FFFF)
    columns = list(zip(*cases, strict=True))
    statement = f"shf.{way}.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}}"
    assert computed(statement, columns, 32, 32) == wanted


def reverse(value: int, bits: int) -> int:
    return sum((value >> i & 1) << (bits - 1 - i) for i in range(bits))


COUNTS: dict[str, Callable[[int, int], int]] = {
    "popc": lambda v, bits: sum(v >> i & 1 for i in range(bits)),
    "clz": lambda v, bits: next((i for i in range(bits) if v >> (bits - 1 - i) & 1), bits),
    "brev": reverse,
}


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", COUNTS)
def test_bits_are_counted_and_reversed(name: str, bits: int):
    values = WORDS if bits == 32 else LONGS
    result_bits = bits if name == "brev" else 32
    found = computed(f"{name}.b{bits} {{d}}, {{a}}", [values], bits, result_bits)
    assert found == [COUNTS[name](value, bits) for value in values]


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_a_sign_is_changed(bits: int):
    """PTX ISA, neg: 0 - a; the lowest number stays what it is."""
    values = [value & ((1 << bits) - 1) for value in LONGS]
    found = computed(f"neg.s{bits} {{d}}, {{a}}", [values], bits, bits)
    assert found == [-value & ((1 << bits) - 1) for value in values]


@pytest.mark.gpu
@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_the_least_and_the_greatest(name: str, type_: str):
    bits = int(type_[1:])
    mask = (1 << bits) - 1
    values = sorted({value & mask for value in LONGS})
    pairs = [(a, b) for a in values for b in values]
    choose = min if name == "min" else max
    as_type = (lambda v: signed(v, bits)) if type_[0] == "s" else (lambda v: v)
    wanted = [choose(pair, key=as_type) for pair in pairs]
    columns = list(zip(*pairs, strict=True))
    assert computed(f"{name}.{type_} {{d}}, {{a}}, {{b}}", columns, bits, bits) == wanted


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_the_absolute_value_of_the_lowest_number_is_itself(bits: int):
    mask = (1 << bits) - 1
    values = sorted({value & mask for value in LONGS})
    found = computed(f"abs.s{bits} {{d}}, {{a}}", [values], bits, bits)
    assert found == [abs(signed(value, bits)) & mask for value in values]


@pytest.mark.gpu
@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", ["div", "rem"])
def test_by_zero_every_bit_of_a_quotient_or_a_remainder_is_set(name: str, type_: str):
    """PTX ISA, div and rem: the result is the machine's, no fault; ptxas's code selects ~0."""
    bits = int(type_[1:])
    mask = (1 << bits) - 1
    columns = [[v & mask for v in LONGS], [0] * len(LONGS)]
    wanted = [mask] * len(LONGS)
    assert computed(f"{name}.{type_} {{d}}, {{a}}, {{b}}", columns, bits, bits) == wanted
