"""Loads and stores, and conversion of addresses between state spaces.

PTX ISA, Data Movement and Conversion Instructions.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.modifiers import CacheOp, Modifier, ScalarType, Scope, Sem, Space, Vec
from intrinsics.row import (
    Access,
    Effect,
    Effects,
    Fact,
    Kind,
    Operand,
    Row,
    Rule,
    VectorNumbers,
    absent_or,
    address,
    per,
    result,
    vector,
    when,
)
from intrinsics.targets import at_least, since

DATA_TYPES = tuple(
    t
    for t in ScalarType
    if t in (ScalarType.B128, ScalarType.F32, ScalarType.F64)
    or (t.value[0] in "bus" and t.value[1:] in ("8", "16", "32", "64"))
)
"""Types that memory holds."""

_COUNT = per(vec={None: 0, **{v: v.count for v in Vec}})
_NARROW: tuple[Fact, ...] = tuple(t for t in DATA_TYPES if t.bits <= 16)
_UP_TO_32: tuple[Fact, ...] = tuple(t for t in DATA_TYPES if t.bits <= 32)
_UP_TO_64: tuple[Fact, ...] = tuple(t for t in DATA_TYPES if t.bits <= 64)
_SHARED = (Space.SHARED, Space.SHARED_CTA, Space.SHARED_CLUSTER)
_WIDE = since("8.8", at_least(100))

_SPACES = (
    when(space=Space.SHARED_CTA).needs("shared-cta-version", since("7.8")),
    when(space=Space.SHARED_CLUSTER).needs("cluster-target", since("7.8", at_least(90))),
    when(space=(Space.PARAM_ENTRY, Space.PARAM_FUNC)).needs("param-version", since("8.3")),
)

# fmt: off
_VECTORS: tuple[Rule, ...] = (
    when(type=ScalarType.B128).needs("b128-version", since("8.3")),
    when(type=ScalarType.B128).must("vector-size", "a .b128 stands alone", vec=None),
    when(vec=Vec.V8, type=tuple(t for t in DATA_TYPES if t.bits == 64)).is_wrong(
        "vector-size", "a vector access moves at most 256 bits"),
    when(vec=Vec.V8, type=tuple(t for t in DATA_TYPES if t.bits < 32)).is_wrong(
        "vector-8", "a vector of 8 has elements of 32 bits",
        "ptxas takes smaller ones as it checks, and may crash as it generates code",
        ptxas_accepts=True),
    when(vec=Vec.V8, type=tuple(t for t in DATA_TYPES if t.bits == 32)).must(
        "vector-size", "only global memory moves 256 bits at once",
        space=absent_or(Space.GLOBAL)),
    when(vec=Vec.V4, type=tuple(t for t in DATA_TYPES if t.bits == 64)).must(
        "vector-size", "only global memory moves 256 bits at once",
        space=absent_or(Space.GLOBAL)),
    when(vec=Vec.V8, type=tuple(t for t in DATA_TYPES if t.bits == 32)).needs(
        "vector-256-target", _WIDE),
    when(vec=Vec.V4, type=tuple(t for t in DATA_TYPES if t.bits == 64)).needs(
        "vector-256-target", _WIDE),
)

def _order(ordered: tuple[Sem, ...]) -> tuple[Rule, ...]:
    """What `ordered` semantics ask for, of which a load has others than a store."""
    return (
        when(sem=ordered).must("sem-scope", "an ordering needs a scope", scope=tuple(Scope)),
        when(scope=tuple(Scope)).must("sem-scope", "a scope needs an ordering", sem=ordered),
        when(scope=Scope.CLUSTER).needs("cluster-scope-target", since("7.8", at_least(90))),
        when(sem=ordered).must(
            "sem-space", "an ordered access goes to global, shared or generic memory",
            space=absent_or(Space.GLOBAL, *_SHARED)),
        when(sem=Sem.VOLATILE).must(
            "sem-space", "a volatile access goes to global, shared, local or generic memory",
            space=absent_or(Space.GLOBAL, Space.LOCAL, *_SHARED)),
        when(sem=Sem.VOLATILE, space=Space.LOCAL).needs("volatile-local-version", since("9.1")),
        when(sem=(Sem.VOLATILE, *ordered)).must(
            "cache-op", "a cache operator goes with weak accesses only", cop=None),
    )
# fmt: on

_OTHER_MODIFIERS = (
    "mmio",
    "nc",
    "unified",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::evict_last",
    "L2::cache_hint",
    "L2::64B",
    "L2::128B",
    "L2::256B",
)

# fmt: off
LD = Row(
    "ld", "{.sem}{.scope}{.space}{.cop}{.vec}.type", "d, [a]",
    axes={
        "sem": (Sem.WEAK, Sem.VOLATILE, Sem.RELAXED, Sem.ACQUIRE), "scope": Scope,
        "space": (Space.GLOBAL, *_SHARED, Space.CONST, Space.LOCAL, Space.PARAM,
                  Space.PARAM_ENTRY, Space.PARAM_FUNC),
        "cop": (CacheOp.CA, CacheOp.CG, CacheOp.CS, CacheOp.LU, CacheOp.CV),
        "vec": Vec, "type": DATA_TYPES,
    },
    operands=(
        vector("d", "type", _COUNT, Access.WRITE, widened=True, sink=True),
        address("a", "space"),
    ),
    section="ld", rules=(*_SPACES, *_VECTORS, *_order((Sem.RELAXED, Sem.ACQUIRE))),
    effects=Effects(Effect.READS_MEMORY), elsewhere=_OTHER_MODIFIERS,
)

ST = Row(
    "st", "{.sem}{.scope}{.space}{.cop}{.vec}.type", "[a], b",
    axes={
        "sem": (Sem.WEAK, Sem.VOLATILE, Sem.RELAXED, Sem.RELEASE), "scope": Scope,
        "space": (Space.GLOBAL, *_SHARED, Space.LOCAL, Space.PARAM, Space.PARAM_FUNC),
        "cop": (CacheOp.WB, CacheOp.CG, CacheOp.CS, CacheOp.WT),
        "vec": Vec, "type": DATA_TYPES,
    },
    operands=(
        address("a", "space", stored=True),
        vector("b", "type", _COUNT, widened=True, numbers=VectorNumbers.ALL),
    ),
    section="st", rules=(*_SPACES, *_VECTORS, *_order((Sem.RELAXED, Sem.RELEASE))),
    effects=Effects(Effect.WRITES_MEMORY), elsewhere=("async", "bulk", *_OTHER_MODIFIERS),
)

_CVTA_AXES: dict[str, Iterable[Modifier]] = {
    "space": (Space.GLOBAL, *_SHARED, Space.CONST, Space.LOCAL, Space.PARAM, Space.PARAM_ENTRY),
    "size": (ScalarType.U32, ScalarType.U64),
}
_CVTA_RULES = (*_SPACES, when(space=Space.PARAM).needs("param-version", since("7.7")))

CVTA = Row(
    "cvta", ".space.size", "d, a", axes=_CVTA_AXES,
    operands=(
        result("d", "size"), Operand("a", Kind.SOURCE, "size", space="space", symbols=True),
    ),
    section="cvta", rules=_CVTA_RULES,
)

CVTA_TO = Row(
    "cvta.to", ".space.size", "d, a", axes=_CVTA_AXES,
    operands=(result("d", "size"), Operand("a", Kind.SOURCE, "size")),
    section="cvta", rules=_CVTA_RULES,
)
# fmt: on

ROWS = (LD, ST, CVTA, CVTA_TO)
