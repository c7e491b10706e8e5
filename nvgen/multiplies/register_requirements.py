"""What multiplies require whose D lies in registers, or where the target has it, as data.

Layer: nvgen.multiplies.  What one target's instruction requires of the tiles of `accumulator` is
checked beyond what all require.  PTX ISA, Warp Level Matrix Instructions; Asynchronous Warpgroup
Level Matrix Instructions: Matrix Shape, Matrix Data-types; tcgen05.mma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from intrinsics.element import ElementType, Major
from intrinsics.layouts.fragments_wgmma import ROWS as WARPGROUP_ROWS
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers.wgmma import INTEGER_WIDTHS, WIDTHS
from intrinsics.multiplies.element_families import OF_WARPGROUPS, OF_WARPS, RegisterFamily
from intrinsics.targets import Target, TargetSet, spell
from nvgen.calling.refusals import Requirement, described
from nvgen.fragments.layouts import RegisterTile
from nvgen.instructions.roles import WARP, WARPGROUP, ExecutionScope
from nvgen.multiplies.accumulators import Multiply
from nvgen.shared_memory.tiles import PLAIN_SPAN, SharedTile
from nvgen.values.vectors import Vector


def _no_option(text: str, section: str) -> Requirement[Multiply]:
    return Requirement(
        "option",
        text,
        lambda r: not _options(r),
        lambda r: ", ".join(_options(r)),
        "accumulate and step",
        section,
    )


def _options(r: Multiply) -> list[str]:
    """The options that a multiply into registers does not have: all but a warpgroup's metadata."""
    known = {"metadata"} if isinstance(r, RegisterRequest) and r.by is BY_A_WARPGROUP else set()
    return [name for name in r.options.given() if name not in known]


# ---- registers -----------------------------------------------------------------------------------

FRAGMENT_ROWS = 16
"""Rows of D that one multiply of a warp has."""


@dataclass(frozen=True, slots=True)
class RegisterMultiply:
    """How `who` multiplies into its registers: by `op`, with so many `rows` of A at once."""

    who: str
    op: str
    rows: int
    families: tuple[RegisterFamily, ...]
    is_issued: Callable[[RegisterRequest], bool]
    """Whether the right threads issue it."""
    issued: str
    """Which threads these are, in words."""
    place: Callable[[RegisterRequest], str]
    """Where they are."""
    lacking: str
    """What is said of a target without it."""
    shapes: str
    types: str
    layouts: str
    """The manual's sections."""


@dataclass(frozen=True, slots=True)
class RegisterRequest(Multiply):
    """One call of gemm_async whose D lies in registers.

    `shares` is by how many holders D is divided, along its rows and its columns.
    """

    a: SharedTile | RegisterTile
    by: RegisterMultiply = field(kw_only=True)
    shares: tuple[int, int] = (1, 1)

    @property
    def family(self) -> RegisterFamily | None:
        """What multiplies A by B; None where nothing does."""
        types = {self.a.dtype, self.b.dtype}
        return next((f for f in self.by.families if types <= set(f.types)), None)

    @property
    def m(self) -> int:
        """Rows of A, those of all holders of D."""
        return self.a.rows if isinstance(self.a, SharedTile) else self.a.m * self.shares[0]

    @property
    def depth(self) -> int:
        """K of one instruction, of what A stores: what 32 bytes hold."""
        return 256 // self.a.dtype.bits

    @property
    def metadata(self) -> Vector | None:
        """Which elements of each four, or pair, a sparse A stores: a word for each 64 rows and step
        of K.
        """
        found = self.options.metadata
        return found if isinstance(found, Vector) else None

    @property
    def k(self) -> int:
        """K, of a sparse A with the zeros that it does not store."""
        return self.a.k * (1 if self.options.metadata is None else 2)

    @property
    def steps(self) -> int:
        """How many steps of K there are."""
        return self.a.k // self.depth

    @property
    def transposed(self) -> list[SharedTile]:
        """Those of them that are MN-major."""
        return [tile for tile in self.shared if tile.major is Major.MN]

    @property
    def targets(self) -> TargetSet:
        """The targets that multiply such elements, or any."""
        able = [self.family] if self.family else self.by.families
        return frozenset().union(*(f.targets for f in able))

    @property
    def is_typed(self) -> bool:
        """Whether the types decide which targets multiply them."""
        return len({family.targets for family in self.by.families}) > 1


def _swizzled(r: RegisterRequest, tile: SharedTile) -> bool:
    """Not asked of a K that no instruction has, which is a finding of its own."""
    if tile.swizzle not in (32, 64, 128) or tile.atom != PLAIN_SPAN:
        return False
    told = tile.major is Major.K and tile.k % r.depth != 0
    return told or tile.line_bytes % tile.swizzle == 0


def _has_step(r: RegisterRequest) -> bool:
    if isinstance(r.step, int):
        return 0 <= r.step < r.steps
    return r.step is None or (isinstance(r.a, SharedTile) and r.metadata is None)


def _words(r: RegisterRequest) -> int:
    return r.m // WARPGROUP_ROWS * r.steps


def _widths(r: RegisterRequest) -> tuple[int, ...]:
    integers = r.family is not None and r.family.sums == (ElementType.S32,)
    return INTEGER_WIDTHS if integers else tuple(WIDTHS)


WARP_REQUIREMENTS: tuple[Requirement[RegisterRequest], ...] = (
    Requirement("kernel", "a tile belongs to another kernel", lambda r: not r.strangers,
        lambda r: f"{' and '.join(r.strangers)} of another KernelBuilder",
        "tiles of the builder that multiplies them", "{r.by.shapes}"),
    Requirement("target", "{r.by.lacking}",
        lambda r: r.builder.target is None or r.builder.target in r.targets,
        lambda r: f"{r.a.dtype.value} on {r.builder.target}" * r.is_typed
        or str(r.builder.target), lambda r: spell(r.targets), "{r.by.op}"),
    Requirement("scope", "a multiply {r.by.issued}", lambda r: r.by.is_issued(r),
        "{r.builder.scope.value}, of {r.builder.threads} threads", lambda r: r.by.place(r),
        "{r.by.op}"),
    _no_option("an option of tcgen05.mma that a {r.by.who}'s multiply does not have", "{r.by.op}"),
    Requirement("dtype", "A and B have element types that no {r.by.who} multiplies",
        lambda r: r.family is not None and all(t.bits == t.dtype.bits for t in (r.a, r.b)),
        "{r.a.dtype.value} x {r.b.dtype.value}", lambda r: "; ".join(map(str, r.by.families)),
        "{r.by.types}"),
    Requirement("accumulator", "D has a type in which these products are not summed",
        lambda r: r.family is None or r.d.dtype in r.family.sums, "{r.d.dtype.value}",
        lambda r: " or ".join(t.value for t in r.family.sums) if r.family else "", "{r.by.types}"),
    Requirement("shape", "the shapes of A, B and D do not belong together",
        lambda r: r.k == r.b.k and (r.d.m, r.d.n) == (r.m, r.b.rows),
        "A {r.m}x{r.a.k}, B {r.b.rows}x{r.b.k}, D {r.d.m}x{r.d.n}",
        "A {r.d.m}x{r.a.k}, B {r.d.n}x{r.k}, D {r.d.m}x{r.d.n}", "{r.by.shapes}"),
    Requirement("registers", "A's registers are those of another multiply",
        lambda r: isinstance(r.a, SharedTile) or r.a.each == r.by.rows,
        lambda r: "" if isinstance(r.a, SharedTile) else f"fragments of {r.a.each} rows",
        "fragments of {r.by.rows} rows, of a {r.by.who}'s sums", "{r.by.shapes}"),
    Requirement("k", "K is no multiple of the instruction's K",
        lambda r: r.a.k > 0 and r.a.k % r.depth == 0, "{r.a.k}", "a multiple of {r.depth}",
        "{r.by.shapes}"),
    Requirement("step", "no such step of K", _has_step,
        lambda r: str(r.step) if isinstance(r.step, int) else "a value of the kernel",
        lambda r: f"0..{r.steps - 1}" + ("" if isinstance(r.a, SharedTile) else ", a number"),
        "{r.by.op}"),
    Requirement("swizzle", "A and B lie swizzled, in whole spans",
        lambda r: all(_swizzled(r, tile) for tile in r.shared),
        lambda r: "; ".join(f"{t.name}: {t.mode.words}, {t.rows}x{t.k}" for t in r.shared),
        "32, 64 or 128 bytes with 16-byte atoms, and a multiple of the span along the major",
        "{r.by.layouts}"),
    Requirement("major", "only 16-bit matrices may be MN-major",
        lambda r: all(tile.dtype.bits == 16 for tile in r.transposed),
        lambda r: ", ".join(f"{t.dtype.value} {t.major.value}-major" for t in r.transposed),
        "K-major", "{r.by.op}"),
)  # fmt: skip
"""Everything that a multiply of warps requires."""

WARPGROUP_REQUIREMENTS: tuple[Requirement[RegisterRequest], ...] = (
    *WARP_REQUIREMENTS,
    Requirement("m", "M is no multiple of a warpgroup's rows",
        lambda r: r.m > 0 and r.m % WARPGROUP_ROWS == 0, "{r.m}", f"a multiple of {WARPGROUP_ROWS}",
        "{r.by.shapes}"),
    Requirement("n", "N does not fit the tensor core", lambda r: r.b.rows in _widths(r),
        "{r.b.rows}", lambda r: "8, 16, 24, and multiples of 16 from 32 to 256"
        if _widths(r) == INTEGER_WIDTHS else "a multiple of 8 up to 256", "{r.by.shapes}"),
    Requirement("metadata", "a sparse A has a register of metadata for each 64 rows and step of K",
        lambda r: r.options.metadata is None
        or (r.metadata is not None and r.metadata.count == _words(r)),
        lambda r: described(r.options.metadata), lambda r: f"a Vector of {_words(r)} words",
        "{r.by.op}"),
)  # fmt: skip
"""Everything that a warpgroup's multiply requires."""


def _all_warps(r: RegisterRequest) -> bool:
    (rows, columns), scope, threads = r.shares, r.builder.scope, r.builder.threads
    here = {ExecutionScope.WARPGROUP: 4, ExecutionScope.WARP: 1}.get(scope, threads // WARP)
    together = rows * columns in (1, here)
    return scope is not ExecutionScope.THREAD and threads % WARP == 0 and together


def _whole_warpgroups(r: RegisterRequest) -> bool:
    if r.builder.scope is ExecutionScope.CTA:
        return r.builder.threads % WARPGROUP == 0
    return r.builder.scope is ExecutionScope.WARPGROUP


_WARP, _GROUP = "Warp Level Matrix Instructions", "Asynchronous Warpgroup Level Matrix"

BY_WARPS = RegisterMultiply(
    "warp", "mma", FRAGMENT_ROWS, OF_WARPS, _all_warps,
    "of warps is issued by all threads of the warps that hold D",
    lambda r: f"{r.shares[0]}x{r.shares[1]} warps",
    "the target's warps do not multiply elements of these types",
    f"{_WARP}, Matrix Shape", "mma", "ldmatrix",
)  # fmt: skip

BY_A_WARPGROUP = RegisterMultiply(
    "warpgroup", "wgmma.mma_async", WARPGROUP_ROWS, OF_WARPGROUPS, _whole_warpgroups,
    "in registers is issued by all threads of a warpgroup",
    lambda r: "inside `b.if_warpgroup(…)`, or all threads of whole warpgroups",
    "the target has no multiplies of a warpgroup", f"{_GROUP} Instructions, Matrix Shape",
    f"{_GROUP} Instructions, Matrix Data-types", f"{_GROUP} Shared Memory Layout",
)  # fmt: skip


# ---- wherever the target has D -------------------------------------------------------------------

_SECTION = "tcgen05.mma; wgmma.mma_async; mma"


@dataclass(frozen=True, slots=True)
class AccumulatorRequest:
    """One call of `accumulator`."""

    target: Target
    scope: ExecutionScope
    dtype: ElementType
    able: TargetSet
    """The targets with multiplies whose sums are of the type."""


OF_ACCUMULATORS: tuple[Requirement[AccumulatorRequest], ...] = (
    Requirement("scope", "an accumulator is made by all threads of the CTA",
        lambda r: r.scope is ExecutionScope.CTA, "{r.scope.value}", ExecutionScope.CTA.value,
        _SECTION),
    Requirement("accumulator", "sums have a type that only some instructions have",
        lambda r: r.dtype in (ElementType.F32, ElementType.S32), "{r.dtype.value}", "f32 or s32",
        _SECTION),
    Requirement("target", "the target does not multiply tiles into such an accumulator",
        lambda r: r.target in r.able, "{r.target.name}, sums in {r.dtype.value}",
        lambda r: spell(r.able), _SECTION),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PortableRequest(Multiply):
    """One call of gemm_async with an accumulator that every target has."""

    able: TargetSet = frozenset()
    """The targets that multiply elements of A's type."""

    @property
    def sums(self) -> ElementType:
        """The type of the sums of A's products."""
        return ElementType.S32 if self.a.dtype.is_integer else ElementType.F32


OF_PORTABLE: tuple[Requirement[PortableRequest], ...] = (
    Requirement("kernel", "a tile belongs to another kernel", lambda r: r.d.builder is r.builder,
        "D of another KernelBuilder", "tiles of the builder that multiplies them", _SECTION),
    Requirement("scope", "tiles are multiplied by all threads of the CTA",
        lambda r: r.builder.scope is ExecutionScope.CTA, "{r.builder.scope.value}",
        ExecutionScope.CTA.value, _SECTION),
    _no_option("an option of tcgen05.mma that not every target has", _SECTION),
    Requirement("target", "the target does not multiply elements of this type",
        lambda r: r.builder.known_target() in r.able,
        lambda r: f"{r.a.dtype.value} on {r.builder.known_target().name}", lambda r: spell(r.able),
        _SECTION),
    Requirement("accumulator", "D has a type in which these products are not summed",
        lambda r: r.d.dtype is r.sums, "{r.d.dtype.value}", "{r.sums.value}", _SECTION),
)  # fmt: skip
