"""What the options of a multiply into tensor memory require, as data.

Layer: nvgen.builder.  Input: one call of it.  PTX ISA, tcgen05.mma; tcgen05.mma.ws; Zero-Column
Mask Descriptor (Table 45); Transpose and Negate operations (Table 49).
"""

from __future__ import annotations

from intrinsics.descriptors.idesc import FP4_KINDS
from intrinsics.modifiers import CollectorA, MmaKind
from intrinsics.targets import Feature, spell, with_feature
from nvgen.builder.tensor_requests import SHIFTS, TensorRequest
from nvgen.builder.tensor_tiles import LeftTile
from nvgen.builder.tiles import SharedTile
from nvgen.calling.refusals import Requirement

_SCALING = with_feature(Feature.HAS_SCALE_INPUT_ACCUMULATOR)
_K96_TARGETS = with_feature(Feature.HAS_TCGEN05_K96)
_MMA = "tcgen05.mma"
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


# fmt: off
OPTION_REQUIREMENTS: tuple[Requirement[TensorRequest], ...] = (
    Requirement(
        "stationary", "a weight-stationary MMA is of one CTA, and only it has B's collectors",
        lambda r: r.group == 1 and not r.options.sfa if r.stationary
        else not (r.options.holds_b or r.options.masked),
        lambda r: f"cta_group::{r.group}" + (", with scale factors" if r.options.sfa else "")
        if r.stationary else "a collector of B, or a zero-column mask",
        lambda r: "cta_group::1 without scale factors" if r.stationary else "stationary=True",
        "tcgen05.mma.ws",
        hint=lambda r: "leave out cta_group and scale factors" if r.stationary
        else "stationary=True, or leave collector, zero_mask and max_shift out",
    ),
    Requirement(
        "collector", "a collector of B keeps what one instruction reads",
        lambda r: not r.options.holds_b or r.instructions <= 1,
        "{r.instructions} instructions", "one: a call for each, with `step`", "tcgen05.mma.ws",
        hint="a loop over the steps, and in it gemm_async(…, step=…, collector=…)",
    ),
    Requirement(
        "zero-mask", "a zero-column mask is for the columns of one instruction",
        lambda r: r.options.zero_mask is None or len(r.column_pieces()) <= 1,
        lambda r: f"N {r.n} in {len(r.column_pieces())} pieces",
        lambda r: f"one of {', '.join(map(str, r.widths()))}",
        "Zero-Column Mask Descriptor (Table 45)",
        hint="a call for each piece of N, with parts of B and a mask of its own",
    ),
    Requirement(
        "shift", "columns are shifted by more than the data path can",
        lambda r: r.options.shift <= r.options.most_shifted
        in SHIFTS[: 3 if r.m == 32 else 4],
        "a shift of {r.options.shift}, at most {r.options.most_shifted}",
        "0, 8, 16 or, with M = 64 and 128, 32; no less than the mask's shift",
        "Zero-Column Mask Descriptor (Table 45)",
        hint="leave max_shift out: it follows from the mask",
    ),
    Requirement(
        "collector-a", "the collector of A keeps what one instruction reads",
        _keeps_a,
        lambda r: f"{r.options.collector_a.value}{', reuse_a' if r.options.reuse_a else ''}, "
        f"{r.instructions} instructions{', stationary' if r.stationary else ''}",
        "one of both, without stationary: reuse_a for a nest, collector_a for a call of "
        "one instruction", _MMA, hint="reuse_a=True fills, uses and gives up by itself",
    ),
    Requirement(
        "ashift", "ashift moves 128 rows of A in tensor memory, which no collector keeps",
        _shifts_a,
        lambda r: f"{r.rows} rows in {'shared' if isinstance(r.a, SharedTile) else 'tensor'} "
        f"memory, {r.options.collector_a.value}{', reuse_a' if r.options.reuse_a else ''}"
        + _beside(r),
        "operand_tile(128, …), collector::a::lastuse or discard, neither stationary nor "
        "scale factors", _MMA, hint="a call for each 128 rows",
    ),
    Requirement(
        "negate", "kind::i8 has no negate",
        lambda r: r.kind is not MmaKind.I8 or not (r.options.negate_a or r.options.negate_b),
        lambda r: " and ".join(
            name for name in ("negate_a", "negate_b") if getattr(r.options, name)
        ), "no negate", "Transpose and Negate operations (Table 49)",
        hint="negate the sums in the epilogue",
    ),
    Requirement(
        "scale-d", "D is scaled by 2^-n before it is added to, by kind::f16 and kind::tf32",
        _scales_d,
        _scaled_by,
        lambda r: "0..15 with f16, bf16 or tf32, with accumulate, not stationary, on "
        + spell(_SCALING), _MMA, hint="scale D in the epilogue instead",
    ),
    Requirement(
        "lane-mask", "a lane mask has a bit for each lane, and no place in this MMA",
        _lanes_masked,
        lambda r: f"{_words(r)} words" + _beside(r),
        lambda r: f"{4 * r.group} words with cta_group::{r.group}, neither stationary nor scale "
        "factors", _MMA, hint="a list of words, lane 0 in bit 0 of the first",
    ),
    Requirement(
        "k96", "K = 96 is of 4-bit kinds, on a dense pair with M = 256 and N up to 256",
        _k96,
        lambda r: f"{r.kind.value}, {r.m}x{r.n} with cta_group::{r.group}"
        f"{', sparse' if r.sparse else ''}, swizzles "
        + " and ".join(str(t.swizzle) for t in r.shared)
        + (f" on {r.builder.target}" if r.builder.target else ""),
        lambda r: "256x16..256 of e2m1 with scale factors, swizzle 0 or 128, on "
        + spell(_K96_TARGETS), hint="leave k96 out: K = 64 at once exists everywhere",
    ),
)
# fmt: on
"""What the options ask for."""
