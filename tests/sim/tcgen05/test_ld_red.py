"""tcgen05.ld that computes while it loads: .red and .spcompress, against numpy.

PTX ISA, tcgen05.ld; redux.sync for the numbers that its reduction of floats leaves undefined: -0 is
less than +0, a NaN is left out unless .NaN is given or there is nothing else.  The places and the
order of the numbers that .spcompress keeps are those of the scalar spcompress.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.each import each
from tests.sim.ptx import SCHEDULES
from tests.sim.tcgen05.tensor_scenes import COLUMNS, FIRST, Words, blank_image, play, problem, scene

pytestmark = pytest.mark.turns(6)

RED = {"target": "sm_103a", "version": "8.8"}
SP = {"target": "sm_107a", "version": "9.4"}
NAN = 0x7FFFFFFF
SPECIAL = np.array(
    [0, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x3F800000],
    np.uint32,
)
"""Zeros, subnormals, infinities, NaNs and 1."""


def names(start: int, count: int) -> str:
    return "{" + ", ".join(f"%r{start + i}" for i in range(count)) + "}"


def kept(what: list[int]) -> str:
    """Registers of each thread to its row of %a4."""
    moves = [f"    st.global.b32 [%rd5+{4 * i}], %r{r};" for i, r in enumerate(what)]
    return "\n".join(
        [f"    mul.wide.u32 %rd5, %tx, {4 * len(what)};", "    add.u64 %rd5, %rd5, %a4;", *moves]
    )


def load_red(num: int, form: str, *, wait: bool = True) -> str:
    """A reducing load of all threads: its registers and the result to %a4."""
    waited = "    tcgen05.wait::ld.sync.aligned;" if wait else ""
    return f"""
    tcgen05.ld.red.sync.aligned.32x32b.x{num}.{form} {names(FIRST, num)}, %r19, [%r10];
{waited}
{kept([*range(FIRST, FIRST + num), 19])}"""


def reduction(row: NDArray[np.uint32], form: str) -> int:
    """The result for one thread, by numpy."""
    op, *modifiers, type_ = form.split(".")
    if type_ != "f32":
        numbers = row.view(np.int32) if type_ == "s32" else row
        return int(numbers.min() if op == "min" else numbers.max()) & 0xFFFFFFFF
    values = np.abs(row.view(np.float32)) if "abs" in modifiers else row.view(np.float32)
    known = values[~np.isnan(values)]
    if not known.size or ("NaN" in modifiers and known.size < values.size):
        return NAN
    best = known.min() if op == "min" else known.max()
    equal = known[known == best].view(np.uint32)  # zeros of both signs are equal
    return int(equal.max() if op == "min" else equal.min())


def mixed(seed: int) -> Words:
    """Random patterns, and in three of four lanes special ones among them."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 1 << 32, (128, COLUMNS), np.uint32)
    found[32:] = np.where(
        rng.random((96, COLUMNS)) < 0.3, rng.choice(SPECIAL, (96, COLUMNS)), found[32:]
    )
    found[64:] = rng.choice(SPECIAL, (64, COLUMNS))
    found[96:] = rng.choice(SPECIAL[:2], (32, COLUMNS))
    found[96:100] = 0x7FC00001
    return found


FORMS = [
    *(f"{op}{m}.f32" for op in ("min", "max") for m in ("", ".abs", ".NaN", ".abs.NaN")),
    *(f"{op}.{t}" for op in ("min", "max") for t in ("u32", "s32")),
]


@pytest.mark.parametrize("num", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("form", FORMS)
def test_a_reducing_load(form: str, num: int):
    cells = mixed(num)
    found = np.zeros((128, num + 1), np.uint32)
    after = play(scene("", everybody=load_red(num, form)), blank_image(), cells, found, **RED)
    assert (found[:, :num] == cells[:, :num]).all(), "registers as tcgen05.ld has them"
    assert found[:, num].tolist() == [reduction(cells[t, :num], form) for t in range(128)]
    assert (after == cells).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_result_is_there_when_it_is_used(schedule: str):
    """A true register dependency is respected, without a wait for the load."""
    cells = mixed(1)
    found = np.zeros((128, 9), np.uint32)
    text = scene("", everybody=load_red(8, "max.f32", wait=False))
    play(text, blank_image(), cells, found, schedule=schedule, **RED)
    assert found[:, 8].tolist() == [reduction(cells[t, :8], "max.f32") for t in range(128)]


SPLITS = [(2, 2), (4, 16), (8, 8), (8, 40), (16, 3)]
"""Registers, and how many columns the second part begins behind the first."""


def halved(num: int, form: str, split: int, lane: int) -> str:
    """A reducing load of two parts of 16 lanes of each warp, the lower ones or the upper ones."""
    return f"""
    add.u32 %r2, %r10, {lane << 16};
    tcgen05.ld.red.sync.aligned.16x32bx2.x{num}.{form} {names(FIRST, num)}, %r19, [%r2], {split};
    tcgen05.wait::ld.sync.aligned;
{kept([*range(FIRST, FIRST + num), 19])}"""


@pytest.mark.parametrize("lane", [0, 16])
@pytest.mark.parametrize("form", FORMS)
@each("num, split", SPLITS)
def test_a_reducing_load_of_two_parts_of_a_lane(form: str, num: int, split: int, lane: int):
    """Threads 0 to 15 of a warp have the first part, 16 to 31 the second, each with its result."""
    cells = mixed(num + split)
    found = np.zeros((128, num + 1), np.uint32)
    text = scene("", everybody=halved(num, form, split, lane))
    play(text, blank_image(), cells, found, **RED)
    for thread in range(128):
        row, first = thread // 32 * 32 + lane + thread % 16, thread % 32 // 16 * split
        part = cells[row, first : first + num]
        assert found[thread].tolist() == [*part.tolist(), reduction(part, form)], thread


# ---- two of four -----------------------------------------------------------------------------


def load_two(num: int, form: str, *, red: bool) -> str:
    """A compressing load of all threads: places, numbers, and with `red` the extreme, to %a4."""
    words, count = -(-num // 32), num // 2
    places, numbers_ = names(FIRST, words), names(FIRST + words, count)
    extreme = ", %r19" if red else ""
    return f"""
    tcgen05.ld.{"red." if red else ""}spcompress.sync.aligned.32x32b.x{num}.{form}.f32.b2
        {places}, {numbers_}{extreme}, [%r10];
    tcgen05.wait::ld.sync.aligned;
{kept([*range(FIRST, FIRST + words + count), *([19] if red else [])])}"""


def distinct(seed: int) -> Words:
    """Numbers of which no two have the same magnitude."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(128 * COLUMNS, dtype=np.float32) * np.float32(0.37) + np.float32(0.01)
    values = rng.permutation(sizes).reshape(128, COLUMNS) * rng.choice([-1, 1], (128, COLUMNS))
    return values.astype(np.float32).view(np.uint32)


def two_of_four(row: Words, form: str) -> list[int]:
    """The words of places, then the kept numbers, of one thread."""
    op, _, *modifiers = form.split(".")
    places: list[int] = []
    for start in range(0, row.size, 4):
        values = row[start : start + 4].view(np.float32)
        keys = np.abs(values) if modifiers else values
        order = np.argsort(keys if op == "min" else -keys)
        places += sorted(order[:2].tolist())
    numbers = [int(row[i // 2 * 4 + place]) for i, place in enumerate(places)]
    words = [0] * -(-row.size // 32)
    for i, place in enumerate(places):
        words[i // 16] |= place << 2 * (i % 16)
    return words + numbers


SP_FORMS = ["min.sp::2:4", "max.sp::2:4", "min.sp::2:4.abs", "max.sp::2:4.abs"]


@pytest.mark.parametrize("num", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("form", SP_FORMS)
def test_a_compressing_load(form: str, num: int):
    cells = distinct(num)
    expected = [two_of_four(cells[t, :num], form) for t in range(128)]
    found = np.zeros((128, len(expected[0])), np.uint32)
    play(scene("", everybody=load_two(num, form, red=False)), blank_image(), cells, found, **SP)
    assert found.tolist() == expected


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("form", SP_FORMS)
def test_a_compressing_load_that_reduces(form: str, schedule: str):
    """The extreme is of all numbers, kept or not."""
    cells = distinct(3)
    plain = form.replace(".sp::2:4", "") + ".f32"
    expected = [
        [*two_of_four(cells[t, :16], form), reduction(cells[t, :16], plain)] for t in range(128)
    ]
    found = np.zeros((128, len(expected[0])), np.uint32)
    text = scene("", everybody=load_two(16, form, red=True))
    play(text, blank_image(), cells, found, schedule=schedule, **SP)
    assert found.tolist() == expected


def first_four(numbers: list[float]) -> Words:
    """Cells whose first four columns hold the numbers, in every lane."""
    cells = distinct(5)
    cells[:, :4] = np.array(numbers, np.float32).view(np.uint32)
    return cells


@pytest.mark.parametrize(
    ("form", "numbers", "places", "kept_numbers"),
    [
        ("max.sp::2:4", [5, 1, 5, 2], 0b1000, [5, 5]),
        ("max.sp::2:4", [1, 7, 1, 9], 0b1101, [7, 9]),
        ("min.sp::2:4", [5, 1, 5, 2], 0b1101, [1, 2]),
        ("max.sp::2:4.abs", [1, -7, 2, 7], 0b1101, [-7, 7]),
        ("max.sp::2:4", [float("-inf"), 0, float("-inf"), -0.5], 0b1101, [0, -0.5]),
    ],
)
def test_equal_numbers_of_which_all_are_kept_or_none(
    form: str, numbers: list[float], places: int, kept_numbers: list[float]
):
    found = np.zeros((128, 3), np.uint32)
    text = scene("", everybody=load_two(4, form, red=False))
    play(text, blank_image(), first_four(numbers), found, **SP)
    expected = [places, *np.array(kept_numbers, np.float32).view(np.uint32).tolist()]
    assert (found == expected).all()


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("max.sp::2:4", [5, 3, 3, 1]),
        ("max.sp::2:4", [3, 3, 3, 3]),
        ("min.sp::2:4", [5, 3, 3, 1]),
        ("max.sp::2:4", [1, 0, -0.0, -1]),
        ("max.sp::2:4.abs", [4, 2, -2, 1]),
        ("min.sp::2:4", [float("nan"), 1, 2, 3]),
        ("max.sp::2:4.abs", [1, 2, 3, float("nan")]),
    ],
)
@pytest.mark.parametrize("red", [False, True])
def test_what_is_not_known_is_refused(form: str, numbers: list[float], red: bool):
    """Which of equal numbers is kept, and whether a NaN is."""
    text = scene("", everybody=load_two(4, form, red=red))
    finding = problem(
        text, blank_image(), first_four(numbers), [np.zeros((128, 4), np.uint32)], **SP
    )
    assert finding.rule == "sim/not-simulated"
    assert finding.incomplete
    assert finding.place.line > 0
