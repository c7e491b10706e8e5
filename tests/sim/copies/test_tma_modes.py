"""Tensor copies beyond tiles: four rows, steps, reductions, narrow elements, prefetches."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.findings import DriverError, Finding, Severity, SimulationError
from intrinsics.tma.fields import Element
from intrinsics.tma.rules import Im2col
from nvgen.driver.errors import TIMEOUT
from nvgen.launching.tensor_map import Options, im2col_map, tensor_map
from tests.sim.copies import test_tma, test_tma_store
from tests.sim.copies.tma_launches import (
    COMPLETE,
    SIZE,
    image,
    in_shared,
    loaded,
    loading,
    stored,
    storing,
)
from tests.sim.ptx import SCHEDULES, findings

# ---- four rows, steps ------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["shared::cluster", "shared::cta"])
@pytest.mark.parametrize("rows", [(1, 7, 3, 0), (5, 5, -1, 20)])
def test_four_rows_that_are_gathered(rows: tuple[int, ...], to: str):
    """The row length is the box's; rows outside of the tensor are zeros."""
    array = image((9, 64))
    map_ = tensor_map(array, (1, 32), 64)
    body = loading(f"2d.{to}.global.tile::gather4{COMPLETE}", (16, *rows), "", 4 * 64)
    padded = {row: array[row, 16:48] if 0 <= row < 9 else np.zeros(32, np.uint16) for row in rows}
    expected = np.stack([padded[row] for row in rows])
    assert np.array_equal(loaded(body, map_), in_shared(expected, 64))


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_steps_between_elements(schedule: str):
    """A box of 9 x 8 with a step of 4 is 3 rows of every fourth row."""
    array = image((30, 64))
    map_ = tensor_map(array, (9, 32), 64, Options(element_strides=(4, 1)))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (0, 2), "", map_.box_bytes)
    assert np.array_equal(loaded(body, map_, schedule), in_shared(array[2:11:4, :32], 64))


def test_boxes_of_several_rows_are_not_gathered():
    array = image((9, 64))
    body = loading(f"2d.shared::cta.global.tile::gather4{COMPLETE}", (0, 1, 2, 3, 4), "", 256)
    map_ = tensor_map(array, (4, 32), 64)
    found = findings(body, map_, np.zeros(SIZE, np.uint8), variables=test_tma.VARIABLES)
    assert found[0].rule == "sim/tma-four-rows"


# ---- stores and reductions -------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_four_rows_that_are_scattered(schedule: str):
    target = image((9, 64))
    expected = target.copy()
    values = image((4, 32)) + np.uint16(5000)
    rows = (8, 2, 30, 5)
    for row, value in zip(rows, values, strict=True):
        if row < 9:
            expected[row, 16:48] = value
    statement = (
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
        f" [%m0, {{16, {', '.join(map(str, rows))}}}], [tile];"
    )
    stored(statement, tensor_map(target, (1, 32)), values, schedule)
    assert np.array_equal(target, expected)


LOST = "neither ended nor failed"


def refusal(launch: Callable[[], None]) -> str:
    """The rule of what ends a launch that the machine refuses.

    Once in five runs of twelve processes on an H200 (24 November 2026) a launch neither ended nor
    failed in a minute, though its process still asked the driver.  A new process is asked once
    more: a fault that gets lost is a warning, and a kernel that hangs fails.
    """
    for turn in range(2):
        with pytest.raises((SimulationError, DriverError)) as caught:
            launch()
        (rule,) = {f.rule for f in caught.value.findings}
        if rule != TIMEOUT:
            return rule
        warnings.warn(f"launch {turn + 1} {LOST}", stacklevel=2)
    return TIMEOUT


@pytest.mark.parametrize(("hangs", "rule"), [(1, "cuda/illegal-instruction"), (2, TIMEOUT)])
def test_a_launch_that_hangs_is_asked_once_more(hangs: int, rule: str):
    answers = [TIMEOUT] * hangs + ["cuda/illegal-instruction"]

    def launch() -> None:
        raise DriverError([Finding(answers.pop(0), Severity.ERROR, "")])

    with pytest.warns(match=LOST):
        assert refusal(launch) == rule


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pixels_that_are_stored(schedule: str):
    """Through the box, from a pixel on; those behind the last image are dropped."""
    target = image((2, 4, 4, 16))
    expected = target.copy()
    values = image((24, 16)) + np.uint16(9000)
    pixels = [(n, h, w) for n in range(3) for h in range(4) for w in range(4)]
    for pixel, value in zip(pixels[pixels.index((0, 3, 1)) :], values, strict=False):
        if pixel[0] < 2:
            expected[pixel] = value
    statement = (
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
        " [%m0, {0, 1, 3, 0}], [tile];"
    )
    map_ = im2col_map(target, Im2col((0, 0), (0, 0), 16, 24))
    stored(statement, map_, values, schedule)
    assert np.array_equal(target, expected)


BEFORE = {
    "a box that begins before the image": ((-1, 0), (0, 0), (0, -1, 0, 0)),
    "a box that ends behind it": ((0, 0), (1, 1), (0, 2, 2, 0)),
    "an image before the first": ((0, 0), (0, 0), (0, 2, 2, -1)),
    "channels before the first": ((0, 0), (0, 0), (-8, 0, 0, 0)),
}


@pytest.mark.gpu
@pytest.mark.filterwarnings(f"default:.*{LOST}")
@pytest.mark.parametrize("case", BEFORE)
def test_pixels_that_are_not_stored(case: str):
    """The copy does not run: on a GPU an illegal instruction."""
    lower, upper, start = BEFORE[case]
    map_ = im2col_map(np.zeros((2, 4, 4, 16), np.uint16), Im2col(lower, upper, 16, 24))
    statement = (
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
        f" [%m0, {{{', '.join(map(str, start))}}}], [tile];"
    )
    found = refusal(lambda: stored(statement, map_, image((24, 16)), "early"))
    assert found in ("sim/tma-coordinate", "cuda/illegal-instruction")


def increments(old: NDArray[np.uint32], new: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """PTX ISA, red: .inc"""
    return np.where(old >= new, 0, old + 1).astype(np.uint32)


def decrements(old: NDArray[np.uint32], new: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """PTX ISA, red: .dec"""
    return np.where((old == 0) | (old > new), new, old - 1).astype(np.uint32)


REDUCTIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "inc": increments, "dec": decrements,
}  # fmt: skip
TYPES = [np.uint32, np.int32, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
CASES = [
    *((op, type_) for op in ("add", "min", "max", "and", "or", "xor") for type_ in TYPES),
    *(("min", np.int64), ("max", np.int64)),
    *(("inc", np.uint32), ("dec", np.uint32)),
    *(("add", type_) for type_ in FLOATS),
    *((op, type_) for op in ("min", "max") for type_ in FLOATS[:2]),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "type_"), CASES)
def test_a_reduction_combines_with_what_is_there(op: str, type_: type):
    """Elements inside of the tensor only: the box ends two rows behind it."""
    dice = np.random.default_rng(3)
    dtype = np.dtype(type_)
    if dtype.kind in "iu":
        bits = np.dtype(f"u{dtype.itemsize}")
        old = dice.integers(0, 1 << 8 * dtype.itemsize, (6, 16), bits).view(dtype)
        new = dice.integers(0, 1 << 8 * dtype.itemsize, (8, 16), bits).view(dtype)
        old[0, :8], new[0, :4] = 0, 0
    else:
        old, new = (dice.integers(-200, 200, (n, 16)).astype(dtype) for n in (6, 8))
        old[old == 0], new[new == 0] = 1, 1
    expected = old.copy()
    expected[:] = REDUCTIONS[op](old, new[:6])
    statement = (
        f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group"
        " [%m0, {0, 0}], [tile];"
    )
    stored(statement, tensor_map(old, (8, 16)), new, "random:3")
    assert np.array_equal(old.view(np.uint8), expected.view(np.uint8))


ILLEGAL = [
    *((op, np.int64) for op in ("add", "and", "or", "xor", "inc", "dec")),
    *((op, type_) for op in ("inc", "dec") for type_ in (np.int32, np.uint64, np.float32)),
    *((op, type_) for op in ("min", "max", "and") for type_ in (np.float32, np.float64)),
    *((op, type_) for op in ("or", "xor") for type_ in FLOATS[:2]),
    *(("add", type_) for type_ in (np.uint8, np.uint16)),
]
"""What an H200 (driver 580.159.04, 23 November 2026) calls an illegal instruction."""


@pytest.mark.gpu
@pytest.mark.filterwarnings(f"default:.*{LOST}")
@pytest.mark.parametrize(("op", "type_"), ILLEGAL)
def test_a_reduction_that_the_machine_does_not_have(op: str, type_: type):
    old, new = np.ones((6, 16), type_), np.ones((8, 16), type_)  # type: ignore[var-annotated]
    statement = (
        f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group"
        " [%m0, {0, 0}], [tile];"
    )
    found = refusal(lambda: stored(statement, tensor_map(old, (8, 16)), new, "early"))
    assert found in ("sim/tensor-reduction", "cuda/illegal-instruction")


# ---- elements of 4 and 6 bits ----------------------------------------------------------------


def shown(body: str, nbytes: int) -> str:
    """The kernel, which looks only at the first bytes of each 16 and shows zeros for the others."""
    whole = "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r2];"
    assert whole in body
    part = "ld.shared.v2.u32 {%r5, %r6}, [%r2];\n    mov.u32 %r7, 0;\n    mov.u32 %r8, 0;"
    if nbytes == 12:
        part += "\n    ld.shared.u32 %r7, [%r2+8];"
    return body.replace(whole, part)


PADDED = {Element.U4_ALIGN16: 8, Element.U6_ALIGN16: 12}
"""Bytes of 16 elements, which lie at multiples of 16 bytes in shared memory."""


@pytest.mark.parametrize("span", [0, 128])
@pytest.mark.parametrize("element", PADDED)
@pytest.mark.parametrize(("column", "row"), [(0, 0), (128, 2), (128, -1), (256, 0)])
def test_padded_elements(element: Element, column: int, row: int, span: int):
    """A gap behind every 16 elements; the mbarrier counts what is copied, and not the gaps.

    CUDA driver API, CUtensorMapDataType; the count is the one that CUTLASS expects for numbers of
    4 bits that are unpacked in shared memory (sizeof_bits of the type in global memory).
    """
    size = PADDED[element]
    array = (np.arange(5 * 16 * size) * 7 % 191 + 1).astype(np.uint8).reshape(5, 16 * size)
    map_ = tensor_map(array, (4, 128), span, Options(element=element))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (column, row), "", 4 * 8 * size)
    pieces = np.zeros((4, 8, 16), np.uint8)
    for line, chunk in itertools.product(range(4), range(8)):
        start = (column // 16 + chunk) * size
        if 0 <= row + line < 5 and start < array.shape[1]:
            pieces[line, chunk, :size] = array[row + line, start : start + size]
    expected = in_shared(pieces.reshape(4, 128), span).reshape(-1, 16)
    expected[:, size:] = 0
    seen = loaded(shown(body, size), map_)
    assert np.array_equal(seen.reshape(-1, 16), expected)


def test_what_stands_between_padded_elements_is_not_known():
    array = np.ones((4, 64), np.uint8)
    map_ = tensor_map(array, (4, 128), 0, Options(element=Element.U4_ALIGN16))
    load = f"2d.shared::cluster.global.tile{COMPLETE}"

    def rule(body: str, variables: str = test_tma.VARIABLES) -> str:
        found = findings(body, map_, np.zeros(SIZE, np.uint8), variables=variables)
        return found[0].rule

    assert rule(loading(load, (0, 0), "", 256)) == "sim/uninitialized"
    assert rule(loading(load, (32, 0), "", 256)) == "sim/tma-coordinate"
    store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m0, {0, 0}], [tile];"
    assert rule(storing(store), test_tma_store.VARIABLES) == "sim/not-simulated"


@pytest.mark.parametrize("span", [0, 32, 64])
@pytest.mark.parametrize(("column", "row"), [(0, 0), (32, 2), (-32, -1), (96, 3)])
def test_elements_of_4_bits_side_by_side(column: int, row: int, span: int):
    """They are the bytes that hold them."""
    array = (np.arange(5 * 64) * 7 % 191 + 1).astype(np.uint8).reshape(5, 64)
    map_ = tensor_map(array, (4, 64), span, Options(element=Element.U4_ALIGN8))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (column, row), "", 4 * 32)
    expected = np.zeros((4, 32), np.uint8)
    for line, byte in itertools.product(range(4), range(32)):
        y, x = row + line, column // 2 + byte
        if 0 <= y < 5 and 0 <= x < 64:
            expected[line, byte] = array[y, x]
    assert np.array_equal(loaded(body, map_), in_shared(expected, span))


def test_elements_of_4_bits_are_stored():
    target = np.zeros((5, 64), np.uint8)
    values = (np.arange(4 * 32) * 7 % 191 + 1).astype(np.uint8).reshape(4, 32)
    expected = target.copy()
    expected[2:, 16:48] = values[:3]
    statement = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m0, {32, 2}], [tile];"
    map_ = tensor_map(target, (4, 64), 0, Options(element=Element.U4_ALIGN8))
    stored(statement, map_, values, "early")
    assert np.array_equal(target, expected)


# ---- prefetches ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "place", "expected"),
    [
        ("2d.L2.global.tile", "{0, 1}", ""),
        ("3d.L2.global.tile", "{0, 1, 0}", "sim/tensor-map-rank"),
        ("3d.L2.global.im2col", "{0, 1, 0}], {0}", "sim/tensor-map-rank"),
    ],
)
def test_a_prefetch_has_no_effect_and_a_tensor_map(name: str, place: str, expected: str):
    array = image((4, 32))
    before = array.copy()
    end = ";" if "]" in place else "];"
    body = f"cp.async.bulk.prefetch.tensor.{name} [%m0, {place}{end}"
    found = findings(body, tensor_map(array, (1, 32)))
    assert (found[0].rule if found else "") == expected
    assert np.array_equal(array, before)
