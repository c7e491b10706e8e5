"""Types whose size, or whose number of registers, is beyond measure: an answer, and at once.

A struct that names another one twice doubles with each line of the text: `%t70` below has 2^71
elements.  The sizes are powers of two that the definitions give by hand.
"""

from __future__ import annotations

import time

import pytest

import nvgen
from intrinsics.findings import SelectionError

HEAD = "define ptx_kernel void @k(ptr addrspace(1) %p, i1 %c) {\n"
DOUBLING = "%t0 = type { i64, i64 }\n" + "".join(
    f"%t{n} = type {{ %t{n - 1}, %t{n - 1} }}\n" for n in range(1, 71)
)
SECONDS = 8.0
"""CPU time that any of these may take: measured, less than one."""


def kernel(body: str, before: str = "") -> str:
    """A kernel of these instructions."""
    return f"{before}{HEAD}{body}\n  ret void\n}}\n"


def refusal(text: str) -> SelectionError:
    """The error of a module that cannot be selected, which comes soon."""
    begin = time.process_time()
    with pytest.raises(SelectionError) as raised:
        nvgen.compile(text, target="sm_90a", opt=0)  # LLVM's passes drop what nobody uses
    assert time.process_time() - begin < SECONDS
    return raised.value


def test_a_struct_that_doubles_with_every_line_is_measured_at_once() -> None:
    error = refusal(kernel("  %x = alloca %t70", DOUBLING))
    assert error.findings[0].rule == "select/alloca-size"
    assert error.findings[0].got == f"{2**74} bytes"


def test_its_field_is_found_at_once() -> None:
    step = "  %a = getelementptr %t50, ptr addrspace(1) %p, i32 0, i32 1\n"
    compiled = nvgen.compile(
        kernel(step + "  store i64 1, ptr addrspace(1) %a", DOUBLING), target="sm_90a"
    )
    assert str(2**53) in compiled.ptx


AGGREGATES = {
    "load": "  %a = load [1000000 x i8], ptr addrspace(1) %p",
    "store of zeros": "  store [1000000 x i8] zeroinitializer, ptr addrspace(1) %p",
    "store of a nested struct": "  store %t40 undef, ptr addrspace(1) %p",
    "insertvalue": "  %a = insertvalue [1000000 x i32] undef, i32 1, 5",
    "phi": "  br i1 %c, label %x, label %y\nx:\n  br label %y\ny:\n"
    "  %a = phi [1000000 x i32] [ zeroinitializer, %0 ], [ undef, %x ]",
    "select": "  %a = select i1 %c, [1000000 x i32] undef, [1000000 x i32] zeroinitializer",
    "vector": "  %a = add <1000000 x i32> zeroinitializer, zeroinitializer",
    "vector of addresses": "  %a = getelementptr i8, ptr addrspace(1) %p, "
    "<1000000 x i32> zeroinitializer",
}


@pytest.mark.parametrize("name", AGGREGATES)
def test_a_value_of_a_million_registers_is_refused_with_a_hint(name: str) -> None:
    finding = refusal(kernel(AGGREGATES[name], DOUBLING)).findings[0]
    assert finding.rule == "select/value-size"
    assert finding.place.line > DOUBLING.count("\n")
    assert "llvm.memcpy" in finding.hint


def test_what_uses_a_refused_value_is_no_second_error() -> None:
    body = AGGREGATES["load"] + "\n  store [1000000 x i8] %a, ptr addrspace(1) %p"
    (only,) = refusal(kernel(body)).findings
    assert only.rule == "select/value-size"


def test_a_value_within_the_limit_is_selected() -> None:
    body = "  %a = load [512 x i32], ptr addrspace(1) %p, align 16\n"
    body += "  store [512 x i32] %a, ptr addrspace(1) %p, align 16"
    assert nvgen.compile(kernel(body), target="sm_90a").ptx.count("ld.global") == 512 // 4


@pytest.mark.parametrize("type_", ["[1000000 x i8]", "<1000000 x i8>", "%t20"])
def test_a_parameter_of_a_million_bytes_is_refused(type_: str) -> None:
    head = DOUBLING + f"define ptx_kernel void @k({type_} %q) {{\n  ret void\n}}\n"
    assert refusal(head).findings[0].rule == "select/param"


def test_a_struct_of_a_million_bytes_is_not_copied_word_by_word() -> None:
    head = "define ptx_kernel void @k(ptr byval([1000000 x i8]) %q) {\n"
    stored = head + "  store i8 1, ptr %q\n  ret void\n}\n"
    assert refusal(stored).findings[0].rule == "select/param"


@pytest.mark.parametrize("type_", ["[4000000000 x {}]", "%t60"])
def test_however_many_elements_of_no_size_are_nothing(type_: str) -> None:
    empty = DOUBLING.replace("{ i64, i64 }", "{}")
    begin = time.process_time()
    compiled = nvgen.compile(
        kernel(f"  store {type_} zeroinitializer, ptr addrspace(1) %p", empty), target="sm_90a"
    )
    assert "st." not in compiled.ptx
    assert time.process_time() - begin < SECONDS
