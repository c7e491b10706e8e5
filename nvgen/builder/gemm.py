"""`gemm_async`: a matrix multiply of tiles as tcgen05.mma instructions.

Layer: nvgen.builder.  It derives descriptors and the instruction descriptor from tiles and unrolls
the (mi, ni, ki) nest; it commits nothing, that is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.element import ElementType
from intrinsics.idesc import InstructionDescriptor
from intrinsics.modifiers import CtaGroup
from nvgen.builder.control import ControlFlow, Scope
from nvgen.builder.gemm_requirements import Family, Request, Scales, check, family_of
from nvgen.builder.tiles import SharedTile, TensorTile
from nvgen.builder.values import Int, Pointer, refuse


class TileOperations(ControlFlow):
    """Operations on tiles."""

    def gemm_async(
        self,
        d: TensorTile,
        a: SharedTile,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        cta_group: CtaGroup = CtaGroup.ONE,
        sfa: Pointer | None = None,
        sfb: Pointer | None = None,
        scale_type: ElementType = ElementType.UE8M0,
        scale_size: int = 32,
    ) -> None:
        """Start D = A·Bᵀ (+ D with `accumulate`), asynchronously; the caller commits.

        `accumulate` may be a condition that the kernel computes.

        `a` is M × K and `b` is N × K, both K-major in shared memory; `d` is M × N in tensor memory.
        With `cta_group` 2 each CTA of the pair holds half of A's and of B's rows.  In warp scope
        one thread of the warp is elected to issue.

        `sfa` and `sfb` are scale factors in tensor memory, of `scale_type`, one for `scale_size`
        elements of K: four of them, along K, in a word; a column of words for 32 rows; then those
        of the next four.

        Raises: InputError when a requirement is not met.
        """
        group = 2 if cta_group is CtaGroup.TWO else 1
        given = (sfa is not None) + (sfb is not None)
        scales = None
        if sfa is not None and sfb is not None:
            scales = Scales(sfa, sfb, scale_type, scale_size)
        family = family_of(a.dtype, b.dtype, scale_size if given else 0)
        m, n = a.rows * group, b.rows * group
        check(Request(self.scope, m, n, a.k, a, b, d, group, family, given, scales))
        assert family is not None
        if self.scope is Scope.WARP:
            with self.elect():
                self._issue(d, a, b, family, accumulate, cta_group, scales)
        else:
            self._issue(d, a, b, family, accumulate, cta_group, scales)

    def _issue(
        self,
        d: TensorTile,
        a: SharedTile,
        b: SharedTile,
        family: Family,
        accumulate: bool | Int,
        cta_group: CtaGroup,
        scales: Scales | None,
    ) -> None:
        """The unrolled nest: M is one instruction's, N goes in pieces of 256, K in the kind's."""
        group = 2 if cta_group is CtaGroup.TWO else 1
        a_base, b_base = self.descriptor(a), self.descriptor(b)
        for ni, width in _columns(d.n, 256):
            accumulator = d.pointer + ni if ni else d.pointer
            for ki in range(a.k // family.k):
                k = ki * family.k
                rows = ni // group * b.swizzle
                factors = family.k // scales.size if scales else 0
                word, scale_id = divmod(ki * factors, 4)
                sfa, sfb = _scales_at(scales, word, a.rows, d.n, ni)
                idesc = _descriptor(family, a.rows * group, width, a, b, d, scales, scale_id)
                self.tcgen05_mma(
                    accumulator,
                    _advance(a_base, a.offset(k)),
                    _advance(b_base, b.offset(k) + rows),
                    idesc.encode(),
                    1 if ki else int(accumulate) if isinstance(accumulate, bool) else accumulate,
                    kind=family.kind,
                    cta_group=cta_group,
                    scale_vec=scales.vector if scales else None,
                    sfa=sfa,
                    sfb=sfb,
                )

    def descriptor(self, tile: SharedTile) -> Int:
        """The descriptor of a tile, whose address the kernel knows."""
        address = self.at_caller().ptrtoint(tile.pointer.value, self.int_type(32))
        low = (Int(self, address) & 0x3FFFF) >> 4
        constant = tile.descriptor().encode()
        return self.zext(low, 64) | constant


def _descriptor(
    family: Family, m: int, n: int, a: SharedTile, b: SharedTile, d: TensorTile,
    scales: Scales | None, scale_id: int,
) -> InstructionDescriptor:  # fmt: skip
    if scales is None:
        return InstructionDescriptor(family.kind, m, n, a.dtype, b.dtype, d.dtype)
    return InstructionDescriptor(
        family.kind,
        m,
        n,
        a.dtype,
        b.dtype,
        scale=scales.type,
        sfa_id=scale_id,
        sfb_id=scale_id,
    )


def _scales_at(
    scales: Scales | None, word: int, m: int, n: int, first: int
) -> tuple[Pointer | None, Pointer | None]:
    """Where the scale factors of one instruction begin: `word` counts words of four, along K."""
    if scales is None:
        return None, None
    sfa, sfb = scales.sfa, scales.sfb
    a, b = word * (m // 32), word * -(-n // 32) + first // 32
    return sfa + a if a else sfa, sfb + b if b else sfb


def _columns(n: int, most: int) -> Iterator[tuple[int, int]]:
    """N in pieces that one instruction can do: (first column, width)."""
    for first in range(0, n, most):
        yield first, min(most, n - first)


def _advance(descriptor: Int, offset: int) -> Int:
    """The descriptor of the same layout `offset` bytes further on."""
    if offset % 16:
        raise refuse("a descriptor moves in steps of 16 bytes", got=str(offset))
    return descriptor + (offset >> 4) if offset else descriptor
