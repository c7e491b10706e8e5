"""Addresses of tensor memory: from an allocation, and used in its function.

A handle whose way cannot be followed is a review, never an error: right kernels do it.
"""

from __future__ import annotations

import pytest

from intrinsics.findings import Severity
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.options import Options
from tests.each import each
from tests.isel.verifier.function.kernel_text import EPILOGUE, PROLOGUE, kernel
from tests.isel.verifier.function.tensor_kernels import line_of, said

OUT = "    ld.param.u64 %rd7, [out];\n"

ESCAPES = {
    "stored to global memory": (OUT + "    st.global.b32 [%rd7], %r3;\n", "st.global"),
    "with columns added": (
        OUT + "    add.s32 %r20, %r3, 32;\n    st.global.b32 [%rd7], %r20;\n", "st.global"),
    "as one of several": (
        OUT + "    mov.b32 %r20, 7;\n    st.global.v2.b32 [%rd7], {%r20, %r3};\n", "st.global"),
    "stored to memory of any space": (OUT + "    st.b32 [%rd7], %r3;\n", "st.b32"),
    "given to an atomic operation": (
        OUT + "    atom.global.exch.b32 %r20, [%rd7], %r3;\n", "atom.global"),
}  # fmt: skip

STAYS = {
    "what is loaded from there": (
        OUT + "    $load {%r22, %r23}, [%r5];\n    $loaded;\n    st.global.b32 [%rd7], %r22;\n"),
    "published again in shared memory": "    st.shared.b32 [slot], %r3;\n",
    "another number": OUT + "    st.global.b32 [%rd7], %r4;\n",
}  # fmt: skip


def text_of(body: str) -> str:
    return kernel(PROLOGUE + body + EPILOGUE)


def handles(text: str) -> list[tuple[str, int]]:
    found = [f for f in said(text) if "handle" in f.rule]
    assert all(f.severity is Severity.REVIEW for f in found)
    return [(f.rule, f.place.line) for f in found]


@each("name", ESCAPES)
def test_an_address_that_leaves_its_function_is_a_review_at_that_place(name: str):
    body, at = ESCAPES[name]
    text = text_of(body)
    assert handles(text) == [("tcgen05/handle-escapes", line_of(text, at))]


@each("name", STAYS)
def test_an_address_that_stays_is_none(name: str):
    assert handles(text_of(STAYS[name])) == []


IR = """
@slot = internal addrspace(3) global i32 undef, align 4
declare void @llvm.nvvm.tcgen05.mma.shared(
  ptr addrspace(6), i64, i64, i32, i1, i32, i32, i32)
{more}
define {kind} @k({params}) noinline {{
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @slot, i32 {columns})
  %h = load i32, ptr addrspace(3) @slot
  %d = inttoptr i32 %h to ptr addrspace(6)
  {body}
}}
"""


def of_ir(
    body: str, *, kind: str = "ptx_kernel void", params: str = "", more: str = "", columns: int = 64
) -> list[str]:
    """What is said of a function that allocates: the reason of each review about addresses."""
    text = IR.format(body=body, kind=kind, params=params, more=more, columns=columns)
    judged = check_text(text, Options(target="sm_100a", level="function")).judged
    found = [f for f in judged if "handle" in f.rule and f.place.function == "k"]
    assert all(f.severity is Severity.REVIEW for f in found)
    return [f.got for f in found]


def test_a_returned_address_is_a_review():
    assert of_ir("ret i32 %h", kind="i32") == ["it is returned to the caller"]


def test_an_address_that_is_passed_is_a_review():
    more = "define internal void @use(i32 %h) noinline {\n  ret void\n}"
    assert of_ir("call void @use(i32 %h)\n  ret void", more=more) == ["it is passed to a function"]


MMA = (
    "call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) {d}, i64 %a, i64 %b, i32 136314896, "
    "i1 true, i32 0, i32 1, i32 0)\n  ret void"
)
NOWHERE = {
    "a parameter": ("%g", "d is the parameter k_param_2"),
    "a constant": ("inttoptr (i32 64 to ptr addrspace(6))", "d is the constant 0x40"),
    "the allocation": ("%d", ""),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_an_address_from_no_allocation_is_a_review_with_the_reason(name: str):
    address, reason = NOWHERE[name]
    params = "i64 %a, i64 %b, ptr addrspace(6) %g"
    assert of_ir(MMA.format(d=address), params=params) == ([reason] if reason else [])


def test_of_all_columns_the_first_is_known_without_an_address():
    """An allocation of 512 columns begins at column 0: there is no other."""
    zero = MMA.format(d="inttoptr (i32 0 to ptr addrspace(6))")
    assert of_ir(zero, params="i64 %a, i64 %b", columns=512) == []
    assert of_ir(zero, params="i64 %a, i64 %b", columns=256) == ["d is the constant 0x0"]


def test_a_function_whose_caller_gives_the_address_is_not_asked():
    """What passes it there is."""
    params = "i64 %a, i64 %b, ptr addrspace(6) %g"
    assert of_ir(MMA.format(d="%g"), kind="void", params=params) == []
