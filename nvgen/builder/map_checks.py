"""Whether a tensor copy fits the tensor map that it names, and the tile that it goes to or from.

Layer: nvgen.builder.  The tensor map's rank and swizzling are those that its parameter was declared
with; a tile's is kept by the addresses within it.  PTX ISA, Tensors; Swizzling Modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intrinsics.findings import Finding, InputError, Severity
from nvgen.builder.values import Pointer


@dataclass(frozen=True, slots=True)
class DeclaredMap:
    """What the kernel's parameter says of a tensor map: its dimensions, its swizzle in bytes."""

    rank: int
    swizzle: int


def check_copy(maps: Mapping[str, DeclaredMap], operands: Mapping[str, object]) -> None:
    """Whether a copy of a tile fits its tensor map, where that is a parameter of the kernel.

    Raises: InputError for other coordinates than the map has dimensions, or a tile whose elements
    are sought where another swizzling than the map's puts them.
    """
    tmap = operands.get("tmap")
    if not isinstance(tmap, Pointer) or tmap.value.name not in maps:
        return
    name: str = tmap.value.name
    declared = maps[name]
    coords = operands.get("coords")
    if isinstance(coords, Sequence) and len(coords) != declared.rank:
        raise _unfit(
            "rank",
            f"a copy through {name} has other coordinates than the tensor has dimensions",
            f"{len(coords)} coordinates",
            f"{declared.rank}, as the box of {name}",
            "the innermost dimension comes first",
        )
    near = operands.get("dst", operands.get("src"))
    if isinstance(near, Pointer) and near.layout is not None:
        near.layout.copy(name, declared.swizzle)


def _unfit(rule: str, message: str, got: str, expected: str, hint: str) -> InputError:
    return InputError(
        [
            Finding(
                f"builder/map-{rule}",
                Severity.ERROR,
                message,
                got=got,
                expected=expected,
                hint=hint,
                section="PTX ISA, Tensors",
            )
        ]
    )
