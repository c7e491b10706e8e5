"""D in the registers of a warpgroup: wgmma.mma_async, on sm_90a.

Layer: nvgen.multiplies.  Each warp holds 16 of every 64 rows; A is in shared memory, or in
registers.  The nest of steps of K and of rows is unrolled.  PTX ISA, Asynchronous Warpgroup Level
Matrix Instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.element import ElementType, Major
from intrinsics.layouts.fragments_wgmma import A_REGISTERS
from intrinsics.layouts.fragments_wgmma import ROWS as WARPGROUP_ROWS
from intrinsics.layouts.register_layout import FragmentLayout, warpgroup_layout
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.element_families import OF_WARPGROUPS
from intrinsics.multiplies.element_names import MODIFIERS
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import Requirement, check, described, index_of, refuse
from nvgen.fragments.layouts import Holders, RegisterTile
from nvgen.instructions.mma_rows import Accumulator, wgmma_accumulator, wgmma_descriptor
from nvgen.instructions.roles import WARPGROUP, ExecutionScope
from nvgen.multiplies.accumulators import Multiply, RegisterAccumulator
from nvgen.multiplies.register_multiplies import REQUIREMENTS, RegisterMultiply, RegisterRequest
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int
from nvgen.values.pointers import advanced
from nvgen.values.vectors import Vector

E = ElementType
T = ScalarType

_GROUP_SUMS = {E.F32: T.F32, E.F16: T.F16, E.S32: T.S32}


# ---- what it requires ----------------------------------------------------------------------------


def _whole_warpgroups(r: RegisterRequest) -> bool:
    if r.builder.scope is ExecutionScope.CTA:
        return r.builder.threads % WARPGROUP == 0
    return r.builder.scope is ExecutionScope.WARPGROUP


_GROUP = "Asynchronous Warpgroup Level Matrix"

BY_A_WARPGROUP = RegisterMultiply(
    "warpgroup", "wgmma.mma_async", WARPGROUP_ROWS, OF_WARPGROUPS, _whole_warpgroups,
    "in registers is issued by all threads of a warpgroup",
    lambda r: "inside `b.if_warpgroup(…)`, or all threads of whole warpgroups",
    "the target has no multiplies of a warpgroup", f"{_GROUP} Instructions, Matrix Shape",
    f"{_GROUP} Instructions, Matrix Data-types", f"{_GROUP} Shared Memory Layout", ("metadata",),
)  # fmt: skip


def _words(r: RegisterRequest) -> int:
    return r.m // WARPGROUP_ROWS * r.steps


WARPGROUP_REQUIREMENTS: tuple[Requirement[RegisterRequest], ...] = (
    *REQUIREMENTS,
    Requirement("metadata", "a sparse A has a register of metadata for each 64 rows and step of K",
        lambda r: r.options.metadata is None
        or (r.metadata is not None and r.metadata.count == _words(r)),
        lambda r: described(r.options.metadata), lambda r: f"a Vector of {_words(r)} words",
        "{r.by.op}"),
)  # fmt: skip
"""Everything that a warpgroup's multiply requires."""


# ---- D -------------------------------------------------------------------------------------------


@guarded
class WarpgroupTile(RegisterAccumulator):
    """D in the registers of a warpgroup: `m` rows by `n` columns of `dtype`, `parts` of 64 rows
    each.

    It keeps its value across branches and loops.  Its registers are valid after a wait for the
    group of multiplies that last wrote them.

    All threads of the warpgroup multiply into it, with A in shared memory or in their registers.
    Of a 2:4 sparse A, M × K/2, `metadata` are the thread's words, one for each 64 rows and in these
    for each step of K, in which indices lie as
    `intrinsics.layouts.fragments_wgmma.metadata_fragment` says; no other option is allowed.  A
    `wgmma_fence` goes before the first multiply, and before any whose registers other instructions
    have written; `b.gemm` is the whole protocol.
    """

    instruction: ClassVar[str] = BY_A_WARPGROUP.op
    expected_a: ClassVar[str] = "shared_tile(…), warpgroup_operand(…) or a matrix: s.to(bf16)"

    def __init__(self, parts: tuple[Accumulator, ...], m: int, n: int, dtype: ElementType) -> None:
        self.parts, self.m, self.n, self.dtype = parts, m, n, dtype

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

    def commit(self) -> None:
        """Close the group of the multiplies that were started."""
        self.builder.wgmma_commit_group()

    def wait(self, in_flight: int = 0) -> None:
        """Wait until at most `in_flight` groups still run, those that were closed last: as many as
        were closed after the last one that writes this D.
        """
        self.builder.wgmma_wait_group(in_flight)

    def start(self, asked: Multiply) -> None:
        """By all threads of the warpgroup: steps of K, and in each the parts of 64 rows."""
        request = RegisterRequest.of(asked, BY_A_WARPGROUP)
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
    rows = index_of(m) or 0
    if rows < WARPGROUP_ROWS or rows % WARPGROUP_ROWS or dtype not in _GROUP_SUMS:
        got = f"{described(m)}x{described(n)} of {dtype.value}"
        expected = f"a multiple of {WARPGROUP_ROWS} rows of f32, f16 or s32"
        raise refuse("no such tile in the registers of a warpgroup", got=got, expected=expected)
    parts = tuple(wgmma_accumulator(b, n, _GROUP_SUMS[dtype]) for _ in range(m // WARPGROUP_ROWS))
    return WarpgroupTile(parts, m, n, dtype)


def warpgroup_operand(fragments: Sequence[Sequence[Vector]], dtype: ElementType) -> RegisterTile:
    """A in registers: four 32-bit registers for each 64 rows and each step of K.

    Raises: InputError when some are missing.
    """
    try:
        found = tuple(tuple(steps) for steps in fragments)
    except TypeError:
        expected = "[[a Vector of four for each step of K] for each 64 rows]"
        raise refuse("no registers of A", got=described(fragments), expected=expected) from None
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
