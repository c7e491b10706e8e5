"""The matrices in shared memory that a multiply reads: their hulls and the swizzle atoms they span.

Layer: isel.verifier.ordering.  PTX ISA, tcgen05: Shared memory descriptor, Canonical Layouts;
wgmma: Matrix Descriptor Format.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.descriptors.smem_strides import Strides, Tile, atoms
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.element import Major
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CopyShape, MmaKind
from intrinsics.modifiers.wgmma import WgmmaShape
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.threads import Threads
from isel.verifier.function.flow.values import constant
from isel.verifier.function.tensor_memory.matrices import shape_of
from isel.verifier.ordering.integers.windows import POINTER, in_window
from isel.verifier.ordering.memory_regions import Memory, Region

_CORE = 8
"""Rows of a core matrix or swizzle atom."""
_ATOM = 16
"""Bytes along K of a core matrix without swizzling."""
_ROW = 32
"""Bytes along K that a multiply reads of a row; more of a sparse B, and where K is 96."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A or B of a multiply: `rows` of M or N, whose elements have `size` bytes, in the CTA `rank`.

    `certain` says that its shape and descriptor are known, and that all of its rows are read.
    """

    name: str
    rank: int
    descriptor: SharedMemoryDescriptor | WgmmaDescriptor
    rows: int
    size: int
    mn_major: bool
    certain: bool = True

    def hull(self) -> Region:
        """The smallest region that contains it; the smaller one where its strides are ambiguous."""
        d = self.descriptor
        first, span = d.address, d.swizzle.span
        across = max(self.rows * self.size // span, 1)
        groups = -(-self.rows // _CORE)
        if self.mn_major:
            reach = min((across - 1) * d.lbo, (across - 1) * d.sbo) if across > 1 else 0
            last = first + reach + _CORE * span
        elif span == 16:
            last = first + (groups - 1) * d.sbo + d.lbo + 16 * _CORE
        else:
            last = first - first % span + (groups - 1) * d.sbo + span * _CORE
        return Region(
            Memory.SHARED, self.rank, in_window(first, self.rank), in_window(0, self.rank) + last,
            name=self.name.upper(), exact=not self.mn_major or across == 1,
        )  # fmt: skip

    def atoms(self) -> Iterator[tuple[int, int, int]]:
        """The atoms of each of whose spans it certainly reads some bytes: where one begins, how
        many spans it has, one behind the other, and their bytes.
        """
        d = self.descriptor
        if not self.certain or (isinstance(d, SharedMemoryDescriptor) and d.absolute_lbo):
            return
        tile = Tile(self.rows, _ROW // self.size, self.size * 8, self._major)
        spans = min(d.swizzle.rows, tile.rows if self._major is Major.K else tile.k)
        for first in atoms(tile, d.swizzle, Strides(d.lbo, d.sbo), d.address):
            yield first, spans, d.swizzle.span

    @property
    def _major(self) -> Major:
        return Major.MN if self.mn_major else Major.K


def of_tensor_core(
    mi: MachineInstr, index: int, numbers: dict[str, int], rank: int, ctas: int
) -> Iterator[Matrix]:
    """The matrices in shared memory that a tcgen05.mma reads, in each of its CTAs."""
    event = Event(
        Kind.MULTIPLY, index, mi, Threads(1), None,
        values=tuple((n, constant(v)) for n, v in numbers.items()),
    )  # fmt: skip
    shape = shape_of(event)
    word = numbers.get("idesc", 0)
    size = 4 if shape is not None and shape.kind is MmaKind.TF32 else 2
    if shape is not None and shape.kind not in (MmaKind.TF32, MmaKind.F16):
        size = 1
    known = shape is not None and mi.get("zero_mask") is None
    for name, rows, bit in (
        ("a", shape.m if shape else 64, 15),
        ("b", shape.n if shape else 8, 16),
    ):
        if name not in numbers:
            continue
        descriptor, mn_major = decoded(numbers[name]), bool(word >> bit & 1)
        for peer in range(ctas):
            base = (rank & ~1) + peer if ctas == 2 else rank
            certain = known and not _is_argument(numbers[name])
            yield Matrix(name, base, descriptor, rows // ctas, size, mn_major, certain)


def of_warpgroup(mi: MachineInstr, numbers: dict[str, int], rank: int) -> Iterator[Matrix]:
    """The matrices in shared memory that a wgmma.mma_async reads."""
    shape = mi.form.attributes["shape"]
    assert isinstance(shape, WgmmaShape)
    for name, rows in (("a", 64), ("b", shape.n)):
        if name in numbers:
            descriptor = WgmmaDescriptor.decode(numbers[name])
            transposed = getattr(mi.get(f"trans_{name}"), "value", 0) == 1
            size, certain = max(_ROW // shape.k, 1), not _is_argument(numbers[name])
            yield Matrix(name, rank, descriptor, rows, size, transposed, certain)


_COPIED = {
    CopyShape.S128X256B: (128, 32), CopyShape.S128X128B: (128, 16), CopyShape.S64X128B: (64, 16),
    CopyShape.S32X128B: (32, 16), CopyShape.S4X256B: (4, 32),
}  # fmt: skip
"""Rows that a tcgen05.cp reads, and the bytes of each."""


def of_copy(mi: MachineInstr, word: int, rank: int) -> list[Region]:
    """The bytes that a tcgen05.cp reads in the CTA `rank`, from its descriptor.

    The first 16 are certain; a swizzled row is as long as the span, of which it reads a part.
    """
    d, shape = decoded(word), mi.form.attributes["shape"]
    assert isinstance(shape, CopyShape)
    rows, width = _COPIED[shape]
    reach, span = (-(-rows // _CORE) - 1) * d.sbo, d.swizzle.span
    if span == _ATOM:
        last = d.address + reach + (d.lbo if width > _ATOM else 0) + _ATOM * min(rows, _CORE)
    else:
        last = d.address - d.address % span + reach + span * min(rows, _CORE)
    is_all = last - d.address == rows * width and mi.form.attributes.get("src_fmt") is None
    first = in_window(d.address, rank)
    whole = Region(
        Memory.SHARED, rank, first, first + last - d.address, exact=is_all, name="matrix"
    )  # fmt: skip
    if is_all:
        return [whole]
    return [Region(Memory.SHARED, rank, first, first + _ATOM, name="matrix"), whole]


def _is_argument(word: int) -> bool:
    """Whether a descriptor is a made-up argument, or one at a constant distance from it."""
    return word >> 32 == POINTER >> 32


Operands: TypeAlias = tuple[object, ...]
"""The key of a multiply: its record, the rank of its CTA, and its known operands, by name."""


@dataclass(frozen=True, slots=True)
class Multiplied:
    """Memory that a multiply accesses: columns of tensor memory, and the hulls of its matrices."""

    touched: tuple[Region, ...]
    matrices: tuple[Matrix, ...]

    @classmethod
    def of(cls, columns: Iterable[Region], matrices: Iterable[Matrix]) -> Multiplied:
        """The regions of these columns and matrices."""
        known = tuple(matrices)
        return cls((*columns, *[matrix.hull() for matrix in known]), known)


def start_of(descriptor: int) -> int:
    """The start address in a descriptor, in bytes."""
    return decoded(descriptor).address


@functools.lru_cache(1024)  # warps and runs repeat the same descriptors
def decoded(word: int) -> SharedMemoryDescriptor:
    """A descriptor's fields; an invalid swizzling mode, reported elsewhere, counts as none."""
    try:
        return SharedMemoryDescriptor.decode(word)
    except ValueError:
        return SharedMemoryDescriptor.decode(word & ~(7 << 61))
