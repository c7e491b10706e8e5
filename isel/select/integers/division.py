"""Division of integers by a constant: a product, of which the upper half counts.

Layer: isel.select.  ptxas calls a routine for a division; a multiplication by 2^k / d, rounded up,
followed by a shift is exact where the error of the rounding stays below one unit (Granlund and
Montgomery, Division by Invariant Integers using Multiplication).
"""

from __future__ import annotations

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED
from isel.llvm.vocabulary import QUOTIENTS, REMAINDERS, SIGNED_DIVISIONS, Opcode
from isel.select.state import FunctionState, form

T = ScalarType

_BESIDE = dict(zip(REMAINDERS, QUOTIENTS, strict=True))


def divide_by_number(
    state: FunctionState, opcode: Opcode, width: int, result: Reg, n: Reg, divisor: int
) -> bool:
    """Divide `n`, extended to its register, by a number; False where there is no short way."""
    if divisor == -1 and opcode is Opcode.SDIV:
        bits = state.out.regs.classes[result].bits
        state.emit(form("neg.int", type=SIGNED[bits]), result, n)
        return True
    if divisor == 1:
        cls, rest = BITS[state.out.regs.classes[result].bits], opcode in REMAINDERS
        state.emit(form("mov", type=cls), result, Imm(0) if rest else n)
        if not rest:
            state.copies[result] = state.copies.get(n, n)
        return True
    if divisor in (0, -1):
        return False
    size = divisor & ((1 << width) - 1)
    if opcode is Opcode.UREM and size & (size - 1) == 0:
        cls = BITS[state.out.regs.classes[result].bits]
        state.emit(form("and", type=cls), result, n, Imm(size - 1))
        return True
    work = _Steps(state, state.out.regs.classes[result].bits)
    signed = opcode in SIGNED_DIVISIONS
    width = width if signed else min(width, state.zero_above.get(n, width))
    if work.bits == 16:
        work.bits = 32
        cvt = form("cvt.int", dtype=T.S32 if signed else T.U32, atype=T.S16 if signed else T.U16)
        n = state.computed(cvt, n, cls=T.B32)
    quotient = _signed(work, n, divisor) if signed else _unsigned(work, n, size, width)
    if opcode in REMAINDERS:
        product = work.emit("mul.lo", SIGNED, quotient, Imm(divisor))
        quotient = work.emit("sub.int", SIGNED, n, product)
    wanted = state.out.regs.classes[result].bits
    if wanted == work.bits:
        last = state.block.instrs[-1]  # which made the quotient
        last.ops = (result, *last.ops[1:])
    else:
        state.emit(form("cvt.int", dtype=T.U16, atype=T.U32), result, quotient)
    return True


def rest_of_quotient(
    state: FunctionState, opcode: Opcode, bits: int, result: Reg, n: Reg, divisor: Scalar
) -> bool:
    """Select a remainder from a quotient that the block has computed, and remember quotients; False
    if nothing is selected.

    ptxas 13.5 finds unsigned numbers of 32 bits by itself.
    """
    n = state.copies.get(n, n)
    if opcode in QUOTIENTS:
        state.quotients[opcode, n, divisor] = result
        return False
    quotient = state.quotients.get((_BESIDE.get(opcode), n, divisor))
    if quotient is None or (opcode is Opcode.UREM and bits <= 32):
        return False
    times = form("mul.lo", type=SIGNED[bits])
    product = state.computed(times, quotient, divisor, cls=BITS[bits])
    state.emit(form("sub.int", type=SIGNED[bits]), result, n, product)
    return True


class _Steps:
    """Records on registers of one width."""

    def __init__(self, state: FunctionState, bits: int) -> None:
        self.state = state
        self.bits = bits

    def emit(self, row: str, types: dict[int, ScalarType], *sources: Scalar) -> Reg:
        """One record."""
        chosen = form(row, type=types[self.bits])
        return self.state.computed(chosen, *sources, cls=BITS[self.bits])


def _unsigned(work: _Steps, n: Reg, divisor: int, width: int) -> Reg:
    """Divide what has at most `width` bits; an even number is halved with what it divides."""
    bits = work.bits
    if divisor & (divisor - 1) == 0:
        return work.emit("shr", UNSIGNED, n, Imm(divisor.bit_length() - 1))
    for shift in range(divisor.bit_length() + 1):
        power = 1 << (bits + shift)
        factor = -(-power // divisor)
        if factor < 1 << bits and (factor * divisor - power) << width <= power:
            high = work.emit("mul.hi", UNSIGNED, n, Imm(factor))
            return work.emit("shr", UNSIGNED, high, Imm(shift)) if shift else high
    even = (divisor & -divisor).bit_length() - 1
    if even:
        half = work.emit("shr", UNSIGNED, n, Imm(even))
        return _unsigned(work, half, divisor >> even, width - even)
    # The factor needs one bit more: half of what is left is added before the last shift.
    log = (divisor - 1).bit_length()
    factor = (((1 << log) - divisor) << bits) // divisor + 1
    high = work.emit("mul.hi", UNSIGNED, n, Imm(factor))
    rest = work.emit("shr", UNSIGNED, work.emit("sub.int", SIGNED, n, high), Imm(1))
    return work.emit("shr", UNSIGNED, work.emit("add.int", SIGNED, rest, high), Imm(log - 1))


def _signed(work: _Steps, n: Reg, divisor: int) -> Reg:
    size = abs(divisor)
    found = _by_power(work, n, size) if size & (size - 1) == 0 else _by_factor(work, n, size)
    if divisor > 0:
        return found
    return work.emit("sub.int", SIGNED, work.state.reg(Imm(0), BITS[work.bits]), found)


def _by_power(work: _Steps, n: Reg, size: int) -> Reg:
    """What is negative is rounded up."""
    log = size.bit_length() - 1
    sign = n if log == 1 else work.emit("shr", SIGNED, n, Imm(work.bits - 1))
    bias = work.emit("shr", UNSIGNED, sign, Imm(work.bits - log))
    return work.emit("shr", SIGNED, work.emit("add.int", SIGNED, n, bias), Imm(log))


def _by_factor(work: _Steps, n: Reg, size: int) -> Reg:
    bits = work.bits
    for shift in range(size.bit_length() + 1):
        power = 1 << (bits + shift)
        factor = -(-power // size)
        if (factor * size - power) << (bits - 1) <= power:
            break
    is_large = factor >> (bits - 1)  # as a signed number it is less by 2^bits
    high = work.emit("mul.hi", SIGNED, n, Imm(factor - (is_large << bits)))
    if is_large:
        high = work.emit("add.int", SIGNED, high, n)
    if shift:
        high = work.emit("shr", SIGNED, high, Imm(shift))
    one = work.emit("shr", UNSIGNED, n, Imm(bits - 1))
    return work.emit("add.int", SIGNED, high, one)
