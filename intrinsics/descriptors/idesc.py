"""The instruction descriptor of tcgen05.mma: 32 bits that give shape, types and more.

Layer: intrinsics.  PTX ISA, Instruction descriptor (Tables 42, 43 and 44) and Matrix Shape (Table
39). The layout depends on the kind, so a word is read with the kind of the instruction that
carries it.
"""

from __future__ import annotations

import itertools
from enum import Enum

from intrinsics.element import ElementType, Major
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, SCALED_KINDS, CtaGroup, MmaKind
from intrinsics.row import Problem

E = ElementType

_EIGHT_BITS = {0: E.E4M3, 1: E.E5M2, 3: E.E2M3, 4: E.E3M2, 5: E.E2M1}
INPUT_CODES: dict[MmaKind, dict[int, ElementType]] = {
    MmaKind.F16: {0: E.F16, 1: E.BF16},
    MmaKind.TF32: {2: E.TF32},
    MmaKind.F8F6F4: _EIGHT_BITS,
    MmaKind.I8: {0: E.U8, 1: E.S8},
    MmaKind.MXF8F6F4: _EIGHT_BITS,
    MmaKind.MXF4: {1: E.E2M1},
    MmaKind.MXF4NVF4: {1: E.E2M1},
}
OUTPUT_CODES: dict[MmaKind, dict[int, ElementType]] = {
    MmaKind.F16: {0: E.F16, 1: E.F32},
    MmaKind.TF32: {1: E.F32},
    MmaKind.F8F6F4: {0: E.F16, 1: E.F32},
    MmaKind.I8: {2: E.S32},
}
SCALE_CODES: dict[MmaKind, dict[int, ElementType]] = {
    MmaKind.MXF8F6F4: {1: E.UE8M0},
    MmaKind.MXF4: {1: E.UE8M0},
    MmaKind.MXF4NVF4: {1: E.UE8M0, 0: E.UE4M3},
}
DENSE_K = {
    MmaKind.F16: 16,
    MmaKind.TF32: 8,
    MmaKind.F8F6F4: 32,
    MmaKind.I8: 32,
    MmaKind.MXF8F6F4: 32,
    MmaKind.MXF4: 64,
    MmaKind.MXF4NVF4: 64,
}
"""K of one dense instruction; a sparse one has twice as much."""


class DescriptorFormat(Enum):
    """Which of the manual's three layouts a kind uses."""

    PLAIN = "Table 42"
    MXF8F6F4 = "Table 43"
    FP4 = "Table 44"


def format_of(kind: MmaKind) -> DescriptorFormat:
    """The layout of the descriptor for `kind`."""
    if kind in FP4_KINDS:
        return DescriptorFormat.FP4
    return DescriptorFormat.MXF8F6F4 if kind is MmaKind.MXF8F6F4 else DescriptorFormat.PLAIN


def n_of(word: int) -> int:
    """N in an instruction descriptor: it stands at the same place in all three layouts."""
    return (word >> 17 & 63) << 3


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """Shape, types and flags of one tcgen05.mma.

    `m` and `n` are elements of D; `d` is None for block-scaled kinds (always f32).  `max_shift` is
    the code of the maximum shift for reuse of B in .ws (0: none, 1: 8, 2: 16, 3: 32).
    """

    kind: MmaKind
    m: int
    n: int
    a: ElementType
    b: ElementType
    d: ElementType | None = None
    a_major: Major = Major.K
    b_major: Major = Major.K
    negate_a: bool = False
    negate_b: bool = False
    sparse: bool = False
    selector: int = 0
    saturate: bool = False
    max_shift: int = 0
    scale: ElementType | None = None
    sfa_id: int = 0
    sfb_id: int = 0
    k96: bool = False

    @property
    def k(self) -> int:
        """K of one instruction; PTX ISA, Table 39."""
        if self.k96:
            return 96
        return DENSE_K[self.kind] * (2 if self.sparse else 1)

    def encode(self) -> int:
        """The 32-bit descriptor.

        Raises: ValueError when a field has no code in the layout of `kind`.
        """
        codes = INPUT_CODES[self.kind]
        word = int(self.sparse) << 2
        word |= _code(codes, self.a, "A") << 7
        word |= _code(codes, self.b, "B") << 10
        word |= int(self.negate_a) << 13 | int(self.negate_b) << 14
        word |= int(self.a_major is Major.MN) << 15 | int(self.b_major is Major.MN) << 16
        word |= _shape_field("N", self.n, 3, 6) << 17
        if self.kind in SCALED_KINDS:
            word |= _two_bits("sfb_id", self.sfb_id) << 4
            word |= _code(SCALE_CODES[self.kind], self.scale, "scales") << 23
            word |= _shape_field("M", self.m, 7, 2) << 27
            word |= _two_bits("sfa_id", self.sfa_id) << 29
            return word | int(self.k96) << 31
        word |= _two_bits("selector", self.selector) | int(self.saturate) << 3
        word |= _code(OUTPUT_CODES[self.kind], self.d, "D") << 4
        shift = _two_bits("max_shift", self.max_shift)
        return word | _shape_field("M", self.m, 4, 5) << 24 | shift << 30

    @classmethod
    def decode(cls, word: int, kind: MmaKind = MmaKind.F16) -> InstructionDescriptor:
        """Read a descriptor of `kind`.

        Raises: ValueError when a type field has a code that `kind` does not know.
        """
        codes = INPUT_CODES.get(kind)
        if codes is None:
            raise ValueError(f"the descriptor of {kind.value} is not documented")
        fp4, scaled = kind in FP4_KINDS, kind in SCALED_KINDS
        return cls(
            kind,
            m=(word >> 27 & 3) << 7 if scaled else (word >> 24 & 31) << 4,
            n=n_of(word),
            a=_type(codes, word >> 7 & 7, "A"),
            b=_type(codes, word >> 10 & (3 if fp4 else 7), "B"),
            d=None if scaled else _type(OUTPUT_CODES[kind], word >> 4 & 3, "D"),
            a_major=Major.MN if word >> 15 & 1 else Major.K,
            b_major=Major.MN if word >> 16 & 1 else Major.K,
            negate_a=bool(word >> 13 & 1),
            negate_b=bool(word >> 14 & 1),
            sparse=bool(word >> 2 & 1),
            selector=0 if scaled else word & 3,
            saturate=not scaled and bool(word >> 3 & 1),
            max_shift=0 if scaled else word >> 30 & 3,
            scale=_type(SCALE_CODES[kind], word >> 23 & 1, "scales") if scaled else None,
            sfa_id=word >> 29 & 3 if scaled else 0,
            sfb_id=word >> 4 & 3 if scaled else 0,
            k96=fp4 and bool(word >> 31),
        )

    def problems(self, cta_group: CtaGroup = CtaGroup.ONE, *, ws: bool = False) -> list[Problem]:
        """Errors by Table 39 and its neighbours in this combination of shape and types."""
        found = []
        group = 2 if cta_group is CtaGroup.TWO else 1
        shapes = m_values(self.kind, group, sparse=self.sparse, ws=ws)
        if self.m not in shapes:
            found.append(
                Problem(
                    "shape-m",
                    "M does not exist for this kind",
                    str(self.m),
                    " or ".join(map(str, shapes)) or "no M",
                )
            )
        columns = n_values(self.kind, group, sparse=self.sparse, ws=ws)
        if self.n not in columns:
            found.append(
                Problem("shape-n", "N does not exist for this kind", str(self.n), series(columns))
            )
        if self.d is E.F16 and E.BF16 in (self.a, self.b):
            found.append(Problem("types", "D of f16 takes f16 inputs", "bf16", "f16"))
        if self.k96 and (group != 2 or self.m != 256 or self.sparse):
            found.append(
                Problem(
                    "k96", "K = 96 exists for a dense CTA pair with M = 256 only", f"M {self.m}",
                    "M 256 with cta_group::2",
                )
            )  # fmt: skip
        eight_bits = self.kind in (MmaKind.F8F6F4, MmaKind.I8, MmaKind.MXF8F6F4)
        if eight_bits and self.b_major is Major.MN and self.n % (16 * group):
            found.append(
                Problem(
                    "shape-n", "N does not exist for an 8-bit B that is transposed", str(self.n),
                    f"a multiple of {16 * group}",
                )
            )  # fmt: skip
        if self.kind in FP4_KINDS and Major.MN in (self.a_major, self.b_major):
            found.append(
                Problem("transpose", "4-bit kinds have no transpose", "MN-major", "K-major")
            )
        if self.kind is MmaKind.I8 and (self.negate_a or self.negate_b):
            found.append(Problem("negate", "kind::i8 has no negate", "negated", "not negated"))
        return found

    def explain(self) -> list[tuple[str, str, str]]:
        """Rows (bits, field, meaning) in the layout of the kind."""
        scaled = self.kind in SCALED_KINDS
        rows = [("2", "sparsity", "sparse" if self.sparse else "dense")]
        if scaled:
            rows += [("4-5", "scale factor B id", str(self.sfb_id))]
        else:
            rows = [("0-1", "sparsity selector", str(self.selector)), *rows]
            rows += [("3", "saturate", _yes(self.saturate))]
            rows += [("4-5", "D type", self.d.value if self.d else "f32")]
        rows += [
            ("7-9", "A type", self.a.value),
            ("10-11" if self.kind in FP4_KINDS else "10-12", "B type", self.b.value),
            ("13", "negate A", _yes(self.negate_a)),
            ("14", "negate B", _yes(self.negate_b)),
            ("15", "transpose A", f"{self.a_major.value}-major"),
            ("16", "transpose B", f"{self.b_major.value}-major"),
            ("17-22", "N", str(self.n)),
        ]
        if scaled:
            rows += [
                ("23", "scale type", self.scale.value if self.scale else "?"),
                ("27-28", "M", str(self.m)),
                ("29-30", "scale factor A id", str(self.sfa_id)),
            ]
            if self.kind in FP4_KINDS:
                rows.append(("31", "K", str(self.k)))
            return rows
        shift = ("none", "8", "16", "32")[self.max_shift]
        return [*rows, ("24-28", "M", str(self.m)), ("30-31", "maximum shift (.ws)", shift)]

    def __str__(self) -> str:
        d = self.d.value if self.d else "f32"
        majors = f"{self.a_major.value}-major x {self.b_major.value}-major"
        sparse = " sparse" if self.sparse else ""
        types = f"{d} <- {self.a.value} x {self.b.value}"
        shape = f"M{self.m} N{self.n} K{self.k}{sparse} {types}, {majors}"
        return shape + (f", scales {self.sfa_id}/{self.sfb_id}" if self.scale else "")


def reserved_bits(word: int, kind: MmaKind) -> int:
    """The bits of `word` that the layout of `kind` reserves and that are not zero."""
    masks = {
        DescriptorFormat.PLAIN: 0x20800040,
        DescriptorFormat.MXF8F6F4: 0x8700004B,
        DescriptorFormat.FP4: 0x0700104B,
    }
    return word & masks[format_of(kind)]


def n_values(kind: MmaKind, group: int, *, sparse: bool = False, ws: bool = False) -> list[int]:
    """The values of N that Table 39 has for `kind` on `group` CTAs."""
    if ws:
        return [64, 128] if sparse else [64, 128, 256]
    if kind is MmaKind.I8:
        return [8, 16, 24, 32, *range(48, 257, 16)] if group == 1 else list(range(32, 257, 32))
    step = 8 * group
    return list(range(step, 257, step))


def m_values(
    kind: MmaKind, group: int, *, sparse: bool = False, ws: bool = False
) -> tuple[int, ...]:
    """The values of M that Table 39 has for `kind` on `group` CTAs."""
    if ws:
        return (32, 64, 128) if kind not in SCALED_KINDS and group == 1 else ()
    if kind in SCALED_KINDS:
        if group == 1:
            return (128,)
        return (256,) if sparse else (128, 256)
    return (64, 128) if group == 1 else (128, 256)


def series(values: list[int]) -> str:
    """Numbers as text: a range where they have equal steps."""
    steps = {b - a for a, b in itertools.pairwise(values)}
    if len(values) > 4 and len(steps) == 1:
        return f"{values[0]}..{values[-1]} in steps of {steps.pop()}"
    return ", ".join(map(str, values))


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _code(codes: dict[int, ElementType], type_: ElementType | None, what: str) -> int:
    for code, member in codes.items():
        if member is type_:
            return code
    wanted = " or ".join(member.value for member in codes.values())
    raise ValueError(f"{what} of type {type_.value if type_ else 'none'}; this kind takes {wanted}")


def _type(codes: dict[int, ElementType], code: int, what: str) -> ElementType:
    found = codes.get(code)
    if found is None:
        raise ValueError(f"type code {code} of {what} means nothing for this kind")
    return found


def _two_bits(name: str, value: int) -> int:
    if not 0 <= value <= 3:
        raise ValueError(f"{name} = {value} has no code: 0 to 3 fit")
    return value


def _shape_field(name: str, size: int, shift: int, width: int) -> int:
    if size % (1 << shift) or not 0 <= size >> shift < 1 << width:
        raise ValueError(f"{name} = {size} has no code: a multiple of {1 << shift} is needed")
    return size >> shift
