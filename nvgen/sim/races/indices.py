"""The bytes of an access, as an index of the arrays of a shadow memory.

Layer: nvgen.sim.  A slice where they are contiguous, rows of a table where they are aligned to
their size, else the offset of each.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item", bound=np.generic)

Table = tuple[int, NDArray[np.int64]]
"""A memory indexed as a table: bytes of a row, and indices of rows."""

Index = slice | NDArray[np.int64] | Table


def index_of(flat: NDArray[np.int64], size: int) -> tuple[Index, int]:
    """The bytes of an access, as a slice where they are contiguous, and its number of parts."""
    first, last, parts = int(flat[0]), int(flat[-1]), flat.size
    if last - first == (parts - 1) * size and (
        parts == 1 or bool((flat[1:] - flat[:-1] == size).all())
    ):
        return slice(first, last + size), parts
    if size > 1 and not (flat % size).any():
        return (size, flat // size), parts
    return flat[:, None] + np.arange(size), parts


def as_table(array: NDArray[Item], size: int) -> NDArray[Item]:
    """A memory in rows of `size` elements, without the last elements that fill no row."""
    return array[: array.size // size * size].reshape(-1, size)


def numbers_of(index: Index) -> NDArray[np.int64]:
    """The offset of each element of an index."""
    if isinstance(index, slice):
        return np.arange(index.start, index.stop)
    if isinstance(index, tuple):
        return index[1][:, None] * index[0] + np.arange(index[0])
    return index
