"""Kernels on made-up arguments: both compilers' code leaves the same, and a difference is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

import nvgen
from tests.oracle import same_values

KERNELS = Path(__file__).resolve().parents[1] / "benchmarks" / "kernels"
TARGET = "sm_90a"

SCALE = """
define ptx_kernel void @scale(ptr %out, ptr addrspace(1) %in, i32 %n, float %by) {
entry:
  %slot = alloca ptr
  store ptr %out, ptr %slot
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %exit
body:
  %p = getelementptr double, ptr addrspace(1) %in, i32 %i
  %x = load double, ptr addrspace(1) %p
  %f = fptrunc double %x to float
  %y = fmul contract float %f, %by
  %z = fadd contract float %y, %f
  %q = getelementptr float, ptr %out, i32 %i
  store float %z, ptr %q
  br label %exit
exit:
  ret void
}
"""


@pytest.mark.parametrize("name", ["saxpy", "gcd", "reduce_shared", "scan_shared", "stencil_float"])
def test_both_leave_the_same_bytes(name: str):
    text = (KERNELS / f"{name}.ll").read_text()
    said = [what for _, what in same_values.compare(text, TARGET, 2)]
    assert any(what.startswith("equal") for what in said), said
    assert not any("differs" in what for what in said), said


def test_arrays_are_of_what_is_accessed_through_a_pointer():
    (function,) = (f for f in binding.parse_assembly(SCALE).functions if not f.is_declaration)
    assert same_values.elements(function) == ["float", "double", "i32", "float"]


def test_a_difference_is_found():
    """The same kernel with a difference in place of a product's sum."""
    ours = nvgen.compile(SCALE, target=TARGET)
    theirs = nvgen.compile(SCALE.replace("fadd", "fsub"), target=TARGET)
    given = [np.zeros(64, np.float32), np.arange(64.0), 3, 2.0]
    said = same_values.judged(same_values.Pair(ours, theirs), "scale", given)
    assert said == "differs: array 0, 2 elements, [1] is 3.0, LLVM's 1.0"
    assert same_values.judged(same_values.Pair(ours, ours), "scale", given).startswith("equal")


def test_without_flags_nothing_may_be_contracted():
    assert "contract" not in same_values.without_flags(SCALE)
    kept = 'define fastcc float @f(float %x) {\n  %y = call fastcc float @"a fast one"(float %x)\n}'
    assert same_values.without_flags(kept) == kept
    flagged = "  %y = tail call fast float @g(float nofpclass(nan) %x)"
    assert same_values.without_flags(flagged) == flagged.replace(" fast", "")


def test_the_order_of_threads_is_no_compilers():
    """Every thread stores its own number to the same word, or another one."""
    text = """
define ptx_kernel void @last(ptr addrspace(1) %out) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %j = add i32 %i, 1
  store i32 %j, ptr addrspace(1) %out
  ret void
}
"""
    ours = nvgen.compile(text, target=TARGET)
    theirs = nvgen.compile(text.replace(", 1\n", ", 2\n"), target=TARGET)
    said = same_values.judged(same_values.Pair(ours, theirs), "last", [np.zeros(8, np.int32)])
    assert said.startswith("race, differs: array 0, 1 elements")
