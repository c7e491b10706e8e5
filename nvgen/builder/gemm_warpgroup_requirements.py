"""What gemm_async requires of its matrices where a warpgroup multiplies, as data.

Layer: nvgen.builder.  Input: one call of it.  Output: an error that names everything that does not
hold.  PTX ISA, Asynchronous Warpgroup Level Matrix Instructions: Matrix Shape; Matrix Data-types;
Asynchronous Warpgroup Level Matrix Shared Memory Layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from intrinsics.element import ElementType, Major
from intrinsics.findings import InputError
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.element_names import ELEMENTS
from intrinsics.multiplies.wgmma import INTEGER_WIDTHS, WIDTHS
from intrinsics.multiplies.wgmma_families import B1, HALF
from intrinsics.multiplies.wgmma_families import FAMILIES as FAMILIES_OF_ROWS
from intrinsics.targets import Feature, spell, with_feature
from nvgen.builder.base import BuilderBase
from nvgen.builder.control import Scope
from nvgen.builder.numbers import IntLike
from nvgen.builder.refusals import Requirement, unmet
from nvgen.builder.register_operands import RegisterTile
from nvgen.builder.register_tiles import WARPGROUP, WARPGROUP_ROWS, WarpgroupTile
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile

E, T = ElementType, ScalarType

_TARGETS = with_feature(Feature.HAS_WGMMA)

OperandOfA: TypeAlias = SharedTile | RegisterTile
"""What A of a warpgroup's multiply may be."""

_SHAPE = "Asynchronous Warpgroup Level Matrix Instructions, Matrix Shape"
_TYPES = "Asynchronous Warpgroup Level Matrix Instructions, Matrix Data-types"
_LAYOUT = "Asynchronous Warpgroup Level Matrix Shared Memory Layout"


@dataclass(frozen=True, slots=True)
class WarpgroupFamily:
    """Element types whose products a warpgroup sums, and the types of the sums."""

    types: tuple[ElementType, ...]
    sums: tuple[ElementType, ...]

    def __str__(self) -> str:
        sums = " or ".join(t.value for t in self.sums)
        return f"{' or '.join(t.value for t in self.types)} with sums in {sums}"


def _families() -> Iterator[WarpgroupFamily]:
    elements = {type_.value: type_ for type_ in ElementType}
    for family in FAMILIES_OF_ROWS:
        sums = tuple(elements[d.value] for d in reversed(family.d))
        if family is HALF:
            yield WarpgroupFamily((E.F16,), sums)
            yield WarpgroupFamily((E.BF16,), (E.F32,))
        elif family is not B1:
            yield WarpgroupFamily(tuple(ELEMENTS[a] for a in family.a), sums)


FAMILIES = tuple(_families())
"""What may be multiplied: A and B of one family, whose types may be mixed."""


@dataclass(frozen=True, slots=True)
class WarpgroupRequest:
    """One call of gemm_async whose D lies in a warpgroup's registers.

    `others` names the options of the call that are tcgen05.mma's.
    """

    builder: BuilderBase
    scope: Scope
    threads: int
    d: WarpgroupTile
    a: OperandOfA
    b: SharedTile
    step: IntLike | None = None
    others: tuple[str, ...] = ()

    @property
    def family(self) -> WarpgroupFamily | None:
        """What multiplies A by B; None where nothing does."""
        types = {self.a.dtype, self.b.dtype}
        return next((f for f in FAMILIES if types <= set(f.types)), None)

    @property
    def m(self) -> int:
        """Rows of A."""
        return self.a.rows if isinstance(self.a, SharedTile) else self.a.m

    @property
    def depth(self) -> int:
        """K of one instruction: what 32 bytes hold."""
        return 256 // self.a.dtype.bits

    @property
    def steps(self) -> int:
        """How many steps of K there are."""
        return self.a.k // self.depth

    @property
    def shared(self) -> tuple[SharedTile, ...]:
        """The matrices that lie in shared memory."""
        return (self.a, self.b) if isinstance(self.a, SharedTile) else (self.b,)

    @property
    def strangers(self) -> list[str]:
        """Which of the matrices belong to another kernel."""
        a = self.a.pointer.builder if isinstance(self.a, SharedTile) else self.a.builder
        owners = {"D": self.d.builder, "A": a, "B": self.b.pointer.builder}
        return [name for name, owner in owners.items() if owner is not self.builder]


def _whole_warpgroups(r: WarpgroupRequest) -> bool:
    return r.scope is Scope.WARPGROUP or (r.scope is Scope.CTA and r.threads % WARPGROUP == 0)


def _widths(r: WarpgroupRequest) -> tuple[int, ...]:
    integers = r.family is not None and r.family.sums == (E.S32,)
    return INTEGER_WIDTHS if integers else tuple(WIDTHS)


def _swizzled(r: WarpgroupRequest, tile: SharedTile) -> bool:
    """Not asked of a K that no instruction has: that is told already."""
    if tile.swizzle not in (32, 64, 128) or tile.atom != PLAIN_SPAN:
        return False
    along, told = (tile.k, tile.k % r.depth) if tile.major is Major.K else (tile.rows, 0)
    return bool(told) or along % tile.span == 0


def _transposed(r: WarpgroupRequest) -> list[SharedTile]:
    return [tile for tile in r.shared if tile.major is Major.MN]


def _step_is_there(r: WarpgroupRequest) -> bool:
    if isinstance(r.step, int):
        return 0 <= r.step < r.steps
    return r.step is None or isinstance(r.a, SharedTile)


REQUIREMENTS: tuple[Requirement[WarpgroupRequest], ...] = (
    Requirement(
        "kernel", "a tile belongs to another kernel",
        lambda r: not r.strangers,
        lambda r: f"{' and '.join(r.strangers)} of another KernelBuilder",
        lambda r: "tiles of the builder that multiplies them",
        _SHAPE,
    ),
    Requirement(
        "target", "the target has no multiplies of a warpgroup",
        lambda r: r.builder.target is None or r.builder.target in _TARGETS,
        lambda r: str(r.builder.target),
        lambda r: spell(_TARGETS),
        "wgmma.mma_async",
    ),
    Requirement(
        "scope", "a multiply in registers is issued by all threads of a warpgroup",
        _whole_warpgroups,
        lambda r: f"{r.scope.value}, of {r.threads} threads",
        lambda r: "inside `b.if_warpgroup(…)`, or all threads of whole warpgroups",
        "wgmma.mma_async",
    ),
    Requirement(
        "option", "an option of tcgen05.mma that a warpgroup's multiply does not have",
        lambda r: not r.others,
        lambda r: ", ".join(r.others),
        lambda r: "accumulate and step",
        "wgmma.mma_async",
    ),
    Requirement(
        "dtype", "A and B have element types that no warpgroup multiplies",
        lambda r: r.family is not None and all(t.bits == t.dtype.bits for t in (r.a, r.b)),
        lambda r: f"{r.a.dtype.value} x {r.b.dtype.value}",
        lambda r: "; ".join(map(str, FAMILIES)),
        _TYPES,
    ),
    Requirement(
        "accumulator", "D has a type in which these products are not summed",
        lambda r: r.family is None or r.d.dtype in r.family.sums,
        lambda r: r.d.dtype.value,
        lambda r: " or ".join(t.value for t in r.family.sums) if r.family else "",
        _TYPES,
    ),
    Requirement(
        "shape", "the shapes of A, B and D do not belong together",
        lambda r: r.a.k == r.b.k and (r.d.m, r.d.n) == (r.m, r.b.rows),
        lambda r: f"A {r.m}x{r.a.k}, B {r.b.rows}x{r.b.k}, D {r.d.m}x{r.d.n}",
        lambda r: f"A {r.d.m}x{r.a.k}, B {r.d.n}x{r.a.k}, D {r.d.m}x{r.d.n}",
        _SHAPE,
    ),
    Requirement(
        "registers", "A's registers are those of another multiply",
        lambda r: isinstance(r.a, SharedTile) or r.a.each == WARPGROUP_ROWS,
        lambda r: "" if isinstance(r.a, SharedTile) else f"fragments of {r.a.each} rows",
        lambda r: f"fragments of {WARPGROUP_ROWS} rows, of a warpgroup's sums",
        _SHAPE,
    ),
    Requirement(
        "m", "M is no multiple of a warpgroup's rows",
        lambda r: r.m > 0 and r.m % WARPGROUP_ROWS == 0,
        lambda r: str(r.m),
        lambda r: f"a multiple of {WARPGROUP_ROWS}",
        _SHAPE,
    ),
    Requirement(
        "n", "N does not fit the tensor core",
        lambda r: r.b.rows in _widths(r),
        lambda r: str(r.b.rows),
        lambda r: "8, 16, 24, and multiples of 16 from 32 to 256"
        if _widths(r) == INTEGER_WIDTHS else "a multiple of 8 up to 256",
        _SHAPE,
    ),
    Requirement(
        "k", "K is no multiple of the instruction's K",
        lambda r: r.a.k > 0 and r.a.k % r.depth == 0,
        lambda r: str(r.a.k),
        lambda r: f"a multiple of {r.depth}",
        _SHAPE,
    ),
    Requirement(
        "step", "no such step of K",
        _step_is_there,
        lambda r: str(r.step) if isinstance(r.step, int) else "a value of the kernel",
        lambda r: f"0..{r.steps - 1}" + ("" if isinstance(r.a, SharedTile) else ", a number"),
        "wgmma.mma_async",
    ),
    Requirement(
        "swizzle", "A and B lie swizzled, in whole spans",
        lambda r: all(_swizzled(r, tile) for tile in r.shared),
        lambda r: "; ".join(f"{t.name}: {t.mode.words}, {t.rows}x{t.k}" for t in r.shared),
        lambda r: "32, 64 or 128 bytes with 16-byte atoms, and a multiple of the span along the "
        "major",
        _LAYOUT,
    ),
    Requirement(
        "major", "only 16-bit matrices may be MN-major",
        lambda r: all(tile.dtype.bits == 16 for tile in _transposed(r)),
        lambda r: ", ".join(f"{t.dtype.value} {t.major.value}-major" for t in _transposed(r)),
        lambda r: "K-major",
        "wgmma.mma_async",
    ),
)  # fmt: skip
"""Everything that gemm_async requires of a warpgroup's multiply."""


def check_warpgroup(request: WarpgroupRequest) -> None:
    """Whether a request meets every requirement.

    Raises: InputError with one finding for each that it does not meet.
    """
    findings = unmet("gemm_async", REQUIREMENTS, request)
    if findings:
        raise InputError(findings)
