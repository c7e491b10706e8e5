"""The vocabulary of PTX modifiers: closed sets whose members carry their PTX spelling.

Layer: intrinsics.  A `Modifier`'s value is what follows the dot (`cta_group::1`).  A value that
begins with `::` is appended to the instruction's name (`tcgen05.wait` + `::ld`).  Past the readers,
no other part of nvgen handles a modifier as a string.

One class for each modifier of the manual: this is one table, whatever its length.
"""

from __future__ import annotations

import functools
import re
from enum import Enum


class Modifier(Enum):
    """Base of every closed set of modifiers."""

    # Members are single objects and equal to nothing else; Enum's own hash is slow Python code.
    __hash__ = object.__hash__

    @functools.cached_property
    def ptx(self) -> str:
        """The spelling in an instruction's name: `.cta_group::1`, or `::ld` without a dot."""
        text: str = self.value
        return text if text.startswith("::") else "." + text

    @property
    def opcode(self) -> str:
        """The spelling in an opcode: `CTA_GROUP1`, `32X32B`, `SHARED_CTA`."""
        text: str = self.value
        text = re.sub(r"::(?=\d)", "", text).strip(":")
        return re.sub(r"\W+", "_", text).upper()


# ---- types -----------------------------------------------------------------------------------


class ScalarType(Modifier):
    """PTX's fundamental and packed types; also the class of a virtual register.

    PTX ISA, Types.
    """

    PRED = "pred"
    B8 = "b8"
    B16 = "b16"
    B32 = "b32"
    B64 = "b64"
    B128 = "b128"
    U8 = "u8"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    S8 = "s8"
    S16 = "s16"
    S32 = "s32"
    S64 = "s64"
    F16 = "f16"
    BF16 = "bf16"
    TF32 = "tf32"
    F32 = "f32"
    F64 = "f64"
    F16X2 = "f16x2"
    BF16X2 = "bf16x2"
    F32X2 = "f32x2"
    U16X2 = "u16x2"
    S16X2 = "s16x2"
    U8X4 = "u8x4"
    S8X4 = "s8x4"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    E4M3X2 = "e4m3x2"
    E5M2X2 = "e5m2x2"
    E4M3X4 = "e4m3x4"
    E5M2X4 = "e5m2x4"
    E2M3X2 = "e2m3x2"
    E3M2X2 = "e3m2x2"
    E2M1X2 = "e2m1x2"
    UE8M0X2 = "ue8m0x2"

    @property
    def bits(self) -> int:
        """Width of a register that holds it."""
        return _BITS[self]

    @property
    def kind(self) -> str:
        """`b` for untyped bits, `i` for integers, `f` for floating point, `p` for predicates."""
        return _KIND[self]

    @property
    def is_signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.value.startswith("s")

    @property
    def is_packed(self) -> bool:
        """Whether it is several numbers in one register."""
        return "x" in self.value


def _width(name: str) -> int:
    if re.match(r"u?e\d", name):  # 6 bits are padded to 8
        return 8 if name == "e2m1x2" else 8 * int(name.partition("x")[2] or 1)
    match = re.fullmatch(r"[a-z]+(\d+)(?:x(\d))?", name)
    assert match is not None
    return int(match[1]) * int(match[2] or 1)


_BITS = {t: 1 if t is ScalarType.PRED else _width(t.value) for t in ScalarType}
_KIND = {
    t: {"u": "i", "s": "i", "t": "f", "e": "b"}.get(t.value[0], t.value[0]) for t in ScalarType
} | {
    ScalarType.PRED: "p",
    ScalarType.BF16: "f",
    ScalarType.BF16X2: "f",
    ScalarType.UE8M0X2: "b",
    ScalarType.F16X2: "b",  # ptxas takes such a register wherever it takes .b32
}


# ---- state spaces, ordering, scopes ----------------------------------------------------------


class Space(Modifier):
    """State spaces; `TENSOR` (tensor memory) has no spelling in PTX: its instructions imply it."""

    GLOBAL = "global"
    SHARED = "shared"
    SHARED_CTA = "shared::cta"
    SHARED_CLUSTER = "shared::cluster"
    CONST = "const"
    LOCAL = "local"
    PARAM = "param"
    PARAM_ENTRY = "param::entry"
    PARAM_FUNC = "param::func"
    TENSOR = "tensor memory"


SHARED_SPACES = (Space.SHARED, Space.SHARED_CTA, Space.SHARED_CLUSTER)
"""Shared memory, a thread's own CTA's or that of any CTA of its cluster."""


class Sem(Modifier):
    """Memory orderings.  PTX ISA, Memory Consistency Model."""

    WEAK = "weak"
    VOLATILE = "volatile"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"
    MMIO = "mmio"


class Scope(Modifier):
    """The threads that a memory ordering or an atomic operation applies to."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


# ---- tcgen05 ---------------------------------------------------------------------------------


class CtaGroup(Modifier):
    """The number of CTAs whose tensor memory an operation accesses."""

    ONE = "cta_group::1"
    TWO = "cta_group::2"


class MmaKind(Modifier):
    """The element-type family of a tcgen05.mma."""

    F16 = "kind::f16"
    TF32 = "kind::tf32"
    F8F6F4 = "kind::f8f6f4"
    I8 = "kind::i8"
    MXF8F6F4 = "kind::mxf8f6f4"
    MXF4 = "kind::mxf4"
    MXF4NVF4 = "kind::mxf4nvf4"
    TI16 = "kind::ti16"


class BlockScale(Modifier):
    """Whether A and B are scaled by blocks."""

    BLOCK_SCALE = "block_scale"

    @property
    def opcode(self) -> str:
        """The spelling in an opcode."""
        return "BLOCK_SCALED"


class ScaleVec(Modifier):
    """Scale factors per row and instruction (`scale_vec::NX`) or elements per factor (`blockN`)."""

    X1 = "scale_vec::1X"
    X2 = "scale_vec::2X"
    X4 = "scale_vec::4X"
    BLOCK16 = "block16"
    BLOCK32 = "block32"


class AShift(Modifier):
    """A's rows shifted down by one."""

    ASHIFT = "ashift"


class CollectorA(Modifier):
    """The use of the collector buffer of A."""

    FILL = "collector::a::fill"
    USE = "collector::a::use"
    LASTUSE = "collector::a::lastuse"
    DISCARD = "collector::a::discard"


class CollectorB(Modifier):
    """The use of the collector buffer of B, on sm_107."""

    FILL = "collector::b::fill"
    USE = "collector::b::use"
    LASTUSE = "collector::b::lastuse"
    DISCARD = "collector::b::discard"


class CollectorWs(Modifier):
    """The use of one of the four collector buffers of B in a tcgen05.mma.ws."""

    B0_FILL = "collector::b0::fill"
    B0_USE = "collector::b0::use"
    B0_LASTUSE = "collector::b0::lastuse"
    B0_DISCARD = "collector::b0::discard"
    B1_FILL = "collector::b1::fill"
    B1_USE = "collector::b1::use"
    B1_LASTUSE = "collector::b1::lastuse"
    B1_DISCARD = "collector::b1::discard"
    B2_FILL = "collector::b2::fill"
    B2_USE = "collector::b2::use"
    B2_LASTUSE = "collector::b2::lastuse"
    B2_DISCARD = "collector::b2::discard"
    B3_FILL = "collector::b3::fill"
    B3_USE = "collector::b3::use"
    B3_LASTUSE = "collector::b3::lastuse"
    B3_DISCARD = "collector::b3::discard"


class LdStShape(Modifier):
    """Lanes × bits that one tcgen05.ld or .st moves, before repetition."""

    S16X64B = "16x64b"
    S16X128B = "16x128b"
    S16X256B = "16x256b"
    S32X32B = "32x32b"
    S16X32BX2 = "16x32bx2"


class LdStNum(Modifier):
    """The repetition of the shape of a tcgen05.ld or .st along the columns."""

    X1 = "x1"
    X2 = "x2"
    X4 = "x4"
    X8 = "x8"
    X16 = "x16"
    X32 = "x32"
    X64 = "x64"
    X128 = "x128"

    @property
    def times(self) -> int:
        """The repetition as a number."""
        return int(self.value[1:])


class Pack(Modifier):
    """Two 16-bit columns packed into one register on load."""

    PACK_16B = "pack::16b"


class Unpack(Modifier):
    """One register unpacked into two 16-bit columns on store."""

    UNPACK_16B = "unpack::16b"


class Compress(Modifier):
    """The elements of a group that a compressing tcgen05.ld keeps: two of four."""

    TWO_OF_FOUR = "sp::2:4"


class CopyShape(Modifier):
    """Lanes × bits that one tcgen05.cp copies."""

    S128X256B = "128x256b"
    S4X256B = "4x256b"
    S128X128B = "128x128b"
    S64X128B = "64x128b"
    S32X128B = "32x128b"


class CopyMulticast(Modifier):
    """The warps whose lanes a tcgen05.cp of fewer than 128 lanes copies the same data to."""

    WARPX2_02_13 = "warpx2::02_13"
    WARPX2_01_23 = "warpx2::01_23"
    WARPX4 = "warpx4"

    @property
    def opcode(self) -> str:
        """The spelling in an opcode."""
        return self.name


class CopyFormat(Modifier):
    """The narrow elements that a tcgen05.cp unpacks to bytes: of 4 bits, or 6 bits with padding."""

    B8X16 = "b8x16"
    B6X16_P32 = "b6x16_p32"
    B4X16_P64 = "b4x16_p64"


class Decompress(Modifier):
    """B is compressed: decoded by a look-up table in tensor memory (sm_107)."""

    LUT_B = "decompress::lut::b"


class Exclusive(Modifier):
    """The exclusive form of tensor memory allocation."""

    EXCLUSIVE = "exclusive"


class WaitOp(Modifier):
    """The operations that a tcgen05.wait waits for."""

    LD = "::ld"
    ST = "::st"


class ThreadSync(Modifier):
    """The side of a thread synchronisation on which a tcgen05.fence is."""

    BEFORE = "::before_thread_sync"
    AFTER = "::after_thread_sync"


class Multicast(Modifier):
    """A signal or a copy sent to several CTAs of the cluster."""

    CLUSTER = "multicast::cluster"
    CLUSTER_16B = "multicast::cluster::16b"
    CLUSTER_32B = "multicast::cluster::32b"


class SyncRestrict(Modifier):
    """A commit that tracks the reads of A from shared memory alone (sm_107).

    `SHARED_CTA` belongs to fences; ptxas takes it here too.
    """

    READ_A = "sync_restrict::shared::read::mma::a"
    SHARED_CTA = "sync_restrict::shared::cta"


# ---- mbarrier, TMA, barriers -----------------------------------------------------------------


class NoComplete(Modifier):
    """An arrival that must not complete the phase."""

    NO_COMPLETE = "noComplete"


class MbarrierLayout(Modifier):
    """The layout of the counts in an mbarrier object."""

    V0 = "layout::v0"
    V1 = "layout::v1"


class PhaseType(Modifier):
    """The phase of an mbarrier that a wait tests."""

    PRIMARY = "phase_type::primary"
    CONDITIONAL = "phase_type::conditional"


class Dim(Modifier):
    """The rank of a tensor copy; a rule rejects the first and the last, which no copy has."""

    D0 = "0d"
    D1 = "1d"
    D2 = "2d"
    D3 = "3d"
    D4 = "4d"
    D5 = "5d"
    D6 = "6d"

    @property
    def rank(self) -> int:
        """The rank as a number."""
        return int(self.value[0])


class LoadMode(Modifier):
    """How a tensor copy reads global memory."""

    TILE = "tile"
    GATHER4 = "tile::gather4"
    IM2COL = "im2col"
    IM2COL_W = "im2col::w"
    IM2COL_W128 = "im2col::w::128"


class StoreMode(Modifier):
    """How a tensor copy writes global memory."""

    TILE = "tile"
    SCATTER4 = "tile::scatter4"
    IM2COL_NO_OFFS = "im2col_no_offs"


class MapField(Modifier):
    """A field of a tensor map that a kernel may replace."""

    GLOBAL_ADDRESS = "global_address"
    RANK = "rank"
    BOX_DIM = "box_dim"
    GLOBAL_DIM = "global_dim"
    GLOBAL_STRIDE = "global_stride"
    ELEMENT_STRIDE = "element_stride"
    ELEMTYPE = "elemtype"
    INTERLEAVE_LAYOUT = "interleave_layout"
    SWIZZLE_MODE = "swizzle_mode"
    FILL_MODE = "fill_mode"
    SWIZZLE_ATOMICITY = "swizzle_atomicity"


class CacheHint(Modifier):
    """The instruction takes a cache policy."""

    L2 = "L2::cache_hint"


class ByteMask(Modifier):
    """A bulk copy writes some of the bytes of each 16, as a mask says."""

    CP_MASK = "cp_mask"


class ReadOnly(Modifier):
    """A wait for the reads of bulk copies alone."""

    READ = "read"


class NoIncrement(Modifier):
    """An arrival of copies that the mbarrier's expected count includes."""

    NO_INCREMENT = "noinc"


class Aligned(Modifier):
    """All threads of the warp execute the same instruction."""

    ALIGNED = "aligned"


class CtaName(Modifier):
    """The optional `.cta` in the name of a CTA barrier."""

    CTA = "cta"


class ReduceOp(Modifier):
    """The reduction of a barrier."""

    POPC = "popc"
    AND = "and"
    OR = "or"


# ---- warp-level instructions -----------------------------------------------------------------


class Shuffle(Modifier):
    """The source lane of a shuffle: relative up or down, by exclusive or, or an index."""

    UP = "up"
    DOWN = "down"
    BFLY = "bfly"
    IDX = "idx"


class Vote(Modifier):
    """The result of a vote: ALL, ANY, UNI (equal in all), or BALLOT, a bit for each lane."""

    ALL = "all"
    ANY = "any"
    UNI = "uni"
    BALLOT = "ballot"


class WarpReduce(Modifier):
    """The reduction of a redux.sync."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"


class Magnitude(Modifier):
    """The reduction is of absolute values."""

    ABS = "abs"


class NanResult(Modifier):
    """A NaN among the inputs is the result."""

    NAN = "NaN"


class GridControl(Modifier):
    """Wait for the preceding grids, or let dependent grids launch."""

    LAUNCH_DEPENDENTS = "launch_dependents"
    WAIT = "wait"


class Match(Modifier):
    """Find the threads with the same value, or test whether all have the same."""

    ANY = "any"
    ALL = "all"


# ---- scalar instructions ---------------------------------------------------------------------


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


# ---- atomics ---------------------------------------------------------------------------------


class AtomicOp(Modifier):
    """The operation of atom and red; compare-and-swap is a row of its own."""

    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCH = "exch"
    ADD = "add"
    INC = "inc"
    DEC = "dec"
    MIN = "min"
    MAX = "max"


class AccPrecision(Modifier):
    """The precision of the accumulation of a multimem reduction."""

    F32 = "acc::f32"
    F16 = "acc::f16"


class NoFtz(Modifier):
    """Subnormals are kept."""

    NOFTZ = "noftz"


class L1Eviction(Modifier):
    """How long L1 keeps a line."""

    NORMAL = "L1::evict_normal"
    UNCHANGED = "L1::evict_unchanged"
    FIRST = "L1::evict_first"
    LAST = "L1::evict_last"
    NO_ALLOCATE = "L1::no_allocate"


class L2Eviction(Modifier):
    """How long L2 keeps a line."""

    NORMAL = "L2::evict_normal"
    FIRST = "L2::evict_first"
    LAST = "L2::evict_last"


class CachePriority(Modifier):
    """The eviction priority of a cache policy."""

    LAST = "L2::evict_last"
    NORMAL = "L2::evict_normal"
    FIRST = "L2::evict_first"
    UNCHANGED = "L2::evict_unchanged"


class PrefetchSize(Modifier):
    """How many bytes L2 prefetches."""

    B64 = "L2::64B"
    B128 = "L2::128B"
    B256 = "L2::256B"


class LineLevel(Modifier):
    """The cache in which a line is discarded, or gets another priority."""

    L2 = "L2"
    L2_NORMAL = "L2::evict_normal"


class LaunchMulticast(Modifier):
    """The response goes to every CTA of the cluster."""

    ALL = "multicast::cluster::all"


class ClusterDimension(Modifier):
    """The coordinate of a CTA that is queried."""

    X = "::x"
    Y = "::y"
    Z = "::z"


class CacheLevel(Modifier):
    """The cache that a prefetch fills."""

    L1 = "L1"
    L2 = "L2"
    L2_NORMAL = "L2::evict_normal"
    L2_LAST = "L2::evict_last"


class MembarLevel(Modifier):
    """The scope of a membar."""

    CTA = "cta"
    GL = "gl"
    SYS = "sys"
