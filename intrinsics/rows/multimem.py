"""Memory of several GPUs at one address: reductions of what they hold, stores and copies to all.

PTX ISA, Data Movement and Conversion Instructions: multimem.ld_reduce, multimem.st, multimem.red;
multimem.cp.async.bulk; multimem.cp.reduce.async.bulk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from intrinsics.modifiers import (
    AccPrecision,
    AtomicOp,
    ByteMask,
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
    Attributes,
    Effect,
    Effects,
    Llvm,
    Row,
    Rule,
    VectorNumbers,
    address,
    vector,
    when,
)
from intrinsics.rows.bulk import BY_GROUP, BYTE_MASK, SIZE, ordered, strong_order
from intrinsics.rows.bulk_reduce import (
    IN_GLOBAL,
    OPERATIONS,
    reduced_in_global,
    spellings,
    types_of,
)
from intrinsics.rows.requirements import VECTOR_COUNT
from intrinsics.targets import Feature, at_least, since, with_feature

T = ScalarType

_BITS = (T.B32, T.B64)
_INTEGERS = (T.U32, T.U64, T.S32, T.S64)
_HALVES, _PAIRS = (T.F16, T.BF16), (T.F16X2, T.BF16X2)
_BYTES, _BYTE_PAIRS = (T.E5M2, T.E4M3), (T.E5M2X2, T.E4M3X2)
_BYTE_WORDS = (T.E5M2X4, T.E4M3X4)
_NARROW = (*_BYTES, *_BYTE_PAIRS, *_BYTE_WORDS)
_FLOATS = (*_HALVES, *_PAIRS, T.F32, T.F64)
_EXTREMES = (AtomicOp.MIN, AtomicOp.MAX)
_BITWISE = (AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR)

_VECTORS: Mapping[Attribute, tuple[Vec | None, ...]] = {
    **dict.fromkeys((*_BITS, *_INTEGERS, T.F64), (None,)),
    **dict.fromkeys((*_PAIRS, T.F32, *_BYTE_WORDS), (None, Vec.V2, Vec.V4)),
    **dict.fromkeys((*_HALVES, *_BYTE_PAIRS), (Vec.V2, Vec.V4, Vec.V8)),
    **dict.fromkeys(_BYTES, (Vec.V4, Vec.V8)),
}
"""How many numbers of a type: 32, 64 or 128 bits of floating-point ones."""

_NARROW_TARGETS = since("8.6", with_feature(Feature.HAS_NARROW_MULTIMEM))
_ADDRESS = address("a", "space", pointer=True, within=Space.GLOBAL)
_STORED = address("a", "space", pointer=True, within=Space.GLOBAL, stored=True)
_VALUE = vector("b", "type", VECTOR_COUNT, numbers=VectorNumbers.ALL)


def _order(sems: tuple[Sem, ...]) -> tuple[Rule, ...]:
    return (
        when(sem=sems).must("sem-scope", "an ordering needs a scope", scope=tuple(Scope)),
        when(scope=tuple(Scope)).must("sem-scope", "a scope needs an ordering", sem=sems),
    )


def _sizes(types: tuple[T, ...]) -> Iterator[Rule]:
    for type_ in types:
        yield when(type=type_).must("multimem-vector", vec=_VECTORS[type_])
    if T.E5M2 in types:
        yield when(type=_NARROW).needs("narrow-target", _NARROW_TARGETS)


def _operations(narrow: tuple[T, ...]) -> tuple[Rule, ...]:
    return (
        when(op=_BITWISE).must("multimem-type", type=_BITS),
        when(op=AtomicOp.ADD).must("multimem-type", type=(T.U32, T.U64, T.S32, *_FLOATS, *narrow)),
        when(op=_EXTREMES).must("multimem-type", type=(*_INTEGERS, *_HALVES, *_PAIRS, *narrow)),
    )


_SUMS = (
    when(acc=tuple(AccPrecision)).must("multimem-precision", op=AtomicOp.ADD),
    when(acc=AccPrecision.F32).must("multimem-precision", type=(*_HALVES, *_PAIRS)),
    when(acc=AccPrecision.F16).must("multimem-precision", type=_NARROW),
    when(acc=AccPrecision.F32).needs("precision-version", since("8.2", at_least(90))),
)


# ---- names -----------------------------------------------------------------------------------

_REGISTERS = {
    **dict.fromkeys((T.B32, T.U32, T.S32, *_PAIRS, *_BYTE_WORDS), "i32"),
    **dict.fromkeys((T.B64, T.U64, T.S64), "i64"),
    T.F32: "float", T.F64: "double",
}  # fmt: skip
_REDUCED = (*_BITWISE, AtomicOp.ADD, *_EXTREMES)


def _orders(sems: tuple[Sem, ...]) -> dict[str, Attribute | Attributes]:
    """Orderings for the system, where the other GPUs are; a weak access has no scope."""
    found: dict[str, Attribute | Attributes] = {}
    for sem in sems:
        weak = sem is Sem.WEAK
        said: Attributes = {} if weak else {"sem": sem, "scope": Scope.SYS}
        found["weak" if weak else f"{sem.value}.sys"] = said
    return found


def _types(row_types: Iterable[T]) -> Iterator[tuple[T, Vec | None, str]]:
    """Types in whole registers with the vectors that there are, and how names spell both."""
    for type_ in (t for t in row_types if t in _REGISTERS):
        for vec in _VECTORS[type_]:
            yield type_, vec, f"{vec.value}.{type_.value}" if vec else type_.value


def _spelled(
    name: str, sems: tuple[Sem, ...], types: Iterable[T], args: str, result: str, **given: Attribute
) -> Iterator[Llvm]:
    """nvgen's names, in LLVM's scheme: LLVM has none."""
    for type_, vec, text in _types(types):
        register = f"n*{_REGISTERS[type_]}" if vec else _REGISTERS[type_]
        yield Llvm(
            f"multimem.{name}.{{order}}.{text}",
            args.format(register),
            result.format(register),
            given={"space": Space.GLOBAL, "type": type_, "vec": vec, **given},
            holes={"order": _orders(sems)},
            own=True,
        )


def _reductions(
    name: str, sems: tuple[Sem, ...], args: str, result: str, more: tuple[T, ...] = ()
) -> Iterator[Llvm]:
    """By operation; `more` are types that are added, and of which there is a least one."""
    added = (T.U32, T.S32, T.U64, T.F32, T.F64)
    table = {
        **dict.fromkeys(_BITWISE, _BITS),
        AtomicOp.ADD: (*added, *_PAIRS, *more),
        **dict.fromkeys(_EXTREMES, (*_INTEGERS, *(_PAIRS if more else ()), *more)),
    }
    for op, types in table.items():
        yield from _spelled(f"{name}.{op.value}", sems, types, args, result, op=op)


# ---- the rows --------------------------------------------------------------------------------

_LOADS, _STORES = (Sem.RELAXED, Sem.ACQUIRE), (Sem.RELAXED, Sem.RELEASE)
_WEAK_LOADS = (Sem.WEAK, *_LOADS)
_ALL = (*_BITS, *_INTEGERS, *_FLOATS, *_NARROW)
_ADDED = (*_BITS, *_INTEGERS, *_FLOATS)
_SPACE = (Space.GLOBAL,)
_SM90 = since("8.1", at_least(90))


def _loads() -> Iterator[Llvm]:
    args, result = "p1:a", "{}:d"
    yield from _reductions("ld.reduce", _WEAK_LOADS, args, result, _BYTE_WORDS)
    for acc, types in ((AccPrecision.F32, _PAIRS), (AccPrecision.F16, _BYTE_WORDS)):
        name = f"ld.reduce.add.{acc.value.replace('::', '.')}"
        yield from _spelled(name, _WEAK_LOADS, types, args, result, op=AtomicOp.ADD, acc=acc)


_OF_ALL = "`a` is a multimem address, which names the same place in the memory of several GPUs."

# fmt: off
LD_REDUCE = Row(
    "multimem.ld_reduce", "{.sem}{.scope}{.space}.op{.acc}{.vec}.type", "d, [a]",
    qualifiers={"sem": _WEAK_LOADS, "scope": Scope, "space": _SPACE, "op": _REDUCED,
                "acc": AccPrecision, "vec": Vec, "type": _ALL},
    operands=(vector("d", "type", VECTOR_COUNT, Access.WRITE, sink=True), _ADDRESS),
    about=f"Load from several GPUs and combine by `op`.\n\n{_OF_ALL}",
    section="multimem.ld_reduce, multimem.st, multimem.red", needs=_SM90,
    rules=(*_order(_LOADS), *_operations(_NARROW), *_SUMS, *_sizes(_ALL)),
    effects=Effects(Effect.READS_MEMORY), llvm=tuple(_loads()),
)

ST = Row(
    "multimem.st", "{.sem}{.scope}{.space}{.vec}.type", "[a], b",
    qualifiers={"sem": (Sem.WEAK, *_STORES), "scope": Scope, "space": _SPACE, "vec": Vec,
                "type": _ALL},
    operands=(_STORED, _VALUE),
    about=f"Store `b` to several GPUs.\n\n{_OF_ALL}",
    section="multimem.ld_reduce, multimem.st, multimem.red", needs=_SM90,
    rules=(*_order(_STORES), *_sizes(_ALL)),
    effects=Effects(Effect.WRITES_MEMORY),
    llvm=tuple(_spelled("st", (Sem.WEAK, *_STORES), _ALL, "p1:a, {}:b", "")),
)

RED = Row(
    "multimem.red", "{.sem}{.scope}{.space}.op{.vec}.type", "[a], b",
    qualifiers={"sem": _STORES, "scope": Scope, "space": _SPACE, "op": _REDUCED, "vec": Vec,
                "type": _ADDED},
    operands=(_STORED, _VALUE),
    about=f"Combine `b` with memory of several GPUs by `op`.\n\n{_OF_ALL}",
    section="multimem.ld_reduce, multimem.st, multimem.red", needs=_SM90,
    rules=(
        *_order(_STORES), *_operations(()), *_sizes(_ADDED),
        when(op=_EXTREMES, type=(*_HALVES, *_PAIRS)).must(
            "multimem-vector", "a least or greatest of half floats comes as a vector only",
            vec=tuple(Vec)),
    ),
    effects=Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY),
    llvm=tuple(_reductions("red", _STORES, "p1:a, {}:b", "")),
)

_BULK = since("9.1", at_least(90))
_TO, _FROM = address("dst", Space.GLOBAL), address("src", Space.SHARED_CTA)
_COPY_ARGS = "p1:dst, p3:src, i32:size"

CP = Row(
    "multimem.cp.async.bulk", "{.sem}{.scope}.global.shared::cta.bulk_group{.cp_mask}{.type}",
    "[dst], [src], size {, byte_mask}",
    qualifiers={**ordered(), "cp_mask": ByteMask},
    operands=(_TO, _FROM, SIZE, BYTE_MASK),
    section="multimem.cp.async.bulk", needs=_BULK, tied={"cp_mask": "byte_mask"},
    rules=(
        when(cp_mask=ByteMask.CP_MASK).needs("cp-mask-target", since("9.1", at_least(100))),
        *strong_order(),
    ),
    effects=BY_GROUP,
    llvm=(
        Llvm("multimem.cp.async.bulk", _COPY_ARGS, own=True),
        Llvm("multimem.cp.async.bulk.bytemask", f"{_COPY_ARGS}, i16:byte_mask",
             given={"cp_mask": ByteMask.CP_MASK}, own=True),
    ),
)

CP_REDUCE = Row(
    "multimem.cp.reduce.async.bulk",
    "{.sem}{.scope}.global.shared::cta.bulk_group.op{.noftz}.type", "[dst], [src], size",
    qualifiers={"sem": (Sem.RELAXED,), "scope": Scope, "op": OPERATIONS, "noftz": NoFtz,
                "type": types_of(IN_GLOBAL)},
    operands=(_TO, _FROM, SIZE),
    section="multimem.cp.reduce.async.bulk", needs=_BULK,
    rules=reduced_in_global(), effects=BY_GROUP,
    llvm=tuple(spellings("multimem.cp.reduce.async.bulk", _COPY_ARGS, IN_GLOBAL)),
)
# fmt: on

ROWS = (LD_REDUCE, ST, RED, CP, CP_REDUCE)
