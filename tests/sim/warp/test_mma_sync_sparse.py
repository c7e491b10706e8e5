"""What mma.sp computes: each of LLVM's forms against numpy, with metadata drawn by lot.

Sums are exact, but where a bound is asserted.  Metadata are written down from
`tests.intrinsics.published.mma_sparse`; threads that give none have a register of zeros, which as
metadata would mean nothing.  PTX ISA, Sparse matrix storage.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from nvgen import NvgenError
from tests.intrinsics.published.mma_fragments import places
from tests.intrinsics.published.mma_sparse import METADATA
from tests.oracle import gpu
from tests.oracle.exact_sums import HOPPER_EIGHT_BITS, UNITS, exact_matmul, tolerance
from tests.oracle.test_mma_sync_names import NAMES
from tests.sim.warp.mma_numbers_case import INTEGERS, code_of, contained, drawn, seeded, value_of
from tests.sim.warp.mma_sync_case import Bits, Case, Extra
from tests.sim.warp.test_mma_sync_kinds import EXPONENTS, found_of, scale_words, sums

pytestmark = pytest.mark.turns(6)

ALL = [case for case in map(Case.of, NAMES) if case.sparse]
KNOWN = [case for case in ALL if (case.k, case.bits) in METADATA]
FLOATS = [case for case in KNOWN if case.a not in INTEGERS and not case.kind]
WHOLE = [case for case in KNOWN if case.a in INTEGERS]
OWN = [
    Case.of(f"mma.sp.ordered.metadata.m16n8k64.row.col.f16.{a}.{b}.f16")
    for a, b in (("e4m3", "e5m2"), ("e5m2", "e4m3"))
]
"""Sums of bytes in f16, which LLVM has no names for."""
KINDS = [*(case for case in KNOWN if case.kind), *OWN]

Chosen = NDArray[np.int64]
"""The places that are stored, in their order: 16 rows by chunks by one or two."""

ORDERS = ([0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3])


def chosen(case: Case, rng: np.random.Generator) -> Chosen:
    """Places in order; without ordered metadata in any order."""
    chunks = case.k // case.chunk
    if case.chunk == 2:
        return rng.integers(0, 2, (16, chunks, 1))
    found = np.array(ORDERS)[rng.integers(0, 6, (16, chunks))]
    turned = rng.integers(0, 2, (16, chunks, 1)).astype(bool)
    free = ".ordered." not in case.name and case.a not in ("e4m3", "e5m2")
    return np.where(turned, found[..., ::-1], found) if free else found


def indices_of(case: Case, places_: Chosen) -> NDArray[np.int64]:
    """The four bits of each chunk."""
    if case.chunk == 2:
        return np.where(places_[..., 0] == 0, 0b0100, 0b1110)
    return places_[..., 0] | places_[..., 1] << 2


def words_of(case: Case, indices: NDArray[np.int64], selector: int) -> Bits:
    """The registers of 32 threads with metadata, zero in threads that have none."""
    layout, chunk, threads = METADATA[case.k, case.bits]
    row, column = places(layout, 16)
    words = np.zeros(32, np.uint32)
    for lane in range(32):
        if lane % 4 // threads != selector:
            continue
        for at in range(8):
            index = indices[row[lane, at * chunk], column[lane, at * chunk] // chunk]
            words[lane] |= np.uint32(index << 4 * at)
    return words


def whole(case: Case, stored: Bits, places_: Chosen) -> Bits:
    """The whole of A: what is stored at its places, zeros elsewhere."""
    width = 2 if case.chunk == 8 else 1  # of four bits pairs are stored
    found = np.zeros((16, case.k), stored.dtype)
    for row, chunk, kept, part in np.ndindex(*places_.shape, width):
        to = chunk * case.chunk + places_[row, chunk, kept] * width + part
        at = chunk * case.chunk // 2 + kept * width + part
        found[row, to] = stored[row, at]
    return found


def selectors(case: Case) -> range:
    return range(4 // METADATA[case.k, case.bits].threads)


@pytest.mark.gpu
@pytest.mark.parametrize("case", FLOATS, ids=lambda case: case.name)
def test_sums_of_floating_point_numbers(case: Case) -> None:
    """With every sparsity selector."""
    rng = seeded(case)
    for selector in selectors(case):
        places_ = chosen(case, rng)
        a, b = drawn(rng, case.a, (16, case.k // 2)), drawn(rng, case.b, (8, case.k))
        bits, c = sums(case, rng)
        extra = Extra(words_of(case, indices_of(case, places_), selector), selector)
        found = found_of(case, case.run(a, b, bits, extra=extra))
        left = value_of(whole(case, a, places_), case.a)
        assert np.array_equal(found, left @ value_of(b, case.b).T + c)


@pytest.mark.gpu
@pytest.mark.parametrize("case", FLOATS, ids=lambda case: case.name)
def test_other_sums_are_within_the_bound(case: Case) -> None:
    """Numbers of all sizes that the types have, with products that do not overflow."""
    rng = seeded(case)
    spread = 6 if case.d == "f32" else 2
    places_ = chosen(case, rng)
    codes = [
        code_of(rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread, shape), type_)
        for shape, type_ in (((16, case.k // 2), case.a), ((8, case.k), case.b), ((16, 8), case.c))
    ]
    if case.a == "tf32":
        codes[:2] = [x & np.uint32(0xFFFFE000) for x in codes[:2]]
    extra = Extra(words_of(case, indices_of(case, places_), 0))
    found = found_of(case, case.run(*codes, extra=extra))  # type: ignore[misc]
    a = value_of(whole(case, codes[0], places_), case.a)
    b, c = value_of(codes[1], case.b), value_of(codes[2], case.c)
    unit = HOPPER_EIGHT_BITS if case.bits == 8 and gpu.on_gpu() else UNITS["f32"]
    near = exact_matmul(a, b, c).astype(np.float64)
    bound = tolerance(a, b, case.k + 1, case.d, c=c, unit=unit)
    assert (np.abs(found - near) <= bound).all()
    assert not np.array_equal(near, np.round(near))


@pytest.mark.gpu
@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_integers_wrap_or_saturate(case: Case) -> None:
    rng = seeded(case)
    places_ = chosen(case, rng)
    a, b = drawn(rng, case.a, (16, case.k // 2)), drawn(rng, case.b, (8, case.k))
    c = rng.integers(-(1 << 31), 1 << 31, (16, 8))
    c[:2] = [[(1 << 31) - 1], [-(1 << 31)]]
    extra = Extra(words_of(case, indices_of(case, places_), 0))
    found = case.run(a, b, c.astype(np.int32).view(np.uint32), extra=extra)
    left, right = value_of(whole(case, a, places_), case.a), value_of(b, case.b)
    total = (left @ right.T).astype(np.int64) + c
    expected = (total + (1 << 31)) % (1 << 32) - (1 << 31)
    if ".satfinite" in case.name:
        expected = np.clip(total, -(1 << 31), (1 << 31) - 1)
    assert np.array_equal(found.astype(np.uint32).view(np.int32), expected)


@pytest.mark.parametrize("case", KINDS, ids=lambda case: case.name)
def test_kinds(case: Case) -> None:
    """Narrow types, scaled or not; factors count the zeros of A, too."""
    rng = seeded(case)
    places_ = chosen(case, rng)
    a, b = drawn(rng, case.a, (16, case.k // 2)), drawn(rng, case.b, (8, case.k))
    if case.d == "f16":  # sums that f16 has
        a, b = a & np.uint32(0x2F), b & np.uint32(0x2F)
    bits, c = sums(case, rng)
    left, right = value_of(whole(case, a, places_), case.a), value_of(b, case.b)
    extra = Extra(words_of(case, indices_of(case, places_), 0))
    if case.factors:
        sfa, sfb = (rng.integers(*EXPONENTS[case.scale], (n, case.factors)) for n in (16, 8))
        sfa_place, sfb_place = (4 - case.factors, 1), (0, 3)
        words = scale_words(sfa, sfa_place, rng), scale_words(sfb, sfb_place, rng)
        extra = Extra(extra.metadata, 0, *words, sfa_place, sfb_place)
        block = case.k // case.factors
        left = left * np.repeat(value_of(sfa, case.scale), block, axis=1)
        right = right * np.repeat(value_of(sfb, case.scale), block, axis=1)
    given = contained(case, a, case.a), contained(case, b, case.b)
    found = found_of(case, case.run(*given, bits, "sm_120a", extra))
    expected = exact_matmul(left, right, c)
    assert np.array_equal(found, expected.astype(np.float16) if case.d == "f16" else expected)


# ---- metadata that mean nothing --------------------------------------------------------------

PLAIN, ORDERED = (
    Case.of(f"mma.sp{order}.m16n8k32.row.col.f32.f32") for order in ("", ".ordered.metadata")
)
TF32 = Case.of("mma.sp.m16n8k16.row.col.tf32")
FP8 = Case.of("mma.sp.m16n8k64.row.col.f32.e4m3.e4m3.f32")


@pytest.mark.parametrize(
    ("case", "index", "said"),
    [
        (PLAIN, 0b0101, "has no meaning"),
        (ORDERED, 0b0101, "has no meaning"),
        (ORDERED, 0b0001, "is not in order"),
        (ORDERED, 0b0110, "is not in order"),
        (FP8, 0b1011, "is not in order"),
        (TF32, 0b0001, "has no meaning"),
        (TF32, 0b1100, "has no meaning"),
    ],
)
def test_an_index_without_a_meaning_is_reported(case: Case, index: int, said: str) -> None:
    """In the last chunk of row 9."""
    chunks = case.k // case.chunk
    indices = np.full((16, chunks), 0b0100)
    indices[9, chunks - 1] = index
    extra = Extra(words_of(case, indices, 0))
    lane = int(np.flatnonzero(extra.metadata != words_of(case, np.full_like(indices, 4), 0))[0])
    a, b = np.zeros((16, case.k // 2), np.uint32), np.zeros((8, case.k), np.uint32)
    with pytest.raises(NvgenError) as caught:
        case.run(a, b, np.zeros((16, 8), np.uint32), extra=extra)
    (finding,) = caught.value.findings
    assert finding.rule == "sim/sparse-metadata"
    assert f"row 9, chunk {chunks - 1} of A: index {index:#06b} {said}" in finding.message
    assert finding.got == f"{index:#06b} in the metadata of lane {lane}"
    assert bool(finding.hint) is (said == "is not in order")


def test_indices_in_any_order_mean_what_they_say_without_ordered_metadata() -> None:
    """0b0001: the first that is stored is element 1, the second element 0."""
    indices = np.full((16, 8), 0b0001)
    a = np.tile(np.array([1.0, 2.0], np.float16), (16, 8)).view(np.uint16)
    b = np.tile(np.array([1.0, 16.0, 0, 0], np.float16), (8, 8)).view(np.uint16)
    extra = Extra(words_of(PLAIN, indices, 0))
    found = PLAIN.run(a, b, np.zeros((16, 8), np.uint32), extra=extra)
    assert np.array_equal(found_of(PLAIN, found), np.full((16, 8), 8 * (1.0 * 16 + 2.0)))


NOT_FINITE = {
    PLAIN: (np.float16, np.inf),
    Case.of("mma.sp.m16n8k8.row.col.tf32"): (np.float32, np.nan),
    Case.of("mma.sp.m16n8k16.row.col.bf16"): (ml_dtypes.bfloat16, np.inf),
    Case.of("mma.sp.m16n8k64.row.col.f32.e5m2.e5m2.f32"): (ml_dtypes.float8_e5m2, np.nan),
}


@pytest.mark.gpu
@pytest.mark.parametrize("case", NOT_FINITE, ids=lambda case: case.name)
@pytest.mark.parametrize("value", [1.0, 0.0])
def test_what_a_leaves_out_does_not_meet_infinities_and_nans_of_b(case: Case, value: float) -> None:
    """Column 2 of B has one where the odd rows of A store something, at the end of chunk 1.

    What is stored meets it, also a zero: that gives a NaN.
    """
    number, wrong = NOT_FINITE[case]
    half = case.chunk // 2
    indices = np.full((16, case.k // case.chunk), 0b0100)
    indices[1::2, 1] = 0b1110
    a = np.full((16, case.k // 2), value, number)
    b = np.ones((8, case.k), number)
    b[2, 2 * case.chunk - 1] = wrong
    bits = f"u{np.dtype(number).itemsize}"
    given = (x.view(bits).astype(np.uint32) for x in (a, b))
    extra = Extra(words_of(case, indices, 0))
    found = found_of(case, case.run(*given, np.zeros((16, 8), np.uint32), extra=extra))  # type: ignore[call-arg, misc]
    expected = np.full((16, 8), value * half * (case.k // case.chunk))
    expected[1::2, 2] = value * wrong if value else np.nan
    assert np.array_equal(found, expected, equal_nan=True)
