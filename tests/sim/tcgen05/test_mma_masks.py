"""Lanes of D that are not written, columns of B that count as zero, and B that is shifted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intrinsics.modifiers import MmaKind
from nvgen.sim.faults import Fault, NotSimulatedError
from tests.sim.kernels import TensorProgram
from tests.sim.matrices import Placement
from tests.sim.tcgen05.mma_case import COLUMNS, IMAGE, Case, image, prepared, run
from tests.sim.tcgen05.mma_inputs import check, dense, number
from tests.sim.tcgen05.mma_layouts import values

pytestmark = pytest.mark.turns(12)

F16 = MmaKind.F16
MASKS = [
    (0x00000001, 0, 0, 0x80000000),
    (0xFFFF0000, 0x0000FFFF, 0xAAAAAAAA, 0x12345678),
    (0xFFFFFFFF,) * 4,
]


@pytest.mark.parametrize("mask", MASKS, ids=["two lanes", "many", "all"])
@pytest.mark.parametrize(
    "case",
    [
        Case(F16, 128, 24, "f16", "f16"),
        Case(F16, 64, 16, "f16", "f16", lane=16),
        Case(MmaKind.I8, 64, 32, "s8", "s8", "s32"),
    ],
    ids=["layout D", "layout F at lane 16", "i8"],
)
@pytest.mark.parametrize("accumulate", [True, False])
def test_disabled_lanes_keep_what_they_held(
    case: Case, mask: tuple[int, int, int, int], *, accumulate: bool
):
    """Bit i of the 128 is lane i of tensor memory."""
    given = dense(case)
    cells = prepared(case, given)[case.d_index()]
    product = values(given.a, case.a) @ values(given.b, case.b).T
    new = product + number(cells, case.d) if accumulate else product
    lanes = case.d_index()[0]
    kept = np.array([mask[lane // 32] >> lane % 32 & 1 for lane in range(128)], bool)[lanes]
    given.cells[case.d_index()] = cells
    given.old = given.old if accumulate else None
    found = run(replace(case, mask=mask), given)
    as_cells = new.astype(np.int32 if case.d == "s32" else np.float32).view(np.uint32)
    assert np.array_equal(found, np.where(kept, cells, as_cells))


def test_disabled_lanes_need_not_be_written():
    """D is read in the other lanes alone, and is not read at all where nothing is added."""
    case = Case(F16, 128, 16, "f16", "f16", mask=(0xFFFFFFFF,) * 4)
    given = dense(case)
    a = image(given.a, case.a, F16, Case.a_place) if Case.a_place else None
    b = image(given.b, case.b, F16, case.b_place)
    nothing = np.zeros((128, COLUMNS), np.uint32)
    for mask, reader in (
        ((0xFFFFFFFF,) * 4, "tcgen05.ld"),  # the test's own, after the multiply
        ((0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF), "tcgen05.mma (D)"),
    ):
        mma = replace(case, mask=mask).mma(enable_d=True)
        program = TensorProgram(COLUMNS, IMAGE, IMAGE, (mma,), blank=True)
        with pytest.raises(Fault) as caught:
            program.run(nothing, a, b)
        assert caught.value.findings[0].message.startswith(reader)


# ---- ashift ----------------------------------------------------------------------------------


def test_ashift_is_not_guessed():
    """The manual: rows of A are shifted, "except for the last row in the Tensor Memory"."""
    case = Case(F16, 128, 32, "f16", "f16", a_place=None, ashift=True)
    with pytest.raises(NotSimulatedError, match="ashift"):
        run(case, dense(case))


# ---- zero columns ----------------------------------------------------------------------------


def zero_mask(
    start: tuple[int, int, int, int],
    first: tuple[int, int, int, int],
    skip: int,
    use: int,
    shift: int = 0,
) -> int:
    """A descriptor by Table 45, sub-mask 0 first; `skip` zeroed and `use` used columns a run."""
    word = sum(count << 8 * i for i, count in enumerate(start))
    word |= sum(bit << 32 + i for i, bit in enumerate(first)) | 1 << 39
    return word | (skip - 1) << 40 | (use - 1) << 48 | shift << 56


def zero_columns(m: int, n: int, *, skip: int, use: int) -> list[bool]:
    """Which columns are zeros where every sub-mask begins with a run of used ones."""
    width = n * m // 128
    return [column % width % (skip + use) >= use for column in range(n)]


NONE = (0, 0, 0, 0)


@pytest.mark.parametrize("m", [32, 64, 128])
@pytest.mark.parametrize("n", [64, 128])
@pytest.mark.parametrize("kind", [F16, MmaKind.I8], ids=str)
@pytest.mark.parametrize("mn_major", [False, True], ids=["K-major", "N-major"])
def test_zero_columns(m: int, n: int, kind: MmaKind, *, mn_major: bool):
    """The manual's second example: three columns of zeros after each four that are used."""
    a, d = ("f16", "f32") if kind is F16 else ("s8", "s32")
    place = Placement(True, 0, 4096, 128) if mn_major else Placement(False, 0, 128, 512)
    case = Case(kind, m, n, a, a, d, ws=True, b_place=place, zero_mask=zero_mask(NONE, NONE, 3, 4))
    given = dense(case)
    b = values(given.b, case.b)
    b[zero_columns(m, n, skip=3, use=4)] = 0
    check(case, given, values(given.a, case.a) @ b.T)


def test_a_mask_without_its_bit_leaves_all_columns():
    case = Case(F16, 64, 64, "f16", "f16", ws=True)
    given = dense(case)
    word = zero_mask(NONE, NONE, 3, 4) & ~(1 << 39)
    check(replace(case, zero_mask=word), given, values(given.a, "f16") @ values(given.b, "f16").T)


@pytest.mark.parametrize(
    ("m", "shift", "code"), [(32, 2, 1), (64, 5, 2), (128, 32, 3), (32, 16, 2)]
)
def test_a_shift_begins_at_a_later_column(m: int, shift: int, code: int):
    """The manual's fourth example: with N = 128 and a shift of 2, columns 2 to 129 of B."""
    n = 128
    case = Case(
        F16, m, n, "f16", "f16", ws=True, max_shift=code,
        zero_mask=zero_mask(NONE, NONE, 3, 4, shift),
    )  # fmt: skip
    given = dense(replace(case, n=n + shift))
    assert given.old is not None
    given.old = given.old[:, :n]
    b = values(given.b, case.b)[shift:]
    b[zero_columns(m, n, skip=3, use=4)] = 0
    check(case, given, values(given.a, case.a) @ b.T)


@pytest.mark.parametrize(
    ("m", "shift", "code", "error"),
    [(32, 17, 3, Fault), (64, 33, 3, Fault), (128, 9, 1, NotSimulatedError)],
)
def test_shifts_that_are_too_large(m: int, shift: int, code: int, error: type[Exception]):
    case = Case(
        F16, m, 64, "f16", "f16", ws=True, max_shift=code,
        zero_mask=zero_mask(NONE, NONE, 3, 4, shift),
    )  # fmt: skip
    with pytest.raises(error):
        run(case, dense(case))


@pytest.mark.parametrize(("start", "first"), [(1, 0), (3, 0), (2, 1), (4, 0), (9, 1)])
def test_a_start_count_leaves_out_the_lowest_bits(start: int, first: int):
    """Runs of three zeroed and four used columns; of M = 128 only the first sub-mask counts."""
    word = zero_mask((start, 99, 99, 99), (first, 0, 0, 0), 3, 4)
    case = Case(F16, 128, 64, "f16", "f16", ws=True, zero_mask=word)
    given = dense(case)
    b = values(given.b, "f16")
    runs = [[0] * 4, [1] * 3]
    pattern = (runs[first] + runs[1 - first]) * 64
    b[np.array(pattern[start : start + 64], bool)] = 0
    check(case, given, values(given.a, "f16") @ b.T)


def test_zero_columns_are_not_read():
    """They lie behind the end of shared memory."""
    case = Case(F16, 128, 128, "f16", "f16", ws=True)
    place = Placement(False, 0, 128, 256)
    half = replace(case, b_place=place, zero_mask=zero_mask((0, 0, 0, 0), NONE, 64, 64))
    given = dense(half)
    mma = replace(half.mma(), b_offset=IMAGE - 256 * 8)
    codes = np.zeros((64, 16), np.uint16)
    codes[:] = given.b[:64]
    shared = image(codes, "f16", F16, place)
    shared = np.roll(shared, -2048)
    assert Case.a_place is not None
    a = image(given.a, "f16", F16, Case.a_place)
    found = TensorProgram(COLUMNS, IMAGE, IMAGE, (mma,)).run(prepared(half, given), a, shared)
    b = values(given.b, "f16")
    b[64:] = 0
    expected = (values(given.a, "f16") @ b.T).astype(np.float32)
    assert np.array_equal(found[half.d_index()].view(np.float32), expected)
    with pytest.raises(Fault):
        TensorProgram(COLUMNS, IMAGE, IMAGE, (replace(mma, zero_mask=None),)).run(
            prepared(half, given), a, shared
        )
