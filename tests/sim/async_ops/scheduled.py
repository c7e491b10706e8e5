"""Runs of small kernels under a schedule: what they give, or the rule of what is found."""

from __future__ import annotations

import functools
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from llvmlite import binding
from numpy.typing import NDArray

import nvgen
from intrinsics.findings import Finding
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from nvgen.sim.faults import DeadlockError
from tests.sim.kernels import (
    TARGET,
)

SCHEDULES = ("early", "late", *(f"random:{seed}" for seed in range(6)))
SAMPLE = Path(__file__).parents[3] / "samples" / "01_gemm_tile.py"


def load_sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_gemm_tile", SAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def canonical(text: str) -> str:
    """The module as LLVM prints it, so that edits do not depend on how the builder writes it."""
    return str(binding.parse_assembly(text, context=binding.get_global_context()))


sample = load_sample()
TEXT = canonical(sample.build().llvm)


def changed(pattern: str, replacement: str, text: str = TEXT, *, count: int = 0) -> str:
    """The sample with a change that does happen."""
    found, changes = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    assert changes, f"nothing matches {pattern}"
    assert not count or changes == count
    return found


@functools.cache
def compiled(text: str) -> Compiled:
    """Once for all schedules."""
    return nvgen.compile(text, target=TARGET)


NVVM = r"@llvm\.nvvm\."


def line_with(text: str) -> str:
    return rf"^.*call \w+ {NVVM}{text}.*\n"


BARRIER_KERNEL = """
@first = internal addrspace(3) global [8 x i8] undef, align 8
@second = internal addrspace(3) global [8 x i8] undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %out) "nvvm.reqntid"="64" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %warp = lshr i32 %tid, 5
  %zero = icmp eq i32 %tid, 0
  br i1 %zero, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @first, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @second, i32 1)
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
BODY
}
"""
TRY_WAIT = "call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3)"
ARRIVE_AT = "call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3)"


def run_text(body: str, out: NDArray[np.generic], schedule: str) -> None:
    text = BARRIER_KERNEL.replace("BODY", body)
    check_text(text, Options(target=TARGET)).run(
        out, schedule=schedule
    )  # the rules know deadlocks, too


def deadlock_of(body: str, schedule: str) -> list[Finding]:
    with pytest.raises(DeadlockError) as caught:
        run_text(body, np.zeros(64, np.uint32), schedule)
    return list(caught.value.findings)
