"""A launch as data: what is loaded, in which shape it runs, what its parameters hold.

Layer: nvgen.driver.  Input: a kernel's parameters and the arguments given for them.  Output: a
`Job`, which travels to another process, and the memory of its host arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TypeAlias

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Param
from intrinsics.tma.rules import Request
from isel.wait_bounds import WaitBounds
from nvgen.driver.images import Image
from nvgen.launching.launches import Dim3
from nvgen.launching.parameters import (
    Array,
    Output,
    bytes_by_value,
    check_array,
    check_takes_address,
    check_takes_map,
    is_by_value,
    is_same,
    number_value,
    overlap,
    overlapping,
    put_back,
)
from nvgen.launching.tensor_map import SIZE, TensorMap


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """The launch configuration: grid, block, cluster, and bytes of dynamic shared memory.

    A `dependent` launch may begin before what its stream did before has ended, and waits for that
    with griddepcontrol.wait.
    """

    grid: Dim3
    block: Dim3
    cluster: Dim3 = (1, 1, 1)
    smem: int = 0
    dependent: bool = False


@dataclass(frozen=True, slots=True)
class Pointer:
    """A parameter that holds the address of the memory numbered `memory`."""

    memory: int
    size: int = 8


@dataclass(frozen=True, slots=True)
class MapOf:
    """A parameter that holds a tensor map of the memory numbered `memory`, `size` bytes in all."""

    memory: int
    request: Request
    size: int = SIZE


Value: TypeAlias = bytes | Pointer | MapOf
"""What one parameter holds."""


@dataclass(frozen=True, slots=True)
class Job:
    """One launch of one kernel; `bounds` are those of its waits, if they have any."""

    images: tuple[Image, ...]
    kernel: str
    shape: LaunchConfig
    values: tuple[Value, ...]
    bounds: WaitBounds | None = None


@dataclass(frozen=True, slots=True)
class _Copy:
    """The array for a parameter, and how its elements lie in the device's copy."""

    name: str
    array: Array
    strides: tuple[int, ...]
    size: int

    def is_of(self, array: Array) -> bool:
        """Whether this is a copy of `array`, with the same element type."""
        return is_same(self.array, array) and self.array.dtype == array.dtype


@dataclass(slots=True)
class HostMemory:
    """The arrays of one launch; an array given twice is one memory."""

    copies: list[_Copy] = field(default_factory=list)

    def number(self, name: str, array: Array, *, packed: bool) -> int:
        """The number of an array's memory; `packed` drops the gaps that its strides leave.

        Raises: InputError when it overlaps with another argument's array.
        """
        strides = _packed_strides(array) if packed else array.strides
        for number, known in enumerate(self.copies):
            if known.is_of(array) and known.strides == strides:
                return number
            if overlap(known.array, array):
                raise overlapping(name)
        span = sum((n - 1) * step for n, step in zip(array.shape, strides, strict=True))
        size = span + array.itemsize if array.size else 0
        self.copies.append(_Copy(name, array, strides, size))
        return len(self.copies) - 1

    def contents(self) -> list[bytes]:
        """The bytes of every memory."""
        found = []
        for copy in self.copies:
            image = np.zeros(copy.size, np.uint8)
            if copy.size:
                _elements(copy, image)[...] = copy.array
            found.append(image.tobytes())
        return found

    def deliver(self, contents: Sequence[bytes | bytearray]) -> None:
        """Put what the kernel left back into the arrays.

        Raises: InputError where one cannot hold it: see `put_back`.
        """
        for copy, data in zip(self.copies, contents, strict=True):
            if not copy.size:
                continue
            put_back(copy.name, copy.array, _elements(copy, np.frombuffer(data, np.uint8)))


def _elements(copy: _Copy, image: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> Array:
    return np.ndarray(copy.array.shape, copy.array.dtype, image.data, strides=copy.strides)


def _packed_strides(array: Array) -> tuple[int, ...]:
    strides, step = [], array.itemsize
    for n in reversed(array.shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def bind_host(
    params: Sequence[Param], arguments: Sequence[object]
) -> tuple[tuple[Value, ...], HostMemory]:
    """The parameter values for arrays in host memory, which are copied.

    Raises: InputError when an argument does not fit its parameter.
    """
    memory = HostMemory()
    values = [_bound(p, a, memory) for p, a in zip(params, arguments, strict=True)]
    return tuple(values), memory


def _bound(param: Param, argument: object, memory: HostMemory) -> Value:
    given = argument.array if isinstance(argument, Output) else argument
    match given:
        case TensorMap():
            number = memory.number(param.name, given.array, packed=False)
            return map_value(param, given, number)
        case np.ndarray() if is_by_value(param):
            return bytes_by_value(param, given)
        case np.ndarray():
            check_array(param, given)
            return pointer_value(param, memory.number(param.name, given, packed=True))
    return number_value(param, given)


def map_value(param: Param, given: TensorMap, memory: int) -> MapOf:
    """A tensor map as a parameter.

    Raises: InputError when the parameter has no room for it.
    """
    check_takes_map(param)
    return MapOf(memory, given.request, param.size)


def pointer_value(param: Param, memory: int) -> Pointer:
    """The address of an array as a parameter.

    Raises: InputError when the parameter is no pointer.
    """
    check_takes_address(param, "an array")
    return Pointer(memory, param.size)
