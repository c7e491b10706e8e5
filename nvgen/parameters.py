"""Kernel parameters and what is given for them, whatever the kernel runs on.

Layer: nvgen.  Input: a parameter of a kernel and a Python or numpy value.  Output: its bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import InputError, input_error
from intrinsics.mir import Param
from intrinsics.modifiers import ScalarType

Array: TypeAlias = NDArray[np.generic]
Number: TypeAlias = int | float | np.integer | np.floating


@dataclass(slots=True)
class Output:
    """An array that the kernel writes, itself or through a tensor map: its bytes count as unwritten
    before the launch.  `array` is an array or a `TensorMap`.
    """

    array: object


def number_bytes(param: Param, value: Number) -> bytes:
    """The bytes of a number as a parameter, lowest first.

    Raises: InputError when the parameter does not hold it.
    """
    if param.type.kind == "f":
        try:
            return struct.pack("<f" if param.size == 4 else "<d", float(value))
        except OverflowError:
            raise misfit(param, f"the number {value}") from None
    if param.is_pointer or param.type is ScalarType.B8 or isinstance(value, (float, np.floating)):
        raise misfit(param, f"the number {value}")
    bits = 8 * param.size
    if not -(1 << bits - 1) <= int(value) < 1 << bits:
        raise misfit(param, f"the number {value}")
    return (int(value) & ((1 << bits) - 1)).to_bytes(param.size, "little")


def is_by_value(param: Param) -> bool:
    """Whether a parameter takes bytes: a struct, a vector, a long integer, a half."""
    return param.type is ScalarType.B8 or (param.type.kind == "b" and not param.is_pointer)


def bytes_by_value(param: Param, value: Array) -> bytes:
    """The bytes of an array that is passed itself, not by its address.

    Raises: InputError when it has another size than the parameter.
    """
    if value.nbytes != param.size:
        raise misfit(param, f"{value.nbytes} bytes")
    return value.tobytes()


def describe(param: Param) -> str:
    """What a parameter takes, in words."""
    if param.type is ScalarType.B8:
        return f"{param.size} bytes by value"
    return "pointer" if param.is_pointer else param.type.value


def misfit(param: Param, got: str) -> InputError:
    """The error of an argument that does not fit its parameter."""
    return input_error(
        "run/argument", f"an argument does not fit {param.name}", got=got, expected=describe(param)
    )
