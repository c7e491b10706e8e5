"""Tiles: matrices in shared memory and in tensor memory.

Layer: nvgen.builder.  A shared tile is an element type, a shape and a swizzle; a tensor tile is a
shape and columns of tensor memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from intrinsics.element import ElementType
from intrinsics.smem_desc import SharedMemoryDescriptor, Swizzle
from nvgen.builder.values import Int, IntLike, Pointer, refuse
from nvgen.tensor_map import SWIZZLES


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A K-major matrix in shared memory: `rows` of `k` elements, swizzled.

    A row longer than the swizzle span is cut into spans, each a block of all rows, one after the
    other, as one TMA copy a span leaves them.
    """

    name: str
    pointer: Pointer
    dtype: ElementType
    rows: int
    k: int
    swizzle: int

    @property
    def nbytes(self) -> int:
        """Size in bytes: what a TMA copy of the whole tile counts on its mbarrier."""
        return self.rows * self.k * self.dtype.bits // 8

    @property
    def span(self) -> int:
        """Elements in one swizzle span; without swizzling there is none.

        Raises: InputError then.
        """
        if not self.swizzle:
            raise refuse(f"tile {self.name} is not swizzled", expected="a swizzle of 32, 64 or 128")
        return self.swizzle * 8 // self.dtype.bits

    def offset(self, k: int) -> int:
        """Byte offset of the element (0, k)."""
        block, within = divmod(k, self.span)
        return (block * self.rows * self.span + within) * self.dtype.bits // 8

    def chunk(self, row: Int, number: int) -> Pointer:
        """Where 16 bytes of a row lie: chunk `number` of the row's first span, swizzled.

        Eight neighbouring rows have their chunks of one number in eight different places of the
        128 bytes that the banks of shared memory are wide.
        """
        lines = row >> (128 // self.swizzle).bit_length() - 1
        place = (lines & self.swizzle // 16 - 1) ^ number
        return self.pointer + (row * self.swizzle + place * 16)

    def descriptor(self, address: int = 0) -> SharedMemoryDescriptor:
        """The tcgen05 descriptor of the tile at a shared address."""
        mode = SWIZZLES[self.swizzle]
        return SharedMemoryDescriptor(address, lbo=16, sbo=8 * self.swizzle, swizzle=mode)


@dataclass(frozen=True, slots=True)
class SharedTiles:
    """Equal tiles in shared memory, one after the other: the buffers of a ring."""

    first: SharedTile
    count: int

    @property
    def nbytes(self) -> int:
        """Size in bytes of one of them."""
        return self.first.nbytes

    def __getitem__(self, number: IntLike) -> SharedTile:
        """One of them, by a number that the kernel may compute.

        Raises: InputError for a number that is known and too large.
        """
        if isinstance(number, int) and not 0 <= number < self.count:
            raise refuse(
                f"{self.first.name} has no such tile",
                got=str(number),
                expected=f"0..{self.count - 1}",
            )
        return replace(self.first, pointer=self.first.pointer + number * self.nbytes)


@dataclass(frozen=True, slots=True)
class TensorTile:
    """An accumulator in tensor memory: `m` rows and `n` columns of f32, from `pointer` on."""

    pointer: Pointer
    m: int
    n: int
    dtype: ElementType = ElementType.F32


def swizzle_mode(span: int) -> Swizzle:
    """The swizzle whose span is `span` bytes.

    Raises: InputError when there is none.
    """
    mode = SWIZZLES.get(span)
    if mode is None:
        raise refuse("no such swizzle", got=str(span), expected="0, 32, 64 or 128 bytes")
    return mode
