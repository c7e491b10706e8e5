"""Launches of the kernels of synchronisation patterns on the simulator.

All inputs are zeros, and memory counts as written from the start, for these kernels say who waits
for whom and leave out who fills the buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from intrinsics.findings import Finding, SimulationError
from nvgen.launching.tensor_map import tensor_map
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from nvgen.sim.memory.layout import LocalLayout
from nvgen.sim.threads.grid import populate
from nvgen.sim.threads.limits import Limits
from nvgen.sim.threads.machine import Code, Machine
from tests.isel.verifier.patterns.pattern_ptx import SWIZZLED, Kernel
from tests.sim.ptx import program

BUFFERS = 1024
"""Where the buffers begin; flags, addresses and mbarriers lie before them."""

STEPS = 6
"""Turns of a loop."""

MAX_STEPS = 20_000
"""Far more than any of these kernels needs: who spins on a flag for ever is found soon."""


@contextmanager
def _all_written() -> Iterator[None]:
    """Shared and tensor memory that count as written from the start."""

    def filled(
        machine: Machine, code: Code, params: bytes, static: int, dynamic: int, local: LocalLayout
    ) -> None:
        populate(machine, code, params, static, dynamic, local)
        for cta in machine.ctas:
            cta.shared.data[BUFFERS:] = 0
            cta.shared.written[BUFFERS:] = True
            cta.tensor.cells[:] = 0
            cta.tensor.written[:] = True

    with mock.patch("nvgen.sim.launch.populate", filled):
        yield


def loops(kernel: Kernel) -> bool:
    """Whether the kernel has a loop of as many turns as its parameter says."""
    return any(line.startswith("loop") or "%steps" in line for line in kernel.lines)


def run(kernel: Kernel, schedule: str, *, steps: int = STEPS, races: bool = True) -> list[Finding]:
    """What ends a launch of one CTA, or of a pair; empty when nothing does."""
    module, codes = program(kernel.ptx())
    a = tensor_map(np.zeros((128, 64), np.float16), (128, 64), 128)
    b = tensor_map(np.zeros((32, 64), np.float16), (32, 64), 128)
    out = np.zeros(2 * kernel.threads, np.uint32)
    word = int(SWIZZLED) | BUFFERS >> 4  # A, B, S and T are the first buffer
    pair = (kernel.group, 1, 1)
    try:
        with _all_written():
            simulate(
                module,
                "k",
                [a, b, out, steps, word, word, word, word],
                grid=pair,
                block=(kernel.threads, 1, 1),
                cluster=pair,
                schedule=parse_schedule(schedule),
                races=races,
                limits=Limits(MAX_STEPS),
                codes=codes,
            )
    except SimulationError as error:
        return list(error.findings)
    return []
