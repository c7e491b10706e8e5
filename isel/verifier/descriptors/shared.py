"""Rules about shared memory descriptors of tcgen05: their fields, and whether they fit the MMA.

Layer: isel.verifier.descriptors.  Input: the known bits of the descriptor; for a matrix of an MMA
also its instruction descriptor.  Output: breaches.  Usually all bits but the address are known.
PTX ISA, Shared memory descriptor (Tables 40 and 41); Strides; Canonical Layouts; Valid Combinations
of Type-Size, Major-ness and Swizzling (Table 52).
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.descriptors.smem_strides import Strides, Tile
from intrinsics.element import ElementType, Major
from intrinsics.findings import Severity
from intrinsics.known_bits import KnownBits
from intrinsics.layouts.umma_layout import STRIDE_FAILURE, check_umma_layout
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, MmaKind
from intrinsics.targets import Feature, Target
from isel.verifier.descriptors.breach import Breach
from isel.verifier.descriptors.instruction import InstructionDescriptor
from isel.verifier.rule import VerifierRule

_TABLE = "Shared memory descriptor (Table 40)"
_COMBINATIONS = "Valid Combinations of Type-Size, Major-ness and Swizzling (Table 52)"
_ABSOLUTE = "Restrictions on the Leading Dimension Absolute Address Stride"
_REVIEW = Severity.REVIEW

CONSTANT = VerifierRule(
    "{op}/smem-desc-constant",
    "bits 46..48 of a shared memory descriptor must be 0b001",
    _TABLE,
    expected="0b001",
)
RESERVED = VerifierRule(
    "{op}/smem-desc-reserved",
    "bits 53..60 of a shared memory descriptor must be 0",
    _TABLE,
    expected="0",
)
UNUSED = VerifierRule(
    "{op}/smem-desc-unused",
    "bits of a shared memory descriptor are set that are no field of it",
    _TABLE,
    _REVIEW,
    expected="bits 14-15 and 30-31 zero",
    hint="an address or offset that is not cut to 18 bits before it is shifted",
)
SWIZZLE = VerifierRule(
    "{op}/smem-desc-swizzle",
    "invalid swizzling mode",
    _TABLE,
    expected="0 (none), 1 (128 bytes, 32-byte atoms), 2 (128 bytes), 4 (64 bytes) or 6 (32 bytes)",
)
ALIGNMENT = VerifierRule(
    "{op}/smem-desc-alignment",
    "the matrix begins at an address that is no multiple of 16",
    _TABLE,
    expected="a multiple of 16 bytes: a descriptor does not hold the rest",
)
BASE_OFFSET = VerifierRule(
    "{op}/smem-desc-base-offset",
    "a base offset, and nothing is swizzled",
    _TABLE,
    _REVIEW,
    expected="base offset 0",
)
LBO_MODE_TARGET = VerifierRule(
    "{op}/smem-desc-lbo-mode-target",
    "an absolute address as leading dimension is only supported on sm_103a",
    "Shared memory descriptor, Target ISA Note",
    expected="sm_103a, or bit 52 zero",
)
LBO_MODE_SWIZZLE = VerifierRule(
    "{op}/smem-desc-lbo-mode-swizzle",
    "an absolute address as leading dimension needs 128-byte swizzling with 16-byte atoms",
    _ABSOLUTE,
    expected="swizzling mode 2, or bit 52 zero",
)
LBO_MODE_MAJOR = VerifierRule(
    "{op}/smem-desc-lbo-mode-major",
    "an absolute address as leading dimension is for K-major matrices",
    _ABSOLUTE,
    expected="K-major, or bit 52 zero",
)
LBO_MODE_BASE = VerifierRule(
    "{op}/smem-desc-lbo-mode-base",
    "an absolute address as leading dimension needs a base offset of 0",
    _ABSOLUTE,
    expected="base offset 0, or bit 52 zero",
)
TRANSPOSED_SWIZZLE = VerifierRule(
    "{op}/smem-desc-transposed-swizzle",
    "a transposed matrix of this kind cannot have this swizzling",
    _COMBINATIONS,
)
LAYOUT = VerifierRule(
    "{op}/smem-desc-layout", "the matrix does not lie as a canonical layout",
    "Canonical Layouts", _REVIEW,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A shared memory descriptor of an instruction, field by field; `name` is its operand."""

    bits: KnownBits
    name: str
    target: Target

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzling mode; None for one that is not known, or not valid."""
        code = self.bits.field(61, 3)
        return None if code in (None, 3, 5, 7) else Swizzle(code)

    @property
    def is_absolute(self) -> bool:
        """Whether the leading dimension is known to be an address."""
        return bool(self.bits.value >> 52 & 1)

    @property
    def strides(self) -> tuple[int | None, int | None]:
        """The leading and the stride dimension's offsets, in bytes."""
        lbo, sbo = self.bits.field(16, 14), self.bits.field(32, 14)
        return None if lbo is None else lbo << 4, None if sbo is None else sbo << 4

    def shown(self, what: str) -> str:
        """A field in words, with the operand, and the descriptor where all of it is known."""
        number = self.bits.number
        whole = "" if number is None else f" in {number:#x}"
        return f"{self.name}: {what}{whole}"


def judge(descriptor: Descriptor) -> Iterator[Breach]:
    """The breaches of a descriptor's fields by themselves."""
    yield from _fixed(descriptor)
    swizzle, base = descriptor.swizzle, descriptor.bits.field(49, 3)
    if base and swizzle is Swizzle.NONE:
        yield Breach(BASE_OFFSET, descriptor.shown(f"base offset {base}"))
    if not descriptor.is_absolute:
        return
    features = descriptor.target.features
    if Feature.HAS_TCGEN05_K96 not in features:
        may = Feature.MAY_HAVE_TCGEN05_K96 in features
        severity = Severity.REVIEW if may else Severity.ERROR
        got = descriptor.shown(f"bit 52 on {descriptor.target}")
        yield Breach(LBO_MODE_TARGET, got, severity=severity)
    if swizzle not in (None, Swizzle.B128):
        yield Breach(LBO_MODE_SWIZZLE, descriptor.shown(swizzle.words))
    if base:
        yield Breach(LBO_MODE_BASE, descriptor.shown(f"base offset {base}"))


def judge_address(descriptor: Descriptor, address: KnownBits) -> Iterator[Breach]:
    """The breach of an address that does not fit into the descriptor's field."""
    if rest := address.value & 15:
        behind = f"{rest} bytes" if address.field(0, 4) else "some bytes"
        yield Breach(ALIGNMENT, descriptor.shown(f"an address {behind} behind one"))


def _fixed(descriptor: Descriptor) -> Iterator[Breach]:
    bits = descriptor.bits
    constant, code = bits.field(46, 3), bits.field(61, 3)
    if bits.mask & 7 << 46 & (bits.value ^ 1 << 46):
        shown = "not 0b001" if constant is None else f"{constant:#05b}"
        hint = ""
        if constant == 0 and code in (2, 4, 6):
            hint = "this looks like a descriptor of wgmma, whose layout is another"
        yield Breach(CONSTANT, descriptor.shown(f"bits 46-48 {shown}"), hint=hint)
    if above := bits.value >> 53 & 0xFF:
        yield Breach(RESERVED, descriptor.shown(f"bits 53-60 {above:#x}"))
    if unused := bits.value & (3 << 14 | 3 << 30):
        places = ", ".join(str(i) for i in (14, 15, 30, 31) if unused >> i & 1)
        yield Breach(UNUSED, descriptor.shown(f"bit {places}"))
    if code in (3, 5, 7):
        yield Breach(SWIZZLE, descriptor.shown(f"swizzling mode {code}"))


# ---- a matrix of an MMA ----------------------------------------------------------------------


def judge_matrix(descriptor: Descriptor, word: InstructionDescriptor) -> Iterator[Breach]:
    """The breaches of the layout of A or B that its descriptor gives."""
    transposed = word.bits.field(15 if descriptor.name == "a" else 16, 1)
    swizzle = descriptor.swizzle
    if transposed is None or swizzle is None:
        return
    if transposed and descriptor.is_absolute:
        yield Breach(LBO_MODE_MAJOR, descriptor.shown("MN-major"))
    wide = word.use.kind is MmaKind.TF32
    if transposed and wide != (swizzle is Swizzle.B128_ATOM32):
        wanted = Swizzle.B128_ATOM32.words if wide else "one without 32-byte atoms"
        got = f"{swizzle.words} with {word.use.kind.value}, MN-major"
        yield Breach(TRANSPOSED_SWIZZLE, descriptor.shown(got), wanted)
        return
    if not transposed and swizzle is Swizzle.B128_ATOM32:
        hint = "Table 53 draws none with 32-byte atoms, and CUTLASS refuses it (make_umma_desc)"
        got = descriptor.shown(f"{swizzle.words}, K-major")
        yield Breach(LAYOUT, got, "16-byte atoms", hint=hint)
    elif not descriptor.is_absolute and swizzle is not Swizzle.B128_ATOM32:
        yield from _layout(descriptor, word, Major.MN if transposed else Major.K, swizzle)


def _layout(
    descriptor: Descriptor, word: InstructionDescriptor, major: Major, swizzle: Swizzle
) -> Iterator[Breach]:
    """Strides that let parts of the matrix overlap."""
    tile = _tile(descriptor.name, word, major)
    lbo, sbo = descriptor.strides
    if tile is None or lbo is None or sbo is None:
        return
    if major is Major.K and swizzle is not Swizzle.NONE and tile.grid(swizzle)[0] > 1:
        return  # rows longer than a span: undefined in the manual
    sparse = word.use.sparse and descriptor.name == "a"
    for problem in check_umma_layout(tile, swizzle, Strides(lbo, sbo), sparse=sparse):
        if problem.rule == STRIDE_FAILURE:
            got = descriptor.shown(problem.got)
            yield Breach(LAYOUT, got, problem.expected, text=problem.text, hint=problem.hint)


def _tile(name: str, word: InstructionDescriptor, major: Major) -> Tile | None:
    """The part of A or B in each CTA: half of the rows of A, and of B, for a pair."""
    size, type_ = (word.m, word.a) if name == "a" else (word.n, word.b)
    use = word.use
    if not size or type_ is None or (use.kind in FP4_KINDS and word.bits.field(31, 1) != 0):
        return None  # K = 96 has layouts of its own, with rows of 48 bytes
    k = DENSE_K[use.kind] * (2 if use.sparse else 1)
    return Tile(size // use.group, k, container_bits(use.kind, type_), major)


def container_bits(kind: MmaKind, type_: ElementType) -> int:
    """Bits of an element in shared memory: narrow ones are padded to 8, except for 4-bit kinds."""
    return type_.bits if kind in FP4_KINDS else max(type_.bits, 8)


RULES = (
    CONSTANT, RESERVED, UNUSED, SWIZZLE, ALIGNMENT, BASE_OFFSET, LBO_MODE_TARGET, LBO_MODE_SWIZZLE,
    LBO_MODE_MAJOR, LBO_MODE_BASE, TRANSPOSED_SWIZZLE, LAYOUT,
)  # fmt: skip
