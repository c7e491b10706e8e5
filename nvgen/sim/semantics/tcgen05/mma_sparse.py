"""tcgen05.mma, sparse A: metadata from tensor memory, and the matrix that it stands for.

Layer: nvgen.sim.semantics.  Half of the elements of a row are stored; four bits of metadata for
each chunk say which they are, and the others are zeros.  PTX ISA, Sparse Matrices; Sparsity
selector.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.tensor_address import TensorAddress
from intrinsics.layouts.data_paths import Cells as PathCells
from intrinsics.layouts.data_paths import DataPath
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.layouts.sparse import chunk, decompress
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import MmaKind
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.semantics.tcgen05.mma_operands import Codes, Share, different, read_shares, shares
from nvgen.sim.threads.machine import Cta


@dataclass(frozen=True, slots=True)
class Sparse:
    """What the layout of the metadata depends on; `k` counts the zeros, too."""

    kind: MmaKind
    path: DataPath
    m: int
    k: int
    selector: int


@dataclass(frozen=True, slots=True)
class _Indices:
    """One copy of the metadata: its cells, and the lowest bit of each index in its cell."""

    parts: tuple[Share, ...]
    bits: NDArray[np.uint32]


@functools.lru_cache(maxsize=64)
def _copies(where: Sparse, group: int) -> tuple[_Indices, ...]:
    try:
        copies = metadata_cells(where.path, where.m, where.kind, where.k, where.selector)
    except NotImplementedError as error:
        raise not_simulated(str(error)) from None
    return tuple(
        _Indices(
            shares(PathCells(copy.rank, copy.lane, copy.column), group),
            copy.bit.astype(np.uint32),
        )
        for copy in copies
    )


def expand(
    values: list[Codes], where: Sparse, ctas: tuple[Cta, ...], address: TensorAddress, agent: str
) -> list[Codes]:
    """The whole matrix, m × k, from its stored elements, m × k/2.

    Both A and its metadata may have copies that differ, for parts of N: then so many are given.

    Raises: Fault where an index has no meaning; NotSimulatedError for a layout that is not known.
    """
    shape = (where.m, where.k // chunk(where.kind))
    indices = different(
        [
            _nibbles(read_shares(ctas, copy.parts, shape, address, agent), copy.bits)
            for copy in _copies(where, len(ctas))
        ]
    )
    count = max(len(values), len(indices))
    pairs = zip(values * (count // len(values)), indices * (count // len(indices)), strict=True)
    try:
        return [decompress(part, index, where.kind) for part, index in pairs]
    except ValueError as error:
        raise fault(
            "sparse-metadata",
            f"{agent}: {error}",
            expected="one of the indices that the manual lists",
            section="Sparse Matrices",
        ) from None


def _nibbles(words: NDArray[np.uint32], bits: NDArray[np.uint32]) -> NDArray[np.uint8]:
    return (words >> bits & np.uint32(15)).astype(np.uint8)
