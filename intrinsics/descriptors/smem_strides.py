"""The strides of a shared memory descriptor: do they keep the parts of a tile apart?

Layer: intrinsics.  A matrix in shared memory is made of *atoms*: eight spans of the swizzle (128,
64 or 32 bytes, 16 without swizzling; four spans with 32-byte atoms), one after the other.  The
atoms of a tile form a grid, whose steps are the descriptor's two offsets, in bytes.  PTX ISA,
Strides; Canonical Layouts.

                       along the span       across the spans
    K-major, swizzled  (one span only)      stride offset
    MN-major, swizzled leading offset       stride offset
    K-major, plain     leading offset       stride offset
    MN-major, plain    stride offset        leading offset
"""

from __future__ import annotations

import itertools

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.element import Major
from intrinsics.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a matrix that one MMA reads: rows (of M or N) by k elements of `bits` each."""

    rows: int
    k: int
    bits: int
    major: Major

    def __str__(self) -> str:
        return f"{self.rows}x{self.k} {self.major.value}-major tile of {self.bits}-bit elements"

    def grid(self, swizzle: Swizzle) -> tuple[int, int]:
        """The number of atoms along and across the spans."""
        inner, outer = (self.k, self.rows) if self.major is Major.K else (self.rows, self.k)
        return -(-inner * self.bits // 8 // swizzle.span), -(-outer // swizzle.rows)


@dataclass(frozen=True, slots=True)
class Strides:
    """The two offsets of a descriptor, in bytes."""

    lbo: int
    sbo: int


def atoms(tile: Tile, swizzle: Swizzle, given: Strides, address: int) -> tuple[int, ...]:
    """Byte offsets of the atoms that an MMA reads at an address, in order.

    An address inside of a span counts as that span, so whatever swizzling does stays in its span.
    () for what is not known for certain: tiles that are longer than a span where no offset says how
    they go on, or that begin inside of a span along which they lie.
    """
    along, across = tile.grid(swizzle)
    plain, k_major = swizzle is Swizzle.NONE, tile.major is Major.K
    if k_major and not plain and (along > 1 or swizzle is Swizzle.B128_ATOM32):
        return ()
    if not k_major and address % swizzle.span:
        return ()
    exchanged = plain and not k_major
    step_along, step_across = (given.sbo, given.lbo) if exchanged else (given.lbo, given.sbo)
    first = address - address % swizzle.span
    begins = {first + i * step_along + j * step_across for i in range(along) for j in range(across)}
    return tuple(sorted(begins))


def right_strides(tile: Tile, swizzle: Swizzle, given: Strides) -> Strides:
    """The strides nearest to `given` under which no two atoms of the tile overlap.

    An offset that is right, or that the tile does not use, stays; a wrong one becomes the smallest
    that will do.
    """
    along, across = tile.grid(swizzle)
    exchanged = swizzle is Swizzle.NONE and tile.major is Major.MN
    step_along, step_across = (given.sbo, given.lbo) if exchanged else (given.lbo, given.sbo)
    atom = swizzle.rows * swizzle.span
    if across > 1 and not _fits(step_across, atom, swizzle):
        step_across = atom
    if along > 1 and (
        not _fits(step_along, atom, swizzle)
        or not _apart((along, across), (step_along, step_across), atom)
    ):
        roomy = across == 1 or step_across >= atom * along
        step_along = atom if roomy else step_across * across
    if exchanged:
        return Strides(step_across, step_along)
    return Strides(step_along, step_across)


def _fits(step: int, atom: int, swizzle: Swizzle) -> bool:
    """Whether a second atom may begin `step` bytes behind the first."""
    return step >= atom and not (swizzle is not Swizzle.NONE and step % swizzle.repeat)


def _apart(counts: tuple[int, int], steps: tuple[int, int], atom: int) -> bool:
    begins = sorted(i * steps[0] + j * steps[1] for i in range(counts[0]) for j in range(counts[1]))
    return all(b - a >= atom for a, b in itertools.pairwise(begins))
