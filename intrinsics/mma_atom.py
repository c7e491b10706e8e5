"""Names of MMA atoms: shape and types of one tcgen05.mma, as a tile compiler calls it.

Layer: intrinsics.  `sm100_umma_m64n128k16_f32_bf16_bf16` is M, N and K of the tile and the element
types of D, A and B.  What the name says becomes the instruction descriptor; how the matrices lie in
shared memory it does not say.  PTX ISA, Matrix Shape (Table 39); Instruction descriptor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from intrinsics.element import ElementType, Major
from intrinsics.idesc import DENSE_K, INPUT_CODES, SCALED_KINDS, InstructionDescriptor
from intrinsics.modifiers import CtaGroup, MmaKind

PATTERN = "sm100_umma_m64n128k16_f32_bf16_bf16"
"""What an atom's name looks like."""

_NAME = re.compile(r"sm100_umma_m(\d+)n(\d+)k(\d+)_([a-z]\w*?)_([a-z]\w*?)_([a-z0-9]+)((?:_\w+)?)")
_VARIANTS = {"_sp": "sparse", "_bs": "block-scaled", "_2cta": "CTA pair"}


class AtomError(ValueError):
    """A name that is no atom; `expected` says what would be one."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.expected = expected


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """One dense MMA of a single CTA: D (m × n) += A (m × k) · B (n × k) transposed."""

    name: str
    kind: MmaKind
    m: int
    n: int
    k: int
    d: ElementType
    a: ElementType
    b: ElementType

    def descriptor(self, a_major: Major, b_major: Major) -> InstructionDescriptor:
        """The instruction descriptor for matrices that lie so in shared memory."""
        return InstructionDescriptor(
            self.kind, self.m, self.n, self.a, self.b, self.d, a_major, b_major
        )


def parse_atom(name: str) -> MmaAtom:
    """The atom called `name`.

    Raises: AtomError for another machine's atom, for a variant (sparse, block-scaled, CTA pair),
    and for shapes and types that tcgen05.mma does not have.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise AtomError(f"'{name}' names no MMA atom of sm_100", PATTERN)
    if match[7]:
        what = _VARIANTS.get(match[7], "other")
        raise AtomError(f"'{name}' is the atom of a {what} MMA", PATTERN)
    d, a, b = (_type(text) for text in match.group(4, 5, 6))
    m, n, k = map(int, match.group(1, 2, 3))
    kind = _kind(a, b, d)
    if k != DENSE_K[kind]:
        raise AtomError(f"{kind.value} has no K of {k}", f"k{DENSE_K[kind]}")
    atom = MmaAtom(name, kind, m, n, k, d, a, b)
    descriptor = atom.descriptor(Major.K, Major.K)
    for problem in descriptor.problems(CtaGroup.ONE):
        raise AtomError(f"{problem.text}: {problem.got}", problem.expected)
    return atom


def _type(text: str) -> ElementType:
    try:
        return ElementType(text)
    except ValueError:
        known = ", ".join(member.value for member in ElementType)
        raise AtomError(f"'{text}' is no element type of tcgen05.mma", known) from None


def _kind(a: ElementType, b: ElementType, d: ElementType) -> MmaKind:
    """The kind whose descriptor has codes for these types."""
    for kind, codes in INPUT_CODES.items():
        if kind in SCALED_KINDS or a not in codes.values() or b not in codes.values():
            continue
        try:
            InstructionDescriptor(kind, 64, 64, a, b, d).encode()
        except ValueError as error:
            raise AtomError(f"{kind.value}: {error}", "types of one kind") from None
        return kind
    raise AtomError(f"no kind multiplies {a.value} by {b.value}", "types of one kind")
