"""The builder's verbs for fences, atomic operations, and loads and stores that synchronise; and for
random numbers by counter, which are the same on every machine, and in every order of threads.

Layer: nvgen.instructions.  Scopes and orderings are PTX's; LLVM's IR says the same in its own
words, which llvmlite has no place for in atomic operations.  PTX ISA, membar / fence; atom; red;
ld; st. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import overload

from llvmlite import ir
from llvmlite.ir.instructions import AtomicRMW, CmpXchg, LoadAtomicInstr, StoreAtomicInstr

from intrinsics.element import ElementType
from intrinsics.modifiers import AtomicOp, ScalarType, Scope, Sem
from nvgen.calling.refusals import described, refuse, whole
from nvgen.instructions.methods import Verbs
from nvgen.values.number_types import FloatType, NumberType, llvm_type_of, worded
from nvgen.values.numbers import Float, FloatLike, Int, IntLike, Number, as_float, number_of
from nvgen.values.pointers import Pointer, check_floats, check_pointer, check_room, numbered

_ORDERINGS: Mapping[Sem, str] = {
    Sem.RELAXED: "monotonic",
    Sem.ACQUIRE: "acquire",
    Sem.RELEASE: "release",
    Sem.ACQ_REL: "acq_rel",
    Sem.SC: "seq_cst",
}
_LOADS, _STORES = (Sem.RELAXED, Sem.ACQUIRE, Sem.SC), (Sem.RELAXED, Sem.RELEASE, Sem.SC)
_SCOPES: Mapping[Scope, str] = {
    Scope.CTA: "block",
    Scope.CLUSTER: "cluster",
    Scope.GPU: "device",
    Scope.SYS: "",
}
T = ScalarType
_FLOATS = (T.F32, T.F64, T.F16, T.F16X2, T.BF16, T.BF16X2)
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

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
"""Philox 4x32: what words are multiplied with, and what each word of the key grows by."""


class _Scoped:
    """What llvmlite prints of an atomic instruction, with a syncscope before its orderings."""

    scope = ""

    def descr(self, buf: list[str]) -> None:
        lines: list[str] = []
        super().descr(lines)  # type: ignore[misc]  # of llvmlite's instruction
        both = (getattr(self, name, "") for name in ("ordering", "failordering"))
        said = f" {' '.join(filter(None, both))}"
        for line in lines:
            before, found, behind = line.rpartition(said)
            assert found, line
            scope = f' syncscope("{self.scope}")' if self.scope else ""
            buf.append(before + scope + said + behind)


_RMW, _CAS, _LOAD, _STORE = (
    type(made.__name__, (_Scoped, made), {})
    for made in (AtomicRMW, CmpXchg, LoadAtomicInstr, StoreAtomicInstr)
)
"""llvmlite's atomic instructions, with a syncscope."""


class Atomics(Verbs):
    """Fences, atomic operations, loads and stores that synchronise, and random numbers."""

    def _scoped(self, kind: type, scope: Scope, *operands: object, **named: object) -> ir.Value:
        """An atomic instruction of a class above."""
        builder = self.at_caller()
        made = kind(builder.block, *operands, **named)
        made.scope = _scope(scope)
        builder._insert(made)
        return made

    def fence(self, sem: Sem, scope: Scope) -> None:
        """Order this thread's memory accesses before the fence with those after it, for the threads
        of `scope`.  PTX ISA, fence.

        Raises: InputError for `Sem.RELAXED`, which orders nothing.
        """
        if _ordering(sem, "a fence") == _ORDERINGS[Sem.RELAXED]:
            raise refuse("a fence orders", got=f".{sem.value}", expected="acquire … sc")
        self.at_caller().fence(_ORDERINGS[sem], _scope(scope) or None)

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
        """Combine a number with one in memory (global, shared, or another CTA's shared) atomically;
        returns the old one.  PTX ISA, atom.

        `type` is `u32`, `f32`, `bf16x2` and so on, or for bits `ScalarType.B32`.  The old number
        has that type; if `value` is a float's bits in an integer, so is the old one.

        Raises: InputError for an operation that PTX does not have for `type`, and for floats of
        another type than the pointer's.
        """
        known = _operand_type(op, type)
        is_float, bits = known in _FLOATS, ir.IntType(known.bits)
        given = as_float(self, value, known) if is_float else self.raw(value, bits)
        check_pointer(self, address)
        check_floats(address, known, "combined")
        check_room(address, known.bits, known)
        operation, there = _OPERATIONS[op][known], address.value
        made = self._scoped(_RMW, scope, operation, there, given, _ordering(sem), name="old")
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
        """Compare and swap: store `new` if memory holds `expected` (16, 32 or 64 bits); returns the
        old number.  PTX ISA, atom.

        Raises: InputError for what is not an integer of the kernel of such a width.
        """
        if not isinstance(expected, Int) or expected.bits not in (16, 32, 64):
            raise refuse(
                "no integer of the kernel is compared with memory",
                got=worded(expected),
                expected="an Int of 16, 32 or 64 bits",
                hint="b.u32(0), b.u64(0) are such numbers; x.word is a float's bits",
            )
        check_pointer(self, address)
        weaker = {Sem.RELEASE: Sem.RELAXED, Sem.ACQ_REL: Sem.ACQUIRE}.get(sem, sem)
        numbers = expected.value, self.raw(new, ir.IntType(expected.bits))
        orders = _ordering(sem), _ordering(weaker)
        made = self._scoped(_CAS, scope, address.value, *numbers, *orders, name="cas")
        return expected.like(self.at_caller().extract_value(made, 0))

    def atom_load(
        self, address: Pointer, *, sem: Sem = Sem.ACQUIRE, scope: Scope = Scope.GPU
    ) -> Number:
        """Load the number that `address` points to, whole even while other threads store it; with
        ACQUIRE this thread also sees what the storing thread has released.  PTX ISA, ld.

        `b.atom_load(flags.at(i))` waits for a flag in a loop.  RELAXED orders nothing else.

        Raises: InputError for a pointer without a number type, and an ordering of stores.
        """
        check_pointer(self, address)
        type_ = address.typed()
        word, ordering = ir.IntType(type_.bits), _ordering(sem, "a load", _LOADS)
        made = self._scoped(_LOAD, scope, address.value, ordering, type_.bits // 8, typ=word)
        return number_of(self, self.at_caller().bitcast(made, llvm_type_of(type_)), type_)

    def atom_store(
        self,
        address: Pointer,
        value: Number | float,
        *,
        sem: Sem = Sem.RELEASE,
        scope: Scope = Scope.GPU,
    ) -> None:
        """Store a number of the type that `address` points to, whole; with RELEASE a thread that
        loads it by `atom_load` sees what this one has done before.  PTX ISA, st.

        Raises: InputError for a pointer without a number type, a value of another one, and an
        ordering of loads.
        """
        check_pointer(self, address)
        stored, builder = numbered(address, address.typed(), value), self.at_caller()
        bits, ordering = address.typed().bits, _ordering(sem, "a store", _STORES)
        word = builder.bitcast(stored, ir.IntType(bits))
        self._scoped(_STORE, scope, word, address.value, ordering, bits // 8)

    # ---- random numbers ----------------------------------------------------------------------

    def philox(
        self, counter: Sequence[IntLike], key: Sequence[IntLike], *, rounds: int = 10
    ) -> tuple[Int, Int, Int, Int]:
        """Four words of random bits, of a counter of up to four words and a key of up to two, as
        cuRAND, PyTorch and Triton make them (Philox 4x32).

        `b.philox((element, step), (seed,))`: each counter gives four words of its own.
        `(word >> 8).to(f32) * 2**-24` is a number from 0 to below 1.

        Raises: InputError for more words, and for what are no integers of 32 bits.
        """
        words, (k0, k1) = self._padded(counter, 4), self._padded(key, 2)
        for _ in range(whole(rounds, "number of rounds")):
            a, b, c, d = words
            pairs = zip((a, c), _MULTIPLIERS, strict=True)
            products = [(self.mul_hi(x, by, type=ScalarType.U32), x * by) for x, by in pairs]
            (high, low), (upper, lower) = products  # side by side: one IMAD.WIDE each
            words = [upper ^ b ^ k0, lower, high ^ d ^ k1, low]
            k0, k1 = k0 + _WEYL[0], k1 + _WEYL[1]
        one, two, three, four = words
        return one, two, three, four

    def _padded(self, words: Sequence[IntLike], count: int) -> list[Int]:
        """As many words, with zeros behind those that are given."""
        if not isinstance(words, (tuple, list)) or len(words) > count:
            got = repr(words)
            raise refuse("words of a counter or a key", got=got, expected=f"({count} words)")
        word = ir.IntType(32)
        return [Int(self, self.raw(one, word)) for one in (*words, *(0,) * (count - len(words)))]


def _operand_type(op: AtomicOp, type_: NumberType) -> ScalarType:
    """The type of an operation that PTX has of it."""
    operations = _OPERATIONS.get(op)
    if operations is None:
        expected = ", ".join(f"AtomicOp.{known.name}" for known in _OPERATIONS)
        raise refuse("no atomic operation", got=described(op), expected=expected)
    known = next((t for t in operations if t.value == getattr(type_, "value", None)), None)
    if known is None:
        got = f".{type_.value}" if isinstance(type_, NumberType) else described(type_)
        expected, hint = " or ".join(f".{t.value}" for t in operations), _instead(op, type_)
        raise refuse(f"atom.{op.value} of another type", got=got, expected=expected, hint=hint)
    return known


def _instead(op: AtomicOp, type_: object) -> str:
    """What to do where PTX has not the operation of a type."""
    if op in (AtomicOp.MIN, AtomicOp.MAX) and type_ in (ElementType.F32, T.F32, T.F64):
        return "numbers that are not negative are ordered as their bits: x.word, with u32 or u64"
    if op is AtomicOp.ADD and type_ is T.S64:
        return "u64 adds the same bits: x.to(u64)"
    if op in (AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR, AtomicOp.EXCH):
        return "bits are combined: ScalarType.B32, ScalarType.B64"
    return ""


def _scope(scope: Scope) -> str:
    if scope not in _SCOPES:
        expected = ", ".join(f"Scope.{known.name}" for known in _SCOPES)
        raise refuse("no scope", got=described(scope), expected=expected)
    return _SCOPES[scope]


def _ordering(
    sem: Sem, what: str = "an atomic operation", possible: Collection[Sem] = _ORDERINGS
) -> str:
    if sem not in possible:
        expected = ", ".join(f"Sem.{known.name}" for known in possible)
        got = f".{sem.value}" if isinstance(sem, Sem) else described(sem)
        raise refuse(f"no ordering of {what}", got=got, expected=expected)
    return _ORDERINGS[sem]
