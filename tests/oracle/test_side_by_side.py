"""Modules that ptxas judges in one file are refused where each alone is, and nowhere else."""

from __future__ import annotations

import subprocess

import pytest

from tests.oracle.ptxas import required_ptxas
from tests.oracle.side_by_side import PTX, TARGET, joint, refusals

MODULE = f"""//
.version {PTX}
.target {TARGET}
.address_size 64

.visible .global .align 8 .b8 NAME[8] = {{1}};

.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0  // out
)
{{
	.reg .b64 %rd<3>;
	ld.param.b64 %rd1, [k_param_0];
	ld.global.b64 %rd2, [USED];
	st.global.b64 [%rd1], %rd2;
	ret;
}}
"""


def module(name: str, used: str) -> str:
    return MODULE.replace("NAME", name).replace("USED", used)


GOOD = module("data", "data")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was started, each time that something is."""
    required_ptxas()
    started: list[object] = []
    start = subprocess.Popen

    def counted(*given, **named):
        started.append(given)
        return start(*given, **named)

    monkeypatch.setattr(subprocess, "Popen", counted)
    return started


def test_many_legal_modules_take_one_process(processes: list[object]) -> None:
    assert refusals({str(n): GOOD for n in range(5)}) == {}
    assert len(processes) == 1


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (GOOD.replace("st.global.b64", "st.global.b33"), "b33"),
        (module("data", "other"), "other"),
        (module("data", "m0_data"), "m0_data"),
        (GOOD.replace("{1};", "{1};\n.visible .global .align 8 .b8 data[8];"), "data"),
    ],
)
@pytest.mark.usefixtures("processes")
def test_a_module_that_is_refused_alone_is_refused_among_others(bad: str, said: str) -> None:
    """Whatever names its neighbours have."""
    refused = refusals({"a": module("other", "other"), "b": bad, "c": GOOD})
    assert [*refused] == ["b"]
    assert said in refused["b"]


@pytest.mark.parametrize(
    "other",
    [
        GOOD.replace(PTX, "8.7"),
        GOOD.replace(".visible .entry", ".extern .func f;\n.visible .entry"),
        GOOD.replace(".visible .global", ".global"),
    ],
)
def test_what_cannot_be_told_apart_is_not_joined(other: str) -> None:
    assert joint([GOOD, GOOD])
    assert joint([GOOD, other]) == ""
