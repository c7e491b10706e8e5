"""Fragments of ldmatrix, stmatrix and movmatrix, against CuTe's layouts of the same instructions.

CuTe (CUTLASS, `copy_traits_sm75.hpp`, `copy_traits_sm100.hpp`) gives the bit of a matrix that a
thread's bit is, as shapes and strides; a line of memory has 128 bits.  Behind its m16n16 loads
(`copy_sm100.hpp`) bytes 0, 1 of register 1 change places with bytes 2, 3 of register 0.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from intrinsics.layouts.fragments_matrix import matrix_bytes
from intrinsics.modifiers.matrix import MatrixShape
from tests.each import each

S = MatrixShape

CUTE = {
    (S.M8N8, 1, False): (((32,), (32,)), ((32,), (1,))),
    (S.M8N8, 2, False): (((32,), (32, 2)), ((32,), (1, 1024))),
    (S.M8N8, 4, False): (((32,), (32, 4)), ((32,), (1, 1024))),
    (S.M8N8, 1, True): (((4, 8), (16, 2)), ((256, 16), (1, 128))),
    (S.M8N8, 2, True): (((4, 8), (16, 2, 2)), ((256, 16), (1, 128, 1024))),
    (S.M8N8, 4, True): (((4, 8), (16, 2, 4)), ((256, 16), (1, 128, 1024))),
    (S.M8N16, 1, False): (((32,), (32,)), ((32,), (1,))),
    (S.M8N16, 4, False): (((32,), (32, 4)), ((32,), (1, 1024))),
    (S.M16N8, 1, True): (((4, 8), (8, 2, 2)), ((256, 8), (1, 128, 64))),
    (S.M16N8, 2, True): (((4, 8), (8, 2, 2, 2)), ((256, 8), (1, 128, 64, 1024))),
    (S.M16N8, 4, True): (((4, 8), (8, 2, 2, 4)), ((256, 8), (1, 128, 64, 1024))),
}
"""Shapes and strides over (thread, bit), for a matrix and its number."""


def along(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """A mode of a layout: its values, the first part running fastest."""
    ranges = [range(extent) for extent in reversed(shape)]
    return [
        sum(i * stride for i, stride in zip(reversed(place), strides, strict=True))
        for place in itertools.product(*ranges)
    ]


@each("shape, count, transposed", CUTE)
def test_fragments_are_those_of_cute(shape: S, count: int, transposed: bool) -> None:
    (threads, bits), (over_threads, over_bits) = CUTE[shape, count, transposed]
    found = np.add.outer(along(threads, over_threads), along(bits, over_bits)[::8])
    line, byte = matrix_bytes(shape, count, transposed=transposed)
    assert (line * 128 + byte * 8).tolist() == found.tolist()


SM100_LOAD = (((4, 8), (8, 2, 2, 2)), ((256, 8), (1, 128, 64, 1024)))
"""Of an m16n16 load, once bytes have changed places; the bits are those of CuTe's matrix."""

SM100_LINES = ((2, 2, 4), (128, 1024, 256))
"""At which bit of that matrix the line of each address begins."""


@pytest.mark.parametrize("count", [1, 2])
def test_square_matrices_of_bytes_are_those_of_cute(count: int) -> None:
    (threads, bits), (over_threads, over_bits) = SM100_LOAD
    found = np.add.outer(along(threads, over_threads), along(bits, over_bits)[::8])
    found = found[:, [0, 1, 4, 5, 2, 3, 6, 7]]  # as the instruction gives them
    starts = along(*SM100_LINES)
    lines = np.array([starts.index(bit // 128 * 128) for bit in found.reshape(-1)]).reshape(32, 8)
    line, byte = matrix_bytes(S.M16N16, count, transposed=True)
    for matrix in range(count):
        part = slice(8 * matrix, 8 * matrix + 8)
        assert line[:, part].tolist() == (lines + 16 * matrix).tolist()
        assert byte[:, part].tolist() == (found % 128 // 8).tolist()


@pytest.mark.parametrize(
    ("shape", "transposed"), [(S.M16N16, False), (S.M16N8, False), (S.M8N16, True)]
)
def test_what_does_not_exist_is_refused(shape: S, transposed: bool) -> None:
    with pytest.raises(ValueError, match=shape.value):
        matrix_bytes(shape, transposed=transposed)


@each("shape", S)
@each("count", [1, 2, 4])
def test_every_byte_is_held_once(shape: S, count: int) -> None:
    line, byte = matrix_bytes(shape, count, transposed=shape in (S.M16N16, S.M16N8))
    places = set(zip(line.reshape(-1).tolist(), byte.reshape(-1).tolist(), strict=True))
    assert places == set(itertools.product(range(shape.lines * count), range(16)))
