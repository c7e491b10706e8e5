"""Quotients by numbers: fewer steps where the number is even or what it divides is short."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen

TEXT = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %v = load i32, ptr addrspace(1) %p
  {short}
  %q = udiv i32 %n, {divisor}
  %r = urem i32 %n, {divisor}
  %s = shl i32 %q, 1
  %e = xor i32 %s, %r
  store i32 %e, ptr addrspace(1) %o
  ret void
}}
"""
WHOLE = "%n = add i32 %v, 0"
SHORT = {
    WHOLE: lambda v: v,
    "%n = lshr i32 %v, 1": lambda v: v >> 1,
    "%m = and i32 %v, 32767\n  %n = mul nuw i32 %m, 65535": lambda v: (v & 32767) * 65535,
    "%m = and i32 %v, 1073741823\n  %n = add nuw i32 %m, 7": lambda v: (v & 0x3FFFFFFF) + 7,
    "%m = and i32 %v, 255\n  %n = shl i32 %m, 20": lambda v: (v & 255) << 20,
    "%m = lshr i32 %v, 1\n  %n = add nuw nsw i32 %m, 0": lambda v: v >> 1,
    "%n = add nuw nsw i32 %t, %b": lambda v: np.arange(len(v)),
}
DIVISORS = (3, 7, 14, 195, 390, 641, 28000, (1 << 31) - 2, (1 << 31) + 2, (1 << 32) - 2)
EDGES = (
    0,
    1,
    2,
    13,
    389,
    390,
    391,
    65535,
    65536,
    (1 << 31) - 3,
    (1 << 31) - 2,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 31) + 2,
    (1 << 32) - 391,
    (1 << 32) - 2,
    (1 << 32) - 1,
)


@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("short", SHORT)
def test_quotients_and_remainders_are_numpys(short: str, divisor: int) -> None:
    text = TEXT.format(short=short, divisor=divisor)
    drawn = np.random.default_rng(divisor).integers(0, 1 << 32, 46, dtype=np.uint64)
    x = np.array([*EDGES, *drawn], np.uint32)
    out = np.zeros(64, np.uint32)
    compiled = nvgen.compile(text, target="sm_90a")
    compiled.run(x, out, block=64)
    n = np.asarray(SHORT[short](x.astype(np.uint64)), np.uint64)
    expected = (n // divisor * 2 ^ n % divisor).astype(np.uint32)
    assert (out == expected).all()
    subtractions = len(re.findall(r"\bsub\.s32", compiled.ptx))
    if short != WHOLE or divisor % 2 == 0:
        assert subtractions == 1  # the remainder's
