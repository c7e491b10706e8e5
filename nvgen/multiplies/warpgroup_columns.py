"""D of a warpgroup in tensor memory: what `warpgroup_tile` makes for targets that have it.

Layer: nvgen.multiplies.  It has the operations of a D in registers: what it holds is loaded, and
assigned by a store; an A in registers is stored as A.  One thread of the warpgroup multiplies, when
all its warps have arrived, and a commit tells them when that is complete.  PTX ISA, tcgen05.mma;
tcgen05.ld; tcgen05.st; tcgen05.commit; tcgen05.fence.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from intrinsics.element import ElementType
from intrinsics.limits import FEWEST_COLUMNS, WARPGROUP_WARPS
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import Requirement, check, described, function_of, refuse
from nvgen.fragments.fragment import Fragment, element_of_a
from nvgen.instructions.roles import WARPGROUP, ExecutionScope, check_scope
from nvgen.multiplies.accumulators import HeldAccumulator, Multiply, no_option, one_kernel
from nvgen.multiplies.tensor_accumulator import TensorTile
from nvgen.multiplies.tensor_memory import Commits, columns_known_later
from nvgen.multiplies.tensor_tiles import OperandTile, by_warpgroup
from nvgen.shared_memory.protocols import Protocols
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer

_ROWS = (64, 128)
_PART = 32
_SECTION = TensorTile.instruction
_MADE = "D in tensor memory is made by all threads"

REQUIREMENTS: tuple[Requirement[Multiply], ...] = (
    one_kernel(_SECTION),
    Requirement("scope", "D of a warpgroup is multiplied by all its threads",
        lambda r: by_warpgroup(r.builder), "{r.builder.scope.value}, of {r.builder.threads}",
        "inside `b.if_warpgroup(…)`, or all threads of a CTA of 128", _SECTION),
    no_option("an option of tcgen05.mma that not every target has", _SECTION),
)  # fmt: skip
"""What is asked before the multiply into tensor memory asks for more."""


def _corner(first: int) -> tuple[int, int]:
    """Where columns from the first one on begin."""
    return 0, first


class WarpgroupMemory:
    """Columns of tensor memory for each whole warpgroup of the CTA.

    They are allocated at once, when it is made; how many is known when the kernel is finished.
    """

    def __init__(self, builder: Protocols) -> None:
        check_scope(builder, _MADE, ExecutionScope.CTA)
        self.builder, self.groups, self._count = builder, builder.threads // WARPGROUP, 0
        if not self.groups:
            got = f"{builder.threads} threads"
            raise refuse("D is of a warpgroup", got=got, expected=f"{WARPGROUP} or more")
        self.group: Int | None = builder.warpgroup if self.groups > 1 else None
        self._memory, self._tell = columns_known_later(builder, "warpgroup_columns")

    def tile(self, m: int, n: int, dtype: ElementType) -> WarpgroupColumns:
        """D in columns of its own.

        Raises: InputError where there is no such D, and where not all threads of the CTA make it.
        """
        check_scope(self.builder, _MADE, ExecutionScope.CTA)
        if m not in _ROWS or dtype not in (ElementType.F32, ElementType.S32):
            got = f"{described(m)}x{described(n)} of {dtype.value}"
            what = "no such tile of a warpgroup in tensor memory"
            raise refuse(what, got=got, expected="64 or 128 rows of f32")
        self._count += 1
        return WarpgroupColumns(self, f"sums_{self._count}", m, n, dtype)

    def reserve(self, columns: int) -> int:
        """The first of the next free columns, as many for each warpgroup."""
        return self._memory.reserve(columns * self.groups)

    def at(self, first: int, columns: int) -> Pointer:
        """The address of this warpgroup's columns, of those from the first on."""
        found = self._memory.at(first)
        return found if self.group is None else found + self.group * columns

    def free(self) -> None:
        """Free them, by warp 0; now their number is known."""
        needed = 1 << (self._memory.used - 1).bit_length()
        self._tell(max(needed, FEWEST_COLUMNS))
        self._memory.free()


@guarded
class WarpgroupColumns(HeldAccumulator):
    """D of a warpgroup in tensor memory: `m` rows, 64 or 128, by `n` columns of `dtype`.

    Each whole warpgroup of the CTA has one of its own, which begins as zeros.  All threads of the
    warpgroup multiply into it, with A in shared memory, or a fragment, which is stored to tensor
    memory.  A multiply first waits for the one before it into the same D; `d.wait()` waits for the
    last one, before what D holds is used.  Each use of that loads it: `x = d.fragment` keeps it.
    """

    instruction: ClassVar[str] = _SECTION
    of_a: ClassVar[tuple[type, ...]] = (SharedTile, Fragment)
    expected_a: ClassVar[str] = "shared_tile(…), or a matrix in registers: p.to(bf16)"

    def __init__(
        self, memory: WarpgroupMemory, name: str, m: int, n: int, dtype: ElementType
    ) -> None:
        self.m, self.n, self.dtype, self._memory = m, n, dtype, memory
        b = memory.builder
        ready, done = (b.mbarriers(f"{name}_{what}", memory.groups) for what in ("ready", "done"))
        b.make_mbarriers((ready, WARPGROUP_WARPS), (done, 1))
        group = 0 if memory.group is None else memory.group
        self._ready, complete = ready[group], done[group]
        self.tile = TensorTile(memory.at(memory.reserve(n), n), m, n, dtype, n)
        self._operands: dict[int, int] = {}  # where those of so many columns begin
        self._commits = Commits(b, complete)
        with b.if_warpgroup(0, memory.groups):
            self.set(0)

    def __repr__(self) -> str:
        return f"<D of a warpgroup: {self.dtype.value}; {self.tile}>"

    @property
    def builder(self) -> Protocols:
        """The kernel that it is of."""
        return self._memory.builder

    @property
    def fragment(self) -> Fragment:
        """What it holds, loaded; all threads of the warpgroup execute it."""
        return self.tile.load()

    @property
    def layout_only(self) -> Fragment:
        """A fragment of the same layout; nothing is loaded."""
        return self.tile.layout_only

    def set(self, value: object) -> None:
        """Store a fragment of the same layout and type, or one number for all elements, and wait
        for the store.

        Raises: InputError for anything else.
        """
        like = self.layout_only
        self.tile.take_fragment(like.like(like.taken(value)), 0)

    def apply(self, function: Callable[[Fragment], Fragment]) -> None:
        """As in registers, with as many columns at once as leave a thread its other registers."""
        made = function_of(function, "part")
        for first in range(0, self.n, _PART):
            part = self.tile.load(first, min(_PART, self.n - first))
            of_part = replace(part.holders, first=functools.partial(_corner, first), across=True)
            self.tile.take_fragment(made(replace(part, holders=of_part)), first)

    def start(self, asked: Multiply) -> None:
        """Start a multiply, and commit it; all threads of the warpgroup execute it."""
        check("gemm_async", REQUIREMENTS, asked)
        b, a = self.builder, asked.a
        self.wait()
        left = self._stored(a) if isinstance(a, Fragment) else a
        b.tcgen05_fence_before_thread_sync()
        b.bar_warp_sync()
        with b.elect():
            b.mbarrier_arrive(self._ready)
        first = 0 if self._memory.group is None else self._memory.group * WARPGROUP_WARPS
        with b.if_warp(first):
            b.wait(self._ready, self._commits.parity.value)
            b.tcgen05_fence_after_thread_sync()
            with b.elect():
                self.tile.multiply(left, asked.b, accumulate=asked.accumulate, step=asked.step)
                self._commits.commit()
        self._commits.count()

    def _stored(self, fragment: Fragment) -> OperandTile:
        """A fragment as A in tensor memory, in columns that the next such A takes, too."""
        element = element_of_a(fragment.vector)
        layout = fragment.layout
        if element is None or layout.rows != self.m or element.bits > 16:
            expected, hint = f"{self.m} rows of f16 or bf16", "p.to(bf16)"
            raise refuse("no A of a multiply", got=fragment.words, expected=expected, hint=hint)
        columns = layout.columns * element.bits // 32
        if columns not in self._operands:
            self._operands[columns] = self._memory.reserve(columns)
        pointer = self._memory.at(self._operands[columns], columns)
        tile = OperandTile(pointer, self.m, layout.columns, element)
        tile.take_fragment(fragment, 0)
        return tile

    def commit(self) -> None:
        """Nothing: each multiply is committed by the thread that started it."""

    def wait(self, in_flight: int = 0) -> None:
        """Wait for the last multiply into this D, whatever else is `in_flight`."""
        self._commits.wait()
