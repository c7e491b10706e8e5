"""The closed sets that a tensor map chooses from, under the driver's names.

Layer: nvgen.  CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, Tensors.
"""

from __future__ import annotations

from enum import Enum

from intrinsics.modifiers import AtomicOp


class Element(Enum):
    """Types of elements; the value is the driver's name.

    The last three are packed: sixteen values of 4 or 6 bits lie side by side in global memory; in
    shared memory those of `ALIGN16B` begin at multiples of 16 bytes.
    """

    U8 = "UINT8"
    U16 = "UINT16"
    U32 = "UINT32"
    S32 = "INT32"
    U64 = "UINT64"
    S64 = "INT64"
    F16 = "FLOAT16"
    F32 = "FLOAT32"
    F64 = "FLOAT64"
    BF16 = "BFLOAT16"
    F32_FTZ = "FLOAT32_FTZ"
    TF32 = "TFLOAT32"
    TF32_FTZ = "TFLOAT32_FTZ"
    U4_ALIGN8 = "16U4_ALIGN8B"
    U4_ALIGN16 = "16U4_ALIGN16B"
    U6_ALIGN16 = "16U6_ALIGN16B"

    @property
    def bits(self) -> int:
        """Bits of an element in global memory."""
        return _BITS[self]

    @property
    def is_packed(self) -> bool:
        """Whether it is narrower than a byte."""
        return self.bits < 8

    @property
    def is_padded(self) -> bool:
        """Whether gaps lie between its values in shared memory."""
        return self in (Element.U4_ALIGN16, Element.U6_ALIGN16)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return "FLOAT" in self.value


_BITS = {
    Element.U8: 8, Element.U16: 16, Element.U32: 32, Element.S32: 32, Element.U64: 64,
    Element.S64: 64, Element.F16: 16, Element.F32: 32, Element.F64: 64, Element.BF16: 16,
    Element.F32_FTZ: 32, Element.TF32: 32, Element.TF32_FTZ: 32, Element.U4_ALIGN8: 4,
    Element.U4_ALIGN16: 4, Element.U6_ALIGN16: 6,
}  # fmt: skip

_WORDS = frozenset({Element.U32, Element.S32, Element.U64})
_HALVES = frozenset({Element.F16, Element.BF16})
_ORDERED = _WORDS | _HALVES | {Element.S64}
_FLOATS = frozenset(element for element in Element if element.is_float)

REDUCTIONS: dict[AtomicOp, frozenset[Element]] = {
    AtomicOp.ADD: _WORDS | _FLOATS,
    AtomicOp.MIN: _ORDERED,
    AtomicOp.MAX: _ORDERED,
    AtomicOp.INC: frozenset({Element.U32}),
    AtomicOp.DEC: frozenset({Element.U32}),
    AtomicOp.AND: _WORDS,
    AtomicOp.OR: _WORDS,
    AtomicOp.XOR: _WORDS,
}
"""The types of elements that cp.reduce.async.bulk.tensor combines.

ptxas cannot know the type; with another one the instruction is illegal when it is executed.  An
H200 (driver 580.159.04) was asked about every operation and type but those of 4 and 6 bits, which
it does not have.
"""

_BY_NAME = {
    "uint16": Element.U16, "int16": Element.U16, "uint32": Element.U32, "int32": Element.S32,
    "uint64": Element.U64, "int64": Element.S64, "float16": Element.F16, "half": Element.F16,
    "bfloat16": Element.BF16, "float32": Element.F32, "float64": Element.F64,
}  # fmt: skip
_BY_SIZE = {1: Element.U8, 2: Element.U16, 4: Element.U32, 8: Element.U64}


def element_of(dtype: object, item_size: int) -> Element | None:
    """The element type of an array of `dtype`, numpy's or another library's; None if there is none.

    A type that tensor maps do not know is moved as an unsigned integer of its size.
    """
    name = str(dtype).rpartition(".")[2]
    found = _BY_NAME.get(name)
    if found is not None and found.bits == 8 * item_size:
        return found
    return _BY_SIZE.get(item_size)


class Interleave(Enum):
    """How channels are interleaved in global memory; the value is the driver's name."""

    NONE = "NONE"
    B16 = "16B"
    B32 = "32B"


class L2Promotion(Enum):
    """The bytes that L2 fetches at a time; the value is the driver's name."""

    NONE = "NONE"
    B64 = "L2_64B"
    B128 = "L2_128B"
    B256 = "L2_256B"


class Fill(Enum):
    """What stands for elements outside of the tensor; the value is the driver's name."""

    ZEROS = "NONE"
    NANS = "NAN_REQUEST_ZERO_FMA"


class Wide(Enum):
    """The wide im2col modes, which stay in one row of pixels; the value is the driver's name."""

    W = "W"
    W128 = "W128"
