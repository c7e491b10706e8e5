"""Loads and stores, and conversion of addresses between state spaces.

PTX ISA, Data Movement and Conversion Instructions.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.modifiers import (
    SHARED_SPACES,
    CacheHint,
    CacheOp,
    L1Eviction,
    L2Eviction,
    Modifier,
    NonCoherent,
    PrefetchSize,
    ScalarType,
    Scope,
    Sem,
    Space,
    Vec,
)
from intrinsics.row import (
    Access,
    Attribute,
    Effect,
    Effects,
    Kind,
    Llvm,
    Numbers,
    Operand,
    Row,
    Rule,
    VectorNumbers,
    absent_or,
    address,
    number,
    register,
    result,
    value,
    vector,
    when,
)
from intrinsics.rows.requirements import CLUSTER_SPACE, CTA_SPACE, VECTOR_COUNT
from intrinsics.targets import at_least, since

DATA_TYPES = tuple(
    t
    for t in ScalarType
    if t in (ScalarType.B128, ScalarType.F32, ScalarType.F64)
    or (t.value[0] in "bus" and t.value[1:] in ("8", "16", "32", "64"))
)
"""Types that memory holds."""

_OF_64: tuple[Attribute, ...] = tuple(t for t in DATA_TYPES if t.bits == 64)

WIDE_ACCESS = since("8.8", at_least(100))
"""Who moves 256 bits at once."""

MMIO = since("8.2")
"""Who has accesses of memory-mapped devices."""

_SPACES = (
    CTA_SPACE,
    CLUSTER_SPACE,
    when(space=(Space.PARAM_ENTRY, Space.PARAM_FUNC)).needs("param-version", since("8.3")),
)

# fmt: off
_VECTORS: tuple[Rule, ...] = (
    when(type=ScalarType.B128).needs("b128-version", since("8.3")),
    when(type=ScalarType.B128, scope=Scope.SYS).needs("b128-sys-version", since("8.4")),
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
        "vector-256-target", WIDE_ACCESS),
    when(vec=Vec.V4, type=tuple(t for t in DATA_TYPES if t.bits == 64)).needs(
        "vector-256-target", WIDE_ACCESS),
)

def _order(ordered: tuple[Sem, ...]) -> tuple[Rule, ...]:
    """What `ordered` semantics ask for, of which a load has others than a store."""
    return (
        when(sem=ordered).must("sem-scope", "an ordering needs a scope", scope=tuple(Scope)),
        when(scope=tuple(Scope)).must("sem-scope", "a scope needs an ordering", sem=ordered),
        when(scope=Scope.CLUSTER).needs("cluster-scope-target", since("7.8", at_least(90))),
        when(sem=ordered).must(
            "sem-space", "an ordered access goes to global, shared or generic memory",
            space=absent_or(Space.GLOBAL, *SHARED_SPACES)),
        when(sem=Sem.VOLATILE).must(
            "sem-space", "a volatile access goes to global, shared, local or generic memory",
            space=absent_or(Space.GLOBAL, Space.LOCAL, *SHARED_SPACES)),
        when(sem=Sem.VOLATILE, space=Space.LOCAL).needs("volatile-local-version", since("9.1")),
        when(sem=(Sem.VOLATILE, *ordered)).must(
            "cache-op", "a cache operator goes with weak accesses only", cop=None),
    )
# fmt: on

# fmt: off
_EVICTIONS: tuple[Rule, ...] = (
    when(l1=tuple(L1Eviction)).must("cache-op", "an eviction priority comes without a cache "
                                    "operator", cop=None),
    when(l2=tuple(L2Eviction)).must("cache-op", "an eviction priority comes without a cache "
                                    "operator", cop=None),
    when(l1=tuple(L1Eviction)).must("cache-space", "a cache hint is for global memory",
                                    space=absent_or(Space.GLOBAL)),
    when(cache_hint=CacheHint.L2).must("cache-space", "a cache hint is for global memory",
                                 space=absent_or(Space.GLOBAL)),
    when(sem=Sem.VOLATILE).must("cache-op", "a cache hint does not go with volatile accesses",
                                l1=None, l2=None, cache_hint=None),
    when(l1=tuple(L1Eviction)).needs("eviction-version", since("7.4")),
    when(l2=tuple(L2Eviction)).needs("eviction-target", WIDE_ACCESS),
    when(cache_hint=CacheHint.L2).needs("cache-hint-target", since("7.4", at_least(80))),
    when(l2=tuple(L2Eviction)).must("eviction-size", "an L2 eviction priority goes with 256 bits",
                                    vec=(Vec.V8, Vec.V4)),
    when(l2=tuple(L2Eviction), vec=Vec.V4).must("eviction-size", type=_OF_64),
)


def _mmio(order: Sem) -> tuple[Rule, ...]:
    return (
        when(io=Sem.MMIO).must("mmio", "a .mmio access is ordered, for the system",
                               sem=(Sem.RELAXED, order), scope=Scope.SYS),
        when(io=Sem.MMIO).must("mmio", "a .mmio access has no cache hints, and no vector",
                               cop=None, l1=None, l2=None, cache_hint=None, vec=None),
        when(io=Sem.MMIO).must("mmio", "a .mmio access goes to global or generic memory",
                               space=absent_or(Space.GLOBAL)),
        when(io=Sem.MMIO).needs("mmio-version", MMIO),
        when(io=Sem.MMIO, sem=order).needs("mmio-order-version", since("9.3")),
    )


_PREFETCHES: tuple[Rule, ...] = (
    when(prefetch=tuple(PrefetchSize)).must(
        "cache-space", "a prefetch size is for global memory", space=absent_or(Space.GLOBAL)),
    when(prefetch=tuple(PrefetchSize)).needs("prefetch-version", since("7.4")),
    when(prefetch=PrefetchSize.B256).needs("prefetch-target", since("7.4", at_least(80))),
    when(prefetch=tuple(PrefetchSize)).must("mmio", io=None),
)

_NON_COHERENT: tuple[Rule, ...] = (
    when(nc=NonCoherent.NC).must("nc", "a non-coherent load is a weak one from global memory",
                                 space=Space.GLOBAL, sem=None, scope=None, io=None),
    when(nc=NonCoherent.NC).must("nc", cop=absent_or(CacheOp.CA, CacheOp.CG, CacheOp.CS)),
)

LD = Row(
    "ld", "{.io}{.sem}{.scope}{.space}{.cop}{.nc}{.l1}{.l2}{.cache_hint}{.prefetch}{.vec}.type",
    "d, [a] {, policy}",
    qualifiers={
        "io": (Sem.MMIO,),
        "sem": (Sem.WEAK, Sem.VOLATILE, Sem.RELAXED, Sem.ACQUIRE), "scope": Scope,
        "space": (Space.GLOBAL, *SHARED_SPACES, Space.CONST, Space.LOCAL, Space.PARAM,
                        Space.PARAM_ENTRY, Space.PARAM_FUNC),
        "cop": (CacheOp.CA, CacheOp.CG, CacheOp.CS, CacheOp.LU, CacheOp.CV),
        "nc": NonCoherent, "l1": L1Eviction, "l2": L2Eviction, "cache_hint": CacheHint,
        "prefetch": PrefetchSize, "vec": Vec, "type": DATA_TYPES,
    },
    operands=(
        vector("d", "type", VECTOR_COUNT, Access.WRITE, widened=True, sink=True),
        address("a", "space", pointer=True), value("policy", ScalarType.U64, symbols=False),
    ),
    tied={"cache_hint": "policy"}, section="ld",
    rules=(*_SPACES, *_VECTORS, *_order((Sem.RELAXED, Sem.ACQUIRE)), *_EVICTIONS,
           *_mmio(Sem.ACQUIRE), *_PREFETCHES, *_NON_COHERENT),
    effects=Effects(Effect.READS_MEMORY), elsewhere=("unified",),
)

ST = Row(
    "st", "{.io}{.sem}{.scope}{.space}{.cop}{.l1}{.l2}{.cache_hint}{.vec}.type",
    "[a], b {, policy}",
    qualifiers={
        "io": (Sem.MMIO,),
        "sem": (Sem.WEAK, Sem.VOLATILE, Sem.RELAXED, Sem.RELEASE), "scope": Scope,
        "space": (Space.GLOBAL, *SHARED_SPACES, Space.LOCAL, Space.PARAM, Space.PARAM_FUNC),
        "cop": (CacheOp.WB, CacheOp.CG, CacheOp.CS, CacheOp.WT),
        "l1": L1Eviction, "l2": L2Eviction, "cache_hint": CacheHint, "vec": Vec, "type": DATA_TYPES,
    },
    operands=(
        address("a", "space", pointer=True, stored=True),
        vector("b", "type", VECTOR_COUNT, widened=True, numbers=VectorNumbers.ALL),
        value("policy", ScalarType.U64, symbols=False),
    ),
    tied={"cache_hint": "policy"}, section="st",
    rules=(*_SPACES, *_VECTORS, *_order((Sem.RELAXED, Sem.RELEASE)), *_EVICTIONS,
           *_mmio(Sem.RELEASE)),
    effects=Effects(Effect.WRITES_MEMORY), elsewhere=("async", "bulk", "unified"),
)

_CVTA_QUALIFIERS: dict[str, Iterable[Modifier]] = {
    "space": (Space.GLOBAL, *SHARED_SPACES, Space.CONST, Space.LOCAL, Space.PARAM,
              Space.PARAM_ENTRY),
    "size": (ScalarType.U32, ScalarType.U64),
}
_CVTA_RULES = (
    *_SPACES,
    when(space=Space.PARAM).needs("param-version", since("7.7")),
    when(size=ScalarType.U32).is_wrong(
        "address-width", "a generic address has 64 bits",
        "ptxas takes 32 as it checks, and refuses to generate code", ptxas_accepts=True),
)

CVTA = Row(
    "cvta", ".space.size", "d, a", qualifiers=_CVTA_QUALIFIERS,
    operands=(
        result("d", "size"), Operand("a", Kind.SOURCE, "size", space="space", symbols=True),
    ),
    section="cvta", rules=_CVTA_RULES,
)

CVTA_TO = Row(
    "cvta.to", ".space.size", "d, a", qualifiers=_CVTA_QUALIFIERS,
    operands=(result("d", "size"), Operand("a", Kind.SOURCE, "size")),
    section="cvta", rules=_CVTA_RULES,
)
# fmt: on

_BULK = Numbers(0, 0xFFFF_FFF8, multiple=8)


# fmt: off
def _bulk(
    name: str, opcode: str, size: Operand, version: str, llvm: tuple[Llvm, ...] = ()
) -> Row:
    return Row(
        "st.bulk", "{.sem}{.space}", "[a], size, initval", name=name, opcode=opcode,
        about="Fill `size` bytes of shared memory, a multiple of 8, with `initval`, which is 0.",
        qualifiers={"sem": (Sem.WEAK,), "space": (Space.SHARED_CTA,)},
        operands=(
            address("a", "space", wide=True, within=Space.SHARED, stored=True, held=True),
            size,
            number("initval", Numbers(0, 0)),
        ),
        section="st.bulk", needs=since(version, at_least(100)),
        effects=Effects(Effect.WRITES_MEMORY), llvm=llvm,
    )
# fmt: on


ST_BULK = _bulk(
    "st.bulk",
    "ST_BULK_*",
    value("size", ScalarType.U64, _BULK, symbols=False),
    "8.6",
    (
        Llvm("st.bulk", "p:a, i64:size, i64:initval"),
        Llvm(
            "st.bulk.shared.cta",
            "p3:a, i64:size, i64:initval",
            given={"space": Space.SHARED_CTA},
        ),
    ),
)
"""Zeros, whose bytes are counted in 64 bits."""
ST_BULK_32 = _bulk("st.bulk.size32", "ST_BULK_*_SIZE32", register("size", ScalarType.U32), "9.0")
"""The same, counted in 32."""

ROWS = (LD, ST, ST_BULK, ST_BULK_32, CVTA, CVTA_TO)
