"""Bulk copies of bytes in a row: to shared memory, to another CTA's, to global memory, to L2.

PTX ISA, Data Movement and Conversion Instructions: cp.async.bulk; cp.async.bulk.prefetch.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.limits import BULK_COPY_ALIGNMENT
from intrinsics.modifiers import (
    ByteMask,
    CacheHint,
    L2Eviction,
    Modifier,
    Multicast,
    ScalarType,
    Scope,
    Sem,
    Space,
)
from intrinsics.row import (
    Attributes,
    Completion,
    Effect,
    Effects,
    Llvm,
    Numbers,
    Row,
    Rule,
    address,
    value,
    when,
)
from intrinsics.rows.requirements import SM90
from intrinsics.rows.tcgen05 import MASK_NUMBERS, MASK_TYPE
from intrinsics.targets import Feature, at_least, since

SIZE = value("size", ScalarType.U32, Numbers(0, (1 << 20) - 16, multiple=16))
"""Bytes of a bulk operation, all of them in pieces of 16."""

POLICY = value("cache_policy", ScalarType.U64)
BYTE_MASK = value("byte_mask", ScalarType.U16, symbols=False)
CACHE_HINT = {"cache_hint": "cache_policy"}

_TOUCHES = Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.ASYNC_PROXY
BY_TRANSACTION = Effects(_TOUCHES, completion=Completion.TRANSACTION)
BY_GROUP = Effects(_TOUCHES, completion=Completion.BULK_GROUP)

_SEM = since("9.3", at_least(90))
_STRONG = "a relaxed copy has a scope, and the type .b128 of what it copies at once"
_NEAR = (Scope.CTA, Scope.CLUSTER)


def ordered(scopes: Iterable[Scope] = Scope) -> dict[str, Iterable[Modifier]]:
    """The modifiers of a copy that may be strong."""
    return {"sem": (Sem.WEAK, Sem.RELAXED), "scope": scopes, "type": (ScalarType.B128,)}


def strong_order(scopes: Iterable[Scope] = Scope) -> tuple[Rule, ...]:
    """The rules of .relaxed: the scope and the type that it needs, and that need it."""
    return (
        when(sem=(Sem.WEAK, Sem.RELAXED)).needs("sem-version", _SEM),
        when(sem=Sem.RELAXED).must("relaxed", _STRONG, scope=scopes),
        when(sem=Sem.RELAXED).must("relaxed", _STRONG, type=ScalarType.B128),
        when(scope=scopes).must("relaxed", _STRONG, sem=Sem.RELAXED),
        when(type=ScalarType.B128).must("relaxed", _STRONG, sem=Sem.RELAXED),
    )


# fmt: off
LOAD = Row(
    "cp.async.bulk",
    "{.sem}{.scope}.dst_space.global.mbarrier::complete_tx::bytes{.multicast}{.cache_hint}{.type}",
    "[dst], [src], size, [mbar] {, cta_mask} {, cache_policy}",
    name="cp.async.bulk.load", opcode="CP_ASYNC_BULK_LOAD",
    qualifiers={**ordered(), "dst_space": (Space.SHARED_CLUSTER, Space.SHARED_CTA),
                "multicast": Multicast, "cache_hint": CacheHint},
    operands=(
        address("dst", "dst_space"),
        address("src", Space.GLOBAL),
        SIZE,
        address("mbar", Space.SHARED, wide=True),
        value("cta_mask", MASK_TYPE, MASK_NUMBERS, symbols=False),
        POLICY,
    ),
    aligned={"dst": BULK_COPY_ALIGNMENT},
    section="cp.async.bulk", needs=SM90,
    tied={"multicast": "cta_mask", **CACHE_HINT},
    rules=(
        when(dst_space=Space.SHARED_CTA).needs("shared-cta-version", since("8.6")),
        when(multicast=Multicast.CLUSTER_16B).needs("multicast-16b-version", since("9.4")),
        when(multicast=Multicast.CLUSTER_32B).needs(
            "multicast-32b-target", since("9.4", Feature.HAS_WIDE_MULTICAST)),
        when(multicast=tuple(Multicast)).must(
            "multicast-space", "a multicast copy goes to .shared::cluster",
            dst_space=Space.SHARED_CLUSTER),
        when(sem=Sem.RELAXED, dst_space=Space.SHARED_CLUSTER).needs(
            "relaxed-target", since("9.3", Feature.HAS_RELAXED_BULK_COPY)),
        *strong_order(),
    ),
    effects=BY_TRANSACTION,
    llvm=(
        Llvm("cp.async.bulk.global.to.shared.cluster",
             "p7:dst, p3:mbar, p1:src, i32:size, i16:cta_mask, i64:cache_policy, i1?cta_mask, "
             "i1?cache_policy",
             given={"dst_space": Space.SHARED_CLUSTER}),
        Llvm("cp.async.bulk.global.to.shared.cta",
             "p3:dst, p3:mbar, p1:src, i32:size, i64:cache_policy, i1?cache_policy",
             given={"dst_space": Space.SHARED_CTA}),
    ),
    elsewhere=("mbarrier::report::disabled",),
)

_OUTSIDE = Numbers(0, 15, wraps=True)

LOAD_PART = Row(
    "cp.async.bulk",
    "{.sem}{.scope}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob{.cache_hint}{.type}",
    "[dst], [src], size, ignore_left, ignore_right, [mbar] {, cache_policy}",
    name="cp.async.bulk.load.ignore_oob", opcode="CP_ASYNC_BULK_LOAD_IGNORE_OOB",
    qualifiers={**ordered(), "cache_hint": CacheHint},
    operands=(
        address("dst", Space.SHARED_CTA),
        address("src", Space.GLOBAL),
        SIZE,
        value("ignore_left", ScalarType.U32, _OUTSIDE),
        value("ignore_right", ScalarType.U32, _OUTSIDE),
        address("mbar", Space.SHARED, wide=True),
        POLICY,
    ),
    aligned={"dst": BULK_COPY_ALIGNMENT},
    section="cp.async.bulk", needs=since("9.2", at_least(90)), tied=CACHE_HINT,
    rules=strong_order(),
    effects=BY_TRANSACTION,
    llvm=(
        Llvm("cp.async.bulk.global.to.shared.cta.ignore_oob",
             "p3:dst, p3:mbar, p1:src, i32:size, i32:ignore_left, i32:ignore_right, "
             "i64:cache_policy, i1?cache_policy", own=True),
    ),
    elsewhere=("mbarrier::report::disabled",),
)

TO_CLUSTER = Row(
    "cp.async.bulk",
    "{.sem}{.scope}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{.type}",
    "[dst], [src], size, [mbar]",
    name="cp.async.bulk.to_cluster", opcode="CP_ASYNC_BULK_TO_CLUSTER",
    qualifiers=ordered(_NEAR),
    operands=(
        address("dst", Space.SHARED_CLUSTER),
        address("src", Space.SHARED_CTA),
        SIZE,
        address("mbar", Space.SHARED, wide=True),
    ),
    aligned={"dst": BULK_COPY_ALIGNMENT, "src": BULK_COPY_ALIGNMENT},
    section="cp.async.bulk", needs=SM90, rules=strong_order(_NEAR), effects=BY_TRANSACTION,
    llvm=(Llvm("cp.async.bulk.shared.cta.to.cluster", "p7:dst, p3:mbar, p3:src, i32:size"),),
    elsewhere=("mbarrier::report::disabled",),
)

_MASKED: Attributes = {"cp_mask": ByteMask.CP_MASK}

STORE = Row(
    "cp.async.bulk",
    "{.sem}{.scope}.global.shared::cta.bulk_group{.cache_hint}{.cp_mask}{.type}",
    "[dst], [src], size {, cache_policy} {, byte_mask}",
    name="cp.async.bulk.store", opcode="CP_ASYNC_BULK_STORE",
    qualifiers={**ordered(), "cache_hint": CacheHint, "cp_mask": ByteMask},
    operands=(
        address("dst", Space.GLOBAL),
        address("src", Space.SHARED_CTA),
        SIZE,
        POLICY,
        BYTE_MASK,
    ),
    aligned={"src": BULK_COPY_ALIGNMENT},
    section="cp.async.bulk", needs=SM90, tied={**CACHE_HINT, "cp_mask": "byte_mask"},
    rules=(
        when(cp_mask=ByteMask.CP_MASK).needs("cp-mask-target", since("8.6", at_least(100))),
        *strong_order(),
    ),
    effects=BY_GROUP,
    llvm=(
        Llvm("cp.async.bulk.shared.cta.to.global",
             "p1:dst, p3:src, i32:size, i64:cache_policy, i1?cache_policy"),
        Llvm("cp.async.bulk.shared.cta.to.global.bytemask",
             "p1:dst, p3:src, i32:size, i64:cache_policy, i1?cache_policy, i16:byte_mask",
             given=_MASKED),
    ),
)

PREFETCH = Row(
    "cp.async.bulk.prefetch", ".L2.global{.cache_hint}{.l2}", "[src], size {, cache_policy}",
    qualifiers={"cache_hint": CacheHint, "l2": (L2Eviction.LAST,)},
    operands=(address("src", Space.GLOBAL), SIZE, POLICY),
    section="cp.async.bulk.prefetch", needs=SM90, tied=CACHE_HINT,
    rules=(
        when(l2=L2Eviction.LAST).needs(
            "eviction-target", since("9.4", Feature.HAS_EVICTING_PREFETCH)),
        when(l2=L2Eviction.LAST).must("eviction", "either a priority or a policy",
                                      cache_hint=None),
    ),
    effects=Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT),
    llvm=(
        Llvm("cp.async.bulk.prefetch.L2",
             "p1:src, i32:size, i64:cache_policy, i1?cache_policy"),
    ),
)
# fmt: on

ROWS = (LOAD, LOAD_PART, TO_CLUSTER, STORE, PREFETCH)
