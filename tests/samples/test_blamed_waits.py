"""Of waits in a circle the one to blame is told first, by the rules and by a run.

A mistake is planted in sample 2, whose loader, multiplier and epilogue wait for each other: the
count of an mbarrier, or the parity of a wait.  The first finding is about that mbarrier.
"""

from __future__ import annotations

import functools

import pytest

from intrinsics.findings import SimulationError
from nvgen.compilation.options import Options
from nvgen.loading import load
from tests.samples.sample_subjects import subject
from tests.samples.synchronisation import Mutant, mutants

_INIT, _WAIT = "count mbarrier.init.shared.b64", "parity mbarrier.try_wait.parity.shared.b64"

BLAMED = {
    f"{_INIT} #1": ("full", "full[0]"),
    f"{_INIT} #2": ("empty", "empty[0]"),
    f"{_INIT} #9": ("sums", "sums[0]"),
    f"{_INIT} #10": ("free", "free[0]"),
    f"{_WAIT} #1": ("empty", "empty[0]"),
    f"{_WAIT} #3": ("free", "free[0]"),
}
"""The mbarrier that each mistake is about, as the rules and as a run name it."""


@functools.cache
def planted() -> dict[str, Mutant]:
    """The mutants of the sample, by name."""
    return {mutant.name: mutant for mutant in mutants(subject("warps").compiled.ptx)}


@pytest.mark.parametrize("name", BLAMED)
def test_the_rules_tell_the_wait_to_blame_and_no_other(name: str) -> None:
    found = load("mutant.ptx", planted()[name].ptx, Options(level="all")).findings
    waits = [f for f in found if f.rule == "mbarrier/deadlock"]
    assert waits
    assert all(f"waits here for mbarrier {BLAMED[name][0]}, parity 0" in f.got for f in waits)


@pytest.mark.parametrize("name", [f"{_INIT} #1", f"{_WAIT} #3"])
def test_a_run_tells_the_wait_to_blame_first(name: str) -> None:
    program = load("mutant.ptx", planted()[name].ptx, Options())
    with pytest.raises(SimulationError) as caught:
        subject("warps").run(program.compiled(), "early")
    assert f"wait for {BLAMED[name][1]}, parity 0" in caught.value.findings[0].message
