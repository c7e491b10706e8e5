"""A word whose halves are cut out and stored side by side is stored as it is, as by LLVM."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {{
  %a = load i32, ptr addrspace(1) %p
  %s = lshr i32 %a, 16
  {cuts}
  %next = getelementptr i16, ptr addrspace(1) %q, i32 1
  store i16 %{first}, ptr addrspace(1) %q, align 4
  store i16 %{second}, ptr addrspace(1) %next
  ret void
}}
"""
LOW, HIGH = "%low = trunc i32 %a to i16", "%high = trunc i32 %s to i16"


@pytest.mark.parametrize("cuts", [f"{LOW}\n  {HIGH}", f"{HIGH}\n  {LOW}"], ids=["up", "down"])
def test_a_word_cut_in_halves_is_stored_whole(cuts: str) -> None:
    text = KERNEL.format(cuts=cuts, first="low", second="high")
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.6", opt=3)
    for ptx in (nvgen.compile(text, target="sm_90a").ptx, theirs.ptx):
        assert re.findall(r"\b(?:mov\.b32|cvt|prmt|st\.global)\S*", ptx) == ["st.global.b32"]


@pytest.mark.parametrize(("first", "second"), [("low", "high"), ("high", "low"), ("low", "low")])
def test_halves_are_stored_in_the_order_asked_for(first: str, second: str) -> None:
    text = KERNEL.format(cuts=f"{LOW}\n  {HIGH}", first=first, second=second)
    given, out = np.array([0x12345678], np.uint32), np.zeros(2, np.uint16)
    nvgen.compile(text, target="sm_90a").run(given, out, block=1)
    halves = {"low": 0x5678, "high": 0x1234}
    assert out.tolist() == [halves[first], halves[second]]
