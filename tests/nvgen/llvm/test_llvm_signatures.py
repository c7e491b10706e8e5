"""The declarations that nvgen says intrinsics have are those that LLVM's verifier takes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

import nvgen
from nvgen.llvm.process import LLVM, LlvmRejectedError
from nvgen.llvm.signatures import signatures
from tests.nvgen.conftest import Nvgen

_DECLARED = re.compile(r"declare (?P<result>.*) @(?P<name>[\w.]+)\((?P<types>.*)\)")


def call(declaration: str) -> str:
    """A function that calls what is declared with zeros: LLVM verifies what is called."""
    found = _DECLARED.fullmatch(declaration)
    assert found is not None, declaration
    types = re.findall(r"ptr(?: addrspace\(\d+\))?|<[^>]*>|\w+", found["types"])
    given = ", ".join(f"{t} zeroinitializer" if t[0] in "<p" else f"{t} {zero(t)}" for t in types)
    return (
        f'{declaration}\ndefine void @"f.{found["name"]}"() {{\n'
        f"  call {found['result']} @{found['name']}({given})\n  ret void\n}}\n"
    )


def zero(type_: str) -> str:
    return "0.0" if type_ in ("float", "double", "half", "bfloat") else "0"


def refused(declarations: Sequence[str]) -> list[str]:
    """Those whose types LLVM calls incorrect; other complaints are about the zeros."""
    try:
        LLVM.read("\n".join(map(call, declarations)), "")
    except LlvmRejectedError as error:
        if len(declarations) > 1:
            half = len(declarations) // 2
            return refused(declarations[:half]) + refused(declarations[half:])
        return [declarations[0]] if "ncorrect" in str(error) else []
    return []


@pytest.mark.turns(3)
def test_llvm_takes_every_declaration() -> None:
    """And not one whose types are others, where the intrinsic is LLVM's own."""
    declared = signatures()
    assert refused(list(declared.values())) == []
    wrong = [
        "declare i16 @llvm.nvvm.read.ptx.sreg.tid.x()",
        declared["llvm.nvvm.tcgen05.ld.32x32b.x4"].replace("<4 x i32>", "<8 x i32>"),
        declared["llvm.nvvm.mbarrier.init.shared"].replace("i32", "i64"),
    ]
    assert refused(wrong) == wrong


WRONG = """
define ptx_kernel void @k(ptr addrspace(6) %t) {
  %r = call <8 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6) %t, i1 false)
  ret void
}
declare <8 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6), i1)
"""


def test_wrong_types_are_told_with_the_right_ones_and_whose_they_are() -> None:
    with pytest.raises(nvgen.InputError) as caught:
        nvgen.compile(WRONG, target="sm_100a")
    (finding,) = caught.value.findings
    assert finding.place.line == 6
    assert finding.expected == (
        "declare <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6), i1)"
    )
    assert "@llvm.nvvm.tcgen05.ld.32x32b.x8" in finding.hint


SHUFFLE = "llvm.nvvm.shfl.sync.bfly.i32"


@pytest.mark.parametrize("count", [0, 3, 5])
def test_too_few_and_too_many_arguments_are_told_with_the_right_ones(count: int) -> None:
    types, given = ", ".join(["i32"] * count), ", ".join(["i32 0"] * count)
    text = (
        f"define ptx_kernel void @k() {{\n  %r = call i32 @{SHUFFLE}({given})\n  ret void\n}}\n"
        f"declare i32 @{SHUFFLE}({types})\n"
    )
    with pytest.raises(nvgen.InputError) as caught:
        nvgen.compile(text, target="sm_90a")
    (finding,) = caught.value.findings
    assert finding.place.line == 5
    assert finding.message.startswith("Intrinsic has incorrect ")
    assert finding.expected == f"declare i32 @{SHUFFLE}(i32, i32, i32, i32)"


def test_of_an_intrinsic_of_every_machine_the_reference_is_named() -> None:
    text = """
define ptx_kernel void @k() {
  %r = call i32 @llvm.ctpop.i64(i64 0)
  ret void
}
declare i32 @llvm.ctpop.i64(i64)
"""
    with pytest.raises(nvgen.InputError) as caught:
        nvgen.compile(text, target="sm_90a")
    (finding,) = caught.value.findings
    assert (finding.place.line, finding.expected) == (6, "")
    assert "Language Reference" in finding.hint


def test_the_command_explains_an_intrinsic(nvgen: Nvgen) -> None:
    done = nvgen("explain", "llvm.nvvm.tcgen05.commit.shared.cg1")
    assert done.status == 0
    assert "declare void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3))" in done.out
    assert "sm_100a" in done.out
    assert "TCGEN05_COMMIT" in done.out
    done = nvgen("explain", "llvm.nvvm.tcgen05.comit.shared.cg1")
    assert done.status == 2
    assert "tcgen05.commit.shared.cg1" in done.err


def test_the_command_lists_all_signatures(nvgen: Nvgen) -> None:
    declared = signatures()
    assert nvgen("explain", "--signatures", "ll").out.splitlines() == list(declared.values())
    rows = json.loads(nvgen("explain", "--signatures", "json").out)
    assert {row["name"]: row["declare"] for row in rows} == declared
    assert all(row["targets"] and row["ptx"] for row in rows)


def test_the_command_says_what_an_intrinsic_without_a_row_is(nvgen: Nvgen) -> None:
    shown = nvgen("explain", "llvm.nvvm.tex.unified.2d.v4f32.f32").out
    assert "tex.2d.v4.f32.f32 {$0, $1, $2, $3}, [$4, {$5, $6}];" in shown
    assert "since sm_70" in nvgen("explain", "llvm.nvvm.shfl.up.i32").out
