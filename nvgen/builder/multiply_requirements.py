"""What multiplies require whose D lies in registers, of warps and of warpgroups alike, as data.

Layer: nvgen.builder.  PTX ISA, Warp Level Matrix Instructions; Asynchronous Warpgroup Level Matrix
Instructions: Matrix Shape, Matrix Data-types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from intrinsics.element import ElementType, Major
from intrinsics.multiplies.mma_sync import MmaShape
from intrinsics.targets import TargetSet, spell
from nvgen.builder.accumulators import AccumulatorTile, Multiply
from nvgen.builder.base import BuilderBase
from nvgen.builder.fragment_layouts import RegisterTile
from nvgen.builder.numbers import IntLike
from nvgen.builder.refusals import Requirement
from nvgen.builder.roles import ExecutionScope
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile

OperandOfA: TypeAlias = SharedTile | RegisterTile
"""What A of a multiply into registers may be."""


@dataclass(frozen=True, slots=True)
class RegisterFamily:
    """Element types whose products are summed, the types of the sums, where, in what shape."""

    types: tuple[ElementType, ...]
    sums: tuple[ElementType, ...]
    targets: TargetSet
    shape: MmaShape | None = None

    def __str__(self) -> str:
        sums = " or ".join(t.value for t in self.sums)
        return f"{' or '.join(t.value for t in self.types)} with sums in {sums}"


@dataclass(frozen=True, slots=True)
class RegisterRequest:
    """One call of gemm_async whose D lies in registers.

    `size` is that of D, `rows` those of A that one multiply has, `held` how many rows all holders
    of D have where A is in registers of one.  `others` names the options of the call that are
    tcgen05.mma's.
    """

    builder: BuilderBase
    scope: ExecutionScope
    threads: int
    owner: object
    size: tuple[int, int]
    dtype: ElementType
    a: OperandOfA
    b: SharedTile
    families: tuple[RegisterFamily, ...]
    rows: int
    shares: tuple[int, int] = (1, 1)
    step: IntLike | None = None
    others: tuple[str, ...] = ()

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
    def shared(self) -> tuple[SharedTile, ...]:
        """The matrices that lie in shared memory."""
        return (self.a, self.b) if isinstance(self.a, SharedTile) else (self.b,)

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

    @property
    def strangers(self) -> list[str]:
        """Which of the matrices belong to another kernel."""
        a = self.a.pointer.builder if isinstance(self.a, SharedTile) else self.a.builder
        owners = {"D": self.owner, "A": a, "B": self.b.pointer.builder}
        return [name for name, owner in owners.items() if owner is not self.builder]


def requested(
    d: AccumulatorTile,
    asked: Multiply,
    families: tuple[RegisterFamily, ...],
    rows: int,
    shares: tuple[int, int] = (1, 1),
) -> RegisterRequest:
    """A multiply into the registers of `d`."""
    b, a = asked.builder, asked.a
    assert isinstance(a, OperandOfA)
    return RegisterRequest(
        b, b.scope, b.threads, d.builder, (d.m, d.n), d.dtype, a, asked.b, families, rows, shares,
        asked.step, asked.options.given(),
    )  # fmt: skip


def _swizzled(r: RegisterRequest, tile: SharedTile) -> bool:
    """Not asked of a K that no instruction has: that is told already."""
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
            "tiles of the builder that multiplies them",
            shape,
        ),
        Requirement(
            "target", target,
            lambda r: r.builder.target is None or r.builder.target in r.targets,
            lambda r: f"{r.a.dtype.value} on {r.builder.target}" * r.is_typed
            or str(r.builder.target),
            lambda r: spell(r.targets),
            op,
        ),
        Requirement(
            "scope", f"a multiply {holders}",
            scope,
            lambda r: f"{r.scope.value}, of {r.threads} threads",
            place,
            op,
        ),
        Requirement(
            "option", f"an option of tcgen05.mma that a {who}'s multiply does not have",
            lambda r: not r.others,
            lambda r: ", ".join(r.others),
            "accumulate and step",
            op,
        ),
        Requirement(
            "dtype", f"A and B have element types that no {who} multiplies",
            lambda r: r.family is not None and all(t.bits == t.dtype.bits for t in (r.a, r.b)),
            lambda r: f"{r.a.dtype.value} x {r.b.dtype.value}",
            lambda r: "; ".join(map(str, r.families)),
            types,
        ),
        Requirement(
            "accumulator", "D has a type in which these products are not summed",
            lambda r: r.family is None or r.dtype in r.family.sums,
            lambda r: r.dtype.value,
            lambda r: " or ".join(t.value for t in r.family.sums) if r.family else "",
            types,
        ),
        Requirement(
            "shape", "the shapes of A, B and D do not belong together",
            lambda r: r.a.k == r.b.k and r.size == (r.m, r.b.rows),
            lambda r: f"A {r.m}x{r.a.k}, B {r.b.rows}x{r.b.k}, D {r.size[0]}x{r.size[1]}",
            lambda r: f"A {r.size[0]}x{r.a.k}, B {r.size[1]}x{r.a.k}, D {r.size[0]}x{r.size[1]}",
            shape,
        ),
        Requirement(
            "registers", "A's registers are those of another multiply",
            lambda r: isinstance(r.a, SharedTile) or r.a.each == r.rows,
            lambda r: "" if isinstance(r.a, SharedTile) else f"fragments of {r.a.each} rows",
            lambda r: f"fragments of {r.rows} rows, of a {who}'s sums",
            shape,
        ),
        Requirement(
            "k", "K is no multiple of the instruction's K",
            lambda r: r.a.k > 0 and r.a.k % r.depth == 0,
            lambda r: str(r.a.k),
            lambda r: f"a multiple of {r.depth}",
            shape,
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
            "the major",
            layout,
        ),
        Requirement(
            "major", "only 16-bit matrices may be MN-major",
            lambda r: all(tile.dtype.bits == 16 for tile in r.transposed),
            lambda r: ", ".join(f"{t.dtype.value} {t.major.value}-major" for t in r.transposed),
            "K-major",
            op,
        ),
    )
    # fmt: on
