"""Rules about the instruction descriptor: it describes the MMA that it is given to.

Layer: isel.verifier.descriptors.  Input: the known bits of the word, and the instruction's
qualifiers.  Output: breaches.  A field with an unknown bit is not checked.  PTX ISA, Matrix Shape
(Table 39); Instruction descriptor (Tables 42 to 44); Transpose and Negate operations (Tables 49 and
50); Block Scaling (Tables 54 and 55); Sparsity selector.

One descriptor, field by field: this is one table of rules, whatever its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from intrinsics.descriptors.idesc import (
    INPUT_CODES,
    OUTPUT_CODES,
    SCALE_CODES,
    format_of,
    m_values,
    n_values,
    reserved_bits,
    series,
)
from intrinsics.element import ElementType
from intrinsics.findings import Severity
from intrinsics.known_bits import KnownBits
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, SCALED_KINDS, MmaKind, ScaleVec
from intrinsics.targets import Feature, Target
from isel.verifier.descriptors.breach import Breach
from isel.verifier.rule import VerifierRule

E = ElementType
_TABLES = "Instruction descriptor (Tables 42 to 44)"
_SHAPES = "Matrix Shape (Table 39)"
_TRANSPOSE = "Transpose and Negate operations (Table 49)"
_SCALING = "Block Scaling (Tables 54 and 55)"
_REVIEW = Severity.REVIEW

RESERVED = VerifierRule(
    "{op}/idesc-reserved",
    "reserved bits of the instruction descriptor are set",
    _TABLES,
    expected="0",
    hint="the control word of the record is another word; `nvgen explain idesc` reads this one",
)
SPARSITY = VerifierRule(
    "{op}/idesc-sparsity",
    "the instruction descriptor and the instruction do not agree about sparsity",
    _TABLES,
)
INPUT_TYPE = VerifierRule(
    "{op}/idesc-input-type",
    "the type of an input is none that this kind multiplies",
    _TABLES,
    hint="the types stand in the descriptor: another kind reads other types from the same bits",
)
OUTPUT_TYPE = VerifierRule(
    "{op}/idesc-output-type", "the type of D is none that this kind gives", _TABLES
)
TYPES = VerifierRule(
    "{op}/idesc-types", "D of f16 takes f16 inputs only", _SHAPES, expected="D f32, or A and B f16"
)
M = VerifierRule("{op}/idesc-m", "M does not exist for this kind", _SHAPES)
N = VerifierRule("{op}/idesc-n", "N does not exist for this kind", _SHAPES)
N_TRANSPOSED = VerifierRule(
    "{op}/idesc-n-transpose",
    "N does not exist for an 8-bit B that is transposed",
    "Transpose and Negate operations (Table 50)",
)
K96 = VerifierRule(
    "{op}/idesc-k96",
    "K = 96 exists for a dense CTA pair with M = 256 only",
    _SHAPES,
    expected="M=256, cta_group::2, dense",
)
K96_TARGET = VerifierRule(
    "{op}/idesc-k96-target",
    "K = 96 is only supported on sm_103a",
    "Matrix Shape, Target ISA Note",
    expected="sm_103a",
)
K96_SCALES = VerifierRule(
    "{op}/idesc-k96-scales",
    "K = 96 takes as many scale factors as .block32 and .block16 say",
    _SCALING,
    _REVIEW,
    expected=".block32 or .block16",
)
TRANSPOSE = VerifierRule(
    "{op}/idesc-transpose", "this kind has no transposed matrices", _TRANSPOSE, expected="K-major"
)
TRANSPOSE_NARROW = VerifierRule(
    "{op}/idesc-transpose-narrow",
    "the manual lists transposed matrices of 8, 16 and 32 bits only",
    "Valid Combinations of Type-Size, Major-ness and Swizzling (Table 52)",
    _REVIEW,
    expected="K-major",
)
TRANSPOSE_TENSOR = VerifierRule(
    "{op}/idesc-transpose-tensor",
    "A in tensor memory lies in rows, and is marked transposed",
    "Matrix Layout Organization (Table 51)",
    expected="K-major",
    hint="CUTLASS has no such multiply either (mma_sm100_umma.hpp, A from TMEM)",
)
NEGATE = VerifierRule(
    "{op}/idesc-negate", "kind::i8 has no negate", _TRANSPOSE, expected="no negate"
)
SATURATE = VerifierRule(
    "{op}/idesc-saturate", "only kind::i8 saturates", _TABLES, expected="bit 3 zero"
)
MAX_SHIFT = VerifierRule(
    "{op}/idesc-max-shift",
    "a maximum shift is for the reuse of B in .ws",
    _TABLES,
    _REVIEW,
    expected="bits 30-31 zero",
)
ASHIFT = VerifierRule(
    "{op}/idesc-ashift", "ashift is only allowed with M = 128 or M = 256", expected="M=128 or M=256"
)
SELECTOR = VerifierRule(
    "{op}/idesc-selector",
    "the sparsity selector must be 0 for this kind",
    "Sparsity selector",
    expected="selector 0",
)
SELECTOR_DENSE = VerifierRule(
    "{op}/idesc-selector-dense",
    "a dense MMA has a sparsity selector",
    _TABLES,
    _REVIEW,
    expected="selector 0",
)
SCALE_TYPE = VerifierRule(
    "{op}/idesc-scale-type",
    "the type of the scale factors is none for this kind and vector size",
    _SCALING,
)
SCALE_ID = VerifierRule(
    "{op}/idesc-scale-id", "the id of the scale factors does not exist for this vector size",
    "Scale Factor A ID; Scale Factor B ID",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MmaQualifiers:
    """The qualifiers of an MMA beside its instruction descriptor.

    `group` is the number of its CTAs.
    """

    kind: MmaKind
    group: int
    target: Target
    ws: bool = False
    sparse: bool = False
    ashift: bool = False
    a_in_tensor: bool = False
    scale_vec: ScaleVec | None = None

    @property
    def scaled(self) -> bool:
        """Whether it is the descriptor of a block-scaled kind."""
        return self.kind in SCALED_KINDS


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """An instruction descriptor, field by field; None for a field that is not known."""

    bits: KnownBits
    use: MmaQualifiers

    @property
    def m(self) -> int | None:
        """M, in rows of D."""
        first, width, shift = (27, 2, 7) if self.use.scaled else (24, 5, 4)
        found = self.bits.field(first, width)
        return None if found is None else found << shift

    @property
    def n(self) -> int | None:
        """N, in columns of D."""
        found = self.bits.field(17, 6)
        return None if found is None else found << 3

    @property
    def a(self) -> ElementType | None:
        """The type of A."""
        return self.type_in(INPUT_CODES, 7, 3)

    @property
    def b(self) -> ElementType | None:
        """The type of B."""
        return self.type_in(INPUT_CODES, 10, 2 if self.use.kind in FP4_KINDS else 3)

    def type_in(
        self, codes: dict[MmaKind, dict[int, ElementType]], first: int, width: int
    ) -> ElementType | None:
        """The element type in a field; None for an unknown field or an invalid code."""
        found = self.bits.field(first, width)
        return None if found is None else codes[self.use.kind].get(found)

    def is_set(self, bit: int) -> bool:
        """Whether a bit is known to be 1."""
        return bool(self.bits.value >> bit & 1)

    @property
    def k96(self) -> bool:
        """Whether it asks for K = 96."""
        return self.use.kind in FP4_KINDS and self.is_set(31)

    def shown(self, what: str) -> str:
        """A field in words, with the descriptor where all of it is known."""
        whole = self.bits.field(0, 32)
        return what if whole is None else f"{what} in {whole:#x}"


def judge(bits: KnownBits, use: MmaQualifiers) -> Iterator[Breach]:
    """The breaches of an MMA's instruction descriptor."""
    word = InstructionDescriptor(bits, use)
    for check in _CHECKS:
        yield from check(word)


# ---- bits ------------------------------------------------------------------------------------


def _reserved(word: InstructionDescriptor) -> Iterator[Breach]:
    if found := reserved_bits(word.bits.value, word.use.kind):
        places = [str(i) for i in range(32) if found >> i & 1]
        yield Breach(RESERVED, word.shown(f"bit{'s' * (len(places) > 1)} {', '.join(places)}"))


def _sparsity(word: InstructionDescriptor) -> Iterator[Breach]:
    said = word.bits.field(2, 1)
    if said is None or bool(said) is word.use.sparse:
        return
    got = "bit 2 says sparse, the instruction is dense" if said else "bit 2 says dense, with .sp"
    yield Breach(SPARSITY, word.shown(got), f"bit 2 {'set' if word.use.sparse else 'zero'}")


def _flags(word: InstructionDescriptor) -> Iterator[Breach]:
    use = word.use
    if use.kind is MmaKind.I8:
        for name, bit in (("A", 13), ("B", 14)):
            if word.is_set(bit):
                yield Breach(NEGATE, word.shown(f"negate {name}"))
    elif not use.scaled and word.is_set(3):
        yield Breach(SATURATE, word.shown(f"saturate with {use.kind.value}"))
    if not use.scaled and not use.ws and (shift := word.bits.field(30, 2)):
        yield Breach(MAX_SHIFT, word.shown(f"maximum shift {(0, 8, 16, 32)[shift]}"))


def _selector(word: InstructionDescriptor) -> Iterator[Breach]:
    use, selector = word.use, word.bits.field(0, 2)
    if use.scaled or not selector:
        return
    if not use.sparse:
        yield Breach(SELECTOR_DENSE, word.shown(f"selector {selector}"))
    elif use.kind in (MmaKind.I8, MmaKind.F8F6F4):
        yield Breach(SELECTOR, word.shown(f"selector {selector} with {use.kind.value}"))


# ---- types -----------------------------------------------------------------------------------


def _types(word: InstructionDescriptor) -> Iterator[Breach]:
    kind = word.use.kind
    for name, first, width in (("A", 7, 3), ("B", 10, 2 if kind in FP4_KINDS else 3)):
        yield from _type(word, INPUT_TYPE, name, INPUT_CODES[kind], first, width)
    if not word.use.scaled:
        yield from _type(word, OUTPUT_TYPE, "D", OUTPUT_CODES[kind], 4, 2)
        half = word.type_in(OUTPUT_CODES, 4, 2) is E.F16
        for name, type_ in (("A", word.a), ("B", word.b)):
            if half and type_ is E.BF16:
                yield Breach(TYPES, word.shown(f"D f16, {name} bf16"))


def _type(
    word: InstructionDescriptor, rule: VerifierRule, name: str, codes: dict[int, ElementType],
    first: int, width: int,
) -> Iterator[Breach]:  # fmt: skip
    code = word.bits.field(first, width)
    if code is None or code in codes:
        return
    known = " or ".join(f"{number} ({type_.value})" for number, type_ in codes.items())
    tables = OUTPUT_CODES if rule is OUTPUT_TYPE else INPUT_CODES
    elsewhere = [
        f"{table[code].value} in {kind.value}"
        for kind, table in tables.items()
        if code in table and format_of(kind) is format_of(word.use.kind)
    ]
    hint = f"type {code} is {' and '.join(elsewhere)}" if elsewhere else ""
    got = word.shown(f"{name} type {code} with {word.use.kind.value}")
    yield Breach(rule, got, known, hint=hint)


# ---- shape -----------------------------------------------------------------------------------


def _shape(word: InstructionDescriptor) -> Iterator[Breach]:
    use, m, n = word.use, word.m, word.n
    where = f"{use.kind.value}, cta_group::{use.group}"
    where += (", ws" if use.ws else "") + (", sparse" if use.sparse else "")
    rows = m_values(use.kind, use.group, sparse=use.sparse, ws=use.ws)
    if m is not None and rows and m not in rows:
        yield Breach(
            M, word.shown(f"M={m}"), " or ".join(f"M={row}" for row in rows) + f" ({where})"
        )
    columns = n_values(use.kind, use.group, sparse=use.sparse, ws=use.ws)
    if n is not None and n not in columns:
        yield Breach(N, word.shown(f"N={n}"), f"N={series(columns)} ({where})")
    elif n is not None and _is_transposed_bytes(word) and n % (16 * use.group):
        step = 16 * use.group
        yield Breach(N_TRANSPOSED, word.shown(f"N={n}, B N-major"), f"a multiple of {step}")
    if use.ashift and m is not None and m in rows and m not in (128, 256):
        yield Breach(ASHIFT, word.shown(f"M={m}"))


def _is_transposed_bytes(word: InstructionDescriptor) -> bool:
    return word.b is not None and word.b.bits == 8 and word.is_set(16)


def _transpose(word: InstructionDescriptor) -> Iterator[Breach]:
    use = word.use
    for name, bit, type_ in (("A", 15, word.a), ("B", 16, word.b)):
        if not word.is_set(bit):
            continue
        if use.kind in FP4_KINDS:
            yield Breach(TRANSPOSE, word.shown(f"{name} MN-major with {use.kind.value}"))
        elif name == "A" and use.a_in_tensor:
            yield Breach(TRANSPOSE_TENSOR, word.shown("A MN-major in tensor memory"))
        elif type_ is not None and type_.bits < 8:
            yield Breach(TRANSPOSE_NARROW, word.shown(f"{name} {type_.value}, MN-major"))


def _k96(word: InstructionDescriptor) -> Iterator[Breach]:
    use, m = word.use, word.m
    if not word.k96:
        return
    if use.group != 2 or use.sparse or m not in (None, 256):
        shape = "" if m is None else f"M={m}, "
        sparse = ", sparse" if use.sparse else ""
        yield Breach(K96, word.shown(f"K=96 with {shape}cta_group::{use.group}{sparse}"))
    features = use.target.features
    if Feature.HAS_TCGEN05_K96 not in features:
        may = Feature.MAY_HAVE_TCGEN05_K96 in features
        severity = Severity.REVIEW if may else Severity.ERROR
        yield Breach(K96_TARGET, word.shown(f"K=96 on {use.target}"), severity=severity)
    if use.scale_vec in (ScaleVec.X2, ScaleVec.X4):
        yield Breach(K96_SCALES, word.shown(f"K=96 with .{use.scale_vec.value}"))


# ---- scale factors ---------------------------------------------------------------------------


def _scales(word: InstructionDescriptor) -> Iterator[Breach]:
    kind, code = word.use.kind, word.bits.field(23, 1)
    if not word.use.scaled:
        return
    if code is not None and code not in SCALE_CODES[kind]:
        yield Breach(SCALE_TYPE, word.shown(f"ue4m3 with {kind.value}"), "ue8m0, bit 23 set")
    elif code == 0 and word.use.scale_vec in (ScaleVec.X2, ScaleVec.BLOCK32):
        yield Breach(
            SCALE_TYPE,
            word.shown(f"ue4m3 with .{word.use.scale_vec.value}"),
            "ue8m0 (bit 23 set), or .block16",
        )
    for name, first in (("A", 29), ("B", 4)):
        yield from _scale_id(word, name, word.bits.field(first, 2))


def _scale_id(word: InstructionDescriptor, name: str, number: int | None) -> Iterator[Breach]:
    kind, size = word.use.kind, word.use.scale_vec
    if not number or kind is MmaKind.MXF8F6F4:
        return
    sixteen = size in (ScaleVec.X4, ScaleVec.BLOCK16)
    got = word.shown(f"scale factor {name} id {number}")
    if word.bits.field(31, 1) is None:
        return
    if word.k96:
        if number != 2:  # the manual's figures with three factors in a row use all four ids
            severity = Severity.ERROR if sixteen else Severity.REVIEW
            yield Breach(SCALE_ID, got, "0 or 2", severity)
    elif sixteen:
        yield Breach(SCALE_ID, got, "0: the four factors of a row fill the word")
    elif number != 2:
        yield Breach(SCALE_ID, got, "0 or 2")


_CHECKS: tuple[Callable[[InstructionDescriptor], Iterator[Breach]], ...] = (
    _reserved, _sparsity, _types, _shape, _transpose, _flags, _selector, _k96, _scales,
)  # fmt: skip

RULES = (
    RESERVED, SPARSITY, INPUT_TYPE, OUTPUT_TYPE, TYPES, M, N, N_TRANSPOSED, K96, K96_TARGET,
    K96_SCALES, TRANSPOSE, TRANSPOSE_NARROW, TRANSPOSE_TENSOR, NEGATE, SATURATE, MAX_SHIFT, ASHIFT,
    SELECTOR, SELECTOR_DENSE, SCALE_TYPE, SCALE_ID,
)  # fmt: skip
