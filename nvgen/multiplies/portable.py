"""Accumulators of a whole CTA, which each target keeps where its multiplies write them.

Layer: nvgen.multiplies.  One body of a kernel multiplies by tcgen05.mma into tensor memory, by
wgmma.mma_async into the registers of warpgroups, or by mma.sync into those of warps; what has to be
allocated, committed, waited for and fenced is hidden here.  What one target's instruction requires
of its tiles is checked beyond what all require.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, assert_never

from intrinsics.element import ElementType
from intrinsics.layouts.fragments_wgmma import ROWS as WARPGROUP_ROWS
from intrinsics.layouts.register_layout import warp_grids
from intrinsics.limits import COLUMNS, FEWEST_COLUMNS
from intrinsics.modifiers import LdStNum
from intrinsics.multiplies.element_families import targets_for
from intrinsics.multiplies.register_atom import AtomTarget, machine_of
from intrinsics.targets import spell
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import Requirement, check, refuse
from nvgen.fragments.fragment import Fragment
from nvgen.fragments.layouts import Holders
from nvgen.instructions.roles import WARP, WARPGROUP, ExecutionScope, check_scope
from nvgen.multiplies.accumulators import AccumulatorTile, Multiply, no_option
from nvgen.multiplies.tensor_accumulator import TensorTile
from nvgen.multiplies.tensor_memory import Commits, tensor_memory
from nvgen.multiplies.tensor_tiles import access_of, in_pieces, lanes_layout, lanes_of_warp
from nvgen.multiplies.warp_tile import FRAGMENT_COLUMNS, FRAGMENT_ROWS, WarpTile, warp_tile
from nvgen.multiplies.warpgroup_tile import WarpgroupTile, warpgroup_tile
from nvgen.shared_memory.protocols import Protocols
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import IntLike
from nvgen.values.pointers import Pointer

E = ElementType
HALVES = (E.F16, E.BF16)


# ---- what they require ---------------------------------------------------------------------------

_SECTION = "tcgen05.mma; wgmma.mma_async; mma"

OF_PORTABLE: tuple[Requirement[Multiply], ...] = (
    Requirement("kernel", "a tile belongs to another kernel", lambda r: r.d.builder is r.builder,
        "D of another KernelBuilder", "tiles of the builder that multiplies them", _SECTION),
    Requirement("scope", "tiles are multiplied by all threads of the CTA",
        lambda r: r.builder.scope is ExecutionScope.CTA, "{r.builder.scope.value}",
        ExecutionScope.CTA.value, _SECTION),
    no_option("an option of tcgen05.mma that not every target has", _SECTION),
)  # fmt: skip
"""What is asked before the target's own multiply asks for more."""


# ---- D of the CTA --------------------------------------------------------------------------------


@guarded
class PortableAccumulator(AccumulatorTile):
    """D = A·Bᵀ of a whole CTA: `m` rows by `n` columns of `dtype`.

    All threads of the CTA multiply into it, with A in shared memory and no other option than
    `accumulate` and `step`; `d.commit()` and `d.wait()` follow.
    """

    instruction: ClassVar[str] = _SECTION
    of_a: ClassVar[tuple[type, ...]] = (SharedTile,)
    expected_a: ClassVar[str] = "a tile in shared memory: shared_tile(…)"

    tile: AccumulatorTile
    """What the target's multiplies write."""

    def __init__(self, builder: Protocols, m: int, n: int, dtype: ElementType) -> None:
        self._builder = builder
        self.m, self.n, self.dtype = m, n, dtype

    def __repr__(self) -> str:
        return f"<D of the CTA: {self.m}x{self.n} of {self.dtype.value}; {self.tile}>"

    @property
    def builder(self) -> Protocols:
        """The kernel that it is of."""
        return self._builder

    def start(self, asked: Multiply) -> None:
        """Start a multiply; all threads of the CTA execute it."""
        check("gemm_async", OF_PORTABLE, asked)
        assert isinstance(asked.a, SharedTile)
        self.start_on_target(asked.a, asked)

    @abstractmethod
    def start_on_target(self, a: SharedTile, asked: Multiply) -> None:
        """Start D = A·Bᵀ, or add to what is in D, as the target does."""

    def commit(self) -> None:
        """Commit the multiplies that were started, for the next wait."""

    def wait(self, in_flight: int = 0) -> None:
        """Wait for all committed multiplies, in a warpgroup's registers for all but the last
        `in_flight`: then D may be stored and, after a barrier of the CTA
        (`load_wait` has one), what the multiplies read may be overwritten.
        """

    def store(self, target: Pointer, pitch: IntLike, dtype: ElementType = ElementType.F32) -> None:
        """Store D row by row, as f32 or rounded to f16 or bf16, sums of integers as i32.

        `target` is the address of its first element, `pitch` the elements from one row to the next.
        Rows begin at multiples of 16 bytes, the last one less than 4 GiB after the first.
        Multiplies may change D again after a barrier of the CTA.

        Raises: InputError for a type that D cannot be stored as.
        """
        possible = (self.dtype, *HALVES) if self.dtype is E.F32 else (self.dtype,)
        if dtype not in possible:
            expected = " or ".join(t.value for t in possible)
            raise refuse(
                f"sums in {self.dtype.value} are not stored so", got=dtype.value, expected=expected
            )
        numbers = target.of(dtype)
        for fragment, row, column in self.fragments():
            corner = numbers.at(row * pitch + column)
            fragment.to(dtype).store(corner, pitch, align=_ROW_ALIGN)

    @abstractmethod
    def fragments(self) -> Iterator[tuple[Fragment, IntLike, IntLike]]:
        """The thread's fragments of D, each with its first row and column."""

    def free(self) -> None:
        """Free what was allocated, once all threads have finished with it."""


_ROW_ALIGN = 16
"""Bytes of whose multiples rows of what D is stored to begin at."""

_ROWS = 128
_HALF = 64
_WIDTHS = (32, 16, 8)


@guarded
class TensorAccumulator(PortableAccumulator):
    """M = 64, or blocks of 128 rows, each in columns of its own."""

    tile: TensorTile

    def __init__(self, builder: Protocols, name: str, m: int, n: int) -> None:
        super().__init__(builder, m, n, ElementType.F32)
        self._groups = builder.threads // WARPGROUP
        tiles = max(m // _ROWS, 1)
        columns = max(FEWEST_COLUMNS, 1 << (tiles * n - 1).bit_length())
        whole = m == _HALF or m % _ROWS == 0
        if m <= 0 or n <= 0 or not whole or columns > COLUMNS or builder.threads % WARPGROUP:
            raise refuse(
                "no such accumulator in tensor memory", got=f"{m}x{n}, {builder.threads} threads",
                expected=f"{_HALF} or a multiple of {_ROWS} rows, {COLUMNS} columns for every "
                f"{_ROWS} rows together, whole warpgroups",
            )  # fmt: skip
        if n % (8 * self._groups):
            got = f"{n} columns, {self._groups} warpgroups"
            expected = f"a multiple of {8 * self._groups} columns"
            raise refuse("columns that the warpgroups cannot share", got=got, expected=expected)
        done = builder.mbarrier(f"{name}_multiplied")
        with builder.if_thread(0):
            builder.mbarrier_init(done, 1)
            builder.fence_mbarrier_init_release_cluster()
        self._memory = tensor_memory(builder, f"{name}_columns", columns)
        self.tile = self._memory.tile(m, n)
        self._commits = Commits(builder, done)

    def start_on_target(self, a: SharedTile, asked: Multiply) -> None:
        """Issue tcgen05.mma from one thread of warp 0."""
        builder = self.builder
        with builder.if_warp(0), builder.elect():
            builder.tcgen05_fence_after_thread_sync()
            self.tile.multiply(a, asked.b, accumulate=asked.accumulate, step=asked.step)

    def commit(self) -> None:
        """Committed by the thread that multiplied: the same one is elected again."""
        builder = self.builder
        with builder.if_warp(0), builder.elect():
            self._commits.commit()
        self._commits.count()

    def wait(self, in_flight: int = 0) -> None:
        """For the latest commit."""
        self._commits.wait()

    def fragments(self) -> Iterator[tuple[Fragment, IntLike, IntLike]]:
        """Each warp reads the lanes of its number modulo 4, warpgroups their share of columns.

        Of M = 64 only sixteen lanes of a warp's 32 are written, as in a warpgroup's registers.
        """
        b, share, access = self.builder, self.n // self._groups, access_of(self.m)
        first: IntLike = b.warpgroup * share if self._groups > 1 else 0
        lanes = lanes_of_warp(b, self.tile.pointer)
        for number in range(max(self.m // _ROWS, 1)):
            for place, width in in_pieces(share, _WIDTHS):
                num = LdStNum(f"x{width // access.columns}")
                columns = lanes + (first + (place + number * self.n))
                values = b.tcgen05_ld(columns, shape=access.shape, num=num).f32
                b.tcgen05_wait_ld()
                part = Fragment(values, Holders(b, lanes_layout(self.m, width)))
                yield part, number * _ROWS, first + place
        b.tcgen05_fence_before_thread_sync()

    def free(self) -> None:
        """The columns, by warp 0."""
        self._memory.free()


@guarded
class WarpgroupAccumulator(PortableAccumulator):
    """D in the registers of warpgroups (wgmma): each has 64 rows, or a multiple of them."""

    tile: WarpgroupTile

    def __init__(self, builder: Protocols, m: int, n: int, dtype: ElementType) -> None:
        super().__init__(builder, m, n, dtype)
        groups = builder.threads // WARPGROUP
        if builder.threads % WARPGROUP or m <= 0 or m % (WARPGROUP_ROWS * groups):
            raise refuse(
                "no such accumulator in the registers of warpgroups",
                got=f"{m} rows, {builder.threads} threads",
                expected=f"{WARPGROUP_ROWS} rows, or a multiple of them, for every {WARPGROUP} "
                "threads",
            )
        self._rows = m // groups
        self._first: IntLike = builder.warpgroup * self._rows if groups > 1 else 0
        self.tile = warpgroup_tile(builder, self._rows, n, dtype)

    def start_on_target(self, a: SharedTile, asked: Multiply) -> None:
        """Issue wgmma from each warpgroup, for its rows of A."""
        part = a if self._rows == self.m else a.part(self._first, self._rows)
        self.builder.wgmma_fence()
        self.tile.multiply(part, asked.b, accumulate=asked.accumulate, step=asked.step)

    def commit(self) -> None:
        """Close a group of multiplies."""
        self.builder.wgmma_commit_group()

    def wait(self, in_flight: int = 0) -> None:
        """Wait until at most so many groups still run."""
        self.builder.wgmma_wait_group(in_flight)

    def fragments(self) -> Iterator[tuple[Fragment, IntLike, IntLike]]:
        """The rows of D that a warpgroup holds, and where they begin."""
        yield self.tile.fragment, self._first, 0


@guarded
class WarpAccumulator(PortableAccumulator):
    """D in the registers of warps (mma.sync), in shares as near to squares as there are, which read
    the least of A and B.
    """

    tile: WarpTile

    def __init__(self, builder: Protocols, m: int, n: int, dtype: ElementType) -> None:
        super().__init__(builder, m, n, dtype)
        grids = warp_grids(builder.threads // WARP, m, n)
        if not grids or builder.threads % WARP:
            raise refuse(
                "no such accumulator in the registers of warps",
                got=f"{m}x{n}, {builder.threads} threads",
                expected=f"shares of {FRAGMENT_ROWS}x{FRAGMENT_COLUMNS}, or multiples of them, for "
                f"every {WARP} threads",
            )
        nearest = min(grids, key=lambda grid: m // grid[0] + n // grid[1])
        self.tile = warp_tile(builder, m, n, dtype, warps=nearest)

    def start_on_target(self, a: SharedTile, asked: Multiply) -> None:
        """Issue mma.sync from each warp, for its share of D."""
        self.tile.multiply(a, asked.b, accumulate=asked.accumulate, step=asked.step)

    def fragments(self) -> Iterator[tuple[Fragment, IntLike, IntLike]]:
        """The share of D that a warp holds; its coordinates are those of D."""
        yield self.tile.fragment, 0, 0


def accumulator(
    b: Protocols, number: int, m: int, n: int, dtype: ElementType
) -> PortableAccumulator:
    """D of the whole CTA, where the target's multiplies write it."""
    check_scope(b, "an accumulator is made by all threads of the CTA", ExecutionScope.CTA)
    target, able = b.known_target(), targets_for(E.S8 if dtype is E.S32 else E.F16)
    if dtype not in (E.F32, E.S32):
        what = "sums have a type that only some instructions have"
        raise refuse(what, got=dtype.value, expected="f32 or s32", section=_SECTION)
    if target not in able:
        what = "the target does not multiply tiles into such an accumulator"
        got = f"{target.name}, sums in {dtype.value}"
        raise refuse(what, rule="target", got=got, expected=spell(able), section=_SECTION)
    match machine_of(target):
        case AtomTarget.SM100:
            return TensorAccumulator(b, f"accumulator_{number}", m, n)
        case AtomTarget.SM90:
            return WarpgroupAccumulator(b, m, n, dtype)
        case AtomTarget.SM80 | AtomTarget.SM120:
            return WarpAccumulator(b, m, n, dtype)
        case other:
            assert_never(other)
