"""What LLVM's passes break when they see tensor-core intrinsics, and not behind the shield.

Every case runs twice with the same question: unshielded at -O2 or -O3 the answer must be that it is
broken, or the test would prove nothing; with the shield it must be right at every level.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.each import each
from tests.nvgen.optimizer.passes import LEVELS, body, calls, shielded, unshielded


@dataclass(frozen=True)
class Case:
    """A module, the level at which LLVM breaks it, and how to tell."""

    text: str
    breaks_at: int
    is_right: Callable[[str], bool]


D, DESCRIPTORS = "ptr addrspace(6) %d", "i64 %a, i64 %b, i32 %idesc, i1 true"
LANES4, LANES8 = "<4 x i32> %m4", "<8 x i32> %m8"
ACCUMULATES = {
    "mma.shared": f"{D}, {DESCRIPTORS}, i32 0, i32 1, i32 0",
    "mma.shared.scale_d": f"{D}, {DESCRIPTORS}, i64 3, i32 0, i32 1, i32 0",
    "mma.shared.disable_output_lane.cg1": f"{D}, {DESCRIPTORS}, {LANES4}, i32 0, i32 0",
    "mma.shared.disable_output_lane.cg2": f"{D}, {DESCRIPTORS}, {LANES8}, i32 0, i32 0",
    "mma.shared.scale_d.disable_output_lane.cg1": f"{D}, {DESCRIPTORS}, i64 3, {LANES4}, "
    "i32 0, i32 0",
    "mma.shared.scale_d.disable_output_lane.cg2": f"{D}, {DESCRIPTORS}, i64 3, {LANES8}, "
    "i32 0, i32 0",
    "mma.ws.shared": f"{D}, {DESCRIPTORS}, i32 0, i32 0, i32 0",
    "mma.ws.shared.zero_col_mask": f"{D}, {DESCRIPTORS}, i64 5, i32 0, i32 0, i32 0",
}
"""The MMAs whose only pointer is the accumulator, which LLVM believes they only write."""


def module(*lines: str, before: str = "") -> str:
    """A kernel that has what an MMA needs as parameters."""
    text = "\n".join(f"  {line}" for line in lines)
    parameters = (
        f"ptr addrspace(1) %out, {D}, i64 %a, i64 %b, i32 %idesc, i1 %p, {LANES4}, {LANES8}"
    )
    return f"{before}\ndefine ptx_kernel void @k({parameters}) {{\n{text}\n  ret void\n}}\n"


def twice(name: str) -> Case:
    call = f"call void @llvm.nvvm.tcgen05.{name}({ACCUMULATES[name]})"
    return Case(module(call, call), 2, lambda done: calls(done) == [f"tcgen05.{name}"] * 2)


MMA = f"call void @llvm.nvvm.tcgen05.mma.shared({ACCUMULATES['mma.shared']})"
OTHER = MMA.replace("i64 %a,", "i64 %b,")
SHARED = "@tile = internal addrspace(3) global [64 x i32] undef, align 128"

CASES = {
    **{f"equal {name}": twice(name) for name in ACCUMULATES},
    # What the first MMA reads is overwritten afterwards: the store before it seems dead.
    "store for a descriptor": Case(
        module(
            "store i32 7, ptr addrspace(3) @tile",
            "%base = ptrtoint ptr addrspace(3) @tile to i64",
            "%field = lshr i64 %base, 4",
            MMA.replace("%a", "%field"),
            "store i32 8, ptr addrspace(3) @tile",
            MMA.replace("%a", "%field"),
            before=SHARED,
        ),
        3,
        lambda done: re.findall(r"store i32 (\d)", body(done)) == ["7", "8"],
    ),
    # Nothing in the program reads the variable, but the unit behind the descriptor does.
    "variable that only a descriptor refers to": Case(
        module(
            "store i32 %idesc, ptr addrspace(3) @tile",
            "call void @llvm.nvvm.fence.proxy.async()",
            MMA.replace("%a", "u0x4000400000010000"),
            before=SHARED,
        ),
        2,
        lambda done: "store i32 %idesc, ptr addrspace(3) @tile" in body(done),
    ),
    # The branches differ in an operand: one MMA with a selected operand takes their place.
    "branches": Case(
        module(
            "br i1 %p, label %yes, label %no",
            "yes:",
            MMA,
            "br label %end",
            "no:",
            OTHER,
            "br label %end",
            "end:",
        ),
        3,
        lambda done: len(calls(done)) == 2 and "select" not in body(done),
    ),
    # The same MMA at the end of both branches: it sinks behind them.
    "equal ends of branches": Case(
        module(
            "br i1 %p, label %yes, label %no",
            "yes:",
            "store i32 1, ptr addrspace(1) %out",
            MMA,
            "br label %end",
            "no:",
            "store i32 2, ptr addrspace(1) %out",
            MMA,
            "br label %end",
            "end:",
        ),
        3,
        lambda done: len(calls(done)) == 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_llvm_breaks_it_without_the_shield(name: str) -> None:
    case = CASES[name]
    assert not case.is_right(unshielded(case.text, case.breaks_at))


@pytest.mark.parametrize("level", LEVELS)
@each("name", CASES)
def test_the_shield_holds(name: str, level: int) -> None:
    case = CASES[name]
    assert case.is_right(shielded(case.text, level))
