"""wgmma by numbers: every type, width and place of the operands, exact against numpy.

Matrices hold integers small enough for every sum to be exact in D's type, so a chip must give the
same bits: tests marked `gpu` run there with the same body.  PTX ISA, wgmma.mma_async;
wgmma.mma_async.sp.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.each import each
from tests.sim.ptx import SCHEDULES
from tests.sim.tcgen05.mma_layouts import DTYPES, codes_of, values
from tests.sim.wgmma.wgmma_case import Case, Given, Lying, execute

pytestmark = pytest.mark.turns(12)

Numbers = NDArray[np.float64]

FLOATS = range(8, 257, 8)
INTEGERS = (8, 16, 24, *range(32, 257, 16))

TYPES: dict[tuple[str, str, str], range | tuple[int, ...]] = {
    ("f32", "f16", "f16"): FLOATS,
    ("f16", "f16", "f16"): FLOATS,
    ("f32", "bf16", "bf16"): FLOATS,
    ("f32", "tf32", "tf32"): FLOATS,
    **dict.fromkeys(itertools.product(("f32", "f16"), ("e4m3", "e5m2"), ("e4m3", "e5m2")), FLOATS),
    **{("s32", a, b): INTEGERS for a, b in itertools.product(("s8", "u8"), repeat=2)},
    ("s32", "b1", "b1"): INTEGERS,
}
"""Types of D, A and B, and the widths of D."""

LIMIT = {"e5m2": 4, "s8": 128, "u8": 256, "b1": 2}
"""Integers up to this, not included, are numbers of the type; 8 for the others."""


def drawn(dice: np.random.Generator, shape: tuple[int, int], name: str, d: str) -> Numbers:
    """Integers of a type, small where a D of f16 must hold their sums."""
    limit = 3 if d == "f16" else LIMIT.get(name, 8)
    low = 0 if name in ("u8", "b1") else -limit if name == "s8" else 1 - limit
    return dice.integers(low, limit, shape).astype(np.float64)


def stored(numbers: Numbers, name: str) -> NDArray[np.unsignedinteger]:
    """Codes as they lie in memory: eight single bits in a byte, the first lowest."""
    if name != "b1":
        return codes_of(numbers, name)
    return np.packbits(numbers.astype(np.uint8), axis=1, bitorder="little")


def sums_of(codes: NDArray[np.unsignedinteger], d: str) -> Numbers:
    """The numbers of a D."""
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d]
    return codes.astype(f"u{np.dtype(dtype).itemsize}").view(dtype).astype(np.float64)


def before(dice: np.random.Generator, n: int, d: str) -> NDArray[np.unsignedinteger]:
    """A D to begin with."""
    whole = dice.integers(-99, 100, (64, n))
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d]
    found = whole.astype(dtype)
    return found.view(f"u{found.dtype.itemsize}")


def indices_of(dice: np.random.Generator, name: str, k: int) -> NDArray[np.int64]:
    """Metadata of 64 rows: any two places of four that differ; of two tf32, either."""
    if name == "tf32":
        return np.array([0b0100, 0b1110])[dice.integers(0, 2, (64, k // 2))]
    legal = np.array([i for i in range(16) if i & 3 != i >> 2])
    return legal[dice.integers(0, len(legal), (64, k // 4))]


def dense(a: Numbers, indices: NDArray[np.int64], name: str) -> Numbers:
    """A with its zeros."""
    chunk, kept = (2, 1) if name == "tf32" else (4, 2)
    found = np.zeros((64, a.shape[1] * 2))
    for row, number in np.ndindex(indices.shape):
        index = int(indices[row, number])
        places = [(index & 3) // 2] if name == "tf32" else [index & 3, index >> 2]
        for i, place in enumerate(places):
            found[row, number * chunk + place] = a[row, number * kept + i]
    return found


def check(case: Case, seed: int, schedule: str, *, accumulate: bool = True) -> None:
    """A multiply of drawn numbers gives what numpy says."""
    dice = np.random.default_rng(seed)
    b_name = case.b or case.a
    a = drawn(dice, (64, case.k // (1 + case.sparse)), case.a, case.d)
    b = drawn(dice, (case.n, case.k), b_name, case.d)
    old = before(dice, case.n, case.d)
    indices = indices_of(dice, case.a, case.k) if case.sparse else None
    whole = a if indices is None else dense(a, indices, case.a)
    given = Given(stored(a, case.a), stored(b, b_name), old, indices, accumulate)
    found = execute(case, given, schedule)
    start = sums_of(old, case.d) if accumulate else 0
    product = whole @ b.T * case.scale_a * case.scale_b
    # Only the first of several multiplies leaves D out.
    expected = start + product * case.repeat if accumulate else product
    got = sums_of(found, case.d)
    assert np.array_equal(got, expected), (case, np.argwhere(got != expected)[:4])


def cases(count: int, seed: int, *, sparse: bool, held: bool) -> list[tuple[Case, int, str, bool]]:
    """Any types, widths, signs, layouts: each type at least once, and as many more as asked for."""
    dice = random.Random(seed)
    names = [t for t in TYPES if not (sparse and t[1] == "b1")]
    names += dice.choices(names, k=count)
    found = []
    for number, (d, a, b) in enumerate(names):
        turns = a in ("f16", "bf16")
        lying = [
            Lying(dice.choice((0, 32, 64, 128)), turns and dice.random() < 0.5, dice.randrange(3))
            for _ in "ab"
        ]
        if sparse and lying[1].span == 32 and not lying[1].transposed:
            lying[1] = replace(lying[1], span=64)  # a row of B has 64 bytes
        signed = d != "s32"
        case = Case(
            dice.choice(TYPES[d, a, b]),
            d,
            a,
            b,
            sparse,
            held,
            Lying() if held else lying[0],
            lying[1],
            dice.choice((1, -1)) if signed else 1,
            dice.choice((1, -1)) if signed else 1,
            satfinite=a in ("s8", "u8") and dice.random() < 0.5,
            selector=dice.randrange(2) if sparse and a in ("f16", "bf16", "tf32") else 0,
        )
        found.append((case, number, dice.choice(SCHEDULES), dice.random() < 0.7))
    return found


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("case", "seed", "schedule", "accumulate"),
    [
        *cases(24, 1, sparse=False, held=False),
        *cases(8, 2, sparse=False, held=True),
        *cases(8, 3, sparse=True, held=False),
        *cases(8, 4, sparse=True, held=True),
    ],
    ids=lambda given: given.instruction.split()[0][16:] if isinstance(given, Case) else "",
)
def test_integers_are_exact(case: Case, seed: int, schedule: str, accumulate: bool) -> None:
    check(case, seed, schedule, accumulate=accumulate)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("held", [False, True])
def test_multiplies_follow_each_other(held: bool, schedule: str) -> None:
    """Five of one group on the same accumulators, without a fence between them."""
    check(Case(24, "f32", "f16", held=held, repeat=5), 7, schedule)


@pytest.mark.gpu
@pytest.mark.parametrize("n", FLOATS)
def test_every_width(n: int) -> None:
    check(Case(n, "f32", "f16"), n, SCHEDULES[n // 8 % len(SCHEDULES)])


# ---- limits ----------------------------------------------------------------------------------


def one_row(case: Case, a: int, b: int, d: int) -> int:
    """What becomes of D's code `d` by a product of A's code `a`, and B's code `b`, all others 0."""
    size = max(case.width, 8) // 8
    left = np.zeros((64, 32 // size), f"u{size}")
    right = np.zeros((case.n, 32 // size), f"u{size}")
    left[:, 0], right[:, 0] = a, b
    old = np.full((64, case.n), d, f"u{case.d_width // 8}")
    found = execute(case, Given(left, right, old))
    assert (found == found[0, 0]).all()
    return int(found[0, 0])


@pytest.mark.gpu
@each(
    "a, b, d, wraps, saturates",
    [
        (127, 127, 0x7FFFFFFF, 0x7FFFFFFF + 127 * 127, 0x7FFFFFFF),
        (0x80, 127, 0x80000000, 0x80000000 - 128 * 127, 0x80000000),
        (2, 3, 0x7FFFFFF9, 0x7FFFFFFF, 0x7FFFFFFF),
    ],
)
def test_integers_wrap_or_saturate(a: int, b: int, d: int, wraps: int, saturates: int) -> None:
    case = Case(8, "s32", "s8")
    assert one_row(case, a, b, d) == wraps & 0xFFFFFFFF
    assert one_row(replace(case, satfinite=True), a, b, d) == saturates


@pytest.mark.gpu
def test_the_last_bits_of_tf32_do_not_count() -> None:
    one = 0x3F800000
    assert one_row(Case(8, "f32", "tf32"), one | 0x1FFF, one | 0x1000, 0) == one


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_every_code_of_eight_bits(name: str) -> None:
    """One times x, for all x that are numbers, in B."""
    codes = np.arange(256, dtype=np.uint8)
    numbers = values(codes, name)
    one = int(codes_of(np.ones(1), name)[0])
    a, b = np.zeros((64, 32), np.uint8), np.zeros((256, 32), np.uint8)
    a[:, 9], b[:, 9] = one, np.where(np.isfinite(numbers), codes, 0)
    given = Given(a, b, np.zeros((64, 256), np.uint32), accumulate=False)
    found = sums_of(execute(Case(256, "f32", name), given), "f32")
    assert np.array_equal(found, np.tile(np.where(np.isfinite(numbers), numbers, 0), (64, 1)))


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_nan_and_infinity(name: str) -> None:
    """As IEEE 754 has them; the bits of a NaN are those of PTX's scalar arithmetic."""
    size = f"u{max(DTYPES[name](0).itemsize, 1)}"
    nan = int(np.array([np.nan]).astype(DTYPES[name]).view(size)[0])
    case = Case(8, "f32", name)
    one = int(codes_of(np.ones(1), name)[0])
    assert one_row(case, nan, one, 0) == 0x7FFFFFFF
    assert one_row(case, one, one, 0x7F800000) == 0x7F800000
    if name in ("f16", "e4m3", "e5m2"):
        assert one_row(replace(case, d="f16"), nan, one, 0) == 0x7FFF
