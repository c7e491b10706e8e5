"""Matrix multiplies of tiles by a warpgroup (sm_90a), as wgmma.mma_async instructions.

Layer: nvgen.builder.  It derives descriptors from tiles, which advance in units of 16 bytes, and
unrolls the nest of steps of K and of 64 rows.  PTX ISA, Asynchronous Warpgroup Level Matrix
Instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.element import ElementType, Major
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.element_names import MODIFIERS
from nvgen.builder.descriptors import advanced
from nvgen.builder.gemm_warpgroup_requirements import (
    OperandOfA,
    WarpgroupRequest,
    check_warpgroup,
)
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.refusals import refuse
from nvgen.builder.register_operands import OPERAND_REGISTERS, RegisterTile
from nvgen.builder.register_tiles import WARPGROUP_ROWS, WarpgroupTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.vectors import Vector
from nvgen.builder.wgmma import WarpgroupVerbs

_SUMS = {
    ElementType.F32: ScalarType.F32,
    ElementType.F16: ScalarType.F16,
    ElementType.S32: ScalarType.S32,
}


class WarpgroupGemm(WarpgroupVerbs):
    """Tiles in a warpgroup's registers, and multiplies into them."""

    block: tuple[int, int, int]

    def warpgroup_tile(self, m: int, n: int, dtype: ElementType = ElementType.F32) -> WarpgroupTile:
        """Zeros for D of `m` rows, a multiple of 64, by `n` columns in a warpgroup's registers.

        Raises: InputError when no multiplies have such a D.
        """
        if m < WARPGROUP_ROWS or m % WARPGROUP_ROWS or dtype not in _SUMS:
            raise refuse(
                "no such tile in the registers of a warpgroup",
                got=f"{m}x{n} of {dtype.value}",
                expected=f"a multiple of {WARPGROUP_ROWS} rows of f32, f16 or s32",
            )
        parts = tuple(self.wgmma_accumulator(n, _SUMS[dtype]) for _ in range(m // WARPGROUP_ROWS))
        return WarpgroupTile(parts, m, n, dtype)

    def warpgroup_operand(
        self, fragments: Sequence[Sequence[Vector]], dtype: ElementType
    ) -> RegisterTile:
        """A in registers: for every 64 rows, and in them for each step of K, four registers.

        Raises: InputError when some are missing.
        """
        found = tuple(tuple(steps) for steps in fragments)
        counts = {len(steps) for steps in found}
        widths = {vector.count for steps in found for vector in steps}
        if len(counts) != 1 or widths != {OPERAND_REGISTERS}:
            raise refuse(
                "no A in the registers of a warpgroup",
                got=f"{len(found)} times {sorted(counts)} steps of {sorted(widths)} registers",
                expected="for every 64 rows as many steps of K, of four registers each",
            )
        return RegisterTile(found, dtype)

    def multiply_in_warpgroup(
        self,
        d: WarpgroupTile,
        a: OperandOfA,
        b: SharedTile,
        accumulate: bool | Int,
        step: IntLike | None,
        others: tuple[str, ...] = (),
    ) -> None:
        """What `gemm_async` makes of such tiles; `others` are options that tcgen05.mma has.

        Raises: InputError when a requirement is not met.
        """
        request = self._warpgroup_request(d, a, b, step, others)
        check_warpgroup(request)
        self._multiply(request, accumulate)

    def _warpgroup_request(
        self,
        d: WarpgroupTile,
        a: OperandOfA,
        b: SharedTile,
        step: IntLike | None,
        others: tuple[str, ...],
    ) -> WarpgroupRequest:
        x, y, z = self.block
        return WarpgroupRequest(self, self.scope, x * y * z, d, a, b, step, others)

    def _multiply(self, request: WarpgroupRequest, accumulate: bool | Int) -> None:
        """The unrolled nest: steps of K, and in each the parts of 64 rows."""
        a, b, step = request.a, request.b, request.step
        begins_a = self._warpgroup_descriptor(a) if isinstance(a, SharedTile) else None
        begins_b = self._warpgroup_descriptor(b)
        adds: IntLike = int(accumulate) if isinstance(accumulate, bool) else accumulate
        trans_a = int(isinstance(a, SharedTile) and a.major is Major.MN)
        trans_b = int(b.major is Major.MN)
        for number in range(request.steps) if step is None else (step,):
            k = number * request.depth
            at_b = advanced(begins_b, b.offset(k))
            for part, accumulator in enumerate(request.d.parts):
                at_a: Int | Vector
                if isinstance(a, SharedTile):
                    assert begins_a is not None
                    at_a = advanced(begins_a, a.offset(k, part * WARPGROUP_ROWS))
                else:
                    assert isinstance(number, int)
                    at_a = a.fragments[part][number]
                self.wgmma_mma_async(
                    accumulator, at_a, at_b, adds, atype=MODIFIERS[a.dtype],
                    btype=MODIFIERS[b.dtype], trans_a=trans_a, trans_b=trans_b,
                )  # fmt: skip
            adds = 1

    def _warpgroup_descriptor(self, tile: SharedTile) -> Int:
        """The descriptor of a tile, whose address the kernel knows."""
        layout = tile.descriptor()
        return self.wgmma_descriptor(
            tile.pointer, WgmmaDescriptor(0, layout.lbo, layout.sbo, layout.swizzle)
        )
