"""LLVM's own intrinsics on integers to records: least and greatest, counts of bits, funnel shifts.

Layer: isel.select.  LLVM's optimiser makes them of ordinary code.  Where PTX has an instruction it
is used, else a few that together do it; vectors go element by element.  Integers of more than 64
bits are in `wide_intrinsics`, saturation and overflow in `overflow`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import FunnelMode, ScalarType
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.ir import Call
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED
from isel.llvm.types import IntType, StructType, VectorType
from isel.llvm.vocabulary import Opcode
from isel.select.integers.arithmetic import binary_element
from isel.select.integers.element import Work
from isel.select.integers.overflow import OVERFLOWS, SATURATES
from isel.select.integers.reductions import select_reduction
from isel.select.integers.wide_intrinsics import WIDE
from isel.select.state import FunctionState, Values, form
from isel.select.widths import LIMB, elements, zeros_from

T = ScalarType
_NAME = re.compile(r"llvm\.([a-z.]+)\.(?:v\d+)?i(\d+)(?:\.(?:v\d+)?i\d+)?")

_FIRST_ARGUMENT = re.compile(
    r"llvm\.(expect(\.with\.probability)?|ssa\.copy|(launder|strip)\.invariant\.group|arithmetic"
    r"\.fence)\..*"
)
"""Intrinsics that only tell the optimiser something: their value is their first argument."""


def select_generic(state: FunctionState, call: Call, name: str) -> bool:
    """Select a call of the intrinsic `name`, if it is one of these.

    Raises: Unselectable for a width that nvgen has no records for.
    """
    if _FIRST_ARGUMENT.fullmatch(name):
        state.forward(call.result, state.value(call.arguments[0]))
        return True
    if name.startswith("llvm.is.constant."):
        state.forward(call.result, (Imm(int(isinstance(call.arguments[0], llvm.Constant))),))
        return True
    if select_reduction(state, call, name):
        return True
    match = _NAME.fullmatch(name)
    if match is None or not call.arguments:
        return False
    if match[1] not in _TABLE and match[1] not in OVERFLOWS:
        return False
    _each_element(state, call, name, match[1])
    return True


def _each_element(state: FunctionState, call: Call, name: str, kind: str) -> None:
    """One element after the other; of a pair of vectors the first comes first, then the second."""
    type_ = call.arguments[0].type.scalar
    assert isinstance(type_, IntType)
    overflows = kind in OVERFLOWS
    table = OVERFLOWS if overflows else _TABLE if type_.bits <= LIMB else WIDE
    select = table.get(kind)
    result = call.type.elements[0] if isinstance(call.type, StructType) else call.type
    result_type = result.scalar
    if select is None or type_.bits == 1 or not isinstance(result_type, IntType):
        raise Unselectable(
            "type",
            f"@{name} is not selectable",
            op=name,
            got=str(type_),
            expected="integers of 2 to 64 bits",
        )
    lanes = result.count if isinstance(result, VectorType) else 1
    given = [_lanes(state, argument, lanes) for argument in call.arguments]
    values: list[Scalar] = []
    flags: list[Scalar] = []
    for ops in zip(*given, strict=True):
        found = select(Work(state, type_.bits, result_type.bits, ops))
        values += found[:-1] if overflows else found
        flags += found[-1:] if overflows else ()
    state.forward(call.result, (*values, *flags))


def _lanes(state: FunctionState, argument: llvm.Value, lanes: int) -> list[Values]:
    """An argument for each element; a scalar is the same for all."""
    found = elements(state, argument)
    return found if len(found) == lanes else found * lanes


# ---- least, greatest, order ------------------------------------------------------------------


def _extreme(row: str, *, signed: bool) -> Callable[[Work], Values]:
    types = SIGNED if signed else UNSIGNED

    def select(work: Work) -> Values:
        pair = work.pair(signed=signed)
        result = work.emit(row, types[work.bits], *pair)
        if not signed:
            zeros = [zeros_from(work.state, op, work.bits) for op in pair]
            work.state.zero_above[result] = min(zeros) if row == "min" else max(zeros)
        return (result,)

    return select


def _absolute(work: Work) -> Values:
    return (work.emit("abs.int", SIGNED[work.bits], work.value(0, signed=True)),)


def _order(*, signed: bool) -> Callable[[Work], Values]:
    """-1, 0 or 1: less, equal or greater."""
    types = SIGNED if signed else UNSIGNED

    def select(work: Work) -> Values:
        a, b = work.pair(signed=signed)
        above = work.test(Cmp.GT, types[work.bits], a, b)
        below = work.test(Cmp.LT, types[work.bits], a, b)
        return work.one_of_three(above, below)

    return select


# ---- bits ------------------------------------------------------------------------------------


def _ones(work: Work) -> Values:
    word = work.word(0)
    return (work.narrowed(work.emit("popc", BITS[max(work.bits, 32)], word, bits=32), 32),)


def _leading_zeros(work: Work) -> Values:
    bits = max(work.bits, 32)
    count = work.emit("clz", BITS[bits], work.word(0), bits=32)
    if work.width < bits:
        count = work.emit("sub.int", T.S32, count, Imm(bits - work.width))
    return (work.narrowed(count, 32),)


def _trailing_zeros(work: Work) -> Values:
    """The ones below the lowest one, which one less than the value has, and the value has not.

    The leading zeros of the reversed value are as many, by more instructions of those that the
    machine executes at a quarter of its rate.
    """
    bits = max(work.bits, 32)
    word = work.state.reg(work.word(0), BITS[bits])
    if work.width < bits:  # a bit above the value ends the count of zero
        word = work.emit("or", BITS[bits], word, Imm(1 << work.width))
    less = work.emit("sub.int", SIGNED[bits], word, Imm(1))
    below = work.emit("and", BITS[bits], less, work.emit("not", BITS[bits], word))
    return (work.narrowed(work.emit("popc", BITS[bits], below, bits=32), 32),)


def _reverse_bits(work: Work) -> Values:
    bits = max(work.bits, 32)
    reverse = work.emit("brev", BITS[bits], work.word(0))
    if work.width < bits:
        reverse = work.emit("shr", UNSIGNED[bits], reverse, Imm(bits - work.width))
    return (work.narrowed(reverse, bits),)


def _swap_bytes(work: Work) -> Values:
    """By permutations of bytes; what came from above the value is shifted out at the bottom."""
    bits = max(work.bits, 32)
    word = work.word(0, clean=False)
    swapped = swap_bytes(work.state, word, bits)
    if work.width < bits:
        swapped = work.emit("shr", UNSIGNED[bits], swapped, Imm(bits - work.width))
    return (work.narrowed(swapped, bits),)


def swap_bytes(state: FunctionState, word: Reg, bits: int) -> Reg:
    """The bytes of a register of 32 or 64 bits in reverse."""
    if bits == 32:
        return state.computed(form("prmt"), word, Imm(0), Imm(0x0123), cls=T.B32)
    low, high = state.two_halves(word, T.B32)
    parts = (swap_bytes(state, high, 32), swap_bytes(state, low, 32))
    return state.computed(form("mov.pack2", type=T.B64), parts, cls=T.B64)


# ---- funnel shifts ---------------------------------------------------------------------------


def _funnel(*, left: bool) -> Callable[[Work], Values]:
    """As many bits of two integers, one behind the other, as one of them has."""

    def select(work: Work) -> Values:
        distance = _distance(work)
        if work.width == 32:
            high, low = work.pair(signed=False)
            return (_funnel_word(work, low, high, distance, left=left),)
        if work.width < 32:
            return (_funnel_in_one(work, distance, left=left),)
        if work.width == LIMB:
            return (_funnel_by_words(work, distance, left=left),)
        return (_funnel_by_shifts(work, distance, left=left),)

    return select


def _distance(work: Work) -> Scalar:
    """How far: modulo the width."""
    if work.width & (work.width - 1) == 0:
        distance = work.amount(2)
        return Imm(distance.value % work.width) if isinstance(distance, Imm) else distance
    op = work.operand(2, signed=False)
    if isinstance(op, Imm):
        return Imm(op.value % work.width)
    left = work.state.new(BITS[work.bits])
    binary_element(work.state, Opcode.UREM, work.width, (left,), (op,), (Imm(work.width),))
    return work.narrow_amount(left)


def _funnel_word(work: Work, low: Scalar, high: Scalar, distance: Scalar, *, left: bool) -> Reg:
    chosen = form("shf.l" if left else "shf.r", mode=FunnelMode.WRAP)
    return work.state.computed(chosen, low, high, distance, cls=T.B32)


def _funnel_in_one(work: Work, distance: Scalar, *, left: bool) -> Reg:
    """Both integers in one register, that is shifted."""
    bits = 32 if work.width <= 16 else 64
    high, low = (work.wider(n, bits, clean=n == 1) for n in (0, 1))
    both = work.emit("shl", BITS[bits], high, Imm(work.width))
    both = work.emit("or", BITS[bits], both, low)
    if not isinstance(distance, Imm) and work.width & (work.width - 1) == 0:
        distance = work.emit("and", T.B32, distance, Imm(work.width - 1))
    if left:
        both = work.emit("shl", BITS[bits], both, distance)
        distance = Imm(work.width)
    return work.narrowed(work.emit("shr", UNSIGNED[bits], both, distance), bits)


def _funnel_by_words(work: Work, distance: Scalar, *, left: bool) -> Reg:
    """Three of the four words, then two funnel shifts of words."""
    words = [*work.words(1), *work.words(0)]  # the lowest first
    near, far = (words[1:], words[:3]) if left else (words[:3], words[1:])
    if isinstance(distance, Imm):
        chosen = far if distance.value & 32 else near
    else:
        bit = work.emit("and", T.B32, distance, Imm(32))
        crosses = work.test(Cmp.NE, T.B32, bit, Imm(0))
        pairs = zip(far, near, strict=True)
        chosen = [work.emit("selp", T.B32, a, b, crosses) for a, b in pairs]
    parts = [_funnel_word(work, chosen[n], chosen[n + 1], distance, left=left) for n in (0, 1)]
    return work.state.computed(form("mov.pack2", type=T.B64), tuple(parts), cls=T.B64)


def _funnel_by_shifts(work: Work, distance: Scalar, *, left: bool) -> Reg:
    """The half on the other side is shifted by one more than the rest, in two steps.

    In one step it would be shifted by all its bits when the distance is 0.
    """
    high, low = work.pair(signed=False)
    rest: Scalar
    if isinstance(distance, Imm):
        rest = Imm(work.width - 1 - distance.value)
    else:
        whole = work.state.reg(Imm(work.width - 1), T.B32)
        rest = work.emit("sub.int", T.S32, whole, distance)
    up, down = BITS[work.bits], UNSIGNED[work.bits]
    if left:
        upper = work.emit("shl", up, high, distance)
        lower = work.emit("shr", down, work.emit("shr", down, low, Imm(1)), rest)
    else:
        upper = work.emit("shl", up, work.emit("shl", up, high, Imm(1)), rest)
        lower = work.emit("shr", down, low, distance)
    return work.emit("or", up, upper, lower)


_TABLE: dict[str, Callable[[Work], Values]] = {
    "umin": _extreme("min", signed=False),
    "umax": _extreme("max", signed=False),
    "smin": _extreme("min", signed=True),
    "smax": _extreme("max", signed=True),
    "abs": _absolute,
    "ucmp": _order(signed=False),
    "scmp": _order(signed=True),
    "ctpop": _ones,
    "ctlz": _leading_zeros,
    "cttz": _trailing_zeros,
    "bitreverse": _reverse_bits,
    "bswap": _swap_bytes,
    "fshl": _funnel(left=True),
    "fshr": _funnel(left=False),
    **SATURATES,
}
