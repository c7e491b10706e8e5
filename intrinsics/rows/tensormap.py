"""Tensor maps that a kernel writes: one field at a time, and copied with the fence that they need.

PTX ISA, Data Movement and Conversion Instructions: tensormap.replace; Parallel Synchronization:
tensormap.cp_fenceproxy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from intrinsics.modifiers import MapField, Modifier, ScalarType, Scope, Space
from intrinsics.row import (
    Attribute,
    Attributes,
    By,
    Effect,
    Effects,
    IssueScope,
    Llvm,
    Numbers,
    NumbersFrom,
    Row,
    address,
    number,
    value,
    when,
)
from intrinsics.targets import Feature, at_least, since, with_feature

_NEEDS = since("8.3", Feature.HAS_TENSOR_MAP_WRITES)
_NARROW = with_feature(Feature.HAS_NARROW_TENSOR_MAPS)
_MODIFIERS = ".tile.field{.space}.b1024.type"
_SPACES: dict[str, Attribute] = {"p:a": None, "p1:a": Space.GLOBAL, "p3:a": Space.SHARED_CTA}
_WRITES = Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY)
_WHOLE = (MapField.GLOBAL_ADDRESS, MapField.RANK)
_EACH = (
    MapField.BOX_DIM, MapField.GLOBAL_DIM, MapField.GLOBAL_STRIDE, MapField.ELEMENT_STRIDE,
)  # fmt: skip
_CODED = (
    MapField.ELEMTYPE, MapField.INTERLEAVE_LAYOUT, MapField.SWIZZLE_MODE, MapField.FILL_MODE,
    MapField.SWIZZLE_ATOMICITY,
)  # fmt: skip
_WIDE = (MapField.GLOBAL_ADDRESS, MapField.GLOBAL_STRIDE)
_CODES: Mapping[Attribute, Numbers] = {
    MapField.ELEMTYPE: Numbers(
        0, 15, later=(NumbersFrom(13, since("8.7", _NARROW), "elemtype-target"),)
    ),
    MapField.INTERLEAVE_LAYOUT: Numbers(0, 2),
    MapField.SWIZZLE_MODE: Numbers(
        0,
        4,
        later=(NumbersFrom(4, since("8.8", Feature.HAS_96_BYTE_SWIZZLING), "swizzle-mode-target"),),
    ),
    MapField.FILL_MODE: Numbers(0, 1),
    MapField.SWIZZLE_ATOMICITY: Numbers(0, 3),
}
_B32, _B64 = ScalarType.B32, ScalarType.B64


def type_of(field: MapField) -> ScalarType:
    """The type that tensormap.replace has for a field."""
    return _B64 if field in _WIDE else _B32


def _qualifiers(fields: tuple[MapField, ...]) -> dict[str, tuple[Modifier, ...]]:
    types = tuple(dict.fromkeys(map(type_of, fields)))
    return {"field": fields, "space": (Space.GLOBAL, Space.SHARED_CTA), "type": types}


def _names(fields: tuple[MapField, ...], rest: str) -> Iterator[Llvm]:
    """LLVM's names, whose end says which space the map is in."""
    for field in fields:
        type_ = type_of(field)
        name = f"tensormap.replace.{field.value.replace('_', '.')}"
        for pointer, space in _SPACES.items():
            given: Attributes = {"field": field, "space": space, "type": type_}
            end = pointer.partition(":")[0] + ("0" if pointer == "p:a" else "")
            new = rest.replace("NEW", f"i{type_.bits}:new")
            yield Llvm(f"{name}.{end}", f"{pointer}, {new}", given=given)


_TYPE_RULES = (
    when(field=_WIDE).must("field-type", "this field has 64 bits", type=_B64),
    when(field=(MapField.RANK, MapField.BOX_DIM, MapField.GLOBAL_DIM, MapField.ELEMENT_STRIDE)
         ).must("field-type", "this field has 32 bits", type=_B32),
)  # fmt: skip

# fmt: off
REPLACE = Row(
    "tensormap.replace", _MODIFIERS, "[a], new",
    qualifiers=_qualifiers(_WHOLE),
    operands=(address("a", "space", wide=True, stored=True), value("new", "type")),
    section="tensormap.replace", needs=_NEEDS, rules=_TYPE_RULES, effects=_WRITES,
    llvm=tuple(_names(_WHOLE, "NEW")),
)

REPLACE_EACH = Row(
    "tensormap.replace", _MODIFIERS, "[a], ord, new",
    name="tensormap.replace.dimension", opcode="TENSORMAP_REPLACE_DIMENSION",
    qualifiers=_qualifiers(_EACH),
    operands=(
        address("a", "space", wide=True, stored=True), number("ord", Numbers(0, 4)),
        value("new", By("field", {MapField.GLOBAL_STRIDE: _B64}, ScalarType.U32)),
    ),
    section="tensormap.replace", needs=_NEEDS, rules=_TYPE_RULES, effects=_WRITES,
    llvm=tuple(_names(_EACH, "i32:ord, NEW")),
)

REPLACE_CODE = Row(
    "tensormap.replace", _MODIFIERS, "[a], code",
    name="tensormap.replace.code", opcode="TENSORMAP_REPLACE_CODE",
    qualifiers=_qualifiers(_CODED),
    operands=(
        address("a", "space", wide=True, stored=True),
        number("code", By("field", _CODES, Numbers())),
    ),
    section="tensormap.replace", needs=_NEEDS, effects=_WRITES,
    rules=(
        when(field=MapField.SWIZZLE_ATOMICITY).needs(
            "swizzle-atomicity-target", since("8.6", at_least(100))),
    ),
    llvm=tuple(_names(_CODED, "i32:code")),
)

_SCOPES: dict[str, Attribute] = {s.value: s for s in Scope}

CP_FENCEPROXY = Row(
    "tensormap.cp_fenceproxy",
    ".global.shared::cta.tensormap::generic.release.scope.sync.aligned",
    "[dst], [src], size",
    qualifiers={"scope": Scope},
    operands=(
        address("dst", Space.GLOBAL, stored=True), address("src", Space.SHARED),
        number("size", Numbers(128, 128)),
    ),
    section="tensormap.cp_fenceproxy", needs=since("8.3", at_least(90)),
    effects=Effects(
        Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.ALIGNED
        | Effect.BARRIER, IssueScope.WARP),
    llvm=(
        Llvm("tensormap.cp_fenceproxy.global.shared_cta.tensormap_generic.release.{scope}",
             "p1:dst, p3:src, i32:size", holes={"scope": _SCOPES}, own=True),
    ),
)
# fmt: on

REPLACES = (REPLACE, REPLACE_EACH, REPLACE_CODE)
"""A row for fields of the whole map, one for those of a dimension, one for codes."""

ROWS = (*REPLACES, CP_FENCEPROXY)
