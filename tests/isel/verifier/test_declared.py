"""Text that is right line by line, and yet no PTX: what is wrong stands among the findings."""

from __future__ import annotations

import pytest

from intrinsics.findings import Severity
from nvgen.compilation.options import Options
from nvgen.loading import load

KERNEL = """\
target sm_90a

func @g(
  result @g_result : b32 size 4 align 4,
  param @g_param_0 : b32 size 4 align 4
) {
bb.0:
  %0:b32 = LD_PARAM_B32 [@g_param_0]
  ST_PARAM_B32 [@g_result], %0:b32
  RET
}

kernel @k(
  param @k_param_0 : u64 size 8 align 8 ptr global 4
) reqntid 32 {
  param @call0_param0 : size 4 align 4 type b32
  param @call0_result : size 4 align 4 type b32
bb.entry:
  %p:b64 = LD_PARAM_B64 [@k_param_0]
  ST_PARAM_B32 [@call0_param0], imm:7
  CALL_UNI @g, results={@call0_result}, params={@call0_param0}
  %x:b32 = LD_PARAM_B32 [@call0_result]
  ST_GLOBAL_B32 [%p:b64], %x:b32
  RET
}
"""


def rules(text: str) -> list[tuple[str, int]]:
    """The errors' rules and lines."""
    found = load("k.mir", text, Options(level="record")).findings
    assert all(finding.place.file == "k.mir" for finding in found)
    return [(finding.rule, finding.place.line) for finding in found]


def test_the_kernel_is_right():
    assert rules(KERNEL) == []


@pytest.mark.parametrize("name", ["k.x", "7", "k k", "$", "é", "a-b"])
def test_a_name_that_ptx_has_not(name: str):
    spoilt = KERNEL.replace("kernel @k(", f'kernel @"{name}"(')
    assert rules(spoilt) == [("mir/name", 0)]


def test_two_functions_of_one_name():
    spoilt = KERNEL.replace("@g(", "@k(").replace("CALL_UNI @g", "CALL_UNI @k")
    assert "ptx/duplicate-function" in [rule for rule, _ in rules(spoilt)]


def test_a_parameter_that_the_kernel_does_not_have():
    spoilt = KERNEL.replace("[@k_param_0]", "[@k_param_1]")
    assert rules(spoilt) == [("ld/state-space", 19)]


def test_a_call_whose_variables_are_not_there():
    spoilt = KERNEL.replace("params={@call0_param0}", "params={@call1_param0}")
    assert rules(spoilt) == [("ptx/undeclared", 21)]


PTX = """\
.version 8.0
.target sm_90
.address_size 64
.global .align 8 .b8 x[16];
.visible .entry k(.param .u64 .ptr .global .align 8 p, .param .align 8 .b8 q[16])
{
	.shared .align 8 .b8 y[16];
	ret;
}
"""


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("align", [0, 3, 48, 1 << 32, 10**20])
def test_an_alignment_that_is_no_power_of_two(align: int, at: int):
    """ptxas: "Alignment must be a power of two"."""
    parts = PTX.split(".align 8")
    spoilt = ".align 8".join(parts[: at + 1]) + f".align {align}" + ".align 8".join(parts[at + 1 :])
    found = [f for f in load("k.ptx", spoilt).findings if f.severity is Severity.ERROR]
    assert [f.rule for f in found] == ["ptx/alignment"]


@pytest.mark.parametrize("align", [1, 2, 128, 1 << 24, 1 << 30])
def test_an_alignment_that_is_one(align: int):
    assert "ptx/alignment" not in {
        f.rule for f in load("k.ptx", PTX.replace(".align 8", f".align {align}")).findings
    }


def test_a_variable_of_a_function_that_hides_another_name_of_the_module():
    text = """target sm_90a
global @table : size 8 align 8
kernel @k() {
  local @table : size 8 align 8
bb.entry:
  RET
}
"""
    found = load("k.mir", text, Options(level="record")).findings
    assert [(f.rule, f.got) for f in found] == [("mir/name-twice", "@table")]
