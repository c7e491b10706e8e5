"""What tensor copies do with NaNs, infinities, subnormal numbers and zeros of either sign.

The manual says nothing of these; what is expected here is what an H100 does,
written down as arithmetic on Python's and numpy's numbers.  PTX ISA, cp.reduce.async.bulk.tensor;
CUDA driver API, CUtensorMapDataType, CUtensorMapFloatOOBfill.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.tma.fields import Element, Fill
from intrinsics.tma.rules import Im2col
from nvgen.launching.tensor_map import Options, TensorMap, im2col_map, tensor_map
from tests.sim.copies import test_tma
from tests.sim.copies.tma_launches import COMPLETE, loaded, loading, stored

Bits = NDArray[np.unsignedinteger]

TYPES: dict[Element, tuple[type, type]] = {
    Element.F32: (np.float32, np.uint32),
    Element.F32_FTZ: (np.float32, np.uint32),
    Element.TF32: (np.float32, np.uint32),
    Element.TF32_FTZ: (np.float32, np.uint32),
    Element.F64: (np.float64, np.uint64),
    Element.F16: (np.float16, np.uint16),
    Element.BF16: (ml_dtypes.bfloat16, np.uint16),
}
FLUSHING = (Element.F32_FTZ, Element.TF32_FTZ)


def special(element: Element) -> Bits:
    """Zeros, subnormals, the least and the greatest normal number, infinities, NaNs, and some."""
    number, bits = TYPES[element]
    info = ml_dtypes.finfo(number)
    width = np.dtype(bits).itemsize * 8
    infinity, one = (int(np.array(x, number).view(bits)) for x in (np.inf, 1))
    least = 1 << info.nmant
    magnitudes = [
        0, 1, least >> 1, least - 1, least, least + (least >> 1), one, one + 3, infinity - 1,
        infinity, infinity + (least >> 1), infinity + 5, (1 << width - 1) - 1,
    ]  # fmt: skip
    return np.array([m | s << width - 1 for m in magnitudes for s in (0, 1)], bits)


def flushed(element: Element, bits: Bits) -> Bits:
    """Subnormal numbers as zeros of their sign, where the element's sums do so."""
    if element not in FLUSHING:
        return bits
    return np.where(bits & 0x7F80_0000 == 0, bits & 0x8000_0000, bits).astype(np.uint32)


def total(element: Element, old: Bits, new: Bits) -> Bits:
    """The sum of what is there and what is brought."""
    number, bits = TYPES[element]
    a, b = (flushed(element, x).view(number) for x in (old, new))  # type: ignore[var-annotated]
    wide = np.float64 if np.dtype(bits).itemsize < 8 else number
    with np.errstate(all="ignore"):
        exact = a.astype(wide) + b.astype(wide)  # type: ignore[var-annotated]
        found = flushed(element, exact.astype(number).view(bits))
    unknown = np.isnan(exact.astype(np.float64))
    if element is Element.F64:  # a NaN comes through, the second first
        found = np.where(unknown, np.uint64(0xFFF8 << 48), found)
        found = np.where(np.isnan(a), old, found)
        return np.where(np.isnan(b), new, found)
    return np.where(unknown, np.iinfo(bits).max >> 1, found).astype(bits)


def extreme(element: Element, old: Bits, new: Bits, *, greatest: bool) -> Bits:
    """The least or greatest: -0 is less than 0, and numbers come before NaNs."""
    number, bits = TYPES[element]
    found = []
    for a, b in zip(old, new, strict=True):
        pair = [(float(x.view(number)), -int(x >> 15), x) for x in (a, b)]
        known = sorted(p[:2] for p in pair if not np.isnan(p[0]))
        if not known:
            found.append(np.iinfo(bits).max >> 1)
            continue
        chosen = known[-1] if greatest else known[0]
        found.append(next(x for n, s, x in pair if (n, s) == chosen))
    return np.array(found, bits)


REDUCTIONS = [
    *((element, "add") for element in TYPES),
    *((element, op) for element in (Element.F16, Element.BF16) for op in ("min", "max")),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("element", "op"), REDUCTIONS)
def test_a_reduction_of_special_numbers(element: Element, op: str) -> None:
    """Each with each."""
    numbers = special(element)
    old, new = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    width = 256 // numbers.itemsize
    rows = -(-len(old) // width)
    there, brought = (np.zeros((rows, width), numbers.dtype) for _ in range(2))
    there.reshape(-1)[: len(old)], brought.reshape(-1)[: len(old)] = old, new
    statement = (
        f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group"
        " [%m0, {0, 0}], [tile];"
    )
    map_ = tensor_map(there, (rows, width), 0, Options(element=element))
    stored(statement, map_, brought, "early")
    if op == "add":
        expected = total(element, old, new)
    else:
        expected = extreme(element, old, new, greatest=op == "max")
    found = there.reshape(-1)[: len(old)]
    wrong = np.flatnonzero(found != expected)
    assert not len(wrong), [tuple(map(hex, (old[i], new[i], found[i]))) for i in wrong[:5]]


TIES = np.array(
    [0x3F80_0FFF, 0x3F80_1000, 0x3F80_1001, 0x3F80_3000, 0x3F80_5000, 0xBF80_3000, 0x7F7F_F000,
     0x7F7F_EFFF, 0x0000_1000, 0x0000_1001, 0x007F_F000], np.uint32,
)  # fmt: skip


def to_tf32(bits: int) -> int:
    """The nearest number with ten bits behind the point, of two the one whose last bit is 0."""
    sign, size = bits & 1 << 31, bits & ~(1 << 31)
    if size > 0x7F80_0000:
        return 0x7FFF_E000
    low = size >> 13 << 13
    rest = size - low
    up = rest > 0x1000 or (rest == 0x1000 and low >> 13 & 1)
    return sign | (low + (0x2000 if up else 0))


@pytest.mark.gpu
@pytest.mark.parametrize("element", [Element.F32, Element.F32_FTZ, Element.TF32, Element.TF32_FTZ])
def test_loads_round_to_tf32_and_flush_nothing(element: Element) -> None:
    words = np.concatenate([special(Element.F32), TIES])
    array = np.zeros((1, 64), np.uint32)
    array[0, : len(words)] = words
    map_ = tensor_map(array, (1, 64), 0, Options(element=element))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (0, 0), "", 256)
    found = loaded(body, map_)[:256].view(np.uint32)[: len(words)]
    rounds = element in (Element.TF32, Element.TF32_FTZ)
    expected = [to_tf32(int(word)) if rounds else int(word) for word in words]
    assert found.tolist() == expected


@pytest.mark.gpu
@pytest.mark.parametrize("element", [Element.F32_FTZ, Element.TF32, Element.TF32_FTZ])
def test_stores_change_nothing(element: Element) -> None:
    words = np.concatenate([special(Element.F32), TIES])
    values, target = np.zeros((1, 64), np.uint32), np.zeros((1, 64), np.uint32)
    values[0, : len(words)] = words
    statement = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m0, {0, 0}], [tile];"
    stored(statement, tensor_map(target, (1, 64), 0, Options(element=element)), values, "late")
    assert np.array_equal(target, values)


@pytest.mark.gpu
@pytest.mark.parametrize("element", TYPES)
def test_what_stands_outside_of_a_tensor_that_is_filled_with_nans(element: Element) -> None:
    """0x7ff7 in every half word."""
    bits = TYPES[element][1]
    array = np.ones((4, 32 // np.dtype(bits).itemsize), bits)  # type: ignore[var-annotated]
    map_ = tensor_map(array, (2, array.shape[1]), 0, Options(element=element, fill=Fill.NANS))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (0, 3), "", 64)
    found = loaded(body, map_)
    zero = 0 if element in (Element.TF32, Element.TF32_FTZ) else 1  # 1 is rounded to TF32
    assert (found[:32].view(bits) == zero).all()
    assert (found[32:64].view(np.uint16) == 0x7FF7).all()
    assert (found[64:] == test_tma.FILLER).all()


@pytest.mark.gpu
def test_pixels_outside_of_an_image_that_is_filled_with_nans() -> None:
    array = np.full((1, 2, 2, 8), 0x3C00, np.uint16)
    options = Options(element=Element.F16, fill=Fill.NANS)
    map_: TensorMap = im2col_map(array, Im2col((-1, -1), (0, 0), 8, 6), 0, options)
    name = f"4d.shared::cluster.global.im2col{COMPLETE}"
    found = loaded(loading(name, (0, -1, -1, 0), ", {0, 0}", map_.box_bytes), map_)
    pixels = found[:96].view(np.uint16).reshape(6, 8)
    assert pixels.tolist() == [[value] * 8 for value in [0x7FF7] * 4 + [0x3C00] * 2]
