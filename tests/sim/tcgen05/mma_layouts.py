"""Where the MMA's matrices lie and how their numbers are packed, as plain formulas.

Nothing of nvgen's is used here but the names of MMA kinds.  Sections are those of the PTX ISA's
chapter on tcgen05; what the manual only draws is from CUTLASS (mma_traits_sm100.hpp) and, for scale
factors, from cuDNN's 128x4 layout.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind

Codes = NDArray[np.unsignedinteger]
Cell = tuple[int, int]

DTYPES: dict[str, type] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "s8": np.int8,
    "u8": np.uint8,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
    "ue4m3": ml_dtypes.float8_e4m3fn,
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e2m3": 6, "e3m2": 6, "e2m1": 4}
"""Of an element; the others have eight."""

FP4 = (MmaKind.MXF4, MmaKind.MXF4NVF4)


def bits(name: str) -> int:
    """Bits of an element."""
    return BITS.get(name, 8)


def values(codes: Codes, name: str) -> NDArray[np.float64]:
    """The numbers that codes stand for, as ml_dtypes has them; a tf32 has ten bits of mantissa."""
    size = max(bits(name), 8) // 8
    plain = np.ascontiguousarray(codes.astype(f"u{size}"))
    if name == "tf32":
        plain = plain & np.uint32(0xFFFFE000)
    with np.errstate(invalid="ignore"):
        return plain.view(DTYPES[name]).astype(np.float64)


def codes_of(numbers: NDArray[np.float64], name: str) -> Codes:
    """The codes of numbers that the type has."""
    exact = numbers.astype(DTYPES[name])  # type: ignore[var-annotated]
    assert np.array_equal(exact.astype(np.float64), numbers), name
    return exact.view(f"u{max(bits(name), 8) // 8}")


# ---- packing ---------------------------------------------------------------------------------


def shared_lines(codes: Codes, name: str, kind: MmaKind) -> NDArray[np.generic]:
    """Elements along the last axis as they follow each other in shared memory.

    Sixteen narrow elements of (mx)f8f6f4 take sixteen bytes, the first in the lowest bits and the
    padding behind them; two of mxf4 share a byte.
    """
    width = bits(name)
    if width >= 8:
        return codes.astype(f"u{width // 8}")
    group = 2 if kind in FP4 else 16
    room = 1 if kind in FP4 else 16
    parts = codes.reshape(-1, group).tolist()
    packed = b"".join(
        sum(int(code) << width * i for i, code in enumerate(part)).to_bytes(room, "little")
        for part in parts
    )
    return np.frombuffer(packed, np.uint8).reshape(*codes.shape[:-1], -1)


def tensor_words(codes: Codes, name: str, kind: MmaKind) -> NDArray[np.uint32]:
    """Elements along the last axis in cells of 32 bits: of (mx)f8f6f4 each in a byte, of which four
    bits stand in the middle and six at the low end; of mxf4 eight in a cell.
    """
    width = bits(name)
    room = width if kind in FP4 else max(width, 8)
    lift = 2 if width == 4 and room == 8 else 0
    count = 32 // room
    words = np.zeros((*codes.shape[:-1], codes.shape[-1] // count), np.uint64)
    for i in range(count):
        words |= codes[..., i::count].astype(np.uint64) << np.uint64(room * i + lift)
    return words.astype(np.uint32)


# ---- data paths ------------------------------------------------------------------------------


def d_cell(row: int, column: int, m: int, n: int, *, ws: bool) -> Cell:
    """Lane and column of an element of D, counted from its address, with cta_group::1.

    Layouts D and F as in `tests.sim.layouts`.  Stationary with M = 64 (E, "2x") the second half of
    the columns lies in the lanes 64 to 127, with M = 32 (G, "1x4") each quarter in 32 lanes.
    """
    if m == 128:
        return row, column
    if not ws:
        return row // 16 * 32 + row % 16, column
    part, within = divmod(column, n * m // 128)
    return part * m + row, within


def a_lanes(row: int, m: int, *, ws: bool) -> list[int]:
    """The lanes that hold a row of A: one for each part of the columns of D."""
    if m == 128 or not ws:
        return [d_cell(row, 0, m, m, ws=ws)[0]]
    return [row + lane for lane in range(0, 128, m)]


# ---- scale factors ---------------------------------------------------------------------------


def place_factors(
    cells: NDArray[np.uint32], column: int, codes: NDArray[np.uint8], first_byte: int
) -> None:
    """Write factors, (rows, factors of a row), into cells that begin at `column`.

    Row r: lane r mod 32 and its copies, column r div 32, a byte for each factor.  What does not fit
    into the four bytes goes on in the next block, 4 columns on for up to 128 rows, 8 for more.
    """
    block = 4 if len(codes) <= 128 else 8
    for (row, factor), code in np.ndenumerate(codes):
        further, byte = divmod(first_byte + factor, 4)
        at, shift = column + row // 32 + further * block, 8 * byte
        for lane in range(row % 32, 128, 32):
            cells[lane, at] = int(cells[lane, at]) & ~(0xFF << shift) | int(code) << shift


# ---- sparse A --------------------------------------------------------------------------------


def place_metadata(
    cells: NDArray[np.uint32],
    at: Cell,
    indices: NDArray[np.uint8],
    kind: MmaKind,
    *,
    m: int,
    ws: bool,
    selector: int = 0,
) -> None:
    """Write indices, (rows, chunks) of four bits, into cells; `at` is the metadata's address.

    A row of 16 chunks has two columns in its own lanes.  With 8 chunks (f16 and tf32) sixteen rows
    share a column of sixteen lanes: chunks 0 to 3 of rows r and r + 8 in lane r, chunks 4 to 7 in
    lane r + 8; the selector picks the column.
    """
    lane0, column0 = at
    for (row, number), index in np.ndenumerate(indices):
        for lane in a_lanes(row, m, ws=ws):
            if kind in (MmaKind.F16, MmaKind.TF32):
                block = lane - row % 16
                where = block + row % 8 + number // 4 * 8, selector
                shift = 16 * (row % 16 // 8) + 4 * (number % 4)
            else:
                where, shift = (lane, number // 8), 4 * (number % 8)
            y, x = lane0 + where[0], column0 + where[1]
            cells[y, x] = int(cells[y, x]) & ~(15 << shift) | int(index) << shift


def places(index: int, kind: MmaKind) -> list[int]:
    """The elements of a chunk that an index says are stored, in the order in which they are."""
    if kind is MmaKind.TF32:
        return {0b0100: [0], 0b1110: [1]}[index]
    pair = [index & 3, index >> 2]
    if kind in FP4:
        return [2 * p + half for p in pair for half in (0, 1)]
    return pair


def expanded(
    stored: NDArray[np.generic], indices: NDArray[np.uint8], kind: MmaKind
) -> NDArray[np.generic]:
    """The matrix with its zeros, from what is stored of it."""
    rows, chunks = indices.shape
    size = 2 * stored.shape[1] // chunks
    found = np.zeros((rows, chunks * size), stored.dtype)
    for row, number in np.ndindex(rows, chunks):
        for i, place in enumerate(places(int(indices[row, number]), kind)):
            found[row, number * size + place] = stored[row, number * size // 2 + i]
    return found
