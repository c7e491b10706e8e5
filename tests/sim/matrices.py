"""Matrices in shared memory and their descriptors, encoded from the manual's tables.

Nothing of nvgen's is used here but the names of MMA kinds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind
from tests.sim.layouts import REPEATS, k_major, mn_major, swizzled

Array = NDArray[np.generic]


# ---- descriptors -----------------------------------------------------------------------------

SWIZZLE_CODES = {0: 0, 128: 2, 64: 4, 32: 6}
"""Bits 61 to 63 of a shared memory descriptor (Table 40)."""

TYPE_CODES: dict[MmaKind, dict[str, int]] = {
    MmaKind.F16: {"f16": 0, "bf16": 1},
    MmaKind.TF32: {"tf32": 2},
    MmaKind.F8F6F4: {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5},
    MmaKind.I8: {"u8": 0, "s8": 1},
    MmaKind.MXF8F6F4: {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5},
    MmaKind.MXF4: {"e2m1": 1},
    MmaKind.MXF4NVF4: {"e2m1": 1},
}
"""Bits 7 to 9 and 10 to 12 of an instruction descriptor (Tables 42 to 44)."""

RESULT_CODES = {"f16": 0, "f32": 1, "s32": 2}
"""Bits 4 and 5 of an instruction descriptor (Table 42)."""

INSTRUCTION_K = {
    MmaKind.F16: 16,
    MmaKind.TF32: 8,
    MmaKind.F8F6F4: 32,
    MmaKind.I8: 32,
    MmaKind.MXF8F6F4: 32,
    MmaKind.MXF4: 64,
    MmaKind.MXF4NVF4: 64,
}
"""K of one dense instruction (Table 39): 32 bytes."""


def matrix_descriptor(*, span: int, lbo: int, sbo: int, base_offset: int = 0) -> int:
    """The descriptor of a matrix at shared address 0 (Table 40)."""
    assert lbo % 16 == 0
    assert sbo % 16 == 0
    word = (lbo & 0x3FFFF) >> 4 << 16 | (sbo & 0x3FFFF) >> 4 << 32
    return word | 1 << 46 | base_offset << 49 | SWIZZLE_CODES[span] << 61


def instruction_descriptor(
    kind: MmaKind,
    m: int,
    n: int,
    a: str,
    b: str,
    d: str = "f32",
    *,
    a_mn: bool = False,
    b_mn: bool = False,
    saturate: bool = False,
    negate_a: bool = False,
    negate_b: bool = False,
    sparse: bool = False,
    selector: int = 0,
    max_shift: int = 0,
) -> int:
    """The instruction descriptor (Table 42)."""
    word = selector | int(sparse) << 2 | int(saturate) << 3 | RESULT_CODES[d] << 4 | max_shift << 30
    word |= TYPE_CODES[kind][a] << 7 | TYPE_CODES[kind][b] << 10
    word |= int(negate_a) << 13 | int(negate_b) << 14
    word |= int(a_mn) << 15 | int(b_mn) << 16
    return word | n >> 3 << 17 | m >> 4 << 24


def scaled_descriptor(
    kind: MmaKind,
    m: int,
    n: int,
    a: str,
    b: str,
    scale: str = "ue8m0",
    *,
    a_mn: bool = False,
    b_mn: bool = False,
    negate_a: bool = False,
    negate_b: bool = False,
    sparse: bool = False,
    sfa_id: int = 0,
    sfb_id: int = 0,
    k96: bool = False,
) -> int:
    """The instruction descriptor of a block-scaled kind (Tables 43 and 44)."""
    word = int(sparse) << 2 | sfb_id << 4 | TYPE_CODES[kind][a] << 7 | TYPE_CODES[kind][b] << 10
    word |= int(negate_a) << 13 | int(negate_b) << 14 | int(a_mn) << 15 | int(b_mn) << 16
    word |= n >> 3 << 17 | int(scale == "ue8m0") << 23 | m >> 7 << 27
    return word | sfa_id << 29 | int(k96) << 31


# ---- matrices --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placement:
    """How a matrix lies in shared memory: which dimension is contiguous, swizzle and strides."""

    mn_major: bool
    span: int
    lbo: int
    sbo: int

    @property
    def descriptor(self) -> int:
        """The matrix's descriptor at shared address 0."""
        return matrix_descriptor(span=self.span, lbo=self.lbo, sbo=self.sbo)

    def offset(self, mn: int, k: int, size: int) -> int:
        """The byte offset of an element, swizzled; the matrix begins where the swizzle does."""
        if self.mn_major:
            plain = mn_major(mn, k, size, span=self.span, lbo=self.lbo, sbo=self.sbo)
        else:
            plain = k_major(mn, k * size, span=self.span, lbo=self.lbo, sbo=self.sbo)
        return swizzled(plain, self.span)

    def extent(self, rows: int, k: int, size: int) -> int:
        """Bytes from the matrix's beginning to its end, as a multiple of 1024."""
        last = int(_offsets(self, rows, k, size).max())
        return (last + 1024) // 1024 * 1024

    def image(self, matrix: Array, size: int = 0) -> NDArray[np.uint8]:
        """`size` bytes of shared memory (as many as needed) with the matrix in them.

        The matrix has rows of M or N and columns of K.  Bytes between the elements hold 0x7B, a
        large number in every type, to be seen if read.
        """
        item = matrix.dtype.itemsize
        rows, k = matrix.shape
        size = size or self.extent(rows, k, item)
        memory = np.full(size, 0x7B, np.uint8)
        data = np.ascontiguousarray(matrix).view(np.uint8).reshape(rows, k, item)
        memory[_offsets(self, rows, k, item)[:, :, None] + np.arange(item)] = data
        return memory


@functools.lru_cache(maxsize=64)
def _offsets(place: Placement, rows: int, k: int, size: int) -> NDArray[np.intp]:
    """The byte offset of each element of a matrix."""
    return np.array([[place.offset(mn, i, size) for i in range(k)] for mn in range(rows)], np.intp)


def placements(size: int, rows: int, k: int, *, mn_major: bool) -> list[Placement]:
    """Ways to lay out a matrix of `rows` by `k` elements of `size` bytes.

    For each swizzle: the densest strides, then strides in the other order or with room between.
    """
    found = []
    for span in (0, 32, 64, 128):
        width = span or 16
        block = 8 * width
        if not mn_major:
            chunks = k * size // 16
            if span and k * size > span:
                continue
            if span == 0:
                found.append(Placement(False, 0, 128, 128 * chunks))
                found.append(Placement(False, 0, 128 * (rows // 8), 128))
            else:
                found.append(Placement(False, span, 16, block))
                found.append(Placement(False, span, 16, 2 * REPEATS[span]))
            continue
        if rows * size % width:
            continue
        across, deep = rows * size // width, k // 8
        along_mn, along_k = block, block * across
        for near, far in ((along_mn, along_k), (block * deep, block)):
            lbo, sbo = (far, near) if span == 0 else (near, far)
            found.append(Placement(True, span, lbo, sbo))
    return found
