"""Which block scalings there are: K of an instruction, elements a factor, and the types.

Layer: intrinsics.  `atom_k` is the K of one dense instruction, `vec_size` the neighbours along K
that share a scale factor.  Texts are those of tile compilers, to the letter; which combinations
hold is the manual's.  PTX ISA, Block Scaling (Tables 54 and 55).

    (32, 32)  mxf8f6f4          8, 6 and 4 bits   UE8M0
    (64, 32)  mxf4 or mxf4nvf4  E2M1              UE8M0
    (64, 16)  mxf4nvf4          E2M1              UE8M0 or UE4M3
    (96, n)   as (64, n), on sm_103a
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, MmaKind
from intrinsics.row import Problem

E = ElementType
_NARROW = (E.E4M3, E.E5M2, E.E2M3, E.E3M2, E.E2M1)
_SAME = "expects sfa/sfb element types to be the same"


@dataclass(frozen=True, slots=True)
class BlockScale:
    """One combination: the kinds that have it, the types of A and B, and those of the factors."""

    atom_k: int
    vec_size: int
    kinds: tuple[MmaKind, ...]
    types: tuple[ElementType, ...]
    scales: tuple[ElementType, ...]


BLOCK_SCALES = (
    BlockScale(32, 32, (MmaKind.MXF8F6F4,), _NARROW, (E.UE8M0,)),
    *(BlockScale(k, 32, FP4_KINDS, (E.E2M1,), (E.UE8M0,)) for k in (64, 96)),
    *(BlockScale(k, 16, (MmaKind.MXF4NVF4,), (E.E2M1,), (E.UE8M0, E.UE4M3)) for k in (64, 96)),
)


def block_scale(atom_k: int, vec_size: int) -> BlockScale | None:
    """The combination of these two, if there is one."""
    return next((s for s in BLOCK_SCALES if (s.atom_k, s.vec_size) == (atom_k, vec_size)), None)


def check_block_scale(
    atom_k: int,
    vec_size: int,
    a: ElementType,
    b: ElementType,
    sfa: ElementType,
    sfb: ElementType,
) -> list[Problem]:
    """Errors of a block-scaled product of A and B with the factors SFA and SFB."""
    found = block_scale(atom_k, vec_size)
    if found is None:
        known = ", ".join(f"({s.atom_k}, {s.vec_size})" for s in BLOCK_SCALES)
        text = "expects (atom_K, vecSize) to be a block scaling that the tensor core has"
        return [Problem("block-scale-size", text, f"({atom_k}, {vec_size})", known)]
    return list(_types(found, (a, b), (sfa, sfb)))


def _types(
    scale: BlockScale, inputs: tuple[ElementType, ...], factors: tuple[ElementType, ...]
) -> Iterator[Problem]:
    wrong = any(type_ not in scale.types for type_ in inputs)
    wrong_factors = any(type_ not in scale.scales for type_ in factors)
    if len(set(factors)) > 1:
        yield Problem("block-scale-same", _SAME, _names(factors), "one type for both")
    if scale.vec_size == 16:
        if wrong:
            yield _problem("types", _types_16(scale), inputs, scale.types)
        if wrong_factors:
            yield _problem("factors", _factors_16(scale), factors, scale.scales)
    elif wrong or wrong_factors:
        got = _names((*inputs, *factors))
        expected = f"{_names(scale.types, ' or ')}, with {_names(scale.scales)}"
        yield Problem("block-scale-types", _types_32(scale), got, expected)


def _where(scale: BlockScale) -> str:
    return f"when (atom_K={scale.atom_k} && vecSize={scale.vec_size})"


def _types_16(scale: BlockScale) -> str:
    return (
        "expects A and B element types are valid 4bit types, such asFloat4E2M1FNType or "
        f"FloatNV4E0M3FType , {_where(scale)}"
    )


def _factors_16(scale: BlockScale) -> str:
    return (
        f"expects sfa/sfb element types to be Float8E8M0FNUType or Float8E4M3FNType {_where(scale)}"
    )


def _types_32(scale: BlockScale) -> str:
    inputs = "Float4E2M1FNType" if scale.types == (E.E2M1,) else "8bit, 6bit or 4bit float types"
    return (
        f"expects A/B element types to be {inputs} and sfa/sfb element types to be "
        f"Float8E8M0FNUType {_where(scale)}"
    )


def _problem(
    what: str, text: str, got: tuple[ElementType, ...], expected: tuple[ElementType, ...]
) -> Problem:
    return Problem(f"block-scale-{what}", text, _names(got), _names(expected, " or "))


def _names(types: tuple[ElementType, ...], between: str = ", ") -> str:
    return between.join(type_.value for type_ in types)
