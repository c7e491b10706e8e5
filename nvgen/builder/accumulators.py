"""D of a multiply: one interface for accumulators in registers, warpgroups and tensor memory.

Layer: nvgen.builder.  Each kind says which instruction multiplies into it, and where that has A;
the elements in registers are a fragment.  PTX ISA, tcgen05.mma; Warp Level Matrix Instructions;
Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Concatenate, ParamSpec, TypeVar

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.lazy_dataclass import dataclass
from nvgen.builder.fragment_layouts import Holders, RegisterTile
from nvgen.builder.fragments import Fragment
from nvgen.builder.llvm_ext import vector_value
from nvgen.builder.number_types import element_of, llvm_type_of, scalar_type
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.regions import Changing, Host
from nvgen.builder.shared_memory import SharedMemory
from nvgen.builder.tensor_requests import TensorOptions
from nvgen.builder.tensor_tiles import LeftTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.vectors import Vector, mask_of, shuffled
from nvgen.calling.callers import place_of_caller
from nvgen.calling.guards import guarded

USUAL = TensorOptions()
"""The default options."""


@dataclass(frozen=True, slots=True)
class Multiply:
    """One call of `gemm_async`, by a kernel that may be another one than the tiles'."""

    builder: SharedMemory
    d: AccumulatorTile
    a: LeftTile | RegisterTile
    b: SharedTile
    accumulate: bool | Int = False
    step: IntLike | None = None
    options: TensorOptions = USUAL

    def chosen(self, count: int) -> Sequence[IntLike]:
        """The steps of K that are multiplied, of `count`."""
        return range(count) if self.step is None else (self.step,)


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
        a: LeftTile | RegisterTile,
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
    findings = []
    if not isinstance(d, AccumulatorTile):
        wanted = "accumulator(…), warpgroup_tile(…), warp_tile(…) or tile(…)"
        findings.append(_finding("D", d, wanted, "tcgen05.mma"))
    elif not isinstance(a, d.of_a):
        findings.append(_finding("A", a, d.expected_a, d.instruction))
    if not isinstance(b, SharedTile):
        instruction = d.instruction if isinstance(d, AccumulatorTile) else "tcgen05.mma"
        findings.append(_finding("B", b, "a tile in shared memory: shared_tile(…)", instruction))
    if findings:
        raise InputError(findings)


def _finding(name: str, tile: object, expected: str, instruction: str) -> Finding:
    return Finding(
        "gemm_async/tile",
        Severity.ERROR,
        f"{name} is no such tile",
        place_of_caller(),
        op="gemm_async",
        got=type(tile).__name__,
        expected=expected,
        section=f"PTX ISA, {instruction}",
    )


# ---- in registers ------------------------------------------------------------------------------

P = ParamSpec("P")
R = TypeVar("R")


def _held(
    method: Callable[Concatenate[Fragment, P], R],
) -> Callable[Concatenate[HeldFragment, P], R]:
    """A method of the fragment that an accumulator holds."""

    @functools.wraps(method)
    def call(self: HeldFragment, /, *args: P.args, **named: P.kwargs) -> R:
        return method(self.fragment, *args, **named)

    return call


@guarded
class HeldFragment(ABC):
    """An accumulator with the operations of the `fragment` that it holds.

    With wgmma the fragment is valid after a wait for the multiplies that wrote it.
    """

    __slots__ = ()

    dtype: ElementType

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

    __add__, __sub__ = _held(Fragment.__add__), _held(Fragment.__sub__)
    __mul__, __truediv__ = _held(Fragment.__mul__), _held(Fragment.__truediv__)
    __neg__, map, to = _held(Fragment.__neg__), _held(Fragment.map), _held(Fragment.to)
    coordinates, where = _held(Fragment.coordinates), _held(Fragment.where)
    map_at, scale_rows = _held(Fragment.map_at), _held(Fragment.scale_rows)
    row_reduce, rows = _held(Fragment.row_reduce), _held(Fragment.rows)
    columns = _held(Fragment.columns)
    row_max, row_sum = _held(Fragment.row_max), _held(Fragment.row_sum)
    as_a_operand, as_tile = _held(Fragment.as_a_operand), _held(Fragment.as_tile)
    as_bytes = _held(Fragment.as_bytes)
    store = _held(Fragment.store)


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
