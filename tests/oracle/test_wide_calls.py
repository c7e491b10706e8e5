"""Integers of more than two words through calls, against Python's own."""

from __future__ import annotations

import numpy as np
import pytest

import nvgen

TEXT = """\
define internal iW @f(iW %a, i32 %b) noinline {
  %c = add iW %a, 5
  ret iW %c
}
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load i64, ptr addrspace(1) %p
  %y = sext i64 %x to iW
  %z = shl iW %y, 65
  %r = call iW @f(iW %z, i32 3)
  %s = ashr iW %r, 60
  %t = trunc iW %s to i64
  store i64 %t, ptr addrspace(1) %p
  %u = trunc iW %r to i64
  %q = getelementptr i64, ptr addrspace(1) %p, i64 1
  store i64 %u, ptr addrspace(1) %q
  ret void
}
"""


@pytest.mark.parametrize("width", [70, 128, 129, 130, 192, 200, 257, 321])
def test_a_wide_integer_goes_through_a_call(width: int):
    """The size of i129 is four words, of which it has three."""
    made = nvgen.compile(TEXT.replace("W", str(width)), target="sm_90a")
    words = np.array([-3, 0], np.int64)
    made.run(words, block=1)
    assert words.tolist() == [(-3 << 65) + 5 >> 60, 5]
