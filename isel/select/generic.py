"""LLVM's own intrinsics on integers to records: least and greatest, counts of bits, funnel shifts.

Layer: isel.select.  LLVM's optimiser makes them of ordinary code.  Where PTX has an instruction it
is used, else a few that together do it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from intrinsics.mir import Imm, Op, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import FunnelMode, ScalarType
from isel.llvm.ir import Call
from isel.llvm.types import IntType
from isel.select.diagnostics import not_yet
from isel.select.integers import amount, extended, register_bits, resize
from isel.select.state import FunctionState, form
from isel.select.types import BITS, SIGNED, UNSIGNED

T = ScalarType
_NAME = re.compile(r"llvm\.([a-z.]+)\.i(\d+)(?:\.i\d+)?")


def select_generic(state: FunctionState, call: Call, name: str) -> bool:
    """Select a call of the intrinsic `name`, if it is one of these.

    Raises: Unselectable for a width that PTX does not compute with.
    """
    match = _NAME.fullmatch(name)
    select = _TABLE.get(match[1]) if match else None
    if select is None:
        return False
    if any(not isinstance(v.type, IntType) for v in call.arguments):
        raise not_yet(f"{name} of vectors")
    # The registers of the result come last: what leads to it is of other widths.
    result = select(_Work(state, call, name))
    state.forward(call.result, (result,))
    return True


class _Work:
    """One call while it is taken apart; every step gives the register that it writes."""

    def __init__(self, state: FunctionState, call: Call, name: str) -> None:
        self.state = state
        self.arguments = call.arguments
        self.bits = register_bits(call.arguments[0].type, name)
        type_ = call.arguments[0].type
        self.width = type_.bits if isinstance(type_, IntType) else 0
        self.result_bits = register_bits(call.type, name)

    def value(self, index: int, *, signed: bool = False) -> Reg:
        """An argument, extended to its register."""
        op = extended(self.state, self.arguments[index], signed=signed)
        return self.state.reg(op, BITS[self.bits])

    def emit(self, row: str, type_: ScalarType, *sources: Op, bits: int = 0) -> Reg:
        """One record with one result, as wide as its type or of `bits`."""
        result = self.state.new(BITS[bits or type_.bits])
        self.state.emit(form(row, type=type_), result, *sources)
        return result

    def test(self, cmp: Cmp, type_: ScalarType, a: Op, b: Op) -> Reg:
        """A comparison."""
        result = self.state.new(T.PRED)
        self.state.emit(form("setp.int", p=True, cmp=cmp, type=type_), result, a, b)
        return result

    def word(self, index: int) -> Reg:
        """An argument in at least 32 bits, filled up with zeros."""
        return resize(self.state, self.value(index), self.bits, max(self.bits, 32))

    def narrowed(self, reg: Reg, bits: int) -> Reg:
        """A register of `bits` bits in the width of the result."""
        return resize(self.state, reg, bits, self.result_bits)


# ---- least, greatest, order ------------------------------------------------------------------


def _extreme(row: str, *, signed: bool) -> Callable[[_Work], Reg]:
    types = SIGNED if signed else UNSIGNED

    def select(work: _Work) -> Reg:
        a, b = (work.value(n, signed=signed) for n in (0, 1))
        return work.emit(row, types[work.bits], a, b)

    return select


def _absolute(work: _Work) -> Reg:
    return work.emit("abs.int", SIGNED[work.bits], work.value(0, signed=True))


def _order(*, signed: bool) -> Callable[[_Work], Reg]:
    """-1, 0 or 1: less, equal or greater."""
    types = SIGNED if signed else UNSIGNED

    def select(work: _Work) -> Reg:
        a, b = (work.value(n, signed=signed) for n in (0, 1))
        above = work.test(Cmp.GT, types[work.bits], a, b)
        below = work.test(Cmp.LT, types[work.bits], a, b)
        cls = BITS[work.result_bits]
        positive = work.emit("selp", cls, Imm(1), Imm(0), above)
        return work.emit("selp", cls, Imm(-1), positive, below)

    return select


def _subtract_saturated(work: _Work) -> Reg:
    """The greater of both, less the second."""
    a, b = work.value(0), work.value(1)
    greater = work.emit("max", UNSIGNED[work.bits], a, b)
    return work.emit("sub.int", SIGNED[work.bits], greater, b)


def _add_saturated(work: _Work) -> Reg:
    """As much of the first as fits, and the second."""
    a, b = work.value(0), work.value(1)
    full = Imm(0xFF if work.width == 8 else -1)
    room = work.emit("xor", BITS[work.bits], b, full)
    fitting = work.emit("min", UNSIGNED[work.bits], a, room)
    return work.emit("add.int", SIGNED[work.bits], fitting, b)


# ---- bits ------------------------------------------------------------------------------------


def _ones(work: _Work) -> Reg:
    word = work.word(0)
    return work.narrowed(work.emit("popc", BITS[max(work.bits, 32)], word, bits=32), 32)


def _leading_zeros(work: _Work) -> Reg:
    bits = max(work.bits, 32)
    count = work.emit("clz", BITS[bits], work.word(0), bits=32)
    if work.width < 32:
        count = work.emit("sub.int", T.S32, count, Imm(32 - work.width))
    return work.narrowed(count, 32)


def _trailing_zeros(work: _Work) -> Reg:
    """The leading zeros of the reverse; a bit above the value ends the count of zero."""
    bits = max(work.bits, 32)
    word = work.word(0)
    if work.width < 32:
        word = work.emit("or", T.B32, word, Imm(1 << work.width))
    reverse = work.emit("brev", BITS[bits], word)
    return work.narrowed(work.emit("clz", BITS[bits], reverse, bits=32), 32)


def _reverse_bits(work: _Work) -> Reg:
    bits = max(work.bits, 32)
    reverse = work.emit("brev", BITS[bits], work.word(0))
    if work.width < 32:
        reverse = work.emit("shr", T.U32, reverse, Imm(32 - work.width))
    return work.narrowed(reverse, bits)


def _swap_bytes(work: _Work) -> Reg:
    """Neighbouring bytes change places, then neighbouring halves of ever greater size."""
    word, cls = work.value(0), BITS[work.bits]
    size = 8
    while size < work.bits:
        mask = sum(((1 << size) - 1) << at for at in range(0, work.bits, 2 * size))
        low = word
        high = work.emit("shr", UNSIGNED[work.bits], word, Imm(size))
        if 2 * size < work.bits:
            low = work.emit("and", cls, low, Imm(mask))
            high = work.emit("and", cls, high, Imm(mask))
        word = work.emit("or", cls, work.emit("shl", cls, low, Imm(size)), high)
        size *= 2
    return word


# ---- funnel shifts ---------------------------------------------------------------------------


def _funnel(*, left: bool) -> Callable[[_Work], Reg]:
    """As many bits of two integers, one behind the other, as one of them has."""

    def select(work: _Work) -> Reg:
        high, low = work.value(0), work.value(1)
        distance = amount(work.state, work.arguments[2], work.bits)
        if isinstance(distance, Imm):
            distance = Imm(distance.value % work.width)
        if work.width == 32:
            return _funnel_word(work, low, high, distance, left=left)
        return _funnel_by_shifts(work, high, low, distance, left=left)

    return select


def _funnel_word(work: _Work, low: Reg, high: Reg, distance: Scalar, *, left: bool) -> Reg:
    result = work.state.new(T.B32)
    chosen = form("shf.l" if left else "shf.r", mode=FunnelMode.WRAP)
    work.state.emit(chosen, result, low, high, distance)
    return result


def _funnel_by_shifts(work: _Work, high: Reg, low: Reg, distance: Scalar, *, left: bool) -> Reg:
    """The half on the other side is shifted by one more than the rest, in two steps.

    In one step it would be shifted by all its bits when the distance is 0.
    """
    rest: Scalar
    if isinstance(distance, Imm):
        rest = Imm(work.width - 1 - distance.value)
    else:
        distance = work.emit("and", T.B32, distance, Imm(work.width - 1))
        rest = work.emit("xor", T.B32, distance, Imm(work.width - 1))
    up, down = BITS[work.bits], UNSIGNED[work.bits]
    if left:
        upper = work.emit("shl", up, high, distance)
        lower = work.emit("shr", down, work.emit("shr", down, low, Imm(1)), rest)
    else:
        upper = work.emit("shl", up, work.emit("shl", up, high, Imm(1)), rest)
        lower = work.emit("shr", down, low, distance)
    return work.emit("or", up, upper, lower)


_TABLE: dict[str, Callable[[_Work], Reg]] = {
    "umin": _extreme("min", signed=False),
    "umax": _extreme("max", signed=False),
    "smin": _extreme("min", signed=True),
    "smax": _extreme("max", signed=True),
    "abs": _absolute,
    "ucmp": _order(signed=False),
    "scmp": _order(signed=True),
    "uadd.sat": _add_saturated,
    "usub.sat": _subtract_saturated,
    "ctpop": _ones,
    "ctlz": _leading_zeros,
    "cttz": _trailing_zeros,
    "bitreverse": _reverse_bits,
    "bswap": _swap_bytes,
    "fshl": _funnel(left=True),
    "fshr": _funnel(left=False),
}
