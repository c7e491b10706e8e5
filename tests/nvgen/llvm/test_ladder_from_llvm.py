"""The words of the control-word ladder, reached from LLVM IR: before LLVM's own, and for names that
LLVM and nvgen do not have because no instruction is so.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from intrinsics.findings import NvgenError

_TYPES = {
    "t": "ptr addrspace(6) %t", "s": "ptr addrspace(6) %s",
    "m": "i64 %m", "i": "i32 %i", "e": "i1 %e",
}  # fmt: skip


def said(name: str, arguments: str) -> list[str]:
    """What nvgen says of a call; letters stand for parameters, numbers for themselves."""
    actual = [_TYPES.get(word, word.replace(":", " ")) for word in arguments.split()]
    types = ", ".join(a.rpartition(" ")[0] for a in actual)
    text = f"""
declare void @llvm.nvvm.{name}({types})
define ptx_kernel void @k(ptr addrspace(6) %t, i64 %m, i32 %i, ptr addrspace(6) %s, i1 %e) {{
  call void @llvm.nvvm.{name}({", ".join(actual)})
  ret void
}}
"""
    with pytest.raises(NvgenError) as caught:
        nvgen.compile(text, target="sm_100a")
    assert all(f.place.line == 4 for f in caught.value.findings)
    return [f.message for f in caught.value.findings]


SCALE = "Scale input accumulator can only be used with f16 and tf32 types"
SHIFT = "Cannot use collector::a::use or colletor::a::fill with ashift"
SIZE = "scale vector size is not legal for this input family"
SCALED = "t m m i e s s i32:1 i32:0"

LADDER = {
    "5, f8f6f4": ("tcgen05.mma.shared.scale_d", "t m m i e i64:3 i32:2 i32:1 i32:0", SCALE),
    "5, i8": ("tcgen05.mma.shared.scale_d", "t m m i e i64:3 i32:3 i32:1 i32:0", SCALE),
    "6": (
        "tcgen05.mma.shared.f16.block_scale", SCALED,
        "Block scale is not supported for f16, tf32, f8f6f4, and i8 types"),
    "7": (
        "tcgen05.mma.tensor.mxf8f6f4.block_scale.ashift", "t t m i e s s i32:1 i32:0",
        "ashift is not supported with tcgen05.mma.block_scale variants"),
    "8": (
        "tcgen05.mma.ws.shared.cg2", "t m m i e i32:0 i32:0 i32:0",
        "cta_group::2 is not supported with weight stationary"),
    "9": (
        "tcgen05.mma.ws.shared.mxf4", "t m m i e i32:0 i32:0",
        "Cannot use weight stationary with mxf8f6f4 and fp4 types"),
    "10, fill": ("tcgen05.mma.tensor.ashift", "t t m i e i32:0 i32:1 i32:2", SHIFT),
    "10, use": ("tcgen05.mma.tensor.ashift", "t t m i e i32:0 i32:1 i32:3", SHIFT),
    "11": ("tcgen05.mma.shared.mxf8f6f4.block_scale.block16", SCALED, SIZE),
    "12": ("tcgen05.mma.shared.mxf4nvf4.block_scale", SCALED, SIZE),
    "12, 1X": ("tcgen05.mma.shared.mxf4nvf4.block_scale.scale_vec_1x", SCALED, SIZE),
    "13": ("tcgen05.mma.shared.mxf4.block_scale.block16", SCALED, SIZE),
}  # fmt: skip


@pytest.mark.parametrize("rule", LADDER)
def test_the_rule_speaks_in_its_own_words(rule: str):
    name, arguments, text = LADDER[rule]
    assert said(name, arguments) == [text]


NUMBERS = {
    "t m m i e i32:9 i32:1 i32:0": ["kind"],
    "t m m i e i32:0 i32:3 i32:0": ["cta_group"],
    "t m m i e i32:0 i32:1 i32:4": ["collector_a"],
    "t m m i e i32:0 i32:0 i32:0": ["cta_group"],  # 0 says something of the others
    "t m m i e i32:4 i32:0 i32:4": ["kind", "cta_group", "collector_a"],
}


@pytest.mark.parametrize("given", NUMBERS)
def test_numbers_that_llvm_does_not_have_are_named_by_what_they_say(given: str):
    assert said("tcgen05.mma.shared", given) == [f"{a} is out of range" for a in NUMBERS[given]]


def test_a_name_that_is_only_misspelt_gets_the_nearest_names():
    (message,) = said("tcgen05.mma.sharde", "t m m i e i32:0 i32:1 i32:0")
    assert re.search("selects no intrinsic @llvm.nvvm.tcgen05.mma.sharde", message)
