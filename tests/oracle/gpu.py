"""Launch on the device under test: the simulator, or a real GPU where pytest has `--device cuda`.

    make gpu-test

runs every test that is marked `gpu` on the first GPU, with the body that it has on the simulator.
"""

from __future__ import annotations

import os

from nvgen import Compiled

DEVICE_VARIABLE = "NVGEN_TEST_DEVICE"
"""Set by tests/conftest.py, for xdist's workers too."""

Dim3 = tuple[int, int, int]


def device() -> str:
    """The device under test."""
    return os.environ.get(DEVICE_VARIABLE, "sim")


def on_gpu() -> bool:
    """Whether it is a GPU."""
    return device() == "cuda"


def launch(
    compiled: Compiled,
    *arguments: object,
    grid: Dim3 = (1, 1, 1),
    block: Dim3,
    schedule: str = "early",
) -> None:
    """Run the only kernel on the device under test; arrays are written in place."""
    chosen = "early" if on_gpu() else schedule  # a GPU has its own
    compiled.run(*arguments, grid=grid, block=block, schedule=chosen, device=device())
