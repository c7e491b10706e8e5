"""CuTe's notation: layouts as (shape, stride), and Swizzle<B, M, S>, evaluated with numpy.

Sources: CUTLASS, media/docs/cpp/cute/01_layout.md and 02_layout_algebra.md (coordinates run
through the leftmost mode first) and include/cute/swizzle.hpp.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Nest: TypeAlias = "int | tuple[Nest, ...]"


def size(shape: Nest) -> int:
    """How many coordinates a shape has."""
    if isinstance(shape, int):
        return shape
    product = 1
    for part in shape:
        product *= size(part)
    return product


def offset(shape: Nest, stride: Nest, index: Ints) -> Ints:
    """Where `index` goes when it runs through `shape`, the leftmost mode first."""
    if isinstance(shape, int):
        assert isinstance(stride, int)
        return index * stride
    assert isinstance(stride, tuple)
    assert len(shape) == len(stride)
    total = np.zeros_like(index)
    for part, step in zip(shape, stride, strict=True):
        total = total + offset(part, step, index % size(part))
        index = index // size(part)
    return total


def grid(shape: tuple[Nest, ...], stride: tuple[Nest, ...]) -> Ints:
    """The offsets of all coordinates of a layout: one axis for each top-level mode."""
    total = np.zeros((), dtype=np.int64)
    for axis, (part, step) in enumerate(zip(shape, stride, strict=True)):
        along = offset(part, step, np.arange(size(part), dtype=np.int64))
        total = total + along.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return total


def swizzle(bits: int, base: int, shift: int, value: Ints) -> Ints:
    """Swizzle<bits, base, shift>: bits from base + shift on are xored into those from base on."""
    mask = ((1 << bits) - 1) << (base + shift)
    return value ^ ((value & mask) >> shift)
