"""Tensor maps: the description of a tensor in global memory for TMA copies.

Layer: nvgen.  A `TensorMap` is made on the host from an array, checked as the CUDA driver would
check it, and passed to a kernel as a 128-byte grid constant.  CUDA driver API,
cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide; PTX ISA, Tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import Finding, InputError, input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.tma.fields import Element, Fill, Interleave, L2Promotion, element_of
from intrinsics.tma.rules import Im2col, Request, finding, findings

Array: TypeAlias = NDArray[np.generic]

SWIZZLES = {
    0: Swizzle.NONE,
    32: Swizzle.B32,
    64: Swizzle.B64,
    128: Swizzle.B128,
}
"""Swizzling by its span in bytes."""

SLICES = {Interleave.B16: 16, Interleave.B32: 32}
"""Bytes of a slice of channels."""

SIZE = 128
"""Bytes of an encoded tensor map."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a tensor map beside its shape; `element` None is the array's own type.

    `element_strides` are in the array's order of dimensions; none given are all 1.
    """

    element: Element | None = None
    element_strides: tuple[int, ...] = ()
    interleave: Interleave = Interleave.NONE
    l2: L2Promotion = L2Promotion.NONE
    fill: Fill = Fill.ZEROS


_PLAIN = Options()


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A view of a global array in boxes, or in pixels of images; innermost dimension first.

    `source` is the array, of numpy or of a library whose arrays live on a GPU; `item_size` is bytes
    of one of its elements, `dims` are elements, `strides` bytes from one element of dimension i + 1
    to the next (the innermost is packed).  `box` is as the driver takes it; of images it is the
    channels and the pixels of one copy.

    Where channels are interleaved (N x C / 8 x H x W x 8, say), `dims` begin with W, and one
    element of it is a slice of 16 or 32 bytes, the array's innermost dimension.
    """

    source: object
    item_size: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: Swizzle = Swizzle.NONE
    element: Element = Element.U8
    element_strides: tuple[int, ...] = ()
    interleave: Interleave = Interleave.NONE
    l2: L2Promotion = L2Promotion.NONE
    fill: Fill = Fill.ZEROS
    im2col: Im2col | None = None

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
    def units(self) -> Array:
        """The array in units of a copy: elements, or slices where channels are interleaved."""
        if self.interleave is Interleave.NONE:
            return self.array
        return self.array.view(f"V{self.unit_bits // 8}")[..., 0]

    @property
    def unit_bits(self) -> int:
        """Bits of what a coordinate counts: an element, or a slice."""
        return SLICES.get(self.interleave, 0) * 8 or self.element.bits

    @property
    def request(self) -> Request:
        """The parameters of the driver's call that encodes the map."""
        return Request(
            self.element,
            self.dims,
            self.strides,
            () if self.im2col else self.box,
            self.element_strides,
            self.interleave,
            self.swizzle,
            self.l2,
            self.fill,
            self.im2col,
        )

    @property
    def copied(self) -> tuple[int, ...]:
        """Elements of one copy in each dimension: a box has fewer where it strides over some.

        Of slices a copy brings one, whatever the box says: an H100 does so.
        """
        if self.im2col:
            return self.box
        steps = self.element_strides or (1,) * len(self.box)
        if self.interleave is Interleave.NONE:
            steps = (1, *steps[1:])
        found = [-(-n // step) for n, step in zip(self.box, steps, strict=True)]
        if self.interleave is not Interleave.NONE:
            found[-2] = 1
        return tuple(found)

    @property
    def row_bytes(self) -> int:
        """Bytes of the box's innermost dimension; where it is swizzled, a row begins a span."""
        return self.copied[0] * self.unit_bits // 8

    @property
    def box_bytes(self) -> int:
        """Bytes of one copy: what an mbarrier must expect."""
        return int(np.prod(self.copied[1:], dtype=np.int64)) * self.row_bytes


def tensor_map(
    array: object, box: Sequence[int], swizzle: int | Swizzle = 0, options: Options = _PLAIN
) -> TensorMap:
    """A tensor map of `array` with tiles of `box` elements (in the array's order of dimensions).

    `array` is one of numpy's, or one that lives on a GPU (DLPack or `__cuda_array_interface__`);
    `swizzle` is the span in bytes (0, 32, 64 or 128) or a mode.  Elements of 4 and 6 bits are in an
    array of bytes; the box counts the elements.  Of interleaved channels the box has no number for
    the array's last dimension, which is one slice.

    Raises: InputError with every requirement of cuTensorMapEncodeTiled that is not met.
    """
    return _made(array, tuple(box), None, swizzle, options)


def im2col_map(
    array: object,
    images: Im2col,
    swizzle: int | Swizzle = 0,
    options: Options = _PLAIN,
    *,
    strides: Sequence[int] = (),
) -> TensorMap:
    """A tensor map of images: `array` is N x W x C, N x H x W x C or N x D x H x W x C.

    `strides` are those of a convolution, in the array's order (H, W); none given are all 1.  The
    coordinates of a copy are those of the first pixel in the image: for filter position (p, q) of a
    convolution with padding 1 and stride 2 (2 q - 1, 2 p - 1).

    Raises: InputError with every requirement of cuTensorMapEncodeIm2col (or …Wide) that is not met.
    """
    if strides:
        options = replace(options, element_strides=(1, *strides, 1))
    return _made(array, (), images, swizzle, options)


def _made(
    array: object,
    box: tuple[int, ...],
    images: Im2col | None,
    swizzle: int | Swizzle,
    options: Options,
) -> TensorMap:
    form = _form_of(array)
    problems = list(_unfit(form, swizzle, options))
    if options.interleave is not Interleave.NONE:
        problems += _unsliced(form, SLICES[options.interleave])
        form = replace(form, shape=form.shape[:-1], strides=form.strides[:-1])
    element = options.element or form.element or Element.U8
    mode = swizzle if isinstance(swizzle, Swizzle) else SWIZZLES.get(swizzle, Swizzle.NONE)
    dims = form.shape[::-1]
    if element.is_packed and dims:
        dims = (dims[0] * 8 // element.bits, *dims[1:])
    made = TensorMap(
        array,
        form.item_size,
        dims,
        form.strides[::-1][1:],
        (images.channels, images.copied) if images else box[::-1],
        mode,
        element,
        options.element_strides[::-1],
        options.interleave,
        options.l2,
        options.fill,
        images,
    )
    problems += _problems(made.request)
    if problems:
        raise InputError(problems)
    return made


_problems = functools.lru_cache(maxsize=4096)(findings)
"""Requirements are asked for once for each shape, strides and element type."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How the elements of an array lie; `element` is None where tensor maps have no such type."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_size: int
    element: Element | None
    shown: str


def _form_of(array: object) -> _Form:
    if isinstance(array, np.ndarray):
        dtype, size = array.dtype, array.dtype.itemsize
        element = element_of(dtype, size) if dtype.kind in "biufV" else None
        return _Form(array.shape, array.strides, size, element, f"{dtype}, {size} bytes")
    from nvgen.launching.views import view_of

    view = view_of(array)
    element = element_of(getattr(array, "dtype", ""), view.item_size)
    return _Form(view.shape, view.strides, view.item_size, element, f"{view.item_size} bytes")


def _unsliced(form: _Form, size: int) -> Iterator[Finding]:
    """Whether an array's last dimension is a slice, and slices lie side by side."""
    slice_bytes = form.shape[-1] * form.item_size if form.shape else 0
    if slice_bytes != size or (len(form.shape) > 1 and form.strides[-2] != size):
        text = "the array's last dimension is no slice of interleaved channels"
        hint = "N x C / 8 x H x W x 8 with elements of 2 bytes, and slices of 16"
        got = f"{form.shape}, strides {form.strides} bytes"
        yield finding("slice", text, got, f"{size} bytes, side by side", hint)


def _unfit(form: _Form, swizzle: int | Swizzle, options: Options) -> list[Finding]:
    """What an array or an option has that the parameters of a tensor map cannot say."""
    found: list[Finding] = []
    if swizzle not in SWIZZLES and not isinstance(swizzle, Swizzle):
        hint = "a mode, where the atoms are not of 16 bytes"
        found.append(finding("swizzle", "no such swizzle", swizzle, "0, 32, 64 or 128", hint))
    element = options.element or form.element
    if element is None or max(element.bits, 8) != 8 * form.item_size:
        wanted = "numbers of 1, 2, 4, 8 bytes"
        if options.element and form.element:
            wanted = f"{options.element.bits} bits each, or bytes for packed elements"
        hint = "view the array as another type"
        text = "no tensor map has such elements"
        found.append(finding("element", text, form.shown, wanted, hint))
    if form.strides and form.strides[-1] != form.item_size:
        text, hint = "the innermost dimension is not packed", "copy it, or transpose the array"
        found.append(finding("packed", text, form.strides[-1], str(form.item_size), hint))
    rank = len(form.shape) - (options.interleave is not Interleave.NONE)
    if options.element_strides and len(options.element_strides) != rank:
        text = "element strides have another rank than the array"
        got, expected = str(len(options.element_strides)), str(rank)
        found.append(finding("element-stride", text, got, expected, "one for each dimension"))
    return found
