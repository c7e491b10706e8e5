"""Integers with a carry flag, of 24 bits, by bytes and by fields of bits.

PTX ISA, Integer Arithmetic, Extended-Precision Integer Arithmetic, Logic and Shift Instructions,
and prmt.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.modifiers import (
    BoolOp,
    CarryOut,
    FunnelMode,
    Modifier,
    PermuteMode,
    Sat,
    ScalarType,
    ShiftAmount,
)
from intrinsics.row import (
    Attributes,
    Effect,
    Effects,
    Llvm,
    Numbers,
    Row,
    number,
    predicate,
    predicate_result,
    result,
    value,
    when,
)
from intrinsics.targets import since

T = ScalarType

_WORDS = (T.U16, T.U32, T.U64, T.S16, T.S32, T.S64)
_LONG = (T.U32, T.S32, T.U64, T.S64)
_SHORT = (T.U32, T.S32)
_CARRIES = Effects(Effect.CARRY)
_NAMES = {"s": T.S16, "us": T.U16, "i": T.S32, "ui": T.U32, "ll": T.S64, "ull": T.U64}

# fmt: off


def _qualifiers(modifiers: str) -> dict[str, Iterable[Modifier]]:
    return {"cc": CarryOut, "type": _LONG} if "cc" in modifiers else {"type": _LONG}


def _sum(head: str, modifiers: str, section: str) -> Row:
    return Row(
        head, modifiers, "d, a, b", qualifiers=_qualifiers(modifiers),
        operands=(result("d", "type"), value("a", "type"), value("b", "type")),
        section=section, effects=_CARRIES,
    )


ADD_CC = _sum("add.cc", ".type", "add.cc")
ADDC = _sum("addc", "{.cc}.type", "addc")
SUB_CC = _sum("sub.cc", ".type", "sub.cc")
SUBC = _sum("subc", "{.cc}.type", "subc")


def _multiply_add(head: str, modifiers: str, section: str) -> Row:
    return Row(
        head, modifiers, "d, a, b, c", qualifiers=_qualifiers(modifiers),
        operands=(result("d", "type"), value("a", "type"), value("b", "type"),
                  value("c", "type")),
        section=section, effects=_CARRIES,
    )


MAD_LO_CC = _multiply_add("mad.lo.cc", ".type", "mad.cc")
MAD_HI_CC = _multiply_add("mad.hi.cc", ".type", "mad.cc")
MADC_LO = _multiply_add("madc.lo", "{.cc}.type", "madc")
MADC_HI = _multiply_add("madc.hi", "{.cc}.type", "madc")


_LOW_24 = tuple(
    Llvm(f"mul24.{name}", "i32:a, i32:b", "i32:d", given={"type": type_})
    for name, type_ in (("i", T.S32), ("ui", T.U32))
)


_HALVES = {"lo": "low", "hi": "high"}


def _of_24_bits(half: str) -> tuple[Row, Row]:
    product = Row(
        f"mul24.{half}", ".type", "d, a, b", qualifiers={"type": _SHORT},
        about=f"The {_HALVES[half]} 32 bits of the product of the low 24 bits of `a` and of `b`.",
        operands=(result("d", "type"), value("a", "type"), value("b", "type")), section="mul24",
        llvm=_LOW_24 if half == "lo" else (),
    )
    total = Row(
        f"mad24.{half}", "{.sat}.type", "d, a, b, c", qualifiers={"sat": Sat, "type": _SHORT},
        operands=(result("d", "type"), value("a", "type"), value("b", "type"),
                  value("c", "type")),
        section="mad24",
        rules=(
            when(sat=Sat.SAT).must("sat-type", type=T.S32) if half == "hi"
            else when(sat=Sat.SAT).is_wrong("sat-type", "mad24.lo has no .sat"),
        ),
    )
    return product, total


MUL24_LO, MAD24_LO = _of_24_bits("lo")
MUL24_HI, MAD24_HI = _of_24_bits("hi")
SAD = Row(
    "sad", ".type", "d, a, b, c", about="`c` plus the absolute difference of `a` and `b`.",
    qualifiers={"type": _WORDS},
    operands=(result("d", "type"), value("a", "type"), value("b", "type"), value("c", "type")),
    section="sad",
    llvm=tuple(
        Llvm(f"sad.{name}", f"i{t.bits}:a, i{t.bits}:b, i{t.bits}:c", f"i{t.bits}:d",
             given={"type": t})
        for name, t in _NAMES.items()
    ),
)

_SIGNS = {"s": T.S32, "u": T.U32}
_DOT = since("5.0")


_DOT_OPERANDS = (result("d", T.U32), value("a", T.U32), value("b", T.U32), value("c", T.U32))
_DOT_HOLES: dict[str, dict[str, Attributes]] = {
    "a": {k: {"atype": t} for k, t in _SIGNS.items()},
    "b": {k: {"btype": t} for k, t in _SIGNS.items()},
}
DP4A = Row(
    "dp4a", ".atype.btype", "d, a, b, c",
    about="`c` plus the dot product of the four bytes of `a` and of `b`.",
    qualifiers={"atype": _SHORT, "btype": _SHORT},
    operands=_DOT_OPERANDS, section="dp4a", needs=_DOT,
    llvm=(Llvm("idp4a.{a}.{b}", "i32:a, i32:b, i32:c", "i32:d", holes=_DOT_HOLES),),
)


def _dot_2(half: str) -> Row:
    return Row(
        f"dp2a.{half}", ".atype.btype", "d, a, b, c", qualifiers={"atype": _SHORT, "btype": _SHORT},
        operands=_DOT_OPERANDS, section="dp2a", needs=_DOT,
    )


DP2A_LO, DP2A_HI = _dot_2("lo"), _dot_2("hi")

PRMT = Row(
    "prmt", ".b32{.mode}", "d, a, b, c",
    about="Four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), selected by 4 bits of `c` "
    "each.",
    qualifiers={"mode": PermuteMode},
    operands=(result("d", T.B32), value("a", T.B32), value("b", T.B32), value("c", T.B32)),
    section="prmt",
    llvm=(
        Llvm("prmt", "i32:a, i32:b, i32:c", "i32:d", given={"mode": None}),
        Llvm("prmt.{m}", "i32:a, i32:b, i32:c", "i32:d",
             holes={"m": {"f4e": {"mode": PermuteMode.F4E}, "b4e": {"mode": PermuteMode.B4E}}}),
    ),
)

_BYTE = Numbers(0, 255)
_BITS = (T.B32, T.B64)
BFI = Row(
    "bfi", ".type", "d, a, b, c, e", qualifiers={"type": _BITS},
    operands=(result("d", "type"), value("a", "type"), value("b", "type"),
              value("c", T.U32, _BYTE), value("e", T.U32, _BYTE)),
    section="bfi",
)
BFIND = Row(
    "bfind", "{.shiftamt}.type", "d, a",
    about="The position of the highest bit that is not a sign, 0xffffffff if there is none.\n\n"
    "With `shiftamt` the left shift that brings it to the highest position.",
    qualifiers={"shiftamt": ShiftAmount, "type": _LONG},
    operands=(result("d", T.U32), value("a", "type")), section="bfind",
    llvm=tuple(
        Llvm(f"flo.{sign}.i{bits}", f"i{bits}:a, i1#shiftamt", "i32:d",
             given={"type": ScalarType(f"{sign}{bits}")},
             codes={"shiftamt": {0: None, 1: ShiftAmount.SHIFTAMT}})
        for sign in "su" for bits in (32, 64)
    ),
)
FNS = Row(
    "fns", ".b32", "d, mask, base, offset",
    about="The position of the `offset`-th set bit of `mask` from bit `base` on, or 0xffffffff.",
    operands=(result("d", T.B32), value("mask", T.B32), value("base", T.B32),
              value("offset", T.B32)),
    section="fns", needs=since("6.0"),
    llvm=(Llvm("fns", "i32:mask, i32:base, i32:offset", "i32:d"),),
)
CNOT = Row(
    "cnot", ".type", "d, a", qualifiers={"type": (T.B16, T.B32, T.B64)},
    operands=(result("d", "type"), value("a", "type")), section="cnot",
)
_FIELDS = since("7.6")
SZEXT = Row(
    "szext", ".mode.type", "d, a, b",
    about="The low `b` bits of `a`, sign- or zero-extended by `type`.\n\n"
    "`mode` says what `b` beyond the width means: CLAMP or WRAP.",
    qualifiers={"mode": FunnelMode, "type": _SHORT},
    operands=(result("d", "type"), value("a", "type"), value("b", T.U32)),
    section="szext", needs=_FIELDS,
    llvm=(Llvm("{s}ext.{m}", "i32:a, i32:b", "i32:d",
               holes={"s": {"s": {"type": T.S32}, "z": {"type": T.U32}},
                      "m": {m.value: {"mode": m} for m in FunnelMode}}),),
)
BMSK = Row(
    "bmsk", ".mode.b32", "d, a, b",
    about="A mask of `b` ones from bit `a` on.\n\n`mode` says what beyond the width means.",
    qualifiers={"mode": FunnelMode},
    operands=(result("d", T.U32), value("a", T.U32), value("b", T.U32)),
    section="bmsk", needs=_FIELDS,
    llvm=(Llvm("bmsk.{m}", "i32:a, i32:b", "i32:d",
               holes={"m": {m.value: {"mode": m} for m in FunnelMode}}),),
)
LOP3 = Row(
    "lop3", ".b32", "d, a, b, c, lut",
    operands=(result("d", T.B32), value("a", T.B32), value("b", T.B32), value("c", T.B32),
              number("lut", Numbers(0, 255))),
    section="lop3",
)
LOP3_BOOL = Row(
    "lop3", ".op.b32", "d|p, a, b, c, lut, q", name="lop3.bool", opcode="LOP3_BOOL",
    qualifiers={"op": (BoolOp.OR, BoolOp.AND)},
    operands=(result("d", T.B32, sink=True), predicate_result("p"), value("a", T.B32),
              value("b", T.B32), value("c", T.B32), number("lut", Numbers(0, 255)),
              predicate("q", number_too=True)),
    section="lop3", needs=since("8.2"),
)
# fmt: on

ROWS = (
    ADD_CC,
    ADDC,
    SUB_CC,
    SUBC,
    MAD_LO_CC,
    MAD_HI_CC,
    MADC_LO,
    MADC_HI,
    MUL24_LO,
    MUL24_HI,
    MAD24_LO,
    MAD24_HI,
    SAD,
    DP4A,
    DP2A_LO,
    DP2A_HI,
    PRMT,
    BFI,
    BFIND,
    FNS,
    CNOT,
    SZEXT,
    BMSK,
    LOP3,
    LOP3_BOOL,
)
