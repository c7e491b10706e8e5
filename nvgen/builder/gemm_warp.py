"""Matrix multiplies of tiles by warps (sm_80 and later), as ldmatrix and mma.sync instructions.

Layer: nvgen.builder.  A and B are read from the same swizzled tiles that the asynchronous
multiplies read: a fragment is 32 bytes of K, two chunks of 16, of 16 rows of A or of 8 rows of B.
PTX ISA, ldmatrix; mma.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from intrinsics.element import ElementType, Major
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.element_names import MODIFIERS
from intrinsics.multiplies.matrix import MatrixNum
from nvgen.builder.control import ControlFlow, Scope
from nvgen.builder.gemm_warp_requirements import (
    WarpRequest,
    check_warps,
    whole_fragments,
)
from nvgen.builder.mma_sync import WarpMatrixVerbs
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import refuse
from nvgen.builder.register_operands import RegisterTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.vectors import Vector
from nvgen.builder.warp_tiles import FRAGMENT_COLUMNS, FRAGMENT_ROWS, Sums, WarpTile

_MATRIX = 8
"""Rows of one matrix of ldmatrix, each a chunk of 16 bytes; elements of 16 bits in a chunk."""

_STEP_CHUNKS = 2
"""Chunks of 16 bytes along K that one multiply reads."""

_STEP_LINES = 16
"""Lines of an MN-major matrix, elements of 16 bits along K, that one multiply reads."""


_SUMS = {ElementType.F32: ScalarType.F32, ElementType.S32: ScalarType.S32}


@dataclass(frozen=True, slots=True)
class _Lane:
    """What a lane reads of 16 rows of a matrix: which row, and which half of a step of K."""

    row: Int
    half: Int


@dataclass(frozen=True, slots=True)
class _Fragments:
    """A lane's addresses in a tile, of a warp whose rows begin at `first`."""

    tile: SharedTile
    lane: _Lane
    first: IntLike

    def at(self, rows: int, step: IntLike) -> Pointer:
        """The lane's 16 bytes of the 16 rows from `rows` on, in a step of K."""
        tile, lane = self.tile, self.lane
        if tile.major is Major.K:
            line = lane.row + self.first
            return tile.chunk(line, lane.half + step * _STEP_CHUNKS) + rows * tile.swizzle
        line = lane.row % _MATRIX + lane.half * _MATRIX
        number = (lane.row + self.first) // _MATRIX + rows // _MATRIX
        return tile.chunk(line, number) + step * (_STEP_LINES * tile.swizzle)


class WarpGemm(ControlFlow, WarpMatrixVerbs):
    """Tiles in the registers of warps, and multiplies into them."""

    block: tuple[int, int, int]

    def warp_tile(
        self,
        m: int,
        n: int,
        dtype: ElementType = ElementType.F32,
        *,
        warps: tuple[int, int] = (1, 1),
    ) -> WarpTile:
        """Zeros for D of `m` rows by `n` columns in the registers of `warps`, rows × columns.

        With one warp, each that comes here has a D of its own; otherwise all warps of the CTA, or
        of a warpgroup in its scope, share one.

        Raises: InputError when a warp's share is not made of fragments of 16 by 8.
        """
        if not whole_fragments(m, n, warps) or dtype not in _SUMS:
            raise refuse(
                "no such tile in the registers of warps",
                got=f"{m}x{n} of {dtype.value}, {warps[0]}x{warps[1]} warps",
                expected=f"multiples of {FRAGMENT_ROWS} rows and {FRAGMENT_COLUMNS} columns for "
                "each warp, of f32 or s32",
            )
        rows, columns = m // warps[0] // FRAGMENT_ROWS, n // warps[1] // FRAGMENT_COLUMNS
        parts = tuple(tuple(Sums(self, _SUMS[dtype]) for _ in range(columns)) for _ in range(rows))
        for row in parts:
            for part in row:
                self.changing(part)
        return WarpTile(parts, m, n, dtype, warps)

    def place_of_warp(self, d: WarpTile) -> tuple[IntLike, IntLike]:
        """The first row and the first column of this warp's share."""
        rows, columns = d.warps
        if rows * columns == 1:
            return 0, 0
        warp = self.tid_x >> 5
        if self.scope is Scope.WARPGROUP:
            warp = warp % 4
        down, along = d.share
        return warp // columns * down, warp % columns * along

    def multiply_in_warps(
        self,
        d: WarpTile,
        a: SharedTile | RegisterTile,
        b: SharedTile,
        accumulate: bool | Int,
        step: IntLike | None,
        others: tuple[str, ...] = (),
    ) -> None:
        """What `gemm_async` makes of such tiles; `others` are options that tcgen05.mma has.

        Raises: InputError when a requirement is not met.
        """
        x, y, z = self.block
        request = WarpRequest(self, self.scope, x * y * z, d, a, b, step, others)
        check_warps(request)
        self._begin(d, accumulate)
        row, column = self.place_of_warp(d)
        lane = self.tid_x & 31
        of_a: _Fragments | RegisterTile = (
            _Fragments(a, _Lane(lane % FRAGMENT_ROWS, lane // FRAGMENT_ROWS), row)
            if isinstance(a, SharedTile)
            else a
        )
        rows_of_b = lane % _MATRIX + lane // FRAGMENT_ROWS * _MATRIX
        of_b = _Fragments(b, _Lane(rows_of_b, lane // _MATRIX % 2), column)
        for number in range(request.steps) if step is None else (step,):
            self._multiply_step(request, of_a, of_b, number)

    def _begin(self, d: WarpTile, accumulate: bool | Int) -> None:
        """Zeros, unless what is in D counts; a branch, so that a loop does not select."""
        if isinstance(accumulate, Int):
            with self.if_(accumulate ^ 1, "begin"):
                self._begin(d, accumulate=False)
        elif not accumulate:
            for row in d.parts:
                for part in row:
                    part.raw = Sums.zeros()

    def _multiply_step(
        self,
        request: WarpRequest,
        of_a: _Fragments | RegisterTile,
        of_b: _Fragments,
        step: IntLike,
    ) -> None:
        """One step of K: fragments of A and of B once, then all their products."""
        family = request.family
        assert family is not None
        rows = range(len(request.d.parts))
        if isinstance(of_a, RegisterTile):
            assert isinstance(step, int)
            lines = [of_a.fragments[i][step] for i in rows]
        else:
            lines = [self._matrices(of_a, FRAGMENT_ROWS * i, step) for i in rows]
        columns = list(self._columns(of_b, len(request.d.parts[0]), step))
        for left, row in zip(lines, request.d.parts, strict=True):
            for right, part in zip(columns, row, strict=True):
                part.raw = self.mma_sync(
                    left,
                    right,
                    part.registers,
                    shape=family.shape,
                    atype=MODIFIERS[request.a.dtype],
                    btype=MODIFIERS[request.b.dtype],
                ).value

    def _columns(self, of_b: _Fragments, count: int, step: IntLike) -> Iterator[Vector]:
        """B for each eight columns of D; sixteen come with one load, the last eight with half."""
        for first in range(0, count, 2):
            both = first + 1 < count
            found = self._matrices(of_b, FRAGMENT_COLUMNS * first, step, both=both)
            yield found[0:2]
            if both:
                yield found[2:4]

    def _matrices(
        self, fragments: _Fragments, rows: int, step: IntLike, *, both: bool = True
    ) -> Vector:
        """The registers of 16 rows, or of the first 8 of them."""
        transposed = fragments.tile.major is Major.MN
        num = MatrixNum.X4 if both else MatrixNum.X2
        return self.ldmatrix(fragments.at(rows, step), num, trans=transposed)
