"""Names of multiplies in LLVM's scheme for which LLVM has no intrinsic.

Layer: isel.select.  Input: a name after `llvm.nvvm.`, such as
`tcgen05.mma.tensor.mxf8f6f4.block_scale.ashift`.  Output: the row and the attributes that its words
state, by which the row's rules say why there is no such form.  LLVM, User Guide for NVPTX Back-end.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics import catalog
from intrinsics.modifiers import AShift, BlockScale, CtaGroup, Decompress, MmaKind, ScaleVec
from intrinsics.row import Attribute, Residency, Row

_HEAD = "tcgen05.mma"

_WORDS: Mapping[str, Mapping[str, Attribute]] = {
    "shared": {"a": Residency.SHARED},
    "tensor": {"a": Residency.TENSOR},
    "block_scale": {"block_scale": BlockScale.BLOCK_SCALE, "sfa": True, "sfb": True},
    "scale_vec_1x": {"scale_vec": ScaleVec.X1},
    "scale_vec_2x": {"scale_vec": ScaleVec.X2},
    "scale_vec_4x": {"scale_vec": ScaleVec.X4},
    "block16": {"scale_vec": ScaleVec.BLOCK16},
    "block32": {"scale_vec": ScaleVec.BLOCK32},
    "ashift": {"ashift": AShift.ASHIFT},
    "scale_d": {"scale_d": True},
    "zero_col_mask": {"zero_mask": True},
    "disable_output_lane": {"mask": True},
    "decompress_lut_b": {"decompress": Decompress.LUT_B, "lut": True},
    "collector_b": {},
    "cg1": {"cta_group": CtaGroup.ONE},
    "cg2": {"cta_group": CtaGroup.TWO},
    "cta_group__1": {"cta_group": CtaGroup.ONE},
    "cta_group__2": {"cta_group": CtaGroup.TWO},
    **{kind.name.lower(): {"kind": kind} for kind in MmaKind},
}


def multiply_of(name: str) -> tuple[Row, dict[str, Attribute]] | None:
    """The row of a multiply and what the name states; None for what is no name of the scheme.

    Numbers among the arguments say the rest, which is not among the attributes.
    """
    if not name.startswith(_HEAD + "."):
        return None
    words = name.removeprefix(_HEAD + ".").split(".")
    head = _HEAD
    for word in ("ws", "sp"):
        if words and words[0] == word:
            head += "." + words.pop(0)
    row = catalog.row(head)
    attributes: dict[str, Attribute] = {"ashift": None, "block_scale": None, "scale_vec": None}
    attributes |= dict.fromkeys(row.optional, False)
    for word in words:
        if word not in _WORDS:
            return None
        attributes.update(_WORDS[word])
    return row, {
        key: attribute for key, attribute in attributes.items() if key in row.attribute_names
    }
