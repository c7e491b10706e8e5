"""The simulator puts every element where the manual says.

The expected places are `tests.sim.layouts`, formulas written from the manual's text; kernels run in
the simulator and hand back all of shared or tensor memory, so that a byte too many is seen as well.
"""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.findings import SimulationError
from intrinsics.modifiers import MmaKind
from nvgen import KernelBuilder
from nvgen.sim.faults import Fault
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer
from tests.sim.kernels import (
    FILLER,
    LANES,
    NUMS,
    SHAPES,
    TARGET,
    Mma,
    SharedDump,
    TensorProgram,
    allocate,
    load_vector,
)
from tests.sim.layouts import (
    COUNTS,
    REGISTERS,
    REPEATS,
    SPANS,
    accumulator_lane,
    cell,
    column_count,
    k_major,
    mn_major,
    register_count,
    swizzled,
    tma_tile,
)
from tests.sim.matrices import Placement, instruction_descriptor, placements

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


# ---- tcgen05.ld and tcgen05.st ---------------------------------------------------------------

FRAGMENTS = [
    (shape, num) for shape in REGISTERS for num in COUNTS if register_count(shape, num) <= 128
]
COLUMNS = 256


def every_cell(columns: int) -> NDArray[np.uint32]:
    """Cells that hold their own (lane, column), and a mark."""
    lane, column = np.indices((LANES, columns))
    return (0xA0000000 | lane << 16 | column).astype(np.uint32)


def fragment_geometry(shape: str, num: int) -> tuple[int, int, int | None]:
    """Lane offset, column offset and half split of one test of a shape."""
    split = num + 3 if shape == "16x32bx2" else None
    room = COLUMNS - column_count(shape, num) - (split or 0)
    if room < 0:
        split, room = num, 0
    lane = 0 if shape == "32x32b" or num in (2, 16) else 16
    return lane, min(room, 5), split


def warp_address(b: KernelBuilder, taddr: Int, lane: int, column: int) -> Pointer:
    """The address of a cell in the quarter of tensor memory that belongs to the warp."""
    return b.tensor_pointer(taddr + ((b.tid_x >> 5) << 21) + (lane << 16 | column))


@pytest.mark.parametrize(("shape", "num"), FRAGMENTS)
def test_a_load_takes_each_register_from_its_cell(shape: str, num: int):
    count = register_count(shape, num)
    lane, column, split = fragment_geometry(shape, num)

    def body(b: KernelBuilder, taddr: Int, extra: Pointer) -> None:
        values = b.tcgen05_ld(
            warp_address(b, taddr, lane, column),
            num=NUMS[num],
            shape=SHAPES[shape],
            half_split=split,
        )
        b.tcgen05_wait_ld()
        b.store(values, extra + b.tid_x.zext(64) * (4 * count), align=4)

    program = TensorProgram(COLUMNS, body=body)
    cells, registers = every_cell(COLUMNS), np.zeros((128, count), np.uint32)
    assert np.array_equal(program.run(cells, extra=registers), cells)
    for thread, register in np.ndindex(128, count):
        warp, in_warp = divmod(thread, 32)
        at_lane, at_column = cell(shape, in_warp, register, split or 0)
        expected = cells[32 * warp + lane + at_lane, column + at_column]
        assert registers[thread, register] == expected, f"thread {thread}, register {register}"


@pytest.mark.parametrize(("shape", "num"), FRAGMENTS)
def test_a_store_puts_each_register_into_its_cell(shape: str, num: int):
    count = register_count(shape, num)
    lane, column, split = fragment_geometry(shape, num)

    def body(b: KernelBuilder, taddr: Int, extra: Pointer) -> None:
        values = load_vector(b, extra + b.tid_x.zext(64) * (4 * count), count)
        address = warp_address(b, taddr, lane, column)
        b.tcgen05_st(address, values, num=NUMS[num], shape=SHAPES[shape], half_split=split)
        b.tcgen05_wait_st()

    program = TensorProgram(COLUMNS, body=body)
    cells = every_cell(COLUMNS)
    registers = np.arange(128 * count, dtype=np.uint32).reshape(128, count)
    expected = cells.copy()
    for thread, register in np.ndindex(128, count):
        warp, in_warp = divmod(thread, 32)
        at_lane, at_column = cell(shape, in_warp, register, split or 0)
        expected[32 * warp + lane + at_lane, column + at_column] = registers[thread, register]
    assert np.array_equal(program.run(cells, extra=registers), expected)


@pytest.mark.parametrize("reach", ["another warp's lanes", "a lane between", "a column too far"])
def test_a_warp_that_reaches_beyond_its_quarter_is_a_fault(reach: str):
    """Access restrictions: warp w of a warpgroup may touch lanes 32·w to 32·w + 31 only."""

    def body(b: KernelBuilder, taddr: Int, _: Pointer) -> None:
        own = (b.tid_x >> 5) << 21
        address = {
            "another warp's lanes": taddr + (((b.tid_x >> 5) ^ 1) << 21),
            "a lane between": taddr + own + (8 << 16),
            "a column too far": taddr + own + 31,
        }[reach]
        b.tcgen05_ld(b.tensor_pointer(address), num=NUMS[2])
        b.tcgen05_wait_ld()

    with pytest.raises(Fault) as caught:
        TensorProgram(32, body=body).run(every_cell(32))
    assert "tcgen05.ld" in str(caught.value)


def test_the_second_warpgroup_reaches_the_same_lanes():
    """Warps 4 to 7 load what warps 0 to 3 stored: the quarter is the warp's number modulo 4."""
    b = KernelBuilder("two_groups", block=256)
    b.pointer("values")
    b.pointer("out")
    args = b.begin()
    slot = b.shared_word("slot")
    taddr = allocate(b, slot, 32)
    quarter = b.tensor_pointer(taddr + (((b.tid_x >> 5) & 3) << 21))
    with b.if_(b.tid_x < 128):
        b.tcgen05_st(quarter, load_vector(b, args["values"] + b.tid_x.zext(64) * 4, 1), num=NUMS[1])
        b.tcgen05_wait_st()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()
    with b.if_(b.tid_x >= 128):
        loaded = b.tcgen05_ld(quarter, num=NUMS[1])
        b.tcgen05_wait_ld()
        b.store(loaded, args["out"] + (b.tid_x - 128).zext(64) * 4, align=4)
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    with b.if_warp(0):
        b.tcgen05_dealloc(b.tensor_pointer(taddr), 32)
        b.tcgen05_relinq_alloc_permit()
    values, out = np.arange(128, dtype=np.uint32) * 3 + 1, np.zeros(128, np.uint32)
    b.finish().compile(target=TARGET).run(values, out)
    assert np.array_equal(out, values)


# ---- the MMA's matrices ----------------------------------------------------------------------

F16 = np.float16
A_DENSE = Placement(False, 32, 16, 256)
IMAGE = 16384


@pytest.mark.parametrize(
    ("m", "lane", "column", "n"),
    [(128, 0, 0, 256), (128, 0, 40, 24), (64, 0, 0, 64), (64, 16, 8, 16), (64, 16, 96, 8)],
)
def test_the_accumulator_lies_in_its_lanes_and_columns(m: int, lane: int, column: int, n: int):
    """D[i, j] = i + 256·j; every cell that is not D's keeps what it held."""
    a, b = np.zeros((m, 16), F16), np.zeros((n, 16), F16)
    a[:, 0], a[:, 1] = np.arange(m), 1
    b[:, 0], b[:, 1] = 1, 256.0 * np.arange(n)
    place = A_DENSE
    mma = Mma(
        MmaKind.F16,
        instruction_descriptor(MmaKind.F16, m, n, "f16", "f16"),
        place.descriptor,
        place.descriptor,
        d=lane << 16 | column,
    )
    program = TensorProgram(COLUMNS, IMAGE, IMAGE, (mma,))
    cells = every_cell(COLUMNS)
    expected = cells.copy()
    for i, j in np.ndindex(m, n):
        at = expected[lane + accumulator_lane(i, m)]
        at[column + j] = np.float32(i + 256 * j).view(np.uint32)
    found = program.run(cells, place.image(a, IMAGE), place.image(b, IMAGE))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("m", "lane"), [(128, 16), (128, 32), (64, 8), (64, 32), (64, 17)])
def test_an_accumulator_at_another_lane_is_a_fault(m: int, lane: int):
    """Data Path Layout Organization: lane 0 for layout D, lane 0 or 16 for layout F."""
    idesc = instruction_descriptor(MmaKind.F16, m, 16, "f16", "f16")
    mma = Mma(MmaKind.F16, idesc, A_DENSE.descriptor, A_DENSE.descriptor, d=lane << 16)
    zeros = np.zeros(IMAGE, np.uint8)
    with pytest.raises(Fault):
        TensorProgram(32, IMAGE, IMAGE, (mma,)).run(every_cell(32), zeros, zeros)


@pytest.mark.parametrize("matrix", ["A", "B"])
@pytest.mark.parametrize("major", ["K", "MN"])
def test_every_element_is_read_from_its_place(major: str, matrix: str):
    """The other matrix is the identity, so D is the matrix itself, each number once."""
    rows, k = 128, 16
    numbered = np.arange(rows * k).reshape(rows, k).astype(F16)
    identity = np.eye(k, dtype=F16)
    tall = np.concatenate([identity, np.zeros((48, k), F16)])
    for place in placements(2, rows, k, mn_major=major == "MN"):
        if matrix == "A":
            m, n, a_place, b_place = rows, k, place, A_DENSE
            a, b = place.image(numbered), A_DENSE.image(identity)
        else:
            m, n, a_place, b_place = 64, rows, A_DENSE, place
            a, b = A_DENSE.image(tall), place.image(numbered)
        idesc = instruction_descriptor(
            MmaKind.F16, m, n, "f16", "f16", a_mn=a_place.mn_major, b_mn=b_place.mn_major
        )
        mma = Mma(MmaKind.F16, idesc, a_place.descriptor, b_place.descriptor)
        program = TensorProgram(128, a.size, b.size, (mma,))
        found = program.run(every_cell(128), a, b).view(np.float32)
        read = found[:, :k] if matrix == "A" else found[:k].T
        assert np.array_equal(read, numbered.astype(np.float32)), place


@pytest.mark.parametrize("span", [64, 128])
def test_a_start_address_inside_the_swizzle_span_moves_along_k(span: int):
    """The k-th 32 bytes of a row: start + 32·k, and the swizzle stays that of the address."""
    rows, steps = 128, span // 32
    wide = (np.arange(rows * 16 * steps) % 2039).reshape(rows, 16 * steps).astype(F16)
    identity = np.eye(16, dtype=F16)
    place = Placement(False, span, 16, 8 * span)
    mmas = tuple(
        Mma(
            MmaKind.F16,
            instruction_descriptor(MmaKind.F16, 128, 16, "f16", "f16"),
            place.descriptor,
            A_DENSE.descriptor,
            a_offset=32 * step,
            d=16 * step,
        )
        for step in range(steps)
    )
    found = TensorProgram(64, IMAGE, IMAGE, mmas).run(
        every_cell(64), place.image(wide, IMAGE), A_DENSE.image(identity, IMAGE)
    )
    assert np.array_equal(found[:, : 16 * steps].view(np.float32), wide.astype(np.float32))


@pytest.mark.parametrize(
    ("kind", "name", "dtype"),
    [
        (MmaKind.F16, "bf16", ml_dtypes.bfloat16),
        (MmaKind.TF32, "tf32", np.float32),
        (MmaKind.F8F6F4, "e4m3", ml_dtypes.float8_e4m3fn),
    ],
)
@pytest.mark.parametrize("m", [64, 128])
def test_a_in_tensor_memory(m: int, kind: MmaKind, name: str, dtype: type):
    """Row i of A is in the lane of row i of D, 32 bits of consecutive k in each column."""
    size = np.dtype(dtype).itemsize
    k = 32 // size
    a = np.random.default_rng(m).integers(-8, 9, (m, k)).astype(dtype)  # type: ignore[var-annotated]
    identity = np.eye(k, dtype=dtype)  # type: ignore[var-annotated]
    cells = every_cell(64)
    for row in range(m):
        words = np.frombuffer(a[row].tobytes(), np.uint32)
        cells[accumulator_lane(row, m), 40 : 40 + len(words)] = words
    idesc = instruction_descriptor(kind, m, k, name, name)
    mma = Mma(kind, idesc, b_desc=A_DENSE.descriptor, a_cell=40)
    found = TensorProgram(64, 0, IMAGE, (mma,)).run(cells, None, A_DENSE.image(identity, IMAGE))
    lanes = [accumulator_lane(row, m) for row in range(m)]
    assert np.array_equal(found[lanes, :k].view(np.float32), a.astype(np.float32))


def test_shared_memory_beyond_the_kernels_own_is_not_read():
    """A descriptor whose rows reach behind the last byte of shared memory."""
    idesc = instruction_descriptor(MmaKind.F16, 128, 256, "f16", "f16")
    mma = Mma(MmaKind.F16, idesc, A_DENSE.descriptor, A_DENSE.descriptor, b_offset=IMAGE - 1024)
    images = np.zeros(IMAGE, np.uint8)
    with pytest.raises(SimulationError) as caught:
        TensorProgram(256, IMAGE, IMAGE, (mma,)).run(every_cell(256), images, images)
    assert "tcgen05.mma" in str(caught.value)
