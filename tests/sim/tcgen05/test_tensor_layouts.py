"""tcgen05.ld, .st and .mma find every element where the manual says."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.findings import SimulationError
from intrinsics.modifiers import MmaKind
from nvgen import KernelBuilder
from nvgen.sim.faults import Fault
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer
from tests.sim.kernels import (
    LANES,
    NUMS,
    SHAPES,
    TARGET,
    Mma,
    TensorProgram,
    allocate,
    load_vector,
)
from tests.sim.layouts import (
    COUNTS,
    REGISTERS,
    accumulator_lane,
    cell,
    column_count,
    register_count,
)
from tests.sim.matrices import Placement, instruction_descriptor, placements

pytestmark = pytest.mark.turns(12)


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


@pytest.mark.wrong_kernel
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
