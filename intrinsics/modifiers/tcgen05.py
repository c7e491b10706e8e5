"""Modifiers of tensor memory and of its multiplies.

Layer: intrinsics.  PTX ISA, TensorCore 5th Generation Family Instructions.
"""

from __future__ import annotations

from intrinsics.modifiers.kinds import Modifier


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


SCALED_KINDS = (MmaKind.MXF8F6F4, MmaKind.MXF4, MmaKind.MXF4NVF4)
"""Kinds with block scaling."""

FP4_KINDS = (MmaKind.MXF4, MmaKind.MXF4NVF4)
"""Those of elements of 4 bits alone."""


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
