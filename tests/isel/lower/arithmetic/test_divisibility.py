"""Remainders that are only compared with a number, beside Python's, and as short as LLVM's."""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from tests.isel.select.test_wide_division import expected
from tests.oracle import llvm

DIVISORS = (3, 5, 6, 7, 12, 100, 641, 1_000_000, 6_700_417 * 8, (1 << 31) - 1, (1 << 31) + 1)
WIDE = (*DIVISORS, (1 << 32) + 1, 6 << 33, (1 << 63) - 1, (1 << 63) + 2)


def kernel(width: int, conditions: list[str]) -> str:
    """Whether each condition on `%x` holds, a byte each, for every thread."""
    count = len(conditions)
    lines = [
        f"  {condition.format(n=n)}\n  %b{n} = zext i1 %c{n} to i8\n"
        f"  %o{n} = getelementptr [{count} x i8], ptr addrspace(1) %out, i32 %t, i32 {n}\n"
        f"  store i8 %b{n}, ptr addrspace(1) %o{n}\n"
        for n, condition in enumerate(conditions)
    ]
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i{width}, ptr addrspace(1) %p, i32 %t
  %x = load i{width}, ptr addrspace(1) %q
{"".join(lines)}  ret void
}}
"""


def numbers(width: int, divisor: int) -> list[int]:
    """Multiples of a divisor with their neighbours, and both ends of both kinds of numbers."""
    dice = np.random.default_rng(divisor & 0xFFFF)
    most = (1 << width) // divisor
    factors = [0, 1, 2, most // 2, most - 1, most, *(int(n * most) for n in dice.random(8))]
    ends = [0, 1, (1 << width - 1) - 1, 1 << width - 1, (1 << width) - 1]
    near = [factor * divisor + step for factor in factors for step in (-1, 0, 1, 2)]
    return [n % (1 << width) for n in (*ends, *near, *(-n for n in near))]


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("opcode", ["urem", "srem"])
def test_whether_a_number_divides_is_pythons(opcode: str, width: int) -> None:
    for divisor in DIVISORS if width == 32 else WIDE:
        lefts = (0, 1, divisor - 1) if opcode == "urem" else (0, 1)
        signs = (1,) if opcode == "urem" else (1, -1)
        cases = [(s * divisor, p, left) for s in signs for p in ("eq", "ne") for left in lefts]
        conditions = [
            f"%r{{n}} = {opcode} i{width} %x, {d}\n  %c{{n}} = icmp {p} i{width} %r{{n}}, {left}"
            for d, p, left in cases
        ]
        found = numbers(width, divisor)
        out = np.zeros((len(found), len(cases)), np.uint8)
        given = np.array(found, f"u{width // 8}")
        nvgen.compile(kernel(width, conditions), target="sm_90a").run(given, out, block=len(found))
        bits = (1 << width) - 1
        wanted = [
            [(expected(opcode, n, d & bits, width) == left) == (p == "eq") for d, p, left in cases]
            for n in found
        ]
        assert out.tolist() == wanted, divisor


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("line", ["urem {t} %x, 5", "urem {t} %x, 12", "srem {t} %x, 7",
                                  "srem {t} %x, -12"])  # fmt: skip
def test_neither_divides_nor_takes_an_upper_half(line: str, width: int) -> None:
    """As LLVM's code: what gives the upper half of a product is in neither."""
    condition = "%r{n} = " + line.format(t=f"i{width}")
    condition += f"\n  %c{{n}} = icmp eq i{width} %r{{n}}, 0"
    text = kernel(width, [condition])
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.6", opt=3)
    for ptx in (nvgen.compile(text, target="sm_90a").ptx, theirs.ptx):
        assert "mul.lo" in ptx or "mad.lo" in ptx
        assert "mul.hi" not in ptx
        assert "rem" not in ptx
