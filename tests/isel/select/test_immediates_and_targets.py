"""Selection and immediates, targets and signatures: what a call of an intrinsic must give."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from llvmlite import binding

from intrinsics.findings import SelectionError
from intrinsics.mir import Module
from intrinsics.targets import TARGETS
from isel.llvm.reader import read_module
from isel.pipeline import lower
from tests.each import each
from tests.isel.select.selected import kernel, mnemonics, only, rejected

# ---- immediates ------------------------------------------------------------------------------


def unverified(text: str) -> Module:
    """Selection of a text that LLVM's verifier has not seen."""
    with binding.parse_assembly(text, context=binding.create_context()) as module:
        printed = str(module)
    return lower(read_module(printed), TARGETS["sm_100a"])


MMA = "call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %t, i64 %l, i64 %l, i32 %i, i1 {})"


@pytest.mark.parametrize(
    ("flags", "qualifier", "value"),
    [
        ("true, i32 5, i32 1, i32 0", "kind", "5"),
        ("true, i32 0, i32 3, i32 0", "cta_group", "3"),
        ("true, i32 0, i32 0, i32 0", "cta_group", "0"),
        ("true, i32 0, i32 1, i32 4", "collector_a", "4"),
    ],
)
def test_an_immediate_that_means_nothing(flags: str, qualifier: str, value: str):
    """LLVM's verifier rejects most of these; selection does not rely on it."""
    with pytest.raises(SelectionError) as caught:
        unverified(kernel("  " + MMA.format(flags)))
    finding = only(list(caught.value.findings))
    assert finding.rule == "select/immediate"
    assert qualifier in finding.message
    assert finding.got == value
    assert "1" in finding.expected


def test_an_immediate_that_is_no_constant():
    with pytest.raises(SelectionError) as caught:
        unverified(kernel("  " + MMA.format("true, i32 %i, i32 1, i32 0")))
    finding = only(list(caught.value.findings))
    assert finding.rule == "select/immediate"
    assert "kind" in finding.message


# LLVM 22's immediates: kinds, and what the collector does.  PTX's spellings beside them.
KINDS = ("f16", "tf32", "f8f6f4", "i8")
COLLECTOR = ("discard", "lastuse", "fill", "use")


@each("kind", range(4))
@each("collector", range(4))
@each("group", [1, 2])
def test_the_immediates_of_an_mma(kind: int, collector: int, group: int):
    flags = f"true, i32 {kind}, i32 {group}, i32 {collector}"
    (found,) = mnemonics(kernel("  " + MMA.format(flags)))
    assert found == (
        f"tcgen05.mma.cta_group::{group}.kind::{KINDS[kind]}.collector::a::{COLLECTOR[collector]}"
    )


@each("buffer", range(4))
@each("op", range(4))
def test_the_immediates_of_a_weight_stationary_mma(buffer: int, op: int):
    """LLVM gives the buffer of B and what it does as two numbers."""
    call = MMA.replace("mma.shared", "mma.ws.shared").format(f"true, i32 0, i32 {buffer}, i32 {op}")
    (found,) = mnemonics(kernel("  " + call))
    assert found == (f"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b{buffer}::{COLLECTOR[op]}")


@pytest.mark.parametrize(("pack", "tail"), [("false", ""), ("true", ".pack::16b")])
def test_the_packing_of_a_tensor_memory_load(pack: str, tail: str):
    text = kernel(
        "  %v = call <2 x i32> @llvm.nvvm.tcgen05.ld.16x64b.x2("
        f"ptr addrspace(6) %t, i1 {pack})\n  store <2 x i32> %v, ptr addrspace(1) %p"
    )
    assert f"tcgen05.ld.sync.aligned.16x64b.x2{tail}.b32" in mnemonics(text)


# ---- targets ---------------------------------------------------------------------------------


def named_in(text: str) -> set[str]:
    """The targets that a text names; `sm_100a/f` is two."""
    found: set[str] = set()
    for number, suffixes in re.findall(r"sm_(\d+)((?:[af](?:/[af])*)?)", text):
        found.update(f"sm_{number}{suffix}" for suffix in suffixes.split("/"))
    return found


LD = "  %r = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %t, i1 false)"


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100", "sm_103", "sm_120a", "sm_121f"])
def test_a_target_without_the_instruction(target: str):
    finding = only(rejected(kernel(LD), target=target))
    assert finding.rule == "select/target"
    assert finding.message == (
        "tcgen05.ld supported only on arch-conditional or family-conditional variants from SM100 "
        "onwards."
    )
    assert named_in(finding.got) == {target}
    works = {f"sm_{number}{suffix}" for number in (100, 101, 103, 107, 110) for suffix in "af"}
    assert named_in(finding.expected) == works
    assert named_in(finding.hint) == works
    assert finding.section.startswith("PTX ISA")


def test_a_version_of_ptx_without_the_instruction():
    """fence.proxy.async came with PTX 8.0; sm_90 with 7.8."""
    text = kernel("  call void @llvm.nvvm.fence.proxy.async()")
    assert mnemonics(text, target="sm_90") == ["fence.proxy.async"]
    finding = only(rejected(text, target="sm_90", ptx="7.8"))
    assert finding.rule == "select/target"
    assert "8.0" in finding.message
    assert "7.8" in finding.got


@pytest.mark.parametrize("target", ["sm_100a", "sm_100f", "sm_103f", "sm_107a", "sm_110a"])
def test_a_target_with_the_instruction(target: str):
    assert "tcgen05.ld.sync.aligned.32x32b.x1.b32" in mnemonics(kernel(LD), target=target)


# ---- the signature ---------------------------------------------------------------------------


def test_a_call_with_the_wrong_number_of_arguments():
    text = """
    declare void @llvm.nvvm.tcgen05.wait.ld(i32)
    define ptx_kernel void @k() {
      call void @llvm.nvvm.tcgen05.wait.ld(i32 0)
      ret void
    }"""
    with pytest.raises(SelectionError) as caught:
        unverified(text)
    finding = only(list(caught.value.findings))
    assert finding.rule == "select/signature"
    assert "1 arguments" in finding.got


CYCLE = """
import gc
import nvgen
from intrinsics.findings import SelectionError

TEXT = '''
declare void @helper()
define ptx_kernel void @k() {
  call void @helper()
  ret void
}
'''


def fail() -> None:
    try:
        nvgen.compile(TEXT, target="sm_100a")
    except SelectionError as error:
        kept = [error]  # the error, its traceback, this frame, the list, the error


for _ in range(50):
    fail()
    gc.collect()
print("alive")
"""


@pytest.mark.turns(3)
def test_an_error_that_is_kept_does_not_end_the_process():
    """Whatever order Python frees an error's frames in, LLVM's modules go before their contexts."""
    done = subprocess.run([sys.executable, "-c", CYCLE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
