"""The arguments of a launch: parameters as bytes, and the memory behind arrays.

Layer: nvgen.sim.  Input: a kernel, and arrays, numbers and tensor maps.  Output: its parameters'
bytes, regions of global memory, and the arrays again, with what the kernel wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intrinsics.mir import MachineFunction, Param
from isel.variables import round_up
from nvgen.launching.parameters import (
    Argument,
    Array,
    Output,
    bytes_by_value,
    check_array,
    check_count,
    check_takes_address,
    check_takes_map,
    describe,
    is_by_value,
    is_same,
    number_value,
    overlap,
    overlapping,
    put_back,
)
from nvgen.launching.tensor_map import TensorMap
from nvgen.sim.faults import no_room, not_simulated
from nvgen.sim.memory.bound_maps import BoundMap
from nvgen.sim.memory.regions import Memory, Region
from nvgen.sim.memory.tensor_maps import TensorMaps


def _copied(param: Param, array: Array) -> np.ndarray:
    """The bytes of an array.

    Raises: InputError where there is no memory for a copy.
    """
    try:
        return np.frombuffer(array.tobytes(), np.uint8).copy()
    except MemoryError:
        what = f"a copy of the array for {param.name}"
        expected = "an array whose elements, each of its own, have room in memory"
        raise no_room(what, array.nbytes, expected) from None


class Binding:
    """Arguments as parameter bytes, and the memory of arrays."""

    def __init__(self, memory: Memory, *, stores: bool) -> None:
        self.memory = memory
        self.stores = stores  # whether the kernel may write a tensor, or a tensor map
        self.tensor_maps = TensorMaps()
        self._maps: list[tuple[str, bytes, BoundMap]] = []
        self._written: list[tuple[Array, Region]] = []

    def bind(
        self, function: MachineFunction, arguments: Sequence[Argument | Output]
    ) -> tuple[bytes, dict[str, int]]:
        """The parameter bytes, and the offset of each parameter.

        Raises: InputError when an argument does not fit its parameter.
        """
        takes = ", ".join(describe(p) for p in function.params) or "none"
        check_count(function.name, function.params, arguments, expected=takes)
        data = bytearray()
        offsets: dict[str, int] = {}
        for param, argument in zip(function.params, arguments, strict=True):
            data.extend(bytes(round_up(len(data), param.align) - len(data)))
            offsets[param.name] = len(data)
            data.extend(self._encode(param, argument))
        self._connect_maps()
        return bytes(data), offsets

    def _encode(self, param: Param, argument: Argument | Output) -> bytes:
        match argument:
            case TensorMap():
                return self._tensor_map(param, argument)
            case Output(TensorMap() as map_):
                return self._tensor_map(param, map_, written=False)
            case Output(np.ndarray() as array):
                return self._pointer(param, array, written=False)
            case np.ndarray() if is_by_value(param):
                return bytes_by_value(param, argument)
            case np.ndarray():
                return self._pointer(param, argument, written=True)
        return number_value(param, argument)

    def _tensor_map(self, param: Param, argument: TensorMap, *, written: bool = True) -> bytes:
        check_takes_map(param)
        bound = BoundMap(argument, argument.units)
        key = self.tensor_maps.bound(len(self._maps), bound)
        self._maps.append((param.name, key, bound))
        if self.stores:
            self._region(param, argument.array, written=written)
        return key.ljust(param.size, b"\0")

    def _connect_maps(self) -> None:
        """Alias the arrays of tensor maps with those that are passed as pointers too.

        Raises: NotSimulatedError when only parts of the arrays are the same.
        """
        for name, key, found in self._maps:
            for array, region in self._written:
                if is_same(array, found.map.array):
                    units = found.array
                    live = region.data.view(units.dtype).reshape(units.shape)
                    written = region.written.reshape((*units.shape, units.itemsize))
                    live_map = BoundMap(found.map, live, written, region)
                    self.tensor_maps.known[key] = live_map
                elif overlap(array, found.map.array):
                    both = f"{name} and {region.name} share memory: pass the same array to both"
                    raise not_simulated(
                        "a tensor map that overlaps with another argument", hint=both
                    )

    def _pointer(self, param: Param, array: Array, *, written: bool) -> bytes:
        check_takes_address(param, f"an array of {array.dtype}")
        check_array(param, array)
        return self._region(param, array, written=written).base.to_bytes(param.size, "little")

    def _region(self, param: Param, array: Array, *, written: bool) -> Region:
        region = self._known(param, array)
        if region is None:
            data = _copied(param, array)
            region = self.memory.allocate(param.name, data.size, data if written else None)
            self._written.append((array, region))
        return region

    def _known(self, param: Param, array: Array) -> Region | None:
        """The region of an array that an earlier argument passed too, None if there is none.

        Raises: InputError when the two overlap but are not the same.
        """
        for other, region in self._written:
            if not np.may_share_memory(array, other):
                continue
            if is_same(array, other):
                return region
            if overlap(array, other):
                raise overlapping(param.name)
        return None

    def deliver(self) -> None:
        """Copy what the kernel wrote back into the arrays.

        Raises: InputError where one cannot hold it: see `put_back`.
        """
        for array, region in self._written:
            raw = np.frombuffer(array.tobytes(), np.uint8).copy()
            raw[region.written] = region.data[region.written]
            put_back(region.name, array, raw.view(array.dtype).reshape(array.shape))
