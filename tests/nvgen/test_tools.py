"""ptxas and nvdisasm: a tool that hangs, fails or is none ends in an error that says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nvgen
from intrinsics.findings import AssemblerError, InputError
from nvgen.machine_code.assembler import find_ptxas
from nvgen.machine_code.tools import run_tool
from tests.each import each

EMPTY = "define ptx_kernel void @k() {\n  ret void\n}\n"

Tool = Callable[[str], Path]


@pytest.fixture
def ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tool]:
    """Makes a script that is taken for ptxas."""

    def make(script: str) -> Path:
        path = tmp_path / "ptxas"
        path.write_text(script)
        path.chmod(0o755)
        monkeypatch.setenv("NVGEN_PTXAS", str(path))
        find_ptxas.cache_clear()
        return path

    yield make
    monkeypatch.undo()
    find_ptxas.cache_clear()


def test_an_assembler_that_does_not_end_is_stopped(
    ptxas: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ptxas("#!/bin/sh\nexec sleep 300\n")
    monkeypatch.setenv("NVGEN_TOOL_SECONDS", "0.2")
    before = time.monotonic()
    with pytest.raises(AssemblerError) as caught:
        nvgen.compile(EMPTY, target="sm_90a").cubin()
    assert time.monotonic() - before < 60
    (finding,) = caught.value.findings
    assert (finding.rule, finding.got) == ("ptxas/failed", str(path))
    assert "did not end within 0.2 seconds" in finding.message
    assert "NVGEN_TOOL_SECONDS" in finding.hint


def test_what_an_assembler_says_as_it_fails_is_told(ptxas: Tool) -> None:
    ptxas("#!/bin/sh\necho no licence >&2\nexit 7\n")
    with pytest.raises(AssemblerError) as caught:
        nvgen.compile(EMPTY, target="sm_90a").cubin()
    (finding,) = caught.value.findings
    assert "exit status 7" in finding.message
    assert finding.got == "no licence"


def test_an_assembler_that_makes_nothing_has_failed(ptxas: Tool) -> None:
    ptxas("#!/bin/sh\nexit 0\n")
    with pytest.raises(AssemblerError, match="exit status 0"):
        nvgen.compile(EMPTY, target="sm_90a").cubin()


def test_what_is_no_program_cannot_be_run(ptxas: Tool) -> None:
    path = ptxas("no program\n")
    path.chmod(0o644)
    with pytest.raises(AssemblerError, match="ptxas cannot be run"):
        nvgen.compile(EMPTY, target="sm_90a").cubin()


@each("seconds", ("0", "-1", "soon", "nan", "inf", "1e9"))
def test_a_limit_is_a_number_of_seconds(seconds: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NVGEN_TOOL_SECONDS", seconds)
        with pytest.raises(InputError) as caught:
            run_tool(["true"])
    (finding,) = caught.value.findings
    assert (finding.rule, finding.got) == ("ptxas/seconds", seconds)
