"""Arrays that live on a GPU, of any library: where they begin and how their elements lie.

Layer: nvgen.launching.  DLPack and `__cuda_array_interface__`, read by cuda.core.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from intrinsics.findings import InputError, input_error
from intrinsics.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cuda.core.utils import StridedMemoryView

UNORDERED = -1
"""The stream that says: order nothing."""

LEGACY = 1
"""CU_STREAM_LEGACY: DLPack wants the default stream named so."""


class _Tensor(Protocol):
    """What is asked of a tensor of torch."""

    is_cuda: bool
    requires_grad: bool
    layout: object
    device: object
    shape: Sequence[int]

    def is_conj(self) -> bool: ...

    def is_neg(self) -> bool: ...

    def is_contiguous(self) -> bool: ...

    def stride(self) -> tuple[int, ...]: ...

    def element_size(self) -> int: ...

    def data_ptr(self) -> int: ...

    def get_device(self) -> int: ...


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
    """The address, shape and strides of an array; `stream` waits for pending work of the array's
    library.

    Raises: InputError when it is no array.
    """
    if (known := _of_torch(array, stream)) is not None:
        return known
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


def _of_torch(array: object, stream: int) -> View | None:
    """What torch itself says of a tensor, in a tenth of the time that DLPack takes.

    None for what DLPack refuses or orders: tensors with derivatives, views that negate or
    conjugate, and a stream that is not torch's current one.
    """
    torch = sys.modules.get("torch")
    if torch is None or type(array) is not torch.Tensor:
        return None
    tensor = cast("_Tensor", array)
    is_plain = tensor.layout is torch.strided and not (tensor.is_conj() or tensor.is_neg())
    if not tensor.is_cuda or tensor.requires_grad or not is_plain:
        return None
    if stream not in (UNORDERED, torch.cuda.current_stream(tensor.device).cuda_stream or LEGACY):
        return None
    shape, size = tuple(tensor.shape), tensor.element_size()
    steps = _packed(shape) if tensor.is_contiguous() else tensor.stride()
    strides = tuple(n * size for n in steps)
    return View(tensor.data_ptr(), tensor.get_device(), shape, strides, size)


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
