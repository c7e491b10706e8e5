"""Modifiers of atomic operations, caches, and launches.

Layer: intrinsics.  PTX ISA, atom; red; Cache Operators; createpolicy; clusterlaunchcontrol; membar.
"""

from __future__ import annotations

from intrinsics.modifiers.kinds import Modifier


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
