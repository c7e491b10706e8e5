"""Which cell of tensor memory each thread and register of tcgen05.ld and st has.

Two descriptions that know nothing of each other:

- CUTLASS, include/cute/atom/copy_traits_sm100.hpp: Copy_Traits of SM100_TMEM_LOAD_*: bits of
  (thread, value) as a CuTe layout, and bits as (column bits, lanes);
- Triton, lib/Dialect/TritonNvidiaGPU/IR (getTileLayout): linear layouts, the images of the single
  bits of the thread's and the register's number.
"""

from __future__ import annotations

import numpy as np

from tests.intrinsics.published.cute import Ints, Nest, grid

REGISTERS = {"S16X64B": 1, "S16X128B": 2, "S16X256B": 4, "S32X32B": 1, "S16X32BX2": 1}
"""Registers of a thread for .x1 (PTX ISA, Table 47)."""

LARGEST = {"S16X64B": 128, "S16X128B": 64, "S16X256B": 32, "S32X32B": 128, "S16X32BX2": 128}
"""The largest .num."""


def _cutlass_bits(shape: str, n: int) -> tuple[Nest, Nest, Nest, Nest, int]:
    """(thread shape, thread stride, value shape, value stride, bits of a row), all in bits."""
    match shape:
        case "S16X256B":
            return (4, 8), (64, 256 * n), (64, 2, n), (1, 2048 * n, 256), 256 * n
        case "S16X128B":
            return (4, 8), (32, 128 * n), (32, 2, n), (1, 1024 * n, 128), 128 * n
        case "S16X64B":
            return (2, 2, 8), (512 * n, 32, 64 * n), (32, n), (1, 64), 64 * n
        case "S16X32BX2":
            return (16, 2), (64 * n, 32 * n), (32 * n,), (1,), 64 * n
        case _:
            return (32,), (32 * n,), (32 * n,), (1,), 32 * n


def cutlass(shape: str, n: int) -> tuple[Ints, Ints]:
    """Lane and column of each (thread, register), shape (32, registers).

    CUTLASS's 16dp32b has its second half right behind the first: a half split of `n` columns.
    """
    threads, thread_step, values, value_step, row = _cutlass_bits(shape, n)
    bits = grid((threads, values), (thread_step, value_step))
    whole = bits[:, ::32]
    assert np.array_equal(bits.reshape(32, -1, 32), whole[..., None] + np.arange(32))
    return whole // row, whole % row // 32


_TRITON_THREADS: dict[str, list[tuple[int, int]]] = {
    "S32X32B": [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)],
    "S16X64B": [(8, 0), (0, 1), (1, 0), (2, 0), (4, 0)],
    "S16X128B": [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)],
    "S16X256B": [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)],
}
_TRITON_REGISTERS: dict[str, list[tuple[int, int]]] = {
    "S32X32B": [],
    "S16X64B": [],
    "S16X128B": [(8, 0)],
    "S16X256B": [(0, 1), (8, 0)],
}
_TRITON_COLUMNS = {"S32X32B": 1, "S16X64B": 2, "S16X128B": 4, "S16X256B": 8}


def triton(shape: str, n: int) -> tuple[Ints, Ints]:
    """Lane and column of each (thread, register); .16x32bx2 has no tile: its split is free."""
    tile = _TRITON_REGISTERS[shape]
    repeats = [(0, _TRITON_COLUMNS[shape] << i) for i in range(n.bit_length() - 1)]
    thread = _linear(_TRITON_THREADS[shape], np.arange(32)[:, None])
    register = _linear([*tile, *repeats], np.arange(REGISTERS[shape] * n)[None, :])
    return thread[0] + register[0], thread[1] + register[1]


def _linear(bases: list[tuple[int, int]], index: Ints) -> tuple[Ints, Ints]:
    lane, column = np.zeros_like(index), np.zeros_like(index)
    for bit, (step_lane, step_column) in enumerate(bases):
        lane = lane ^ (index >> bit & 1) * step_lane
        column = column ^ (index >> bit & 1) * step_column
    return lane, column
