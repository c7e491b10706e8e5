"""Stores and reductions of single values that complete in the background.

Those to another CTA's shared memory count their bytes on an mbarrier there; those to global memory
release what came before.  PTX ISA, st.async; red.async.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.modifiers import AtomicOp, ScalarType, Scope, Sem, Space, Vec
from intrinsics.row import (
    Completion,
    Effect,
    Effects,
    Llvm,
    Row,
    VectorNumbers,
    address,
    per,
    value,
    vector,
    when,
)
from intrinsics.targets import at_least, since

T = ScalarType

_WORDS = (T.B32, T.U32, T.S32, T.F32)
_LONGS = (T.B64, T.U64, T.S64, T.F64)
_STORED = (T.B8, T.B16, T.B32, T.B64, T.U8, T.U16, T.U32, T.U64, T.S8, T.S16, T.S32, T.S64,
           T.F32, T.F64)  # fmt: skip
_REDUCED = {
    **dict.fromkeys((AtomicOp.INC, AtomicOp.DEC), (T.U32,)),
    **dict.fromkeys((AtomicOp.MIN, AtomicOp.MAX), (T.U32, T.S32)),
    **dict.fromkeys((AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR), (T.B32,)),
    AtomicOp.ADD: (T.U32, T.S32, T.U64),
}
_COUNT = per(vec={None: 0, Vec.V2: 2, Vec.V4: 4})
_ELEMENTS = {T.B32: "i32", T.B64: "i64"}
_TRANSACTION = Effects(
    Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT,
    completion=Completion.TRANSACTION,
)
_RELEASE = Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.BARRIER)
_SM90 = since("8.1", at_least(90))
_SM100 = since("8.7", at_least(100))
_FAR = (Scope.GPU, Scope.SYS)

_GLOBAL = (
    address("a", "space", wide=True, within=Space.GLOBAL, stored=True),
    value("b", "type", symbols=False),
)


def _stores() -> Iterator[Llvm]:
    """nvgen's names: LLVM has no asynchronous stores."""
    for type_, word in _ELEMENTS.items():
        for vec in (None, Vec.V2, Vec.V4):
            if (type_, vec) == (T.B64, Vec.V4):
                continue
            name = f"st.async.shared.cluster.{f'{vec.value}.' if vec else ''}{type_.value}"
            given = {"space": Space.SHARED_CLUSTER, "vec": vec, "type": type_}
            yield Llvm(name, f"p7:a, n*{word}:b, p7:mbar", given=given, own=True)


def _reductions() -> Iterator[Llvm]:
    for op, types in _REDUCED.items():
        for type_ in types:
            name = f"red.async.shared.cluster.{op.value}.{type_.value}"
            given = {"space": Space.SHARED_CLUSTER, "op": op, "type": type_}
            yield Llvm(name, f"p7:a, i{type_.bits}:b, p7:mbar", given=given, own=True)


# fmt: off
STORE = Row(
    "st.async", "{.sem}{.scope}{.space}.mbarrier::complete_tx::bytes{.vec}.type", "[a], b, [mbar]",
    qualifiers={"sem": (Sem.WEAK,), "scope": (Scope.CLUSTER,), "space": (Space.SHARED_CLUSTER,),
                "vec": (Vec.V2, Vec.V4), "type": (*_WORDS, *_LONGS)},
    operands=(
        address("a", "space", wide=True, within=Space.SHARED, stored=True),
        vector("b", "type", _COUNT, numbers=VectorNumbers.ALL),
        address("mbar", "space", within=Space.SHARED),
    ),
    section="st.async", needs=_SM90, effects=_TRANSACTION,
    rules=(
        when(sem=Sem.WEAK).must("sem-scope", "a weak store has no scope", scope=None),
        when(vec=Vec.V4).must("vector-type", "four elements have 32 bits each", type=_WORDS),
    ),
    llvm=tuple(_stores()),
)

STORE_GLOBAL = Row(
    "st.async", "{.mmio}.release.scope{.space}.type", "[a], b",
    name="st.async.release", opcode="ST_ASYNC_RELEASE",
    qualifiers={"mmio": (Sem.MMIO,), "scope": _FAR, "space": (Space.GLOBAL,), "type": _STORED},
    operands=_GLOBAL,
    section="st.async", needs=_SM100, effects=_RELEASE, simulated=False,
    rules=(when(mmio=Sem.MMIO).must("mmio-scope", scope=Scope.SYS),),
)

RED = Row(
    "red.async", ".relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type", "[a], b, [mbar]",
    qualifiers={"space": (Space.SHARED_CLUSTER,), "op": tuple(_REDUCED),
                "type": (T.B32, T.U32, T.S32, T.U64)},
    operands=(
        address("a", "space", wide=True, within=Space.SHARED, stored=True),
        value("b", "type"),
        address("mbar", "space", within=Space.SHARED),
    ),
    section="red.async", needs=_SM90, effects=_TRANSACTION,
    rules=tuple(
        when(op=op).must("reduce-type", type=types) for op, types in _REDUCED.items()
    ),
    llvm=tuple(_reductions()),
)

RED_GLOBAL = Row(
    "red.async", "{.mmio}.release.scope{.space}.add.type", "[a], b",
    name="red.async.release", opcode="RED_ASYNC_RELEASE",
    qualifiers={"mmio": (Sem.MMIO,), "scope": _FAR, "space": (Space.GLOBAL,),
                "type": (T.U32, T.S32, T.U64, T.S64)},
    operands=_GLOBAL,
    section="red.async", needs=_SM100, effects=_RELEASE, simulated=False,
    rules=(when(mmio=Sem.MMIO).must("mmio-scope", scope=Scope.SYS),),
)
# fmt: on

ROWS = (STORE, STORE_GLOBAL, RED, RED_GLOBAL)
