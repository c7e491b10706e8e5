"""Modifiers of mbarriers, asynchronous copies, and barriers.

Layer: intrinsics.  PTX ISA, mbarrier; Asynchronous copy; Tensors; barrier.
"""

from __future__ import annotations

from intrinsics.modifiers.kinds import Modifier


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
