"""What mma computes of narrow types and with scale factors: each of LLVM's forms against numpy.

How elements lie in bytes, which threads give scale factors and from which byte on is the manual's:
mma; Block Scaling for mma.sync.  No GPU has run these.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nvgen
from nvgen import NvgenError
from tests.oracle.exact_sums import exact_matmul
from tests.oracle.test_mma_sync_names import NAMES
from tests.sim.warp.mma_numbers_case import contained, drawn, seeded, value_of
from tests.sim.warp.mma_sync_case import Bits, Case, Extra, module

pytestmark = pytest.mark.turns(12)

CASES = [case for case in map(Case.of, NAMES) if case.kind and not case.sparse]
PLAIN = [case for case in CASES if not case.factors]
OWN = Case.of("mma.block.scale.m16n8k64.row.col.mxf4nvf4.scale.4x.f32.e2m1.e2m1.f32.ue8m0")
SCALED = [*(case for case in CASES if case.factors), OWN]
TARGET = "sm_120a"
EXPONENTS = {"ue8m0": (124, 131), "ue4m3": (48, 64)}
"""Codes of scale factors from 2^-3 to 2^3, and from 0.5 to 1.875."""


def scale_words(codes: Bits, place: tuple[int, int], rng: np.random.Generator) -> Bits:
    """The registers of 32 threads that give factors, (rows, factors); others are drawn.

    Of A's rows each pair of threads has row t // 4 and the one eight below it.
    """
    words = rng.integers(0, 1 << 32, 32, dtype=np.uint64).astype(np.uint32)
    byte, thread = place
    for row, block in np.ndindex(codes.shape):
        of_a = len(codes) == 16
        lane = 4 * (row % 8) + (2 * thread + row // 8 if of_a else thread)
        low = 8 * (byte + block)
        cleared = int(words[lane]) & ~(0xFF << low)
        words[lane] = cleared | int(codes[row, block]) << low
    return words


def sums(case: Case, rng: np.random.Generator) -> tuple[Bits, np.ndarray]:
    """C as bits, and its values."""
    c = rng.integers(-50, 51, (case.m, case.n)).astype(np.float64)
    dtype, bits = (np.float16, np.uint16) if case.c == "f16" else (np.float32, np.uint32)
    return c.astype(dtype).view(bits), c


def found_of(case: Case, found: Bits) -> np.ndarray:
    """The values of D."""
    if case.d == "f16":
        return found.astype(np.uint16).view(np.float16).astype(np.float64)
    return found.astype(np.uint32).view(np.float32).astype(np.float64)


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_narrow_types_have_a_byte_each(case: Case) -> None:
    """All codes of 4 and 6 bits; what stands beside them in the byte counts for nothing."""
    rng = seeded(case)
    a, b = drawn(rng, case.a, (16, case.k)), drawn(rng, case.b, (8, case.k))
    if case.d == "f16":  # sums that f16 has
        a, b = (x & np.uint32({"e2m3": 0x2F, "e3m2": 0x2F}.get(t, 0xFF))
                for x, t in ((a, case.a), (b, case.b)))  # fmt: skip
    bits, c = sums(case, rng)
    given = contained(case, a, case.a, 0xFF), contained(case, b, case.b, 0xFF)
    found = found_of(case, case.run(*given, bits, TARGET))
    expected = exact_matmul(value_of(a, case.a), value_of(b, case.b), c)
    if case.d == "f16":
        expected = expected.astype(np.float16)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("case", SCALED, ids=lambda case: case.name)
def test_blocks_are_scaled(case: Case) -> None:
    """Each block of K by its factor of the row of A and of the column of B; all selectors."""
    rng = seeded(case)
    bytes_ = range(0, 4, case.factors)
    places = list(itertools.product(bytes_, range(4)))
    for sfb_place in places if case.a == case.b else places[-1:]:
        sfa_place = (bytes_[-1 - sfb_place[0] // case.factors], sfb_place[1] % 2)
        a, b = drawn(rng, case.a, (16, case.k)), drawn(rng, case.b, (8, case.k))
        bits, c = sums(case, rng)
        low, high = EXPONENTS[case.scale]
        sfa, sfb = (rng.integers(low, high, (rows, case.factors)) for rows in (16, 8))
        words = scale_words(sfa, sfa_place, rng), scale_words(sfb, sfb_place, rng)
        extra = Extra(sfa=words[0], sfb=words[1], sfa_place=sfa_place, sfb_place=sfb_place)
        given = contained(case, a, case.a), contained(case, b, case.b)
        found = found_of(case, case.run(*given, bits, TARGET, extra))
        block = case.k // case.factors
        left = value_of(a, case.a) * np.repeat(value_of(sfa, case.scale), block, axis=1)
        right = value_of(b, case.b) * np.repeat(value_of(sfb, case.scale), block, axis=1)
        assert np.array_equal(found, exact_matmul(left, right, c))


MX8 = Case.of("mma.block.scale.m16n8k32.row.col.mxf8f6f4.scale.1x.f32.e4m3.e4m3.f32.ue8m0")
NV4 = Case.of("mma.block.scale.m16n8k64.row.col.mxf4nvf4.scale.4x.f32.e2m1.e2m1.f32.ue4m3")


def ones(case: Case, sfa: Bits, sfb: Bits) -> np.ndarray:
    """D of ones under factors, which all threads give."""
    one = {"e4m3": 0x38, "e2m1": 0x2}[case.a]
    a, b = np.full((16, case.k), one, np.uint32), np.full((8, case.k), one, np.uint32)
    extra = Extra(sfa=np.full(32, sfa, np.uint32), sfb=np.full(32, sfb, np.uint32))
    return found_of(case, case.run(a, b, np.zeros((16, 8), np.uint32), TARGET, extra))


@pytest.mark.parametrize(
    ("case", "sfa", "sfb", "expected"),
    [
        (MX8, 0x7F, 0x7F, 32.0),
        (MX8, 0x80, 0x7E, 32.0),
        (MX8, 0x00, 0xFE, 32.0),  # 2^-127 and 2^127
        (MX8, 0xFF, 0x7F, np.nan),
        (MX8, 0x7F, 0xFF, np.nan),
        (MX8, 0xFE, 0xFE, np.inf),
        (NV4, 0x38383838, 0x38383838, 64.0),
        (NV4, 0x38000000, 0x38383838, 16.0),  # the other blocks' factors are 0
        (NV4, 0x40383838, 0x38383838, 80.0),
        (NV4, 0x387F3838, 0x38383838, np.nan),
    ],
)
def test_single_factors(case: Case, sfa: int, sfb: int, expected: float) -> None:
    """By the formats: UE8M0 is a power of two, UE4M3 an E4M3 without a sign; NaN stays NaN."""
    assert np.array_equal(ones(case, sfa, sfb), np.full((16, 8), expected), equal_nan=True)


def test_a_factor_with_a_sign_is_not_simulated() -> None:
    with pytest.raises(NvgenError, match=r"not simulated: .*UE4M3"):
        ones(NV4, 0xB8383838, 0x38383838)


def selected(threads: list[int]) -> np.ndarray:
    """D of ones where A's thread selector is in a register, and A's factors are 1, 2, 4 and 8."""
    text = module(MX8.name).replace(
        "i32 %sfa, i16 0, i16 0", "i32 %sfa, i16 0, i16 %chosen"
    ).replace("  %r = call", "  %chosen = trunc i32 %meta to i16\n  %r = call")  # fmt: skip
    assert text.count("%chosen") == 2
    a, b = np.full((32, 4), 0x38383838, np.uint32), np.full((32, 2), 0x38383838, np.uint32)
    c, d = np.zeros((32, 4), np.float32), np.zeros((32, 4), np.float32)
    lanes = np.arange(32)
    words = np.stack([np.resize(threads, 32), 127 + lanes % 4, np.full(32, 127)], axis=1)
    compiled = nvgen.compile(text, target=TARGET)
    compiled.run(a, b, c, words.astype(np.uint32), d, block=32, device="sim")
    return d


@pytest.mark.parametrize(("thread", "upper", "lower"), [(0, 32.0, 64.0), (1, 128.0, 256.0)])
def test_a_selector_in_a_register(thread: int, upper: float, lower: float) -> None:
    """The first two registers of a thread are of row t // 4, the others of the one eight below."""
    assert np.array_equal(selected([thread]), np.tile([upper, upper, lower, lower], (32, 1)))


@pytest.mark.parametrize(("threads", "rule"), [([2], "sim/scale-selector"),
                                               ([0, 1], "sim/not-uniform")])  # fmt: skip
def test_a_selector_that_selects_nothing(threads: list[int], rule: str) -> None:
    with pytest.raises(NvgenError) as caught:
        selected(threads)
    assert [f.rule for f in caught.value.findings] == [rule]
