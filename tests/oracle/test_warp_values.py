"""What the threads of a warp do together, beside a plain model of the manual's words.

The programs run on the simulator under all schedules, and on a GPU where
``NVGEN_TEST_DEVICE=cuda`` says so.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from tests.oracle.gpu import launch, on_gpu
from tests.oracle.warp_programs import THREADS, WARP, Program, inputs, programs

pytestmark = pytest.mark.gpu

PROGRAMS = list(programs())


def targets_of(program: Program) -> str:
    """A target that has what the program needs."""
    if program.since >= 100:
        if on_gpu():
            pytest.skip("needs a GPU of sm_100a")
        return "sm_100a"
    return "sm_90a"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_warp_gives_what_the_manual_says(program: Program):
    compiled = nvgen.compile(program.text, target=targets_of(program))
    for seed in range(4):
        x = inputs(seed)
        expected = np.concatenate([program.model(x[:WARP]), program.model(x[WARP:])])
        schedule = ("early", "late", "random:1", "random:2")[seed]
        out = np.zeros(THREADS, np.uint32)
        launch(compiled, x, out, block=(THREADS, 1, 1), schedule=schedule)
        assert out.tolist() == expected.tolist(), schedule
