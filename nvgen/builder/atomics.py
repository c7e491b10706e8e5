"""The builder's verbs for fences and atomic operations.

Layer: nvgen.builder.  Scopes and orderings are PTX's; LLVM's IR says the same in its own words,
which llvmlite has no place for in atomic operations.  PTX ISA, membar / fence; atom; red.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, overload

from llvmlite import ir
from llvmlite.ir.instructions import AtomicRMW, CmpXchg

from intrinsics.modifiers import AtomicOp, ScalarType, Scope, Sem
from nvgen.builder.number_types import FloatType, NumberType
from nvgen.builder.numbers import (
    Float,
    FloatLike,
    Int,
    IntLike,
    Number,
    as_float,
    number_of,
)
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import refuse
from nvgen.builder.verbs import Verbs

_ORDERINGS: Mapping[Sem, str] = {
    Sem.RELAXED: "monotonic",
    Sem.ACQUIRE: "acquire",
    Sem.RELEASE: "release",
    Sem.ACQ_REL: "acq_rel",
    Sem.SC: "seq_cst",
}
_SCOPES: Mapping[Scope, str] = {
    Scope.CTA: "block",
    Scope.CLUSTER: "cluster",
    Scope.GPU: "device",
    Scope.SYS: "",
}
T = ScalarType
_FLOATS = (T.F32, T.F64)
_UNSIGNED, _SIGNED = (T.U32, T.U64), (T.S32, T.S64)
_OPERATIONS: Mapping[AtomicOp, Mapping[ScalarType, str]] = {
    AtomicOp.AND: dict.fromkeys((T.B32, T.B64), "and"),
    AtomicOp.OR: dict.fromkeys((T.B32, T.B64), "or"),
    AtomicOp.XOR: dict.fromkeys((T.B32, T.B64), "xor"),
    AtomicOp.EXCH: dict.fromkeys((T.B32, T.B64), "xchg"),
    AtomicOp.ADD: dict.fromkeys((T.U32, T.S32, T.U64), "add") | dict.fromkeys(_FLOATS, "fadd"),
    AtomicOp.INC: {T.U32: "uinc_wrap"},
    AtomicOp.DEC: {T.U32: "udec_wrap"},
    AtomicOp.MIN: dict.fromkeys(_UNSIGNED, "umin") | dict.fromkeys(_SIGNED, "min"),
    AtomicOp.MAX: dict.fromkeys(_UNSIGNED, "umax") | dict.fromkeys(_SIGNED, "max"),
}
"""LLVM's names of what PTX has, by type."""


class _Scoped:
    """What llvmlite prints of an atomic instruction, with a syncscope before its orderings."""

    scope = ""
    orderings: ClassVar[tuple[str, ...]] = ("ordering",)

    def descr(self, buf: list[str]) -> None:
        lines: list[str] = []
        super().descr(lines)  # type: ignore[misc]  # of llvmlite's instruction
        said = f" {' '.join(getattr(self, name) for name in self.orderings)} "
        for line in lines:
            before, found, behind = line.rpartition(said)
            assert found, line
            scope = f' syncscope("{self.scope}")' if self.scope else ""
            buf.append(before + scope + said + behind)


class _ScopedRmw(_Scoped, AtomicRMW):  # type: ignore[misc]  # llvmlite is untyped
    """An atomicrmw with a syncscope."""


class _ScopedCas(_Scoped, CmpXchg):  # type: ignore[misc]  # llvmlite is untyped
    """A cmpxchg with a syncscope."""

    orderings = ("ordering", "failordering")


class Atomics(Verbs):
    """Fences and atomic operations."""

    def fence(self, sem: Sem, scope: Scope) -> None:
        """fence: order what this thread did before and does behind, as `scope` sees it.

        Raises: InputError for `Sem.RELAXED`, which orders nothing.
        """
        if sem not in _ORDERINGS or sem is Sem.RELAXED:
            raise refuse("a fence orders", got=f".{sem.value}", expected="acquire … sc")
        self.at_caller().fence(_ORDERINGS[sem], _SCOPES[scope] or None)

    @overload
    def atom(
        self,
        op: AtomicOp,
        type: FloatType,
        address: Pointer,
        value: FloatLike,
        *,
        sem: Sem = Sem.RELAXED,
        scope: Scope = Scope.GPU,
    ) -> Float: ...

    @overload
    def atom(
        self,
        op: AtomicOp,
        type: NumberType,
        address: Pointer,
        value: IntLike,
        *,
        sem: Sem = Sem.RELAXED,
        scope: Scope = Scope.GPU,
    ) -> Int: ...

    def atom(
        self,
        op: AtomicOp,
        type: NumberType,
        address: Pointer,
        value: Number | float,
        *,
        sem: Sem = Sem.RELAXED,
        scope: Scope = Scope.GPU,
    ) -> Number:
        """Combine a number with memory (global, shared, of the cluster) at once; returns the old.

        `type` is `u32`, `f32` and so on, or for bits `ScalarType.B32`.  The old number is of it; of
        an f32 or f64 that is given as its bits, in an integer of the kernel, it is the bits.

        Raises: InputError for a type that PTX does not have the operation of.
        """
        known = next((t for t in _OPERATIONS[op] if t.value == type.value), None)
        if known is None:
            raise refuse(
                f"atom.{op.value} of another type",
                got=f".{type.value}",
                expected=" or ".join(f".{t.value}" for t in _OPERATIONS[op]),
            )
        is_float, bits = known in _FLOATS, ir.IntType(known.bits)
        given = as_float(self, value, known) if is_float else self.raw(value, bits)
        builder, name = self.at_caller(), _OPERATIONS[op][known]
        made = _ScopedRmw(builder.block, name, address.value, given, _ordering(sem), name="old")
        made.scope = _SCOPES[scope]
        builder._insert(made)
        if is_float and isinstance(value, Int):
            return Int(self, self.at_caller().bitcast(made, bits))
        return number_of(self, made, known)

    def atom_cas(
        self,
        address: Pointer,
        expected: Int,
        new: IntLike,
        *,
        sem: Sem = Sem.RELAXED,
        scope: Scope = Scope.GPU,
    ) -> Int:
        """Put `new` into memory if `expected` (16, 32 or 64 bits) is there; returns the old."""
        weaker = {Sem.RELEASE: Sem.RELAXED, Sem.ACQ_REL: Sem.ACQUIRE}.get(sem, sem)
        builder = self.at_caller()
        made = _ScopedCas(
            builder.block,
            address.value,
            expected.value,
            self.raw(new, ir.IntType(expected.bits)),
            _ordering(sem),
            _ordering(weaker),
            name="cas",
        )
        made.scope = _SCOPES[scope]
        builder._insert(made)
        return Int(self, self.at_caller().extract_value(made, 0))


def _ordering(sem: Sem) -> str:
    if sem not in _ORDERINGS:
        expected = " or ".join(f".{known.value}" for known in _ORDERINGS)
        raise refuse("no ordering of an atomic operation", got=f".{sem.value}", expected=expected)
    return _ORDERINGS[sem]
