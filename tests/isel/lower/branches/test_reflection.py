"""Questions about what a module is compiled for are answered, and arms that they close are gone."""

from __future__ import annotations

import pytest

import nvgen
from intrinsics.findings import SelectionError
from tests.oracle.side_by_side import compare

NAMES = """
@ftz = private constant [11 x i8] c"__CUDA_FTZ\\00"
@arch = private addrspace(4) constant [12 x i8] c"__CUDA_ARCH\\00"
@other = private unnamed_addr constant [17 x i8] c"__CUDA_PREC_SQRT\\00"
declare i32 @__nvvm_reflect(ptr)
declare void @nowhere()
"""
FTZ = "call i32 @__nvvm_reflect(ptr @ftz)"
ARCH = "call i32 @llvm.nvvm.reflect(ptr addrspacecast (ptr addrspace(4) @arch to ptr))"
FLAG = '!llvm.module.flags = !{!0}\n!0 = !{i32 4, !"nvvm-reflect-ftz", i32 1}\n'
DEAD = 'call void asm sideeffect "no instruction of any machine;", ""()\n  call void @nowhere()'


def kernel(*lines: str, flag: str = "") -> str:
    body = "\n  ".join(lines)
    return f"{NAMES}define ptx_kernel void @k(ptr addrspace(1) %out) {{\n  {body}\n}}\n{flag}"


def on_flag(condition: str, flag: str) -> str:
    """A kernel one of whose arms no machine can run."""
    live, dead = ("a", "b") if flag else ("b", "a")
    return kernel(
        f"%r = {FTZ}",
        f"%c = icmp {condition}",
        "br i1 %c, label %a, label %b",
        f"{live}:",
        "br label %e",
        f"{dead}:",
        DEAD,
        "br label %e",
        "e:",
        f"%v = phi i64 [ 5, %{live} ], [ 7, %{dead} ]",
        "store i64 %v, ptr addrspace(1) %out",
        "ret void",
        flag=flag,
    )


KERNELS = {
    "flushing": on_flag("ne i32 %r, 0", FLAG),
    "not flushing": on_flag("ne i32 %r, 0", ""),
    "by a switch on the machine": kernel(
        f"%r = {ARCH}",
        "switch i32 %r, label %o [ i32 800, label %o\n i32 900, label %h ]",
        "o:",
        DEAD,
        "br label %e",
        "h:",
        "br label %e",
        "e:",
        "%v = phi i64 [ 1, %o ], [ 2, %h ]",
        "store i64 %v, ptr addrspace(1) %out",
        "ret void",
    ),
    "after arithmetic": kernel(
        f"%r = {ARCH}",
        "%s = sub i32 %r, 901",
        "%n = icmp slt i32 %s, 0",
        "%u = icmp ult i32 %s, 0",
        "%w = sext i1 %n to i32",
        "%x = zext i1 %u to i32",
        "%y = xor i32 %w, %x",
        "%z = icmp eq i32 %y, -1",
        "%l = select i1 %z, i64 11, i64 12",
        "store i64 %l, ptr addrspace(1) %out",
        "br i1 %z, label %a, label %b",
        "a:",
        "ret void",
        "b:",
        DEAD,
        "ret void",
    ),
    "a name that means nothing": kernel(
        "%r = call i32 @__nvvm_reflect(ptr @other)",
        "%w = zext i32 %r to i64",
        "%v = add i64 %w, 3",
        "store i64 %v, ptr addrspace(1) %out",
        "ret void",
    ),
}


@pytest.mark.parametrize("opt", [0, 1])
def test_the_answers_are_llvms(opt: int):
    compare(KERNELS, opt=opt)


def test_dead_arms_are_gone_before_selection():
    for text in KERNELS.values():
        compiled = nvgen.compile(text, target="sm_90a")
        assert "nowhere" not in compiled.ptx
        assert "no instruction" not in compiled.stages["select"]


def test_a_function_that_only_dead_arms_call_is_gone():
    text = (
        on_flag("ne i32 %r, 0", "")
        .replace("declare void @nowhere()", "")
        .replace("call void asm sideeffect", "call void @nowhere() ; ")
    )
    text += "define internal void @nowhere() {\n  %x = va_arg ptr null, i32\n  ret void\n}\n"
    assert "nowhere" not in nvgen.compile(text, target="sm_90a").ptx


@pytest.mark.parametrize("opt", [0, 2])
@pytest.mark.parametrize("question", [ARCH, ARCH.replace("@llvm.nvvm.reflect", "@__nvvm_reflect")])
def test_a_machine_that_llvm_does_not_know_is_named_as_it_is(question: str, opt: int):
    text = kernel(
        f"%r = {question}", "%w = zext i32 %r to i64",
        "store i64 %w, ptr addrspace(1) %out", "ret void",
    )  # fmt: skip
    for target in ("sm_107a", "sm_103f", "sm_75"):
        ptx = nvgen.compile(text, target=target, opt=opt).ptx
        assert f", {target.strip('smaf_')}0;" in ptx


def test_what_is_no_constant_has_no_answer():
    text = kernel("%r = call i32 @__nvvm_reflect(ptr null)", "ret void")
    with pytest.raises(SelectionError) as error:
        nvgen.compile(text, target="sm_90a")
    assert [f.rule for f in error.value.findings] == ["select/reflect"]
