"""Tensor copies that need no mbarrier's bytes: reductions in global memory, and prefetches into L2.

PTX ISA, Data Movement and Conversion Instructions: cp.reduce.async.bulk.tensor,
cp.async.bulk.prefetch.tensor.
"""

from __future__ import annotations

from intrinsics.limits import TENSOR_COPY_ALIGNMENT
from intrinsics.modifiers import (
    AtomicOp,
    CacheHint,
    Dim,
    LoadMode,
    ScalarType,
    Space,
    StoreMode,
)
from intrinsics.row import Attributes, Effect, Effects, Llvm, Row, address, value, when
from intrinsics.rows.requirements import SM90
from intrinsics.rows.tma import (
    COORDS,
    GATHER_RANK,
    IM2COL_MODES,
    IM2COL_NAMES,
    IM2COL_RANK,
    OFFSETS,
    RANK_RULE,
    STORE_RULES,
    STORES,
    TILE_MODES,
    WIDE_MODES,
    WIDE_TEXT,
    WITH_PAIRS,
    spelled,
)

_TAIL = "n*i32:coords, i64:cache_policy, i1?cache_policy"
_OPS = tuple(op for op in AtomicOp if op is not AtomicOp.EXCH)
_OP_NAMES: dict[str, Attributes] = {op.value: {"op": op} for op in _OPS}
_PREFETCHES = Effects(Effect.READS_MEMORY | Effect.CONVERGENT | Effect.BARRIER)

# fmt: off
REDUCE = Row(
    "cp.reduce.async.bulk.tensor",
    ".dim.global.shared::cta.op{.mode}.bulk_group{.cache_hint}",
    "[tmap, coords], [src] {, cache_policy}",
    qualifiers={"dim": Dim, "op": _OPS, "mode": StoreMode, "cache_hint": CacheHint},
    operands=(
        address("tmap", Space.GLOBAL, bare=True),
        COORDS,
        address("src", Space.SHARED),
        value("cache_policy", ScalarType.U64),
    ),
    aligned={"src": TENSOR_COPY_ALIGNMENT},
    section="cp.reduce.async.bulk.tensor", needs=SM90,
    tied={"cache_hint": "cache_policy"},
    rules=STORE_RULES, effects=STORES,
    llvm=(
        *spelled("cp.async.bulk.tensor.reduce.{op}.tile", f"p3:src, p:tmap, {_TAIL}",
                 {"mode": StoreMode.TILE}, more={"op": _OP_NAMES}),
        *spelled("cp.async.bulk.tensor.reduce.{op}.im2col", f"p3:src, p:tmap, {_TAIL}",
                 {"mode": StoreMode.IM2COL_NO_OFFS}, high=True, more={"op": _OP_NAMES}),
        Llvm("cp.async.bulk.tensor.reduce.{op}.tile.scatter4.2d", f"p3:src, p:tmap, {_TAIL}",
             given={"mode": StoreMode.SCATTER4, "dim": Dim.D2}, holes={"op": _OP_NAMES}, own=True),
    ),
    elsewhere=("override::global_address",),
)

PREFETCH = Row(
    "cp.async.bulk.prefetch.tensor",
    ".dim.L2.global{.mode}{.cache_hint}",
    "[tmap, coords] {, cache_policy}",
    opcode="CP_ASYNC_BULK_PREFETCH_TENSOR",
    qualifiers={"dim": Dim, "mode": TILE_MODES, "cache_hint": CacheHint},
    operands=(
        address("tmap", Space.GLOBAL, bare=True),
        COORDS,
        value("cache_policy", ScalarType.U64),
    ),
    section="cp.async.bulk.prefetch.tensor", needs=SM90,
    tied={"cache_hint": "cache_policy"},
    rules=(
        RANK_RULE, GATHER_RANK,
        when(mode=LoadMode.GATHER4).needs("gather4-target", WITH_PAIRS),
    ),
    effects=_PREFETCHES,
    llvm=(
        *spelled("cp.async.bulk.tensor.prefetch.tile", f"p:tmap, {_TAIL}",
                 {"mode": LoadMode.TILE}),
        Llvm("cp.async.bulk.tensor.prefetch.tile.gather4.2d", f"p:tmap, {_TAIL}",
             given={"mode": LoadMode.GATHER4, "dim": Dim.D2}),
    ),
    elsewhere=("override::global_address",),
)

PREFETCH_IM2COL = Row(
    "cp.async.bulk.prefetch.tensor",
    ".dim.L2.global.mode{.cache_hint}",
    "[tmap, coords], offsets {, cache_policy}",
    name="cp.async.bulk.prefetch.tensor.im2col", opcode="CP_ASYNC_BULK_PREFETCH_TENSOR",
    qualifiers={"dim": Dim, "mode": IM2COL_MODES, "cache_hint": CacheHint},
    operands=(
        address("tmap", Space.GLOBAL, bare=True),
        COORDS,
        OFFSETS,
        value("cache_policy", ScalarType.U64),
    ),
    section="cp.async.bulk.prefetch.tensor", needs=SM90,
    tied={"cache_hint": "cache_policy"},
    rules=(
        RANK_RULE, IM2COL_RANK,
        when(mode=WIDE_MODES).needs("wide-im2col-target", WITH_PAIRS, WIDE_TEXT),
    ),
    effects=_PREFETCHES,
    llvm=tuple(
        spelled("cp.async.bulk.tensor.prefetch.{mode}",
                "p:tmap, n*i32:coords, n*i16:offsets, i64:cache_policy, i1?cache_policy",
                {}, modes=IM2COL_NAMES, high=True)),
    elsewhere=("override::global_address",),
)
# fmt: on

ROWS = (REDUCE, PREFETCH, PREFETCH_IM2COL)
