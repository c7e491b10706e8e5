"""Bits that are known to be zero are not cleared again."""

from __future__ import annotations

import itertools

import numpy as np

import nvgen
from tests.oracle import llvm
from tests.oracle.side_by_side import compare

BYTES = """
define ptx_kernel void @k(ptr addrspace(1) %x) {
  %p = getelementptr i8, ptr addrspace(1) %x, i64 1
  %q = getelementptr i8, ptr addrspace(1) %x, i64 2
  %a = load i8, ptr addrspace(1) %x
  %b = load i8, ptr addrspace(1) %p
  %c = load i8, ptr addrspace(1) %q
  %low = call i8 @llvm.umin.i8(i8 %a, i8 %b)
  %high = call i8 @llvm.umax.i8(i8 %a, i8 %b)
  %mid = call i8 @llvm.umin.i8(i8 %high, i8 %c)
  %or = or i8 %mid, 65
  %less = icmp ult i8 %or, %low
  %one = select i1 %less, i8 %or, i8 %low
  %two = and i8 %one, %c
  %most = icmp ugt i8 %two, 3
  %r = select i1 %most, i8 %two, i8 7
  %s = lshr i8 %r, 1
  store i8 %s, ptr addrspace(1) %x
  ret void
}
"""


def test_what_is_made_of_bytes_alone_has_no_bits_above_them() -> None:
    compiled = nvgen.compile(BYTES, target="sm_90a")
    assert "cvt" not in compiled.ptx
    for a, b, c in itertools.product((0, 3, 64, 127, 128, 200, 255), repeat=3):
        x = np.array([a, b, c], np.uint8)
        compiled.run(x, block=1, device="sim")
        either = min(max(a, b), c) | 65
        both = min(either, min(a, b)) & c
        assert x[0] == (both if both > 3 else 7) >> 1


EXTENDED = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %w = load volatile i32, ptr addrspace(1) %out
  %half = load volatile i16, ptr addrspace(1) %out
  %low = and i32 %w, 4095
  %bits = shl i32 %w, 14
  %high = and i32 %bits, 458752
  %sum = add i32 %low, %high
  %wide = sext i32 %sum to i64
  %some = sext i32 %w to i64
  %product = mul i64 %wide, %some
  %negative = mul i64 %wide, -12
  %square = mul i64 %wide, %wide
  %short = and i16 %half, 32767
  %long = sext i16 %short to i64
  %p1 = getelementptr i64, ptr addrspace(1) %out, i32 1
  %p2 = getelementptr i64, ptr addrspace(1) %out, i32 2
  %p3 = getelementptr i64, ptr addrspace(1) %out, i32 3
  %p4 = getelementptr i64, ptr addrspace(1) %out, i32 4
  store i64 %wide, ptr addrspace(1) %out
  store i64 %product, ptr addrspace(1) %p1
  store i64 %negative, ptr addrspace(1) %p2
  store i64 %square, ptr addrspace(1) %p3
  store i64 %long, ptr addrspace(1) %p4
  ret void
}
"""


def test_a_number_without_a_sign_is_extended_by_zeros_and_multiplied_as_either() -> None:
    text = llvm.HEADER + EXTENDED
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.6", opt=3)
    ours = nvgen.compile(text, target="sm_90a").ptx
    assert "cvt.u64.u32" in theirs.ptx, "LLVM knows it, too"
    assert ours.count("mul.wide") == 3
    assert "mul.lo.s64" not in ours
    assert "cvt.s64" not in ours
    given = np.array([0, 1, 0x7FFF, 0x8000, 0xFFFFFFFF, 0x80000000, 0x0001FFFF], np.uint32)
    for w in given:
        out = np.zeros(5, np.uint64)
        out[0] = w
        nvgen.compile(text, target="sm_90a").run(out, block=1, device="sim")
        number = int(w)
        wide = (number & 4095) + (number << 14 & 458752)
        some = number - (number >> 31 << 32)
        short = number & 0x7FFF
        expected = [wide, wide * some, wide * -12, wide * wide, short]
        assert [int(x) for x in out] == [x % (1 << 64) for x in expected]


def signs(type_: str, left: int, right: int) -> str:
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  store i64 1311768467463790325, ptr addrspace(1) %out
  %a = load volatile {type_}, ptr addrspace(1) %out
  %b = shl {type_} %a, {left}
  %c = ashr {type_} %b, {right}
  %d = xor {type_} %b, %c
  store {type_} %d, ptr addrspace(1) %out
  ret void
}}
"""


def test_low_bits_are_extended_by_their_sign() -> None:
    cases = [(28, 28), (24, 24), (31, 31), (1, 1), (13, 13), (5, 6), (6, 5)]
    modules = {f"i32 {pair}": signs("i32", *pair) for pair in cases}
    modules["i64"] = signs("i64", 61, 61)
    modules["i16"] = signs("i16", 12, 12)
    modules["i20"] = signs("i20", 12, 12)
    modules["<2 x i32>"] = signs("<2 x i32>", 0, 0).replace(", 0\n", ", <i32 9, i32 3>\n")
    compare(modules)
    assert "bfe.s32" in nvgen.compile(modules["i32 (28, 28)"], target="sm_90a").ptx
