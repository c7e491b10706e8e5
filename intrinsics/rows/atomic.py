"""Read-modify-write operations on memory, with and without a result.

PTX ISA, Parallel Synchronization and Communication Instructions: atom; red.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.modifiers import (
    SHARED_SPACES,
    AtomicOp,
    CacheHint,
    Modifier,
    NoFtz,
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
    Row,
    Rule,
    VectorNumbers,
    absent_or,
    address,
    per,
    value,
    vector,
    when,
)
from intrinsics.rows.requirements import CLUSTER_SPACE, CTA_SPACE, VECTOR_COUNT
from intrinsics.targets import at_least, since

T = ScalarType

_SPACES = (Space.GLOBAL, *SHARED_SPACES)
_HALVES = (T.F16, T.BF16)
_PAIRS = (T.F16X2, T.BF16X2)
_INTEGERS = (T.U32, T.S32, T.U64, T.S64)
_TYPES = (T.B32, T.B64, T.B128, *_INTEGERS, *_HALVES, *_PAIRS, T.F32, T.F64)
_NARROWER = tuple(t for t in _TYPES if t is not T.B128)
_EXTREMES = (AtomicOp.MIN, AtomicOp.MAX)
_WHOLE = Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY)
_VECTOR_TYPES: tuple[tuple[Vec, tuple[Attribute, ...]], ...] = (
    (Vec.V2, (*_HALVES, *_PAIRS, T.F32)),
    (Vec.V4, (*_HALVES, *_PAIRS, T.F32)),
    (Vec.V8, _HALVES),
)

BFLOAT_ATOMICS = since("7.8", at_least(90))
"""Who adds bfloats in memory."""

LONG_ATOMICS = since("8.3", at_least(90))
LONG_ATOMICS_OF_SYSTEM = since("8.4", at_least(90))
"""Who exchanges 128 bits in memory; the second, in the scope of the whole system."""

# fmt: off
_PLACES: tuple[Rule, ...] = (
    when(scope=Scope.CLUSTER).needs("cluster-scope-target", since("7.8", at_least(90))),
    CTA_SPACE,
    CLUSTER_SPACE,
)

_EXCHANGE = when(op=AtomicOp.EXCH).must("atom-type", type=(T.B32, T.B64, T.B128))
_LONG = (
    when(type=T.B128).needs("b128-version", LONG_ATOMICS),
    when(type=T.B128, scope=Scope.SYS).needs("b128-sys-version", LONG_ATOMICS_OF_SYSTEM),
)

_RULES: tuple[Rule, ...] = (
    *_PLACES,
    when(op=(AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR)).must("atom-type", type=(T.B32, T.B64)),
    when(op=AtomicOp.ADD).must(
        "atom-type", type=(T.U32, T.S32, T.U64, T.F32, T.F64, *_HALVES, *_PAIRS)),
    when(op=(AtomicOp.INC, AtomicOp.DEC)).must("atom-type", type=T.U32),
    when(op=_EXTREMES).must("atom-type", type=(*_INTEGERS, *_HALVES, *_PAIRS)),
    when(op=_EXTREMES, type=(*_HALVES, *_PAIRS)).must(
        "atom-vector", "a least or greatest of half floats comes as a vector only", vec=tuple(Vec)),
    when(type=(*_HALVES, *_PAIRS)).must("atom-noftz", noftz=NoFtz.NOFTZ),
    when(noftz=NoFtz.NOFTZ).must("atom-noftz", type=(*_HALVES, *_PAIRS, T.F32)),
    when(noftz=NoFtz.NOFTZ, type=T.F32).needs("atom-noftz-target", since("9.4", at_least(90))),
    *(when(vec=v).must("atom-vector", type=types) for v, types in _VECTOR_TYPES),
    when(vec=tuple(Vec)).must("atom-vector", "vectors are for global memory",
                              space=absent_or(Space.GLOBAL)),
    when(vec=tuple(Vec)).needs("atom-vector-target", since("8.1", at_least(90))),
    when(type=(T.BF16, T.BF16X2)).needs("bf16-target", BFLOAT_ATOMICS),
    when(cache_hint=CacheHint.L2).must("cache-hint", "a cache policy is for global memory",
                                 space=absent_or(Space.GLOBAL)),
    when(cache_hint=CacheHint.L2).needs("cache-hint-target", since("7.4", at_least(80))),
)


def _qualifiers(sems: tuple[Sem, ...], types: tuple[T, ...]) -> dict[str, Iterable[Modifier]]:
    return {
        "sem": sems, "scope": Scope, "space": _SPACES, "op": AtomicOp, "noftz": NoFtz,
        "cache_hint": CacheHint, "vec": Vec, "type": types,
    }


_VALUE = vector("b", "type", VECTOR_COUNT, numbers=VectorNumbers.ALL)
_POLICY = value("policy", T.U64, symbols=False)
_ORDERS = (Sem.RELAXED, Sem.ACQUIRE, Sem.RELEASE, Sem.ACQ_REL)

ATOM = Row(
    "atom", "{.sem}{.scope}{.space}.op{.noftz}{.cache_hint}{.vec}.type", "d, [a], b {, policy}",
    qualifiers=_qualifiers(_ORDERS, _TYPES),
    operands=(
        vector("d", "type", VECTOR_COUNT, Access.WRITE, sink=True, unused=True),
        address("a", "space", pointer=True, stored=True),
        _VALUE, _POLICY,
    ),
    tied={"cache_hint": "policy"}, section="atom", rules=(*_RULES, _EXCHANGE, *_LONG),
    effects=_WHOLE,
)

_WORDS = (T.B16, T.B32, T.B64, T.B128)
_ONE = per(type=dict.fromkeys(_WORDS, 0))

ATOM_CAS = Row(
    "atom", "{.sem}{.scope}{.space}.cas.type", "d, [a], b, c", name="atom.cas", opcode="ATOM_CAS",
    qualifiers={"sem": _ORDERS, "scope": Scope, "space": _SPACES, "type": _WORDS},
    operands=(
        vector("d", "type", _ONE, Access.WRITE, sink=True, unused=True),
        address("a", "space", pointer=True, stored=True),
        value("b", "type"), value("c", "type"),
    ),
    section="atom", rules=(*_PLACES, *_LONG), effects=_WHOLE,
)

RED = Row(
    "red", "{.sem}{.scope}{.space}.op{.noftz}{.cache_hint}{.vec}.type", "[a], b {, policy}",
    qualifiers={**_qualifiers((Sem.RELAXED, Sem.RELEASE), _NARROWER),
                "op": tuple(op for op in AtomicOp if op is not AtomicOp.EXCH)},
    operands=(address("a", "space", pointer=True, stored=True), _VALUE, _POLICY),
    tied={"cache_hint": "policy"}, section="red", rules=_RULES, effects=_WHOLE,
)
# fmt: on

ROWS = (ATOM, ATOM_CAS, RED)
