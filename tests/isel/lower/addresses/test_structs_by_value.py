"""Structs that functions take by value: where they are read, and that each has one of its own."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.side_by_side import compare

HEAD = """
%S = type { i32, [5 x i32] }
@given = internal addrspace(1) global %S {
  i32 1, [5 x i32] [i32 20, i32 30, i32 40, i32 50, i32 60]
}
define internal i32 @g(ptr byval(%S) align 4 %s) noinline {
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 3
  %v = load i32, ptr %p
  ret i32 %v
}
define internal i32 @h(ptr %p) noinline {
  %v = load i32, ptr %p
  store i32 7, ptr %p
  ret i32 %v
}
"""
KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %s = alloca %S, align 4
  call void @llvm.memcpy.p0.p1.i64(ptr %s, ptr addrspace(1) @given, i64 24, i1 false)
  %i = load volatile i64, ptr addrspace(1) %out
  %n = trunc i64 %i to i32
  %one = call i32 @f(ptr byval(%S) align 4 %s, i32 %n)
  %two = call i32 @f(ptr byval(%S) align 4 %s, i32 %n)
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 3
  %own = load i32, ptr %p
  %a = mul i32 %one, 1000
  %b = add i32 %a, %two
  %c = mul i32 %own, 1000000
  %d = add i32 %b, %c
  %e = zext i32 %d to i64
  store i64 %e, ptr addrspace(1) %out
  ret void
}
"""
BODIES = {
    "a part is read": """
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 2
  %v = load i32, ptr %p""",
    "it goes on by value": """
  %v = call i32 @g(ptr byval(%S) align 4 %s)""",
    "a part is read at a computed place": """
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 %n
  %v = load i32, ptr %p""",
    "it is written": """
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 3
  store i32 99, ptr %p
  %v = call i32 @g(ptr byval(%S) align 4 %s)""",
    "its address goes on": """
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 3
  %w = call i32 @h(ptr %p)
  %x = call i32 @h(ptr %p)
  %v = add i32 %w, %x""",
    "one of two": """
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 3
  %odd = trunc i32 %n to i1
  %q = select i1 %odd, ptr %s, ptr %p
  %v = load i32, ptr %q
  store i32 8, ptr %q""",
    "its address is asked for": """
  %q = ptrtoint ptr %s to i64
  %r = add i64 %q, 8
  %p = inttoptr i64 %r to ptr
  %v = load i32, ptr %p""",
}
IN_PLACE = ("a part is read", "it goes on by value")


def module(body: str) -> str:
    define = "define internal i32 @f(ptr byval(%S) align 4 %s, i32 %n) noinline {"
    return f"{HEAD}{define}{body}\n  ret i32 %v\n}}\n{KERNEL}"


def test_each_call_has_its_own_as_llvms_code_has() -> None:
    compare({name: module(body) for name, body in BODIES.items()})


@pytest.mark.parametrize("name", BODIES)
def test_a_function_copies_nothing(name: str) -> None:
    """What has an address is on the stack already; the rest is read by its name."""
    ptx = nvgen.compile(module(BODIES[name]), target="sm_90a").ptx
    function = re.findall(r"^\.func [^;]*?\bf\([^;]*?\{(.*?)^\}", ptx, re.MULTILINE | re.DOTALL)[-1]
    assert ".local" not in function.split("$L")[0]
    assert ("mov.b64 %rd1, f_param_0" in function) is (name not in IN_PLACE)


@pytest.mark.parametrize("attributes", ["", "readonly "])
def test_a_struct_that_goes_on_by_value_is_read_where_it_is_passed(attributes: str) -> None:
    """No copy of the kernel's own: a parameter that is passed by value is copied by the call."""
    text = f"""
%S = type {{ i32, [5 x i32] }}
define internal i32 @f(ptr byval(%S) align 4 %s, i32 %i) noinline {{
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 %i
  %old = load i32, ptr %p
  store i32 99, ptr %p
  %new = load i32, ptr %p
  %sum = add i32 %old, %new
  ret i32 %sum
}}
define ptx_kernel void @k(ptr addrspace(1) %out, ptr {attributes}byval(%S) align 4 %s, i32 %i) {{
  %one = call i32 @f(ptr byval(%S) align 4 %s, i32 2)
  %two = call i32 @f(ptr byval(%S) align 4 %s, i32 2)
  %p = getelementptr %S, ptr %s, i32 0, i32 1, i32 %i
  %own = load i32, ptr %p
  %a = add i32 %one, %two
  %b = add i32 %a, %own
  store i32 %b, ptr addrspace(1) %out
  ret void
}}
"""
    compiled = nvgen.compile(text, target="sm_90a")
    assert compiled.ptx.split(".entry")[1].count(".local") == 0
    out, struct = np.zeros(1, np.int32), np.array([1, 20, 30, 40, 50, 60], np.int32)
    compiled.run(out, struct, 4, block=1)
    assert out[0] == 2 * (40 + 99) + 60


WRAPPED = """
%S = type { i32, [5 x i32] }
define ptx_kernel void @k(ptr %out, ptr byval(%S) align 4 %s, i32 %i) {
  %at = call ptr addrspace(101) @llvm.nvvm.internal.addrspace.wrap.p101.p0(ptr %s)
  %p = getelementptr %S, ptr addrspace(101) %at, i32 0, i32 1, i32 3
  %q = getelementptr %S, ptr addrspace(101) %at, i32 0, i32 1, i32 %i
  %x = load i32, ptr addrspace(101) %p
  %y = load i32, ptr addrspace(101) %q
  %z = mul i32 %y, 100
  %sum = add i32 %x, %z
  store i32 %sum, ptr %out
  ret void
}
"""


@pytest.mark.parametrize("opt", [0, 1, 3])
def test_a_struct_is_read_by_its_address_in_the_parameter_space(opt: int) -> None:
    """As front ends write it down behind the passes of LLVM's back end."""
    compiled = nvgen.compile(WRAPPED, target="sm_90a", opt=opt)
    (theirs,) = llvm.compile_all([llvm.HEADER + WRAPPED], "sm_90a", "8.7", opt=3)
    for ptx in (compiled.ptx, theirs.ptx):
        assert ptx.count("[k_param_1+16]") == 1
        assert "cvta.param" not in ptx
    out, struct = np.zeros(1, np.int32), np.array([1, 20, 30, 40, 50, 60], np.int32)
    compiled.run(out, struct, 4, block=1)
    assert out[0] == 50 + 100 * 60
