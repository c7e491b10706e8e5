"""A kernel's parameters on the host, and what a launch gives for them.

Layer: nvgen.  Input: the parameters of a kernel that is built, arrays and numbers.  Output: launch
arguments, with tensor maps made of the arrays.  Launches of machine code that is kept on disk need
this, and nothing of the builder.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import Enum

import numpy as np

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.element import ElementType
from intrinsics.findings import InputError, input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from nvgen.launching.parameters import Output
from nvgen.launching.tensor_map import TensorMap, tensor_map
from nvgen.launching.views import is_device_array

T = ScalarType


class MapKind(Enum):
    """The kind of copy that a tensor map is for."""

    TILES = "boxes"
    IMAGES = "pixels of images"
    ROWS = "four rows from anywhere"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel parameter, as the host passes it.

    The `box` of a tensor map is outermost first; of images it is the pixels and channels of a copy.
    `number` is what a pointer is to, where that is said, and `holds` the type of a number that is
    the parameter itself.
    """

    name: str
    dtype: ElementType | None = None
    box: tuple[int, ...] = ()
    swizzle: Swizzle = Swizzle.NONE
    is_output: bool = False
    kind: MapKind = MapKind.TILES
    number: ScalarType | None = None
    holds: ScalarType | None = None

    @property
    def rank(self) -> int:
        """The dimensions of its tensor map."""
        return len(self.box)

    @property
    def box_bytes(self) -> int:
        """Bytes of a box of its tensor map; 0 where it has none, or elements of part of a byte."""
        if not self.box or self.dtype is None or self.dtype.bits % 8:
            return 0
        return math.prod(self.box) * np.dtype(self.dtype.numpy).itemsize


_OPTIONS = (
    "grid", "block", "cluster", "smem", "device", "schedule", "races", "kernel", "timeout",
    "max_steps",
)  # fmt: skip
"""Those of `Compiled.run`, beside its arguments."""


def _meant(name: str, parameters: Sequence[str]) -> str:
    """The hint about a name that is nearly a parameter's or an option's."""
    near = get_close_matches(name, [*parameters, *_OPTIONS], 1)
    return f"did you mean {near[0]}=…?" if near else ""


def arguments(
    parameters: Sequence[Parameter], arrays: Sequence[object], named: dict[str, object]
) -> list[object]:
    """Launch arguments from positional and named ones; arrays become tensor maps where the kernel
    takes these.

    Raises: InputError when one is missing, left over or does not fit.
    """
    waiting, names = list(arrays), ", ".join(p.name for p in parameters)
    found: list[object] = []
    unknown = [name for name in named if name not in {p.name for p in parameters}]
    if unknown:
        raise input_error(
            "run/arguments",
            f"the kernel has no parameter '{unknown[0]}', nor has a launch of it such an option",
            got=", ".join(unknown),
            expected=names or "no parameters",
            hint=_meant(unknown[0], [p.name for p in parameters]),
        )
    by_name = ", ".join(named)
    for parameter in parameters:
        if parameter.name in named:
            value = named.pop(parameter.name)
        elif waiting:
            value = waiting.pop(0)
        else:
            raise input_error(
                "run/arguments",
                f"argument '{parameter.name}' is missing",
                expected=names,
            )
        found.append(on_host(parameter, value))
    if waiting:
        raise input_error(
            "run/arguments",
            "too many arguments",
            got=f"{len(arrays)} by place" + (f", and by name {by_name}" if by_name else ""),
            expected=names or "no parameters",
        )
    return found


def on_host(parameter: Parameter, value: object) -> object:
    """One launch argument: an array becomes a tensor map where the kernel takes one.

    Raises: InputError when it does not fit.
    """
    _check_numbers(parameter, value)
    _check_range(parameter, value)
    found = _tensor_map(parameter, value) if parameter.box else value
    if not parameter.is_output:
        return found
    is_array = isinstance(found, (np.ndarray, TensorMap)) or is_device_array(found)
    return Output(found) if is_array else found


def _check_range(parameter: Parameter, value: object) -> None:
    """Whether an integer is one that the parameter's type has: no negative one is unsigned.

    Raises: InputError.
    """
    type_ = parameter.holds
    if type_ is None or type_.kind != "i" or not isinstance(value, (int, np.integer)):
        return
    low = -(1 << type_.bits - 1) if type_.is_signed else 0
    if not low <= int(value) < low + (1 << type_.bits):
        name = type_.value.replace("s", "i")
        raise input_error(
            "run/argument",
            f"'{parameter.name}' is declared as {name}, which does not have this number",
            got=str(value),
            expected=f"{low} to {low + (1 << type_.bits) - 1}",
        )


_NAMES = {
    T.F16: "float16", T.BF16: "bfloat16", T.F32: "float32", T.F64: "float64",
    T.E4M3: "float8_e4m3fn", T.E5M2: "float8_e5m2",
    T.S8: "int8", T.S16: "int16", T.S32: "int32", T.S64: "int64",
    T.U8: "uint8", T.U16: "uint16", T.U32: "uint32", T.U64: "uint64",
}  # fmt: skip
"""What libraries of arrays call the types of numbers."""


def _check_numbers(parameter: Parameter, array: object) -> None:
    """Whether an array has the numbers that a pointer, or a tensor map, is to.

    Unsigned integers of the same size may be the bits of any; so may be signed ones of 8 and 16
    bits, as not all libraries have the unsigned.  Integers of both signs serve each other.  Numbers
    that pointers have no type for are bits for a pointer to unsigned integers.

    Raises: InputError for others, whose bits the kernel would take for its numbers.
    """
    wanted, bits = _wanted(parameter)
    dtype = getattr(array, "dtype", None)
    name = str(dtype).rpartition(".")[2]
    if wanted is None or dtype is None or name.removesuffix("_x2") == wanted:  # torch's pairs
        return
    is_bits = name.startswith("uint") or name in ("int8", "int16")
    both = "int" in name and "int" in wanted
    has_name = name in _NAMES.values() or name == "object" or not name.isidentifier()
    unnamed = not (has_name or parameter.box) and wanted.startswith("uint")
    same_size = 8 * getattr(dtype, "itemsize", 0) == max(bits, 8)
    if not (same_size and (is_bits or both or unnamed)):
        what = "tensor map of" if parameter.box else "pointer to"
        raise input_error(
            "run/argument",
            f"'{parameter.name}' is a {what} numbers of another type",
            got=f"an array of {name}",
            expected=f"{wanted}, or its bits as unsigned integers",
        )


def _wanted(parameter: Parameter) -> tuple[str | None, int]:
    """What the numbers of a parameter's array are called, where that is said, and their bits."""
    if parameter.dtype is not None:
        return _element_name(parameter.dtype), parameter.dtype.bits
    if parameter.number is not None:
        return _NAMES.get(parameter.number), parameter.number.bits
    return None, 0


@functools.cache
def _element_name(element: ElementType) -> str:
    return str(np.dtype(element.numpy))


def _check_images(parameter: Parameter, given: TensorMap | None) -> None:
    """Whether what is given for a map of images is one, whose copies make the kernel's tiles.

    Raises: InputError.
    """
    pixels, channels = parameter.box[-2:] if len(parameter.box) > 1 else (0, 0)
    wanted = ((channels, pixels), parameter.swizzle)
    if parameter.kind is MapKind.IMAGES and (
        given is None or given.im2col is None or (given.box, given.swizzle) != wanted
    ):
        got = f"{given.box[::-1]}, {given.swizzle.words}" if given else "no map of images"
        raise input_error(
            "run/argument",
            f"'{parameter.name}' is a tensor map of images, which copies bring pixel by pixel",
            got=got,
            expected=f"{pixels} pixels, {channels} channels, {parameter.swizzle.words}",
            hint="im2col_map(array, Im2col(lower, upper, channels, pixels), swizzle)",
        )


def _tensor_map(parameter: Parameter, value: object) -> TensorMap:
    if isinstance(value, TensorMap):
        _check_images(parameter, value)
        return value
    _check_images(parameter, None)
    if not isinstance(value, np.ndarray) and not is_device_array(value):
        raise input_error(
            "run/argument",
            f"'{parameter.name}' is a tensor map of an array",
            got=type(value).__name__,
            expected="a numpy array, or one that lives on a GPU",
        )
    try:
        return tensor_map(value, parameter.box, parameter.swizzle)
    except InputError as error:
        named = f"tensor map '{parameter.name}': "
        raise InputError([replace(f, message=named + f.message) for f in error.findings]) from None
