"""D of a multiply: one interface for accumulators in registers, warpgroups and tensor memory.

Layer: nvgen.multiplies.  Each kind says which instruction multiplies into it, and where that has A;
the elements in registers are a fragment.  PTX ISA, tcgen05.mma; Warp Level Matrix Instructions;
Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar, TypeVar

from llvmlite import ir

from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup
from nvgen.calling.guards import guard, guarded
from nvgen.calling.refusals import (
    OF_MATRICES,
    Named,
    Requirement,
    found_wrong,
    function_of,
)
from nvgen.fragments.fragment import Fragment
from nvgen.fragments.layouts import Holders, RegisterTile
from nvgen.instructions.roles import ExecutionScope
from nvgen.llvm.ir_text import vector_value
from nvgen.multiplies.tensor_tiles import LeftTile, ScaleTile, SparseTile
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.number_types import Several, element_of, llvm_type_of, scalar_type
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Pointer
from nvgen.values.regions import Changing, Host
from nvgen.values.vectors import Vector, mask_of, shuffled

LaneMask = Vector | Sequence[IntLike]
"""Lanes that are not written, 32 in a word: four words, of a CTA pair four for each CTA."""

SHIFTS = (0, 8, 16, 32)
"""How many more columns than N a collector may keep, by their code in the descriptor."""


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """Options of a multiply into tensor memory.

    M beyond 128 rows of a CTA is split into blocks of 128, which follow one another in D, N columns
    each.  N beyond 256 is split into 256; in a CTA pair the first half of each 256 columns are rows
    of the even CTA's B, the other half rows of the odd CTA's.
    """

    cta_group: CtaGroup = CtaGroup.ONE
    """2: a CTA of the pair holds half of A's rows, and of B's, and of D's where M is 256; a thread
    of the even CTA issues for both."""

    metadata: Pointer | Vector | None = None
    """Which halves of its chunks a sparse A stores that lies in shared memory: in tensor memory,
    from an even column on (a `SparseTile` has its own), or in registers of a warpgroup."""

    sfa: ScaleTile | None = None
    """Scale factors for A's rows in this CTA; of a sparse A one is for `size` elements with their
    zeros."""

    sfb: ScaleTile | None = None
    """Scale factors for all N, which each CTA of a pair holds; for M = 128 of a pair in 2 parts."""

    stationary: bool = False
    """tcgen05.mma.ws."""

    collector: CollectorWs = CollectorWs.B0_DISCARD
    """Keeps B, or uses what it has kept; stationary."""

    zero_mask: ZeroColumnMask | None = None
    """Which columns of B count as zero, and by how many columns B is shifted; stationary."""

    max_shift: int | None = None
    """How many more columns than N a collector keeps: 0, 8, 16 or 32, no fewer than the shift."""

    collector_a: CollectorA = CollectorA.DISCARD
    """What a call of one instruction does with A's collector."""

    reuse_a: bool = False
    """Keep each piece of A in its collector while the pieces of N are multiplied by it."""

    ashift: bool = False
    """Shift the rows of an A in tensor memory by one."""

    negate_a: bool = False
    negate_b: bool = False
    scale_d: int | None = None
    """D is divided by 2 to this power before the first step adds to it: 0 to 15."""

    lane_mask: LaneMask | None = None
    """A bit for each lane, of every block of D, that is not written."""

    k96: bool = False
    """Multiply 96 elements of K at once: 4-bit kinds, a pair with M = 256, sm_103a."""

    def given(self) -> tuple[str, ...]:
        """The names of the options that differ from their defaults."""
        usual = TensorOptions()
        names = (field.name for field in fields(self))
        return tuple(name for name in names if getattr(self, name) != getattr(usual, name))

    @property
    def group(self) -> int:
        """CTAs that multiply together."""
        return 2 if self.cta_group is CtaGroup.TWO else 1

    @property
    def holds_b(self) -> bool:
        """Whether a collector keeps B, or is thought to have it."""
        return not self.collector.name.endswith("DISCARD")

    @property
    def masked(self) -> bool:
        """Whether columns of B count as zero, or are shifted."""
        return self.zero_mask is not None or bool(self.max_shift)

    @property
    def shift(self) -> int:
        """The number of columns that B is shifted by."""
        return self.zero_mask.shift if self.zero_mask else 0

    @property
    def most_shifted(self) -> int:
        """How many more columns than N a collector keeps: the least sufficient number where none is
        given, and the shift itself where none is sufficient.
        """
        if self.max_shift is not None:
            return self.max_shift
        return next((most for most in SHIFTS if self.shift <= most), self.shift)


USUAL = TensorOptions()
"""The default options."""


Request = TypeVar("Request", bound="Multiply")


@dataclass(frozen=True, slots=True)
class Multiply:
    """One call of `gemm_async`, by a kernel that may be another one than the tiles'."""

    builder: SharedMemory
    d: AccumulatorTile
    a: LeftTile | RegisterTile | Fragment
    b: SharedTile
    accumulate: bool | Int = False
    step: IntLike | None = None
    options: TensorOptions = USUAL

    def chosen(self, count: int) -> Sequence[IntLike]:
        """The steps of K that are multiplied, of `count`."""
        return range(count) if self.step is None else (self.step,)

    def asked_of(self, request: Callable[..., Request], **more: object) -> Request:
        """The call as a kind of multiply sees it, with what only that kind has."""
        return request(*(getattr(self, field.name) for field in fields(Multiply)), **more)

    @property
    def scope(self) -> ExecutionScope:
        """The threads that issue it."""
        return self.builder.scope

    @property
    def shared(self) -> tuple[SharedTile, ...]:
        """The matrices that lie in shared memory."""
        return (self.a, self.b) if isinstance(self.a, SharedTile) else (self.b,)

    @property
    def needless(self) -> list[str]:
        """Options that are given and that a multiply into registers does not have."""
        return list(self.options.given())

    @property
    def strangers(self) -> list[str]:
        """Which of the matrices and scale factors belong to another kernel."""
        factors = {"sfa": self.options.sfa, "sfb": self.options.sfb}
        tiles = {"D": self.d, "A": self.a, "B": self.b, **factors}
        owners = {name: _owner(tile) for name, tile in tiles.items() if tile is not None}
        return [name for name, owner in owners.items() if owner is not self.builder]


def one_kernel(section: str, hint: str = "") -> Requirement[Multiply]:
    """The requirement that the matrices are of the kernel that multiplies them."""
    return Requirement(
        "kernel", "a tile belongs to another kernel", lambda r: not r.strangers,
        lambda r: f"{' and '.join(r.strangers)} of another KernelBuilder",
        "tiles of the builder that multiplies them", section, hint,
    )  # fmt: skip


def no_option(text: str, section: str) -> Requirement[Multiply]:
    """The requirement that no option is given that another kind of multiply has."""
    return Requirement(
        "option", text, lambda r: not r.needless, lambda r: ", ".join(r.needless),
        "accumulate and step", section,
    )  # fmt: skip


def _owner(tile: AccumulatorTile | LeftTile | RegisterTile | Fragment | ScaleTile) -> Host:
    """The kernel that a matrix is of."""
    if isinstance(tile, AccumulatorTile | RegisterTile | Fragment):
        return tile.builder
    return (tile.values if isinstance(tile, SparseTile) else tile.pointer).builder


@guarded
class AccumulatorTile(ABC):
    """D = A·Bᵀ, `m` rows by `n` columns of `dtype`."""

    __slots__ = ()

    instruction: ClassVar[str]
    of_a: ClassVar[tuple[type, ...]]
    expected_a: ClassVar[str]

    m: int
    n: int
    dtype: ElementType

    @property
    @abstractmethod
    def builder(self) -> SharedMemory:
        """The kernel that it belongs to."""

    @abstractmethod
    def start(self, asked: Multiply) -> None:
        """`multiply`, after A and B have been checked."""

    def multiply(
        self,
        a: LeftTile | RegisterTile | Fragment,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        step: IntLike | None = None,
        options: TensorOptions = USUAL,
    ) -> None:
        """Start D = A·Bᵀ (+ D with `accumulate`), asynchronously; see `gemm_async`.

        `options` are those of tcgen05.mma.

        Raises: InputError when a requirement is not met.
        """
        check_tiles(self, a, b)
        self.start(Multiply(self.builder, self, a, b, accumulate, step, options))


def kernel_of(host: Host) -> SharedMemory:
    """The kernel of a value, with its verbs."""
    assert isinstance(host, SharedMemory)
    return host


def check_tiles(d: object, a: object, b: object) -> None:
    """Check that the matrices are where a multiply has them."""
    known = d if isinstance(d, AccumulatorTile) else None
    wanted = "accumulator(…), warpgroup_tile(…), warp_tile(…) or tile(…)"
    checks = [
        ("D", d, known is not None, wanted),
        ("A", a, not known or isinstance(a, known.of_a), known.expected_a if known else ""),
        ("B", b, isinstance(b, SharedTile), "a tile in shared memory: shared_tile(…)"),
    ]
    section = known.instruction if known else "tcgen05.mma"
    findings = [
        found_wrong(
            "gemm_async", "tile", f"{name} is no such tile", got=type(tile).__name__,
            expected=expected, section=section,
        )
        for name, tile, fits, expected in checks
        if not fits
    ]  # fmt: skip
    if findings:
        raise InputError(findings)


# ---- in registers ------------------------------------------------------------------------------

if TYPE_CHECKING:
    _OfFragment = Fragment  # it has all that a fragment has
else:

    class _OfFragment(Several, Named):
        """What holds a fragment."""


@guarded
class HeldAccumulator(_OfFragment, AccumulatorTile):
    """D with the operations of the `fragment` that it holds."""

    __slots__ = ()

    of_a: ClassVar[tuple[type, ...]] = (SharedTile, RegisterTile, Fragment)

    elsewhere: ClassVar[Mapping[str, str]] = OF_MATRICES

    if not TYPE_CHECKING:  # to a type checker it has the methods themselves

        def __getattr__(self, name: str) -> object:
            if name.startswith("_") or not hasattr(Fragment, name):
                raise self.lacks(name, [*dir(type(self)), *dir(Fragment)])
            return getattr(self.layout_only if name in _OF_LAYOUT else self.fragment, name)

    @property
    @abstractmethod
    def fragment(self) -> Fragment:
        """The current value; if several warps share the accumulator, this warp's part of it."""

    @property
    def layout_only(self) -> Fragment:
        """A fragment of the same layout, for what does not depend on the numbers."""
        return self.fragment

    @abstractmethod
    def set(self, value: object) -> None:
        """Assign a fragment of the same layout and type, or one number to all elements.

        Raises: InputError for anything else.
        """

    def apply(self, function: Callable[[Fragment], Fragment]) -> None:
        """Assign `function` of what it holds, which may get the columns part by part.

        `d.apply(lambda part: part.scale_rows(factors))`: it goes by elements, which keep their
        coordinates, and reduces no rows.
        """
        self.set(function_of(function, "part")(self.fragment))


_OF_LAYOUT = ("columns", "coordinates", "from_memory", "from_tile", "layout", "rows")


@guarded
class RegisterAccumulator(HeldAccumulator):
    """D in registers; with wgmma they are valid after a wait for the multiplies that wrote them."""

    __slots__ = ()

    @property
    def builder(self) -> SharedMemory:
        """The kernel that it is of."""
        return kernel_of(self._parts[0].builder)

    @property
    @abstractmethod
    def _parts(self) -> Sequence[Changing]:
        """Its registers, in the order in which the layout has their elements."""

    @property
    @abstractmethod
    def _holders(self) -> Holders:
        """The threads that hold it."""

    @property
    def fragment(self) -> Fragment:
        """The current value; if several warps share the accumulator, this warp's part of it."""
        holders, parts = self._holders, self._parts
        builder, count = holders.builder, holders.layout.count
        type_ = element_of(scalar_type(self.dtype))
        llvm = ir.VectorType(llvm_type_of(type_), count // len(parts))
        typed = [builder.at_caller().bitcast(part.raw, llvm) for part in parts]
        return Fragment(Vector(builder, _side_by_side(builder, typed), count, type_), holders)

    def set(self, value: object) -> None:
        """Assign a fragment of the same layout and type, or one number to all elements.

        In a warpgroup's registers a `wgmma_fence` goes before the next multiply.

        Raises: InputError for anything else.
        """
        parts, whole = self._parts, self.fragment.taken(value)
        builder, size = self._holders.builder.at_caller(), whole.type.count // len(parts)
        for number, part in enumerate(parts):
            wanted = range(number * size, (number + 1) * size)
            piece = shuffled(builder, whole, wanted) if len(parts) > 1 else whole
            part.raw = builder.bitcast(piece, part.raw.type)


def _of_fragment(name: str) -> Callable[..., object]:
    """An operator of the fragment that an accumulator holds."""

    def operate(self: HeldAccumulator, *others: object) -> object:
        found: object = getattr(self.fragment, name)(*others)
        return found

    return operate


for _name in (
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__rtruediv__", "__neg__", "__pow__", "__abs__", "__lt__", "__le__", "__gt__", "__ge__",
    "__getitem__",
):  # fmt: skip
    setattr(HeldAccumulator, _name, guard(_of_fragment(_name)))


def _side_by_side(builder: SharedMemory, values: Sequence[ir.Value]) -> ir.Value:
    """Vectors of one type, concatenated."""
    if len(values) == 1:
        return values[0]
    type_, at_caller = values[0].type, builder.at_caller()
    if len(values) & len(values) - 1 == 0:
        mask = mask_of(range(2 * type_.count))
        pairs = zip(values[::2], values[1::2], strict=True)
        return _side_by_side(builder, [at_caller.shuffle_vector(a, b, mask) for a, b in pairs])
    places = [ir.Constant(ir.IntType(32), i) for i in range(type_.count)]
    elements = (at_caller.extract_element(value, place) for value in values for place in places)
    return vector_value(at_caller, type_.element, type_.count * len(values), elements)
