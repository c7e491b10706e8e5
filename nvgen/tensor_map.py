"""Tensor maps: what a TMA copy knows of a tensor in global memory.

Layer: nvgen.  A `TensorMap` is made on the host from an array, checked as the CUDA driver would
check it, and passed to a kernel as a 128-byte grid constant.  CUDA driver API,
cuTensorMapEncodeTiled; PTX ISA, Tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Finding, InputError, Severity, input_error
from intrinsics.smem_desc import Swizzle

Array: TypeAlias = NDArray[np.generic]

SWIZZLES = {
    0: Swizzle.NONE,
    32: Swizzle.B32,
    64: Swizzle.B64,
    128: Swizzle.B128,
}
"""Swizzling by its span in bytes."""

SIZE = 128
"""Bytes of an encoded tensor map."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tiled view of a global array; sizes are in elements, innermost dimension first.

    `source` is the array, of numpy or of a library whose arrays live on a GPU; `item_size` is bytes
    of an element, `strides` bytes from one element of dimension i + 1 to the next (the innermost is
    packed).
    """

    source: object
    item_size: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: Swizzle = Swizzle.NONE

    @property
    def array(self) -> Array:
        """The array, where it is the host's.

        Raises: InputError when it lives on a GPU.
        """
        if isinstance(self.source, np.ndarray):
            return self.source
        raise input_error(
            "run/argument",
            "the tensor map is of an array that is not the host's",
            got=type(self.source).__name__,
            expected="a numpy array",
        )

    @property
    def row_bytes(self) -> int:
        """Bytes of the box's innermost dimension; where it is swizzled, a row begins a span."""
        return self.box[0] * self.item_size

    @property
    def box_bytes(self) -> int:
        """Bytes that one copy brings: what an mbarrier must expect."""
        return int(np.prod(self.box)) * self.item_size


def tensor_map(array: object, box: Sequence[int], swizzle: int = 0) -> TensorMap:
    """A tensor map of `array` with tiles of `box` elements (in the array's order of dimensions).

    `array` is one of numpy's, or one that lives on a GPU (DLPack or `__cuda_array_interface__`);
    `swizzle` is the span in bytes: 0, 32, 64 or 128.

    Raises: InputError with every requirement of cuTensorMapEncodeTiled that is not met.
    """
    form = _form_of(array)
    problems = list(_problems(form, tuple(box), swizzle))
    if problems:
        raise InputError(problems)
    inner_first = form.strides[::-1]
    return TensorMap(
        array,
        form.item_size,
        form.shape[::-1],
        inner_first[1:],
        tuple(box)[::-1],
        SWIZZLES[swizzle],
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """How the elements of an array lie; `odd` names a type whose elements are no numbers."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_size: int
    odd: str = ""


def _form_of(array: object) -> _Form:
    if isinstance(array, np.ndarray):
        odd = "" if array.dtype.kind in "biufV" else str(array.dtype)
        return _Form(array.shape, array.strides, array.dtype.itemsize, odd)
    from nvgen.driver.views import view_of

    view = view_of(array)
    return _Form(view.shape, view.strides, view.item_size)


def _problems(array: _Form, box: tuple[int, ...], swizzle: int) -> list[Finding]:
    found: list[Finding] = []

    def wrong(rule: str, message: str, got: object, expected: str) -> None:
        found.append(
            Finding(
                f"tensor-map/{rule}",
                Severity.ERROR,
                message,
                got=str(got),
                expected=expected,
                section="CUDA driver API, cuTensorMapEncodeTiled",
            )
        )

    if swizzle not in SWIZZLES:
        wrong("swizzle", "no such swizzle", swizzle, "0, 32, 64 or 128")
    if not 1 <= len(array.shape) <= 5:
        wrong("rank", "TMA rank must be in the range 1..5", len(array.shape), "1 to 5 dimensions")
    if array.item_size not in (1, 2, 4, 8) or array.odd:
        got = array.odd or f"{array.item_size} bytes"
        wrong("element", "no tensor map has such elements", got, "numbers of 1, 2, 4, 8 bytes")
    if not all(array.shape):
        wrong("empty", "a dimension is empty", array.shape, "at least 1 element each")
    if len(box) != len(array.shape):
        wrong("box", "the box has another rank than the array", len(box), str(len(array.shape)))
        return found
    if not all(1 <= b <= 256 for b in box):
        wrong("box", "a box dimension is out of range", box, "1 to 256 elements each")
    item = array.item_size
    if len(array.shape) and array.strides[-1] != item:
        wrong("packed", "the innermost dimension is not packed", array.strides[-1], str(item))
    for stride in array.strides[:-1]:
        if stride % 16 or stride <= 0:
            wrong("stride", "a stride is not a multiple of 16 bytes", stride, "a multiple of 16")
    inner = box[-1] * item if box else 0
    if inner % 16:
        wrong(
            "box-bytes",
            "the box's innermost dimension is not a multiple of 16 bytes",
            inner,
            "a multiple of 16",
        )
    if swizzle in (32, 64, 128) and inner > swizzle:
        wrong(
            "swizzle-span",
            "the box's innermost dimension exceeds the swizzle span",
            inner,
            f"at most {swizzle} bytes",
        )
    return found
