"""What gemm_async requires of its matrices where warps multiply, as data.

Layer: nvgen.builder.  Input: one call of it.  Output: an error that names everything that does not
hold.  PTX ISA, Warp Level Matrix Instructions: Matrix Shape; mma; ldmatrix.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.element import ElementType, Major
from intrinsics.findings import InputError
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.mma_sync import MmaShape
from intrinsics.targets import Feature, TargetSet, at_least, spell, with_feature
from nvgen.builder.base import BuilderBase
from nvgen.builder.control import Scope
from nvgen.builder.numbers import IntLike
from nvgen.builder.refusals import Requirement, unmet
from nvgen.builder.register_operands import RegisterTile
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile
from nvgen.builder.warp_tiles import FRAGMENT_COLUMNS, FRAGMENT_ROWS, WARP, WarpTile

E, T = ElementType, ScalarType

_SHAPE = "Warp Level Matrix Instructions, Matrix Shape"


@dataclass(frozen=True, slots=True)
class WarpFamily:
    """Element types whose products a warp sums, the type of the sums, where, and in what shape."""

    types: tuple[ElementType, ...]
    sums: ElementType
    targets: TargetSet
    shape: MmaShape

    def __str__(self) -> str:
        return f"{' or '.join(t.value for t in self.types)} with sums in {self.sums.value}"


FAMILIES = (
    WarpFamily((E.F16,), E.F32, at_least(80), MmaShape.M16N8K16),
    WarpFamily((E.BF16,), E.F32, at_least(80), MmaShape.M16N8K16),
    WarpFamily((E.TF32,), E.F32, at_least(80), MmaShape.M16N8K8),
    WarpFamily((E.E4M3, E.E5M2), E.F32, with_feature(Feature.HAS_FP8), MmaShape.M16N8K32),
    WarpFamily((E.S8, E.U8), E.S32, at_least(80), MmaShape.M16N8K32),
)
"""What may be multiplied: A and B of one family, whose types may be mixed."""


@dataclass(frozen=True, slots=True)
class WarpRequest:
    """One call of gemm_async whose D lies in the registers of warps.

    `others` names the options of the call that are tcgen05.mma's.
    """

    builder: BuilderBase
    scope: Scope
    threads: int
    d: WarpTile
    a: SharedTile | RegisterTile
    b: SharedTile
    step: IntLike | None = None
    others: tuple[str, ...] = ()

    @property
    def family(self) -> WarpFamily | None:
        """What multiplies A by B; None where nothing does."""
        types = {self.a.dtype, self.b.dtype}
        return next((f for f in FAMILIES if types <= set(f.types)), None)

    @property
    def m(self) -> int:
        """Rows of A, those of all warps."""
        return self.a.rows if isinstance(self.a, SharedTile) else self.a.m * self.d.warps[0]

    @property
    def shared(self) -> tuple[SharedTile, ...]:
        """The matrices that lie in shared memory."""
        return (self.a, self.b) if isinstance(self.a, SharedTile) else (self.b,)

    @property
    def depth(self) -> int:
        """K of one instruction: what 32 bytes hold."""
        return 256 // self.a.dtype.bits

    @property
    def steps(self) -> int:
        """How many steps of K there are."""
        return self.a.k // self.depth

    @property
    def warps(self) -> int:
        """Warps that come here."""
        return {Scope.WARPGROUP: 4, Scope.WARP: 1}.get(self.scope, self.threads // WARP)

    @property
    def strangers(self) -> list[str]:
        """Which of the matrices belong to another kernel."""
        owners = {
            "D": self.d.builder,
            "A": self.a.pointer.builder if isinstance(self.a, SharedTile) else self.a.builder,
            "B": self.b.pointer.builder,
        }
        return [name for name, owner in owners.items() if owner is not self.builder]


def _all_warps(r: WarpRequest) -> bool:
    rows, columns = r.d.warps
    together = rows * columns
    return r.scope is not Scope.THREAD and r.threads % WARP == 0 and together in (1, r.warps)


def _swizzled(r: WarpRequest, tile: SharedTile) -> bool:
    """Not asked of a K that no instruction has: that is told already."""
    if tile.swizzle not in (32, 64, 128) or tile.atom != PLAIN_SPAN:
        return False
    told = tile.major is Major.K and tile.k % r.depth != 0
    return told or tile.line_bytes % tile.swizzle == 0


def _transposed(r: WarpRequest) -> list[SharedTile]:
    return [tile for tile in r.shared if tile.major is Major.MN]


def _targets(r: WarpRequest) -> TargetSet:
    return r.family.targets if r.family else at_least(80)


REQUIREMENTS: tuple[Requirement[WarpRequest], ...] = (
    Requirement(
        "kernel", "a tile belongs to another kernel",
        lambda r: not r.strangers,
        lambda r: f"{' and '.join(r.strangers)} of another KernelBuilder",
        lambda r: "tiles of the builder that multiplies them",
        _SHAPE,
    ),
    Requirement(
        "scope", "a multiply of warps is issued by all threads of the warps that hold D",
        _all_warps,
        lambda r: f"{r.scope.value}, of {r.threads} threads",
        lambda r: f"{r.d.warps[0]}x{r.d.warps[1]} warps",
        "mma",
    ),
    Requirement(
        "option", "an option of tcgen05.mma that a warp's multiply does not have",
        lambda r: not r.others,
        lambda r: ", ".join(r.others),
        lambda r: "accumulate and step",
        "mma",
    ),
    Requirement(
        "target", "the target's warps do not multiply elements of these types",
        lambda r: r.builder.target is None or r.builder.target in _targets(r),
        lambda r: f"{r.a.dtype.value} on {r.builder.target}",
        lambda r: spell(_targets(r)),
        "mma",
    ),
    Requirement(
        "dtype", "A and B have element types that no warp multiplies",
        lambda r: r.family is not None and all(t.bits == t.dtype.bits for t in (r.a, r.b)),
        lambda r: f"{r.a.dtype.value} x {r.b.dtype.value}",
        lambda r: "; ".join(map(str, FAMILIES)),
        "mma",
    ),
    Requirement(
        "accumulator", "D has a type in which these products are not summed",
        lambda r: r.family is None or r.d.dtype is r.family.sums,
        lambda r: r.d.dtype.value,
        lambda r: r.family.sums.value if r.family else "",
        "mma",
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
        lambda r: isinstance(r.a, SharedTile) or r.a.each == FRAGMENT_ROWS,
        lambda r: "" if isinstance(r.a, SharedTile) else f"fragments of {r.a.each} rows",
        lambda r: f"fragments of {FRAGMENT_ROWS} rows, of a warp's sums",
        "mma",
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
        lambda r: 0 <= r.step < r.steps if isinstance(r.step, int)
        else r.step is None or isinstance(r.a, SharedTile),
        lambda r: str(r.step),
        lambda r: f"0..{r.steps - 1}",
        "mma",
    ),
    Requirement(
        "swizzle", "A and B lie swizzled, in whole spans",
        lambda r: all(_swizzled(r, tile) for tile in r.shared),
        lambda r: "; ".join(f"{t.name}: {t.mode.words}, {t.rows}x{t.k}" for t in r.shared),
        lambda r: "32, 64 or 128 bytes with 16-byte atoms, and a multiple of the span along the "
        "major",
        "ldmatrix",
    ),
    Requirement(
        "major", "only 16-bit matrices may be MN-major",
        lambda r: all(tile.dtype.bits == 16 for tile in _transposed(r)),
        lambda r: ", ".join(f"{t.dtype.value} {t.major.value}-major" for t in _transposed(r)),
        lambda r: "K-major",
        "ldmatrix",
    ),
)  # fmt: skip
"""Everything that gemm_async requires of a multiply of warps."""


def check_warps(request: WarpRequest) -> None:
    """Whether a request meets every requirement.

    Raises: InputError with one finding for each that it does not meet.
    """
    findings = unmet("gemm_async", REQUIREMENTS, request)
    if findings:
        raise InputError(findings)


def whole_fragments(m: int, n: int, warps: tuple[int, int]) -> bool:
    """Whether every warp's share of D is made of fragments."""
    rows, columns = warps
    if min(m, n, rows, columns) < 1:
        return False
    return m % (rows * FRAGMENT_ROWS) == 0 and n % (columns * FRAGMENT_COLUMNS) == 0
