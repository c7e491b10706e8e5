"""Bulk tensor copies (TMA): from global to shared memory and back, and bulk groups.

PTX ISA, Data Movement and Conversion Instructions: cp.async.bulk.tensor,
cp.async.bulk.commit_group, cp.async.bulk.wait_group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from intrinsics.limits import TENSOR_COPY_ALIGNMENT
from intrinsics.modifiers import (
    CacheHint,
    CtaGroup,
    Dim,
    LoadMode,
    Modifier,
    Multicast,
    ReadOnly,
    ScalarType,
    Space,
    StoreMode,
)
from intrinsics.row import (
    Attribute,
    Attributes,
    Completion,
    Effect,
    Effects,
    Llvm,
    Row,
    Rule,
    VectorNumbers,
    address,
    number,
    per,
    value,
    vector,
    when,
)
from intrinsics.rows.requirements import SM90
from intrinsics.rows.tcgen05 import MASK_NUMBERS, MASK_TYPE
from intrinsics.targets import Feature, at_least, since

RANKS = tuple(Dim)[1:-1]
HIGH_RANKS = (Dim.D3, Dim.D4, Dim.D5)
TILE_MODES = (LoadMode.TILE, LoadMode.GATHER4)
IM2COL_MODES = (LoadMode.IM2COL, LoadMode.IM2COL_W, LoadMode.IM2COL_W128)
WIDE_MODES = IM2COL_MODES[1:]

WITH_PAIRS = since("8.6", Feature.HAS_TWO_CTA_TMA)
"""Who has what came with the copies of CTA pairs: gathering, scattering, wide im2col anywhere."""

WIDE_TEXT = "wide im2col tensor copies are not supported on this architecture"

RANK_RULE = when(dim=(Dim.D0, Dim.D6)).must("rank", "TMA rank must be in the range 1..5", dim=RANKS)
IM2COL_RANK_TEXT = "im2col tensor copies require at least three dimensions"
FOUR_ROWS_TEXT = "four rows are gathered from or scattered to a tensor of two dimensions"
GATHER_RANK = when(mode=LoadMode.GATHER4).must("gather4-rank", FOUR_ROWS_TEXT, dim=Dim.D2)
IM2COL_RANK = when(mode=IM2COL_MODES, dim=(Dim.D1, Dim.D2)).must(
    "im2col-rank", IM2COL_RANK_TEXT, "a tile copy takes any rank", dim=HIGH_RANKS
)
STORE_RULES = (
    RANK_RULE,
    when(mode=StoreMode.IM2COL_NO_OFFS, dim=(Dim.D1, Dim.D2)).must(
        "im2col-rank", IM2COL_RANK_TEXT, "a tile copy takes any rank", dim=HIGH_RANKS
    ),
    when(mode=StoreMode.SCATTER4).must("scatter4-rank", FOUR_ROWS_TEXT, dim=Dim.D2),
    when(mode=StoreMode.SCATTER4).needs("scatter4-target", WITH_PAIRS),
)
"""The rules of stores, and of the reductions that stores may be."""

COORDS = vector(
    "coords",
    ScalarType.S32,
    per(
        {"mode": {LoadMode.GATHER4: 5, StoreMode.SCATTER4: 5}}, dim={d: max(d.rank, 1) for d in Dim}
    ),
    numbers=VectorNumbers.ALL,
)
"""Coordinates, innermost dimension first; of four rows: a column and the rows."""

OFFSETS = vector(
    "offsets",
    ScalarType.U16,
    per({"mode": dict.fromkeys(WIDE_MODES, 2)}, dim={d: max(d.rank - 2, 1) for d in Dim}),
    numbers=VectorNumbers.ALL,
)
"""Offsets within the window, innermost spatial dimension first; wide: the halo and the offset."""


def spelled(
    name: str,
    args: str,
    given: Attributes,
    *,
    modes: Mapping[str, Attribute] | None = None,
    high: bool = False,
    codes: Mapping[str, Mapping[int, Attribute]] | None = None,
    more: Mapping[str, Mapping[str, Attribute | Attributes]] | None = None,
) -> Iterator[Llvm]:
    """LLVM's names of a copy, and names for ranks that it cannot have, which a rule refuses.

    `modes` fills the hole `mode` in the name, `more` other holes; `high` ranks begin at 3.
    """
    ranks, others = (HIGH_RANKS, (Dim.D1, Dim.D2)) if high else (RANKS, (Dim.D0, Dim.D6))
    holes: dict[str, Mapping[str, Attribute | Attributes]] = dict(more or {})
    if modes:
        holes["mode"] = dict(modes)
    for own, dims in ((False, ranks), (True, others))[: 1 if more else 2]:
        here = {**holes, "dim": {d.value: d for d in dims}}
        yield Llvm(name + ".{dim}", args, given=given, holes=here, codes=codes or {}, own=own)


IM2COL_NAMES: dict[str, Attribute] = {
    "im2col": LoadMode.IM2COL,
    "im2col.w": LoadMode.IM2COL_W,
    "im2col.w.128": LoadMode.IM2COL_W128,
}
_CODES = {"cta_group": {0: None, 1: CtaGroup.ONE, 2: CtaGroup.TWO}}
_TO_CLUSTER: Attributes = {"dst_space": Space.SHARED_CLUSTER}
_TO_CTA: Attributes = {"dst_space": Space.SHARED_CTA}
_CLUSTER_TAIL = "i16:cta_mask, i64:cache_policy, i1?cta_mask, i1?cache_policy, i32#cta_group"
_CTA_TAIL = "i64:cache_policy, i1?cache_policy"
_GATHER: Attributes = {"mode": LoadMode.GATHER4, "dim": Dim.D2}
_SCATTER: Attributes = {"mode": StoreMode.SCATTER4, "dim": Dim.D2}
_QUALIFIERS: dict[str, tuple[Modifier, ...]] = {
    "multicast": tuple(Multicast),
    "cta_group": tuple(CtaGroup),
    "cache_hint": tuple(CacheHint),
}
_SPACES = (Space.SHARED_CLUSTER, Space.SHARED_CTA)
_LOADS = Effects(
    Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.ASYNC_PROXY,
    completion=Completion.TRANSACTION,
)
STORES = Effects(
    Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.ASYNC_PROXY,
    completion=Completion.BULK_GROUP,
)
_REPORTS = (
    "override::global_address", "mbarrier::report::disabled",
    "mbarrier::report::validity::per_16bytes::80000000",
    "mbarrier::report::validity::per_16bytes::8", "mbarrier::report::validity::per_element::ff",
)  # fmt: skip

# fmt: off
_LOAD_RULES: tuple[Rule, ...] = (
    RANK_RULE,
    when(dst_space=Space.SHARED_CTA).needs("shared-cta-version", since("8.6")),
    when(multicast=Multicast.CLUSTER_16B).needs("multicast-16b-version", since("9.4")),
    when(multicast=Multicast.CLUSTER_32B).needs(
        "multicast-32b-target", since("9.4", Feature.HAS_WIDE_MULTICAST)),
    when(multicast=tuple(Multicast)).needs(
        "multicast-target", since("8.0", Feature.HAS_CLUSTER_MULTICAST),
        "cluster multicast TMA requires a compatible SM target"),
    when(multicast=tuple(Multicast)).must(
        "multicast-space", "a multicast copy goes to .shared::cluster",
        dst_space=Space.SHARED_CLUSTER),
    when(cta_group=tuple(CtaGroup)).needs(
        "two-cta-target", WITH_PAIRS,
        "two-CTA TMA tensor copies are not supported on this architecture"),
)

TILE_LOAD = Row(
    "cp.async.bulk.tensor",
    ".dim.dst_space.global{.mode}.mbarrier::complete_tx::bytes"
    "{.multicast}{.cta_group}{.cache_hint}",
    "[dst], [tmap, coords], [mbar] {, cta_mask} {, cache_policy}",
    name="cp.async.bulk.tensor.load", opcode="CP_ASYNC_BULK_TENSOR_LOAD",
    qualifiers={"dim": Dim, "dst_space": _SPACES, "mode": TILE_MODES, **_QUALIFIERS},
    operands=(
        address("dst", "dst_space"),
        address("tmap", Space.GLOBAL, bare=True),
        COORDS,
        address("mbar", Space.SHARED),
        value("cta_mask", MASK_TYPE, MASK_NUMBERS, symbols=False),
        value("cache_policy", ScalarType.U64),
    ),
    aligned={"dst": TENSOR_COPY_ALIGNMENT},
    section="cp.async.bulk.tensor", needs=SM90,
    tied={"multicast": "cta_mask", "cache_hint": "cache_policy"},
    rules=(
        *_LOAD_RULES,
        GATHER_RANK,
        when(mode=LoadMode.GATHER4, dst_space=Space.SHARED_CTA).needs(
            "gather4-target", since("8.6", at_least(100))),
        when(mode=LoadMode.GATHER4, dst_space=Space.SHARED_CLUSTER).needs(
            "gather4-target", WITH_PAIRS, hint="to .shared::cta it exists on sm_100 and later"),
    ),
    effects=_LOADS,
    llvm=(
        *spelled("cp.async.bulk.tensor.g2s.tile",
                 f"p7:dst, p3:mbar, p:tmap, n*i32:coords, {_CLUSTER_TAIL}",
                 {**_TO_CLUSTER, "mode": LoadMode.TILE}, codes=_CODES),
        *spelled("cp.async.bulk.tensor.g2s.cta.tile",
                 f"p3:dst, p3:mbar, p:tmap, n*i32:coords, {_CTA_TAIL}",
                 {**_TO_CTA, "mode": LoadMode.TILE}),
        Llvm("cp.async.bulk.tensor.g2s.tile.gather4.2d",
             f"p7:dst, p3:mbar, p:tmap, n*i32:coords, {_CLUSTER_TAIL}",
             given={**_TO_CLUSTER, **_GATHER}, codes=_CODES),
        Llvm("cp.async.bulk.tensor.g2s.cta.tile.gather4.2d",
             f"p3:dst, p3:mbar, p:tmap, n*i32:coords, {_CTA_TAIL}",
             given={**_TO_CTA, **_GATHER}),
    ),
    elsewhere=("im2col_no_offs", "tile::scatter4", *_REPORTS),
)

IM2COL_LOAD = Row(
    "cp.async.bulk.tensor",
    ".dim.dst_space.global.mode.mbarrier::complete_tx::bytes{.multicast}{.cta_group}{.cache_hint}",
    "[dst], [tmap, coords], [mbar], offsets {, cta_mask} {, cache_policy}",
    name="cp.async.bulk.tensor.load.im2col", opcode="CP_ASYNC_BULK_TENSOR_LOAD",
    qualifiers={"dim": Dim, "dst_space": _SPACES, "mode": IM2COL_MODES, **_QUALIFIERS},
    operands=(
        address("dst", "dst_space"),
        address("tmap", Space.GLOBAL, bare=True),
        COORDS,
        address("mbar", Space.SHARED),
        OFFSETS,
        value("cta_mask", MASK_TYPE, MASK_NUMBERS, symbols=False),
        value("cache_policy", ScalarType.U64),
    ),
    aligned={"dst": TENSOR_COPY_ALIGNMENT},
    section="cp.async.bulk.tensor", needs=SM90,
    tied={"multicast": "cta_mask", "cache_hint": "cache_policy"},
    rules=(
        *_LOAD_RULES,
        IM2COL_RANK,
        when(mode=LoadMode.IM2COL_W, dst_space=Space.SHARED_CTA).needs(
            "wide-im2col-target", since("8.6", Feature.HAS_WIDE_IM2COL), WIDE_TEXT),
        when(mode=LoadMode.IM2COL_W, dst_space=Space.SHARED_CLUSTER).needs(
            "wide-im2col-target", WITH_PAIRS, WIDE_TEXT,
            "to .shared::cta it exists on sm_100 and later"),
        when(mode=LoadMode.IM2COL_W128).needs("wide-im2col-target", WITH_PAIRS, WIDE_TEXT),
    ),
    effects=_LOADS,
    llvm=(
        *spelled("cp.async.bulk.tensor.g2s.{mode}",
                 f"p7:dst, p3:mbar, p:tmap, n*i32:coords, n*i16:offsets, {_CLUSTER_TAIL}",
                 _TO_CLUSTER, modes=IM2COL_NAMES, high=True, codes=_CODES),
        *spelled("cp.async.bulk.tensor.g2s.cta.{mode}",
                 f"p3:dst, p3:mbar, p:tmap, n*i32:coords, n*i16:offsets, {_CTA_TAIL}",
                 _TO_CTA, modes=IM2COL_NAMES, high=True),
    ),
    elsewhere=_REPORTS,
)

TILE_STORE = Row(
    "cp.async.bulk.tensor",
    ".dim.global.shared::cta{.mode}.bulk_group{.cache_hint}",
    "[tmap, coords], [src] {, cache_policy}",
    name="cp.async.bulk.tensor.store", opcode="CP_ASYNC_BULK_TENSOR_STORE",
    qualifiers={"dim": Dim, "mode": StoreMode, "cache_hint": CacheHint},
    operands=(
        address("tmap", Space.GLOBAL, bare=True),
        COORDS,
        address("src", Space.SHARED),
        value("cache_policy", ScalarType.U64),
    ),
    aligned={"src": TENSOR_COPY_ALIGNMENT},
    section="cp.async.bulk.tensor", needs=SM90,
    tied={"cache_hint": "cache_policy"},
    rules=STORE_RULES, effects=STORES,
    llvm=(
        *spelled("cp.async.bulk.tensor.s2g.tile", f"p3:src, p:tmap, n*i32:coords, {_CTA_TAIL}",
                 {"mode": StoreMode.TILE}),
        *spelled("cp.async.bulk.tensor.s2g.im2col", f"p3:src, p:tmap, n*i32:coords, {_CTA_TAIL}",
                 {"mode": StoreMode.IM2COL_NO_OFFS}, high=True),
        Llvm("cp.async.bulk.tensor.s2g.tile.scatter4.2d",
             f"p3:src, p:tmap, n*i32:coords, {_CTA_TAIL}", given=_SCATTER),
    ),
    elsewhere=("override::global_address",),
)

COMMIT_GROUP = Row(
    "cp.async.bulk.commit_group",
    section="cp.async.bulk.commit_group", needs=since("8.0", at_least(90)),
    effects=Effects(Effect.BARRIER),
    llvm=(Llvm("cp.async.bulk.commit.group"),),
)

_READ: dict[str, Attributes] = {"": {"read": None}, ".read": {"read": ReadOnly.READ}}

WAIT_GROUP = Row(
    "cp.async.bulk.wait_group", "{.read}", "n",
    qualifiers={"read": ReadOnly}, operands=(number("n"),),
    section="cp.async.bulk.wait_group", needs=since("8.0", at_least(90)),
    effects=Effects(Effect.BARRIER),
    llvm=(Llvm("cp.async.bulk.wait.group{read}", "i32:n", holes={"read": _READ}),),
)
# fmt: on

ROWS = (TILE_LOAD, IM2COL_LOAD, TILE_STORE, COMMIT_GROUP, WAIT_GROUP)
