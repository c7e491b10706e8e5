"""tcgen05.cp: which bytes of shared memory it reads, and which cells it writes.

Every cell of the allocation is compared, those that must keep what they have among them.  Rows in
shared memory are placed by the canonical layouts (`tests.sim.layouts`).  The cells are those of
CuTe's traits, written down here as shapes and strides (`Copy_Traits<SM100_UTCCP_*>`: ValID from
bits to tensor memory, SrcLayout from bits to the bits of the source), and evaluated by CuTe's rule
for layouts: a coordinate is split in column-major order, its parts multiplied by the strides.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.layouts.scale_factors import scale_cells
from tests.sim.layouts import cute, k_major, swizzled
from tests.sim.matrices import matrix_descriptor
from tests.sim.ptx import SCHEDULES
from tests.sim.tcgen05.tensor_scenes import COMMIT, numbers, play, scene

pytestmark = pytest.mark.turns(12)

# ---- CuTe's layouts --------------------------------------------------------------------------

LANE = 1 << 21
"""TMEM::DP_b: the distance of two lanes in CuTe's addresses of bits; a column is 32 bits."""


TRAITS = {
    "128x256b": ((128, 256), (LANE, 1), (128, 256), (1, 128)),
    "4x256b": ((128, 256), (LANE, 1), None, None),
    "128x128b": ((128, 128), (LANE, 1), (128, 128), (1, 128)),
    "32x128b.warpx4": ((32, 128, 4), (LANE, 1, 32 * LANE), (32, 128, 4), (1, 32, 0)),
    "64x128b.warpx2::02_13": ((64, 128, 2), (LANE, 1, 64 * LANE), (64, 128, 2), (1, 64, 0)),
    "64x128b.warpx2::01_23": (
        (32, 128, 2, 2),
        (LANE, 1, 64 * LANE, 32 * LANE),
        (32, 128, 2, 2),
        (1, 32, 4096, 0),
    ),
}
"""ValID's shape and strides, then the source's, whose strides 0 are multicasts."""

ROWS = {name: int(name.partition("x")[0]) for name in TRAITS}
BYTES = {name: 32 if "256b" in name else 16 for name in TRAITS}


def cells_of(name: str) -> list[tuple[int, int, int, int]]:
    """(row, word of the row, lane, column) of each cell that a copy writes."""
    shape, stride, source, steps = TRAITS[name]
    rows, words = ROWS[name], BYTES[name] // 4
    found = set()
    if source is None or steps is None:
        # SrcLayout (4, 256):(32, 128) is from bits of the copy to the bits of 128 lanes.
        for index in range(4 * 256):
            at = cute((4, 256), (32, 128), index)
            lane, bit = divmod(cute(shape, stride, at), LANE)
            found.add((index % 4, index // 4 // 32, lane, bit // 32))
    else:
        for index in range(int(np.prod(shape))):
            lane, bit = divmod(cute(shape, stride, index), LANE)
            at = cute(source, steps, index)
            if name.endswith("01_23"):  # bits of 32 rows, then those of the next 32
                part, at = divmod(at, 4096)
                row, column = 32 * part + at % 32, at // 32
            else:
                row, column = at % rows, at // rows
            assert column % 32 == bit % 32
            found.add((row, column // 32, lane, bit // 32))
    assert len({cell[2:] for cell in found}) == len(found)
    assert {cell[:2] for cell in found} == {(r, w) for r in range(rows) for w in range(words)}
    return sorted(found)


# ---- shared memory ---------------------------------------------------------------------------


def placed(
    rows: NDArray[np.uint8], *, span: int, lbo: int, sbo: int, start: int = 0
) -> NDArray[np.uint8]:
    """Rows of bytes in an image; what is between them is 0xEE."""
    places = [
        [
            swizzled(start + k_major(row, byte, span=span, lbo=lbo, sbo=sbo), span)
            for byte in range(rows.shape[1])
        ]
        for row in range(rows.shape[0])
    ]
    image = np.full(-(-(max(map(max, places)) + 1) // 512) * 512, 0xEE, np.uint8)
    image[np.array(places)] = rows
    return image


def operation(
    name: str,
    *,
    span: int = 0,
    lbo: int = 128,
    sbo: int = 256,
    start: int = 0,
    column: int = 0,
    lane: int = 0,
    formats: str = "",
    base_offset: int = 0,
) -> str:
    """The leader of a scene: one copy of the image, and its commit."""
    constant = matrix_descriptor(span=span, lbo=lbo, sbo=sbo, base_offset=base_offset)
    return f"""
    mov.u32 %r1, image;
    add.u32 %r1, %r1, {start};
    and.b32 %r1, %r1, 0x3ffff;
    shr.u32 %r1, %r1, 4;
    cvt.u64.u32 %rd3, %r1;
    or.b64 %rd3, %rd3, {constant};
    add.u32 %r2, %r9, {lane << 16 | column};
    tcgen05.cp.cta_group::1.{name}{formats} [%r2], %rd3;{COMMIT}"""


def source(name: str, seed: int = 1) -> NDArray[np.uint8]:
    """Random rows for a copy."""
    shape = (ROWS[name], BYTES[name])
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def expected(
    name: str, rows: NDArray[np.uint8], *, column: int = 0, lane: int = 0, seed: int = 0
) -> NDArray[np.uint32]:
    """All cells after a copy of rows into a scene's numbers."""
    found = numbers(seed)
    words = rows.view("<u4")
    for row, word, at, to in cells_of(name):
        found[lane + at, column + to] = words[row, word]
    return found


# ---- tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", TRAITS)
def test_a_copy_writes_its_cells_and_no_other(name: str, schedule: str):
    rows = source(name)
    image = placed(rows, span=0, lbo=128, sbo=256)
    found = play(scene(operation(name, column=8)), image, numbers(), schedule=schedule)
    assert (found == expected(name, rows, column=8)).all()


@pytest.mark.parametrize("span", [32, 64, 128])
@pytest.mark.parametrize("name", TRAITS)
def test_rows_may_be_swizzled(name: str, span: int):
    """Each start of a row within its span, as a kernel does that copies a wide tile in pieces."""
    for start in range(0, span, BYTES[name]):
        rows = source(name, start)
        image = placed(rows, span=span, lbo=16, sbo=8 * span, start=start)
        leader = operation(name, span=span, lbo=16, sbo=8 * span, start=start)
        assert (play(scene(leader), image, numbers()) == expected(name, rows)).all(), start


@pytest.mark.parametrize(("lbo", "sbo"), [(2048, 128), (16, 512), (4096, 144)])
@pytest.mark.parametrize("name", TRAITS)
def test_the_strides_are_the_descriptors(name: str, lbo: int, sbo: int):
    """The leading dimension goes from piece to piece, the stride dimension from 8 rows to 8."""
    if (lbo, sbo) == (16, 512) and BYTES[name] == 32:
        lbo = 256  # pieces 16 bytes apart would lie over the next rows
    rows = source(name)
    image = placed(rows, span=0, lbo=lbo, sbo=sbo)
    found = play(scene(operation(name, lbo=lbo, sbo=sbo)), image, numbers())
    assert (found == expected(name, rows)).all()


@pytest.mark.parametrize("lines", range(1, 8))
@pytest.mark.parametrize("span", [32, 64, 128])
def test_a_swizzle_may_begin_at_any_line(span: int, lines: int):
    """The base offset is the number of the 128-byte line, modulo 8, where the pattern begins."""
    name, first = "128x128b", 128 * lines
    rows = source(name)
    image = np.concatenate(
        [
            np.zeros(first, np.uint8),
            placed(rows, span=span, lbo=16, sbo=8 * span),
            np.zeros(512 - first % 512, np.uint8),
        ]
    )
    leader = operation(name, span=span, lbo=16, sbo=8 * span, start=first, base_offset=lines)
    assert (play(scene(leader), image, numbers()) == expected(name, rows)).all()


@pytest.mark.parametrize("lane", [0, 1, 30, 31])
def test_four_rows_may_begin_at_any_lane_of_a_quarter(lane: int):
    """CuTe calls the copy of four rows a refresh of the last lane of each 32."""
    rows = source("4x256b")
    image = placed(rows, span=0, lbo=128, sbo=256)
    found = play(scene(operation("4x256b", lane=lane)), image, numbers())
    assert (found == expected("4x256b", rows, lane=lane)).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_scale_factors_land_where_a_multiply_reads_them(schedule: str):
    """128 rows of four factors as cuBLAS orders them (1D block scaling factors layout, 128x4).

    The four factors of row i are 16 * (i % 32) + 4 * (i // 32) bytes from the start of 512.
    """
    factors = np.random.default_rng(8).integers(0, 256, (128, 4), np.uint8)
    image = np.zeros(512, np.uint8)
    for row, k in np.ndindex(128, 4):
        image[16 * (row % 32) + 4 * (row // 32) + k] = factors[row, k]
    leader = operation("32x128b.warpx4", sbo=128, column=4)
    found = play(scene(leader), image, numbers(), schedule=schedule)
    cells = scale_cells(128, 4, 0)
    for quarter in range(4):
        words = found[32 * quarter + cells.lane, 4 + cells.column]
        assert (words >> 8 * cells.byte & 0xFF == factors).all()
