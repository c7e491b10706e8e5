"""What an MMA reads and writes in tensor memory: D, A, scale factors, metadata.

Places are those of `tests/intrinsics/published`; columns are handed out so that nothing overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.intrinsics.published import data_paths, packing, scale_factors, sparsity
from tests.intrinsics.published.cute import Ints
from tests.oracle.executed.draws import Codes, Random
from tests.oracle.executed.kernel import LANES, Cells


@dataclass
class Columns:
    """Hands out columns in a random order of places."""

    rng: Random
    taken: npt.NDArray[np.bool_]

    def take(self, count: int, align: int = 1) -> int:
        """The first of `count` free columns, a multiple of `align`."""
        starts = np.arange(0, len(self.taken) - count + 1, align)
        used = np.concatenate([[0], np.cumsum(self.taken)])
        free = starts[used[starts + count] == used[starts]]
        first = int(self.rng.choice(free))
        self.taken[first : first + count] = True
        return first


def path_of(m: int, *, ws: bool, pair: bool, sparse: bool) -> str:
    """The letter of the layout."""
    if pair:
        return "A" if m == 256 else "C" if sparse else "B"
    if m == 128:
        return "D"
    return {32: "G", 64: "E" if ws else "F"}[m]


def columns_of_d(letter: str, n: int) -> int:
    """Columns that D takes."""
    return n // {"B": 2, "E": 2, "G": 4}.get(letter, 1)


@dataclass(frozen=True)
class Region:
    """Cells (rank, lane, column) of a matrix, in its shape."""

    rank: Ints
    lane: Ints
    column: Ints

    def get(self, cells: Cells) -> Cells:
        """What they hold."""
        return cells[self.rank, self.lane, self.column]

    def put(self, cells: Cells, values: Cells) -> None:
        """Write them."""
        cells[self.rank, self.lane, self.column] = values


def accumulator(letter: str, n: int, lane: int, column: int) -> Region:
    """D, of shape (M, n), at an address."""
    rank, lanes, columns = data_paths.accumulator(letter, n)
    return Region(rank, lanes + lane, columns + column)


def put_operand(
    cells: Cells, codes: Codes, type_: str, kind: str, letter: str, lane: int, column: int
) -> int:
    """Every copy of A; gives the number of columns."""
    per = packing.PER_CELL[type_.upper(), kind]
    width = 32 // per
    shift = packing.CONTAINER_SHIFT.get(type_.upper(), 0) if width == 8 else 0
    groups = codes.reshape(codes.shape[0], -1, per).astype(np.uint64)
    words = (groups << (width * np.arange(per, dtype=np.uint64) + np.uint64(shift))).sum(-1)
    for copy in range(len(data_paths.TABLE[letter].copies)):
        rank, lanes, columns = data_paths.operand(letter, copy, words.shape[1])
        cells[rank, lanes + lane, columns + column] = words.astype(np.uint32)
    return int(words.shape[1])


def put_factors(
    cells: Cells, codes: Codes, scale_id: int, column: int, *, split: bool = False
) -> None:
    """Scale factors (rows, per row) of one CTA (lane, column).

    All rows in each of four groups of lanes, or `split`: the first half of the rows in two of them,
    the second in the others.
    """
    place = scale_factors.halves if split else scale_factors.cells
    lanes, columns, byte = place(codes.shape[0], codes.shape[1], scale_id)
    for copy in scale_factors.COPIES[2 if split else 1]:
        _put_bits(cells, lanes + copy, columns + column, 8 * byte, codes, 8)


def put_metadata(
    cells: Cells, indices: Codes, kind: str, letter: str, lane: int, column: int, selector: int
) -> None:
    """Metadata (rows, chunks) of one CTA (lane, column), every copy."""
    rows = len(indices)
    if letter in "CF":
        lanes, columns, bit = sparsity.metadata_of_half(kind, rows, selector)
    else:
        lanes, columns, bit = sparsity.metadata(kind, rows, selector)
    for copy in data_paths.TABLE[letter].copies:
        _put_bits(cells, lanes + lane + copy, columns + column, bit, indices, 4)


def _put_bits(cells: Cells, lane: Ints, column: Ints, bit: Ints, codes: Codes, width: int) -> None:
    """Several codes may lie in one cell."""
    where = np.broadcast_arrays(lane, column, bit)
    flat = [array.ravel() for array in where]
    shift = flat[2].astype(np.uint32)
    keep = np.zeros_like(cells)
    value = np.zeros_like(cells)
    np.bitwise_or.at(keep, (flat[0], flat[1]), np.uint32((1 << width) - 1) << shift)
    np.bitwise_or.at(value, (flat[0], flat[1]), codes.ravel().astype(np.uint32) << shift)
    cells[:] = (cells & ~keep) | value


def masked_lanes(mask: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Which lanes a mask disables, by rank: the words of the even CTA come first."""
    bits = [word >> i & 1 for word in mask for i in range(32)]
    return np.array(bits, dtype=bool).reshape(-1, LANES)
