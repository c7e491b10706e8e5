"""Integers of more than 64 bits to records: 64 bits at a time, carries in between.

Layer: isel.select.  A wide integer is a tuple of registers of 64 bits, its limbs, the lowest one
first; the bits of the last one above the integer's width mean nothing.  PTX ISA, Extended-Precision
Integer Arithmetic Instructions.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Op, Reg, Scalar
from intrinsics.modifiers import BoolOp, CarryOut, FunnelMode, ScalarType
from intrinsics.modifiers import Compare as Cmp
from isel.llvm.vocabulary import Opcode
from isel.select.integers.packed import LOGIC
from isel.select.integers.wide_division import divide
from isel.select.state import FunctionState, Values, form
from isel.select.widths import LIMB, extend

T = ScalarType

_SHIFTS = (Opcode.SHL, Opcode.LSHR, Opcode.ASHR)
_MEASURE = 32  # bits of the number that says how far to shift


def binary(
    state: FunctionState,
    opcode: Opcode,
    width: int,
    result: tuple[Reg, ...],
    lhs: Values,
    rhs: Values,
) -> None:
    """One operation on integers of `width` bits."""
    if opcode in LOGIC:
        for d, a, b in zip(result, lhs, rhs, strict=True):
            state.emit(form(LOGIC[opcode], type=T.B64), d, state.reg(a, T.B64), b)
    elif opcode is Opcode.ADD:
        add(state, result, lhs, rhs)
    elif opcode is Opcode.SUB:
        subtract(state, result, lhs, rhs)
    elif opcode is Opcode.MUL:
        _multiply(state, result, lhs, rhs)
    elif opcode in _SHIFTS:
        shift(state, opcode, width, result, lhs, rhs[0])
    else:
        divide(state, opcode, width, result, lhs, rhs)


# ---- arithmetic ------------------------------------------------------------------------------


def add(state: FunctionState, result: tuple[Reg, ...], lhs: Values, rhs: Values) -> None:
    """A sum."""
    _carry(state, ("add.cc", "addc"), result, lhs, rhs)


def subtract(state: FunctionState, result: tuple[Reg, ...], lhs: Values, rhs: Values) -> None:
    """A difference."""
    _carry(state, ("sub.cc", "subc"), result, lhs, rhs)


def _carry(
    state: FunctionState,
    rows: tuple[str, str],
    result: tuple[Reg, ...],
    lhs: Values,
    rhs: Values,
) -> None:
    """From the lowest limb to the highest; each but the last leaves a carry for the next.

    What needs a record of its own comes before: nothing may stand between the links.
    """
    pairs = [(state.reg(a, T.B64), b) for a, b in zip(lhs, rhs, strict=True)]
    first, then = rows
    last = len(result) - 1
    for at, (d, (a, b)) in enumerate(zip(result, pairs, strict=True)):
        if at == 0:
            chosen = form(first, type=T.U64)
        else:
            chosen = form(then, cc=CarryOut.CC if at < last else None, type=T.U64)
        state.emit(chosen, d, a, b)


def _multiply(state: FunctionState, result: tuple[Reg, ...], lhs: Values, rhs: Values) -> None:
    """By columns, as on paper; what lies above the result is not computed."""
    left = [state.reg(op, T.B64) for op in lhs]
    right = [state.reg(op, T.B64) for op in rhs]
    count = len(result)
    total = [_step(state, "mul.lo", T.U64, a, right[0]) for a in left]
    _chain(state, "hi", total, left[: count - 1], right[0], 1)
    for at in range(1, count):
        _chain(state, "lo", total, left[: count - at], right[at], at)
        _chain(state, "hi", total, left[: count - at - 1], right[at], at + 1)
    for d, reg in zip(result, total, strict=True):
        state.emit(form("mov", type=T.B64), d, reg)


def _chain(
    state: FunctionState, half: str, total: list[Reg], left: list[Reg], by: Reg, first: int
) -> None:
    """Add one half of the products of `left` with a limb, from limb `first` on."""
    for n, a in enumerate(left):
        out = CarryOut.CC if n + 1 < len(left) else None
        if n:
            chosen = form(f"madc.{half}", cc=out, type=T.U64)
        elif out:
            chosen = form(f"mad.{half}.cc", type=T.U64)
        else:
            chosen = form(f"mad.{half}", type=T.U64)
        total[first + n] = state.computed(chosen, a, by, total[first + n], cls=T.B64)


# ---- shifts ----------------------------------------------------------------------------------


def shift(
    state: FunctionState,
    opcode: Opcode,
    width: int,
    result: tuple[Reg, ...],
    lhs: Values,
    by: Scalar,
) -> None:
    """A shift by what the lowest limb of its amount says; `width` or more is not defined."""
    source: list[Scalar] = list(lhs)
    top = width - LIMB * (len(lhs) - 1)
    if opcode is not Opcode.SHL:
        signed = opcode is Opcode.ASHR
        source[-1] = extend(state, source[-1], top, signed=signed, bits=LIMB)
    if isinstance(by, Imm):
        _shift_by_number(state, opcode, result, source, by.value % (LIMB * len(lhs)))
        return
    distance = state.computed(form("cvt.int", dtype=T.U32, atype=T.U64), by, cls=T.B32)
    regs = [state.reg(op, T.B64) for op in source]
    if opcode is Opcode.ASHR and len(regs) == 2:
        _shift_two_by_sign(state, result, regs, distance)
        return
    fill = _signs(state, regs[-1]) if opcode is Opcode.ASHR else None
    for at, d in enumerate(result):
        _shifted_limb(state, opcode is Opcode.SHL, d, regs, fill, distance, at)


def _signs(state: FunctionState, reg: Reg) -> Reg:
    """64 times the highest bit."""
    return _step(state, "shr", T.S64, reg, Imm(LIMB - 1))


def _shift_two_by_sign(
    state: FunctionState, result: tuple[Reg, ...], source: list[Reg], distance: Reg
) -> None:
    """Two limbs: the lower one comes from both, or from the upper one alone."""
    low, high = source
    kept = _step(state, "shr", T.U64, low, distance)
    moved = _step(state, "shl", T.B64, high, _rest(state, LIMB, distance))
    near = _step(state, "or", T.B64, kept, moved)
    far = _step(state, "shr", T.S64, high, _less(state, distance, LIMB))
    beyond = state.new(T.PRED)
    test = form("setp.int", p=True, cmp=Cmp.GE, type=T.U32)
    state.emit(test, beyond, distance, Imm(LIMB))
    state.emit(form("selp", type=T.B64), result[0], far, near, beyond)
    state.emit(form("shr", type=T.S64), result[1], high, distance)


def _shift_by_number(
    state: FunctionState, opcode: Opcode, result: tuple[Reg, ...], source: list[Scalar], by: int
) -> None:
    limbs, bits = divmod(by, LIMB)
    left = opcode is Opcode.SHL
    fill: Scalar = Imm(0)
    if opcode is Opcode.ASHR:
        fill = _signs(state, state.reg(source[-1], T.B64))

    def limb(at: int) -> Scalar:
        if 0 <= at < len(source):
            return source[at]
        return Imm(0) if at < 0 else fill

    for at, d in enumerate(result):
        near = at - limbs if left else at + limbs
        upper, lower = (near, near - 1) if left else (near + 1, near)
        _funnel(state, d, limb(upper), limb(lower), bits, left=left)


def _funnel(
    state: FunctionState, d: Reg, upper: Scalar, lower: Scalar, bits: int, *, left: bool
) -> None:
    """64 bits out of two limbs."""
    if not bits:
        state.emit(form("mov", type=T.B64), d, upper if left else lower)
        return
    up, down = (bits, LIMB - bits) if left else (LIMB - bits, bits)
    if upper == Imm(0):
        state.emit(form("shr", type=T.U64), d, state.reg(lower, T.B64), Imm(down))
        return
    if lower == Imm(0):
        state.emit(form("shl", type=T.B64), d, state.reg(upper, T.B64), Imm(up))
        return
    words = [w for limb in (lower, upper) for w in state.two_halves(state.reg(limb, T.B64), T.B32)]
    first, by = divmod(down, 32)
    parts = words[first : first + 2]
    if by:
        right = form("shf.r", mode=FunnelMode.WRAP)
        pairs = (words[first : first + 2], words[first + 1 : first + 3])
        parts = [state.computed(right, *pair, Imm(by), cls=T.B32) for pair in pairs]
    state.emit(form("mov.pack2", type=T.B64), d, tuple(parts))


def _step(state: FunctionState, row: str, type_: ScalarType, a: Reg, b: Op) -> Reg:
    return state.computed(form(row, type=type_), a, b, cls=T.B64)


def _shifted_limb(
    state: FunctionState,
    left: bool,
    d: Reg,
    source: list[Reg],
    fill: Reg | None,
    distance: Reg,
    at: int,
) -> None:
    """One limb after a shift by a number that is not known.

    A shift by 64 or more gives 0 in PTX, and so does one by a negative number: each limb of the
    source is shifted both ways, and at most one of the two is not 0, or both are the same.
    """
    parts: list[Reg] = []
    reach = range(at + 1) if left else range(at, at + len(source) + 1 if fill else len(source))
    for other in reach:
        from_ = source[other] if other < len(source) else fill
        assert from_ is not None
        gap = LIMB * abs(at - other)
        near, far = (("shl", T.B64), ("shr", T.U64))
        if not left:
            near, far = far, near
        parts.append(_step(state, *near, from_, _less(state, distance, gap)))
        if gap:
            parts.append(_step(state, *far, from_, _rest(state, gap, distance)))
    joined = parts[0]
    for n, part in enumerate(parts[1:]):
        last = n + 2 == len(parts)
        total = d if last else state.new(T.B64)
        state.emit(form("or", type=T.B64), total, joined, part)
        joined = total
    if len(parts) == 1:
        state.emit(form("mov", type=T.B64), d, joined)


def _less(state: FunctionState, distance: Reg, gap: int) -> Reg:
    if not gap:
        return distance
    return state.computed(form("add.int", type=T.S32), distance, Imm(-gap), cls=T.B32)


def _rest(state: FunctionState, gap: int, distance: Reg) -> Reg:
    whole = state.reg(Imm(gap), T.B32)
    return state.computed(form("sub.int", type=T.S32), whole, distance, cls=T.B32)


# ---- comparison ------------------------------------------------------------------------------

_STRICT = {Cmp.LT: Cmp.LT, Cmp.LE: Cmp.LT, Cmp.GT: Cmp.GT, Cmp.GE: Cmp.GT}


def compare(
    state: FunctionState,
    cmp: Cmp,
    width: int,
    result: Reg,
    lhs: Values,
    rhs: Values,
    *,
    signed: bool,
) -> None:
    """From the lowest limb to the highest: a higher one decides, unless both are equal."""
    top = width - LIMB * (len(lhs) - 1)
    pairs = []
    for n, (a, b) in enumerate(zip(lhs, rhs, strict=True)):
        if n + 1 == len(lhs):
            a, b = (extend(state, op, top, signed=signed, bits=LIMB) for op in (a, b))
        pairs.append((state.reg(a, T.B64), b))
    if cmp in (Cmp.EQ, Cmp.NE):
        _compare_equal(state, cmp, result, pairs)
        return
    held = _test(state, cmp, T.U64, pairs[0])
    for n, pair in enumerate(pairs[1:]):
        last = n + 2 == len(pairs)
        type_ = T.S64 if last and signed else T.U64
        same = _test(state, Cmp.EQ, T.B64, pair, BoolOp.AND, held)
        held = _test(state, _STRICT[cmp], type_, pair, BoolOp.OR, same, result if last else None)


def _compare_equal(
    state: FunctionState, cmp: Cmp, result: Reg, pairs: list[tuple[Reg, Scalar]]
) -> None:
    combine = BoolOp.AND if cmp is Cmp.EQ else BoolOp.OR
    held = _test(state, cmp, T.B64, pairs[0])
    for n, pair in enumerate(pairs[1:]):
        last = n + 2 == len(pairs)
        held = _test(state, cmp, T.B64, pair, combine, held, result if last else None)


def _test(
    state: FunctionState,
    cmp: Cmp,
    type_: ScalarType,
    pair: tuple[Reg, Scalar],
    combine: BoolOp | None = None,
    held: Reg | None = None,
    result: Reg | None = None,
) -> Reg:
    found = state.new(T.PRED) if result is None else result
    chosen = form("setp.int", p=True, cmp=cmp, combine=combine, c=combine is not None, type=type_)
    state.emit(chosen, found, *pair, *(() if held is None else (held,)))
    return found
