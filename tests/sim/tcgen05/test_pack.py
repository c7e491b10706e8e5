"""Packing loads and unpacking stores of tensor memory.

PTX ISA, Packing and Unpacking: two 16-bit chunks of adjacent columns are one register.  Which
columns belong to which register follows from the fragments of the plain shapes
(`tests.sim.layouts.cell`), whose columns are two each now; it is compared with CuTe's traits
(`Copy_Traits<SM100_TMEM_LOAD_*_16b>`), written down as shapes and strides.  What an unpacking store
leaves in the high halves of its cells is not documented, and not compared.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.each import each
from tests.sim.layouts import COUNTS, REGISTERS, Cell, cell, column_count, cute, register_count
from tests.sim.ptx import SCHEDULES
from tests.sim.tcgen05.tensor_scenes import (
    COLUMNS,
    FIRST,
    Words,
    blank_image,
    numbers,
    play,
    problem,
    scene,
)

pytestmark = pytest.mark.turns(6)

FORMS = [
    (shape, num) for shape in REGISTERS for num in COUNTS if 2 * column_count(shape, num) <= 32
]
"""Shapes that reach over half of the columns at most."""

LANE = 1 << 21


def halves(shape: str, thread: int, register: int, split: int = 0) -> tuple[Cell, Cell]:
    """The cells whose low halves are the low and the high half of a register."""
    lane, column = cell(shape, thread, register)
    column = 2 * column + (thread // 16 * split if shape == "16x32bx2" else 0)
    return (lane, column), (lane, column + 1)


CUTE = {
    ("16x64b", 1): ((16, 4, 16), (1, 32, LANE), (2, 2, 8, 32), (512, 32, 64, 1), 3),
    ("16x256b", 1): ((16, 16, 16), (1, 32, LANE), (4, 8, 64, 2), (64, 256, 1, 2048), 2),
    ("16x32bx2", 2): ((16, 8, 16), (1, 32, LANE), (16, 2, 64), (128, 64, 1), 2),
}
"""ValID's shape and strides, DstLayout's, and how many of the latter are of threads."""


@pytest.mark.parametrize(("shape", "num"), CUTE)
def test_the_halves_are_those_of_cute(shape: str, num: int):
    """The second half of x2 begins 4 columns behind: CuTe's address of bits says so."""
    valid, steps, destination, strides, threads = CUTE[shape, num]
    per_thread = int(np.prod(destination[threads:]))
    for thread in range(32):
        base = cute(destination[:threads], strides[:threads], thread)
        for bit in range(0, per_thread, 16):
            at = base + cute(destination[threads:], strides[threads:], bit)
            lane, place = divmod(cute(valid, steps, at), LANE)
            assert place % 32 == 0, "the low half"
            expected = halves(shape, thread, bit // 32, 4)[bit // 16 % 2]
            assert (lane, place // 32) == expected


def names(count: int) -> str:
    return "{" + ", ".join(f"%r{FIRST + i}" for i in range(count)) + "}"


def access(shape: str, num: int, lane: int, column: int, *, store: bool) -> str:
    """All threads load packed registers to %a4, or store them unpacked from there."""
    count = register_count(shape, num)
    split = f", {COLUMNS // 2}" if shape == "16x32bx2" else ""
    if store:
        moves = [f"    ld.global.b32 %r{FIRST + i}, [%rd5+{4 * i}];" for i in range(count)]
        body = [
            *moves,
            f"    tcgen05.st.sync.aligned.{shape}.x{num}.unpack::16b.b32 "
            f"[%r11]{split}, {names(count)};",
            "    tcgen05.wait::st.sync.aligned;",
        ]
    else:
        moves = [f"    st.global.b32 [%rd5+{4 * i}], %r{FIRST + i};" for i in range(count)]
        body = [
            f"    tcgen05.ld.sync.aligned.{shape}.x{num}.pack::16b.b32 "
            f"{names(count)}, [%r11]{split};",
            "    tcgen05.wait::ld.sync.aligned;",
            *moves,
        ]
    head = f"""
    add.u32 %r11, %r10, {lane << 16 | column};
    mul.wide.u32 %rd5, %tx, {4 * count};
    add.u64 %rd5, %rd5, %a4;
"""
    return head + "\n".join(body)


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("shape, num", FORMS)
def test_a_packing_load(shape: str, num: int, schedule: str):
    lane, column = (0 if shape == "32x32b" else 16), 0 if num > 8 else 6
    count, cells = register_count(shape, num), numbers()
    column = min(column, COLUMNS // 2 - 2 * column_count(shape, num))
    expected = np.zeros((128, count), np.uint32)
    for thread, register in np.ndindex(128, count):
        warp, in_warp = divmod(thread, 32)
        low, high = (
            cells[32 * warp + lane + at, column + to] & 0xFFFF
            for at, to in halves(shape, in_warp, register, COLUMNS // 2)
        )
        expected[thread, register] = low | high << 16
    loaded = np.zeros_like(expected)
    text = scene("", everybody=access(shape, num, lane, column, store=False))
    after = play(text, blank_image(), cells, loaded, schedule=schedule)
    assert (loaded == expected).all()
    assert (after == cells).all()


def stored(shape: str, num: int, lane: int, column: int, given: Words) -> tuple[Words, Words]:
    """The cells after an unpacking store, and which bits of them are known."""
    found, known = numbers(), np.full((128, COLUMNS), 0xFFFFFFFF, np.uint32)
    for thread, register in np.ndindex(*given.shape):
        warp, in_warp = divmod(thread, 32)
        for i, (at, to) in enumerate(halves(shape, in_warp, register, COLUMNS // 2)):
            place = 32 * warp + lane + at, column + to
            found[place] = given[thread, register] >> 16 * i & 0xFFFF
            known[place] = 0xFFFF
    return found, known


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("shape, num", FORMS)
def test_an_unpacking_store(shape: str, num: int, schedule: str):
    lane = 0 if shape == "32x32b" else 16
    column = min(6, COLUMNS // 2 - 2 * column_count(shape, num))
    count = register_count(shape, num)
    given = np.random.default_rng(7).integers(0, 1 << 32, (128, count), np.uint32)
    expected, known = stored(shape, num, lane, column, given)
    text = scene("", everybody=access(shape, num, lane, column, store=True))
    after = play(text, blank_image(), numbers(), given, schedule=schedule)
    assert (after & known == expected & known).all()


@pytest.mark.parametrize("store", [False, True])
def test_a_packed_access_has_twice_the_columns(store: bool):
    """Half of the columns would do without packing."""
    data = np.zeros((128, 8), np.uint32)
    fits = access("32x32b", 8, 0, COLUMNS - 16, store=store)
    play(scene("", everybody=fits), blank_image(), numbers(), data)
    beyond = access("32x32b", 8, 0, COLUMNS - 14, store=store)
    finding = problem(scene("", everybody=beyond), blank_image(), others=[data])
    assert finding.rule == "sim/tensor-memory-bounds"
