"""What gemm_async requires of its matrices, as data.

Layer: nvgen.builder.  Input: one call of it.  Output: an error that names everything that does not
hold.  PTX ISA, Matrix Shape (Table 39); Transpose and Negate operations (Table 49); Canonical
Layouts; Block Scaling (Tables 54 and 55).
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.block_scale import check_block_scale
from intrinsics.element import ElementType, Major
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.idesc import m_values, series
from intrinsics.modifiers import CtaGroup
from intrinsics.row import Problem
from intrinsics.smem_desc import Swizzle
from intrinsics.smem_strides import Strides
from intrinsics.smem_strides import Tile as MatrixShape
from intrinsics.targets import Feature, spell, with_feature
from intrinsics.umma_layout import STRIDE_FAILURE, check_umma_layout
from nvgen.builder.control import Scope
from nvgen.builder.families import FAMILIES
from nvgen.builder.gemm_request import LeftTile, Request
from nvgen.builder.requirements import Requirement, unmet
from nvgen.builder.tensor_tiles import accumulator_columns
from nvgen.builder.tiles import SharedTile
from nvgen.tensor_map import SWIZZLES

_TARGETS = with_feature(Feature.HAS_TMEM)


def _m(r: Request) -> tuple[int, ...]:
    values = m_values(r.kind, r.group, sparse=r.sparse, ws=r.stationary)
    return tuple(m for m in values if not (r.sfa and r.group == 2 and m == 128))


def _n(r: Request) -> bool:
    return r.n > 0 and all(width in r.columns() for _, width in r.pieces())


def _columns(r: Request) -> int:
    group = CtaGroup.TWO if r.group == 2 else CtaGroup.ONE
    return accumulator_columns(r.m, r.n, cta_group=group, stationary=r.stationary, sparse=r.sparse)


def _type(tile: LeftTile) -> str:
    packed = f" in {tile.bits} bits" if tile.bits != tile.dtype.bits else ""
    return tile.dtype.value + packed


def _factors(r: Request) -> str:
    return ", ".join(
        f"{name} for {tile.rows} rows of K {tile.k}, one for {tile.size} {tile.dtype.value}"
        if tile
        else f"no {name}"
        for name, tile in (("sfa", r.sfa), ("sfb", r.sfb))
    )


def _factors_fit(r: Request) -> bool:
    a, b = r.sfa, r.sfb
    if a is None or b is None:
        return a is b
    same = (a.size, a.dtype, a.k) == (b.size, b.dtype, b.k)
    return same and a.k == r.k and a.rows == r.rows and b.rows == r.n


def _swizzled(tile: SharedTile) -> bool:
    if tile.swizzle not in (32, 64, 128):
        return False
    return (tile.k if tile.major is Major.K else tile.rows) % tile.span == 0


def _transposed(r: Request) -> list[SharedTile]:
    return [tile for tile in r.shared if tile.major is Major.MN]


def _can_transpose(tile: SharedTile) -> bool:
    return tile.dtype.bits in (8, 16)


REQUIREMENTS: tuple[Requirement[Request], ...] = (
    Requirement(
        "kernel", "a tile belongs to another kernel",
        lambda r: not r.strangers,
        lambda r: f"{' and '.join(r.strangers)} of another KernelBuilder",
        lambda r: "tiles of the builder that multiplies them",
    ),
    Requirement(
        "target", "the target has no multiplies into tensor memory",
        lambda r: r.builder.target is None or r.builder.target in _TARGETS,
        lambda r: str(r.builder.target),
        lambda r: spell(_TARGETS),
        "tcgen05.mma",
    ),
    Requirement(
        "scope", "gemm_async is issued by a single thread or one warp",
        lambda r: r.scope in (Scope.WARP, Scope.THREAD),
        lambda r: r.scope.value,
        lambda r: "inside `b.if_warp(…)` or `b.elect()`",
    ),
    Requirement(
        "dtype", "A and B have element types that no kind of MMA multiplies",
        lambda r: r.family is not None,
        lambda r: f"{_type(r.a)} x {_type(r.b)}" + (", with scale factors" if r.sfa else ""),
        lambda r: "; ".join(dict.fromkeys(map(str, FAMILIES))),
    ),
    Requirement(
        "scales", "scale factors come for both matrices, for every row and all of K",
        _factors_fit,
        _factors,
        lambda r: f"sfa for {r.rows} rows and sfb for {r.n}, of K {r.k}, alike; or neither",
        "Block Scaling (Tables 54 and 55)",
    ),
    Requirement(
        "accumulator", "the accumulator is f32 in tensor memory",
        lambda r: r.d.dtype is ElementType.F32,
        lambda r: r.d.dtype.value,
        lambda r: "f32",
    ),
    Requirement(
        "shape", "the shapes of A, B and D do not belong together",
        lambda r: r.a_k == r.b.k and (r.d.m, r.d.n) == (r.m, r.n),
        lambda r: f"A {r.rows}x{r.a_k}, B {r.b.rows}x{r.b.k}, D {r.d.m}x{r.d.n}",
        lambda r: f"A {r.rows}x{r.a_k}, B {r.b.rows}x{r.a_k}, D {r.m}x{r.n}",
    ),
    Requirement(
        "columns", "the accumulator has fewer columns than this MMA writes",
        lambda r: r.d.columns is None or r.d.columns >= _columns(r),
        lambda r: f"{r.d.columns} columns of tensor memory",
        lambda r: f"{_columns(r)}, as tile(…, stationary=…, sparse=…) of the same MMA takes",
        "Data Path Layout Organization",
    ),
    Requirement(
        "m", "M does not fit the tensor core",
        lambda r: r.m in _m(r),
        lambda r: str(r.m),
        lambda r: f"{' or '.join(map(str, _m(r))) or 'no M'} with cta_group::{r.group}",
    ),
    Requirement(
        "n", "N does not fit the tensor core",
        _n,
        lambda r: str(r.n),
        lambda r: f"{series(r.columns()) or 'no N'} with cta_group::{r.group}",
    ),
    Requirement(
        "k", "K is no multiple of the instruction's K",
        lambda r: r.k > 0 and r.k % r.step == 0,
        lambda r: str(r.k),
        lambda r: f"a multiple of {r.step}",
    ),
    Requirement(
        "swizzle", "A and B lie swizzled, in whole spans",
        lambda r: all(map(_swizzled, r.shared)),
        lambda r: "; ".join(f"{t.name}: swizzle {t.swizzle}, {t.rows}x{t.k}" for t in r.shared),
        lambda r: "32, 64 or 128 bytes, and a multiple of the span along the major",
    ),
    Requirement(
        "major", "only 8-bit and 16-bit matrices may be MN-major",
        lambda r: all(map(_can_transpose, _transposed(r))),
        lambda r: ", ".join(f"{_type(t)} {t.major.value}-major" for t in _transposed(r)),
        lambda r: "K-major; kind::tf32 would need 32-byte atoms, which no tile has",
        "Valid Combinations of Type-Size, Major-ness and Swizzling (Table 52)",
    ),
    Requirement(
        "stationary", "a weight-stationary MMA is of one CTA, and only it has B's collectors",
        lambda r: r.group == 1 and not r.sfa if r.stationary else not (r.holds_b or r.masked),
        lambda r: f"cta_group::{r.group}" + (", with scale factors" if r.sfa else "")
        if r.stationary else "a collector of B, or a zero-column mask",
        lambda r: "cta_group::1 without scale factors" if r.stationary else "stationary=True",
        "tcgen05.mma.ws",
    ),
    Requirement(
        "collector", "a collector of B keeps what one instruction reads",
        lambda r: not r.holds_b or not r.all_steps or r.k == r.step,
        lambda r: f"{r.steps} steps of K",
        lambda r: "one: a call for each, with `step`",
        "tcgen05.mma.ws",
    ),
    Requirement(
        "shift", "columns are shifted by more than the data path can",
        lambda r: r.shift <= r.max_shift in ((0, 8, 16) if r.m == 32 else (0, 8, 16, 32)),
        lambda r: f"a shift of {r.shift}, at most {r.max_shift}",
        lambda r: "0, 8, 16 or, with M = 64 and 128, 32; no less than the mask's shift",
        "Zero-Column Mask Descriptor (Table 45)",
    ),
)  # fmt: skip
"""Everything gemm_async requires, as data; TVM's primitive of that name asks for the same."""


def check(request: Request) -> None:
    """Whether a request meets every requirement.

    Raises: InputError with one finding for each that it does not meet.
    """
    findings = unmet("gemm_async", REQUIREMENTS, request)
    problems = [(p, "Canonical Layouts") for p in _layout_problems(request)]
    problems += [(p, "Block Scaling (Tables 54 and 55)") for p in _scale_problems(request)]
    findings += [
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
    for tile in r.shared if r.family is not None else ():
        mode = SWIZZLES.get(tile.swizzle)
        if mode is None or mode is Swizzle.NONE:
            continue  # told with the requirements
        halved = r.sparse and tile is r.a
        k, step = (tile.k * 2, r.step) if halved else (tile.k, r.step)
        whole = MatrixShape(tile.rows, k, tile.bits, tile.major)
        layout = tile.descriptor()
        yield from check_umma_layout(whole, mode, sparse=halved)
        part = MatrixShape(tile.rows, step, tile.bits, tile.major)
        strides = Strides(layout.lbo, layout.sbo)
        wrong = check_umma_layout(part, mode, strides, sparse=halved)
        yield from (problem for problem in wrong if problem.rule == STRIDE_FAILURE)


def _scale_problems(r: Request) -> list[Problem]:
    if r.family is None or r.sfa is None or r.sfb is None:
        return []
    factors = r.sfa.dtype, r.sfb.dtype
    return check_block_scale(r.family.k, r.scale_size, r.a.dtype, r.b.dtype, *factors)
