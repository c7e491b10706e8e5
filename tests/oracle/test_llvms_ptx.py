"""The PTX that LLVM makes of a sample is read, judged and run as well as nvgen's own."""

from __future__ import annotations

import numpy as np
import pytest

from asmprinter.ptx_reader import read_ptx
from intrinsics.findings import Severity
from intrinsics.mir import Module
from isel.verifier.record import verify_records
from nvgen.sim.engine import parse_schedule
from nvgen.sim.launch import simulate
from nvgen.tensor_map import tensor_map
from tests.nvgen.samples import gemm_llvm, gemm_tile
from tests.oracle import llvm


@pytest.fixture(scope="module", params=[0, 3], ids=["O0", "O3"])
def module(request: pytest.FixtureRequest) -> Module:
    """The sample's kernel as LLVM compiles it, read back; all of it is understood."""
    (outcome,) = llvm.compile_all([gemm_llvm()], "sm_100a", "8.6", opt=request.param)
    assert outcome.ptx, outcome
    reading = read_ptx(outcome.ptx, "llvm.ptx")
    assert reading.findings == []
    found = reading.module
    assert found.ptx is not None
    judged = verify_records(found, found.target, found.ptx)
    assert [f for f in judged if f.severity is Severity.ERROR] == []
    return found


@pytest.mark.parametrize("schedule", ["early", "late", "random:1", "random:2"])
def test_it_computes_what_numpy_does(module: Module, schedule: str):
    a, b, expected = gemm_tile().operands()
    d = np.zeros_like(expected)
    maps = [tensor_map(x, x.shape, 128) for x in (a, b)]
    (name,) = (f.name for f in module.functions)
    simulate(
        module,
        name,
        [*maps, d],
        grid=(1, 1, 1),
        block=(128, 1, 1),
        schedule=parse_schedule(schedule),
    )
    assert np.array_equal(d, expected)
