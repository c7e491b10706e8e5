"""The class of operand B of a warpgroup's multiply: what kind of elements its descriptor is for.

Layer: intrinsics.  Input: the type of B's elements as PTX spells it, and whether A is sparse.  The
classes are ordered from the smallest selector to the largest; a sparse multiply takes the largest
for every type, because its K is doubled.  PTX ISA, Asynchronous Warpgroup Level Matrix
Instructions, Matrix Data-types.
"""

from __future__ import annotations

from enum import Enum

from intrinsics.findings import input_error
from intrinsics.modifiers import Modifier

_TYPES = {
    "bit": ("b1",),
    "byte": ("s4", "u4", "s8", "u8"),
    "float": ("f16", "bf16", "tf32", "e4m3", "e5m2"),
}


class OperandBClass(Enum):
    """Classes of operand B: single bits, integers of a byte or less, floats; all of them sparse."""

    BIT = "bit"
    BYTE = "byte"
    FLOAT = "float"
    EXTENDED = "extended"

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its elements, as PTX spells them, where A is dense."""
        return _TYPES.get(self.value, ())


def operand_b_class(type: Modifier | str, *, sparse: bool = False) -> OperandBClass:
    """The class of B for its elements' type: `ScalarType.S8`, `MatrixType.E4M3` or `"s8"`.

    Integers of 4 bits count as bytes, which they come in; wgmma itself multiplies none of them.

    Raises: InputError for a type that no such multiply has.
    """
    name = type if isinstance(type, str) else str(type.value)
    dense = next((c for c in OperandBClass if name in c.types), None)
    if dense is None:
        raise input_error(
            "wgmma/operand-b",
            f"no type of operand B: {name}",
            got=name,
            expected=", ".join(t for c in OperandBClass for t in c.types),
        )
    return OperandBClass.EXTENDED if sparse else dense
