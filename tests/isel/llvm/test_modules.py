"""Modules that are more or less than kernels: variables alone, second names, exceptions."""

from __future__ import annotations

import re

import pytest

import nvgen
from intrinsics.findings import SelectionError, Severity
from tests.oracle import llvm
from tests.oracle.ptxas_modules import report
from tests.oracle.side_by_side import PTX, TARGET, compare, refusals, values

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  BODY
}
"""
F = "define i64 @f(i64 %a) {\n  %r = add i64 %a, 5\n  ret i64 %r\n}\n"


def kernel(*lines: str) -> str:
    return KERNEL.replace("BODY", "\n  ".join((*lines, "ret void")))


WHOLE = {
    "variables alone": "@x = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4\n"
    "@y = constant i64 3\n",
    "a variable of another module": "@x = external addrspace(1) global i32\n",
    "device functions alone": F + "define internal void @g() {\n  ret void\n}\n",
    "local functions alone": "define internal i32 @0(i32 %a) {\n  ret i32 %a\n}\n",
    "empty variables": "@x = addrspace(4) constant [0 x i32] zeroinitializer, align 4\n"
    "@y = addrspace(1) global {} zeroinitializer\n"
    "@z = addrspace(1) global { i32, [0 x i64], {} } { i32 4, [0 x i64] zeroinitializer,"
    " {} zeroinitializer }\n@e = external addrspace(1) global [0 x i32], align 4\n",
    "functions said not to return": "define i64 @f() noreturn {\n  ret i64 1\n}\n"
    "declare i64 @h() noreturn\ndefine void @g(ptr %p) noreturn {\n  %a = call i64 @h() noreturn\n"
    "  %b = call i64 %p() noreturn\n  ret void\n}\n",
    "a second name for others": F + "@a = alias i64 (i64), ptr @f\n@b = alias i64 (i64), ptr @a\n",
}


def test_modules_without_kernels_are_compiled():
    """LLVM compiles them too, and ptxas takes what nvgen makes."""
    assert all(o.ptx for o in llvm.compile_all([*WHOLE.values()], TARGET, PTX))
    texts = {name: nvgen.compile(text, target=TARGET, ptx=PTX).ptx for name, text in WHOLE.items()}
    assert refusals(texts) == {}
    assert ".alias a, f;" in texts["a second name for others"]


def test_a_module_with_nothing_is_assembled():
    compiled = nvgen.compile("declare void @f()\n", target="sm_90a")
    assert [finding.rule for finding in compiled.findings] == ["select/no-kernel"]
    assert compiled.cubin()


VALUES = {
    "a function by its second name": F
    + "@a = alias i64 (i64), ptr @f\n@b = internal alias i64 (i64), ptr @a\n"
    + kernel(
        "%x = call i64 @a(i64 2)",
        "%y = call i64 @b(i64 %x)",
        "store i64 %y, ptr addrspace(1) %out",
    ),
    "a call that might have thrown": F
    + "declare i32 @__gxx_personality_v0()\n"
    + "define i64 @g(i64 %a) personality ptr @__gxx_personality_v0 {\n"
    "  %r = invoke i64 @f(i64 %a) to label %well unwind label %ill\n"
    "well:\n  br label %end\n"
    "ill:\n  %l = landingpad { ptr, i32 } catch ptr null\n"
    "  %c = extractvalue { ptr, i32 } %l, 1\n  %w = zext i32 %c to i64\n  br label %end\n"
    "end:\n  %v = phi i64 [ %r, %well ], [ %w, %ill ]\n  ret i64 %v\n}\n"
    + kernel("%x = call i64 @g(i64 2)", "store i64 %x, ptr addrspace(1) %out"),
}


@pytest.mark.parametrize("opt", [0, 2])
def test_values_are_llvms(opt: int):
    compare(VALUES, opt=opt)


def test_calls_under_another_type_are_taken_by_ptxas():
    """LLVM IR allows them, and linking makes them; PTX only by pointer."""
    text = (
        F
        + "define void @b(ptr byval(i64) align 8 %p) {\n  ret void\n}\n"
        + kernel(
            "%x = call i32 @f(i64 1)",
            "%y = call i64 @f(i32 1)",
            "%z = call i64 @f()",
            "call void @b(ptr byval(i64) align 16 null)",
            "call void @b(i64 3)",
            "%w = call i64 @f(i64 4)",
        )
    )
    compiled = nvgen.compile(text, target=TARGET)
    assert refusals({"": compiled.ptx}) == {}
    assert len(re.findall(r"call\.uni \([^)]*\), f,", compiled.ptx)) == 1


EMPTY = """
%none = type { {}, [0 x float] }
define {} @gives({} %z, i64 %a) {
  ret {} %z
}
define i64 @takes(i64 %a, %none %z, i64 %b, [0 x i64] %y) {
  %e = insertvalue { i64, %none } undef, %none %z, 1
  %s = insertvalue { i64, %none } %e, i64 %b, 0
  %t = extractvalue { i64, %none } %s, 0
  %d = sub i64 %t, %a
  ret i64 %d
}
declare %none @elsewhere({}, i32)
define ptx_kernel void @k(%none %z, ptr addrspace(1) %out) {
  %r = call {} @gives({} zeroinitializer, i64 1)
  %f = load volatile ptr, ptr addrspace(1) @table
  %x = call i64 %f(i64 2, %none %z, i64 44, [0 x i64] undef)
  %y = call i64 @takes(i64 %x, %none undef, i64 100, [0 x i64] zeroinitializer)
  store i64 %y, ptr addrspace(1) %out
  ret void
}
@table = addrspace(1) global ptr @takes
"""


def test_values_without_bytes_take_no_parameters():
    """LLVM 22 ends the process over them; LLVM 23 drops them, and numbers the others anew."""
    compiled = nvgen.compile(EMPTY, target=TARGET)
    assert re.findall(r"takes_param_\d\b", compiled.ptx)[:2] == ["takes_param_0", "takes_param_1"]
    assert "takes_param_2" not in compiled.ptx
    assert "func_retval0" in compiled.ptx
    assert values(compiled.ptx)[0] == 100 - 42
    assert refusals({"": compiled.ptx}) == {}


def test_a_second_name_of_a_variable_is_what_it_stands_for():
    """LLVM ends the process over it; PTX has no such name, so no other module sees it."""
    text = (
        "@v = addrspace(1) global [4 x i64] [i64 1, i64 2, i64 3, i64 4]\n"
        "@a = alias i64, getelementptr (i64, ptr addrspace(1) @v, i64 2)\n"
        "@t = addrspace(1) global ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @a, i64 8)\n"
    ) + kernel(
        "%x = load i64, ptr addrspace(1) @a",
        "%q = load ptr addrspace(1), ptr addrspace(1) @t",
        "%y = load i64, ptr addrspace(1) %q",
        "%s = shl i64 %y, 8",
        "%z = or i64 %x, %s",
        "store i64 %z, ptr addrspace(1) %out",
    )
    compiled = nvgen.compile(text, target=TARGET)
    (note,) = compiled.judged
    assert (note.rule, note.severity, note.place.line) == ("select/alias", Severity.NOTE, 2)
    assert values(compiled.ptx)[0] == 0x403
    assert refusals({"": compiled.ptx}) == {}


@pytest.mark.parametrize(
    ("declared", "rule"),
    [
        ("@a = alias void (ptr addrspace(1)), ptr @k", "select/alias"),
        ("@a = weak alias i64 (i64), ptr @f", "select/alias"),
        ("define weak i64 @w() { ret i64 1 }\n@a = alias i64 (), ptr @w", "select/alias"),
        (
            "define ptr @r() { ret ptr @f }\n@i = ifunc i64 (i64), ptr @r\n"
            "define i64 @g() { %x = call i64 @i(i64 1) ret i64 %x }",
            "select/address-of",
        ),
        (
            "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]"
            " [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]",
            "select/constructors",
        ),
        (
            "declare i32 @p(...)\n"
            "define void @g() personality ptr @p { resume { ptr, i32 } undef }",
            "select/unsupported-instruction",
        ),
    ],
)
def test_what_ptx_has_not_is_reported(declared: str, rule: str):
    text = f"{F}{declared}\n" + kernel()
    with pytest.raises(SelectionError) as error:
        nvgen.compile(text, target=TARGET)
    assert [f.rule for f in error.value.findings] == [rule]


def test_a_table_with_a_pure_virtual_function_is_assembled():
    """ptxas: "Cannot take address of function '__cxa_pure_virtual'" where nothing defines it."""
    text = (
        "declare void @__cxa_pure_virtual()\n"
        "@table = addrspace(1) global [2 x ptr] [ptr @__cxa_pure_virtual, ptr @f]\n" + F
    )
    compiled = nvgen.compile(text, target=TARGET)
    assert ".weak .func __cxa_pure_virtual" in compiled.ptx
    assert not re.search("error|fatal", report(compiled.ptx, TARGET))
    others = nvgen.compile(text.replace("__cxa_pure_virtual", "elsewhere"), target=TARGET)
    assert "Cannot take address" in report(others.ptx, TARGET)
