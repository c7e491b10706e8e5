"""Element types of matrices as multiplies in registers spell them (wgmma, mma).

Layer: intrinsics.  PTX ISA, Matrix Data-types.
"""

from __future__ import annotations

from intrinsics.element import ElementType
from intrinsics.modifiers import Modifier, ScalarType
from intrinsics.modifiers.wgmma import MatrixType

_E, _T = ElementType, ScalarType

MODIFIERS: dict[ElementType, ScalarType | MatrixType] = {
    _E.F16: _T.F16,
    _E.BF16: _T.BF16,
    _E.TF32: _T.TF32,
    _E.E4M3: MatrixType.E4M3,
    _E.E5M2: MatrixType.E5M2,
    _E.S8: _T.S8,
    _E.U8: _T.U8,
}
"""The modifier of each element type that they multiply."""

ELEMENTS: dict[Modifier, ElementType] = {name: element for element, name in MODIFIERS.items()}
"""And the element type of each modifier."""
