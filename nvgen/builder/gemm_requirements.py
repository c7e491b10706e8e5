"""What gemm_async requires of its matrices, as data.

Layer: nvgen.builder.  Input: one call of it.  Output: an error that names everything that does not
hold.  PTX ISA, Matrix Shape (Table 39); Canonical Layouts; Block Scaling (Tables 54 and 55).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from intrinsics.block_scale import block_scale, check_block_scale
from intrinsics.element import ElementType, Major
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.idesc import DENSE_K, SCALED_KINDS, m_values, n_values
from intrinsics.modifiers import MmaKind, ScaleVec
from intrinsics.row import Problem
from intrinsics.smem_desc import Swizzle
from intrinsics.smem_strides import Strides, Tile
from intrinsics.umma_layout import STRIDE_FAILURE, check_umma_layout
from nvgen.builder.control import Scope
from nvgen.builder.tiles import SharedTile, TensorTile
from nvgen.builder.values import Pointer
from nvgen.tensor_map import SWIZZLES


@dataclass(frozen=True, slots=True)
class Family:
    """Element types that one kind of MMA multiplies."""

    kind: MmaKind
    types: tuple[ElementType, ...]

    @property
    def k(self) -> int:
        """K of one instruction."""
        return DENSE_K[self.kind]

    @property
    def scaled(self) -> bool:
        """Whether A and B come with scale factors."""
        return self.kind in SCALED_KINDS


FAMILIES = (
    Family(MmaKind.F16, (ElementType.F16,)),
    Family(MmaKind.F16, (ElementType.BF16,)),
    Family(MmaKind.TF32, (ElementType.TF32,)),
    Family(MmaKind.F8F6F4, (ElementType.E4M3, ElementType.E5M2)),
    Family(MmaKind.MXF8F6F4, (ElementType.E4M3, ElementType.E5M2)),
    Family(MmaKind.MXF4, (ElementType.E2M1,)),
    Family(MmaKind.MXF4NVF4, (ElementType.E2M1,)),
)
"""What may be multiplied: A and B of one family, whose types may be mixed."""


@dataclass(frozen=True, slots=True)
class Scales:
    """Scale factors of A and B in tensor memory: their type, and the elements of K that share one.

    Four of them, along K, make a word; there is a column of words for 32 rows, and then those of
    the next four.
    """

    sfa: Pointer
    sfb: Pointer
    type: ElementType = ElementType.UE8M0
    size: int = 32

    @property
    def vector(self) -> ScaleVec | None:
        """The modifier that says so; one for 32 elements goes without saying."""
        return ScaleVec.BLOCK16 if self.size == 16 else None


@dataclass(frozen=True, slots=True)
class Request:
    """One call of gemm_async, as its requirements see it."""

    scope: Scope
    m: int
    n: int
    k: int
    a: SharedTile
    b: SharedTile
    d: TensorTile
    group: int
    family: Family | None
    given: int = 0  # how many of sfa and sfb are there
    scales: Scales | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something gemm_async asks for: its id, whether it holds, what was there, what should be."""

    rule: str
    text: str
    holds: Callable[[Request], bool]
    got: Callable[[Request], str]
    expected: Callable[[Request], str]


def _m(r: Request) -> tuple[int, ...]:
    return m_values(r.family.kind if r.family else MmaKind.F16, r.group)


def _step(r: Request) -> int:
    return n_values(r.family.kind if r.family else MmaKind.F16, r.group)[0]


def _k(r: Request) -> int:
    return r.family.k if r.family else 16


REQUIREMENTS = (
    Requirement(
        "scope", "gemm_async is issued by a single thread or one warp",
        lambda r: r.scope is not Scope.CTA,
        lambda r: r.scope.value,
        lambda r: "inside `b.if_warp(…)` or `b.elect()`",
    ),
    Requirement(
        "dtype", "A and B have element types that no kind of MMA multiplies",
        lambda r: r.family is not None,
        lambda r: f"{r.a.dtype.value} x {r.b.dtype.value}",
        lambda r: "; ".join(_types(f) for f in FAMILIES),
    ),
    Requirement(
        "scales", "scale factors come for both matrices, of one CTA",
        lambda r: r.given == 0 or (r.given == 2 and r.group == 1),
        lambda r: f"{('none', 'one', 'both')[r.given]}, cta_group::{r.group}",
        lambda r: "sfa and sfb with cta_group::1, or neither",
    ),
    Requirement(
        "accumulator", "the accumulator is f32 in tensor memory",
        lambda r: r.d.dtype is ElementType.F32,
        lambda r: r.d.dtype.value,
        lambda r: "f32",
    ),
    Requirement(
        "shape", "the shapes of A, B and D do not belong together",
        lambda r: r.a.k == r.b.k and (r.d.m, r.d.n) == (r.m, r.n),
        lambda r: f"A {r.a.rows}x{r.a.k}, B {r.b.rows}x{r.b.k}, D {r.d.m}x{r.d.n}",
        lambda r: f"A {r.a.rows}x{r.a.k}, B {r.b.rows}x{r.a.k}, D {r.m}x{r.n}",
    ),
    Requirement(
        "m", "M does not fit the tensor core",
        lambda r: r.m in _m(r),
        lambda r: str(r.m),
        lambda r: f"{' or '.join(map(str, _m(r)))} with cta_group::{r.group}",
    ),
    Requirement(
        "n", "N does not fit the tensor core",
        lambda r: r.n > 0 and r.n % _step(r) == 0,
        lambda r: str(r.n),
        lambda r: f"a multiple of {_step(r)} with cta_group::{r.group}",
    ),
    Requirement(
        "k", "K is no multiple of the instruction's K",
        lambda r: r.k > 0 and r.k % _k(r) == 0,
        lambda r: str(r.k),
        lambda r: f"a multiple of {_k(r)}",
    ),
    Requirement(
        "swizzle", "A and B lie swizzled, K-major, in whole spans",
        lambda r: all(t.swizzle in (32, 64, 128) and t.k % t.span == 0 for t in (r.a, r.b)),
        lambda r: f"swizzle {r.a.swizzle} and {r.b.swizzle}, K {r.a.k} and {r.b.k}",
        lambda r: "32, 64 or 128 bytes, and K a multiple of the span",
    ),
)  # fmt: skip
"""Everything gemm_async requires, as data; TVM's primitive of that name asks for the same."""


def check(request: Request) -> None:
    """Whether a request meets every requirement.

    Raises: InputError with one finding for each that it does not meet.
    """
    problems = [
        (Problem(r.rule, r.text, r.got(request), r.expected(request)), "Matrix Shape (Table 39)")
        for r in REQUIREMENTS
        if not r.holds(request)
    ]
    problems += [(p, "Canonical Layouts") for p in _layout_problems(request)]
    problems += [(p, "Block Scaling (Tables 54 and 55)") for p in _scale_problems(request)]
    findings = [
        Finding(
            f"gemm_async/{problem.rule}",
            Severity.ERROR,
            problem.text,
            op="gemm_async",
            got=problem.got,
            expected=problem.expected,
            hint=problem.hint,
            section=f"PTX ISA, {section}",
            subject=problem.subject,
        )
        for problem, section in problems
    ]
    if findings:
        raise InputError(findings)


def _layout_problems(r: Request) -> Iterator[Problem]:
    """Whether A and B lie as an instruction reads them: as wholes, and what it takes at once."""
    for tile in (r.a, r.b) if r.family is not None else ():
        mode = SWIZZLES.get(tile.swizzle)
        if mode is None or mode is Swizzle.NONE:
            continue  # told with the requirements
        whole = Tile(tile.rows, tile.k, tile.dtype.bits, Major.K)
        layout = tile.descriptor()
        yield from check_umma_layout(whole, mode)
        step = Tile(tile.rows, _k(r), tile.dtype.bits, Major.K)
        wrong = check_umma_layout(step, mode, Strides(layout.lbo, layout.sbo))
        yield from (problem for problem in wrong if problem.rule == STRIDE_FAILURE)


def _scale_problems(r: Request) -> list[Problem]:
    if r.family is None or r.scales is None:
        return []
    factors = r.scales.type, r.scales.type
    return check_block_scale(r.family.k, r.scales.size, r.a.dtype, r.b.dtype, *factors)


def family_of(a: ElementType, b: ElementType, scale_size: int = 0) -> Family | None:
    """The family that multiplies `a` by `b`, with a factor for so many elements; 0 for none."""
    able = [f for f in FAMILIES if a in f.types and b in f.types and f.scaled is (scale_size > 0)]
    for family in able:
        scaling = block_scale(family.k, scale_size)
        if scaling is not None and family.kind in scaling.kinds:
            return family
    return able[0] if able else None


def _types(family: Family) -> str:
    types = " or ".join(t.value for t in family.types)
    return types + (" with scale factors" if family.scaled else "")
