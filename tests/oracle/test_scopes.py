"""LLVM's syncscopes are the scopes that LLVM 22's own back end prints.

What a scope changes no simulated value shows: it says who else sees an access.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle import llvm

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {{
  %v = load atomic i32, ptr addrspace(1) %p {scope} acquire, align 4
  store atomic i32 %v, ptr addrspace(1) %q {scope} release, align 4
  %c = cmpxchg ptr addrspace(1) %p, i32 %v, i32 7 {scope} acq_rel acquire
  fence {scope} acq_rel
  ret void
}}
"""

_ORDERED = re.compile(r"(?:ld|st|atom|fence)\.(?:acquire|release|acq_rel)\.\w+")


@pytest.mark.parametrize("scope", ["", "device", "cluster", "block"])
def test_a_scope_is_printed_as_by_llvm(scope: str) -> None:
    text = llvm.HEADER + KERNEL.format(scope=f'syncscope("{scope}")' if scope else "")
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.6")
    ours = nvgen.compile(text, target="sm_90a", ptx="8.6").ptx
    expected = _ORDERED.findall(theirs.ptx)
    assert len(expected) == 4
    assert _ORDERED.findall(ours) == expected
