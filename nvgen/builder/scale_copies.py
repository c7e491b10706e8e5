"""Copies of scale factors from shared into tensor memory, and descriptors of shared memory.

Layer: nvgen.builder.  PTX ISA, tcgen05.cp; Shared memory descriptor; Block Scaling.
"""

from __future__ import annotations

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.modifiers import CopyMulticast, CopyShape, CtaGroup
from nvgen.builder.numbers import Int
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import refuse
from nvgen.builder.tensor_tiles import ScaleTile
from nvgen.builder.tiles import SCALE_BLOCK, SharedScales
from nvgen.builder.verbs import Verbs

_ROWS_OF_16 = SharedMemoryDescriptor(0, lbo=16, sbo=128, swizzle=Swizzle.NONE)
"""Rows of 16 bytes, one after the other: a matrix without swizzling, one piece wide."""


_COPIES = {
    1: (CopyShape.S32X128B, CopyMulticast.WARPX4),
    2: (CopyShape.S64X128B, CopyMulticast.WARPX2_01_23),
}
"""What copies a block of each part: to all groups of 32 lanes, or of two to two of them each."""


def _shape(scales: ScaleTile | SharedScales) -> str:
    parts = f", in {scales.parts} parts" if scales.parts > 1 else ""
    rows = f"{scales.rows} rows of K {scales.k}"
    return f"{rows}, one for {scales.size} {scales.dtype.value}{parts}"


class ScaleCopies(Verbs):
    """tcgen05.cp of what a matrix multiply reads from tensor memory."""

    def copy_scales(
        self, target: ScaleTile, source: SharedScales, *, cta_group: CtaGroup = CtaGroup.ONE
    ) -> None:
        """Start copies of scale factors into tensor memory, by one thread.

        MMAs that this thread issues later see them; with `cta_group` 2 each CTA of the pair gets
        what lies in its own shared memory.

        Raises: InputError when the two are of different shapes or types.
        """
        wanted = (target.rows, target.k, target.dtype, target.size, target.parts)
        given = (source.rows, source.k, source.dtype, source.size, source.parts)
        if wanted != given:
            raise refuse(
                "scale factors of another shape",
                got=_shape(source),
                expected=_shape(target),
            )
        first = self.descriptor_at(source.pointer, _ROWS_OF_16)
        down, along = source.blocks
        shape, multicast = _COPIES[source.parts]
        for row in range(down):
            for word in range(along):
                block, columns = row * along + word, word * target.pitch + row * 4
                self.tcgen05_cp(
                    target.pointer + columns if columns else target.pointer,
                    first + (block * source.parts * SCALE_BLOCK >> 4) if block else first,
                    shape=shape,
                    multicast=multicast,
                    cta_group=cta_group,
                )

    def copy_metadata(
        self, target: Pointer, source: Pointer, *, cta_group: CtaGroup = CtaGroup.ONE
    ) -> None:
        """Start a copy of 128 rows of 16 bytes from shared memory into four columns.

        Row r goes to lane r: four words of metadata of a sparse A.
        """
        self.tcgen05_cp(
            target,
            self.descriptor_at(source, _ROWS_OF_16),
            shape=CopyShape.S128X128B,
            cta_group=cta_group,
        )

    def descriptor_at(self, pointer: Pointer, layout: SharedMemoryDescriptor) -> Int:
        """A shared memory descriptor of `layout`, with an address that the kernel knows."""
        address = self.at_caller().ptrtoint(pointer.value, self.int_type(32))
        low = (Int(self, address) & 0x3FFFF) >> 4
        return self.zext(low, 64) | layout.encode()
