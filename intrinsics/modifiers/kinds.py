"""The base of modifiers; types, state spaces, memory orderings, and scopes.

Layer: intrinsics.  PTX ISA, Types; State Spaces; Memory Consistency Model.
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
    E2M3X4 = "e2m3x4"
    E3M2X4 = "e3m2x4"
    E2M1X2 = "e2m1x2"
    E2M1X4 = "e2m1x4"
    E2M1P4X4 = "e2m1p4x4"
    UE8M0X2 = "ue8m0x2"
    UE8M0X4 = "ue8m0x4"

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
        """Whether the type packs several numbers in one register."""
        return "x" in self.value


def _width(name: str) -> int:
    if name.startswith("e2m1x"):
        return 4 * int(name[-1])
    if re.match(r"u?e\d", name):  # 6 bits are padded to 8, and 4 bits where the name says p4
        return 8 * int(name.partition("x")[2] or 1)
    match = re.fullmatch(r"[a-z]+(\d+)(?:x(\d))?", name)
    assert match is not None
    return int(match[1]) * int(match[2] or 1)


_BITS = {t: 1 if t is ScalarType.PRED else _width(t.value) for t in ScalarType}

_KIND = {
    t: {"u": "i", "s": "i", "t": "f", "e": "b"}.get(t.value[0], t.value[0]) for t in ScalarType
} | {
    **{t: "f" for t in ScalarType if re.fullmatch(r"u?e.*x4", t.value)},
    ScalarType.PRED: "p",
    ScalarType.BF16: "f",
    ScalarType.BF16X2: "f",
    ScalarType.UE8M0X2: "b",
    ScalarType.F16X2: "b",  # ptxas takes such a register wherever it takes .b32
}


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


SHARED_OF_CTA = (Space.SHARED, Space.SHARED_CTA)
"""Shared memory of a thread's own CTA."""

SHARED_SPACES = (*SHARED_OF_CTA, Space.SHARED_CLUSTER)
"""Shared memory, a thread's own CTA's or that of any CTA of its cluster."""

PARAM_SPACES = (Space.PARAM, Space.PARAM_ENTRY, Space.PARAM_FUNC)
"""Parameters: those of calls, of kernels and of device functions."""


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
