"""What multiplies require whose D lies in registers, or where the target has it, as data.

Layer: nvgen.builder.  What one target's instruction requires of the tiles of `accumulator` is
checked beyond what all require.  PTX ISA, Warp Level Matrix Instructions; Asynchronous Warpgroup
Level Matrix Instructions: Matrix Shape, Matrix Data-types; tcgen05.mma.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.element import ElementType, Major
from intrinsics.lazy_dataclass import dataclass
from intrinsics.multiplies.element_families import RegisterFamily
from intrinsics.targets import Target, TargetSet, spell
from nvgen.builder.control.roles import ExecutionScope
from nvgen.builder.fragments.layouts import RegisterTile
from nvgen.builder.multiplies.accumulators import Multiply
from nvgen.builder.shared_memory.tiles import PLAIN_SPAN, SharedTile
from nvgen.calling.refusals import Requirement


def _no_option(text: str, section: str) -> Requirement[Multiply]:
    return Requirement(
        "option", text,
        lambda r: not r.options.given(),
        lambda r: ", ".join(r.options.given()), "accumulate and step", section,
    )  # fmt: skip


# ---- registers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterRequest(Multiply):
    """One call of gemm_async whose D lies in registers.

    `rows` are those of A that one multiply has; `shares` is by how many holders D is divided, along
    its rows and its columns.
    """

    a: SharedTile | RegisterTile
    families: tuple[RegisterFamily, ...] = ()
    rows: int = 0
    shares: tuple[int, int] = (1, 1)

    @property
    def family(self) -> RegisterFamily | None:
        """What multiplies A by B; None where nothing does."""
        types = {self.a.dtype, self.b.dtype}
        return next((f for f in self.families if types <= set(f.types)), None)

    @property
    def m(self) -> int:
        """Rows of A, those of all holders of D."""
        return self.a.rows if isinstance(self.a, SharedTile) else self.a.m * self.shares[0]

    @property
    def depth(self) -> int:
        """K of one instruction: what 32 bytes hold."""
        return 256 // self.a.dtype.bits

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
        able = [self.family] if self.family else self.families
        return frozenset().union(*(f.targets for f in able))

    @property
    def is_typed(self) -> bool:
        """Whether the types decide which targets multiply them."""
        return len({family.targets for family in self.families}) > 1


def _swizzled(r: RegisterRequest, tile: SharedTile) -> bool:
    """Not asked of a K that no instruction has, which is a finding of its own."""
    if tile.swizzle not in (32, 64, 128) or tile.atom != PLAIN_SPAN:
        return False
    told = tile.major is Major.K and tile.k % r.depth != 0
    return told or tile.line_bytes % tile.swizzle == 0


def _has_step(r: RegisterRequest) -> bool:
    if isinstance(r.step, int):
        return 0 <= r.step < r.steps
    return r.step is None or isinstance(r.a, SharedTile)


def in_registers(
    who: str,
    holders: str,
    op: str,
    scope: Callable[[RegisterRequest], bool],
    target: str,
    sections: tuple[str, str, str],
    place: Callable[[RegisterRequest], str],
) -> tuple[Requirement[RegisterRequest], ...]:
    """What a multiply into the registers of `who` asks for; `scope` says by whom it is issued.

    `sections` are the manual's about shapes, types and shared memory.
    """
    shape, types, layout = sections
    # fmt: off
    return (
        Requirement(
            "kernel", "a tile belongs to another kernel",
            lambda r: not r.strangers,
            lambda r: f"{' and '.join(r.strangers)} of another KernelBuilder",
            "tiles of the builder that multiplies them", shape,
        ),
        Requirement(
            "target", target,
            lambda r: r.builder.target is None or r.builder.target in r.targets,
            lambda r: f"{r.a.dtype.value} on {r.builder.target}" * r.is_typed
            or str(r.builder.target), lambda r: spell(r.targets), op,
        ),
        Requirement(
            "scope", f"a multiply {holders}",
            scope,
            "{r.builder.scope.value}, of {r.builder.threads} threads", place, op,
        ),
        _no_option(f"an option of tcgen05.mma that a {who}'s multiply does not have", op),
        Requirement(
            "dtype", f"A and B have element types that no {who} multiplies",
            lambda r: r.family is not None and all(t.bits == t.dtype.bits for t in (r.a, r.b)),
            "{r.a.dtype.value} x {r.b.dtype.value}", lambda r: "; ".join(map(str, r.families)),
            types,
        ),
        Requirement(
            "accumulator", "D has a type in which these products are not summed",
            lambda r: r.family is None or r.d.dtype in r.family.sums,
            "{r.d.dtype.value}",
            lambda r: " or ".join(t.value for t in r.family.sums) if r.family else "", types,
        ),
        Requirement(
            "shape", "the shapes of A, B and D do not belong together",
            lambda r: r.a.k == r.b.k and (r.d.m, r.d.n) == (r.m, r.b.rows),
            "A {r.m}x{r.a.k}, B {r.b.rows}x{r.b.k}, D {r.d.m}x{r.d.n}",
            "A {r.d.m}x{r.a.k}, B {r.d.n}x{r.a.k}, D {r.d.m}x{r.d.n}", shape,
        ),
        Requirement(
            "registers", "A's registers are those of another multiply",
            lambda r: isinstance(r.a, SharedTile) or r.a.each == r.rows,
            lambda r: "" if isinstance(r.a, SharedTile) else f"fragments of {r.a.each} rows",
            lambda r: f"fragments of {r.rows} rows, of a {who}'s sums", shape,
        ),
        Requirement(
            "k", "K is no multiple of the instruction's K",
            lambda r: r.a.k > 0 and r.a.k % r.depth == 0,
            "{r.a.k}", "a multiple of {r.depth}", shape,
        ),
        Requirement(
            "step", "no such step of K",
            _has_step,
            lambda r: str(r.step) if isinstance(r.step, int) else "a value of the kernel",
            lambda r: f"0..{r.steps - 1}" + ("" if isinstance(r.a, SharedTile) else ", a number"),
            op,
        ),
        Requirement(
            "swizzle", "A and B lie swizzled, in whole spans",
            lambda r: all(_swizzled(r, tile) for tile in r.shared),
            lambda r: "; ".join(f"{t.name}: {t.mode.words}, {t.rows}x{t.k}" for t in r.shared),
            "32, 64 or 128 bytes with 16-byte atoms, and a multiple of the span along "
            "the major", layout,
        ),
        Requirement(
            "major", "only 16-bit matrices may be MN-major",
            lambda r: all(tile.dtype.bits == 16 for tile in r.transposed),
            lambda r: ", ".join(f"{t.dtype.value} {t.major.value}-major" for t in r.transposed),
            "K-major", op,
        ),
    )
    # fmt: on


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
    Requirement(
        "scope", "an accumulator is made by all threads of the CTA",
        lambda r: r.scope is ExecutionScope.CTA,
        "{r.scope.value}", ExecutionScope.CTA.value, _SECTION,
    ),
    Requirement(
        "accumulator", "sums have a type that only some instructions have",
        lambda r: r.dtype in (ElementType.F32, ElementType.S32),
        "{r.dtype.value}", "f32 or s32", _SECTION,
    ),
    Requirement(
        "target", "the target does not multiply tiles into such an accumulator",
        lambda r: r.target in r.able,
        "{r.target.name}, sums in {r.dtype.value}", lambda r: spell(r.able), _SECTION,
    ),
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
    Requirement(
        "kernel", "a tile belongs to another kernel",
        lambda r: r.d.builder is r.builder,
        "D of another KernelBuilder", "tiles of the builder that multiplies them", _SECTION,
    ),
    Requirement(
        "scope", "tiles are multiplied by all threads of the CTA",
        lambda r: r.builder.scope is ExecutionScope.CTA,
        "{r.builder.scope.value}", ExecutionScope.CTA.value, _SECTION,
    ),
    _no_option("an option of tcgen05.mma that not every target has", _SECTION),
    Requirement(
        "target", "the target does not multiply elements of this type",
        lambda r: r.builder.known_target() in r.able,
        lambda r: f"{r.a.dtype.value} on {r.builder.known_target().name}", lambda r: spell(r.able),
        _SECTION,
    ),
    Requirement(
        "accumulator", "D has a type in which these products are not summed",
        lambda r: r.d.dtype is r.sums,
        "{r.d.dtype.value}", "{r.sums.value}", _SECTION,
    ),
)  # fmt: skip
