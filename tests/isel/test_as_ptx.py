"""MIR that is right line by line, and yet no PTX: what is wrong stands among the findings."""

from __future__ import annotations

import pytest

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
    found = load("k.mir", text, level="record").findings
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
    assert rules(spoilt) == [("ptx/operands", 21)]
