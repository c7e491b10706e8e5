"""Counters that are compared before they are stepped; Python counts the turns."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen

LIMIT = 100
"""Turns that each case ends before."""

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %first) {
  br label %loop
loop:
  %i = phi i32 [ START, %0 ], [ %next, %loop ]
  %n = phi i32 [ 0, %0 ], [ %m, %loop ]
  %m3 = mul i32 %n, 3
  %m = add i32 %m3, %i
  %next = add i32 %i, STEP
  %again = icmp TEST i32 %i, 8
  br i1 %again, label %loop, label %done
done:
  store i32 %m, ptr addrspace(1) %out
  ret void
}
"""

TESTS = {
    "sgt": lambda i: (i + (1 << 31)) % (1 << 32) - (1 << 31) > 8,
    "ugt": lambda i: i > 8,
    "ne": lambda i: i != 8,
    "ult": lambda i: i < 8,
}


def expected(first: int, step: int, test: str) -> int:
    i, total = first % (1 << 32), 0
    for _ in range(LIMIT):
        total = total * 3 + i
        if not TESTS[test](i):
            return total % (1 << 32)
        i = (i + step) % (1 << 32)
    raise AssertionError("no end")


@pytest.mark.parametrize(
    ("test", "step", "first"),
    [
        ("sgt", -8, 77),
        ("sgt", -8, 8),
        ("sgt", -8, -5),
        ("sgt", -1, -(1 << 31)),
        ("ugt", -3, 50),
        ("ne", 1, -4),
        ("ne", 4, 0),
        ("ult", 1, 0),
        ("ult", 3, (1 << 32) - 1),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_turns_are_those_of_the_text(test: str, step: int, first: int, *, known: bool) -> None:
    """The counter begins with a number or an argument; one step before may wrap."""
    text = KERNEL.replace("STEP", str(step)).replace("TEST", test)
    text = text.replace("START", str(first % (1 << 32)) if known else "%first")
    compiled = nvgen.compile(text, target="sm_90a", opt=0)
    out = np.zeros(1, np.uint32)
    compiled.run(out, np.uint32(first % (1 << 32)), block=1, device="sim")
    assert out[0] == expected(first, step, test)
    loop = re.split(r"\$L_loop:|bra \$L_loop", compiled.ptx)[1]
    stepped = re.findall(rf"add\.s32 (%r\d+), \1, {step};", loop)
    assert re.findall(r"setp\.\w+\.\w+ %p\d+, (%r\d+), 8;", loop) == stepped
    assert "mov" not in loop
