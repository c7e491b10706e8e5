"""Loads that extend by the sign what is loaded to be extended."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen

TEXT = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr {narrow}, ptr addrspace(1) %x, i32 %t
  %o = getelementptr {wide}, ptr addrspace(1) %out, i32 %t
  %v = load {narrow}, ptr addrspace(1) %p
  %w = sext {narrow} %v to {wide}
{rest}
  ret void
}}
"""
ALONE = "  store {wide} %w, ptr addrspace(1) %o"
TWICE = """  %n = xor {narrow} %v, 1
  %z = zext {narrow} %n to {wide}
  %s = mul {wide} %w, %z
  store {wide} %s, ptr addrspace(1) %o"""


def built(rest: str, narrow: int, wide: int) -> nvgen.Compiled:
    names = {"narrow": f"i{narrow}", "wide": f"i{wide}"}
    return nvgen.compile(TEXT.format(rest=rest.format(**names), **names), target="sm_90a")


def numbers(bits: int) -> np.ndarray:
    kind = np.dtype(f"i{bits // 8}")
    edges = [0, 1, -1, 5, -100, np.iinfo(kind).max, np.iinfo(kind).min]
    return np.array(edges, kind)


@pytest.mark.parametrize(("narrow", "wide"), [(8, 16), (8, 32), (8, 64), (16, 32), (16, 64)])
def test_a_load_extends_what_is_only_extended(narrow: int, wide: int) -> None:
    compiled = built(ALONE, narrow, wide)
    assert f"ld.global.s{narrow}" in compiled.ptx
    assert not re.search(r"\bcvt\.s\d+\.s(?:8|16)\b", compiled.ptx)
    x, out = numbers(narrow), np.zeros(7, f"i{wide // 8}")
    compiled.run(x, out, block=7)
    assert out.tolist() == x.tolist()


@pytest.mark.parametrize("narrow", [8, 16])
def test_what_has_another_use_is_loaded_as_it_is(narrow: int) -> None:
    compiled = built(TWICE, narrow, 32)
    assert f"ld.global.b{narrow}" in compiled.ptx
    x, out = numbers(narrow), np.zeros(7, np.int32)
    compiled.run(x, out, block=7)
    flipped = (x ^ 1).view(f"u{narrow // 8}").astype(np.uint32)
    assert out.tolist() == (x.astype(np.int32) * flipped.view(np.int32)).tolist()
