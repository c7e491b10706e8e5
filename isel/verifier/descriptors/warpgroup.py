"""Rules about shared memory descriptors of wgmma: their fields, and whether the matrix fits them.

Layer: isel.verifier.descriptors.  Input: the known bits of the descriptor, and the instruction's
shape and types.  Output: breaches.  The fields are those of `wgmma_desc`, which differ from
tcgen05's.  PTX ISA, Asynchronous Warpgroup Level Matrix Shared Memory Layout: Matrix Descriptor
Format, Strides.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.descriptors.smem_strides import Strides, Tile
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.element import Major
from intrinsics.findings import Severity
from intrinsics.known_bits import KnownBits
from intrinsics.layouts.umma_layout import STRIDE_FAILURE, check_umma_layout
from intrinsics.mir import Imm, MachineInstr
from intrinsics.modifiers.wgmma import WgmmaShape
from isel.verifier.descriptors.breach import Breach
from isel.verifier.rule import VerifierRule

_FORMAT = "Matrix Descriptor Format"
_ROWS = 64
"""Rows of A."""

_ROW_BITS, _SPARSE_BITS = 256, 512
"""Bits of a row along K that a multiply reads, zeros of a sparse A included."""

RESERVED = VerifierRule(
    "{op}/wgmma-desc-reserved",
    "bits of a matrix descriptor are set that are no field of it",
    _FORMAT,
    expected="bits 14-15, 30-31, 46-48 and 52-61 zero",
)
UNUSED = VerifierRule(
    "{op}/wgmma-desc-unused",
    "bits of a matrix descriptor are set between its fields",
    _FORMAT,
    Severity.REVIEW,
    expected="bits 14-15 and 30-31 zero",
    hint="an address or offset that is not cut to 18 bits before it is shifted",
)
ALIGNMENT = VerifierRule(
    "{op}/wgmma-desc-alignment",
    "the matrix begins at an address that is no multiple of 16",
    _FORMAT,
    expected="a multiple of 16 bytes: a descriptor does not hold the rest",
)
BASE_OFFSET = VerifierRule(
    "{op}/wgmma-desc-base-offset",
    "a base offset, and nothing is swizzled",
    _FORMAT,
    Severity.REVIEW,
    expected="base offset 0",
)
LAYOUT = VerifierRule(
    "{op}/wgmma-desc-layout",
    "parts of the matrix overlap",
    "Strides",
    Severity.REVIEW,
)
RULES = (RESERVED, UNUSED, ALIGNMENT, BASE_OFFSET, LAYOUT)


def judge(mi: MachineInstr, name: str, bits: KnownBits) -> Iterator[Breach]:
    """The breaches of the descriptor of A or B of a multiply."""
    yield from _zeros(name, bits)
    swizzle, base = swizzle_of(bits), bits.field(49, 3)
    if swizzle is Swizzle.NONE and base:
        yield Breach(BASE_OFFSET, _shown(name, bits, f"base offset {base}"))
    transposed = mi.get(f"trans_{name}")
    if swizzle is not None and not (isinstance(transposed, Imm) and transposed.value):
        yield from _layout(mi, name, bits, swizzle)


def swizzle_of(bits: KnownBits) -> Swizzle | None:
    """The swizzling mode; None where it is not known."""
    code = bits.field(62, 2)
    return None if code is None else WgmmaDescriptor.decode(code << 62).swizzle


def judge_address(name: str, bits: KnownBits, address: KnownBits) -> Iterator[Breach]:
    """The breach of an address that does not fit into the descriptor's field."""
    if rest := address.value & 15:
        behind = f"{rest} bytes" if address.field(0, 4) else "some bytes"
        yield Breach(ALIGNMENT, _shown(name, bits, f"an address {behind} behind one"))


def _shown(name: str, bits: KnownBits, what: str) -> str:
    """A field in words, with the operand, and the descriptor where all of it is known."""
    whole = "" if bits.number is None else f" in {bits.number:#x}"
    return f"{name}: {what}{whole}"


def _zeros(name: str, bits: KnownBits) -> Iterator[Breach]:
    if unused := bits.value & (3 << 14 | 3 << 30):
        places = ", ".join(str(i) for i in (14, 15, 30, 31) if unused >> i & 1)
        yield Breach(UNUSED, _shown(name, bits, f"bit {places}"))
    if not bits.value & (7 << 46 | 0x3FF << 52):
        return
    set_ = [str(i) for i in (46, 47, 48, *range(52, 62)) if bits.value >> i & 1]
    hint = ""
    if bits.field(46, 3) == 1:
        hint = "this looks like a descriptor of tcgen05.mma, whose layout is another"
    yield Breach(RESERVED, _shown(name, bits, f"bit {', '.join(set_)}"), hint=hint)


def _layout(mi: MachineInstr, name: str, bits: KnownBits, swizzle: Swizzle) -> Iterator[Breach]:
    """Strides that let parts of a K-major matrix overlap."""
    shape, lbo, sbo = mi.form.attributes.get("shape"), bits.field(16, 14), bits.field(32, 14)
    if not isinstance(shape, WgmmaShape) or lbo is None or sbo is None:
        return
    sparse = mi.row.head.endswith(".sp")
    width = (_SPARSE_BITS if sparse else _ROW_BITS) // shape.k
    tile = Tile(_ROWS if name == "a" else shape.n, shape.k, width, Major.K)
    halved = sparse and name == "a"
    if swizzle is not Swizzle.NONE and tile.grid(swizzle)[0] > 1 and not halved:
        return  # rows longer than a span: undefined in the manual
    strides = Strides(lbo << 4, sbo << 4)
    for problem in check_umma_layout(tile, swizzle, strides, sparse=halved):
        if problem.rule == STRIDE_FAILURE:
            got = _shown(name, bits, problem.got)
            yield Breach(LAYOUT, got, problem.expected, hint=problem.hint)
