"""The fields of a tensor map, by the numbers of tensormap.replace, and the map that they encode.

Layer: nvgen.sim.  Input: fields as numbers.  Output: a tensor map, checked as the driver checks
maps, or the finding about the first invalid field.  PTX ISA, tensormap.replace.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.modifiers import MapField
from intrinsics.tma.fields import Element, Fill, Interleave
from intrinsics.tma.rules import MOST_DIMENSIONS, findings
from nvgen.launching.tensor_map import TensorMap
from nvgen.sim.faults import Fault, fault, not_simulated
from nvgen.sim.memory.bound_maps import BoundMap, PlacedMap
from nvgen.sim.memory.regions import Memory
from nvgen.sim.memory.tensor_maps import Fields

ELEMENTS = (
    Element.U8, Element.U16, Element.U32, Element.S32, Element.U64, Element.S64, Element.F16,
    Element.F32, Element.F32_FTZ, Element.F64, Element.BF16, Element.TF32, Element.TF32_FTZ,
    Element.U4_ALIGN8, Element.U4_ALIGN16, Element.U6_ALIGN16,
)  # fmt: skip
"""Element types by their code."""

INTERLEAVES = (Interleave.NONE, Interleave.B16, Interleave.B32)
FILLS = (Fill.ZEROS, Fill.NANS)

SWIZZLES = {
    Swizzle.NONE: 0, Swizzle.B32: 1, Swizzle.B64: 2, Swizzle.B128: 3, Swizzle.B128_ATOM32: 3,
}  # fmt: skip
"""Codes of the swizzling span."""

ATOMICITIES = {mode: int(mode is Swizzle.B128_ATOM32) for mode in SWIZZLES}
"""Codes of the swizzling atomicity: 16 or 32 bytes."""

_MODES = {(SWIZZLES[mode], ATOMICITIES[mode]): mode for mode in SWIZZLES}


# ---- the fields of a map ----------------------------------------------------------------------


def fields_of(bound: BoundMap) -> Fields:
    """The fields of a tensor map that the host encoded, for a kernel to change some of them.

    Raises: Fault for an im2col map; NotSimulatedError where its tensor has no address.
    """
    map_ = bound.map
    if map_.im2col is not None:
        raise fault(
            "tensor-map-mode",
            "tensormap.replace.tile changes a tensor map of tiles",
            got="a tensor map of images (im2col)",
            expected="a tensor map of tiles",
            section="tensormap.replace",
        )
    if bound.region is None or not map_.array.flags.c_contiguous:
        raise not_simulated(
            "a change to the tensor map of an array with gaps", hint="copy the array first"
        )
    return described(map_, bound.region.base)


def described(map_: TensorMap, address: int) -> Fields:
    """The fields of a tiled tensor map, as numbers."""
    each = {
        MapField.GLOBAL_DIM: map_.dims,
        MapField.GLOBAL_STRIDE: map_.strides,
        MapField.BOX_DIM: map_.box,
        MapField.ELEMENT_STRIDE: map_.request.steps,
    }
    one = {
        MapField.GLOBAL_ADDRESS: address,
        MapField.RANK: len(map_.dims) - 1,
        MapField.ELEMTYPE: ELEMENTS.index(map_.element),
        MapField.INTERLEAVE_LAYOUT: INTERLEAVES.index(map_.interleave),
        MapField.SWIZZLE_MODE: SWIZZLES[map_.swizzle],
        MapField.SWIZZLE_ATOMICITY: ATOMICITIES[map_.swizzle],
        MapField.FILL_MODE: FILLS.index(map_.fill),
    }
    numbers = {(name, at): n for name, values in each.items() for at, n in enumerate(values)}
    return Fields(numbers | {(name, 0): value for name, value in one.items()})


# ---- the map that fields make ------------------------------------------------------------------


def placed(fields: Fields, memory: Memory) -> PlacedMap:
    """The tensor map that fields encode, on the memory at its global address.

    Raises: Fault when a field is not set, or the driver would refuse such a map; NotSimulatedError
    for a swizzling that is not modelled.
    """
    rank = _set(fields, MapField.RANK) + 1
    if rank > MOST_DIMENSIONS:
        got = f"rank {rank}, written as {rank - 1}"
        hint = "the rank is written less 1"
        raise _wrong("it has too many dimensions", got, f"1 to {MOST_DIMENSIONS}", hint)
    address = _set(fields, MapField.GLOBAL_ADDRESS)
    element = ELEMENTS[_set(fields, MapField.ELEMTYPE)]
    map_ = TensorMap(
        None,
        max(element.bits, 8) // 8,
        _each(fields, MapField.GLOBAL_DIM, rank),
        _each(fields, MapField.GLOBAL_STRIDE, rank - 1),
        _each(fields, MapField.BOX_DIM, rank),
        _swizzle(fields),
        element,
        _each(fields, MapField.ELEMENT_STRIDE, rank),
        INTERLEAVES[_set(fields, MapField.INTERLEAVE_LAYOUT)],
        fill=FILLS[_set(fields, MapField.FILL_MODE)],
    )
    for finding in findings(replace(map_.request, address=address)):
        raise _wrong(finding.message, finding.got, finding.expected, finding.hint)
    return PlacedMap(map_, address, memory)


def _set(fields: Fields, which: MapField, dimension: int | None = None) -> int:
    value = fields.get(which, dimension or 0)
    if value is not None:
        return value
    where = "" if dimension is None else f" of dimension {dimension}"
    raise _wrong(
        f"its {which.value}{where} is not set",
        "a map made of zeros, or of a map of a lower rank",
        "all fields",
        f"tensormap.replace.tile.{which.value} before the map is handed on",
    )


def _each(fields: Fields, which: MapField, count: int) -> tuple[int, ...]:
    return tuple(_set(fields, which, at) for at in range(count))


def _swizzle(fields: Fields) -> Swizzle:
    mode = _set(fields, MapField.SWIZZLE_MODE)
    atomicity = fields.get(MapField.SWIZZLE_ATOMICITY) or 0
    found = _MODES.get((mode, atomicity if mode else 0))
    if found is not None:
        return found
    if mode in (SWIZZLES[Swizzle.B32], SWIZZLES[Swizzle.B64]):
        raise _wrong(
            "its swizzling keeps together more than 16 bytes",
            f"swizzle_mode {mode}, swizzle_atomicity {atomicity}",
            "swizzle_atomicity 0",
            "swizzling by 128 bytes (3) has other atoms",
        )
    raise not_simulated(f"tensor maps of swizzle_mode {mode}, swizzle_atomicity {atomicity}")


def _wrong(message: str, got: str, expected: str, hint: str) -> Fault:
    return fault(
        "tensor-map-field",
        f"a copy uses a tensor map that the kernel has made, and {message}",
        got=got,
        expected=expected,
        hint=hint,
        section="tensormap.replace",
    )
