"""What a multiply into tensor memory requires, as data, and the check of a call.

Layer: nvgen.multiplies.  Input: one call of it.  Output: an error that names everything that does
not hold.  PTX ISA, tcgen05.mma; tcgen05.mma.ws; Matrix Shape (Table 39); Canonical Layouts; Block
Scaling (Tables 54 and 55); Zero-Column Mask Descriptor (Table 45); Transpose and Negate operations
(Table 49).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from intrinsics.descriptors.idesc import OUTPUT_CODES, series
from intrinsics.descriptors.smem_strides import Strides
from intrinsics.descriptors.smem_strides import Tile as MatrixShape
from intrinsics.element import ElementType, Major
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.layouts.umma_layout import K_SIZE, MN_SIZE, STRIDE_FAILURE, check_umma_layout
from intrinsics.limits import COLUMNS
from intrinsics.modifiers import FP4_KINDS, CollectorA, MmaKind
from intrinsics.multiplies.block_scale import check_block_scale
from intrinsics.multiplies.tensor_shapes import FAMILIES, nearest
from intrinsics.row import Problem
from intrinsics.targets import Feature, spell, with_feature
from nvgen.calling.refusals import Requirement, described, unmet
from nvgen.instructions.roles import ExecutionScope
from nvgen.multiplies.accumulators import SHIFTS, one_kernel
from nvgen.multiplies.tensor_gemm import TensorRequest
from nvgen.multiplies.tensor_tiles import LeftTile
from nvgen.shared_memory.tiles import PLAIN_SPAN, SharedTile, fitting_swizzle
from nvgen.values.pointers import Pointer

_WITH_TENSOR_MEMORY = with_feature(Feature.HAS_TMEM)


def _sums(r: TensorRequest) -> tuple[ElementType, ...]:
    """The types that D may have."""
    found = OUTPUT_CODES.get(r.kind, {1: ElementType.F32}).values()
    halves = ElementType.BF16 not in (r.a.dtype, r.b.dtype)
    return tuple(t for t in found if t is not ElementType.F16 or halves)


def _columns(r: TensorRequest) -> int:
    """Columns that the accumulator has, or may have."""
    return COLUMNS if r.d.columns is None else r.d.columns


def _type(tile: LeftTile) -> str:
    packed = f" in {tile.bits} bits" if tile.bits != tile.dtype.bits else ""
    return tile.dtype.value + packed


def _in_parts(parts: int) -> str:
    return f" in {parts} parts" if parts > 1 else ""


def _factors(r: TensorRequest) -> str:
    return ", ".join(
        f"{name} for {tile.rows} rows{_in_parts(tile.parts)} of K {tile.k}, one for {tile.size} "
        f"{tile.dtype.value}"
        if tile
        else f"no {name}"
        for name, tile in (("sfa", r.options.sfa), ("sfb", r.options.sfb))
    )


def _factors_fit(r: TensorRequest) -> bool:
    a, b = r.options.sfa, r.options.sfb
    if a is None or b is None:
        return a is b
    same = (a.size, a.dtype, a.k) == (b.size, b.dtype, b.k)
    parts = a.parts == 1 and b.parts == r.scale_parts
    return same and parts and a.k == r.k and a.rows == r.rows and b.rows == r.n


def _in_spans(r: TensorRequest) -> bool:
    """Whether the spans of every tile are whole; not asked of a K that no instruction has."""
    told = r.k % r.depth != 0
    along = [told or tile.k % tile.span == 0 for tile in r.shared if tile.major is Major.K]
    return all(along) and all(t.rows % t.span == 0 for t in r.shared if t.major is Major.MN)


def _has_legal_swizzle(tile: SharedTile) -> bool:
    """Whether a matrix of its type may lie in its major and swizzling (Table 52)."""
    if tile.major is Major.K:
        return tile.atom == PLAIN_SPAN
    if tile.dtype is ElementType.TF32:
        return tile.atom != PLAIN_SPAN
    return tile.dtype.bits in (8, 16) and tile.atom == PLAIN_SPAN


def _nearest(name: str, size: int, sizes: Iterable[int]) -> str:
    found = nearest(size, sizes)
    return f"the nearest {name}: {' or '.join(map(str, found))}" if found else ""


def _fitting(r: TensorRequest) -> str:
    """The widest swizzling whose spans are whole in both."""
    return fitting_swizzle(*(tile.line_bytes for tile in r.shared))


def _major(tile: SharedTile) -> str:
    return f"{_type(tile)} {tile.major.value}-major, {tile.mode.words}"


# ---- options -------------------------------------------------------------------------------------

_SCALING = with_feature(Feature.HAS_SCALE_INPUT_ACCUMULATOR)
_K96_TARGETS = with_feature(Feature.HAS_TCGEN05_K96)
_MMA, _SHAPES = "tcgen05.mma", "Matrix Shape (Table 39)"
_KEEPS = (CollectorA.FILL, CollectorA.USE)


def _words(r: TensorRequest) -> int:
    return len(list(r.options.lane_mask or ()))


def _beside(r: TensorRequest) -> str:
    factors = ", with scale factors" if r.options.sfa else ""
    return (", stationary" if r.stationary else "") + factors


def _lanes_masked(r: TensorRequest) -> bool:
    if r.options.lane_mask is None:
        return True
    return not r.stationary and not r.options.sfa and _words(r) == 4 * r.group


def _scales_d(r: TensorRequest) -> bool:
    power = r.options.scale_d
    if power is None:
        return True
    able = r.kind in (MmaKind.F16, MmaKind.TF32) and not r.stationary
    known = r.builder.target is None or r.builder.target in _SCALING
    return able and known and 0 <= power <= 15 and r.accumulate is not False


def _scaled_by(r: TensorRequest) -> str:
    ws = ", stationary" if r.stationary else ""
    adds = ", without accumulate" if r.accumulate is False else ""
    target = f" on {r.builder.target}" if r.builder.target else ""
    return f"scale_d {r.options.scale_d} with {r.kind.value}{ws}{adds}{target}"


def _shifts_a(r: TensorRequest) -> bool:
    options = r.options
    if not options.ashift:
        return True
    kept = options.reuse_a or options.collector_a in _KEEPS
    plain = not (r.stationary or options.sfa or kept)
    return plain and not isinstance(r.a, SharedTile) and r.rows == 128


def _keeps_a(r: TensorRequest) -> bool:
    options = r.options
    if r.stationary:
        return not options.reuse_a and options.collector_a is CollectorA.DISCARD
    if options.reuse_a:
        return options.collector_a is CollectorA.DISCARD
    return options.collector_a is CollectorA.DISCARD or r.instructions == 1


def _reads_96(tile: LeftTile) -> bool:
    return not isinstance(tile, SharedTile) or tile.swizzle in (0, 128)


def _k96(r: TensorRequest) -> bool:
    if not r.options.k96:
        return True
    if r.builder.target is not None and r.builder.target not in _K96_TARGETS:
        return False
    shape = r.group == 2 and r.m == 256 and r.n <= 256 and not r.sparse
    return r.kind in FP4_KINDS and shape and _reads_96(r.a) and _reads_96(r.b)


# ---- the table -----------------------------------------------------------------------------------

REQUIREMENTS: tuple[Requirement[TensorRequest], ...] = (
    one_kernel(_SHAPES, hint="shared_tile(…), tile(…) and the rest of one KernelBuilder"),
    Requirement("target", "the target has no multiplies into tensor memory",
        lambda r: r.builder.target is None or r.builder.target in _WITH_TENSOR_MEMORY,
        "{r.builder.target}", lambda r: spell(_WITH_TENSOR_MEMORY), "tcgen05.mma",
        hint="accumulator(…) is multiplied by what each target has"),
    Requirement("scope", "gemm_async is issued by a single thread or one warp",
        lambda r: r.scope in (ExecutionScope.WARP, ExecutionScope.THREAD), "{r.scope.value}",
        "inside `b.if_warp(…)` or `b.elect()`",
        hint="in the scope of a warp one of its threads is elected"),
    Requirement("dtype", "A and B have element types that no kind of MMA multiplies",
        lambda r: r.family is not None, lambda r: f"{_type(r.a)} x {_type(r.b)}"
        + (", with scale factors" if r.options.sfa else ""),
        lambda r: "; ".join(dict.fromkeys(map(str, FAMILIES))),
        hint="bring A and B in types of one of these; padded=True has 4 bits in a byte"),
    Requirement("scales", "scale factors come for both matrices, for every row and all of K",
        _factors_fit, _factors,
        lambda r: f"sfa for {r.rows} rows and sfb for {r.n}{_in_parts(r.scale_parts)}, of K {r.k}, "
        "alike; or neither", "Block Scaling (Tables 54 and 55)",
        hint="scale_tiles(rows, k, 1, …, parts=…) of tensor memory, filled by copy_scales"),
    Requirement("accumulator", "the accumulator has another type than the sums of A and B",
        lambda r: r.family is None or r.d.dtype in _sums(r), "{r.d.dtype.value}",
        lambda r: " or ".join(t.value for t in _sums(r)),
        hint=lambda r: f"tile(m, n, ElementType.{_sums(r)[-1].name})"),
    Requirement("shape", "the shapes of A, B and D do not belong together",
        lambda r: r.a_k == r.b.k and (r.d.m, r.d.n) == (r.m, r.n),
        "A {r.rows}x{r.a_k}, B {r.b.rows}x{r.b.k}, D {r.d.m}x{r.d.n}",
        "A {r.rows}x{r.a_k}, B {r.b.rows}x{r.a_k}, D {r.m}x{r.n}",
        hint="A is M x K, B N x K, D M x N, where rows of both CTAs of a pair count"),
    Requirement("columns", "the accumulator has fewer columns than this MMA writes",
        lambda r: r.columns_of(r.m, r.n) <= _columns(r),
        lambda r: f"{_columns(r)} columns of tensor memory",
        lambda r: f"{r.columns_of(r.m, r.n)}, as tile(…, stationary=…, sparse=…) of the same MMA "
        "takes", "Data Path Layout Organization",
        hint="fewer rows or columns, or a tile(…) of the same MMA"),
    Requirement("m", "M is not made of what the tensor core multiplies at once",
        lambda r: bool(r.row_pieces()), "{r.m}",
        lambda r: f"{' or '.join(map(str, r.heights())) or 'no M'} with cta_group::{r.group}, "
        "or a sum of them", hint=lambda r: _nearest("M", r.m, r.heights())),
    Requirement("n", "N is not made of what the tensor core multiplies at once",
        lambda r: bool(r.column_pieces()), "{r.n}",
        lambda r: f"{series(r.widths()) or 'no N'} with cta_group::{r.group}, or a sum of them",
        hint=lambda r: _nearest("N", r.n, r.widths())),
    Requirement("k", "K is no multiple of the instruction's K",
        lambda r: r.family is None or (r.k > 0 and r.k % r.depth == 0), "{r.k}",
        "a multiple of {r.depth}",
        hint=lambda r: f"K = {-(-max(r.k, 1) // r.depth) * r.depth}, with zeros in what is added"),
    Requirement("swizzle", "A and B lie in whole spans of their swizzling", _in_spans,
        lambda r: "; ".join(f"{t.name}: {t.mode.words}, {t.rows}x{t.k}" for t in r.shared),
        lambda r: "a multiple of " + "; ".join(
        f"{t.span} {'k' if t.major is Major.K else 'rows'} of {t.name}" for t in r.shared
        ), hint=_fitting),
    Requirement("major", "a matrix of this type has no such major and swizzling",
        lambda r: all(map(_has_legal_swizzle, r.shared)),
        lambda r: ", ".join(_major(t) for t in r.shared if not _has_legal_swizzle(t)),
        "K-major, or MN-major: of 8 and 16 bits, of tf32 with swizzle=128 and atom=32",
        "Valid Combinations of Type-Size, Major-ness and Swizzling (Table 52)",
        hint="shared_tile(…, major=…, swizzle=…, atom=…), and tensor_map alike"),
    Requirement("stationary",
        "a weight-stationary MMA is of one CTA, and only it has B's collectors",
        lambda r: r.group == 1 and not r.options.sfa if r.stationary
        else not (r.options.holds_b or r.options.masked),
        lambda r: f"cta_group::{r.group}" + (", with scale factors" if r.options.sfa else "")
        if r.stationary else "a collector of B, or a zero-column mask",
        lambda r: "cta_group::1 without scale factors" if r.stationary else "stationary=True",
        "tcgen05.mma.ws", hint=lambda r: "leave out cta_group and scale factors" if r.stationary
        else "stationary=True, or leave collector, zero_mask and max_shift out"),
    Requirement("collector", "a collector of B keeps what one instruction reads",
        lambda r: not r.options.holds_b or r.instructions <= 1, "{r.instructions} instructions",
        "one: a call for each, with `step`", "tcgen05.mma.ws",
        hint="a loop over the steps, and in it gemm_async(…, step=…, collector=…)"),
    Requirement("zero-mask", "a zero-column mask is for the columns of one instruction",
        lambda r: r.options.zero_mask is None or len(r.column_pieces()) <= 1,
        lambda r: f"N {r.n} in {len(r.column_pieces())} pieces",
        lambda r: f"one of {', '.join(map(str, r.widths()))}",
        "Zero-Column Mask Descriptor (Table 45)",
        hint="a call for each piece of N, with parts of B and a mask of its own"),
    Requirement("shift", "columns are shifted by more than the data path can",
        lambda r: r.options.shift <= r.options.most_shifted
        in SHIFTS[: 3 if r.m == 32 else 4],
        "a shift of {r.options.shift}, at most {r.options.most_shifted}",
        "0, 8, 16 or, with M = 64 and 128, 32; no less than the mask's shift",
        "Zero-Column Mask Descriptor (Table 45)",
        hint="leave max_shift out: it follows from the mask"),
    Requirement("collector-a", "the collector of A keeps what one instruction reads", _keeps_a,
        lambda r: f"{r.options.collector_a.value}{', reuse_a' if r.options.reuse_a else ''}, "
        f"{r.instructions} instructions{', stationary' if r.stationary else ''}",
        "one of both, without stationary: reuse_a for a nest, collector_a for a call of "
        "one instruction", _MMA, hint="reuse_a=True fills, uses and gives up by itself"),
    Requirement("ashift", "ashift moves 128 rows of A in tensor memory, which no collector keeps",
        _shifts_a,
        lambda r: f"{r.rows} rows in {'shared' if isinstance(r.a, SharedTile) else 'tensor'} "
        f"memory, {r.options.collector_a.value}{', reuse_a' if r.options.reuse_a else ''}"
        + _beside(r),
        "operand_tile(128, …), collector::a::lastuse or discard, neither stationary nor "
        "scale factors", _MMA, hint="a call for each 128 rows"),
    Requirement("negate", "kind::i8 has no negate",
        lambda r: r.kind is not MmaKind.I8 or not (r.options.negate_a or r.options.negate_b),
        lambda r: " and ".join(
        name for name in ("negate_a", "negate_b") if getattr(r.options, name)
        ), "no negate", "Transpose and Negate operations (Table 49)",
        hint="negate the sums in the epilogue"),
    Requirement("scale-d", "D is scaled by 2^-n before it is added to, by kind::f16 and kind::tf32",
        _scales_d, _scaled_by,
        lambda r: "0..15 with f16, bf16 or tf32, with accumulate, not stationary, on "
        + spell(_SCALING), _MMA, hint="scale D in the epilogue instead"),
    Requirement("metadata", "metadata of a sparse A are in tensor memory",
        lambda r: r.options.metadata is None or isinstance(r.options.metadata, Pointer),
        lambda r: described(r.options.metadata), "tmem.metadata(…)", _MMA,
        hint="b.copy_metadata brings them there; registers are a warpgroup's"),
    Requirement("lane-mask", "a lane mask has a bit for each lane, and no place in this MMA",
        _lanes_masked, lambda r: f"{_words(r)} words" + _beside(r),
        lambda r: f"{4 * r.group} words with cta_group::{r.group}, neither stationary nor scale "
        "factors", _MMA, hint="a list of words, lane 0 in bit 0 of the first"),
    Requirement("k96", "K = 96 is of 4-bit kinds, on a dense pair with M = 256 and N up to 256",
        _k96, lambda r: f"{r.kind.value}, {r.m}x{r.n} with cta_group::{r.group}"
        f"{', sparse' if r.sparse else ''}, swizzles "
        + " and ".join(str(t.swizzle) for t in r.shared)
        + (f" on {r.builder.target}" if r.builder.target else ""),
        lambda r: "256x16..256 of e2m1 with scale factors, swizzle 0 or 128, on "
        + spell(_K96_TARGETS), hint="leave k96 out: K = 64 at once exists everywhere"),
)  # fmt: skip
"""Everything gemm_async requires, as data; TVM's primitive of that name asks for the same."""


_COVERED_BY = {K_SIZE: ("k", "swizzle"), MN_SIZE: ("m", "n", "swizzle")}
"""Requirements that say the same of a matrix as tile compilers do in other words."""


def check(request: TensorRequest) -> None:
    """Whether a request meets every requirement.

    What several requirements ask for is one finding, of the first of them; the words of tile
    compilers then stand in its hint.
    """
    findings = unmet("gemm_async", REQUIREMENTS, request)
    for problem in dict.fromkeys(_layout_problems(request)):
        first = _covering(findings, problem)
        if first is None:
            findings.append(_finding(problem, "Canonical Layouts"))
        elif problem.text not in findings[first].hint:
            hint = "; ".join(filter(None, (findings[first].hint, problem.text)))
            findings[first] = replace(findings[first], hint=hint)
    findings += [_finding(p, "Block Scaling (Tables 54 and 55)") for p in _scale_problems(request)]
    if findings:
        raise InputError(findings)


def _covering(findings: list[Finding], problem: Problem) -> int | None:
    """Which finding says already what keeps a matrix from lying as a multiply reads it."""
    rules = [f"gemm_async/{rule}" for rule in _COVERED_BY.get(problem.rule, ())]
    return next((i for i, found in enumerate(findings) if found.rule in rules), None)


def _finding(problem: Problem, section: str) -> Finding:
    return Finding(
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


def _layout_problems(r: TensorRequest) -> Iterator[Problem]:
    """Whether A and B lie as an instruction reads them: as wholes, and what it takes at once."""
    for tile in r.shared if r.family is not None else ():
        halved = r.sparse and tile is r.a
        k, step = (tile.k * 2, r.depth) if halved else (tile.k, r.depth)
        whole = MatrixShape(tile.rows, k, tile.bits, tile.major)
        layout = tile.descriptor()
        yield from check_umma_layout(whole, tile.mode, sparse=halved)
        part = MatrixShape(tile.rows, step, tile.bits, tile.major)
        strides = Strides(layout.lbo, layout.sbo)
        wrong = check_umma_layout(part, tile.mode, strides, sparse=halved)
        yield from (problem for problem in wrong if problem.rule == STRIDE_FAILURE)


def _scale_problems(r: TensorRequest) -> list[Problem]:
    sfa, sfb = r.options.sfa, r.options.sfb
    if r.family is None or sfa is None or sfb is None:
        return []
    factors = sfa.dtype, sfb.dtype
    return check_block_scale(r.family.k, r.scale_size, r.a.dtype, r.b.dtype, *factors)
