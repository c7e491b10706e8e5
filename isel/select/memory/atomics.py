"""Atomic operations and fences to records.

Layer: isel.select.  Here is what PTX has an instruction for; what it has none for became a loop
around a compare-and-swap before (`isel.lower.memory.atomics`).  The ordering and the scope that
LLVM IR states are kept, also those of an atomicrmw, which LLVM's own NVPTX back end drops.
PTX ISA, atom; ld; st; membar / fence.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Mem, Reg
from intrinsics.modifiers import SHARED_SPACES, AtomicOp, NoFtz, ScalarType, Scope, Sem, Space
from intrinsics.modifiers import Compare as Cmp
from intrinsics.rows.atomic import LONG_ATOMICS, LONG_ATOMICS_OF_SYSTEM
from intrinsics.rows.memory import MMIO
from intrinsics.rows.sync import ONE_WAY_FENCE
from isel.diagnostics import Unselectable, not_yet
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.atomics import COUNTERS, LONG, PLAIN, float_kind
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED, TypeLayout
from isel.llvm.types import FloatType, IntType, PointerType, Type
from isel.llvm.vocabulary import IntPredicate, Ordering
from isel.llvm.vocabulary import RMWOperation as Rmw
from isel.select.integers.comparison import compare_element
from isel.select.memory.orders import SINGLE_THREAD, scope_of, semantics_of
from isel.select.repack import join, split
from isel.select.state import FunctionState, form

T = ScalarType

_ORDERED = (None, Space.GLOBAL, *SHARED_SPACES)
"""The spaces that other threads see."""

_SC = Ordering.SEQ_CST


def _only_class(state: FunctionState, type_: Type, what: str) -> ScalarType:
    """The class of the one register that holds a value."""
    classes = state.layout.classes(type_)
    if len(classes) != 1:
        raise not_yet(f"{what} of {type_}")
    return classes[0]


def read_modify_write(state: FunctionState, i: ir.AtomicRMW) -> None:
    """An atomicrmw that PTX has an instruction for."""
    kind = float_kind(i.type) if i.operation is Rmw.FADD else None
    if kind is not None:
        _add_floats(state, i, kind)
        return
    space, mem = _place(state, i.pointer)
    if _is_long(i.type):
        _exchange_long(state, i, space, mem)
        return
    cls = _only_class(state, i.type, "atomicrmw")
    (value,) = state.value(i.value)
    entry = PLAIN.get(i.operation)
    if entry is not None:
        op, types = entry
        type_ = types[cls.bits]
    elif i.operation is Rmw.SUB:
        op, type_ = AtomicOp.ADD, UNSIGNED[cls.bits]
        value = _negated(state, value if isinstance(value, Imm) else state.reg(value, cls), cls)
    elif i.operation in COUNTERS:
        op, type_ = COUNTERS[i.operation], T.U32
    else:
        raise not_yet(f"atomicrmw {i.operation.value} of {i.type}")
    operand = value if isinstance(value, Imm) else state.reg(value, cls)
    sem, scope = _ordered(state, i.ordering, i.scope)
    (result,) = state.define(i.result, i.type)
    chosen = form("atom", sem=sem, scope=scope, space=space, op=op, type=type_)
    state.emit(chosen, result, mem, operand)


def _negated(state: FunctionState, value: Imm | Reg, cls: ScalarType) -> Imm | Reg:
    if isinstance(value, Imm):
        return Imm(-value.value)
    negative = state.new(cls)
    zero = state.reg(Imm(0), cls)
    state.emit(form("sub.int", type=SIGNED[cls.bits]), negative, zero, value)
    return negative


def _place(state: FunctionState, pointer: llvm.Value) -> tuple[Space | None, Mem]:
    space, mem = state.place(pointer)
    if space in _ORDERED:
        return space, mem
    raise Unselectable(
        "atomic-space",
        f"there are no atomic operations on .{space.value if space else ''} memory",
        got=str(pointer.type),
        expected="global, shared or generic memory",
    )


def _add_floats(state: FunctionState, i: ir.AtomicRMW, kind: ScalarType) -> None:
    space, mem = _place(state, i.pointer)
    values = state.regs(i.value)
    halves = kind.bits == 16 or kind in (T.F16X2, T.BF16X2)
    sem, scope = _ordered(state, i.ordering, i.scope)
    results = state.define(i.result, i.type)
    chosen = form(
        "atom", sem=sem, scope=scope, space=space, op=AtomicOp.ADD,
        noftz=NoFtz.NOFTZ if halves else None, type=kind,
    )  # fmt: skip
    if len(values) == 1:
        state.emit(chosen, results[0], mem, values[0])
        return
    given, found = state.new(T.B32), state.new(T.B32)
    join(state, given, list(values), 16)
    state.emit(chosen, found, mem, given)
    split(state, list(results), found, 16)


def compare_exchange(state: FunctionState, i: ir.CompareExchange) -> None:
    """A cmpxchg of 16 to 128 bits: the value found, and whether it was the expected one."""
    if _is_long(i.expected.type):
        _compare_exchange_long(state, i)
        return
    cls = _only_class(state, i.expected.type, "cmpxchg")
    width = _width(i.expected.type, cls)
    if width not in (16, 32, 64):
        raise not_yet(f"cmpxchg of {i.expected.type}")
    space, mem = _place(state, i.pointer)
    expected, replacement = (
        op if isinstance(op, Imm) else state.reg(op, cls)
        for op in (*state.value(i.expected), *state.value(i.replacement))
    )
    sem, scope = _ordered(state, _stronger(i.success, i.failure), i.scope)
    found, done = state.define(i.result, i.type)
    chosen = form("atom.cas", sem=sem, scope=scope, space=space, type=BITS[width])
    state.emit(chosen, found, mem, expected, replacement)
    same = form("setp.int", p=True, cmp=Cmp.EQ, type=BITS[width])
    state.emit(same, done, found, expected)


# ---- 128 bits --------------------------------------------------------------------------------


def _is_long(type_: Type) -> bool:
    return isinstance(type_, IntType) and type_.bits == LONG


def _check_long(state: FunctionState, *, system: bool) -> None:
    """Whether the target exchanges 128 bits.

    Raises: Unselectable.
    """
    if not state.can(LONG_ATOMICS_OF_SYSTEM if system else LONG_ATOMICS):
        raise Unselectable(
            "target",
            "an atomic operation of i128 is not supported here",
            op="atom.b128",
            got=f"target {state.target}" + (f", PTX {state.ptx}" if state.ptx else ""),
            expected="sm_90 or higher, PTX 8.3 or later; 8.4 in the scope of the system",
            hint="two atomic operations of i64, behind a lock if both have to happen at once",
        )


def _exchange_long(state: FunctionState, i: ir.AtomicRMW, space: Space | None, mem: Mem) -> None:
    given, found = state.long_reg(i.value), state.new(T.B128)
    sem, scope = _ordered(state, i.ordering, i.scope)
    _check_long(state, system=scope is Scope.SYS)
    chosen = form("atom", sem=sem, scope=scope, space=space, op=AtomicOp.EXCH, type=T.B128)
    state.emit(chosen, found, mem, given)
    state.emit(form("mov.unpack2", type=T.B128), state.define(i.result, i.type), found)


def _compare_exchange_long(state: FunctionState, i: ir.CompareExchange) -> None:
    space, mem = _place(state, i.pointer)
    expected, replacement = state.long_reg(i.expected), state.long_reg(i.replacement)
    sem, scope = _ordered(state, _stronger(i.success, i.failure), i.scope)
    _check_long(state, system=scope is Scope.SYS)
    found = state.new(T.B128)
    low, high, done = state.define(i.result, i.type)
    chosen = form("atom.cas", sem=sem, scope=scope, space=space, type=T.B128)
    state.emit(chosen, found, mem, expected, replacement)
    state.emit(form("mov.unpack2", type=T.B128), (low, high), found)
    compare_element(state, IntPredicate.EQ, LONG, done, (low, high), state.value(i.expected))


def _width(type_: Type, cls: ScalarType) -> int:
    return type_.bits if isinstance(type_, IntType) else cls.bits


def _stronger(success: Ordering, failure: Ordering) -> Ordering:
    """One ordering that gives both."""
    if _SC in (success, failure):
        return _SC
    if failure is Ordering.ACQUIRE:
        return {Ordering.MONOTONIC: Ordering.ACQUIRE, Ordering.RELEASE: Ordering.ACQ_REL}.get(
            success, success
        )
    return success


def _ordered(state: FunctionState, ordering: Ordering, scope_name: str) -> tuple[Sem, Scope]:
    """The ordering and the scope of an operation, behind the fence that it needs."""
    scope = scope_of(scope_name)
    if scope_name == SINGLE_THREAD:
        return Sem.RELAXED, scope
    if ordering is _SC:
        state.emit(form("fence", sem=Sem.SC, scope=scope))
    return semantics_of(ordering), scope


def fence(state: FunctionState, i: ir.Fence) -> None:
    """A fence; within one thread there is nothing to order."""
    if i.scope == SINGLE_THREAD:
        return
    scope = scope_of(i.scope)
    state.emit(form("fence", sem=_fence_kind(state, i.ordering), scope=scope))


def _fence_kind(state: FunctionState, ordering: Ordering) -> Sem:
    if ordering is _SC:
        return Sem.SC
    one_way = {Ordering.ACQUIRE: Sem.ACQUIRE, Ordering.RELEASE: Sem.RELEASE}
    wanted = one_way.get(ordering, Sem.ACQ_REL)
    if wanted is not Sem.ACQ_REL and not state.can(ONE_WAY_FENCE):
        return Sem.ACQ_REL
    return wanted


# ---- accesses --------------------------------------------------------------------------------


def access_order(
    state: FunctionState, i: ir.Load | ir.Store, space: Space | None
) -> dict[str, Sem | Scope | None]:
    """The ordering, the scope and .mmio of a load or a store, behind the fence that it needs."""
    if i.ordering is None or i.scope == SINGLE_THREAD:
        return {"sem": Sem.VOLATILE} if i.volatile and space in _ORDERED else {}
    if space not in _ORDERED:
        return {}  # nobody else sees local memory, and nobody writes constants and parameters
    if i.volatile and semantics_of(i.ordering) is Sem.RELAXED:
        if space in SHARED_SPACES:
            return {"sem": Sem.VOLATILE}
        if not state.can(MMIO):
            return {"sem": Sem.VOLATILE}
        return {"io": Sem.MMIO, "sem": Sem.RELAXED, "scope": Scope.SYS}
    scope = scope_of("" if i.volatile else i.scope)
    if i.ordering is _SC:
        state.emit(form("fence", sem=Sem.SC, scope=scope))
    last = Sem.ACQUIRE if isinstance(i, ir.Load) else Sem.RELEASE
    return {"sem": semantics_of(i.ordering, last), "scope": scope}


def check_atomic(layout: TypeLayout, type_: Type, alignment: int) -> None:
    """Whether an atomic access of `type_` is one instruction.

    Raises: Unselectable.
    """
    known = isinstance(type_, (FloatType, PointerType)) or (
        isinstance(type_, IntType) and type_.bits in (8, 16, 32, 64)
    )
    if not known:
        raise Unselectable(
            "atomic-type",
            f"an atomic access of type {type_} is not selectable",
            got=str(type_),
            expected="i8, i16, i32, i64, half, bfloat, float, double or ptr",
        )
    if alignment < layout.size(type_):
        raise Unselectable(
            "atomic-alignment",
            "an atomic access is aligned to its size",
            got=f"align {alignment}",
            expected=f"align {layout.size(type_)}",
        )
