"""An index of 8 or 16 bits is scaled as it is extended: in one multiplication, as LLVM does it."""

from __future__ import annotations

import itertools
import re

import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.side_by_side import compare

KERNEL = """
@number = addrspace(1) global i{width} {number}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %zero = ptrtoint ptr addrspace(1) %out to i64
  %i = load volatile i{width}, ptr addrspace(1) @number
  %j = mul i{width} %i, %i
  %w = {extend} i{width} %j to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %w
  %a = ptrtoint ptr addrspace(1) %p to i64
  %d = sub i64 %a, %zero
  store i64 %d, ptr addrspace(1) %out
  ret void
}}
"""
CASES = [*itertools.product((8, 16), ("sext", "zext"))]


@pytest.mark.parametrize(("width", "extend"), CASES)
def test_one_multiplication_extends_and_scales(width: int, extend: str) -> None:
    texts = {
        f"{number}": KERNEL.format(width=width, extend=extend, number=number)
        for number in (3, 11, 181, -7)
        if number < 1 << width - 1
    }
    compare(texts)
    text = next(iter(texts.values()))
    (by_llvm,) = llvm.compile_all([llvm.HEADER + text], "sm_90a", "8.6")
    for ptx in (nvgen.compile(text, target="sm_90a", opt=0).ptx, by_llvm.ptx):
        assert re.search(r"mul\.wide\.[su](32|16)\s", ptx)
        assert not re.search(r"shl\.b64", ptx)
