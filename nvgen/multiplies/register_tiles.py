"""D in registers: of warps (sm_80 and later, mma.sync), of a warpgroup (sm_90a, wgmma.mma_async).

Layer: nvgen.multiplies.  Both read the same swizzled tiles.  A fragment of a warp is 32 bytes of K,
two chunks of 16, of 16 rows of A or of 8 rows of B; of a warpgroup each warp holds 16 of every 64
rows.  The nest of steps of K and of rows is unrolled.  PTX ISA, ldmatrix; mma; Matrix Fragments for
mma.m16n8k16 and its like; Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from llvmlite import ir

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.element import ElementType, Major
from intrinsics.layouts.fragments_wgmma import A_REGISTERS
from intrinsics.layouts.fragments_wgmma import ROWS as WARPGROUP_ROWS
from intrinsics.layouts.register_layout import (
    FragmentLayout,
    warp_grids,
    warp_layout,
    warpgroup_layout,
)
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from intrinsics.modifiers.matrix import MatrixNum
from intrinsics.multiplies.element_names import MODIFIERS
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import check, described, refuse
from nvgen.fragments.layouts import Holders, RegisterTile
from nvgen.instructions.mma_rows import Accumulator, wgmma_accumulator, wgmma_descriptor
from nvgen.instructions.roles import ExecutionScope
from nvgen.multiplies.accumulators import HeldAccumulator, Multiply
from nvgen.multiplies.register_requirements import (
    BY_A_WARPGROUP,
    BY_WARPS,
    FRAGMENT_ROWS,
    WARP_REQUIREMENTS,
    WARPGROUP_REQUIREMENTS,
    RegisterRequest,
)
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Pointer, advanced
from nvgen.values.vectors import Vector

E = ElementType
T = ScalarType


# ---- warps -------------------------------------------------------------------------------------

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


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class WarpTile(HeldAccumulator):
    """D of `m` rows by `n` columns of `dtype` in the registers of `warps` (rows, columns) warps.

    `parts[i][j]` begins at row 16·i and column 8·j of each warp's part.  It keeps its value across
    branches and loops.
    """

    parts: tuple[tuple[Accumulator, ...], ...]
    m: int
    n: int
    dtype: ElementType
    warps: tuple[int, int]

    instruction: ClassVar[str] = BY_WARPS.op
    expected_a: ClassVar[str] = "shared_tile(…) or sums.as_a_operand()"

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
        """By all threads of the warps; it is complete then."""
        request = asked.asked_of(RegisterRequest, by=BY_WARPS, shares=self.warps)
        check("gemm_async", WARP_REQUIREMENTS, request)
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


# ---- warpgroups --------------------------------------------------------------------------------

_GROUP_SUMS = {E.F32: T.F32, E.F16: T.F16, E.S32: T.S32}


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class WarpgroupTile(HeldAccumulator):
    """D in the registers of a warpgroup: `m` rows by `n` columns of `dtype`, `parts` of 64 rows
    each.

    It keeps its value across branches and loops.  Its registers are valid after a wait for the
    group of multiplies that last wrote them.
    """

    parts: tuple[Accumulator, ...]
    m: int
    n: int
    dtype: ElementType

    instruction: ClassVar[str] = BY_A_WARPGROUP.op
    expected_a: ClassVar[str] = "shared_tile(…), warpgroup_operand(…) or sums.as_a_operand()"

    @property
    def layout(self) -> FragmentLayout:
        """Which elements each thread holds."""
        return warpgroup_layout(self.m, self.n, 16 if self.dtype is ElementType.F16 else 32)

    def __repr__(self) -> str:
        return f"<D of a warpgroup: {self.dtype.value}; layout {self.layout}>"

    @property
    def _parts(self) -> tuple[Accumulator, ...]:
        return self.parts

    @property
    def _holders(self) -> Holders:
        return Holders(self.builder, self.layout)

    def start(self, asked: Multiply) -> None:
        """By all threads of the warpgroup: steps of K, and in each the parts of 64 rows."""
        request = asked.asked_of(RegisterRequest, by=BY_A_WARPGROUP)
        check("gemm_async", WARPGROUP_REQUIREMENTS, request)
        builder, a, b, adds = request.builder, request.a, request.b, request.accumulate
        begins_a = _descriptor(builder, a) if isinstance(a, SharedTile) else None
        begins_b = _descriptor(builder, b)
        trans_a = int(isinstance(a, SharedTile) and a.major is Major.MN)
        trans_b = int(b.major is Major.MN)
        metadata = request.metadata
        for number in asked.chosen(request.steps):
            k = number * request.depth
            at_b = advanced(begins_b, b.offset(k if metadata is None else 2 * k))
            for part, accumulator in enumerate(self.parts):
                at_a: Int | Vector
                if isinstance(a, SharedTile):
                    assert begins_a is not None
                    at_a = advanced(begins_a, a.offset(k, part * WARPGROUP_ROWS))
                else:
                    assert isinstance(number, int)
                    at_a = a.fragments[part][number]
                place = part * request.steps + number if isinstance(number, int) else 0
                builder.wgmma_mma_async(
                    accumulator, at_a, at_b, adds, atype=MODIFIERS[a.dtype],
                    btype=MODIFIERS[b.dtype], trans_a=trans_a, trans_b=trans_b,
                    sp_meta=None if metadata is None else metadata[place],
                )  # fmt: skip
            adds = True


def _descriptor(builder: SharedMemory, tile: SharedTile) -> Int:
    """The wgmma descriptor of a tile in shared memory."""
    layout = tile.descriptor()
    at_zero = WgmmaDescriptor(0, layout.lbo, layout.sbo, layout.swizzle)
    return wgmma_descriptor(builder, tile.pointer, at_zero)


def warpgroup_tile(
    b: SharedMemory, m: int, n: int, dtype: ElementType = ElementType.F32
) -> WarpgroupTile:
    """A zeroed D of `m` rows, a multiple of 64, by `n` columns in a warpgroup's registers.

    Raises: InputError when no wgmma has such a D.
    """
    if m < WARPGROUP_ROWS or m % WARPGROUP_ROWS or dtype not in _GROUP_SUMS:
        got = f"{m}x{n} of {dtype.value}"
        expected = f"a multiple of {WARPGROUP_ROWS} rows of f32, f16 or s32"
        raise refuse("no such tile in the registers of a warpgroup", got=got, expected=expected)
    parts = tuple(wgmma_accumulator(b, n, _GROUP_SUMS[dtype]) for _ in range(m // WARPGROUP_ROWS))
    return WarpgroupTile(parts, m, n, dtype)


def warpgroup_operand(fragments: Sequence[Sequence[Vector]], dtype: ElementType) -> RegisterTile:
    """A in registers: four 32-bit registers for each 64 rows and each step of K.

    Raises: InputError when some are missing.
    """
    found = tuple(tuple(steps) for steps in fragments)
    for vector in (vector for steps in found for vector in steps):
        if not isinstance(vector, Vector):
            raise refuse("no registers of A", got=described(vector), expected="a Vector of four")
    counts = {len(steps) for steps in found}
    widths = {vector.count for steps in found for vector in steps}
    if len(counts) != 1 or widths != {A_REGISTERS}:
        got = f"{len(found)} times {sorted(counts)} steps of {sorted(widths)} registers"
        expected = "for every 64 rows as many steps of K, of four registers each"
        raise refuse("no A in the registers of a warpgroup", got=got, expected=expected)
    return RegisterTile(found, dtype)
