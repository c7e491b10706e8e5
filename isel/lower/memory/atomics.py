"""Atomic operations that PTX has no instruction for, as loops around a compare-and-swap.

Layer: isel.lower.  What is narrower than PTX's smallest compare-and-swap happens in the word around
it.  Local memory belongs to one thread: there an atomic operation is a load and a store.
PTX ISA, atom.
"""

from __future__ import annotations

from collections.abc import Callable

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.atomics import has_instruction
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import I32, I64, FloatType, IntType, PointerType, Type, VectorType
from isel.llvm.vocabulary import IntPredicate as Icmp
from isel.llvm.vocabulary import Opcode, Ordering
from isel.llvm.vocabulary import RMWOperation as Rmw
from isel.lower.rewriter import NONE, Replacement, Rewriter, number

_I128 = IntType(128)
_LOCAL = 5
_NARROWEST = 16
"""Bits of PTX's narrowest compare-and-swap; it is a loop in machine code, too."""

_WORD = 32
"""Bits of the narrowest one that the machine has."""

Update = Callable[[Rewriter, llvm.Value], llvm.Value]
"""Emits the new value for the old one."""


def lowered(
    i: ir.Instruction, layout: TypeLayout, stack: frozenset[str], *, bfloats: bool
) -> Replacement | None:
    """The replacement of an atomic operation; None for others, and where PTX has an instruction.

    `stack` are the pointers to variables of the stack.
    """
    match i:
        case ir.AtomicRMW():
            if _is_local(i.pointer, stack):
                return lambda out: _at_once(out, i)
            return _read_modify_write(i, layout, bfloats=bfloats)
        case ir.CompareExchange():
            if _is_local(i.pointer, stack):
                return lambda out: _exchange_at_once(out, i)
            return _compare_exchange(i, layout)
        case ir.Load() | ir.Store() if i.ordering is not None:
            return None if _is_local(i.pointer, stack) else _access(i)
    return None


def _access(i: ir.Load | ir.Store) -> Replacement | None:
    """Atomic loads and stores of 128 bits are exchanges: of zeros by zeros, and of what was there.

    LLVM does the same.  Such a load writes: it needs memory that may be written.
    """
    type_ = i.value.type if isinstance(i, ir.Store) else i.type
    if type_ != _I128:
        return None
    return (lambda out: _load_long(out, i)) if isinstance(i, ir.Load) else (
        lambda out: _store_long(out, i)
    )  # fmt: skip


def _load_long(out: Rewriter, i: ir.Load) -> None:
    assert i.ordering is not None
    zero = number(_I128, 0)
    pair = out.exchange(i.pointer, zero, zero, i.ordering, i.scope, 16)
    out.extract(pair, 0, i.result or "")


def _store_long(out: Rewriter, i: ir.Store) -> None:
    assert i.ordering is not None
    common = out.common(Opcode.ATOMICRMW, out.name("t"))
    out.add(
        ir.AtomicRMW(
            *common, _I128, Rmw.XCHG, i.pointer, i.value, i.ordering, i.scope, 16, i.volatile
        )
    )


def _read_modify_write(i: ir.AtomicRMW, layout: TypeLayout, *, bfloats: bool) -> Replacement | None:
    if has_instruction(i.operation, i.type, bfloats=bfloats):
        return None
    bits = layout.size(i.type) * 8
    if bits not in (8, 16, 32, 64, 128):
        return None
    if bits < _WORD and i.operation in (Rmw.AND, Rmw.OR, Rmw.XOR):
        return lambda out: _word_logic(out, i, layout)
    return lambda out: _loop(out, i, layout, bits)


def _is_local(pointer: llvm.Value, stack: frozenset[str]) -> bool:
    if isinstance(pointer, llvm.Local) and pointer.name in stack:
        return True
    return isinstance(pointer.type, PointerType) and pointer.type.address_space == _LOCAL


def _at_once(out: Rewriter, i: ir.AtomicRMW) -> None:
    align = i.alignment or 1
    old = out.load(i.type, i.pointer, align, volatile=i.volatile, result=i.result or "")
    out.store(update(out, i, old), i.pointer, align, volatile=i.volatile)


def _loop(out: Rewriter, i: ir.AtomicRMW, layout: TypeLayout, bits: int) -> None:
    """A compare-and-swap loop: read, compute, swap; again with what was found where that fails."""
    if bits < _WORD:
        byte = _Part(out, i.pointer, layout, bits)
        seen = _swap_loop(
            out, i.ordering, i.scope, byte.word, I32,
            lambda o, old: byte.put(
                o, old, _to_bits(o, update(o, i, byte.get(o, old, i.type)), bits)
            ),
        )  # fmt: skip
        byte.get(out, seen, i.type, i.result or "")
        return
    seen = _swap_loop(
        out, i.ordering, i.scope, i.pointer, IntType(bits),
        lambda o, old: _to_bits(o, update(o, i, _from_bits(o, old, i.type)), bits),
    )  # fmt: skip
    _from_bits(out, seen, i.type, i.result or "")


def _swap_loop(
    out: Rewriter, ordering: Ordering, scope: str, pointer: llvm.Value, word: IntType,
    change: Update,
) -> llvm.Value:  # fmt: skip
    """The loop; gives the value that was there before."""
    if ordering is Ordering.SEQ_CST:
        out.fence(ordering, scope)
        ordering = Ordering.ACQUIRE
    size = word.bits // 8
    first = _first_look(out, pointer, word, scope)
    start, loop, done = out.here, out.name("swap"), out.name("swapped")
    out.branch(loop)
    out.open(loop)
    common = out.common(Opcode.PHI, out.name("t"))
    old = llvm.Local(common[1] or "", word)
    at = len(out.blocks[-1].instructions)
    tried = out.exchange(pointer, old, change(out, old), ordering, scope, size)
    found = out.extract(tried, 0)
    swapped = out.extract(tried, 1)
    incoming = ((first, start), (found, loop))
    out.blocks[-1].instructions.insert(at, ir.Phi(*common, word, incoming, NONE))
    out.branch_if(swapped, done, loop)
    out.open(done)
    return found


def _first_look(out: Rewriter, pointer: llvm.Value, word: IntType, scope: str) -> llvm.Value:
    """What is there now; of 128 bits each half alone, as the first swap finds whether they fit."""
    order = Ordering.MONOTONIC
    if word is not _I128:
        return out.load(word, pointer, word.bits // 8, ordering=order, scope=scope)
    low, high = (
        out.cast(Opcode.ZEXT, out.load(I64, place, 8, ordering=order, scope=scope), _I128)
        for place in (pointer, out.offset(pointer, number(I64, 8)))
    )
    return out.binary(Opcode.OR, out.binary(Opcode.SHL, high, number(_I128, 64)), low)


# ---- values ----------------------------------------------------------------------------------


def _to_bits(out: Rewriter, value: llvm.Value, bits: int) -> llvm.Value:
    if isinstance(value.type, PointerType):
        return out.cast(Opcode.PTRTOINT, value, IntType(bits))
    return out.cast(Opcode.BITCAST, value, IntType(bits))


def _from_bits(out: Rewriter, value: llvm.Value, type_: Type, result: str = "") -> llvm.Value:
    if isinstance(type_, PointerType):
        return out.cast(Opcode.INTTOPTR, value, type_, result)
    return out.cast(Opcode.BITCAST, value, type_, result)


_PLAIN = {
    Rmw.ADD: Opcode.ADD,
    Rmw.SUB: Opcode.SUB,
    Rmw.AND: Opcode.AND,
    Rmw.OR: Opcode.OR,
    Rmw.XOR: Opcode.XOR,
    Rmw.FADD: Opcode.FADD,
    Rmw.FSUB: Opcode.FSUB,
}
_EXTREMES = {Rmw.MAX: Icmp.SGT, Rmw.MIN: Icmp.SLT, Rmw.UMAX: Icmp.UGT, Rmw.UMIN: Icmp.ULT}
_FLOAT_EXTREMES = {
    Rmw.FMAX: "maxnum",
    Rmw.FMIN: "minnum",
    Rmw.FMAXIMUM: "maximum",
    Rmw.FMINIMUM: "minimum",
}


def update(out: Rewriter, i: ir.AtomicRMW, old: llvm.Value) -> llvm.Value:
    """The new value.  LLVM Language Reference, atomicrmw."""
    value = i.value
    if i.operation is Rmw.XCHG:
        return value
    if i.operation in _PLAIN:
        return out.binary(_PLAIN[i.operation], old, value)
    if i.operation in _EXTREMES:
        return out.select(out.compare(_EXTREMES[i.operation], old, value), old, value)
    if i.operation in _FLOAT_EXTREMES:
        name = f"llvm.{_FLOAT_EXTREMES[i.operation]}.{_suffix(i.type)}"
        return out.call(name, i.type, (old, value))
    assert isinstance(old.type, IntType)
    one, zero, ones = number(old.type, 1), number(old.type, 0), number(old.type, -1)
    match i.operation:
        case Rmw.NAND:
            return out.binary(Opcode.XOR, out.binary(Opcode.AND, old, value), ones)
        case Rmw.UINC_WRAP:
            full = out.compare(Icmp.UGE, old, value)
            return out.select(full, zero, out.binary(Opcode.ADD, old, one))
        case Rmw.UDEC_WRAP:
            less = out.binary(Opcode.SUB, old, one)
            beyond = out.select(out.compare(Icmp.UGT, old, value), value, less)
            return out.select(out.compare(Icmp.EQ, old, zero), value, beyond)
    less = out.binary(Opcode.SUB, old, value)
    fits = out.compare(Icmp.UGE, old, value)
    return out.select(fits, less, old if i.operation is Rmw.USUB_COND else zero)


def _suffix(type_: Type) -> str:
    if isinstance(type_, VectorType):
        return f"v{type_.count}{_suffix(type_.element)}"
    assert isinstance(type_, FloatType)
    return "bf16" if type_.keyword == "bfloat" else f"f{type_.bits}"


# ---- bytes -----------------------------------------------------------------------------------


class _Part:
    """Bits narrower than a word, and the aligned word around them."""

    def __init__(self, out: Rewriter, pointer: llvm.Value, layout: TypeLayout, bits: int) -> None:
        assert isinstance(pointer.type, PointerType)
        self.bits = bits
        size = IntType(layout.pointer_bits(pointer.type.address_space))
        address = out.cast(Opcode.PTRTOINT, pointer, size)
        below = out.binary(Opcode.AND, address, number(size, 3))
        base = out.binary(Opcode.SUB, number(size, 0), below)
        self.word = out.offset(pointer, base)
        self.shift = out.binary(Opcode.SHL, out.resize(below, I32), number(I32, 3))
        mask = out.binary(Opcode.SHL, number(I32, (1 << bits) - 1), self.shift)
        self.others = out.binary(Opcode.XOR, mask, number(I32, -1))

    def get(self, out: Rewriter, word: llvm.Value, type_: Type, result: str = "") -> llvm.Value:
        """The byte of a word."""
        low = out.binary(Opcode.LSHR, word, self.shift)
        if isinstance(type_, IntType):
            return out.resize(low, type_, result)
        return _from_bits(out, out.resize(low, IntType(self.bits)), type_, result)

    def spread(self, out: Rewriter, byte: llvm.Value) -> llvm.Value:
        """A byte at its place in a word of zeros."""
        return out.binary(Opcode.SHL, out.resize(byte, I32), self.shift)

    def put(self, out: Rewriter, word: llvm.Value, byte: llvm.Value) -> llvm.Value:
        """A word with another byte."""
        kept = out.binary(Opcode.AND, word, self.others)
        return out.binary(Opcode.OR, kept, self.spread(out, byte))


def _word_logic(out: Rewriter, i: ir.AtomicRMW, layout: TypeLayout) -> None:
    """and, or, xor of a byte: that of the word, with a value that leaves the others alone."""
    byte = _Part(out, i.pointer, layout, layout.size(i.type) * 8)
    value = byte.spread(out, i.value)
    if i.operation is Rmw.AND:
        value = out.binary(Opcode.OR, value, byte.others)
    old = out.atomic(i.operation, byte.word, value, i)
    byte.get(out, old, i.type, i.result or "")


def _compare_exchange(i: ir.CompareExchange, layout: TypeLayout) -> Replacement | None:
    type_ = i.expected.type
    if isinstance(type_, IntType) and type_.bits < _NARROWEST:
        return lambda out: _exchange_byte(out, i, layout)
    return None


def _exchange_at_once(out: Rewriter, i: ir.CompareExchange) -> None:
    align = i.alignment or 1
    old = out.load(i.expected.type, i.pointer, align)
    same = out.compare(Icmp.EQ, old, i.expected)
    out.store(out.select(same, i.replacement, old), i.pointer, align)
    out.pair(old, same, i.result or out.name("t"))


def _exchange_byte(out: Rewriter, i: ir.CompareExchange, layout: TypeLayout) -> None:
    """Swap the word as long as only its other bytes are in the way."""
    byte = _Part(out, i.pointer, layout, layout.size(i.expected.type) * 8)
    ordering = Ordering.SEQ_CST if Ordering.SEQ_CST in (i.success, i.failure) else i.success
    if ordering is Ordering.SEQ_CST:
        out.fence(ordering, i.scope)
        ordering = Ordering.ACQUIRE
    elif i.failure is Ordering.ACQUIRE and ordering is not Ordering.ACQUIRE:
        release = (Ordering.RELEASE, Ordering.ACQ_REL)
        ordering = Ordering.ACQ_REL if ordering in release else Ordering.ACQUIRE
    expected, new = byte.spread(out, i.expected), byte.spread(out, i.replacement)
    word = out.load(I32, byte.word, 4, ordering=Ordering.MONOTONIC, scope=i.scope)
    first = out.binary(Opcode.AND, word, byte.others)
    start, loop, again, done = out.here, *(out.name(n) for n in ("swap", "again", "swapped"))
    out.branch(loop)
    out.open(loop)
    common = out.common(Opcode.PHI, out.name("t"))
    rest = llvm.Local(common[1] or "", I32)
    at = len(out.blocks[-1].instructions)
    tried = out.exchange(
        byte.word, out.binary(Opcode.OR, rest, expected), out.binary(Opcode.OR, rest, new),
        ordering, i.scope, 4,
    )  # fmt: skip
    found, swapped = out.extract(tried, 0), out.extract(tried, 1)
    now = out.binary(Opcode.AND, found, byte.others)
    incoming = ((first, start), (now, again))
    out.blocks[-1].instructions.insert(at, ir.Phi(*common, I32, incoming, NONE))
    out.branch_if(swapped, done, again)
    out.open(again)
    out.branch_if(out.compare(Icmp.NE, now, rest), loop, done)
    out.open(done)
    out.pair(byte.get(out, found, i.expected.type), swapped, i.result or out.name("t"))
