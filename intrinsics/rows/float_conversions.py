"""Conversions from and to floating-point types: cvt.

PTX ISA, Data Movement and Conversion Instructions: cvt.  One row for each sort of conversion, as
the manual's syntax has it.  Which targets have a form is what ptxas 13.5 says.
"""

from __future__ import annotations

from intrinsics.modifiers import Ftz, Relu, Rounding, Sat, SatFinite, ScalarType
from intrinsics.row import (
    Operand,
    Row,
    Rule,
    absent_or,
    register,
    result,
    value,
    when,
)
from intrinsics.rows.requirements import SM80
from intrinsics.targets import Feature, at_least, since, with_feature

T = ScalarType
R = Rounding

_FLOATS = (T.F16, T.F32, T.F64)
_INTEGERS = (T.U8, T.U16, T.U32, T.U64, T.S8, T.S16, T.S32, T.S64)
_PLACES = (R.RN, R.RZ, R.RM, R.RP)
_INTEGRAL = (R.RNI, R.RZI, R.RMI, R.RPI)
_BRAIN = since("7.8", at_least(90))
_SATFINITE = since("8.1")


def _operands(*, widened: bool) -> tuple[Operand, ...]:
    """Result and source; a register wider than the type may hold either, but with bf16."""
    return result("d", "dtype", widened=widened), value("a", "atype", widened=widened)


# fmt: off
def _rounding(*pairs: tuple[ScalarType, ScalarType]) -> tuple[Rule, ...]:
    """Which roundings conversions from each type to the other take, the wide type first."""
    found = []
    for wide, narrow in pairs:
        exact = when(dtype=wide, atype=narrow)
        found.append(exact.must("rounding", "an exact conversion is not rounded", rnd=None))
        found.append(when(dtype=narrow, atype=wide).must("rounding", rnd=_PLACES))
    return tuple(found)


FLOAT = Row(
    "cvt", "{.rnd}{.ftz}{.relu}{.satfinite}{.sat}.dtype.atype", "d, a", name="cvt.float",
    qualifiers={"rnd": (*_PLACES, *_INTEGRAL), "ftz": Ftz, "relu": Relu, "satfinite": SatFinite,
                "sat": Sat, "dtype": _FLOATS, "atype": _FLOATS},
    operands=_operands(widened=True), section="cvt",
    rules=(
        *_rounding((T.F32, T.F16), (T.F64, T.F16), (T.F64, T.F32)),
        *(when(dtype=t, atype=t).must("rounding", rnd=absent_or(*_INTEGRAL)) for t in _FLOATS),
        when(ftz=Ftz.FTZ, dtype=(T.F16, T.F64)).must("ftz-type", atype=T.F32),
        when(relu=Relu.RELU).must("relu-type", dtype=T.F16, atype=T.F32, rnd=(R.RN, R.RZ),
                                  ftz=None, sat=None),
        when(satfinite=SatFinite.SATFINITE).must(
            "satfinite-type", dtype=T.F16, atype=T.F32, rnd=(R.RN, R.RZ), ftz=None, sat=None),
        when(relu=Relu.RELU).needs("relu-target", SM80),
        when(satfinite=SatFinite.SATFINITE).needs("satfinite-version", _SATFINITE),
    ),
    elsewhere=("e4m3x4", "e5m2x4", "e2m1x4", "e2m3x4", "e3m2x4"),
)
FROM_BRAIN = Row(
    "cvt", "{.rnd}{.ftz}.dtype.atype", "d, a", name="cvt.from_bf16",
    qualifiers={"rnd": (*_PLACES, *_INTEGRAL), "ftz": Ftz, "dtype": (*_FLOATS, T.BF16),
                "atype": (T.BF16,)},
    operands=_operands(widened=False), section="cvt",
    rules=(
        when(dtype=T.BF16).must("rounding", rnd=absent_or(*_INTEGRAL)),
        when(dtype=_FLOATS).must("rounding", rnd=absent_or(*_PLACES)),
        when(ftz=Ftz.FTZ).must("ftz-type", dtype=T.F32),
        when(dtype=T.F32).needs("bf16-target", since("7.1", at_least(80))),
        when(dtype=T.F32, ftz=Ftz.FTZ).needs("bf16-target", _BRAIN),
        when(dtype=(T.F16, T.F64, T.BF16)).needs("bf16-target", _BRAIN),
    ),
)
TO_BRAIN = Row(
    "cvt", "{.rnd}{.ftz}{.relu}{.satfinite}.dtype.atype", "d, a", name="cvt.to_bf16",
    qualifiers={"rnd": _PLACES, "ftz": Ftz, "relu": Relu, "satfinite": SatFinite,
                "dtype": (T.BF16,), "atype": _FLOATS},
    operands=_operands(widened=False), section="cvt",
    rules=(
        when(atype=(T.F32, T.F64)).must("rounding", rnd=_PLACES),
        when(ftz=Ftz.FTZ).must("ftz-type", atype=T.F32),
        when(relu=Relu.RELU).must("relu-type", atype=T.F32, rnd=(R.RN, R.RZ), ftz=None),
        when(satfinite=SatFinite.SATFINITE).must(
            "satfinite-type", atype=T.F32, rnd=(R.RN, R.RZ), ftz=None),
        when(satfinite=SatFinite.SATFINITE).needs("satfinite-version", _SATFINITE),
        when(atype=T.F32).needs("bf16-target", SM80),
        when(atype=(T.F16, T.F64)).needs("bf16-target", _BRAIN),
    ),
)

TO_INTEGER = Row(
    "cvt", ".rnd{.ftz}{.sat}.dtype.atype", "d, a", name="cvt.to_int",
    qualifiers={"rnd": _INTEGRAL, "ftz": Ftz, "sat": Sat, "dtype": _INTEGERS, "atype": _FLOATS},
    operands=_operands(widened=True), section="cvt",
    rules=(when(ftz=Ftz.FTZ).must("ftz-type", atype=T.F32),),
)
FROM_INTEGER = Row(
    "cvt", ".rnd{.ftz}{.sat}.dtype.atype", "d, a", name="cvt.from_int",
    qualifiers={"rnd": _PLACES, "ftz": Ftz, "sat": Sat, "dtype": _FLOATS, "atype": _INTEGERS},
    operands=_operands(widened=True), section="cvt",
    rules=(when(ftz=Ftz.FTZ).must("ftz-type", dtype=T.F32),),
)
BRAIN_TO_INTEGER = Row(
    "cvt", ".rnd.dtype.atype", "d, a", name="cvt.bf16_to_int",
    qualifiers={"rnd": _INTEGRAL, "dtype": _INTEGERS, "atype": (T.BF16,)},
    operands=_operands(widened=False), section="cvt", needs=_BRAIN,
)
BRAIN_FROM_INTEGER = Row(
    "cvt", ".rnd.dtype.atype", "d, a", name="cvt.bf16_from_int",
    qualifiers={"rnd": _PLACES, "dtype": (T.BF16,), "atype": _INTEGERS},
    operands=_operands(widened=False), section="cvt", needs=_BRAIN,
)

_PLACES_TF32 = (R.RN, R.RZ)
TO_TF32 = Row(
    "cvt", ".rnd{.relu}{.satfinite}.dtype.atype", "d, a", name="cvt.tf32",
    qualifiers={"rnd": (*_PLACES_TF32, R.RNA), "relu": Relu, "satfinite": SatFinite,
                "dtype": (T.TF32,), "atype": (T.F32,)},
    operands=(result("d", "dtype"), register("a", "atype")), section="cvt",
    rules=(
        when(relu=Relu.RELU).must("relu-rounding", rnd=_PLACES_TF32),
        when(rnd=R.RNA).needs("tf32-target", SM80),
        when(rnd=R.RNA, satfinite=SatFinite.SATFINITE).needs("satfinite-version", _SATFINITE),
        when(rnd=_PLACES_TF32).needs("tf32-target", _BRAIN),
        when(rnd=_PLACES_TF32, satfinite=SatFinite.SATFINITE).needs(
            "satfinite-target", since("8.6", at_least(100))),
    ),
)

# ---- pairs -----------------------------------------------------------------------------------

PAIR = Row(
    "cvt", ".rnd{.relu}{.satfinite}.dtype.atype", "d, a, b", name="cvt.pair",
    qualifiers={"rnd": (R.RN, R.RZ), "relu": Relu, "satfinite": SatFinite,
                "dtype": (T.F16X2, T.BF16X2), "atype": (T.F32,)},
    operands=(result("d", "dtype"), value("a", "atype"), value("b", "atype")),
    section="cvt", needs=SM80,
    rules=(when(satfinite=SatFinite.SATFINITE).needs("satfinite-version", _SATFINITE),),
    elsewhere=("rs",),
)

_BYTES = (T.E4M3X2, T.E5M2X2)
_SIXES = (T.E2M3X2, T.E3M2X2)
_NARROW = (*_BYTES, *_SIXES, T.E2M1X2)
_FP8 = since("8.1", Feature.HAS_FP8)
_NARROW_TARGETS = with_feature(Feature.HAS_NARROW_FLOATS)
_FP4 = since("8.6", _NARROW_TARGETS)
_RZ = since("9.4", Feature.HAS_NARROW_RZ)

_NARROWING = (
    when(rnd=R.RN, dtype=_BYTES).needs("narrow-target", _FP8),
    when(dtype=(*_SIXES, T.E2M1X2)).needs("narrow-target", _FP4),
    when(rnd=R.RZ).needs("narrow-rz-target", _RZ),
)
TO_NARROW = Row(
    "cvt", ".rnd.satfinite{.relu}.dtype.atype", "d, a, b", name="cvt.to_narrow",
    qualifiers={"rnd": (R.RN, R.RZ), "relu": Relu, "dtype": _NARROW, "atype": (T.F32,)},
    operands=(result("d", "dtype"), value("a", "atype"), value("b", "atype")), section="cvt",
    rules=_NARROWING,
)
NARROW_PAIR = Row(
    "cvt", ".rnd.satfinite{.relu}.dtype.atype", "d, a", name="cvt.narrow_pair",
    qualifiers={"rnd": (R.RN, R.RZ), "relu": Relu, "dtype": _NARROW, "atype": (T.F16X2, T.BF16X2)},
    operands=(result("d", "dtype"), value("a", "atype")), section="cvt",
    rules=(
        *_NARROWING,
        when(dtype=_BYTES, atype=T.BF16X2).needs("narrow-pair-target",
                                                since("9.1", _NARROW_TARGETS)),
        when(dtype=(*_SIXES, T.E2M1X2)).needs("narrow-pair-version", since("9.1")),
    ),
)
FROM_NARROW = Row(
    "cvt", ".rnd{.satfinite}{.relu}.dtype.atype", "d, a", name="cvt.from_narrow",
    qualifiers={"rnd": (R.RN,), "satfinite": SatFinite, "relu": Relu, "dtype": (T.F16X2, T.BF16X2),
                "atype": _NARROW},
    operands=(result("d", "dtype"), value("a", "atype")),
    section="cvt",
    rules=(
        when(satfinite=SatFinite.SATFINITE).must("satfinite-type", dtype=T.BF16X2),
        when(dtype=T.F16X2, atype=_BYTES).needs("narrow-target", _FP8),
        when(atype=(*_SIXES, T.E2M1X2)).needs("narrow-target", _FP4),
        when(dtype=T.BF16X2).needs("narrow-pair-target", since("9.2", _NARROW_TARGETS)),
    ),
)
_SCALE = since("8.6", _NARROW_TARGETS)
TO_SCALE = Row(
    "cvt", ".rnd{.satfinite}.dtype.atype", "d, a {, b}", name="cvt.to_scale", simulated=False,
    qualifiers={"rnd": (R.RZ, R.RP), "satfinite": SatFinite, "dtype": (T.UE8M0X2,),
                "atype": (T.F32, T.BF16X2)},
    operands=(result("d", "dtype"), value("a", "atype"), value("b", "atype")), section="cvt",
    needs=_SCALE,
    rules=(
        when(atype=T.F32).must("pair", "two numbers make a pair", b=True),
        when(atype=T.BF16X2).must("pair", "a pair is one operand", b=False),
    ),
)
FROM_SCALE = Row(
    "cvt", ".rnd.dtype.atype", "d, a", name="cvt.from_scale", simulated=False,
    qualifiers={"rnd": (R.RN,), "dtype": (T.BF16X2,), "atype": (T.UE8M0X2,)},
    operands=(result("d", "dtype"), value("a", "atype")), section="cvt", needs=_SCALE,
)
# fmt: on

ROWS = (
    *(FLOAT, FROM_BRAIN, TO_BRAIN, TO_INTEGER, FROM_INTEGER),
    *(BRAIN_TO_INTEGER, BRAIN_FROM_INTEGER, TO_TF32, PAIR),
    *(TO_NARROW, NARROW_PAIR, FROM_NARROW, TO_SCALE, FROM_SCALE),
)
