"""Zero-column masks.  PTX ISA, Zero-Column Mask Descriptor.

The manual's four examples have runs of zeros of use_span + 1 and runs of ones of skip_span + 1; a
first span of 1 begins with ones, and a start count leaves out that many of the lowest bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.intrinsics.published.descriptors import MASK, pack
from tests.oracle.executed.draws import Matrix, Random


@dataclass(frozen=True)
class ZeroMask:
    """A mask: its word, its bits (column 0 first), its shift, and the most that a shift may be."""

    word: int
    bits: npt.NDArray[np.bool_]
    shift: int
    most: int

    def apply(self, b: Matrix, n: int) -> Matrix:
        """The columns of B (rows here) that count, some of them zero."""
        used = b[self.shift : self.shift + n].copy()
        used[self.bits] = 0.0
        return used


def sub_mask(size: int, start: int, first: int, skip: int, use: int) -> list[int]:
    """`size` bits, the lowest first: spans of skip + 1 ones and use + 1 zeros, in turn."""
    spans = (use + 1, skip + 1)
    bits: list[int] = []
    value = first
    while len(bits) < start + size:
        bits += [value] * spans[value]
        value = 1 - value
    return bits[start : start + size]


def draw_zero_mask(rng: Random, m: int, n: int) -> ZeroMask:
    """Any, one time in four without a mask, every other time with a shift."""
    parts = {128: 1, 64: 2, 32: 4}[m]
    firsts = [int(v) for v in rng.integers(0, 2, 4)]
    skip, use = (int(v) for v in rng.integers(0, 24, 2))
    starts = [int(v) for v in rng.integers(0, 40, 4)]
    given = bool(rng.random() < 0.75)
    most = int(rng.choice([8, 16] if m == 32 else [8, 16, 32])) if rng.random() < 0.5 else 0
    shift = int(rng.integers(0, most + 1))
    word = pack(
        MASK, start0=starts[0], start1=starts[1], start2=starts[2], start3=starts[3],
        first=sum(bit << i for i, bit in enumerate(firsts)), nzm=int(given), skip=skip, use=use,
        shift=shift,
    )  # fmt: skip
    bits = [
        bit for i in range(parts)
        for bit in sub_mask(n // parts, starts[i], firsts[i], skip, use)
    ]  # fmt: skip
    zeros = np.array(bits, dtype=bool) & given
    return ZeroMask(word, zeros, shift, most)
