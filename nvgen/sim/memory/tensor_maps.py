"""Tensor maps as 128 bytes: those of the host, and those whose fields a kernel writes.

Layer: nvgen.sim.  The encoding of tensor maps is not public, so the simulator has its own: a hash
of the fields, and a table of the maps by these bytes.  Equal maps have equal bytes.  A kernel may
copy them in any way; bytes that it changes otherwise are no tensor map any more.  128 zeros are a
tiled map without fields.  Other uses of the bytes are not checked.  PTX ISA, tensormap.replace;
CUDA programming guide, Encoding a Tensor Map on Device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import MapField
from nvgen.launching.tensor_map import SIZE
from nvgen.sim.memory.bound_maps import BoundMap
from nvgen.sim.memory.map_order import MapOrder


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a tiled tensor map that are set, by the numbers of tensormap.replace.

    Each has a dimension, 0 for those of the whole map.  The rank is encoded minus 1; strides begin
    with that of the second dimension.
    """

    values: Mapping[tuple[MapField, int], int] = field(default_factory=dict)

    def replaced(self, which: MapField, dimension: int, new: int) -> Fields:
        """The map with one of its fields changed."""
        return Fields({**self.values, (which, dimension): new})

    def get(self, which: MapField, dimension: int = 0) -> int | None:
        """The value of a field; None where it is not set."""
        return self.values.get((which, dimension))

    def __str__(self) -> str:
        told = sorted((which.value, at, value) for (which, at), value in self.values.items())
        return "; ".join(f"{name}[{at}] = {value}" for name, at, value in told)


@dataclass(slots=True)
class TensorMaps:
    """The tensor maps of a launch by their bytes, and their proxy fences."""

    known: dict[bytes, BoundMap | Fields] = field(default_factory=dict)
    order: MapOrder = field(default_factory=MapOrder)

    def bound(self, number: int, map_: BoundMap) -> bytes:
        """The bytes of the host's tensor map for the parameter `number`."""
        return self._bytes(f"parameter {number}", map_)

    def changed(self, fields: Fields) -> bytes:
        """The bytes of a tensor map that a kernel changed."""
        return self._bytes(str(fields), fields)

    def _bytes(self, what: str, map_: BoundMap | Fields) -> bytes:
        half = hashlib.blake2b(f"nvgen tensor map: {what}".encode(), digest_size=SIZE // 2).digest()
        whole = half + hashlib.blake2b(half, digest_size=SIZE // 2).digest()
        self.known[whole] = map_
        return whole

    def at(self, there: bytes) -> BoundMap | Fields | None:
        """The map with these bytes; None where they encode none."""
        return Fields() if not any(there) else self.known.get(there)
