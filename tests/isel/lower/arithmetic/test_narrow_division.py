"""Division of 64 bits that asks whether 32 are enough, beside Python's."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.isel.select.test_wide_division import expected

OPCODES = ("udiv", "sdiv", "urem", "srem")
EDGES = (1, 2, 3, 10, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 7, 3 << 40)
NUMBERS = (0, *EDGES, (1 << 63) - 1, 1 << 63, (1 << 63) + 5, (1 << 64) - (1 << 32), (1 << 64) - 1)
PAIRS = [
    (a, b) for a in NUMBERS for b in NUMBERS[1:] if (a, b) != (1 << 63, (1 << 64) - 1)
]  # the quotient left out has no value as a signed number


def kernel(*lines: str, attributes: str = "") -> str:
    """Results `%r0` and so on of `%a` and `%b`, of every thread."""
    count = sum(line.startswith("%r") for line in lines)
    writes = "".join(
        f"  %o{n} = getelementptr [{count} x i64], ptr addrspace(1) %out, i32 %t, i32 {n}\n"
        f"  store i64 %r{n}, ptr addrspace(1) %o{n}\n"
        for n in range(count)
    )
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {attributes} {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [2 x i64], ptr addrspace(1) %x, i32 %t, i32 0
  %q = getelementptr [2 x i64], ptr addrspace(1) %x, i32 %t, i32 1
  %a = load i64, ptr addrspace(1) %p
  %b = load i64, ptr addrspace(1) %q
{"".join(f"  {line}{chr(10)}" for line in lines)}{writes}  ret void
}}
"""


def results(text: str, count: int) -> list[list[int]]:
    """What each pair of numbers gives."""
    out = np.zeros((len(PAIRS), count), np.uint64)
    nvgen.compile(text, target="sm_90a").run(np.array(PAIRS, np.uint64), out, block=len(PAIRS))
    return [[int(value) for value in row] for row in out]


def test_each_division_is_pythons() -> None:
    lines = [f"%r{n} = {opcode} i64 %a, %b" for n, opcode in enumerate(OPCODES)]
    found = results(kernel(*lines), len(lines))
    assert found == [[expected(opcode, a, b, 64) for opcode in OPCODES] for a, b in PAIRS]


@pytest.mark.parametrize("opcode", OPCODES)
def test_one_alone_is_pythons(opcode: str) -> None:
    found = results(kernel(f"%r0 = {opcode} i64 %a, %b"), 1)
    assert found == [[expected(opcode, a, b, 64)] for a, b in PAIRS]


def test_a_number_may_be_divided_and_halves_are_known() -> None:
    """A dividend that is a number, short or long; what is known to be short is not asked."""
    lines = [
        "%lo = and i64 %a, 4294967295",
        "%hi = lshr i64 %b, 32",
        "%d = or i64 %hi, 1",
        "%r0 = urem i64 1000, %b",
        "%r1 = udiv i64 4294967296000, %b",
        "%r2 = sdiv i64 %lo, %d",
        "%r3 = srem i64 %lo, %d",
    ]
    text = kernel(*lines)
    low = (1 << 32) - 1
    assert results(text, 4) == [
        [1000 % b, (1000 << 32) // b, (a & low) // (b >> 32 | 1), (a & low) % (b >> 32 | 1)]
        for a, b in PAIRS
    ]
    ptx = nvgen.compile(text, target="sm_90a").ptx
    assert sorted(re.findall(r"\b(?:div|rem)\.\w+", ptx)) == ["div.u32", "div.u64", "rem.u32"]


SHORT = {
    "zero extension": ("%n = trunc i64 %a to i32", "%s = zext i32 %n to i64"),
    "remainder": ("%n = and i64 %b, 4294967295", "%m = or i64 %n, 1", "%s = urem i64 %a, %m"),
    "sum of parts": ("%m = and i64 %a, 65535", "%n = lshr i64 %b, 40", "%s = add i64 %m, %n"),
    "product": ("%m = and i64 %a, 65535", "%n = lshr i64 %b, 48", "%s = mul i64 %m, %n"),
    "shift": ("%m = and i64 %a, 65535", "%s = shl i64 %m, 16"),
    "quotient": ("%s = udiv i64 %a, 4294967296",),
    "choice": (
        "%c = icmp ult i64 %a, %b",
        "%m = lshr i64 %a, 32",
        "%n = freeze i64 %m",
        "%s = select i1 %c, i64 %n, i64 7",
    ),
}
"""Ways to a number of 32 bits."""

DIVIDENDS = {
    "zero extension": lambda a, b: a & 0xFFFFFFFF,
    "remainder": lambda a, b: a % (b & 0xFFFFFFFF | 1),
    "sum of parts": lambda a, b: (a & 0xFFFF) + (b >> 40),
    "product": lambda a, b: (a & 0xFFFF) * (b >> 48),
    "shift": lambda a, b: (a & 0xFFFF) << 16,
    "quotient": lambda a, b: a >> 32,
    "choice": lambda a, b: a >> 32 if a < b else 7,
}


@pytest.mark.parametrize("way", SHORT)
def test_a_short_dividend_needs_no_long_division(way: str) -> None:
    """Where the divisor is larger, the quotient is 0 and the remainder the dividend."""
    text = kernel(*SHORT[way], "%r0 = udiv i64 %s, %b", "%r1 = urem i64 %s, %b")
    dividends = [(DIVIDENDS[way](a, b), b) for a, b in PAIRS]
    assert results(text, 2) == [[s // b, s % b] for s, b in dividends]
    last = nvgen.compile(text, target="sm_90a").ptx.rpartition("setp.lt.u64")[2]
    assert re.findall(r"\b(?:div|rem)\.\w+", last) == ["div.u32"]


def test_a_short_dividend_with_a_sign_may_have_a_long_divisor() -> None:
    """A divisor below 0 has upper bits, and may be the smaller in size."""
    lines = ["%s = and i64 %a, 4294967295", "%r0 = sdiv i64 %s, %b", "%r1 = srem i64 %s, %b"]
    text = kernel(*lines)
    low = (1 << 32) - 1
    assert results(text, 2) == [
        [expected(opcode, a & low, b, 64) for opcode in ("sdiv", "srem")] for a, b in PAIRS
    ]


def test_a_remainder_beside_its_quotient_divides_once() -> None:
    lines = ["%m = srem i32 %t, %n", "%d = sdiv i32 %t, %n", "%r0 = sext i32 %m to i64",
             "%r1 = sext i32 %d to i64"]  # fmt: skip
    ptx = nvgen.compile(kernel("%n = trunc i64 %b to i32", *lines), target="sm_90a").ptx
    assert re.findall(r"\b(?:div|rem)\.\w+", ptx) == ["div.s32"]


def test_what_shall_be_small_has_one_way() -> None:
    ptx = nvgen.compile(kernel("%r0 = udiv i64 %a, %b", attributes="optsize"), target="sm_90a").ptx
    assert re.findall(r"\b(?:div|rem)\.\w+", ptx) == ["div.u64"]


def test_values_that_go_round_come_from_where_the_division_ends() -> None:
    """The greatest common divisor, whose loop is one block until it divides."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [2 x i64], ptr addrspace(1) %x, i32 %t, i32 0
  %q = getelementptr [2 x i64], ptr addrspace(1) %x, i32 %t, i32 1
  %o = getelementptr i64, ptr addrspace(1) %out, i32 %t
  %a = load i64, ptr addrspace(1) %p
  %b = load i64, ptr addrspace(1) %q
  br label %loop
loop:
  %m = phi i64 [ %a, %entry ], [ %n, %loop ]
  %n = phi i64 [ %b, %entry ], [ %rest, %loop ]
  %rest = urem i64 %m, %n
  %more = icmp ne i64 %rest, 0
  br i1 %more, label %loop, label %done
done:
  store i64 %n, ptr addrspace(1) %o
  ret void
}
"""
    assert results(text, 1) == [[int(np.gcd(np.uint64(a), np.uint64(b)))] for a, b in PAIRS]
