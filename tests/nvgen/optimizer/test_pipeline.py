"""LLVM's passes run in a process of their own, for a machine that LLVM knows."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import nvgen
from intrinsics.findings import InputError, InternalError
from intrinsics.targets import TARGETS
from nvgen.llvm.process import LLVM, LlvmDiedError, LlvmTimeoutError
from nvgen.optimizer import pipeline
from tests.nvgen.optimizer.passes import LEVELS, shielded
from tests.nvgen.programs import ADD


@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "sm_100f", "sm_107", "sm_107a", "sm_121a"])
def test_every_target_is_optimised(target: str) -> None:
    compiled = nvgen.compile(ADD, target=target, opt=3)
    assert f".target {target}\n" in compiled.ptx


def test_llvm_knows_every_processor_that_it_is_asked_for() -> None:
    """It would say on standard error that it ignores one."""
    code = (
        "import json, sys\nfrom llvmlite import binding\nbinding.initialize_all_targets()\n"
        "target = binding.Target.from_triple('nvptx64-nvidia-cuda')\n"
        "for name in json.load(sys.stdin):\n    target.create_target_machine(cpu=name)\n"
    )
    names = json.dumps([target.llvm_processor for target in TARGETS.values()])
    done = subprocess.run(
        [sys.executable, "-c", code], input=names, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("death", "message", "told"),
    [
        (LlvmDiedError("wrong type!"), "LLVM aborts when it optimises", "-O2: wrong type!"),
        (LlvmTimeoutError("300 s"), "LLVM does not end when it optimises", "nothing after 300 s"),
    ],
)
def test_a_pass_that_dies_or_does_not_end_is_an_error_of_the_input(
    death: Exception, message: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> str:
        raise death

    monkeypatch.setattr(LLVM, "optimize", die)
    with pytest.raises(InputError, match=message) as caught:
        nvgen.compile(ADD, target="sm_90a", opt=2)
    (finding,) = caught.value.findings
    assert finding.rule == ("llvm/crash" if type(death) is LlvmDiedError else "llvm/timeout")
    assert finding.got == told
    assert "-O0" in finding.hint


def test_text_that_llvm_does_not_read_is_a_bug_of_nvgen() -> None:
    with pytest.raises(InternalError, match="expected top-level entity"):
        pipeline.run("no LLVM IR", 1, TARGETS["sm_90a"])


def test_names_of_any_language_go_there_and_back() -> None:
    text = ADD.replace("%sum", '%"é変"').replace("@add", '@"ü\\22"')
    for level in LEVELS:
        assert "c3\\bc" in shielded(text, level, "sm_90a").lower() or "ü" in shielded(text, level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "layout", ["", "e-i64:64-i128:128-v16:16-v32:32-n16:32:64", "e-p3:32:32-p6:32:32-i64:64"]
)
def test_pointers_to_tensor_memory_have_32_bits(layout: str, level: int) -> None:
    """A data layout that says nothing of them does not make them wider."""
    text = (
        (f'target datalayout = "{layout}"\n' if layout else "")
        + "define ptx_kernel void @k(ptr addrspace(1) %out, i64 %x) {\n"
        "  %p = inttoptr i64 %x to ptr addrspace(6)\n"
        "  %y = ptrtoint ptr addrspace(6) %p to i64\n"
        "  store i64 %y, ptr addrspace(1) %out\n  ret void\n}\n"
    )
    done = shielded(text, level)
    assert "and i64 %x, 4294967295" in done


FORMS = {
    "a sum in a loop": (
        "  %s = add i32 %t, %i\n",
        "i33",
    ),
    "a square in a loop": ("  %q = mul i32 %i, %i\n  %s = add i32 %t, %q\n", "i33"),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FORMS)
def test_loops_do_not_become_formulas_of_odd_widths(name: str, level: int) -> None:
    step, odd = FORMS[name]
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {\nentry:\n  br label %loop\n"
        "loop:\n  %i = phi i32 [ 0, %entry ], [ %j, %loop ]\n"
        f"  %t = phi i32 [ 0, %entry ], [ %s, %loop ]\n{step}"
        "  %j = add i32 %i, 1\n  %c = icmp ult i32 %j, %n\n"
        "  br i1 %c, label %loop, label %end\n"
        "end:\n  store i32 %s, ptr addrspace(1) %out\n  ret void\n}\n"
    )
    assert odd not in shielded(text, level)
    nvgen.compile(text, target="sm_90a", opt=level)


MEMORY = {
    "filled": "  store i32 0, ptr addrspace(1) %p\n",
    "copied": "  %q = getelementptr i32, ptr addrspace(1) %in, i32 %i\n"
    "  %v = load i32, ptr addrspace(1) %q\n  store i32 %v, ptr addrspace(1) %p\n",
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MEMORY)
def test_loops_over_memory_stay_loops(name: str, level: int) -> None:
    """There is no memset to call on the machine."""
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %in, "
        "i32 %n) {\nentry:\n  br label %loop\n"
        "loop:\n  %i = phi i32 [ 0, %entry ], [ %j, %loop ]\n"
        f"  %p = getelementptr i32, ptr addrspace(1) %out, i32 %i\n{MEMORY[name]}"
        "  %j = add i32 %i, 1\n  %c = icmp ult i32 %j, 64\n"
        "  br i1 %c, label %loop, label %end\nend:\n  ret void\n}\n"
    )
    assert "llvm.mem" not in shielded(text, level)
    nvgen.compile(text, target="sm_90a", opt=level)


@pytest.mark.parametrize("level", LEVELS)
def test_a_switch_does_not_become_a_table(level: int) -> None:
    cases = "".join(f"    i32 {n}, label %c{n}\n" for n in range(8))
    arms = "".join(f"c{n}:\n  br label %end\n" for n in range(8))
    phis = ", ".join(f"[ {n * n * 977}, %c{n} ]" for n in range(8))
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {\nentry:\n"
        f"  switch i32 %n, label %end [\n{cases}  ]\n{arms}"
        f"end:\n  %v = phi i32 [ -1, %entry ], {phis}\n"
        "  store i32 %v, ptr addrspace(1) %out\n  ret void\n}\n"
    )
    assert "@switch.table" not in shielded(text, level)
    nvgen.compile(text, target="sm_90a", opt=level)


def test_variables_whose_addresses_stood_in_others_get_registers() -> None:
    """numba keeps its ranges so: a struct with the counter's address is copied as a whole."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %out, i64 %n) {
entry:
  %left = alloca i64
  %range = alloca { ptr, i64 }
  %copy = alloca { ptr, i64 }
  store i64 %n, ptr %left
  store ptr %left, ptr %range
  %whole = load { ptr, i64 }, ptr %range
  store { ptr, i64 } %whole, ptr %copy
  br label %loop
loop:
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %counter = load ptr, ptr %copy
  %now = load i64, ptr %counter
  %next = sub i64 %now, 1
  store i64 %next, ptr %counter
  %more = add i64 %sum, %now
  %goes = icmp sgt i64 %next, 0
  br i1 %goes, label %loop, label %end
end:
  store i64 %more, ptr addrspace(1) %out
  ret void
}
"""
    compiled = nvgen.compile(text, target="sm_90a")
    assert ".local" not in compiled.ptx
    out = np.zeros(1, np.int64)
    compiled.run(out, 10, block=1)
    assert out[0] == sum(range(11))
