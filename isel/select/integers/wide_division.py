"""Division of integers of more than 64 bits: a loop that finds the quotient bit by bit.

Layer: isel.select.  PTX divides 64 bits at most.  The dividend moves to the left, out of the
quotient's registers into the remainder's; where the divisor fits into the remainder, it is taken
away and the quotient gets a bit.  Of two registers, steps that can find none are left out.  Signed
numbers are divided as their amounts: the quotient is negative where one of them was, the remainder
where the dividend was.
"""

from __future__ import annotations

import functools

from intrinsics.modifiers import ScalarType
from isel.llvm.vocabulary import QUOTIENTS, SIGNED_DIVISIONS, Opcode
from isel.select.state import FunctionState, Values
from isel.select.statements import append
from isel.select.widths import LIMB, extend

T = ScalarType


def divide(
    state: FunctionState,
    opcode: Opcode,
    width: int,
    result: tuple[int, ...],
    lhs: Values,
    rhs: Values,
) -> None:
    """A quotient or a remainder of two integers of `width` bits."""
    limbs, signed = len(result), opcode in SIGNED_DIVISIONS
    text = _loop(limbs, signed=signed, quotient=opcode in QUOTIENTS)
    fragment = state.assembly.fragment(text, dict.fromkeys(range(3 * limbs), T.B64))
    top = width - LIMB * (limbs - 1)
    operands = [*result]
    for ops in (lhs, rhs):
        last = extend(state, state.reg(ops[-1], T.B64), top, signed=signed, bits=LIMB)
        operands += [state.reg(op, T.B64) for op in (*ops[:-1], last)]
    table = {fragment.registers[f"${n}"]: reg for n, reg in enumerate(operands)}
    append(state, fragment, table)


@functools.cache
def _loop(limbs: int, *, signed: bool, quotient: bool) -> str:
    """The statements: results $0 on, then the dividend, then the divisor, lowest limbs first."""
    n, each = limbs, range(limbs)
    lines = [
        "{",
        ".reg .pred p;",
        ".reg .b32 left, zeros, more, back;",
        f".reg .b64 q<{n}>, r<{n}>, d<{n}>, t<{n}>, minus, other, carry, borrow;",
    ]
    if signed:
        lines += _amount("q", n, [f"${n + k}" for k in each], "minus")
        lines += _amount("d", n, [f"${2 * n + k}" for k in each], "other")
        if quotient:
            lines.append("xor.b64 minus, minus, other;")
    else:
        lines += [f"mov.b64 q{k}, ${n + k};" for k in each]
        lines += [f"mov.b64 d{k}, ${2 * n + k};" for k in each]
    lines += _start(n)
    lines += ["NEXT:", f"shr.u64 carry, r{n - 1}, 63;"]
    whole = [f"q{k}" for k in each] + [f"r{k}" for k in each]
    for low, high in zip(whole[-2::-1], whole[:0:-1], strict=True):
        lines += [f"shr.u64 t0, {low}, 63;", f"shl.b64 {high}, {high}, 1;"]
        lines.append(f"or.b64 {high}, {high}, t0;")
    lines += ["shl.b64 q0, q0, 1;", "sub.cc.u64 t0, r0, d0;"]
    lines += [f"subc.cc.u64 t{k}, r{k}, d{k};" for k in each[1:]]
    # What was moved out of the remainder pays for what the difference borrows.
    lines += ["subc.u64 borrow, carry, 0;", "setp.ge.s64 p, borrow, 0;"]
    lines += [f"@p mov.b64 r{k}, t{k};" for k in each]
    lines += ["@p or.b64 q0, q0, 1;", "sub.u32 left, left, 1;"]
    lines += ["setp.ne.u32 p, left, 0;", "@p bra NEXT;", "DONE:"]
    found = "q" if quotient else "r"
    if signed:
        lines += _negated([f"${k}" for k in each], [f"{found}{k}" for k in each], "minus")
    else:
        lines += [f"mov.b64 ${k}, {found}{k};" for k in each]
    return "\n".join([*lines, "}"])


def _start(limbs: int) -> list[str]:
    """The remainder and the number of steps before the first step.

    With two limbs, steps that find no bit are left out: the quotient has at most one bit more than
    the dividend has behind the divisor's length.  The remainder begins with the dividend's bits
    that no step moves, and the quotient's registers with the others, at their top.
    """
    if limbs != 2:
        return [*(f"mov.b64 r{k}, 0;" for k in range(limbs)), f"mov.b32 left, {LIMB * limbs};"]
    return [
        *_zeros("left", "d"),
        *_zeros("zeros", "q"),
        "sub.s32 left, left, zeros;",
        "add.s32 left, left, 1;",
        "max.s32 left, left, 0;",  # a dividend that is less has no step
        *_shifted("r", "q", "left", "shr", "shl"),
        f"sub.u32 back, {2 * LIMB}, left;",
        *_shifted("t", "q", "back", "shl", "shr"),
        "mov.b64 q0, t0;",
        "mov.b64 q1, t1;",
        "setp.eq.u32 p, left, 0;",
        "@p bra DONE;",
    ]


def _zeros(result: str, number: str) -> list[str]:
    """The zeros above the highest one of two limbs."""
    return [
        f"clz.b64 {result}, {number}1;",
        f"clz.b64 more, {number}0;",
        f"setp.eq.u64 p, {number}1, 0;",
        f"@p add.u32 {result}, {result}, more;",
    ]


def _shifted(result: str, number: str, by: str, along: str, against: str) -> list[str]:
    """Two limbs moved along by 0 to 128 bits; PTX's shifts by more than 63 leave nothing."""
    to, source = (0, 1) if along == "shr" else (1, 0)
    kind = {"shr": "shr.u64", "shl": "shl.b64"}
    return [
        f"{kind[along]} {result}{to}, {number}{to}, {by};",
        f"sub.u32 more, {LIMB}, {by};",
        f"{kind[against]} carry, {number}{source}, more;",
        f"or.b64 {result}{to}, {result}{to}, carry;",
        f"sub.u32 more, {by}, {LIMB};",
        f"{kind[along]} borrow, {number}{source}, more;",
        f"or.b64 {result}{to}, {result}{to}, borrow;",
        f"{kind[along]} {result}{source}, {number}{source}, {by};",
    ]


def _amount(name: str, limbs: int, number: list[str], sign: str) -> list[str]:
    """The amount of a signed number, and its sign as zeros or ones."""
    lines = [f"shr.s64 {sign}, {number[-1]}, 63;"]
    return lines + _negated([f"{name}{k}" for k in range(limbs)], number, sign)


def _negated(result: list[str], number: list[str], sign: str) -> list[str]:
    """A number, or what it lacks to zero where `sign` is ones."""
    lines = [f"xor.b64 {d}, {a}, {sign};" for d, a in zip(result, number, strict=True)]
    lines.append(f"sub.cc.u64 {result[0]}, {result[0]}, {sign};")
    between, last = result[1:-1], result[-1]
    lines += [f"subc.cc.u64 {d}, {d}, {sign};" for d in between]
    return [*lines, f"subc.u64 {last}, {last}, {sign};"]
