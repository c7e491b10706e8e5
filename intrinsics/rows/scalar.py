"""Moves, integer arithmetic, logic, comparison and conversion.

PTX ISA, Integer Arithmetic, Comparison and Selection, Logic and Shift, Data Movement and Conversion
Instructions.  Floating point is in `floats` and `float_conversions`.
"""

from __future__ import annotations

from intrinsics.modifiers import (
    BoolOp,
    Compare,
    FunnelMode,
    Relu,
    Sat,
    ScalarType,
)
from intrinsics.row import (
    Access,
    Attribute,
    By,
    Count,
    Kind,
    Llvm,
    Numbers,
    Operand,
    Row,
    Rule,
    VectorNumbers,
    predicate,
    predicate_result,
    result,
    value,
    vector,
    when,
)
from intrinsics.targets import Feature, at_least, since

T = ScalarType

_WORDS = (T.U16, T.U32, T.U64, T.S16, T.S32, T.S64)
_PAIRS = (T.U16X2, T.S16X2)
_QUADS = (T.U8X4, T.S8X4)
_BITS = (T.B16, T.B32, T.B64)
_QUAD_TARGETS = since("9.2", Feature.HAS_PACKED_BYTES)


# fmt: off
ADD = Row(
    "add", "{.sat}.type", "d, a, b", name="add.int",
    qualifiers={"sat": Sat, "type": (*_WORDS, *_PAIRS, *_QUADS)},
    operands=(result("d", "type"), value("a", "type"), value("b", "type")),
    section="add",
    rules=(
        when(type=_PAIRS).needs("packed-target", since("8.0", at_least(90))),
        when(type=_QUADS).needs("packed-8-target", _QUAD_TARGETS),
        when(sat=Sat.SAT).must("sat-type", type=(T.S32, T.U32, *_PAIRS, *_QUADS)),
        when(sat=Sat.SAT, type=(T.U32, *_PAIRS)).needs("sat-target", _QUAD_TARGETS),
    ),
    late={"cc": "add.cc"},
)

SUB = Row(
    "sub", "{.sat}.type", "d, a, b", name="sub.int",
    qualifiers={"sat": Sat, "type": (*_WORDS, *_QUADS)},
    operands=(result("d", "type"), value("a", "type"), value("b", "type")),
    section="sub",
    rules=(
        when(type=_QUADS).needs("packed-8-target", _QUAD_TARGETS),
        when(sat=Sat.SAT).must("sat-type", type=(T.S32, *_QUADS)),
    ),
    late={"cc": "sub.cc"},
)

_NARROW_WORDS = (T.U16, T.U32, T.S16, T.S32)
_DOUBLE = By("type", {T.U16: T.U32, T.S16: T.S32, T.U32: T.U64, T.S32: T.S64}, T.B64)


_HALF = {"lo": "lower", "hi": "upper"}


def _multiply(half: str, llvm: tuple[Llvm, ...] = ()) -> Row:
    return Row(
        f"mul.{half}", ".type", "d, a, b", qualifiers={"type": _WORDS},
        about=f"The {_HALF[half]} half of the product of `a` and `b`.",
        operands=(result("d", "type"), value("a", "type"), value("b", "type")), section="mul",
        llvm=llvm,
    )


_LETTERS = {"s": T.S16, "us": T.U16, "i": T.S32, "ui": T.U32, "ll": T.S64, "ull": T.U64}
"""How LLVM's names spell the types of integers."""

MUL_LO = _multiply("lo")
MUL_HI = _multiply("hi", tuple(
    Llvm(f"mulhi.{name}", f"i{t.bits}:a, i{t.bits}:b", f"i{t.bits}:d", given={"type": t})
    for name, t in _LETTERS.items()
))
MUL_WIDE = Row(
    "mul.wide", ".type", "d, a, b", qualifiers={"type": _NARROW_WORDS},
    operands=(result("d", _DOUBLE), value("a", "type"), value("b", "type")), section="mul",
)


def _multiply_add(half: str, rules: tuple[Rule, ...] = ()) -> Row:
    return Row(
        f"mad.{half}", "{.sat}.type", "d, a, b, c", qualifiers={"sat": Sat, "type": _WORDS},
        operands=(result("d", "type"), value("a", "type"), value("b", "type"),
                  value("c", "type")),
        section="mad", rules=rules, late={"cc": f"mad.{half}.cc"},
    )


MAD_LO = _multiply_add("lo", (when(sat=Sat.SAT).is_wrong("sat-type", "mad.lo has no .sat"),))
MAD_HI = _multiply_add("hi", (when(sat=Sat.SAT).must("sat-type", type=T.S32),))
MAD_WIDE = Row(
    "mad.wide", ".type", "d, a, b, c", qualifiers={"type": _NARROW_WORDS},
    operands=(result("d", _DOUBLE), value("a", "type"), value("b", "type"),
              value("c", _DOUBLE)),
    section="mad",
)


def _division(head: str) -> Row:
    return Row(
        head, ".type", "d, a, b", name=f"{head}.int", qualifiers={"type": _WORDS},
        operands=(result("d", "type"), value("a", "type"), value("b", "type")), section=head,
    )


DIV, REM = _division("div"), _division("rem")


def _logic(head: str) -> Row:
    return Row(
        head, ".type", "d, a, b", qualifiers={"type": (T.PRED, *_BITS)},
        operands=(result("d", "type"), value("a", "type"), value("b", "type")), section=head,
    )


AND, OR, XOR = _logic("and"), _logic("or"), _logic("xor")
NOT = Row(
    "not", ".type", "d, a", qualifiers={"type": (T.PRED, *_BITS)},
    operands=(result("d", "type"), value("a", "type")), section="not",
)
SHL = Row(
    "shl", ".type", "d, a, b", qualifiers={"type": _BITS},
    operands=(result("d", "type"), value("a", "type"), value("b", T.U32)), section="shl",
)
SHR = Row(
    "shr", ".type", "d, a, b", qualifiers={"type": (*_BITS, *_WORDS)},
    operands=(result("d", "type"), value("a", "type"), value("b", T.U32)), section="shr",
)

_BYTE = Numbers(0, 255)
BFE = Row(
    "bfe", ".type", "d, a, b, c", qualifiers={"type": (T.U32, T.U64, T.S32, T.S64)},
    operands=(result("d", "type"), value("a", "type"), value("b", T.U32, _BYTE),
              value("c", T.U32, _BYTE)),
    section="bfe",
)



def _extreme(head: str) -> Row:
    return Row(
        head, "{.relu}.type", "d, a, b",
        qualifiers={"relu": Relu, "type": (*_WORDS, *_PAIRS, *_QUADS)},
        operands=(result("d", "type"), value("a", "type"), value("b", "type")), section=head,
        rules=(
            when(relu=Relu.RELU).must("relu-type", type=(T.S32, T.S16X2, T.S8X4)),
            when(type=_PAIRS).needs("packed-target", since("8.0", at_least(90))),
            when(type=_QUADS).needs("packed-8-target", _QUAD_TARGETS),
            when(relu=Relu.RELU).needs("relu-target", since("8.0", at_least(90))),
        ),
    )


MIN, MAX = _extreme("min"), _extreme("max")

_SIGNED = (T.S16, T.S32, T.S64)


def _of_sign(head: str) -> Row:
    return Row(
        head, ".type", "d, a", name=f"{head}.int", qualifiers={"type": _SIGNED},
        operands=(result("d", "type"), value("a", "type")), section=head,
        elsewhere=("s8x4",) if head == "neg" else (),
    )


ABS, NEG = _of_sign("abs"), _of_sign("neg")


def _count(head: str) -> Row:
    return Row(
        head, ".type", "d, a", qualifiers={"type": (T.B32, T.B64)},
        operands=(result("d", T.U32), value("a", "type")), section=head,
    )


POPC, CLZ = _count("popc"), _count("clz")
BREV = Row(
    "brev", ".type", "d, a", qualifiers={"type": (T.B32, T.B64)},
    operands=(result("d", "type"), value("a", "type")), section="brev",
)


def _funnel(head: str) -> Row:
    return Row(
        head, ".mode.b32", "d, a, b, c", qualifiers={"mode": FunnelMode},
        operands=(result("d", T.B32), value("a", T.B32), value("b", T.B32), value("c", T.U32)),
        section="shf",
    )


SHF_L, SHF_R = _funnel("shf.l"), _funnel("shf.r")

_ORDERINGS = (Compare.LT, Compare.LE, Compare.GT, Compare.GE)
_UNSIGNED_ORDERINGS = (Compare.LO, Compare.LS, Compare.HI, Compare.HS)
SETP = Row(
    "setp", ".cmp{.combine}.type", "p{|q}, a, b {, c}", name="setp.int",
    qualifiers={"cmp": (Compare.EQ, Compare.NE, *_ORDERINGS, *_UNSIGNED_ORDERINGS),
                "combine": BoolOp, "type": (*_BITS, *_WORDS)},
    operands=(
        predicate_result("p", sink=True), predicate_result("q", sink=True),
        value("a", "type"), value("b", "type"), predicate("c", number_too=True),
    ),
    section="setp", tied={"combine": "c"},
    rules=(
        when(type=_BITS).must("compare-type", cmp=(Compare.EQ, Compare.NE)),
        when(cmp=_UNSIGNED_ORDERINGS).must("compare-type", type=(T.U16, T.U32, T.U64)),
    ),
)

SELP = Row(
    "selp", ".type", "d, a, b, c",
    qualifiers={"type": (*_BITS, *_WORDS, T.F32, T.F64)},
    operands=(result("d", "type"), value("a", "type"), value("b", "type"),
              predicate("c", number_too=True)),
    section="selp",
)

_INTEGERS = (T.U8, T.U16, T.U32, T.U64, T.S8, T.S16, T.S32, T.S64)


def _range(t: ScalarType) -> tuple[int, int]:
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


def _can_overflow(source: ScalarType) -> tuple[Attribute, ...]:
    """The integer types that do not hold every value of `source`."""
    low, high = _range(source)
    return tuple(t for t in _INTEGERS if not (_range(t)[0] <= low and high <= _range(t)[1]))


_SATURATES = tuple(
    when(sat=Sat.SAT, atype=t).must("sat-needless", "nothing to saturate",
                                    dtype=_can_overflow(t))
    for t in _INTEGERS
)
CVT = Row(
    "cvt", "{.sat}.dtype.atype", "d, a", name="cvt.int",
    qualifiers={"sat": Sat, "dtype": _INTEGERS, "atype": _INTEGERS},
    operands=(result("d", "dtype", widened=True), value("a", "atype", widened=True, specials=True)),
    section="cvt", rules=_SATURATES,
    elsewhere=("scaled::n2::ue8m0", "pack", "e4m3x4", "e5m2x4", "e2m1x4", "e2m3x4", "e3m2x4"),
)

MOV = Row(
    "mov", ".type", "d, a",
    qualifiers={"type": (T.PRED, *_BITS, T.B128, *_WORDS, T.F32, T.F64)},
    operands=(result("d", "type"), Operand("a", Kind.SOURCE, "type", symbols=True)),
    section="mov", rules=(when(type=T.B128).needs("b128-version", since("8.3")),),
    elsewhere=("v2", "v4"),
)
# fmt: on

_HALVES = By("type", {T.B16: T.B8, T.B32: T.B16, T.B64: T.B32}, T.B64)
_QUARTERS = By("type", {T.B32: T.B8, T.B64: T.B16}, T.B32)
_LONG = when(type=T.B128).needs("b128-version", since("8.3"))


def _packed(types: tuple[ScalarType, ...], parts: int, part: By[ScalarType]) -> tuple[Row, Row]:
    """mov between one register and the vector of its parts."""
    count = Count((("type", dict.fromkeys(types, parts)),))
    packs = Row(
        "mov",
        ".type",
        "d, a",
        name=f"mov.pack{parts}",
        opcode=f"MOV_PACK{parts}",
        qualifiers={"type": types},
        operands=(result("d", "type"), vector("a", part, count, numbers=VectorNumbers.ALL)),
        section="mov",
        rules=(_LONG,),
    )
    unpacks = Row(
        "mov",
        ".type",
        "d, a",
        name=f"mov.unpack{parts}",
        opcode=f"MOV_UNPACK{parts}",
        qualifiers={"type": types},
        operands=(vector("d", part, count, Access.WRITE, sink=True), value("a", "type")),
        section="mov",
        rules=(_LONG,),
    )
    return packs, unpacks


MOV_PACK2, MOV_UNPACK2 = _packed((*_BITS, T.B128), 2, _HALVES)
MOV_PACK4, MOV_UNPACK4 = _packed((T.B32, T.B64, T.B128), 4, _QUARTERS)


ROWS = (
    MOV,
    MOV_PACK2,
    MOV_UNPACK2,
    MOV_PACK4,
    MOV_UNPACK4,
    ADD,
    SUB,
    MUL_LO,
    MUL_HI,
    MUL_WIDE,
    MAD_LO,
    MAD_HI,
    MAD_WIDE,
    DIV,
    REM,
    AND,
    OR,
    XOR,
    NOT,
    SHL,
    SHR,
    BFE,
    MIN,
    MAX,
    ABS,
    NEG,
    POPC,
    CLZ,
    BREV,
    SHF_L,
    SHF_R,
    SETP,
    SELP,
    CVT,
)
