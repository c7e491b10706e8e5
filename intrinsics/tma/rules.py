"""Rules of the driver about tensor maps.

Layer: nvgen.  Input: the parameters of one tensor map, as the driver's functions take them, the
innermost dimension first.  Output: findings, one for each requirement that is not met.  CUDA driver
API, cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide.

Where the driver (580.159.04, on an H200) differs from its documentation, the rules follow it:

- A stride of 0 is taken: the dimension repeats its one element.
- Interleaving by 32 bytes is taken with any swizzling but the one of 32-byte atoms, although the
  documentation demands swizzling by 32 bytes.
- The first element stride has to be in range, although nothing reads it.
- The innermost extent is a multiple of 16 bytes also where channels are interleaved.
- The bounding box of interleaved images is counted from the innermost dimension on, and the ends
  of any bounding box are signed numbers of 32 bits.
- A box, or the pixels of a copy, larger than a multiprocessor's shared memory is refused.  A box is
  counted with each extent divided by its element stride and rounded down, so that one element with
  a stride of 2 counts as none.
- 32-byte atoms in 128-byte swizzling need compute capability 10.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import Finding, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.tma.fields import Element, Fill, Interleave, L2Promotion, Wide

MOST_DIMENSIONS = 5
LARGEST_DIMENSION = 1 << 32
"""Elements along a dimension."""

LARGEST_STRIDE = 1 << 40
"""Bytes; a stride is less."""

MOST_BOX, MOST_STEP, MOST_CHANNELS, MOST_PIXELS = 256, 8, 256, 1024
MOST_BOX_BYTES = 228 * 1024
"""Bytes of a box of tiles: the shared memory of a multiprocessor of compute capability 9.0."""

CORNERS = {3: 15, 4: 7, 5: 4}
"""Bits of a corner of the bounding box beside its sign, by rank."""

WIDE_PIXELS = 128
"""Pixels of a copy in the mode im2col::w::128."""


@dataclass(frozen=True, slots=True)
class Im2col:
    """Images: a bounding box of pixels, by its corners, and what a copy brings of it.

    `lower` and `upper` count from the first and the last pixel of an image, the innermost spatial
    dimension first; a wide box has one number each, as its other dimensions are 1.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int
    wide: Wide | None = None

    @property
    def copied(self) -> int:
        """Pixels of one copy."""
        return WIDE_PIXELS if self.wide is Wide.W128 else self.pixels


@dataclass(frozen=True, slots=True)
class Request:
    """The parameters of a tensor map: sizes in elements, strides in bytes, innermost first.

    `box` is empty where `im2col` is given.  `address` is where the tensor begins, and `capability`
    the GPU's compute capability (90 for sm_90), if they are known.
    """

    element: Element
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...] = ()
    element_strides: tuple[int, ...] = ()
    interleave: Interleave = Interleave.NONE
    swizzle: Swizzle = Swizzle.NONE
    l2: L2Promotion = L2Promotion.NONE
    fill: Fill = Fill.ZEROS
    im2col: Im2col | None = None
    address: int | None = None
    capability: int | None = None

    @property
    def steps(self) -> tuple[int, ...]:
        """Element strides: all 1 if none are given."""
        return self.element_strides or (1,) * len(self.dims)

    @property
    def unit(self) -> int:
        """The number of bytes that strides and the address are multiples of."""
        wide = self.interleave is Interleave.B32 or self.element.is_padded
        return 32 if wide else 16


def findings(request: Request) -> list[Finding]:
    """Every requirement that a tensor map does not meet; rules are called `tensor-map/…`."""
    found = [*_tensor(request), *_layout(request)]
    if request.im2col is None:
        found += _box(request)
    else:
        found += _images(request, request.im2col)
    return found


def box_findings(element: Element, box: tuple[int, ...], swizzle: Swizzle) -> list[Finding]:
    """Findings about a box that no tensor can have; `box` is innermost first."""
    request = Request(element, (LARGEST_DIMENSION,) * len(box), (), box, swizzle=swizzle)
    return [*_rank(request), *_box(request)]


def finding(
    rule: str, message: str, got: object, expected: str, hint: str = "", function: str = ""
) -> Finding:
    """A requirement that is not met."""
    return Finding(
        f"tensor-map/{rule}",
        Severity.ERROR,
        message,
        got=str(got),
        expected=expected,
        hint=hint,
        section=f"CUDA driver API, {function or 'cuTensorMapEncodeTiled'}",
    )


# ---- the tensor ------------------------------------------------------------------------------


def _rank(r: Request) -> Iterator[Finding]:
    rank = len(r.dims)
    if not 1 <= rank <= MOST_DIMENSIONS:
        text = "TMA rank must be in the range 1..5"
        hint = "make one dimension of several that lie one behind the other"
        yield finding("rank", text, rank, "1 to 5 dimensions", hint)


def _tensor(r: Request) -> Iterator[Finding]:
    yield from _rank(r)
    rank = len(r.dims)
    if r.interleave is not Interleave.NONE and rank < 3:
        text = "an interleaved tensor has at least three dimensions"
        yield finding("interleave-rank", text, rank, "3 to 5", "or no interleaving")
    if not all(r.dims):
        hint = "a launch without work needs no tensor map"
        yield finding("empty", "a dimension is empty", r.dims, "at least 1 element each", hint)
    if any(n > LARGEST_DIMENSION for n in r.dims):
        yield finding(
            "dimension", "a dimension is too long", max(r.dims), f"at most {LARGEST_DIMENSION}",
            "split it into two",
        )  # fmt: skip
    if r.dims and (multiple := _packed_multiple(r.element)) and r.dims[0] % multiple:
        yield finding(
            "packed-dimension", "the innermost dimension of packed elements is not whole",
            r.dims[0], f"a multiple of {multiple}", "pad the rows",
        )  # fmt: skip
    if r.address is not None and r.address % r.unit:
        yield finding(
            "address", f"the tensor does not begin at a multiple of {r.unit} bytes",
            f"{r.address:#x}", f"a multiple of {r.unit}", "copy it to memory of its own",
        )  # fmt: skip
    yield from _strides(r)


def _packed_multiple(element: Element) -> int:
    return 128 if element.is_padded else 2 if element.is_packed else 0


def _strides(r: Request) -> Iterator[Finding]:
    for stride in r.strides:
        if stride % r.unit or stride < 0:
            text = f"a stride is not a multiple of {r.unit} bytes"
            hint = "pad the rows, or copy to an array whose rows are longer"
            yield finding("stride", text, stride, f"a multiple of {r.unit}", hint)
        elif stride >= LARGEST_STRIDE:
            text = "a stride is too long"
            yield finding("stride-limit", text, stride, f"less than {LARGEST_STRIDE}", "move rows")
    if not all(1 <= step <= MOST_STEP for step in r.steps):
        text = "an element stride is out of range"
        hint = "a longer one is a stride of the tensor"
        yield finding("element-stride", text, r.steps, f"1 to {MOST_STEP} each", hint)


# ---- interleaving, swizzling, fill -----------------------------------------------------------

_PADDED_SWIZZLES = (Swizzle.NONE, Swizzle.B128, Swizzle.B128_ATOM32)
_WIDE_SWIZZLES = (Swizzle.B64, Swizzle.B128, Swizzle.B128_ATOM32)


def _layout(r: Request) -> Iterator[Finding]:
    if r.element is Element.U6_ALIGN16 and r.interleave is not Interleave.NONE:
        yield finding(
            "packed-interleave", "elements of 6 bits are not interleaved",
            r.interleave.value, Interleave.NONE.value, "or elements of 8 bits",
        )  # fmt: skip
    if r.element.is_padded and r.swizzle not in _PADDED_SWIZZLES:
        yield finding(
            "packed-swizzle", "elements with gaps between them are not swizzled so",
            r.swizzle.words, " or ".join(s.words for s in _PADDED_SWIZZLES), "128 bytes will do",
        )  # fmt: skip
    if r.fill is Fill.NANS and not r.element.is_float:
        yield finding(
            "fill", "only floating-point elements are filled with NaNs",
            r.element.name, "a floating-point type, or zeros", "zeros need nothing of the type",
        )  # fmt: skip
    if r.capability is not None and r.capability < 100:
        yield from _blackwell(r, f"{r.capability // 10}.{r.capability % 10}")


def _blackwell(r: Request, here: str) -> Iterator[Finding]:
    """What GPUs before compute capability 10.0 do not have; `here` is the capability."""
    later = "10.0 or later"
    if r.element.is_packed:
        text = "packed elements need a GPU of compute capability 10.0"
        yield finding("packed-target", text, here, later, "unpack them")
    if r.swizzle is Swizzle.B128_ATOM32:
        text = "swizzling of 32-byte atoms needs a GPU of compute capability 10.0"
        yield finding("swizzle-target", text, here, later, "128-byte swizzling of 16-byte atoms")
    if r.im2col is not None and r.im2col.wide is not None:
        text = "wide im2col tensor maps need a GPU of compute capability 10.0"
        function = "cuTensorMapEncodeIm2colWide"
        yield finding("wide-target", text, here, later, "im2col without wide", function)


def _span(r: Request, inner: int) -> Iterator[Finding]:
    """Whether a row of `inner` elements fits the swizzling."""
    size = inner * r.element.bits // 8
    plain = r.interleave is Interleave.NONE and r.swizzle is not Swizzle.NONE
    if plain and size > r.swizzle.span:
        yield finding(
            "swizzle-span", "the box's innermost dimension exceeds the swizzle span",
            size, f"at most {r.swizzle.span} bytes", "several copies, side by side",
        )  # fmt: skip
    if inner * r.element.bits % 128:
        yield finding(
            "box-bytes", "the box's innermost dimension is not a multiple of 16 bytes",
            size, "a multiple of 16", "a wider box: what lies outside of the tensor is filled",
        )  # fmt: skip
    if r.element.is_padded and inner != 128:
        yield finding(
            "packed-box", "a box of such packed elements is 128 wide", inner, "128",
            "several copies, one behind the other",
        )  # fmt: skip


# ---- boxes and images ------------------------------------------------------------------------


def _box(r: Request) -> Iterator[Finding]:
    if len(r.box) != len(r.dims):
        text, hint = "the box has another rank than the array", "x[None] has a dimension more"
        yield finding("box", text, len(r.box), str(len(r.dims)), hint)
        return
    if not all(1 <= n <= MOST_BOX for n in r.box):
        text, hint = "a box dimension is out of range", "several copies, side by side"
        yield finding("box", text, r.box[::-1], f"1 to {MOST_BOX} elements each", hint)
    if (size := _box_bytes(r)) > MOST_BOX_BYTES:
        text, hint = "a box is larger than shared memory", "several copies, side by side"
        yield finding("box-size", text, size, f"at most {MOST_BOX_BYTES} bytes", hint)
    if r.box:
        yield from _span(r, r.box[0])


def _box_bytes(r: Request) -> int:
    """Bytes of a box in shared memory, as the driver counts them; 0 where a stride is 0."""
    if not all(r.steps):
        return 0
    return _bytes_of(r, math.prod(n // step for n, step in zip(r.box, r.steps, strict=False)))


def _bytes_of(r: Request, elements: int) -> int:
    """Bytes of so many elements in shared memory."""
    return elements * (8 if r.element.is_padded else r.element.bits) // 8


def _signed(n: int) -> int:
    """The low 32 bits as a signed number: what the driver counts in."""
    return ((n + (1 << 31)) & ((1 << 32) - 1)) - (1 << 31)


def _images(r: Request, images: Im2col) -> Iterator[Finding]:
    function = "cuTensorMapEncodeIm2col" + ("Wide" if images.wide else "")

    def wrong(rule: str, text: str, got: object, expected: str, hint: str) -> Finding:
        return finding(rule, text, got, expected, hint, function)

    rank = len(r.dims)
    if rank not in CORNERS:
        text = "im2col tensor copies require at least three dimensions"
        yield wrong("im2col-rank", text, rank, "3 to 5", "images, rows, pixels, channels")
        return
    spatial = 1 if images.wide else rank - 2
    if len(images.lower) != spatial or len(images.upper) != spatial:
        text = "a corner of the bounding box has one number for each spatial dimension"
        got = f"{len(images.lower)} and {len(images.upper)}"
        yield wrong("im2col-corner", text, got, str(spatial), "lower and upper alike")
        return
    bits = 15 if images.wide else CORNERS[rank]
    if not all(-(1 << bits) <= n < 1 << bits for n in (*images.lower, *images.upper)):
        text, expected = "a corner is out of range", f"{-(1 << bits)} to {(1 << bits) - 1}"
        hint = "fewer dimensions have longer corners"
        yield wrong("im2col-corner", text, (images.lower, images.upper), expected, hint)
    first = 1 if r.interleave is Interleave.NONE else 0
    sizes = r.dims[first : first + spatial]
    corners = zip(sizes, images.lower, images.upper, strict=True)
    extents = [_signed(size + upper) - lower for size, lower, upper in corners]
    if any(n <= 0 for n in extents):
        text = "the bounding box holds no pixel"
        hint = "the upper corner counts from the last pixel; ends are numbers of 32 bits"
        yield wrong("im2col-box", text, tuple(extents), "at least one pixel each", hint)
    if not 1 <= images.channels <= MOST_CHANNELS:
        text, hint = "too many channels, or none", "several copies, side by side"
        yield wrong("im2col-channels", text, images.channels, f"1 to {MOST_CHANNELS}", hint)
    if images.wide is not Wide.W128 and not 1 <= images.pixels <= MOST_PIXELS:
        text, hint = "too many pixels, or none", "several copies, one behind the other"
        yield wrong("im2col-pixels", text, images.pixels, f"1 to {MOST_PIXELS}", hint)
    if (size := _bytes_of(r, images.channels * images.copied)) > MOST_BOX_BYTES:
        text, hint = "the pixels of a copy are more than shared memory holds", "fewer channels"
        yield wrong("box-size", text, size, f"at most {MOST_BOX_BYTES} bytes", hint)
    if images.wide and r.swizzle not in _WIDE_SWIZZLES:
        expected = " or ".join(s.words for s in _WIDE_SWIZZLES)
        text = "a wide im2col tensor map is not swizzled so"
        yield wrong("wide-swizzle", text, r.swizzle.words, expected, "128 bytes will do")
    yield from _span(r, images.channels)
