"""Alignment of swizzled matrices to the swizzling pattern.

Layer: isel.verifier.descriptors.  Input: the known bits of the address in a descriptor, its
swizzling and its base offset.  Output: a breach.  The hardware swizzles by bits of the address
itself: a matrix whose layout begins with the pattern must begin at a multiple of the pattern's
length, or have its position in the pattern as base offset.  PTX ISA, Shared memory descriptor
(Table 40), Matrix Descriptor Format: base offset.
"""

from __future__ import annotations

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import Severity
from intrinsics.known_bits import KnownBits
from isel.verifier.descriptors.breach import Breach
from isel.verifier.rule import VerifierRule

PATTERN = VerifierRule(
    "{op}/smem-desc-pattern",
    "a swizzled matrix may begin in the midst of the swizzling pattern",
    "Shared memory descriptor, base offset",
    Severity.WARNING,
    hint="a larger alignment of the variable: ptxas places it as its alignment allows, so the "
    "kernel may be right in one module and wrong in the next",
)
RULES = (PATTERN,)

_ATOM_BITS = 7
"""Address bits within 128 bytes, by which steps along K move a start address."""


def judge_pattern(
    name: str, swizzle: Swizzle | None, base: int | None, address: KnownBits
) -> Breach | None:
    """The breach of operand `name` if its start is known to be aligned to 128 bytes only.

    An address of which less is known is not checked, nor one with a base offset.
    """
    if swizzle is None or swizzle.repeat <= 1 << _ATOM_BITS or base != 0:
        return None
    if address.field(0, _ATOM_BITS) is None:
        return None
    known = address.mask & (swizzle.repeat - 1)
    if known == swizzle.repeat - 1:
        return None
    aligned = (known + 1) & ~known
    return Breach(
        PATTERN,
        f"{name}: {swizzle.words} at an address known to be a multiple of {aligned} only",
        f"a multiple of {swizzle.repeat} bytes, or a base offset",
    )
