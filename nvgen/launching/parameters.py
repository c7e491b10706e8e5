"""Kernel parameters and the arguments given for them, on the simulator and on GPUs alike.

Layer: nvgen.launching.  Input: a parameter of a kernel and a Python or numpy value.  Output: its
bytes, or the error that it does not fit; and whether two arrays are one memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.findings import InputError, input_error, shown
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Param
from intrinsics.modifiers import ScalarType
from nvgen.launching.tensor_map import SIZE, TensorMap

Array: TypeAlias = NDArray[np.generic]
Number: TypeAlias = int | float | np.integer | np.floating
Argument: TypeAlias = Array | TensorMap | Number | np.generic
"""The types of arguments; a tensor map contains its array."""


@dataclass(slots=True)
class Output:
    """An array that the kernel writes, itself or through a tensor map: its bytes count as unwritten
    before the launch.  `array` is an array or a `TensorMap`.
    """

    array: object


def check_count(
    kernel: str, params: Sequence[Param], arguments: Sequence[object], *, expected: str = ""
) -> None:
    """Whether there is an argument for every parameter of `kernel`; `expected` is for the error.

    Raises: InputError.
    """
    if len(params) != len(arguments):
        raise input_error(
            "run/arguments",
            f"kernel {kernel} has {_counted(len(params), 'parameter')}",
            got=_counted(len(arguments), "argument"),
            expected=expected,
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# ---- numbers and bytes -----------------------------------------------------------------------


def number_value(param: Param, given: object) -> bytes:
    """A number as a parameter.

    Raises: InputError when it is none, or the parameter does not hold it.
    """
    if param.type is ScalarType.B16 and not param.is_pointer:
        number = _half(param, given)
        if number is not None:
            return number
    elif _half_type(given) is not None:
        given = float(np.asarray(given, np.float64))
    if isinstance(given, (int, float, np.integer, np.floating)):
        return number_bytes(param, given)
    raise misfit(param, type(given).__name__)


def _half_type(given: object) -> ScalarType | None:
    """F16 or BF16 for a scalar or an array of these numbers; None for all else."""
    if not isinstance(given, (np.generic, np.ndarray)):
        return None
    return {"float16": ScalarType.F16, "bfloat16": ScalarType.BF16}.get(given.dtype.name)


def _half(param: Param, given: object) -> bytes | None:
    """The bytes of a number as the half or bfloat that a parameter is; None for other things.

    Raises: InputError when the number is too large, or it is ambiguous which of both is meant.
    """
    is_float = isinstance(given, (float, np.floating))
    kind = param.half or _half_type(given)
    if not is_float and _half_type(given) is None:
        return None
    if kind is None:
        raise misfit(param, f"the number {given}")
    with np.errstate(over="ignore"):
        found = np.asarray(given).astype(ElementType(kind.value).numpy)
    if np.isinf(np.asarray(found, np.float64)) and np.isfinite(np.asarray(given, np.float64)):
        raise misfit(param, f"the number {given}")
    return found.tobytes()


def number_bytes(param: Param, value: Number) -> bytes:
    """The bytes of a number as a parameter, lowest first.

    Raises: InputError when the parameter does not hold it.
    """
    if param.type.kind == "f":
        try:
            return struct.pack("<f" if param.size == 4 else "<d", float(value))
        except OverflowError:
            raise misfit(param, f"the number {shown(value)}") from None
    if param.is_pointer or param.type is ScalarType.B8 or isinstance(value, (float, np.floating)):
        raise misfit(param, f"the number {shown(value)}")
    bits = 8 * param.size
    if not -(1 << bits - 1) <= int(value) < 1 << bits:
        raise misfit(param, f"the number {shown(value)}")
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
    if param.half is not None and _half_type(value) not in (None, param.half):
        raise misfit(param, f"the bits of a {value.dtype}")
    return value.tobytes()


_NO_NUMBERS = "UMm"
"""numpy's kinds of text, of dates and of times: what they mean is the host's."""


def check_array(param: Param, array: Array) -> None:
    """Whether an array's bytes are what a GPU reads: numbers, the lowest byte first.

    Raises: InputError.
    """
    if array.dtype.hasobject or array.dtype.kind in _NO_NUMBERS or not array.dtype.isnative:
        raise input_error(
            "run/argument",
            f"no GPU reads the elements of the array for {param.name}",
            got=f"dtype {array.dtype.str}",
            expected="numbers, the lowest byte first",
            hint="array.astype(another dtype)",
        )


def put_back(name: str, array: Array, left: Array) -> None:
    """Copy what a kernel has left in the memory of the parameter `name` into its array.

    Raises: InputError where that is read-only, or its elements share memory, and cannot hold it.
    """
    if not array.flags.writeable:
        if left.tobytes() != array.tobytes():
            raise _cannot_hold("run/read-only", "read-only", name, "an array that can be written")
        return
    np.copyto(array, left)
    if not array.flags.c_contiguous and left.tobytes() != array.tobytes():
        shared = "one whose elements share memory"
        raise _cannot_hold("run/overlap", shared, name, "an element of its own in each place")


def _cannot_hold(rule: str, kind: str, name: str, expected: str) -> InputError:
    return input_error(
        rule,
        f"the kernel has written to an array that is {kind}",
        got=f"the array for {name}",
        expected=expected,
        hint="array.copy()",
    )


# ---- addresses and tensor maps ---------------------------------------------------------------


def check_takes_address(param: Param, got: str) -> None:
    """Whether a parameter holds the address of an array, which `got` says in words.

    Raises: InputError.
    """
    if param.size != 8 or not (param.is_pointer or param.type is ScalarType.U64):
        raise misfit(param, got)


def check_takes_map(param: Param) -> None:
    """Whether a parameter has room for a tensor map.

    Raises: InputError.
    """
    if param.type is not ScalarType.B8 or param.size < SIZE:
        raise misfit(param, "a tensor map")


def is_same(array: Array, other: Array) -> bool:
    """Whether two arrays are the same elements in the same order, in the same memory."""
    return _identity(array) == _identity(other)


def _identity(array: Array) -> tuple[object, ...]:
    return array.__array_interface__["data"], array.shape, array.strides, array.dtype.itemsize


def overlap(array: Array, other: Array) -> bool:
    """Whether two arrays have a byte in common."""
    return np.may_share_memory(array, other) and np.shares_memory(array, other)


def overlapping(name: str) -> InputError:
    """The error that the array for the parameter `name` is a part of another argument's."""
    return input_error(
        "run/overlap",
        f"the array for {name} overlaps with another argument",
        expected="the same array, or arrays apart",
        hint="pass the whole array, and an offset as a number",
    )


# ---- words -----------------------------------------------------------------------------------


def describe(param: Param) -> str:
    """A description of the values that a parameter takes."""
    if param.type is ScalarType.B8:
        return f"{param.size} bytes by value"
    return "pointer" if param.is_pointer else (param.half or param.type).value


def misfit(param: Param, got: str) -> InputError:
    """The error of an argument that does not fit its parameter."""
    return input_error(
        "run/argument", f"an argument does not fit {param.name}", got=got, expected=describe(param)
    )
