"""Floating-point arithmetic, comparison and approximation.

PTX ISA, Floating Point Instructions, Half Precision Floating Point Instructions, Mixed Precision
Floating Point Instructions, Comparison and Selection Instructions.  Which targets have a form is
what ptxas 13.5 says, down to sm_75 and PTX 7.0.
"""

from __future__ import annotations

from intrinsics.modifiers import (
    Abs,
    BoolOp,
    Compare,
    Ftz,
    Modifier,
    NaN,
    Oob,
    Relu,
    Rounding,
    Sat,
    ScalarType,
    TestOp,
    XorSign,
)
from intrinsics.row import (
    By,
    Row,
    Rule,
    absent_or,
    predicate,
    predicate_result,
    result,
    value,
    when,
)
from intrinsics.rows.requirements import SM80
from intrinsics.targets import at_least, since

T = ScalarType
R = Rounding

_HALF = (T.F16, T.F16X2)
_BRAIN = (T.BF16, T.BF16X2)
_WIDE = (T.F32, T.F64)
_TYPES = (*_HALF, *_BRAIN, *_WIDE, T.F32X2)
PLACES = (R.RN, R.RZ, R.RM, R.RP)
"""Roundings in the last place."""

_BRAIN_ARITHMETIC = since("7.8", at_least(90))
_PAIR_TARGETS = since("8.6", at_least(100))
_MIXED = since("8.6", at_least(100))


def _flushes(*types: ScalarType) -> Rule:
    return when(ftz=Ftz.FTZ).must("ftz-type", type=types)


# ---- sums and products -----------------------------------------------------------------------


# fmt: off
def _arithmetic(head: str) -> Row:
    """add, sub and mul; without a rounding ptxas may make one fma of a product and a sum."""
    return Row(
        head, "{.rnd}{.ftz}{.sat}.type", "d, a, b", name=f"{head}.float",
        qualifiers={"rnd": PLACES, "ftz": Ftz, "sat": Sat, "type": _TYPES},
        operands=(result("d", "type"), value("a", "type"), value("b", "type")), section=head,
        rules=(
            when(type=(*_HALF, *_BRAIN)).must("rounding", rnd=absent_or(R.RN)),
            _flushes(*_HALF, T.F32, T.F32X2),
            when(sat=Sat.SAT).must("sat-type", type=(*_HALF, T.F32)),
            when(type=_BRAIN).needs("bf16-target", _BRAIN_ARITHMETIC),
            when(type=T.F32X2).needs("f32x2-target", _PAIR_TARGETS),
        ),
    )


ADD, SUB, MUL = _arithmetic("add"), _arithmetic("sub"), _arithmetic("mul")


def _mixed(head: str) -> Row:
    """An f32 sum to which a half is added."""
    return Row(
        head, "{.rnd}{.sat}.type.atype", "d, a, c", name=f"{head}.mixed",
        qualifiers={"rnd": PLACES, "sat": Sat, "type": (T.F32,), "atype": (T.F16, T.BF16)},
        operands=(result("d", "type"), value("a", "atype"), value("c", "type")),
        section=f"{head}, mixed precision", needs=_MIXED,
    )


ADD_MIXED, SUB_MIXED = _mixed("add"), _mixed("sub")

FMA = Row(
    "fma", ".rnd{.ftz}{.sat}{.oob}{.relu}.type", "d, a, b, c",
    qualifiers={"rnd": PLACES, "ftz": Ftz, "sat": Sat, "oob": Oob, "relu": Relu, "type": _TYPES},
    operands=(result("d", "type"), value("a", "type"), value("b", "type"), value("c", "type")),
    section="fma",
    rules=(
        when(type=_HALF).must("rounding", rnd=R.RN),
        _flushes(*_HALF, T.F32, T.F32X2),
        when(sat=Sat.SAT).must("sat-type", type=(*_HALF, T.F32)),
        when(relu=Relu.RELU).must("relu-type", type=(*_HALF, *_BRAIN), sat=None),
        when(oob=Oob.OOB).must("oob-type", type=(*_HALF, *_BRAIN), sat=None, ftz=None),
        when(relu=Relu.RELU).needs("relu-target", SM80),
        when(oob=Oob.OOB).needs("oob-target", since("8.1", at_least(90))),
        when(type=_BRAIN).needs("bf16-target", SM80),
        when(type=T.F32X2).needs("f32x2-target", _PAIR_TARGETS),
    ),
)
FMA_MIXED = Row(
    "fma", ".rnd{.sat}.type.abtype", "d, a, b, c", name="fma.mixed",
    qualifiers={"rnd": PLACES, "sat": Sat, "type": (T.F32,), "abtype": (T.F16, T.BF16)},
    operands=(result("d", "type"), value("a", "abtype"), value("b", "abtype"), value("c", "type")),
    section="fma, mixed precision", needs=_MIXED,
)
MAD = Row(
    "mad", ".rnd{.ftz}{.sat}.type", "d, a, b, c", name="mad.float",
    qualifiers={"rnd": PLACES, "ftz": Ftz, "sat": Sat, "type": _WIDE},
    operands=(result("d", "type"), value("a", "type"), value("b", "type"), value("c", "type")),
    section="mad, floating point",
    rules=(_flushes(T.F32), when(sat=Sat.SAT).must("sat-type", type=T.F32)),
)

# ---- quotients, roots, approximations --------------------------------------------------------

DIV = Row(
    "div", ".rnd{.ftz}.type", "d, a, b", name="div.float",
    qualifiers={"rnd": (R.APPROX, R.FULL, *PLACES), "ftz": Ftz, "type": _WIDE},
    operands=(result("d", "type"), value("a", "type"), value("b", "type")),
    section="div, floating point",
    rules=(
        when(rnd=(R.APPROX, R.FULL)).must("approx-type", type=T.F32),
        _flushes(T.F32),
    ),
)
RCP = Row(
    "rcp", ".rnd{.ftz}.type", "d, a",
    qualifiers={"rnd": (R.APPROX, *PLACES), "ftz": Ftz, "type": _WIDE},
    operands=(result("d", "type"), value("a", "type")), section="rcp",
    rules=(when(rnd=R.APPROX, type=T.F64).must("approx-type", ftz=Ftz.FTZ),),
)
SQRT = Row(
    "sqrt", ".rnd{.ftz}.type", "d, a",
    qualifiers={"rnd": (R.APPROX, *PLACES), "ftz": Ftz, "type": _WIDE},
    operands=(result("d", "type"), value("a", "type")), section="sqrt",
    rules=(when(rnd=R.APPROX).must("approx-type", type=T.F32), _flushes(T.F32)),
)


def _approximation(head: str, types: tuple[ScalarType, ...], *rules: Rule, ftz: bool = True) -> Row:
    qualifiers: dict[str, type[Modifier] | tuple[Modifier, ...]] = {"ftz": Ftz, "type": types}
    return Row(
        head, ".approx{.ftz}.type" if ftz else ".approx.type", "d, a",
        qualifiers=qualifiers if ftz else {"type": types},
        operands=(result("d", "type"), value("a", "type")), section=head, rules=rules,
    )


RSQRT = _approximation("rsqrt", _WIDE)
SIN, COS, LG2 = (_approximation(head, (T.F32,)) for head in ("sin", "cos", "lg2"))
EX2 = _approximation(
    "ex2", (T.F32, *_HALF, *_BRAIN),
    when(type=_HALF).must("ftz-type", ftz=None),
    when(type=_BRAIN).must("ftz-type", ftz=Ftz.FTZ),
    when(type=_BRAIN).needs("bf16-target", _BRAIN_ARITHMETIC),
)
TANH = _approximation(
    "tanh", (T.F32, *_HALF, *_BRAIN),
    when(type=_BRAIN).needs("bf16-target", _BRAIN_ARITHMETIC), ftz=False,
)

# ---- signs, least and greatest ---------------------------------------------------------------


def _sign(head: str) -> Row:
    return Row(
        head, "{.ftz}.type", "d, a", name=f"{head}.float",
        qualifiers={"ftz": Ftz, "type": (*_HALF, *_BRAIN, *_WIDE)},
        operands=(result("d", "type"), value("a", "type")), section=f"{head}, floating point",
        rules=(_flushes(*_HALF, T.F32), when(type=_BRAIN).needs("bf16-target", SM80)),
    )


NEG, ABS = _sign("neg"), _sign("abs")
COPYSIGN = Row(
    "copysign", ".type", "d, a, b", qualifiers={"type": _WIDE},
    operands=(result("d", "type"), value("a", "type"), value("b", "type")), section="copysign",
)


def _extreme(head: str) -> Row:
    return Row(
        head, "{.ftz}{.nan}{.xorsign}{.abs}.type", "d, a, b {, c}", name=f"{head}.float",
        qualifiers={"ftz": Ftz, "nan": NaN, "xorsign": XorSign, "abs": Abs,
                    "type": (*_HALF, *_BRAIN, *_WIDE)},
        operands=(result("d", "type"), value("a", "type"), value("b", "type"),
                  value("c", "type")),
        section=f"{head}, floating point",
        rules=(
            _flushes(*_HALF, T.F32),
            when(nan=NaN.NAN).must("nan-type", type=(*_HALF, *_BRAIN, T.F32)),
            when(xorsign=XorSign.XORSIGN).must(
                "xorsign", "xorsign stands with abs", abs=Abs.ABS, c=False,
                type=(*_HALF, *_BRAIN, T.F32)),
            when(abs=Abs.ABS, xorsign=None).must(
                "abs", "abs alone stands with three operands", c=True),
            when(c=True).must("three-type", type=T.F32),
            when(nan=NaN.NAN).needs("nan-target", SM80),
            when(type=(*_HALF, *_BRAIN)).needs("half-target", SM80),
            when(xorsign=XorSign.XORSIGN).needs("xorsign-target", since("7.2", at_least(86))),
            when(c=True).needs("three-target", since("8.8", at_least(100))),
        ),
    )


MIN, MAX = _extreme("min"), _extreme("max")

# ---- questions -------------------------------------------------------------------------------

TESTP = Row(
    "testp", ".op.type", "p, a", qualifiers={"op": TestOp, "type": _WIDE},
    operands=(predicate_result("p"), value("a", "type")), section="testp",
)
_ORDERED = (Compare.EQ, Compare.NE, Compare.LT, Compare.LE, Compare.GT, Compare.GE)
_UNORDERED = (Compare.EQU, Compare.NEU, Compare.LTU, Compare.LEU, Compare.GTU, Compare.GEU)
_COMBINED = By("type", dict.fromkeys(_BRAIN, False), True)
"""Whether c may be a number; ptxas takes only a predicate beside bf16."""
SETP = Row(
    "setp", ".cmp{.combine}{.ftz}.type", "p{|q}, a, b {, c}", name="setp.float",
    qualifiers={"cmp": (*_ORDERED, *_UNORDERED, Compare.NUM, Compare.NAN), "combine": BoolOp,
                "ftz": Ftz, "type": (*_HALF, *_BRAIN, *_WIDE)},
    operands=(
        predicate_result("p", sink=True), predicate_result("q", sink=True),
        value("a", "type"), value("b", "type"), predicate("c", number_too=_COMBINED),
    ),
    section="setp", tied={"combine": "c"},
    rules=(
        when(q=True).must("second-result", type=(T.F16X2, T.BF16X2, *_WIDE)),
        _flushes(*_HALF, T.F32),
        when(type=_BRAIN).needs("bf16-target", _BRAIN_ARITHMETIC),
    ),
)
# fmt: on

ROWS = (
    *(ADD, SUB, MUL, ADD_MIXED, SUB_MIXED, FMA, FMA_MIXED, MAD),
    *(DIV, RCP, SQRT, RSQRT, SIN, COS, LG2, EX2, TANH),
    *(NEG, ABS, COPYSIGN, MIN, MAX, TESTP, SETP),
)
