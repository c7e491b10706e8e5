"""Names of MMA atoms: shape and types of one tcgen05.mma, as a tile compiler calls it.

Layer: intrinsics.  `sm100_umma_m64n128k16_f32_bf16_bf16` is M, N and K of the tile and the element
types of D, A and B.  Behind them stands the variant:

    _sp     A is sparse, half of it stored; K is twice that of the dense atom
    _bs     block-scaled, one UE8M0 factor for 32 elements: K 32 is mxf8f6f4, K 64 is mxf4
    _bs16   block-scaled, one UE4M3 factor for 16 elements: mxf4nvf4
    _ws     weight-stationary
    _2cta   on a CTA pair, which holds M and N together

What the name says becomes the instruction descriptor; how the matrices lie in shared memory it does
not say.  PTX ISA, Matrix Shape (Table 39); Instruction descriptor; Block Scaling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from intrinsics.descriptors.idesc import DENSE_K, INPUT_CODES, InstructionDescriptor
from intrinsics.element import ElementType, Major
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import SCALED_KINDS, CtaGroup, MmaKind

PATTERN = "sm100_umma_m64n128k16_f32_bf16_bf16"
"""What an atom's name looks like."""

VARIANTS = {
    "sp": "sparse",
    "bs": "block-scaled",
    "bs16": "block-scaled",
    "ws": "weight-stationary",
    "2cta": "CTA pair",
}
"""What stands behind the types, in this order, and what it says."""

_NAME = re.compile(
    r"sm100_umma_m(\d{1,9})n(\d{1,9})k(\d{1,9})_([a-z]\w*?)_([a-z]\w*?)_([a-z0-9]+)"
    r"((?:_sp)?(?:_bs(?:16)?)?(?:_ws)?(?:_2cta)?)"
)
_SCALED: dict[tuple[int, str], tuple[MmaKind, ElementType]] = {
    (32, "bs"): (MmaKind.MXF8F6F4, ElementType.UE8M0),
    (64, "bs"): (MmaKind.MXF4, ElementType.UE8M0),
    (64, "bs16"): (MmaKind.MXF4NVF4, ElementType.UE4M3),
}
"""By K of the dense atom and the variant: the kind, and the type of its scale factors."""


_KINDS = {
    kind.value.removeprefix("kind::"): tuple(codes.values()) for kind, codes in INPUT_CODES.items()
}
"""The element types of each kind, by its name."""


class AtomError(ValueError):
    """A name that is no atom; `expected` says what would be one."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.expected = expected


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """One MMA: D (m × n) += A (m × k) · B (n × k) transposed; m and n are those of a whole pair.

    `scale` is the type of the scale factors, None where there are none.
    """

    kind: MmaKind
    m: int
    n: int
    k: int
    d: ElementType
    a: ElementType
    b: ElementType
    sparse: bool = False
    scale: ElementType | None = None
    stationary: bool = False
    pair: bool = False

    @property
    def group(self) -> CtaGroup:
        """The CTAs that work together."""
        return CtaGroup.TWO if self.pair else CtaGroup.ONE

    @property
    def variants(self) -> tuple[str, ...]:
        """The keys of VARIANTS that the name has, in order."""
        return tuple(self._variants())

    def _variants(self) -> Iterator[str]:
        if self.sparse:
            yield "sp"
        if self.scale is not None:
            yield "bs16" if self.kind is MmaKind.MXF4NVF4 else "bs"
        if self.stationary:
            yield "ws"
        if self.pair:
            yield "2cta"

    @property
    def name(self) -> str:
        """The name, as `parse_atom` reads it."""
        types = f"{self.d.value}_{self.a.value}_{self.b.value}"
        suffix = "".join(f"_{variant}" for variant in self.variants)
        return f"sm100_umma_m{self.m}n{self.n}k{self.k}_{types}{suffix}"

    def descriptor(
        self, a_major: Major = Major.K, b_major: Major = Major.K
    ) -> InstructionDescriptor:
        """The instruction descriptor for matrices that lie so in shared memory."""
        d = None if self.kind in SCALED_KINDS else self.d
        return InstructionDescriptor(
            self.kind, self.m, self.n, self.a, self.b, d, a_major, b_major,
            sparse=self.sparse, scale=self.scale,
        )  # fmt: skip


def atom_of(
    shape: InstructionDescriptor, group: CtaGroup = CtaGroup.ONE, *, stationary: bool = False
) -> MmaAtom:
    """The atom that an instruction descriptor is of."""
    return MmaAtom(
        shape.kind, shape.m, shape.n, shape.k, shape.d or ElementType.F32, shape.a, shape.b,
        shape.sparse, shape.scale, stationary, group is CtaGroup.TWO,
    )  # fmt: skip


def parse_atom(name: str) -> MmaAtom:
    """The atom called `name`.

    Raises: AtomError for another machine's atom, for variants that exclude each other, and for
    shapes and types that tcgen05.mma does not have.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise AtomError(f"'{name}' names no MMA atom of sm_100", PATTERN)
    if (ordered := _in_order(name)) != name:
        raise AtomError("the variants of an atom stand in another order", ordered)
    d, a, b = (element_type(text) for text in match.group(4, 5, 6))
    m, n, k = map(int, match.group(1, 2, 3))
    variants = match[7].split("_")[1:]
    sparse = "sp" in variants
    kind, scale = _kind_of(k // (2 if sparse else 1), variants, a, b, d)
    right = DENSE_K[kind] * (2 if sparse else 1)
    if k != right:
        what = f"sparse {kind.value}" if sparse else kind.value
        raise AtomError(f"{what} has no K of {k}", f"k{right}")
    atom = MmaAtom(kind, m, n, k, d, a, b, sparse, scale, "ws" in variants, "2cta" in variants)
    _check(atom)
    return atom


def _in_order(name: str) -> str:
    """A name with the variants at its end in their order."""
    parts = name.split("_")
    types = len(parts)
    while types and parts[types - 1] in VARIANTS:
        types -= 1
    return "_".join([*parts[:types], *sorted(parts[types:], key=[*VARIANTS].index)])


def _kind_of(
    k: int, variants: list[str], a: ElementType, b: ElementType, d: ElementType
) -> tuple[MmaKind, ElementType | None]:
    """The kind, and the type of the scale factors; `k` is the dense atom's."""
    scaled = next((v for v in variants if v.startswith("bs")), None)
    if scaled is None:
        return _kind(a, b, d), None
    found = _SCALED.get((k, scaled))
    if found is None:
        known = ", ".join(f"k{k} with _{v}" for k, v in _SCALED)
        raise AtomError(f"no block-scaled kind has K of {k} with _{scaled}", known)
    kind, scale = found
    types = INPUT_CODES[kind].values()
    if a not in types or b not in types:
        known = ", ".join(type_.value for type_ in types)
        raise AtomError(f"{kind.value} does not multiply {a.value} by {b.value}", known)
    if d is not ElementType.F32:
        raise AtomError(f"{kind.value} gives f32 only, not {d.value}", "f32")
    return kind, scale


def _check(atom: MmaAtom) -> None:
    """Whether the machine has an instruction of this shape."""
    if atom.stationary and atom.pair:
        raise AtomError("cta_group::2 is not supported with weight stationary", "_ws or _2cta")
    if atom.stationary and atom.scale is not None:
        text = "Cannot use weight stationary with mxf8f6f4 and fp4 types"
        raise AtomError(text, "_ws or _bs")
    for problem in atom.descriptor().problems(atom.group, ws=atom.stationary):
        raise AtomError(f"{problem.text}: {problem.got}", problem.expected)


def element_type(text: str) -> ElementType:
    """The element type of an atom's name.

    Raises: AtomError.
    """
    try:
        return ElementType(text)
    except ValueError:
        known = ", ".join(member.value for member in _KINDS.get(text, ElementType))
        kind = ", but a kind of it" if text in _KINDS else ""
        raise AtomError(f"'{text}' is no element type of an MMA{kind}", known) from None


def _kind(a: ElementType, b: ElementType, d: ElementType) -> MmaKind:
    """The kind without scale factors whose descriptor has codes for these types."""
    for kind, codes in INPUT_CODES.items():
        if kind in SCALED_KINDS or a not in codes.values() or b not in codes.values():
            continue
        try:
            InstructionDescriptor(kind, 64, 64, a, b, d).encode()
        except ValueError as error:
            raise AtomError(f"{kind.value}: {error}", "types of one kind") from None
        return kind
    raise AtomError(f"no kind multiplies {a.value} by {b.value}", "types of one kind")
