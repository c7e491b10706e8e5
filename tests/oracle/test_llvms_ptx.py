"""The PTX that LLVM makes of the samples is read, judged and run as well as nvgen's own."""

from __future__ import annotations

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from intrinsics.mir import Module
from isel.verifier.record import verify_records
from nvgen.launching.parameters import Argument, Output
from nvgen.launching.tensor_map import tensor_map
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from tests.oracle import llvm
from tests.samples.modules import gemm_llvm, gemm_tile, warp_specialized

SCHEDULES = ("early", "late", "random:1", "random:2")


def by_llvm(text: str, opt: int) -> Module:
    """A kernel as LLVM compiles it, read back; all of it is understood and legal."""
    (outcome,) = llvm.compile_all([text], "sm_100a", "8.6", opt=opt)
    assert outcome.ptx, outcome
    reading = read_ptx(outcome.ptx, "llvm.ptx")
    assert reading.findings == []
    found = reading.module
    assert found.ptx is not None
    judged = verify_records(found, found.target, found.ptx)
    assert [f for f in judged if f.severity is Severity.ERROR] == []
    return found


def run(
    module: Module, arguments: list[Argument | Output], threads: int, smem: int, schedule: str
) -> None:
    (name,) = (f.name for f in module.functions)
    simulate(
        module,
        name,
        arguments,
        grid=(1, 1, 1),
        block=(threads, 1, 1),
        smem=smem,
        schedule=parse_schedule(schedule),
    )


@pytest.fixture(scope="module", params=[0, 3], ids=["O0", "O3"])
def tile(request: pytest.FixtureRequest) -> Module:
    """The first sample."""
    return by_llvm(gemm_llvm(), request.param)


@pytest.mark.turns(3)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_tile_is_what_numpy_says(tile: Module, schedule: str):
    a, b, expected = gemm_tile().operands()
    d = np.zeros_like(expected)
    run(tile, [*(tensor_map(x, x.shape, 128) for x in (a, b)), d], 128, 0, schedule)
    assert np.array_equal(d, expected)


@pytest.fixture(scope="module", params=[0, 3], ids=["O0", "O3"])
def specialized(request: pytest.FixtureRequest) -> Module:
    """The second sample."""
    return by_llvm(warp_specialized().build().llvm, request.param)


@pytest.mark.turns(8)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warp_specialised_gemm_is_what_numpy_says(specialized: Module, schedule: str):
    sample = warp_specialized()
    m, n, k = 128, 256, 320
    a, b, expected = sample.operands(m, n, k)
    d = np.zeros_like(expected)
    maps = [tensor_map(x, (128, 64), 128) for x in (a, b)]
    output = Output(tensor_map(d, (128, 32), 128))
    smem = sample.build().dynamic_shared
    run(specialized, [*maps, output, m, n, k], sample.THREADS, smem, schedule)
    assert np.array_equal(d, expected)
