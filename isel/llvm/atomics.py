"""Which atomic operations of LLVM IR PTX has an instruction for, and which one.

Layer: isel.llvm.  Lowering makes loops of the others, selection makes records of these.
PTX ISA, atom.
"""

from __future__ import annotations

from intrinsics.modifiers import AtomicOp, ScalarType
from isel.llvm.type_layout import BITS, FLOATS, SIGNED, UNSIGNED
from isel.llvm.types import FloatType, IntType, PointerType, Type, VectorType
from isel.llvm.vocabulary import RMWOperation as Rmw

T = ScalarType

PLAIN = {
    Rmw.XCHG: (AtomicOp.EXCH, BITS),
    Rmw.ADD: (AtomicOp.ADD, UNSIGNED),
    Rmw.AND: (AtomicOp.AND, BITS),
    Rmw.OR: (AtomicOp.OR, BITS),
    Rmw.XOR: (AtomicOp.XOR, BITS),
    Rmw.MAX: (AtomicOp.MAX, SIGNED),
    Rmw.MIN: (AtomicOp.MIN, SIGNED),
    Rmw.UMAX: (AtomicOp.MAX, UNSIGNED),
    Rmw.UMIN: (AtomicOp.MIN, UNSIGNED),
}
"""Operations on integers, and the type that the instruction names, by bits."""

COUNTERS = {Rmw.UINC_WRAP: AtomicOp.INC, Rmw.UDEC_WRAP: AtomicOp.DEC}
"""Those of 32 bits alone."""

_HALVES = {"half": T.F16X2, "bfloat": T.BF16X2}

LONG = 128
"""Bits of the widest integer that PTX exchanges in memory."""


def has_instruction(operation: Rmw, type_: Type, *, bfloats: bool) -> bool:
    """Whether PTX has an instruction for an atomicrmw; `bfloats`: the target adds those, too."""
    if operation is Rmw.FADD:
        kind = float_kind(type_)
        return kind is not None and (bfloats or kind not in (T.BF16, T.BF16X2))
    if operation is Rmw.XCHG and isinstance(type_, (FloatType, PointerType)):
        return not isinstance(type_, FloatType) or type_.bits in (32, 64)
    if not isinstance(type_, IntType):
        return False
    if operation in COUNTERS:
        return type_.bits == 32
    if type_.bits == LONG:
        return operation is Rmw.XCHG
    return type_.bits in (32, 64) and (operation in PLAIN or operation is Rmw.SUB)


def float_kind(type_: Type) -> ScalarType | None:
    """The type that `atom.add` names for floats, alone or in pairs; None where it has none."""
    match type_:
        case FloatType(name):
            return FLOATS.get(name)
        case VectorType(FloatType(name), 2, False):
            return _HALVES.get(name)
    return None
