"""Which code runs on which GPU, and what is said where it does not."""

from __future__ import annotations

import pytest

from intrinsics.targets import TARGETS
from nvgen.testing import devices
from tests.each import each

# PTX ISA, PTX Module Directives: .target.  Architecture-specific code runs on that architecture
# only, family-specific code on later members of the family, other code on all later architectures.
RUNS = {
    90: {"sm_75", "sm_90", "sm_90a"},
    100: {"sm_75", "sm_90", "sm_100", "sm_100a", "sm_100f"},
    103: {"sm_75", "sm_90", "sm_100", "sm_100f", "sm_103", "sm_103a", "sm_103f"},
    110: {"sm_75", "sm_90", "sm_100", "sm_103", "sm_110", "sm_110a", "sm_110f", "sm_101a"},
    121: {"sm_75", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_120f", "sm_121a"},
}
SHOWN = sorted(set().union(*RUNS.values()) | {"sm_120a"})


@each("number", RUNS)
@each("target", SHOWN)
def test_which_gpu_runs_which_code(number: int, target: str) -> None:
    reason = devices.unfit(TARGETS[target], number)  # type: ignore[attr-defined]
    assert (reason == "") is (target in RUNS[number]), reason
    assert not reason or reason == f"the GPU is sm_{number}, which does not run code for {target}"


def test_the_simulator_runs_everything() -> None:
    assert all(devices.obstacle("sim", target) == "" for target in TARGETS.values())


def test_a_gpu_of_another_kind_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpu", lambda: (90, ""))
    assert "the GPU is sm_90" in devices.obstacle("cuda", TARGETS["sm_100a"])
    assert "the GPU" not in devices.obstacle("cuda", TARGETS["sm_90a"]).replace("on a GPU", "")
    assert "the GPU is" not in devices.obstacle("cuda", None)


def test_a_missing_driver_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", missing)
    number, reason = devices.gpu.__wrapped__()  # type: ignore[attr-defined]
    assert number == 0
    assert "no NVIDIA driver here" in reason
