"""A run that does not end: it is ended after the steps or the seconds that it has, and says where
each warp stands.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import nvgen
from intrinsics.findings import InputError, Severity, SimulationError

COUNTING = """\
define ptx_kernel void @k(ptr addrspace(1) %p) {
  br label %l
l:
  %i = phi i32 [ 0, %0 ], [ %j, %l ]
  %j = add i32 %i, 1
  store volatile i32 %j, ptr addrspace(1) %p
  %c = icmp eq i32 %j, 0
  br i1 %c, label %e, label %l
e:
  ret void
}
"""
LOOP = range(4, 9)
"""The lines of the loop."""


def ended(**limits: float) -> SimulationError:
    """How a kernel that counts to 2^32 ends."""
    compiled = nvgen.compile(COUNTING, target="sm_90a")
    with pytest.raises(SimulationError) as raised:
        compiled.run(np.zeros(1, np.int32), grid=8, block=96, races=False, **limits)
    return raised.value


def test_after_its_time_the_run_ends_and_says_where_the_warps_are() -> None:
    begin = time.monotonic()
    first, *standing = ended(timeout=0.5).findings
    assert time.monotonic() - begin < 60  # it would take days
    assert first.rule == "sim/timeout"
    assert first.severity is Severity.ERROR
    assert first.place.line in LOOP
    assert standing
    assert all(note.place.line in LOOP for note in standing)
    assert "CTA 0, warp 0, lanes 0-31" in "".join(note.message for note in standing)


def test_after_its_steps_too() -> None:
    first, *standing = ended(max_steps=500).findings
    assert first.rule == "sim/max-steps"
    assert "500 steps" in first.message
    assert len(str(ended(max_steps=500))) < 5000
    assert any("more groups of threads" in note.message for note in standing)


def test_a_kernel_that_ends_in_time_is_not_disturbed() -> None:
    text = "define ptx_kernel void @k(ptr addrspace(1) %p) {\n"
    text += "  store i32 7, ptr addrspace(1) %p\n  ret void\n}\n"
    array = np.zeros(1, np.int32)
    statistics = nvgen.compile(text, target="sm_90a").run(
        array, block=1, timeout=600.0, max_steps=1000
    )
    assert array[0] == 7
    assert 0 < statistics.steps <= 1000


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), float("inf"), "2", 1e30])
def test_what_is_no_time_is_refused(timeout: float) -> None:
    with pytest.raises(InputError, match="run/timeout"):
        nvgen.compile(COUNTING, target="sm_90a").run(
            np.zeros(1, np.int32), block=1, timeout=timeout
        )


@pytest.mark.parametrize("steps", [0, -1, 1.5, "9", True])
def test_what_is_no_number_of_steps_is_refused(steps: int) -> None:
    with pytest.raises(InputError, match="run/max-steps"):
        nvgen.compile(COUNTING, target="sm_90a").run(
            np.zeros(1, np.int32), block=1, max_steps=steps
        )
