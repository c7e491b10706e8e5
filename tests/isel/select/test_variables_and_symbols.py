"""Variables without bytes and names that may be nowhere: what PTX has is made, the rest is told."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import NvgenError, SelectionError, Severity
from intrinsics.targets import parse_ptx, parse_target
from isel.verifier.record import verify_records
from tests.each import each
from tests.oracle import llvm
from tests.oracle.ptxas_modules import report

KERNEL = "define ptx_kernel void @k(ptr addrspace(1) %p) {\n  BODY\n  ret void\n}\n"
EMPTY = {
    "a constant": ("@e = addrspace(4) constant [0 x i64] zeroinitializer, align 8", 4),
    "an internal constant": ("@e = internal addrspace(4) constant [0 x i64] zeroinitializer", 4),
    "a global": ("@e = addrspace(1) global {} zeroinitializer", 1),
    "an empty string": ("@e = addrspace(1) constant [0 x i8] zeroinitializer", 1),
    "a shared array": ("@e = internal addrspace(3) global [0 x float] undef", 3),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_variable_without_bytes_has_an_address(name: str):
    """LLVM prints one byte too; ptxas: "Non-external variable has incomplete type"."""
    declared, space = EMPTY[name]
    body = KERNEL.replace(
        "BODY",
        f"%a = ptrtoint ptr addrspace({space}) @e to i64\n  store i64 %a, ptr addrspace(1) %p",
    )
    compiled = nvgen.compile(f"{declared}\n{body}", target="sm_90a")
    assert ".b8 e[1];" in compiled.ptx
    assert compiled.cubin()


def test_dynamic_shared_memory_keeps_its_open_size():
    text = "@s = external addrspace(3) global [0 x i8]\n" + KERNEL.replace(
        "BODY", "store i8 1, ptr addrspace(3) @s"
    )
    compiled = nvgen.compile(text, target="sm_90a")
    assert ".extern .shared .align 1 .b8 s[];" in compiled.ptx
    assert compiled.cubin()


@pytest.mark.parametrize(
    ("declaration", "wrong"),
    [
        (".const .align 8 .b8 x[];", True),
        (".global .b32 x[];", True),
        (".shared .b8 x[0];", True),
        (".extern .shared .b8 x[];", False),
        (".global .b32 x[] = {1, 2};", False),
    ],
)
def test_ptx_without_a_size_is_reported(declaration: str, wrong: bool):
    text = f".version 8.0\n.target sm_90a\n.address_size 64\n{declaration}\n.entry k() {{ ret; }}\n"
    module = read_ptx(text).module
    found = verify_records(module, parse_target("sm_90a"), parse_ptx("8.0"))
    assert [f.rule for f in found] == ["variable/size"] * wrong
    assert all(f.severity is Severity.ERROR and "x" in f.got for f in found)


@pytest.mark.parametrize(
    ("declaration", "body"),
    [
        ("declare extern_weak void @maybe()", "call void @maybe()"),
        (
            "declare extern_weak void @maybe()",
            "%n = icmp eq ptr @maybe, null\n  store i1 %n, ptr addrspace(1) %p",
        ),
        (
            "@maybe = extern_weak addrspace(1) global i32",
            "%n = icmp eq ptr addrspace(1) @maybe, null\n  store i1 %n, ptr addrspace(1) %p",
        ),
    ],
)
def test_what_may_be_nowhere_is_refused(declaration: str, body: str):
    """PTX knows no weak reference: `.weak` defines, and an `.extern` that is nowhere links not."""
    with pytest.raises(NvgenError) as error:
        nvgen.compile(f"{declaration}\n{KERNEL.replace('BODY', body)}", target="sm_90a")
    (finding,) = error.value.findings
    assert finding.rule == "select/extern-weak"
    assert "@maybe" in finding.message


@pytest.mark.parametrize(
    "declared",
    ["[4 x i32] zeroinitializer", "i32 0", "float 0.0", "ptr addrspace(3) null"],
)
def test_zeros_of_shared_memory_are_a_review(declared: str):
    """LLVM leaves them out without a word."""
    text = f"@s = addrspace(3) global {declared}\n{KERNEL.replace('BODY', '')}"
    compiled = nvgen.compile(text, target="sm_90a")
    (finding,) = compiled.judged
    assert (finding.rule, finding.severity) == ("select/shared-zeros", Severity.REVIEW)
    assert finding.place.line == 1
    assert re.search(r"\.shared \.align \d+ \.b8 s\[\d+\];", compiled.ptx)


def test_managed_variables_are_what_llvm_calls_them():
    text = (
        "@m = addrspace(1) global i32 0\n@d = external addrspace(1) global ptr\n"
        "@n = addrspace(1) global i32 0\n"
        "!nvvm.annotations = !{!0, !1}\n"
        '!0 = !{ptr addrspace(1) @m, !"managed", i32 1}\n'
        '!1 = !{ptr addrspace(1) @d, !"managed", i32 1}\n'
    ) + KERNEL.replace("BODY", "")
    compiled = nvgen.compile(text, target="sm_90a")
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.6")
    pattern = re.compile(r"\.attribute\(\.managed\) \.align \d \.\w+ (\w+)")
    assert pattern.findall(compiled.ptx) == pattern.findall(theirs.ptx) == ["m", "d"]
    assert compiled.cubin()
    assert nvgen.compile(compiled.mir).ptx == compiled.ptx


def test_what_nobody_names_may_be_nowhere():
    text = "declare extern_weak void @maybe()\n" + KERNEL.replace("BODY", "")
    assert "maybe" not in nvgen.compile(text, target="sm_90a").ptx


ADDRESS_OF_MAYBE = "@maybe = extern_weak addrspace(1) global i64\n" + KERNEL


def test_what_may_be_nowhere_and_is_not_used_is_left_out():
    """clang at -O0 declares `threadIdx` so."""
    compiled = nvgen.compile(ADDRESS_OF_MAYBE.replace("BODY", ""), target="sm_90a")
    assert "maybe" not in compiled.ptx


def test_what_may_be_nowhere_and_is_only_accessed_is_a_weak_variable():
    """An access by a null pointer is undefined: zeros will do, and a definition elsewhere wins."""
    body = "%x = load i64, ptr addrspace(1) @maybe\n  store i64 %x, ptr addrspace(1) %p"
    compiled = nvgen.compile(ADDRESS_OF_MAYBE.replace("BODY", body), target="sm_90a")
    assert ".weak .global .align 8 .b8 maybe[8];" in compiled.ptx
    assert compiled.cubin()
    x = np.ones(1, np.int64)
    compiled.run(x, block=1, device="sim")
    assert x[0] == 0


def test_a_common_variable_outside_of_global_memory_is_weak():
    """ptxas: ".common variables must be declared in .global space"; LLVM prints .weak, too."""
    text = "@c = common addrspace(4) global i32 0\n" + KERNEL.replace(
        "BODY", "%x = load i32, ptr addrspace(4) @c\n  store i32 %x, ptr addrspace(1) %p"
    )
    compiled = nvgen.compile(text, target="sm_90a")
    assert ".weak .const .align 4 .b8 c[4];" in compiled.ptx
    assert compiled.cubin()


def test_bytes_of_an_address_need_ptx_7_1():
    """ptxas: "Feature 'mask operator in initializer' requires PTX ISA .version 7.1"."""
    text = (
        "@x = addrspace(1) global i32 0\n"
        "@t = addrspace(1) global <{ i8, ptr addrspace(1) }> <{ i8 1, ptr addrspace(1) @x }>\n"
        + KERNEL.replace("BODY", "")
    )
    compiled = nvgen.compile(text, target="sm_80")
    assert ".version 7.1" in compiled.ptx
    assert compiled.cubin()


def test_a_result_is_aligned_to_128_bytes_at_most():
    """ptxas: "must be aligned to 1, 2, 4, 8, 16, 32, 64, or 128 bytes"."""
    text = (
        "declare <64 x i32> @f(<64 x i32>)\n"
        "define <64 x i32> @g(<64 x i32> %x) {\n"
        "  %y = call <64 x i32> @f(<64 x i32> %x)\n  ret <64 x i32> %y\n}\n"
    )
    compiled = nvgen.compile(text, target="sm_90a")
    assert ".param .align 128 .b8 func_retval0[256]" in compiled.ptx
    assert "error" not in report(compiled.ptx, "sm_90a", "-c")


def test_the_warp_has_32_threads():
    text = KERNEL.replace(
        "BODY",
        "%w = call i32 @llvm.nvvm.read.ptx.sreg.warpsize()\n  store i32 %w, ptr addrspace(1) %p",
    )
    text += "declare i32 @llvm.nvvm.read.ptx.sreg.warpsize()\n"
    x = np.zeros(1, np.int32)
    nvgen.compile(text, target="sm_90a").run(x, block=1, device="sim")
    assert x[0] == 32


def test_a_list_that_llvm_has_numbered_is_no_memory():
    """flang's OpenMP module has two: LLVM calls the second `llvm.compiler.used7`."""
    text = (
        "@s = weak addrspace(3) global [32 x i32] undef\n"
        "@llvm.compiler.used7 = appending global [1 x ptr]"
        ' [ptr addrspacecast (ptr addrspace(3) @s to ptr)], section "llvm.metadata"\n'
        + KERNEL.replace("BODY", "store i32 1, ptr addrspace(3) @s")
    )
    compiled = nvgen.compile(text, target="sm_90a")
    assert "compiler_used" not in compiled.ptx
    assert compiled.cubin()


def is_assembled(text: str) -> bool:
    """Whether ptxas makes machine code of a module."""
    return "error" not in report(nvgen.compile(text, target="sm_90a").ptx, "sm_90a", "-c")


def test_a_variable_may_be_called_as_a_constant_of_ptx() -> None:
    text = "@WARP_SZ = global i32 3\n@WARP_SZ_ = global i32 4\n"
    (first, second) = nvgen.compile(text, target="sm_90a").module.variables
    assert {first.name, second.name} == {"WARP_SZ_", "WARP_SZ__1"}
    assert is_assembled(text)


def test_a_number_of_80_bits_lies_in_16_bytes() -> None:
    """LLVM Language Reference, Data Layout: f80 is aligned to 16."""
    text = "@g = global [2 x x86_fp80] zeroinitializer\n"
    (variable,) = nvgen.compile(text, target="sm_90a").module.variables
    assert (variable.size, variable.align) == (32, 16)
    assert is_assembled(text)


@each(
    "variable, rule, got",
    [
        ("addrspace(4) global [65537 x i8] zeroinitializer", "variable-size", "65537 bytes"),
        ("global i32 0, align 2147483648", "variable-alignment", "align 2147483648"),
    ],
)
def test_what_no_memory_holds_is_refused(variable: str, rule: str, got: str) -> None:
    with pytest.raises(SelectionError) as caught:
        nvgen.compile(f"@g = {variable}\n", target="sm_90a")
    (finding,) = caught.value.findings
    assert (finding.rule, finding.got, finding.place.line) == (f"select/{rule}", got, 1)


def test_the_largest_constant_is_taken() -> None:
    assert is_assembled("@g = addrspace(4) global [65536 x i8] zeroinitializer\n")


# ---- launches ------------------------------------------------------------------------------------

BOUNDS = ("reqntid", "maxntid", "cluster_dim", "maxclusterrank", "minctasm", "maxnreg")
NO_NUMBERS = ("", "-1", "a", "4294967296", "9" * 5000, "1,,2", "0x20", "1.5", "٣", "1_0", "+1")


def with_bound(name: str, said: str) -> str:
    return f'define ptx_kernel void @k() "nvvm.{name}"="{said}" {{\n  ret void\n}}\n'


@each("name", BOUNDS)
def test_a_bound_of_launches_is_a_list_of_numbers(name: str) -> None:
    """At every level of LLVM's optimiser, which ends the process at some of these."""
    several = name in ("reqntid", "maxntid", "cluster_dim")
    zero = ["0", "32,0,1"] if name in ("reqntid", "maxntid") else []
    for said in (*NO_NUMBERS, "1,2,3,4" if several else "1,2", *zero):
        for opt in (None, 2):
            with pytest.raises(SelectionError) as caught:
                nvgen.compile(with_bound(name, said), target="sm_90a", opt=opt)
            (finding,) = caught.value.findings
            assert finding.rule == "select/attribute", (said, opt)
            assert (finding.place.line, f"nvvm.{name}" in finding.message) == (1, True)


@each("name", BOUNDS)
def test_a_bound_of_launches_is_what_is_assembled(name: str) -> None:
    several = name in ("reqntid", "maxntid", "cluster_dim")
    for said in ("1", "4,2", "2, 2,1") if several else ("1", "32"):
        assert is_assembled(with_bound(name, said)), said
