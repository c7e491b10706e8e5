"""TMA puts every element where the manual says: formulas, and the manual's worked examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.element import ElementType
from nvgen.sim.faults import Fault
from tests.sim.kernels import (
    FILLER,
    SharedDump,
)
from tests.sim.layouts import (
    COUNTS,
    REGISTERS,
    REPEATS,
    SPANS,
    cell,
    column_count,
    k_major,
    mn_major,
    register_count,
    swizzled,
    tma_tile,
)

pytestmark = pytest.mark.turns(12)

# ---- the formulas against the manual's worked examples ---------------------------------------


@pytest.mark.parametrize(
    ("span", "lbo", "sbo", "exact"),
    [
        (0, 64 * 4, 32 * 4, (((8, 2), (4, 4)), ((4, 32), (1, 64)))),
        (32, 16, 64 * 4, (((8, 2), (4, 4)), ((8, 64), (1, 4)))),
    ],
    ids=["no swizzling", "32 bytes"],
)
def test_k_major_formula_gives_the_manuals_tf32_examples(span, lbo, sbo, exact):
    """Figures 188 and 189: the exact layouts, in elements of 4 bytes."""
    (rows, columns), (row_strides, column_strides) = exact
    for r1, r0 in itertools.product(range(rows[1]), range(rows[0])):
        for c1, c0 in itertools.product(range(columns[1]), range(columns[0])):
            elements = (
                r0 * row_strides[0]
                + r1 * row_strides[1]
                + c0 * column_strides[0]
                + c1 * column_strides[1]
            )
            row, column = r0 + rows[0] * r1, c0 + columns[0] * c1
            if span and column * 4 >= span:
                continue  # the figure's k = 2 is two spans wide; a span is one matrix row here
            assert k_major(row, 4 * column, span=span, lbo=lbo, sbo=sbo) == 4 * elements


@pytest.mark.parametrize(
    ("span", "lbo", "sbo", "shape", "strides"),
    [
        (0, 128 * 2, 64 * 2, ((8, 1, 2), (8, 2)), ((1, 8, 64), (8, 128))),
        (32, 128 * 2, 256 * 2, ((8, 2, 2), (8, 2)), ((1, 8, 128), (16, 256))),
        (64, 256 * 2, 512 * 2, ((8, 4, 2), (8, 2)), ((1, 8, 256), (32, 512))),
    ],
    ids=["no swizzling", "32 bytes", "64 bytes"],
)
def test_mn_major_formula_gives_the_manuals_bf16_examples(span, lbo, sbo, shape, strides):
    """Figures 190, 191 and 192: the exact layouts, in elements of 2 bytes."""
    (t, wide, again), (k0_count, k1_count) = shape
    for m1, w, i in itertools.product(range(again), range(wide), range(t)):
        for k1, k0 in itertools.product(range(k1_count), range(k0_count)):
            elements = (
                i * strides[0][0]
                + w * strides[0][1]
                + m1 * strides[0][2]
                + k0 * strides[1][0]
                + k1 * strides[1][1]
            )
            mn, k = i + t * (w + wide * m1), k0 + k0_count * k1
            assert mn_major(mn, k, 2, span=span, lbo=lbo, sbo=sbo) == 2 * elements


@pytest.mark.parametrize("span", SPANS)
def test_swizzling_only_exchanges_chunks_of_16_bytes_within_a_line(span: int):
    repeat = REPEATS[span]
    moved = [swizzled(address, span) for address in range(2 * repeat)]
    assert sorted(moved) == list(range(2 * repeat))
    assert [address + repeat for address in moved[:repeat]] == moved[repeat:]
    for address, to in enumerate(moved):
        assert to % 16 == address % 16
        assert to // max(span, 16) == address // max(span, 16)
    assert moved[: max(span, 16)] == list(range(max(span, 16)))


@pytest.mark.parametrize("shape", REGISTERS)
def test_every_cell_of_a_fragment_belongs_to_one_register(shape: str):
    for num in COUNTS:
        if register_count(shape, num) > 128:
            continue
        split = num if shape == "16x32bx2" else 0
        cells = [
            cell(shape, thread, register, split)
            for thread in range(32)
            for register in range(register_count(shape, num))
        ]
        lanes, columns = {lane for lane, _ in cells}, {column for _, column in cells}
        assert len(set(cells)) == len(cells) == len(lanes) * len(columns)
        assert lanes == set(range(32 if shape == "32x32b" else 16))
        assert columns == set(range(column_count(shape, num) + split))


# ---- TMA -------------------------------------------------------------------------------------

DTYPES = {1: ElementType.U8, 2: ElementType.F16, 4: ElementType.F32}


def numbers(shape: tuple[int, ...], dtype: ElementType) -> NDArray[np.generic]:
    """A tensor of distinct bytes, as far as there are any; no byte is 0 or the filler."""
    size = int(np.prod(shape)) * dtype.bits // 8
    values = (np.arange(size) * 7 + np.arange(size) // 251) % 251 + 1
    values[values == FILLER] = 0xFE
    return values.astype(np.uint8).view(np.dtype(dtype.numpy)).reshape(shape)


def check_copy(
    source: NDArray[np.generic],
    dtype: ElementType,
    box: tuple[int, ...],
    span: int,
    starts: list[tuple[int, ...]],
    *,
    offset: int = 0,
) -> None:
    """A copy of the box from each start leaves shared memory as the formula says."""
    nbytes = int(np.prod(box[:-1])) * (span or box[-1] * dtype.bits // 8)
    size = -(-(offset + nbytes) // 1024) * 1024 + 1024
    dump = SharedDump(dtype, box, span, size, offset)
    for start in starts:
        memory, written = tma_tile(source, box, start, span=span, base=offset, size=size)
        expected = np.where(written, memory, np.uint8(FILLER))
        found = dump.run(source, start)
        wrong = np.flatnonzero(found != expected)
        assert wrong.size == 0, (
            f"start {start}: {wrong.size} bytes differ, first at {wrong[0]}: "
            f"{found[wrong[0]]:#x}, expected {expected[wrong[0]]:#x}"
        )


@pytest.mark.gpu
@pytest.mark.parametrize("item", DTYPES)
@pytest.mark.parametrize("span", SPANS)
def test_a_box_inside_the_tensor(span: int, item: int):
    inner = (span or 48) // item
    source = numbers((40, 3 * (span or 64) // item), DTYPES[item])
    check_copy(source, DTYPES[item], (24, inner), span, [(0, 0), (5, inner), (13, 16 // item)])


@pytest.mark.gpu
@pytest.mark.parametrize("span", SPANS)
def test_a_box_over_the_border_is_filled_with_zeros(span: int):
    """Above, below, before, behind, at a corner, and all outside."""
    inner = (span or 32) // 2
    source = numbers((19, 72), ElementType.F16)
    starts = [(-3, 8), (13, 0), (2, -8), (4, 64), (-7, -8), (17, 64), (19, 0), (0, 72), (-8, 0)]
    check_copy(source, ElementType.F16, (8, inner), span, starts)


@pytest.mark.gpu
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("span", [0, 32])
def test_boxes_of_every_rank(rank: int, span: int):
    """In one of five dimensions, all of them partly outside; the box is packed, innermost first."""
    shape = (3, 4, 3, 5, 24)[-rank:]
    box = (2, 3, 2, 3, 8)[-rank:]
    source = numbers(shape, ElementType.F32)
    units = (1,) * (rank - 1) + (4,)
    starts = [tuple(n * unit for unit in units) for n in (0, 1, -1)]
    starts += [tuple(n - unit for n, unit in zip(shape, units, strict=True))]
    starts += [
        tuple(2 * u if i == axis else 0 for i, u in enumerate(units)) for axis in range(rank)
    ]
    check_copy(source, ElementType.F32, box, span, starts)


def test_a_tensor_whose_rows_are_apart():
    """Strides come from the tensor map: every second row, and rows with room behind them."""
    whole = numbers((24, 64), ElementType.F16)
    check_copy(whole[::2, :48], ElementType.F16, (8, 16), 32, [(0, 0), (3, 16), (7, 40)])


@pytest.mark.gpu
@pytest.mark.parametrize("span", [32, 64, 128])
@pytest.mark.parametrize("offset", [128, 384, 896])
def test_the_swizzle_is_that_of_the_address_not_of_the_box(span: int, offset: int):
    """A destination in the middle of the repeating pattern."""
    source = numbers((16, span), ElementType.U8)
    check_copy(source, ElementType.U8, (11, span), span, [(0, 0), (7, 16)], offset=offset)


@pytest.mark.gpu
@pytest.mark.parametrize(("span", "inner"), [(128, 32), (128, 64), (64, 32), (32, 16)])
def test_a_box_narrower_than_the_swizzle(span: int, inner: int):
    """Each row begins a span all the same; the bytes between stay, and are not counted."""
    check_copy(
        numbers((24, 64), ElementType.U8), ElementType.U8, (9, inner), span, [(0, 0), (3, 16)]
    )
    cube = numbers((5, 6, 64), ElementType.U8)
    check_copy(cube, ElementType.U8, (3, 2, inner), span, [(0, 0, 0), (-1, 5, 48)])


@pytest.mark.parametrize(
    ("dtype", "column"), [(ElementType.U8, 8), (ElementType.F16, -5), (ElementType.F32, 1)]
)
@pytest.mark.parametrize("span", [0, 32])
def test_an_innermost_coordinate_that_is_no_multiple_of_16_bytes_is_a_fault(
    span: int, dtype: ElementType, column: int
):
    """On an H200 such a copy ends the kernel as an illegal instruction."""
    dump = SharedDump(dtype, (8, 32 * 8 // dtype.bits), span, 1024)
    with pytest.raises(Fault):
        dump.run(numbers((16, 64), dtype), (0, column))


@pytest.mark.gpu
def test_the_largest_box():
    source = numbers((256, 16), ElementType.U8)
    check_copy(source, ElementType.U8, (256, 16), 0, [(0, 0), (-100, 0)])


@pytest.mark.parametrize("schedule", ["late", "random:1"])
def test_a_copy_is_the_same_under_every_schedule(schedule: str):
    source = numbers((16, 64), ElementType.F16)
    memory, written = tma_tile(source, (8, 64), (3, -8), span=128, base=0, size=2048)
    dump = SharedDump(ElementType.F16, (8, 64), 128, 2048, schedule=schedule)
    assert np.array_equal(dump.run(source, (3, -8)), np.where(written, memory, np.uint8(FILLER)))


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("offset", [16, 64, 120])
def test_a_destination_that_is_not_aligned_to_128_bytes_is_a_fault(offset: int):
    """With and without swizzling; an H200 reports a misaligned address."""
    dump = SharedDump(ElementType.U8, (8, 16), 0, 2048, offset)
    with pytest.raises(Fault):
        dump.run(numbers((8, 16), ElementType.U8), (0, 0))


def test_a_box_beyond_the_end_of_shared_memory_is_a_fault():
    dump = SharedDump(ElementType.U8, (128, 16), 0, 2048, 1024)
    with pytest.raises(Fault):
        dump.run(numbers((128, 16), ElementType.U8), (0, 0))
