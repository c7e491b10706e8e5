"""LLVM's own intrinsics on integers of more than 64 bits, limb by limb.

Layer: isel.select.  `isel.select.integers.wide` has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.diagnostics import not_yet
from isel.llvm.vocabulary import Opcode
from isel.select.integers import wide
from isel.select.integers.element import Work
from isel.select.repack import permute
from isel.select.state import Values, form
from isel.select.widths import LIMB, extend

T = ScalarType
Select = Callable[[Work], Values]


def _limbs(work: Work, index: int, *, signed: bool = False) -> list[Reg]:
    """An argument's limbs, the last one extended."""
    *lower, last = work.arguments[index]
    top = extend(work.state, last, work.width - LIMB * len(lower), signed=signed, bits=LIMB)
    return [work.state.reg(op, T.B64) for op in (*lower, top)]


def _test(work: Work, cmp: Cmp, a: Values, b: Values, *, signed: bool) -> Reg:
    result = work.state.new(T.PRED)
    wide.compare(work.state, cmp, work.width, result, a, b, signed=signed)
    return result


def _chosen(work: Work, condition: Reg, yes: Values, no: Values) -> Values:
    pairs = zip(yes, no, strict=True)
    return tuple(work.emit("selp", T.B64, a, b, condition) for a, b in pairs)


def _fresh(work: Work) -> tuple[Reg, ...]:
    return tuple(work.state.new(T.B64) for _ in work.arguments[0])


def _extreme(cmp: Cmp, *, signed: bool) -> Select:
    def select(work: Work) -> Values:
        a, b, *_ = work.arguments
        return _chosen(work, _test(work, cmp, a, b, signed=signed), a, b)

    return select


def _order(*, signed: bool) -> Select:
    def select(work: Work) -> Values:
        a, b, *_ = work.arguments
        above = _test(work, Cmp.GT, a, b, signed=signed)
        below = _test(work, Cmp.LT, a, b, signed=signed)
        return work.one_of_three(above, below)

    return select


def _absolute(work: Work) -> Values:
    limbs = tuple(_limbs(work, 0, signed=True))
    zero = tuple(Imm(0) for _ in limbs)
    negated = _fresh(work)
    wide.subtract(work.state, negated, zero, limbs)
    falls = work.test(Cmp.LT, T.S64, limbs[-1], Imm(0))
    return _chosen(work, falls, negated, limbs)


# ---- bits ------------------------------------------------------------------------------------


def _filled(work: Work, count: Reg) -> Values:
    """A count of bits as a wide number."""
    low = work.state.computed(form("cvt.int", dtype=T.U64, atype=T.U32), count, cls=T.B64)
    return (low, *(Imm(0) for _ in work.arguments[0][1:]))


def _ones(work: Work) -> Values:
    counts = [work.emit("popc", T.B64, limb, bits=32) for limb in _limbs(work, 0)]
    total = counts[0]
    for count in counts[1:]:
        total = work.emit("add.int", T.S32, total, count)
    return _filled(work, total)


def _zeros(work: Work, limbs: list[Reg]) -> Reg:
    """The zeros before the first one in the limbs, the highest first."""
    count = work.emit("clz", T.B64, limbs[-1], bits=32)
    for limb in reversed(limbs[:-1]):
        before = work.test(Cmp.EQ, T.B64, limb, Imm(0))
        here = work.emit("clz", T.B64, limb, bits=32)
        beyond = work.emit("add.int", T.S32, count, Imm(LIMB))
        count = work.emit("selp", T.B32, beyond, here, before)
    return count


def _leading_zeros(work: Work) -> Values:
    limbs = _limbs(work, 0)
    count = _zeros(work, limbs[::-1])
    spare = LIMB * len(limbs) - work.width
    if spare:
        count = work.emit("sub.int", T.S32, count, Imm(spare))
    return _filled(work, count)


def _trailing_zeros(work: Work) -> Values:
    limbs = _limbs(work, 0)
    top = work.width - LIMB * (len(limbs) - 1)
    if top < LIMB:
        limbs[-1] = work.emit("or", T.B64, limbs[-1], Imm(1 << top))
    return _filled(work, _zeros(work, [work.emit("brev", T.B64, limb) for limb in limbs]))


def _downwards(work: Work, limbs: list[Scalar]) -> Values:
    """What was reversed in whole limbs, moved down to the lowest bit."""
    spare = LIMB * len(limbs) - work.width
    if not spare:
        return tuple(limbs)
    result = _fresh(work)
    whole = LIMB * len(limbs)
    wide.shift(work.state, Opcode.LSHR, whole, result, tuple(limbs), Imm(spare))
    return result


def _reverse_bits(work: Work) -> Values:
    return _downwards(work, [work.emit("brev", T.B64, limb) for limb in _limbs(work, 0)[::-1]])


def _swap_bytes(work: Work) -> Values:
    return _downwards(work, [_swapped(work, limb) for limb in _limbs(work, 0)[::-1]])


def _swapped(work: Work, limb: Reg) -> Reg:
    low, high, result = (work.state.new(cls) for cls in (T.B32, T.B32, T.B64))
    work.state.emit(form("mov.unpack2", type=T.B64), (low, high), limb)
    halves = (work.state.new(T.B32), work.state.new(T.B32))
    for half, word in zip(halves, (high, low), strict=True):
        permute(work.state, half, word, Imm(0), 0x0123)
    work.state.emit(form("mov.pack2", type=T.B64), result, halves)
    return result


# ---- shifts and saturation -------------------------------------------------------------------


def _shifted(work: Work, opcode: Opcode, ops: Values, by: Scalar) -> Values:
    result = _fresh(work)
    wide.shift(work.state, opcode, work.width, result, ops, by)
    return result


def _funnel(*, left: bool) -> Select:
    """The half on the other side is shifted by one more than the rest, in two steps."""

    def select(work: Work) -> Values:
        high, low, distance = work.arguments
        near, rest = _distances(work, distance[0])
        if left:
            upper = _shifted(work, Opcode.SHL, high, near)
            once = _shifted(work, Opcode.LSHR, low, Imm(1))
            lower = _shifted(work, Opcode.LSHR, once, rest)
        else:
            once = _shifted(work, Opcode.SHL, high, Imm(1))
            upper = _shifted(work, Opcode.SHL, once, rest)
            lower = _shifted(work, Opcode.LSHR, low, near)
        result = _fresh(work)
        wide.binary(work.state, Opcode.OR, work.width, result, upper, lower)
        return result

    return select


def _distances(work: Work, low: Scalar) -> tuple[Scalar, Scalar]:
    """How far modulo the width, and what is left of the width less one."""
    width = work.width
    if isinstance(low, Imm) and all(isinstance(op, Imm) for op in work.arguments[2]):
        number = sum(
            (op.value & (1 << LIMB) - 1) << LIMB * n
            for n, op in enumerate(work.arguments[2])
            if isinstance(op, Imm)
        )
        by = (number & (1 << width) - 1) % width
        return Imm(by), Imm(width - 1 - by)
    if width & (width - 1):
        raise not_yet(f"a funnel shift of i{width} by a number that is not known")
    near = work.emit("and", T.B64, low, Imm(width - 1))
    return near, work.emit("xor", T.B64, near, Imm(width - 1))


def _sum_saturated(work: Work) -> Values:
    a, b, *_ = work.arguments
    total = _fresh(work)
    wide.add(work.state, total, a, b)
    over = _test(work, Cmp.LT, total, a, signed=False)
    return _chosen(work, over, tuple(Imm(-1) for _ in total), total)


def _difference_saturated(work: Work) -> Values:
    a, b, *_ = work.arguments
    total = _fresh(work)
    wide.subtract(work.state, total, a, b)
    under = _test(work, Cmp.LT, a, b, signed=False)
    return _chosen(work, under, tuple(Imm(0) for _ in total), total)


WIDE: dict[str, Select] = {
    "umin": _extreme(Cmp.LT, signed=False),
    "umax": _extreme(Cmp.GT, signed=False),
    "smin": _extreme(Cmp.LT, signed=True),
    "smax": _extreme(Cmp.GT, signed=True),
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
    "uadd.sat": _sum_saturated,
    "usub.sat": _difference_saturated,
}
