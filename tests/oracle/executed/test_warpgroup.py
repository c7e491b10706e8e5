"""Random programs of wgmma: every accumulator as numpy has it, under every schedule.

NVGEN_EXECUTED_ROUNDS=N runs N times as many.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from intrinsics.findings import SimulationError
from tests.oracle.executed.warpgroup_programs import execute, program_of
from tests.sim.ptx import SCHEDULES

ROUNDS = int(os.environ.get("NVGEN_EXECUTED_ROUNDS", "1"))
SEEDS = range(16 * ROUNDS)


@pytest.mark.turns(4)
@pytest.mark.gpu
@pytest.mark.parametrize("seed", SEEDS)
def test_programs(seed: int) -> None:
    program = program_of(seed)
    found = execute(program, SCHEDULES[seed % len(SCHEDULES)])
    for one, codes in zip(program.accumulators, found, strict=True):
        numbers = codes.view(np.int32 if one.case.d == "s32" else np.float32)
        assert np.array_equal(numbers, one.numbers), one.case


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_statement_that_orders_is_missed(seed: int) -> None:
    """Without its fences, its commits or its waits no program ends well."""
    for verb in ("fence", "commit_group", "wait_group"):
        program = program_of(seed)
        kept = [s for s in program.statements if not s.startswith(f"wgmma.{verb}")]
        if len(kept) == len(program.statements) or "wgmma.mma" not in " ".join(kept):
            continue
        program.statements = kept
        with pytest.raises(SimulationError) as caught:
            execute(program, SCHEDULES[seed % len(SCHEDULES)])
        wanted = "wgmma-fence" if verb == "fence" else "wgmma-registers"
        assert caught.value.findings[0].rule == f"sim/{wanted}"
