"""tcgen05.shift, and the order of copies, shifts and multiplies of one thread.

PTX ISA, tcgen05.shift; Pipelined tcgen05 Instructions.  The pairs that the manual lists are right
under every schedule; every other pair goes wrong under one that reverses what may be reversed.
Which way a shift goes is CuTe's, whose copy of four rows refreshes the last lane of each 32.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.findings import SimulationError
from intrinsics.modifiers import MmaKind
from tests.each import each
from tests.sim.layouts import k_major
from tests.sim.matrices import instruction_descriptor, matrix_descriptor
from tests.sim.ptx import SCHEDULES
from tests.sim.tcgen05.tensor_scenes import (
    COMMIT,
    Words,
    await_phase,
    blank_image,
    commit,
    numbers,
    play,
    problem,
    scene,
)

# ---- shifts ----------------------------------------------------------------------------------


def shift(lane: int = 0, column: int = 0) -> str:
    return f"""
    add.u32 %r2, %r9, {lane << 16 | column};
    tcgen05.shift.cta_group::1.down [%r2];"""


def shifted(cells: Words, lane: int = 0, column: int = 0) -> Words:
    """Of 32 lanes and 8 columns, all rows but the last are replaced by the next one."""
    found = cells.copy()
    found[lane : lane + 31, column : column + 8] = cells[lane + 1 : lane + 32, column : column + 8]
    return found


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("lane", "column"), [(0, 0), (32, 8), (64, 55), (96, 56)])
def test_a_shift_moves_31_rows_of_32_bytes(lane: int, column: int, schedule: str):
    start = numbers()
    found = play(scene(shift(lane, column) + COMMIT), blank_image(), start, schedule=schedule)
    assert (found == shifted(start, lane, column)).all()


@pytest.mark.parametrize("lane", [1, 16, 33, 127])
def test_the_lane_of_a_shift_is_aligned_to_32(lane: int):
    finding = problem(scene(shift(lane) + COMMIT), blank_image())
    assert finding.rule == "sim/lane-alignment"


@pytest.mark.parametrize(("lane", "column"), [(128, 0), (0, 57), (0, 64)])
def test_a_shift_stays_within_the_allocation(lane: int, column: int):
    finding = problem(scene(shift(lane, column) + COMMIT), blank_image())
    assert finding.rule == "sim/tensor-memory-bounds"


def test_one_thread_issues_a_shift():
    text = scene(shift() + COMMIT).replace("    @%p8 bra led;", "    @%p9 bra led;")
    assert problem(text, blank_image()).rule == "sim/single-thread"


def test_columns_are_not_deallocated_while_a_shift_is_in_flight():
    text = scene("", everybody=f"    @%p8 bra on;{shift()}\non:")
    finding = problem(text, blank_image(), schedule="late")
    assert finding.rule == "sim/dealloc-busy"


# ---- pairs -----------------------------------------------------------------------------------

M, N, K = 128, 16, 16
D, ROWS, ROWS2, FOUR, A, B = (4096 * i for i in range(6))
"""What lies where in shared memory: the result's first columns and others, rows, A and B."""

SIZE = B + 512


def as_f32(words: NDArray[np.float32]) -> Words:
    return np.ascontiguousarray(words, np.float32).view(np.uint32)


RNG = np.random.default_rng(5)
LEFT, RIGHT = (RNG.integers(-4, 5, (n, K)).astype(np.float16) for n in (M, N))
PRODUCT = LEFT.astype(np.float32) @ RIGHT.astype(np.float32).T
START = RNG.integers(-99, 99, (128, 64)).astype(np.float32)
COPIED, COPIED2 = (RNG.integers(-99, 99, (128, 8)).astype(np.float32) for _ in range(2))
REFRESH = RNG.integers(-99, 99, (4, 8)).astype(np.float32)


def image() -> NDArray[np.uint8]:
    """All operands: 32 bytes a row, without swizzling."""
    found = np.zeros(-(-SIZE // 512) * 512, np.uint8)
    parts = {ROWS: COPIED, ROWS2: COPIED2, FOUR: REFRESH, A: LEFT, B: RIGHT}
    for start, part in parts.items():
        data = np.ascontiguousarray(part).view(np.uint8)
        for row in range(len(data)):
            for byte in range(32):
                at = start + k_major(row, byte, span=0, lbo=128, sbo=256)
                found[at] = data[row, byte]
    return found


def descriptor(register: int, start: int) -> str:
    constant = matrix_descriptor(span=0, lbo=128, sbo=256)
    return f"""
    mov.u32 %r1, image;
    add.u32 %r1, %r1, {start};
    and.b32 %r1, %r1, 0x3ffff;
    shr.u32 %r1, %r1, 4;
    cvt.u64.u32 %rd{register}, %r1;
    or.b64 %rd{register}, %rd{register}, {constant};"""


def copy(start: int, shape: str = "128x256b", lane: int = 0) -> str:
    return f"""{descriptor(3, start)}
    add.u32 %r2, %r9, {lane << 16};
    tcgen05.cp.cta_group::1.{shape} [%r2], %rd3;"""


FOUR_ROWS = copy(FOUR, "4x256b", 31)


def multiply(*, add: bool) -> str:
    idesc = instruction_descriptor(MmaKind.F16, M, N, "f16", "f16")
    return f"""{descriptor(3, A)}{descriptor(4, B)}
    setp.ne.u32 %p2, {int(add)}, 0;
    mov.u32 %r2, {idesc};
    tcgen05.mma.cta_group::1.kind::f16 [%r9], %rd3, %rd4, %r2, %p2;"""


def after(*steps: str) -> NDArray[np.float32]:
    """What all columns hold when the steps happen in this order, by numpy."""
    found = START.copy()
    for step in steps:
        match step:
            case "mma":
                found[:, :N] = PRODUCT
            case "mma+":
                found[:, :N] += PRODUCT
            case "shift":
                found = shifted(as_f32(found)).view(np.float32)
            case "cp":
                found[:, :8] = COPIED
            case "cp2":
                found[:, :8] = COPIED2
            case "cp4":
                found[31::32, :8] = REFRESH
    return found


STATEMENTS = {
    "mma": multiply(add=False),
    "mma+": multiply(add=True),
    "shift": shift(),
    "cp": copy(ROWS),
    "cp2": copy(ROWS2),
    "cp4": FOUR_ROWS,
}

PIPELINED = [
    ("cp", "mma+"),
    ("cp4", "mma+"),
    ("shift", "mma+"),
    ("shift", "cp4"),
    ("mma", "shift"),
    ("mma+", "shift"),
    ("mma", "shift", "cp4", "mma+"),
]
UNORDERED = [
    ("mma", "cp"),
    ("mma", "cp4"),
    ("mma+", "cp"),
    ("cp", "cp2"),
    ("cp", "cp4"),
    ("shift", "cp"),
    ("cp", "shift"),
    ("cp4", "shift"),
]
"""Where the order shows: swapped, the result is another."""


def happens(steps: tuple[str, ...], schedule: str, *, races: bool = True) -> NDArray[np.float32]:
    """What all columns hold after thread 0 issued the steps."""
    leader = "".join(STATEMENTS[step] for step in steps) + COMMIT
    found = play(scene(leader), image(), as_f32(START), schedule=schedule, races=races)
    return found.view(np.float32)


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("steps", PIPELINED, ids=" then ".join)
def test_a_pair_of_a_pipeline_stays_in_order(steps: tuple[str, ...], schedule: str):
    assert (happens(steps, schedule) == after(*steps)).all()


@pytest.mark.turns(4)
@pytest.mark.parametrize("steps", UNORDERED, ids=" then ".join)
def test_every_other_pair_may_be_reversed(steps: tuple[str, ...]):
    assert (after(*steps) != after(*reversed(steps))).any(), "the order would not show"
    assert (happens(steps, "early", races=False) == after(*steps)).all()
    assert (happens(steps, "late", races=False) == after(*reversed(steps))).all()
    for schedule in SCHEDULES:
        with pytest.raises(SimulationError) as caught:
            happens(steps, schedule)
        assert caught.value.findings[0].rule == "sim/race"


@pytest.mark.turns(3)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("steps", UNORDERED, ids=" then ".join)
def test_a_commit_and_its_wait_keep_any_pair_in_order(steps: tuple[str, ...], schedule: str):
    first, second = (STATEMENTS[step] for step in steps)
    leader = first + commit("step") + await_phase("step") + second + COMMIT
    found = play(scene(leader), image(), as_f32(START), schedule=schedule).view(np.float32)
    assert (found == after(*steps)).all()


@pytest.mark.turns(4)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("steps", [p for p in PIPELINED if len(p) == 2], ids=" then ".join)
def test_a_pair_stays_in_order_across_threads_that_meet(steps: tuple[str, ...], schedule: str):
    """Canonical synchronization patterns: pipelined instructions, different thread."""
    first, second = (STATEMENTS[step] for step in steps)
    text = scene(first, relay=second + COMMIT)
    found = play(text, image(), as_f32(START), schedule=schedule).view(np.float32)
    assert (found == after(*steps)).all()
