"""Sparse A: what metadata means, and where it lies in tensor memory.

Sources: PTX ISA, Sparse Matrices (1:2 for tf32, 2:4, 4:8 in pairs; the meaningful indices);
CUTLASS, include/cutlass/gemm/collective/builders/sm1xx_sparse_config.inl (logical elements of a
chunk 2, 4, 8, four bits of metadata each), include/cute/atom/mma_traits_sm100_frag.hpp (tmem_e_frg,
tmem_e_frg_ws: where they lie, copies for each lane group of .ws) and mma_traits_sm100.hpp
(mma_unpack: the selector is the lowest bit of the column, the address is made even); the engine of
a public TIRx emulator (tcgen05/layouts.rs, sparse_metadata_location) agrees in every bit with
tmem_e_frg.

Of the half datapaths (layouts F and C) CUTLASS has no metadata.  The manual wants A, D and metadata
in the same lanes; the emulator looks metadata up by the lane of the row of D, which puts each 16
rows of tmem_e_frg's pattern into the 16 lanes that the layout uses.

The manual lists 0b0110 as meaningful: positions 2 and 1, in this order.  CUTLASS's compressor never
makes it.
"""

from __future__ import annotations

import numpy as np

from tests.intrinsics.published.cute import Ints, Nest, grid

CHUNK = {"TF32": 2, "F16": 4, "F8F6F4": 4, "MXF8F6F4": 4, "I8": 4, "MXF4": 8, "MXF4NVF4": 8}
"""Logical elements of a chunk."""

PAIRS = {
    0b0100: (0, 1),
    0b1000: (0, 2),
    0b1100: (0, 3),
    0b1001: (1, 2),
    0b1101: (1, 3),
    0b1110: (2, 3),
}
"""2:4 and 4:8: the places of the two stored elements (or pairs); two bits each, the lower first."""

SWAPPED = {0b0110: (2, 1)}
"""Meaningful by the manual, out of order."""

SINGLES = {0b0100: 0, 0b1110: 1}
"""1:2: the place of the stored element."""


def expand(values: Ints, metadata: Ints, kind: str) -> Ints:
    """The dense rows: (m, k / 2) values and (m, k / chunk) indices make (m, k)."""
    chunk = CHUNK[kind]
    rows, chunks = metadata.shape
    dense = np.zeros((rows, chunks * chunk), dtype=values.dtype)
    for row in range(rows):
        for c in range(chunks):
            index = int(metadata[row, c])
            stored = values[row, c * chunk // 2 : (c + 1) * chunk // 2]
            out = dense[row, c * chunk : (c + 1) * chunk]
            if chunk == 2:
                out[SINGLES[index]] = stored[0]
                continue
            width = chunk // 4
            for i, place in enumerate((PAIRS | SWAPPED)[index]):
                out[place * width : (place + 1) * width] = stored[i * width : (i + 1) * width]
    return dense


def random_sparse(kind: str, m: int, k: int, seed: int) -> tuple[Ints, Ints, Ints]:
    """Stored values (all non-zero), metadata in order, and the dense matrix that they make."""
    rng = np.random.default_rng(seed)
    legal = list(SINGLES) if CHUNK[kind] == 2 else list(PAIRS)
    limit = 16 if CHUNK[kind] == 8 else 256
    values = rng.integers(1, limit, (m, k // 2))
    metadata = rng.choice(legal, (m, k // CHUNK[kind]))
    return values, metadata, expand(values, metadata, kind)


_INTERLEAVED: dict[int, tuple[tuple[Nest, Nest], tuple[Nest, Nest]]] = {
    128: (((8, 2, 8), (4, 2)), ((1, 128 * 16, 16), (128 * 4, 8))),
    64: (((8, 2, 4), (4, 2)), ((1, 128 * 16, 16), (128 * 4, 8))),
    32: (((8, 2, 2), (4, 2)), ((1, 128 * 16, 16), (128 * 4, 8))),
}


def metadata(kind: str, rows: int, selector: int) -> tuple[Ints, Ints, Ints]:
    """Lane, column and lowest bit of the 4 bits of each (row, chunk) of one MMA.

    `rows` is 128 for one CTA's share of layouts A and D, 64 and 32 for .ws.  tmem_e_frg, with
    lane + 128 * bit: 8 rows in 8 lanes, the next 8 rows 16 bits further on; the second half of K 8
    lanes on (f16 and tf32), or a lane a row, 64 bits wide (all other kinds).
    """
    if kind in ("F16", "TF32"):
        whole = grid(*_INTERLEAVED[rows])
        column = selector
    else:
        whole = grid((rows, 16), (1, 128 * 4))
        column = 0
    lane, bit = whole % 128, whole // 128
    return lane, column + bit // 32, bit % 32


def metadata_of_half(kind: str, rows: int, selector: int) -> tuple[Ints, Ints, Ints]:
    """The same of layouts F and C: 16 rows in lanes 0 to 15, the next 16 in lanes 32 to 47, ..."""
    lane, column, bit = metadata(kind, 32, selector)
    every = 32 * np.arange(rows // 16).repeat(16)[:, None]
    one = (np.tile(part[:16], (rows // 16, 1)) for part in (lane, column, bit))
    lanes, columns, bits = one
    return lanes + every, columns, bits
