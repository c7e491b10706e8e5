"""Kernels that load, transpose and store matrices by warps, against numpy; what is refused."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.modifiers.matrix import MatrixNum, MatrixShape
from nvgen import KernelBuilder, u32
from nvgen.shared_memory.tiles import SharedTile
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer

ROWS, COLUMNS = 16, 64


def copy(b: KernelBuilder, tile: SharedTile, memory: Pointer | Int, *, stores: bool) -> None:
    """Copy a tile from memory, or with `stores` into it, 16 bytes a thread at a time."""
    assert isinstance(memory, Pointer)
    per_line = tile.line_bytes // 16
    for first in range(0, tile.nbytes // 16, 32):
        index = b.tid_x + first
        inside, outside = tile.chunk(index // per_line, index % per_line), memory + index * 16
        source, target = (inside, outside) if stores else (outside, inside)
        b.store(b.load(source, u32, 4, align=16), target, align=16)
    b.bar_warp_sync()


@pytest.mark.turns(4)
@kernel_test(schedules="all", targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("in_registers", [False, True])
def test_a_swizzled_tile_is_transposed(launch: Launch, in_registers: bool) -> None:
    """By the stores, or in registers: the four matrices of 16 by 16 elements, block by block."""
    b = KernelBuilder("transpose", block=32)
    b.pointer("x")
    b.pointer("d", output=True)
    args = b.begin()
    source = b.shared_tile("source", ElementType.BF16, (ROWS, COLUMNS))
    target = b.shared_tile("target", ElementType.BF16, (COLUMNS, ROWS), swizzle=32)
    copy(b, source, args["x"], stores=False)
    lane = b.sreg("laneid")
    for block in range(COLUMNS // 16):
        values = list(b.ldmatrix(source.chunk(lane % 16, lane // 16 + 2 * block)))
        if in_registers:
            values = [b.movmatrix(value) for value in values]
        line = lane % 8 + lane // 16 * 8 + 16 * block
        b.stmatrix(target.chunk(line, lane // 8 % 2), values, trans=not in_registers)
    b.bar_warp_sync()
    copy(b, target, args["d"], stores=True)
    x = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(ml_dtypes.bfloat16)
    d = np.zeros((COLUMNS, ROWS), ml_dtypes.bfloat16)
    launch(b.finish(), x, d)
    assert_exact(d, x.T)


def refusal(build: Callable[[KernelBuilder, Pointer], object]) -> str:
    b = KernelBuilder("k", block=32)
    b.begin()
    with pytest.raises(InputError) as caught:
        build(b, b.shared_word("s"))
    return str(caught.value)


def test_what_no_instruction_has_is_refused() -> None:
    assert "so many matrices" in refusal(lambda b, p: b.stmatrix(p, [1, 2, 3]))
    shape = MatrixShape.M16N16
    found = refusal(lambda b, p: b.ldmatrix(p, MatrixNum.X4, shape=shape, trans=True))
    assert "one or two matrices of m16n16 are loaded at once" in found
    found = refusal(lambda b, p: b.stmatrix(p, [1], shape=MatrixShape.M16N8))
    assert "a matrix of m16n8 is transposed" in found
