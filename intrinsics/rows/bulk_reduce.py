"""Bulk reductions: memory in a row, element by element, combined with bytes of shared memory.

PTX ISA, Data Movement and Conversion Instructions: cp.reduce.async.bulk.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.limits import BULK_COPY_ALIGNMENT
from intrinsics.modifiers import AtomicOp, CacheHint, NoFtz, ScalarType, Scope, Sem, Space
from intrinsics.row import Attribute, Llvm, Row, Rule, address, when
from intrinsics.rows.bulk import BY_GROUP, BY_TRANSACTION, CACHE_HINT, POLICY, SIZE
from intrinsics.rows.requirements import SM90
from intrinsics.targets import at_least, since

T = ScalarType
_Table = dict[AtomicOp, tuple[T, ...]]

OPERATIONS = tuple(op for op in AtomicOp if op is not AtomicOp.EXCH)
_NEAR = (Scope.CTA, Scope.CLUSTER)
_HALVES = (T.F16, T.BF16)
_INTEGERS = (T.U32, T.S32, T.U64)

_IN_CLUSTER: _Table = {
    **dict.fromkeys((AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR), (T.B32,)),
    AtomicOp.ADD: _INTEGERS,
    **dict.fromkeys((AtomicOp.INC, AtomicOp.DEC), (T.U32,)),
    **dict.fromkeys((AtomicOp.MIN, AtomicOp.MAX), (T.U32, T.S32)),
}
IN_GLOBAL: _Table = {
    **dict.fromkeys((AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR), (T.B32, T.B64)),
    AtomicOp.ADD: (*_INTEGERS, T.F32, T.F64, *_HALVES),
    **dict.fromkeys((AtomicOp.INC, AtomicOp.DEC), (T.U32,)),
    **dict.fromkeys((AtomicOp.MIN, AtomicOp.MAX), (*_INTEGERS, T.S64, *_HALVES)),
}


def types_of(table: _Table) -> tuple[T, ...]:
    """All element types of a table, in the order of the enum."""
    return tuple(t for t in T if any(t in types for types in table.values()))


def _rules(table: _Table, scopes: tuple[Scope, ...]) -> tuple[Rule, ...]:
    """Which types an operation has, and that an ordering and a scope come together."""
    return (
        *(when(op=op).must("reduce-type", type=types) for op, types in table.items()),
        when(sem=Sem.RELAXED).needs("sem-version", since("9.3", at_least(90))),
        when(sem=Sem.RELAXED).must("sem-scope", "an ordering needs a scope", scope=scopes),
        when(scope=scopes).must("sem-scope", "a scope needs an ordering", sem=Sem.RELAXED),
    )


def reduced_in_global() -> tuple[Rule, ...]:
    """The operations and types of reductions in global memory."""
    return (
        *_rules(IN_GLOBAL, tuple(Scope)),
        when(op=AtomicOp.ADD, type=_HALVES).must("noftz", noftz=NoFtz.NOFTZ),
        when(noftz=NoFtz.NOFTZ).must("noftz", op=AtomicOp.ADD),
        when(noftz=NoFtz.NOFTZ).must("noftz", type=(*_HALVES, T.F32)),
        when(noftz=NoFtz.NOFTZ, type=T.F32).needs("noftz-version", since("9.4", at_least(90))),
    )


def spellings(name: str, args: str, table: _Table) -> Iterator[Llvm]:
    """nvgen's names, in LLVM's scheme: LLVM reduces tensors only."""
    for op, types in table.items():
        for type_ in types:
            given: dict[str, Attribute] = {"op": op, "type": type_}
            if op is AtomicOp.ADD and type_ in _HALVES:
                given["noftz"] = NoFtz.NOFTZ
            yield Llvm(f"{name}.{op.value}.{type_.value}", args, given=given, own=True)


# fmt: off
TO_CLUSTER = Row(
    "cp.reduce.async.bulk",
    "{.sem}{.scope}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type",
    "[dst], [src], size, [mbar]",
    name="cp.reduce.async.bulk.to_cluster", opcode="CP_REDUCE_ASYNC_BULK_TO_CLUSTER",
    qualifiers={"sem": (Sem.RELAXED,), "scope": _NEAR, "op": OPERATIONS,
                "type": types_of(_IN_CLUSTER)},
    operands=(
        address("dst", Space.SHARED_CLUSTER),
        address("src", Space.SHARED_CTA),
        SIZE,
        address("mbar", Space.SHARED),
    ),
    aligned={"dst": BULK_COPY_ALIGNMENT, "src": BULK_COPY_ALIGNMENT},
    section="cp.reduce.async.bulk", needs=SM90, rules=_rules(_IN_CLUSTER, _NEAR),
    effects=BY_TRANSACTION,
    llvm=tuple(spellings("cp.async.bulk.reduce.shared.cta.to.cluster",
                         "p7:dst, p3:mbar, p3:src, i32:size", _IN_CLUSTER)),
)

STORE = Row(
    "cp.reduce.async.bulk",
    "{.sem}{.scope}.global.shared::cta.bulk_group{.cache_hint}.op{.noftz}.type",
    "[dst], [src], size {, cache_policy}",
    name="cp.reduce.async.bulk.store", opcode="CP_REDUCE_ASYNC_BULK_STORE",
    qualifiers={"sem": (Sem.RELAXED,), "scope": Scope, "cache_hint": CacheHint, "op": OPERATIONS,
                "noftz": NoFtz, "type": types_of(IN_GLOBAL)},
    operands=(
        address("dst", Space.GLOBAL),
        address("src", Space.SHARED_CTA),
        SIZE,
        POLICY,
    ),
    aligned={"src": BULK_COPY_ALIGNMENT},
    section="cp.reduce.async.bulk", needs=SM90, tied=CACHE_HINT,
    rules=reduced_in_global(),
    effects=BY_GROUP,
    llvm=tuple(spellings("cp.async.bulk.reduce.shared.cta.to.global",
                         "p1:dst, p3:src, i32:size, i64:cache_policy, i1?cache_policy",
                         IN_GLOBAL)),
)
# fmt: on

ROWS = (TO_CLUSTER, STORE)
