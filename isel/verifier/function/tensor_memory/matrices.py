"""The shape and types of an MMA, and whether two MMAs read the same matrix.

Layer: isel.verifier.function.  PTX ISA, Instruction descriptor.
"""

from __future__ import annotations

import functools
from typing import TypeAlias

from intrinsics.descriptors.idesc import n_of
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Form
from intrinsics.modifiers import FP4_KINDS, SCALED_KINDS, CtaGroup, MmaKind
from intrinsics.row import Residency
from isel.verifier.function.events import Event
from isel.verifier.function.flow.values import Loaded, MemoryLocation, Sixteenth, Value, where


@dataclass(frozen=True, slots=True)
class MmaExtents:
    """The known shape of an MMA: M and N of the whole operation, the number of CTAs, and its
    kind.
    """

    kind: MmaKind
    m: int
    n: int
    ctas: int
    sparse: bool
    stationary: bool
    k96: bool


def shape_of(event: Event) -> MmaExtents | None:
    """The shape of an MMA, None where its instruction descriptor is not known."""
    word = _number(event.value("idesc"))
    if word is None:
        return None
    return _shape(event.mi.form, tuple(event.mi.packed_fields().items()), word)


@functools.lru_cache(maxsize=256)
def _shape(form: Form, words: tuple[tuple[str, int], ...], word: int) -> MmaExtents | None:
    attributes = form.attributes
    if form.row.packed_fields is not None:
        attributes = {**attributes, **form.row.packed_fields.unpack(dict(words), attributes)[0]}
    kind = attributes.get("kind")
    if not isinstance(kind, MmaKind):
        return None
    scaled = kind in SCALED_KINDS
    return MmaExtents(
        kind,
        m=(word >> 27 & 3) << 7 if scaled else (word >> 24 & 31) << 4,
        n=n_of(word),
        ctas=2 if attributes.get("cta_group") is CtaGroup.TWO else 1,
        sparse=form.row.id.endswith(".sp"),
        stationary=form.row.id.startswith("tcgen05.mma.ws"),
        k96=kind in FP4_KINDS and bool(word >> 31 & 1),
    )


Difference: TypeAlias = tuple[str, str, str]
"""A property of a matrix in words, with its value in either MMA."""


def other_form(one: Event, other: Event, operand: str) -> Difference | None:
    """The property in which the matrix `operand` (a or b) of two MMAs is certainly of another form;
    None where it may be the same.
    """
    kinds = [str(getattr(e.mi.attributes()["kind"], "value", "")) for e in (one, other)]
    if kinds[0] != kinds[1]:
        return "the kind", kinds[0], kinds[1]
    return _different_types(one, other, operand)


def other_place(one: Event, other: Event, operand: str) -> Difference | None:
    """The places of the matrix `operand` of two MMAs, where it is certainly not at the same."""
    places = [_residence(e, operand) for e in (one, other)]
    if places[0] != places[1]:
        return f"{operand} in", places[0], places[1]
    first, second = one.value(operand), other.value(operand)
    if first is not None and second is not None and _differ(first, second):
        return f"{operand} at", _said(first), _said(second)
    return None


def _residence(event: Event, operand: str) -> str:
    tensor = operand == "a" and event.mi.form.attributes.get("a") is Residency.TENSOR
    return "tensor memory" if tensor else "shared memory"


def _differ(one: Value, other: Value) -> bool:
    """Whether two addresses, or two descriptors, certainly name different locations."""
    if not isinstance(one.offset, int) or not isinstance(other.offset, int):
        return False
    if one.base == other.base:
        return one.offset != other.offset
    bases = (type(one.base), type(other.base))
    return bases in ((Sixteenth, Sixteenth), (Loaded, Loaded))


def _said(value: Value) -> str:
    place = where(value)
    if place is None:
        return f"{value.offset:#x}"
    if isinstance(place.base, Sixteenth) and place.offset is not None:
        return f"the descriptor of {MemoryLocation(place.base, place.offset * 16)}"
    return str(place)


_FIELDS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "a": (("the code of A's type", 7, 7), ("transpose A", 15, 1)),
    "b": (("the code of B's type", 10, 7), ("transpose B", 16, 1)),
}
"""Fields of the instruction descriptor about a matrix: name, first bit, mask."""


def _different_types(one: Event, other: Event, operand: str) -> Difference | None:
    """The field of a matrix in which two instruction descriptors differ."""
    shape, shape2 = shape_of(one), shape_of(other)
    word, word2 = _number(one.value("idesc")), _number(other.value("idesc"))
    if shape is None or shape2 is None or word is None or word2 is None:
        return None
    size, size2 = (shape.m, shape2.m) if operand == "a" else (shape.n, shape2.n)
    if size != size2:
        return "M" if operand == "a" else "N", str(size), str(size2)
    for name, bit, mask in _FIELDS[operand]:
        if word >> bit & mask != word2 >> bit & mask:
            return name, str(word >> bit & mask), str(word2 >> bit & mask)
    return None


def _number(value: Value | None) -> int | None:
    found = value.number if value is not None else None
    return found if isinstance(found, int) else None
