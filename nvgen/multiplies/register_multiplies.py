"""Multiplies whose D lies in registers: a call of one, and what it requires, as data.

Layer: nvgen.multiplies.  `warp_tile` and `warpgroup_tile` say how each multiplies, and what that
requires beyond.  PTX ISA, Warp Level Matrix Instructions; Asynchronous Warpgroup Level Matrix
Instructions: Matrix Shape, Matrix Data-types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from intrinsics.element import Major
from intrinsics.lazy_dataclass import dataclass
from intrinsics.multiplies.element_families import RegisterFamily
from intrinsics.targets import TargetSet, spell
from nvgen.calling.refusals import Requirement
from nvgen.fragments.fragment import Fragment
from nvgen.fragments.layouts import RegisterTile
from nvgen.multiplies.accumulators import Multiply, no_option, one_kernel
from nvgen.shared_memory.tiles import PLAIN_SPAN, SharedTile
from nvgen.values.vectors import Vector


@dataclass(frozen=True, slots=True)
class RegisterMultiply:
    """How the threads named by `who` multiply: by the instruction `op`, `rows` rows of A each."""

    who: str
    op: str
    rows: int
    families: tuple[RegisterFamily, ...]
    is_issued: Callable[[RegisterRequest], bool]
    """Whether the code being built is executed by those threads."""
    issued: str
    """Those threads in words, for messages."""
    place: Callable[[RegisterRequest], str]
    """The threads that the code being built has, for messages."""
    lacking: str
    """The message for a target that lacks the instruction."""
    shapes: str
    types: str
    layouts: str
    """The manual's sections."""
    options: tuple[str, ...] = ()
    """Options beside `accumulate` and `step` that it has."""


@dataclass(frozen=True, slots=True)
class RegisterRequest(Multiply):
    """One call of gemm_async whose D lies in registers.

    `shares` is by how many holders D is divided, along its rows and its columns.
    """

    a: SharedTile | RegisterTile
    by: RegisterMultiply = field(kw_only=True)
    shares: tuple[int, int] = (1, 1)

    @classmethod
    def of(
        cls, asked: Multiply, by: RegisterMultiply, shares: tuple[int, int] = (1, 1)
    ) -> RegisterRequest:
        """The call, an A that is a matrix in registers as the registers of A."""
        if isinstance(asked.a, Fragment):
            asked = replace(asked, a=asked.a.as_a_operand())
        return asked.asked_of(cls, by=by, shares=shares)

    @property
    def family(self) -> RegisterFamily | None:
        """The family of multiplies that takes the types of A and B; None where there is none."""
        types = {self.a.dtype, self.b.dtype}
        return next((f for f in self.by.families if types <= set(f.types)), None)

    @property
    def needless(self) -> list[str]:
        """Options that are given and that this multiply does not have."""
        return [name for name in self.options.given() if name not in self.by.options]

    @property
    def m(self) -> int:
        """Rows of A, those of all holders of D."""
        return self.a.rows if isinstance(self.a, SharedTile) else self.a.m * self.shares[0]

    @property
    def depth(self) -> int:
        """The elements of A that one instruction reads from a row: 32 bytes."""
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
        """K in elements; of a sparse A, those that are not stored count."""
        return self.a.k * (1 if self.options.metadata is None else 2)

    @property
    def steps(self) -> int:
        """How many steps of K there are."""
        return self.a.k // self.depth

    @property
    def transposed(self) -> list[SharedTile]:
        """The operands in shared memory that are MN-major."""
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
    """Not asked where no instruction has such a K, which is a finding of its own."""
    if tile.swizzle not in (32, 64, 128) or tile.atom != PLAIN_SPAN:
        return False
    told = tile.major is Major.K and tile.k % r.depth != 0
    return told or tile.line_bytes % tile.swizzle == 0


def _has_step(r: RegisterRequest) -> bool:
    if isinstance(r.step, int):
        return 0 <= r.step < r.steps
    return r.step is None or (isinstance(r.a, SharedTile) and r.metadata is None)


REQUIREMENTS: tuple[Requirement[RegisterRequest], ...] = (
    one_kernel("{r.by.shapes}"),
    Requirement("target", "{r.by.lacking}",
        lambda r: r.builder.target is None or r.builder.target in r.targets,
        lambda r: f"{r.a.dtype.value} on {r.builder.target}" * r.is_typed
        or str(r.builder.target), lambda r: spell(r.targets), "{r.by.op}"),
    Requirement("scope", "a multiply {r.by.issued}", lambda r: r.by.is_issued(r),
        "{r.builder.scope.value}, of {r.builder.threads} threads", lambda r: r.by.place(r),
        "{r.by.op}"),
    no_option("an option of tcgen05.mma that a {r.by.who}'s multiply does not have", "{r.by.op}"),
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
"""Everything that a multiply into registers requires, whoever's they are."""
