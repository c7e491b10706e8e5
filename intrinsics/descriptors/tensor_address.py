"""Tensor memory addresses, and the zero-column mask of weight-stationary MMAs.

Layer: intrinsics.  PTX ISA, Tensor Memory Addressing; Zero-Column Mask Descriptor (Table 45).
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COLUMNS, LANES


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """A tensor memory address: a lane (0..127) and a column (0..511) of 32-bit cells."""

    lane: int
    column: int

    def encode(self) -> int:
        """The 32-bit address."""
        return (self.lane & 0xFFFF) << 16 | self.column & 0xFFFF

    @classmethod
    def decode(cls, word: int) -> TensorAddress:
        """Split an address."""
        return cls(word >> 16 & 0xFFFF, word & 0xFFFF)

    @property
    def in_bounds(self) -> bool:
        """Whether the cell exists."""
        return self.lane < LANES and self.column < COLUMNS

    def explain(self) -> list[tuple[str, str, str]]:
        """Rows (bits, field, meaning)."""
        lane = str(self.lane) + ("" if self.lane < LANES else " (there are 128 lanes)")
        column = str(self.column) + ("" if self.column < COLUMNS else " (there are 512 columns)")
        return [
            ("0-15", "column", column),
            ("16-31", "lane", lane),
        ]

    def __str__(self) -> str:
        return f"lane {self.lane}, column {self.column}"


@dataclass(frozen=True, slots=True)
class ZeroColumnMask:
    """Which columns of B count as zero in a tcgen05.mma.ws.

    A sub-mask alternates runs of ones (`skip_span` + 1 columns of zeros instead of B) and of zeros
    (`use_span` + 1 columns of B).  `first` says which comes first, `start` how much of the first
    run is left out; sub-masks cover N, N/2 or N/4 columns for M = 128, 64 or 32.  Table 45
    describes the two spans the other way round; its own four examples settle it, and CUTLASS
    (`mma_sm100_desc.hpp`) has them so.  A start count that leaves nothing of the first run goes on
    in the next; what the chip makes of that is not documented.
    """

    start: tuple[int, int, int, int] = (0, 0, 0, 0)
    first: tuple[int, int, int, int] = (0, 0, 0, 0)
    nonzero: bool = True
    skip_span: int = 0
    use_span: int = 0
    shift: int = 0

    def encode(self) -> int:
        """The 64-bit descriptor."""
        word = sum(count << 8 * i for i, count in enumerate(self.start))
        word |= sum(bit << 32 + i for i, bit in enumerate(self.first))
        word |= int(self.nonzero) << 39 | self.skip_span << 40 | self.use_span << 48
        return word | self.shift << 56

    @classmethod
    def decode(cls, word: int) -> ZeroColumnMask:
        """Read a descriptor."""
        counts = [word >> 8 * i & 0xFF for i in range(4)]
        bits = [word >> 32 + i & 1 for i in range(4)]
        return cls(
            (counts[0], counts[1], counts[2], counts[3]),
            (bits[0], bits[1], bits[2], bits[3]),
            bool(word >> 39 & 1),
            word >> 40 & 0xFF,
            word >> 48 & 0xFF,
            word >> 56 & 0x3F,
        )

    def mask(self, m: int, n: int) -> int:
        """The N-bit mask for M = 128, 64 or 32; bit i set: column i of B counts as zero."""
        if not self.nonzero:
            return 0
        parts = {128: 1, 64: 2, 32: 4}[m]
        width = n // parts
        return sum(self._part(i, width) << i * width for i in range(parts))

    def _part(self, index: int, width: int) -> int:
        runs = (self.use_span + 1, self.skip_span + 1)
        value = self.first[index]
        left = runs[value] - self.start[index]
        mask = 0
        for column in range(width):
            while left <= 0:
                value = 1 - value
                left += runs[value]
            mask |= value << column
            left -= 1
        return mask

    def explain(self) -> list[tuple[str, str, str]]:
        """Rows (bits, field, meaning)."""
        return [
            ("0-31", "start counts", ", ".join(map(str, self.start))),
            ("32-35", "first spans", ", ".join(map(str, self.first))),
            ("39", "non-zero mask", str(int(self.nonzero))),
            (
                "40-47",
                "skip span",
                f"{self.skip_span}: {self.skip_span + 1} zeroed columns",
            ),
            ("48-55", "use span", f"{self.use_span}: {self.use_span + 1} used columns"),
            ("56-61", "column shift", str(self.shift)),
        ]
