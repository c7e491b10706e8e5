"""Atomic operations of 128 bits: the instructions that LLVM 22 makes, and what ptxas takes."""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle import llvm

OPERATIONS = {
    "cas": "%p = cmpxchg ptr %a, i128 %b, i128 %c acq_rel acquire\n"
    "  %r = extractvalue { i128, i1 } %p, 0",
    "exch": '%r = atomicrmw xchg ptr %a, i128 %b syncscope("device") monotonic',
    "add": "%r = atomicrmw add ptr %a, i128 %b monotonic",
    "umin": "%r = atomicrmw umin ptr addrspace(1) %g, i128 %b release",
    "load": "%r = load atomic i128, ptr %a acquire, align 16",
    "store": "store atomic i128 %b, ptr %a release, align 16\n  %r = add i128 %b, %c",
}
MODULE = llvm.HEADER + "\n".join(
    f"""
define i128 @{name}(ptr %a, ptr addrspace(1) %g, i128 %b, i128 %c) {{
  {line}
  ret i128 %r
}}"""
    for name, line in OPERATIONS.items()
)


def exchanges(ptx: str) -> list[str]:
    """The atomic operations in order, without their operands."""
    return re.findall(r"\batom[.\w:]+", ptx)


@pytest.mark.skipif(llvm.VERSION != 22, reason=f"the oracle is LLVM 22, not {llvm.VERSION}")
def test_they_are_llvms_and_ptxas_takes_them():
    compiled = nvgen.compile(MODULE, target="sm_90a")
    (of_llvm,) = llvm.compile_all([MODULE], "sm_90a", "8.6")
    assert exchanges(compiled.ptx) == exchanges(of_llvm.ptx)
    assert len(exchanges(compiled.ptx)) == len(OPERATIONS)
    assert compiled.cubin()


@pytest.mark.parametrize("line", OPERATIONS.values(), ids=OPERATIONS)
def test_a_target_without_them_says_so(line: str):
    text = (
        f"define i128 @f(ptr %a, ptr addrspace(1) %g, i128 %b, i128 %c) {{\n{line}\nret i128 %r\n}}"
    )
    with pytest.raises(nvgen.SelectionError, match="atomic operation of i128") as caught:
        nvgen.compile(text, target="sm_80")
    assert {finding.rule for finding in caught.value.findings} == {"select/target"}
    assert {finding.place.line for finding in caught.value.findings} == {2}


def test_a_version_without_them_says_so():
    with pytest.raises(nvgen.SelectionError, match=r"PTX 8\.3"):
        nvgen.compile(MODULE, target="sm_90", ptx="8.0")
