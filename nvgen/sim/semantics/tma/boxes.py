"""The box of a tensor copy: rows of a tensor, and their addresses in shared memory.

Layer: nvgen.sim.semantics.  A box is a list of rows: a tile's in order, the four that a copy
gathers or scatters, or the pixels that an im2col copy iterates over.  PTX ISA, Tensors: Tiled Mode,
im2col mode, Swizzling Modes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts.swizzling import swizzle
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COORDINATE_BYTES, TENSOR_COPY_ALIGNMENT
from intrinsics.tma.fields import Interleave
from nvgen.launching.tensor_map import TensorMap
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.bound_maps import AnyMap, Rows
from nvgen.sim.semantics.tma.targets import SECTION
from nvgen.sim.threads.machine import Cta

ATOM = 16
"""Bytes that stay together under every swizzling; the rows of a box are whole atoms."""

PER_ATOM = 16
"""Elements of an atom where these are padded."""

_PADDED_MULTIPLE = 128
"""What the innermost coordinate of padded elements is a multiple of."""


@dataclass(frozen=True, slots=True)
class Box:
    """Rows of a tensor from element `first` on, and their place in a CTA's shared memory.

    Elements narrower than a byte are counted as bytes here, two or four in so many.
    """

    cta: Cta
    bound: AnyMap
    first: int
    rows: Rows
    where: int

    @property
    def map(self) -> TensorMap:
        """The tensor map."""
        return self.bound.map

    @property
    def width(self) -> int:
        """Elements of a row."""
        return self._counted(self.map.copied[0])

    @property
    def bytes_per_atom(self) -> int:
        """Bytes of the tensor that lie in an atom, the others of which are padding."""
        element = self.map.element
        return PER_ATOM * element.bits // 8 if element.is_padded else ATOM

    @property
    def nbytes(self) -> int:
        """Bytes of the box, those outside of the tensor too, without padding."""
        return len(self.rows) * self.map.row_bytes

    def atoms(self) -> NDArray[np.int64]:
        """Shared addresses of the box's atoms of 16 bytes, in the order of its elements."""
        length = self.map.row_bytes // self.bytes_per_atom * ATOM
        places = np.arange(len(self.rows) * length // ATOM, dtype=np.int64) * ATOM
        row, within = np.divmod(places, length)
        pitch = max(length, self.map.swizzle.span)
        if self.map.interleave is not Interleave.NONE:
            pitch = length  # slices are contiguous
        return swizzle(self.where + row * pitch + within, self.map.swizzle)

    def padding(self) -> NDArray[np.int64]:
        """Shared addresses of the bytes between the pieces."""
        return (self.atoms()[:, None] + np.arange(self.bytes_per_atom, ATOM)).reshape(-1)

    def inside(self) -> Inside:
        """The part of the box that lies in the tensor."""
        dims, first = self.map.dims, self._counted(self.first)
        there = ((self.rows >= 0) & (self.rows < np.array(dims[1:], np.int64))).all(axis=1)
        low = max(first, 0)
        high = max(min(first + self.width, self._counted(dims[0])), low)
        kept = np.flatnonzero(there)
        return Inside(kept, self.rows[kept], slice(low, high), low - first)

    def _counted(self, elements: int) -> int:
        element = self.map.element
        return elements * element.bits // 8 if element.is_packed else elements

    def check(self) -> None:
        """Check that a copy may begin here.

        Raises: Fault.
        """
        element = self.map.element
        multiple = _PADDED_MULTIPLE if element.is_padded else 8 * COORDINATE_BYTES // element.bits
        if self.map.interleave is not Interleave.NONE:
            multiple = 1
        if self.first % multiple:
            raise fault(
                "tma-coordinate",
                "the copy's innermost coordinate is no multiple of 16 bytes"
                + (", or of 128 padded elements" if element.is_padded else ""),
                got=f"{self.first} elements of {element.bits} bits",
                expected=f"a multiple of {multiple} elements",
                hint="an H200 ends the kernel with an illegal instruction",
                section=SECTION,
            )
        if self.where % TENSOR_COPY_ALIGNMENT:
            raise fault(
                "tma-alignment",
                "the copy's shared address is misaligned",
                got=f"shared address {self.where:#x}",
                expected=f"a multiple of {TENSOR_COPY_ALIGNMENT}",
                section=SECTION,
            )


@dataclass(frozen=True, slots=True)
class Inside:
    """Rows of a box that lie in the tensor, by number and by coordinates, and which elements.

    `elements` are of the tensor; in the box the first of them is number `at`.
    """

    numbers: NDArray[np.intp]
    rows: Rows
    elements: slice
    at: int

    @property
    def count(self) -> int:
        """The number of elements."""
        return len(self.numbers) * int(self.elements.stop - self.elements.start)

    @property
    def in_box(self) -> tuple[NDArray[np.intp], slice]:
        """Their index in the box's rows."""
        width = self.elements.stop - self.elements.start
        return self.numbers, slice(self.at, self.at + width)


def tile_rows(map_: TensorMap, at: Sequence[int]) -> Rows:
    """The rows of a tile that begins at coordinates `at`, innermost first."""
    steps = map_.element_strides or (1,) * len(at)
    each = [
        start + step * np.arange(count, dtype=np.int64)
        for start, step, count in zip(at[1:], steps[1:], map_.copied[1:], strict=True)
    ]
    if not each:
        return np.zeros((1, 0), np.int64)
    grids = np.meshgrid(*each[::-1], indexing="ij")
    return np.stack([grid.reshape(-1) for grid in grids[::-1]], axis=1)


def four_rows(map_: TensorMap, rows: Sequence[int]) -> Rows:
    """The rows that a copy gathers or scatters.

    Raises: Fault when the box of the tensor map has more than one row.
    """
    if map_.box[1] != 1:
        raise fault(
            "tma-four-rows",
            "a copy of four rows has a tensor map whose boxes are one row",
            got=f"boxes of {map_.box[1]} rows",
            expected="1",
            section=SECTION,
        )
    return np.array(rows, np.int64)[:, None]


def image_rows(map_: TensorMap, at: Sequence[int], offsets: Sequence[int]) -> Rows:
    """The pixels of an im2col copy: along W, then H, then D, within the bounding box; then the next
    image.

    `at` are the coordinates of the filter's base, `offsets` those within the filter.

    Raises: Fault when the base is outside of the bounding box.
    """
    return _walk(map_, np.array(at[1:-1], np.int64), at[-1], offsets)


def wide_rows(map_: TensorMap, at: Sequence[int], halo: int, offset: int) -> Rows:
    """The pixels of a wide im2col copy: along W within the bounding box, then the next image, at
    the same place of the other dimensions.

    `offset` moves the bounding box and where the copy begins in it.

    Raises: Fault when the copy begins outside of the bounding box; NotSimulatedError where the
    manual's text leaves open which pixels come.
    """
    if halo:
        raise not_simulated("the halo of a wide im2col copy: which pixels it has")
    assert map_.im2col is not None
    if at[1] < map_.im2col.lower[0]:
        raise not_simulated("a wide im2col copy that begins before its bounding box")
    row = _walk(map_, np.array(at[1:2], np.int64), at[-1], [offset])
    place = np.broadcast_to(np.array(at[2:-1], np.int64), (len(row), len(at) - 3))
    return np.concatenate([row[:, :1], place, row[:, 1:]], axis=1)


def _walk(map_: TensorMap, base: Rows, image: int, offsets: Sequence[int]) -> Rows:
    """The places of pixels, from `base` in an image on, in the dimensions of the bounding box; and
    the numbers of their images.

    A dimension goes on from where it is by its stride, and behind the box's end from its beginning,
    where the next one goes on; so it is on an H100 where the base lies between strides, and so
    images are skipped.
    """
    images = map_.im2col
    assert images is not None
    steps = map_.element_strides or (1,) * len(map_.dims)
    lower = np.array(images.lower, np.int64)
    sizes = map_.dims[1 : 1 + len(lower)]
    upper = np.array([n - 1 + u for n, u in zip(sizes, images.upper, strict=True)])
    _check_base(base, lower, upper)
    step = np.array(steps[1 : 1 + len(lower)], np.int64)
    left = np.arange(images.copied, dtype=np.int64)
    columns = []
    # In a dimension the first round begins at the base, later ones at the lower corner.
    for start, low, high, jump, offset in zip(base, lower, upper, step, offsets, strict=True):
        begun = (high - start) // jump + 1  # pixels of the first round
        whole = (high - low) // jump + 1
        behind = left - begun
        index = np.where(behind < 0, start + left * jump, low + behind % whole * jump)
        left = np.where(behind < 0, 0, 1 + behind // whole)
        columns.append(index + offset)
    return np.stack([*columns, image + left * steps[-1]], axis=1)


def _check_base(base: Rows, lower: Rows, upper: Rows) -> None:
    if (base < lower).any() or (base > upper).any():
        raise fault(
            "tma-im2col-base",
            "the filter's base is outside of the bounding box",
            got=f"{tuple(map(int, base))}, W first",
            expected=f"{tuple(map(int, lower))} to {tuple(map(int, upper))}",
            section="Tensors, im2col mode",
        )
