"""tcgen05 data movement within the tensor core: cp from shared memory, shift of rows.

PTX ISA, Tensor Memory Data Movement Instructions.  Both are asynchronous; a tcgen05.commit says
when they are complete.
"""

from __future__ import annotations

from intrinsics.modifiers import CopyFormat, CopyMulticast, CopyShape, CtaGroup, ScalarType
from intrinsics.row import (
    Attributes,
    Completion,
    Effect,
    Effects,
    Llvm,
    Row,
    absent_or,
    tensor_address,
    value,
    when,
)
from intrinsics.rows.tcgen05 import ARCH_CONDITIONAL, CG, TCGEN05, conditional
from intrinsics.targets import since

_WHOLE = (CopyShape.S128X256B, CopyShape.S4X256B, CopyShape.S128X128B)
_NARROW = (CopyFormat.B6X16_P32, CopyFormat.B4X16_P64)
_ASYNC = Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.ASYNC_PROXY

_PLACES: dict[str, Attributes] = {
    "128x256b": {"shape": CopyShape.S128X256B},
    "4x256b": {"shape": CopyShape.S4X256B},
    "128x128b": {"shape": CopyShape.S128X128B},
    "64x128b_warpx2_02_13": {
        "shape": CopyShape.S64X128B,
        "multicast": CopyMulticast.WARPX2_02_13,
    },
    "64x128b_warpx2_01_23": {
        "shape": CopyShape.S64X128B,
        "multicast": CopyMulticast.WARPX2_01_23,
    },
    "32x128b_warpx4": {"shape": CopyShape.S32X128B, "multicast": CopyMulticast.WARPX4},
}
"""How LLVM's names spell the shape and the multicast of a copy."""

_FORMATS: dict[str, Attributes] = {
    f".{source.value}": {"dst_fmt": CopyFormat.B8X16, "src_fmt": source} for source in _NARROW
}
"""How LLVM's names spell a decompression; the format of what is written is always the same."""

# fmt: off
CP = Row(
    "tcgen05.cp", ".cta_group.shape{.multicast}{.dst_fmt}{.src_fmt}", "[taddr], s_desc",
    qualifiers={"cta_group": CtaGroup, "shape": CopyShape, "multicast": CopyMulticast,
                "dst_fmt": (CopyFormat.B8X16,), "src_fmt": _NARROW},
    operands=(tensor_address("taddr"), value("s_desc", ScalarType.U64)),
    section="tcgen05.cp",
    needs=TCGEN05, needs_text=conditional("tcgen05.cp"),
    rules=(
        when(shape=CopyShape.S64X128B).must(
            "multicast-64x128b",
            "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op",
            multicast=(CopyMulticast.WARPX2_01_23, CopyMulticast.WARPX2_02_13)),
        when(shape=CopyShape.S32X128B).must(
            "multicast-32x128b", "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op",
            multicast=CopyMulticast.WARPX4),
        when(shape=_WHOLE).must(
            "multicast-whole", "only shapes 64x128b and 32x128b are multicast to warps",
            multicast=None),
        when(dst_fmt=CopyFormat.B8X16).must(
            "formats", "the formats of a decompression come together", src_fmt=_NARROW),
        when(dst_fmt=None).must(
            "formats", "the formats of a decompression come together", src_fmt=absent_or()),
    ),
    effects=Effects(_ASYNC, completion=Completion.COMMIT),
    llvm=(
        Llvm("tcgen05.cp.{place}{format}.{cta_group}", "p6:taddr, i64:s_desc",
             holes={**CG, "place": _PLACES, "format": {"": {}, **_FORMATS}}),
    ),
)

SHIFT = Row(
    "tcgen05.shift", ".cta_group.down", "[taddr]",
    qualifiers={"cta_group": CtaGroup},
    operands=(tensor_address("taddr"),),
    section="tcgen05.shift",
    needs=since("8.6", ARCH_CONDITIONAL),
    needs_text="tcgen05.shift supported only on arch-conditional variants from SM100 onwards.",
    effects=Effects(_ASYNC, completion=Completion.COMMIT),
    llvm=(Llvm("tcgen05.shift.down.{cta_group}", "p6:taddr", holes=CG),),
)
# fmt: on

ROWS = (CP, SHIFT)
