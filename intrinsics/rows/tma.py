"""Bulk tensor copies (TMA): tiles from global to shared memory and back, and bulk groups.

PTX ISA, Data Movement and Conversion Instructions: cp.async.bulk.tensor,
cp.async.bulk.commit_group, cp.async.bulk.wait_group.
"""

from __future__ import annotations

from intrinsics.modifiers import (
    CacheHint,
    CtaGroup,
    Dim,
    LoadMode,
    Multicast,
    ReadOnly,
    ScalarType,
    Space,
)
from intrinsics.row import (
    Completion,
    Effect,
    Effects,
    Facts,
    Llvm,
    Row,
    VectorNumbers,
    address,
    number,
    per,
    value,
    vector,
    when,
)
from intrinsics.rows.tcgen05 import MASK_NUMBERS, MASK_TYPE
from intrinsics.targets import Feature, at_least, named, since, with_feature

_DIM = {"dim": {d.value: d for d in Dim}}
_CODES = {
    "cta_group": {0: None, 1: CtaGroup.ONE, 2: CtaGroup.TWO},
}
_TO_CLUSTER: Facts = {"dst_space": Space.SHARED_CLUSTER, "mode": LoadMode.TILE}
_TO_CTA: Facts = {"dst_space": Space.SHARED_CTA, "mode": LoadMode.TILE}

# fmt: off
TILE_LOAD = Row(
    "cp.async.bulk.tensor",
    ".dim.dst_space.global{.mode}.mbarrier::complete_tx::bytes"
    "{.multicast}{.cta_group}{.cache_hint}",
    "[dst], [tmap, coords], [mbar] {, cta_mask} {, cache_policy}",
    name="cp.async.bulk.tensor.load", opcode="CP_ASYNC_BULK_TENSOR_LOAD",
    axes={"dim": Dim, "dst_space": (Space.SHARED_CLUSTER, Space.SHARED_CTA), "mode": LoadMode,
          "multicast": Multicast, "cta_group": CtaGroup, "cache_hint": CacheHint},
    operands=(
        address("dst", "dst_space"),
        address("tmap", Space.GLOBAL, bare=True),
        vector("coords", ScalarType.S32, per(dim={d: d.rank for d in Dim}),
               numbers=VectorNumbers.ALL),
        address("mbar", Space.SHARED),
        value("cta_mask", MASK_TYPE, MASK_NUMBERS, symbols=False),
        value("cache_policy", ScalarType.U64),
    ),
    section="cp.async.bulk.tensor",
    needs=since("8.0", at_least(90)),
    tied={"multicast": "cta_mask", "cache_hint": "cache_policy"},
    rules=(
        when(dst_space=Space.SHARED_CTA).needs("shared-cta-version", since("8.6")),
        when(multicast=Multicast.CLUSTER_16B).needs("multicast-16b-version", since("9.4")),
        when(multicast=Multicast.CLUSTER_32B).needs("multicast-32b-target",
                                                    since("9.4", named("107af"))),
        when(multicast=tuple(Multicast)).needs(
            "multicast-target", since("8.0", with_feature(Feature.HAS_CLUSTER_MULTICAST)),
            "cluster multicast TMA requires a compatible SM target"),
        when(multicast=tuple(Multicast)).must(
            "multicast-space", "a multicast copy goes to .shared::cluster",
            dst_space=Space.SHARED_CLUSTER),
        when(cta_group=tuple(CtaGroup)).needs(
            "two-cta-target", since("8.6", with_feature(Feature.HAS_TWO_CTA_TMA)),
            "two-CTA TMA tensor copies are not supported on this architecture"),
    ),
    effects=Effects(
        Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.ASYNC_PROXY,
        completion=Completion.TRANSACTION),
    llvm=(
        Llvm("cp.async.bulk.tensor.g2s.tile.{dim}",
             "p7:dst, p3:mbar, p:tmap, i32*:coords, i16:cta_mask, i64:cache_policy, "
             "i1?cta_mask, i1?cache_policy, i32#cta_group",
             given=_TO_CLUSTER, holes=_DIM, codes=_CODES),
        Llvm("cp.async.bulk.tensor.g2s.cta.tile.{dim}",
             "p3:dst, p3:mbar, p:tmap, i32*:coords, i64:cache_policy, i1?cache_policy",
             given=_TO_CTA, holes=_DIM),
    ),
    elsewhere=(
        "im2col", "im2col_no_offs", "im2col::w", "im2col::w::128", "tile::gather4",
        "tile::scatter4", "override::global_address", "mbarrier::report::disabled",
        "mbarrier::report::validity::per_16bytes::80000000",
        "mbarrier::report::validity::per_16bytes::8", "mbarrier::report::validity::per_element::ff",
    ),
)

TILE_STORE = Row(
    "cp.async.bulk.tensor",
    ".dim.global.shared::cta{.mode}.bulk_group{.cache_hint}",
    "[tmap, coords], [src] {, cache_policy}",
    name="cp.async.bulk.tensor.store", opcode="CP_ASYNC_BULK_TENSOR_STORE",
    axes={"dim": Dim, "mode": LoadMode, "cache_hint": CacheHint},
    operands=(
        address("tmap", Space.GLOBAL, bare=True),
        vector("coords", ScalarType.S32, per(dim={d: d.rank for d in Dim}),
               numbers=VectorNumbers.ALL),
        address("src", Space.SHARED),
        value("cache_policy", ScalarType.U64),
    ),
    section="cp.async.bulk.tensor",
    needs=since("8.0", at_least(90)),
    tied={"cache_hint": "cache_policy"},
    effects=Effects(
        Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.ASYNC_PROXY,
        completion=Completion.BULK_GROUP),
    llvm=(
        Llvm("cp.async.bulk.tensor.s2g.tile.{dim}",
             "p3:src, p:tmap, i32*:coords, i64:cache_policy, i1?cache_policy",
             given={"mode": LoadMode.TILE}, holes=_DIM),
    ),
    elsewhere=("im2col_no_offs", "tile::scatter4", "override::global_address"),
)

COMMIT_GROUP = Row(
    "cp.async.bulk.commit_group",
    section="cp.async.bulk.commit_group", needs=since("8.0", at_least(90)),
    effects=Effects(Effect.BARRIER),
    llvm=(Llvm("cp.async.bulk.commit.group"),),
)

_READ: dict[str, Facts] = {"": {"read": None}, ".read": {"read": ReadOnly.READ}}

WAIT_GROUP = Row(
    "cp.async.bulk.wait_group", "{.read}", "n",
    axes={"read": ReadOnly}, operands=(number("n"),),
    section="cp.async.bulk.wait_group", needs=since("8.0", at_least(90)),
    effects=Effects(Effect.BARRIER),
    llvm=(Llvm("cp.async.bulk.wait.group{read}", "i32:n", holes={"read": _READ}),),
)
# fmt: on

ROWS = (TILE_LOAD, TILE_STORE, COMMIT_GROUP, WAIT_GROUP)
