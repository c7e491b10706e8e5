"""Arrays that live on a GPU, of any library: where they begin and how their elements lie.

Layer: nvgen.driver.  DLPack and `__cuda_array_interface__`, read by cuda.core.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from intrinsics.findings import InputError, input_error

if TYPE_CHECKING:
    from cuda.core.utils import StridedMemoryView

UNORDERED = -1
"""The stream that says: order nothing."""


@dataclass(frozen=True, slots=True)
class View:
    """An array on a GPU; `strides` are bytes, `device` is the GPU's number (-1: the host's)."""

    address: int
    device: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_size: int


def is_device_array(value: object) -> bool:
    """Whether a value is an array of another library than numpy."""
    if isinstance(value, (np.ndarray, np.generic)):
        return False
    kind = type(value)  # an array's own answer may be an error, for types that a protocol lacks
    return hasattr(kind, "__dlpack__") or hasattr(kind, "__cuda_array_interface__")


def view_of(array: object, stream: int = UNORDERED) -> View:
    """How an array lies; `stream` waits for what the array's library has under way.

    Raises: InputError when it is no array.
    """
    if not is_device_array(array):
        raise _unusable(array, "no array")
    try:
        from cuda.core.utils import StridedMemoryView

        view = StridedMemoryView.from_any_interface(_plain(array), stream_ptr=stream)
        shape, item_size = tuple(view.shape), _item_size(array, view)
    except (ImportError, BufferError, TypeError, ValueError, RuntimeError) as error:
        raise _unusable(array, str(error)) from None
    steps = view.strides or _packed(shape)
    device = int(view.device_id) if view.is_device_accessible else -1
    return View(int(view.ptr), device, shape, tuple(n * item_size for n in steps), item_size)


def _plain(array: object) -> object:
    """An array whose type the protocols have: torch's 8-bit floating-point ones as bytes."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor) or array.element_size() != 1:
        return array
    plain: object = array.view(torch.uint8)
    return plain


def _unusable(array: object, why: str) -> InputError:
    return input_error(
        "run/argument",
        "the array cannot be used",
        got=f"{type(array).__name__}: {why}",
        expected="a numpy array, or one with DLPack or __cuda_array_interface__",
    )


def _item_size(array: object, view: StridedMemoryView) -> int:
    element_size = getattr(array, "element_size", None)  # torch has types that numpy lacks
    return int(element_size()) if callable(element_size) else int(view.dtype.itemsize)


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return tuple(reversed(steps))
