"""D in the registers of warps: mma.sync, on sm_80 and later.

Layer: nvgen.multiplies.  A fragment is 32 bytes of K, two chunks of 16, of 16 rows of A or of 8
rows of B.  The nest of steps of K and of rows is unrolled.  PTX ISA, ldmatrix; mma; Matrix
Fragments for mma.m16n8k16 and its like.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from llvmlite import ir

from intrinsics.element import ElementType, Major
from intrinsics.layouts.register_layout import warp_grids, warp_layout
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from intrinsics.modifiers.matrix import MatrixNum
from intrinsics.multiplies.element_families import OF_WARPS
from intrinsics.multiplies.element_names import MODIFIERS
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import check, refuse
from nvgen.fragments.layouts import Holders, RegisterTile
from nvgen.instructions.mma_rows import Accumulator
from nvgen.instructions.roles import WARP, ExecutionScope
from nvgen.multiplies.accumulators import Multiply, RegisterAccumulator
from nvgen.multiplies.register_multiplies import REQUIREMENTS, RegisterMultiply, RegisterRequest
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector

E = ElementType
T = ScalarType

FRAGMENT_ROWS = 16
"""Rows of D that one multiply of a warp has."""

FRAGMENT_COLUMNS = 8
"""Columns of D that one multiply of a warp has."""

_REGISTERS = 4
"""Registers of a thread that hold such a D: two rows, two columns each."""

_MATRIX = 8
"""Rows of one matrix of ldmatrix, each a chunk of 16 bytes; elements of 16 bits in a chunk."""

_STEP_CHUNKS = 2
"""Chunks of 16 bytes along K that one multiply reads."""

_STEP_LINES = 16
"""Lines of an MN-major matrix, elements of 16 bits along K, that one multiply reads."""

_WARP_SUMS = {E.F32: T.F32, E.S32: T.S32}
_ZEROS = ir.Constant(ir.VectorType(ir.IntType(32), _REGISTERS), None)


def _all_warps(r: RegisterRequest) -> bool:
    (rows, columns), scope, threads = r.shares, r.builder.scope, r.builder.threads
    here = {ExecutionScope.WARPGROUP: 4, ExecutionScope.WARP: 1}.get(scope, threads // WARP)
    together = rows * columns in (1, here)
    return scope is not ExecutionScope.THREAD and threads % WARP == 0 and together


BY_WARPS = RegisterMultiply(
    "warp", "mma", FRAGMENT_ROWS, OF_WARPS, _all_warps,
    "of warps is issued by all threads of the warps that hold D",
    lambda r: f"{r.shares[0]}x{r.shares[1]} warps",
    "the target's warps do not multiply elements of these types",
    "Warp Level Matrix Instructions, Matrix Shape", "mma", "ldmatrix",
)  # fmt: skip


@guarded
class WarpTile(RegisterAccumulator):
    """D of `m` rows by `n` columns of `dtype` in the registers of `warps` (rows, columns) warps.

    `parts[i][j]` begins at row 16·i and column 8·j of each warp's part.  It keeps its value across
    branches and loops.

    All threads of the warps multiply into it, with A in shared memory or in their registers and no
    other option than `accumulate` and `step`; D is complete then.
    """

    instruction: ClassVar[str] = BY_WARPS.op
    expected_a: ClassVar[str] = "shared_tile(…) or sums.as_a_operand()"

    def __init__(
        self,
        parts: tuple[tuple[Accumulator, ...], ...],
        m: int,
        n: int,
        dtype: ElementType,
        warps: tuple[int, int],
    ) -> None:
        self.parts, self.m, self.n, self.dtype, self.warps = parts, m, n, dtype, warps

    @property
    def share(self) -> tuple[int, int]:
        """Rows and columns of one warp's part."""
        return self.m // self.warps[0], self.n // self.warps[1]

    def __repr__(self) -> str:
        rows, columns = self.warps
        words = f"{self.m}x{self.n} of {self.dtype.value}, {rows}x{columns} warps"
        return f"<D of warps: {words}; layout of one {warp_layout(*self.share)}>"

    @property
    def _parts(self) -> tuple[Accumulator, ...]:
        return tuple(part for row in self.parts for part in row)

    @property
    def _holders(self) -> Holders:
        first = self.corner if self.warps != (1, 1) else None
        return Holders(self.builder, warp_layout(*self.share), first, across=self.warps[1] > 1)

    def corner(self) -> tuple[IntLike, IntLike]:
        """The first row and the first column of this warp's part.

        What `store`, `coordinates` and `where` take or give counts from the whole matrix's first
        row and column, and has this in it.
        """
        rows, columns = self.warps
        if rows * columns == 1:
            return 0, 0
        warp = self.builder.thread >> 5
        if self.builder.scope is ExecutionScope.WARPGROUP:
            warp = warp % 4
        down, along = self.share
        return warp // columns * down, warp % columns * along

    def start(self, asked: Multiply) -> None:
        """Multiply; all threads of the warps execute it, and it is complete behind it."""
        request = RegisterRequest.of(asked, BY_WARPS, self.warps)
        check("gemm_async", REQUIREMENTS, request)
        b, left = request.builder, request.a
        self._begin(asked.accumulate)
        row, column = self.corner()
        lane = b.thread & 31
        of_a: _Fragments | RegisterTile = left if isinstance(left, RegisterTile) else (
            _Fragments(left, lane % FRAGMENT_ROWS, lane // FRAGMENT_ROWS, row)
        )  # fmt: skip
        rows_of_b = lane % _MATRIX + lane // FRAGMENT_ROWS * _MATRIX
        of_b = _Fragments(request.b, rows_of_b, lane // _MATRIX % 2, column)
        for number in asked.chosen(request.steps):
            self._multiply_step(request, of_a, of_b, number)

    def _begin(self, accumulate: bool | Int) -> None:
        """Zeros, unless what is in D counts; a branch, so that a loop does not select."""
        if isinstance(accumulate, Int):
            with self.builder.if_(accumulate ^ 1, "begin"):
                self._begin(accumulate=False)
        elif not accumulate:
            for part in self._parts:
                part.raw = _ZEROS

    def _multiply_step(
        self,
        asked: RegisterRequest,
        of_a: _Fragments | RegisterTile,
        of_b: _Fragments,
        step: IntLike,
    ) -> None:
        """One step of K: fragments of A and of B once, then all their products."""
        family, b, rows = asked.family, self.builder, range(len(self.parts))
        assert family is not None
        assert family.shape is not None
        if isinstance(of_a, RegisterTile):
            assert isinstance(step, int)
            lines = [of_a.fragments[i][step] for i in rows]
        else:
            lines = [of_a.load(b, FRAGMENT_ROWS * i, step) for i in rows]
        columns = list(_columns(b, of_b, len(self.parts[0]), step))
        atype, btype = MODIFIERS[asked.a.dtype], MODIFIERS[asked.b.dtype]
        for left, row in zip(lines, self.parts, strict=True):
            for right, part in zip(columns, row, strict=True):
                d = b.mma_sync(
                    left, right, part.registers, shape=family.shape, atype=atype, btype=btype
                )
                part.raw = d.value


@dataclass(frozen=True, slots=True)
class _Fragments:
    """A lane's addresses in a tile, of a warp whose rows begin at `first`.

    Of 16 rows it reads one, `row`, and of a step of K one `half`.
    """

    tile: SharedTile
    row: Int
    half: Int
    first: IntLike

    def at(self, rows: int, step: IntLike) -> Pointer:
        """The lane's 16 bytes of the 16 rows from `rows` on, in a step of K."""
        tile = self.tile
        if tile.major is Major.K:
            line = self.row + self.first
            return tile.chunk(line, self.half + step * _STEP_CHUNKS) + rows * tile.swizzle
        line = self.row % _MATRIX + self.half * _MATRIX
        number = (self.row + self.first) // _MATRIX + rows // _MATRIX
        return tile.chunk(line, number) + step * (_STEP_LINES * tile.swizzle)

    def load(self, b: SharedMemory, rows: int, step: IntLike, *, both: bool = True) -> Vector:
        """The registers of 16 rows, or of the first 8 of them."""
        num = MatrixNum.X4 if both else MatrixNum.X2
        return b.ldmatrix(self.at(rows, step), num, trans=self.tile.major is Major.MN)


def _columns(b: SharedMemory, of_b: _Fragments, count: int, step: IntLike) -> Iterator[Vector]:
    """B for each eight columns of D; sixteen come with one load, the last eight with half."""
    for first in range(0, count, 2):
        both = first + 1 < count
        found = of_b.load(b, FRAGMENT_COLUMNS * first, step, both=both)
        yield found[0:2]
        if both:
            yield found[2:4]


def warp_tile(
    b: SharedMemory, m: int, n: int, dtype: ElementType = E.F32, *, warps: tuple[int, int] = (1, 1)
) -> WarpTile:
    """A zeroed D of `m` rows by `n` columns in the registers of `warps` (rows, columns) warps.

    With one warp, each warp that executes it has a D of its own; otherwise all warps of the CTA, or
    of the enclosing warpgroup, share one.

    Raises: InputError when a warp's part is not a multiple of 16 by 8.
    """
    down, along = warps
    if (down, along) not in warp_grids(down * along, m, n) or dtype not in _WARP_SUMS:
        raise refuse(
            "no such tile in the registers of warps",
            got=f"{m}x{n} of {dtype.value}, {warps[0]}x{warps[1]} warps",
            expected=f"multiples of {FRAGMENT_ROWS} rows and {FRAGMENT_COLUMNS} columns for "
            "each warp, of f32 or s32",
        )
    rows, columns = m // warps[0] // FRAGMENT_ROWS, n // warps[1] // FRAGMENT_COLUMNS
    parts = tuple(
        tuple(Accumulator(b, FRAGMENT_COLUMNS, _WARP_SUMS[dtype], _ZEROS) for _ in range(columns))
        for _ in range(rows)
    )
    made = WarpTile(parts, m, n, dtype, warps)
    for part in made._parts:
        b.changing(part)
    return made
