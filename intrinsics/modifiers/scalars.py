"""Modifiers of arithmetic, comparisons, conversions, loads and stores.

Layer: intrinsics.  PTX ISA, Integer, Floating Point, Comparison and Selection Instructions; ld; st.
"""

from __future__ import annotations

from intrinsics.modifiers.kinds import Modifier

_OPPOSITES = "eq ne lt ge le gt lo hs ls hi"


class Compare(Modifier):
    """Comparisons of setp."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    LO = "lo"
    LS = "ls"
    HI = "hi"
    HS = "hs"
    EQU = "equ"
    NEU = "neu"
    LTU = "ltu"
    LEU = "leu"
    GTU = "gtu"
    GEU = "geu"
    NUM = "num"
    NAN = "nan"

    def contrary(self, *, floats: bool) -> Compare:
        """The complementary comparison; of floats also with respect to NaN."""
        names = "eq neu ne equ lt geu le gtu gt leu ge ltu num nan" if floats else _OPPOSITES
        words = names.split()
        at = words.index(self.value)
        return Compare(words[at ^ 1])


class BoolOp(Modifier):
    """The operation that combines the comparison of setp with a third predicate."""

    AND = "and"
    OR = "or"
    XOR = "xor"


class FunnelMode(Modifier):
    """The treatment of a funnel shift amount above 31: clamped to 32, or modulo 32."""

    CLAMP = "clamp"
    WRAP = "wrap"


class CarryOut(Modifier):
    """Whether the carry flag is written."""

    CC = "cc"


class PermuteMode(Modifier):
    """The byte selection of prmt, where its third operand is not a selector."""

    F4E = "f4e"
    B4E = "b4e"
    RC8 = "rc8"
    ECL = "ecl"
    ECR = "ecr"
    RC16 = "rc16"


class ShiftAmount(Modifier):
    """bfind gives the left shift that brings the bit to the top."""

    SHIFTAMT = "shiftamt"


class Sat(Modifier):
    """Saturation."""

    SAT = "sat"


class Ftz(Modifier):
    """Subnormals flushed to zero."""

    FTZ = "ftz"


class Relu(Modifier):
    """Negative results clamped to zero, and NaN made canonical."""

    RELU = "relu"


class SatFinite(Modifier):
    """Results out of range saturate to the largest finite number."""

    SATFINITE = "satfinite"


class NaN(Modifier):
    """min and max give NaN when an operand is NaN."""

    NAN = "NaN"


class XorSign(Modifier):
    """min and max whose result has the exclusive or of the operands' signs."""

    XORSIGN = "xorsign"


class Abs(Modifier):
    """min and max of absolute values."""

    ABS = "abs"


class Oob(Modifier):
    """fma that treats an out-of-bounds operand, a special NaN, as zero."""

    OOB = "oob"


class TestOp(Modifier):
    """The class of numbers that testp tests for."""

    FINITE = "finite"
    INFINITE = "infinite"
    NUMBER = "number"
    NOTANUMBER = "notanumber"
    NORMAL = "normal"
    SUBNORMAL = "subnormal"


class Rounding(Modifier):
    """Rounding to an integral value (`i`) or to nearest, or the accuracy of an approximation."""

    RNI = "rni"
    RZI = "rzi"
    RMI = "rmi"
    RPI = "rpi"
    RN = "rn"
    RZ = "rz"
    RM = "rm"
    RP = "rp"
    RNA = "rna"
    RS = "rs"
    APPROX = "approx"
    FULL = "full"


class Vec(Modifier):
    """Elements of a vector load or store."""

    V2 = "v2"
    V4 = "v4"
    V8 = "v8"

    @property
    def count(self) -> int:
        """The elements as a number."""
        return int(self.value[1:])


class CacheOp(Modifier):
    """Cache operators of loads and stores."""

    CA = "ca"
    CG = "cg"
    CS = "cs"
    LU = "lu"
    CV = "cv"
    WB = "wb"
    WT = "wt"


class NonCoherent(Modifier):
    """A load through the non-coherent path."""

    NC = "nc"


class Uniform(Modifier):
    """A branch that does not diverge."""

    UNI = "uni"
