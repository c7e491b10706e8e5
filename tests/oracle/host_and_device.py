"""LLVM IR that runs twice: compiled by LLVM for the host, and by nvgen for the device under test.

Every byte of global memory must be equal afterwards, the bytes that no thread writes included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import nvgen
from tests.oracle.gpu import launch
from tests.oracle.jit import Dim3, HostKernel

TARGET = "sm_90a"
SENTINEL = 0xA5
Bytes = NDArray[np.uint8]


def both(
    text: str,
    memory: Sequence[NDArray[np.generic] | int],
    *,
    grid: Dim3 = (1, 1, 1),
    block: Dim3 = (32, 1, 1),
    opt: int = 0,
) -> tuple[list[Bytes], list[Bytes]]:
    """All arrays as bytes after a run on the host, and after one on the device under test.

    `opt` is nvgen's level; what the host runs is never optimised.
    """
    on_host = [a.copy() if isinstance(a, np.ndarray) else a for a in memory]
    on_gpu = [a.copy() if isinstance(a, np.ndarray) else a for a in memory]
    HostKernel(text).run(*on_host, grid=grid, block=block)
    compiled = nvgen.compile(text, target=TARGET, opt=opt)
    launch(compiled, *on_gpu, grid=grid, block=block)
    return as_bytes(on_host), as_bytes(on_gpu)


def as_bytes(memory: Sequence[NDArray[np.generic] | int]) -> list[Bytes]:
    return [np.frombuffer(a.tobytes(), np.uint8) for a in memory if isinstance(a, np.ndarray)]


def assert_equal(text: str, found: tuple[list[Bytes], list[Bytes]]) -> None:
    """Every array has the same bytes on both sides."""
    for number, (host, device) in enumerate(zip(*found, strict=True)):
        wrong = np.flatnonzero(host != device)
        assert wrong.size == 0, (
            f"array {number} differs in {wrong.size} bytes, first at byte {wrong[0]}: "
            f"host {host[wrong[0]]:#x}, device {device[wrong[0]]:#x}\n{text}"
        )


def blank(size: int) -> Bytes:
    """Memory that shows what was not written."""
    return np.full(size, SENTINEL, np.uint8)
