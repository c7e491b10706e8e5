"""The samples of pairs, scaled, sparse and weight-stationary products, as oracles tell them.

What a sample hands to its kernel is read here by formulas of this file, and multiplied by those of
tests/oracle: integers exactly, normally distributed numbers within the bound that is derived there.
The factors' order is cuDNN's 128 x 4 blocks, that of metadata CUTLASS's fragments for 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from intrinsics.findings import Severity, SimulationError, VerificationError
from nvgen import Kernel
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.oracle.block_scaled import scaled
from tests.oracle.exact_sums import Matrix, tolerance
from tests.oracle.sparse_products import places
from tests.samples.modules import compiled, named
from tests.samples.test_warp_specialized import Left, careless

pytestmark = pytest.mark.seldom(3)

Array = npt.NDArray[np.generic]
LEVELS = (0, 3)


def unblocked(words: Array, rows: int, count: int) -> npt.NDArray[np.uint8]:
    """The factor of each row and block: byte f mod 4 of four bytes, in blocks of 128 rows."""
    row, factor = np.arange(rows)[:, None], np.arange(count)[None, :]
    block = row // 128 * (count // 4) + factor // 4
    inside = row % 32 * 16 + row % 128 // 32 * 4 + factor % 4
    found: npt.NDArray[np.uint8] = words.view(np.uint8).reshape(-1)[block * 512 + inside]
    return found


def chunks_of(words: Array, rows: int, count: int) -> npt.NDArray[np.int64]:
    """The four bits of each row and chunk of four: 16 rows by 16 lanes, half a word for a row."""
    row, chunk = np.arange(rows)[:, None], np.arange(count)[None, :]
    lane = row // 16 * 16 + chunk % 8 // 4 * 8 + row % 8
    bit = row // 8 % 2 * 16 + chunk % 4 * 4
    found: npt.NDArray[np.int64] = words.view(np.uint32)[lane, chunk // 8].astype(np.int64)
    return found >> bit & 15


def mxfp8(a: Array, b: Array, sfa: Array, sfb: Array) -> tuple[Matrix, Matrix]:
    """A and B with their factors."""
    factors = [unblocked(s, len(x), x.shape[1] // 32) for x, s in ((a, sfa), (b, sfb))]
    first, second = (
        scaled(x.view(np.uint8), "e4m3", f, "ue8m0", 32)
        for x, f in zip((a, b), factors, strict=True)
    )
    return first, second


def nvfp4(a: Array, b: Array, sfa: Array, sfb: Array, alpha: Array) -> tuple[Matrix, Matrix]:
    """A and B with their factors, and A with alpha; the lower nibble is the first element."""

    def matrix(packed: Array, words: Array) -> Matrix:
        both = packed.view(np.uint8)
        codes = np.stack([both & 15, both >> 4], axis=-1).reshape(len(both), -1)
        factors = unblocked(words, len(both), codes.shape[1] // 16)
        return scaled(codes, "e2m1", factors, "ue4m3", 16)

    return matrix(a, sfa) * np.float64(alpha[0]), matrix(b, sfb)


def sparse(values: Array, words: Array, b: Array) -> tuple[Matrix, Matrix]:
    """A with its zeros, and B."""
    rows, k = len(values), b.shape[1]
    where = places(chunks_of(words, rows, k // 4), "f16")
    whole = np.zeros((rows, k))
    np.put_along_axis(whole, where, values.astype(np.float64), axis=1)
    return whole, b.astype(np.float64)


def convolution(w: Array, x: Array) -> tuple[Matrix, Matrix]:
    """The filters as (64, 9 · 64), and for each pixel what they see of the image."""
    image = x.astype(np.float64).reshape(-1, 16, 64)
    filters = w.astype(np.float64).reshape(9, 64, 64)
    seen = np.zeros((*image.shape[:2], 9, 64))
    for y in range(image.shape[0]):
        for column in range(16):
            for tap in range(9):
                at = y + tap // 3 - 1, column + tap % 3 - 1
                if 0 <= at[0] < image.shape[0] and 0 <= at[1] < 16:
                    seen[y, column, tap] = image[at]
    return np.concatenate(list(filters), axis=1), seen.reshape(-1, 9 * 64)


class Case(NamedTuple):
    """A sample with a shape: what operands() is called with, and what the kernel gets behind D."""

    file: str
    meaning: Callable[..., tuple[Matrix, Matrix]]
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    grid: int
    terms: int
    cluster: int = 1

    @property
    def sample(self) -> ModuleType:
        """The sample."""
        return named(self.file)


def plain(a: Array, b: Array) -> tuple[Matrix, Matrix]:
    """A and B."""
    return a.astype(np.float64), b.astype(np.float64)


# Six steps of K go round a ring of four; for two of them two tiles, so that places are told apart.
CASES = {
    "pair": Case("05_gemm_two_ctas", plain, (256, 512, 384), (512, 384), 4, 384, 2),
    "mxfp8": Case("06_gemm_mxfp8", mxfp8, (128, 256, 768), (256, 768), 2, 768),
    "nvfp4": Case("07_gemm_nvfp4", nvfp4, (256, 128, 1536), (128, 1536), 2, 1536),
    "sparse": Case("08_gemm_sparse", sparse, (256, 128, 768), (128, 768), 2, 384),
    "stationary": Case("09_gemm_weight_stationary", convolution, (16,), (), 2, 576),
}  # fmt: skip


@pytest.mark.turns(20)
@kernel_test(schedules="all", random=1, targets="sm_100a", opt=LEVELS)
@pytest.mark.parametrize("name", CASES)
def test_integers_are_exact(launch: Launch, name: str) -> None:
    case = CASES[name]
    *inputs, expected = case.sample.operands(*case.shape)
    a, b = case.meaning(*inputs)
    assert_exact(expected, (a @ b.T).astype(np.float32))  # exact in float64, and in float32
    d = np.full(expected.shape, np.nan, np.float32)
    made = compiled(case.file, launch.target, launch.opt)
    launch(made, *inputs, d, *case.sizes, grid=case.grid, cluster=case.cluster)
    assert_exact(d, expected)


@pytest.mark.turns(6)
@kernel_test(schedules="early", targets="sm_100a")
@pytest.mark.parametrize("name", CASES)
def test_normally_distributed_numbers_are_within_the_bound(launch: Launch, name: str) -> None:
    """With alpha one product more, which rounds once."""
    case = CASES[name]
    *inputs, expected = case.sample.operands(*case.shape, normal=True)
    a, b = case.meaning(*inputs)
    bound = tolerance(a, b, case.terms + 1)
    assert (np.abs(expected - a @ b.T) <= 2.0**-40 * (np.abs(a) @ np.abs(b).T)).all()
    d = np.full(expected.shape, np.nan, np.float32)
    made = compiled(case.file, launch.target)
    launch(made, *inputs, d, *case.sizes, grid=case.grid, cluster=case.cluster)
    assert (np.abs(d - a @ b.T) <= bound).all()
    assert np.abs(d - a @ b.T).max() > 0, "numbers that need no rounding say nothing of it"


# ---- without ---------------------------------------------------------------------------------

OUT = {
    "pair: wait for the bytes of both": ("pair", Left("wait", "full")),
    "pair: wait for a free buffer": ("pair", Left("wait", "empty", (0,))),
    "pair: wait for the last commits": ("pair", Left("wait", "empty", (1,))),
    "pair: commit of a step": ("pair", Left("tcgen05_commit", "empty")),
    "pair: commit of a tile": ("pair", Left("tcgen05_commit", "sums")),
    "pair: wait for the sums": ("pair", Left("wait", "sums")),
    "mxfp8: copies of the factors": ("mxfp8", Left("copy_scales")),
    "mxfp8: wait for the bytes": ("mxfp8", Left("wait", "full")),
    "mxfp8: wait for a free buffer": ("mxfp8", Left("wait", "empty", (0,))),
    "mxfp8: wait for the sums": ("mxfp8", Left("wait", "sums")),
    "nvfp4: copies of the factors": ("nvfp4", Left("copy_scales")),
    "nvfp4: commit of a step": ("nvfp4", Left("tcgen05_commit", "empty")),
    "sparse: copies of the metadata": ("sparse", Left("copy_metadata")),
    "sparse: commit of a tile": ("sparse", Left("tcgen05_commit", "sums")),
    "stationary: wait for the bytes": ("stationary", Left("wait", "loaded")),
    "stationary: wait for the sums": ("stationary", Left("wait", "multiplied")),
    "stationary: one of the multiplies that fill": ("stationary", Left("gemm_async", "", (0,))),
    "stationary: one of those that use": ("stationary", Left("gemm_async", "", (5,))),
}


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", OUT)
def test_nothing_can_be_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some schedule shows it: a finding, a deadlock, or a wrong product; or the verifier does."""
    case, left = CASES[OUT[name][0]], OUT[name][1]
    monkeypatch.setattr(case.sample, "KernelBuilder", careless(left))
    try:
        careless_one = case.sample.build().compile(target="sm_100a")
    except VerificationError:
        return  # a rule is certain of it
    *inputs, expected = case.sample.operands(*case.shape)

    def is_right(schedule: str) -> bool:
        d = np.full(expected.shape, np.nan, np.float32)
        try:
            careless_one.run(
                *inputs, d, *case.sizes,
                grid=case.grid, cluster=case.cluster, schedule=schedule,
            )  # fmt: skip
        except SimulationError:
            return False
        return np.array_equal(d, expected)

    assert not all(is_right(schedule) for schedule in ("early", "late", "random:1"))


def without_meeting(call: int, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Sample 05 without one of the places where its pair meets.

    The simulator's pair meets there; that the other CTA is there is for the kernel to know.
    """
    sample = CASES["pair"].sample
    monkeypatch.setattr(
        sample, "KernelBuilder", careless(Left("barrier_cluster_sync", "", (call,)))
    )
    kernel: Kernel = sample.build()
    return kernel


def test_a_pair_meets_before_it_allocates(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VerificationError) as caught:
        without_meeting(0, monkeypatch).compile(target="sm_100a", level="function")
    rules = {f.rule for f in caught.value.findings}
    assert "tcgen05.alloc/peer" in rules
    assert rules <= {"tcgen05.alloc/peer", "mbarrier/published"}


@pytest.mark.wrong_kernel
def test_a_pair_meets_before_it_frees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manual lets both free together, and does not say that the first waits for the other."""
    found = without_meeting(1, monkeypatch).compile(target="sm_100a", level="function").findings
    told = {f.rule: f.severity for f in found}
    assert told["tcgen05.dealloc/peer"] is Severity.REVIEW
    assert told.keys() <= {"tcgen05.dealloc/peer", "tcgen05.dealloc/in-use"}


# ---- what is written ------------------------------------------------------------------------


def count(name: str, pattern: str) -> int:
    return compiled(CASES[name].file, "sm_100a").ptx.count(pattern)


def test_a_step_of_a_pair_is_four_multiplies_that_both_are_told_of() -> None:
    """M 256, N 256: 16 << 24 | 32 << 17, D f32: 1 << 4."""
    assert count("pair", ".kind::f16") == count("pair", f", {16 << 24 | 32 << 17 | 1 << 4}, ") == 4
    assert count("pair", "tcgen05.commit.cta_group::2") == 2
    assert count("pair", ".multicast::cluster") == 2
    assert count("pair", ".cta_group::1") == 0
    assert count("pair", ".mbarrier::complete_tx::bytes.cta_group::2") == 2


def test_a_step_of_mxfp8_is_two_copies_and_four_multiplies() -> None:
    assert count("mxfp8", "tcgen05.cp.cta_group::1.32x128b.warpx4") == 2
    assert count("mxfp8", ".kind::mxf8f6f4.block_scale") == 4


def test_a_step_of_nvfp4_is_eight_copies_and_four_multiplies() -> None:
    assert count("nvfp4", "tcgen05.cp.cta_group::1.32x128b.warpx4") == 8
    assert count("nvfp4", ".kind::mxf4nvf4.block_scale.block16") == 4


def test_a_step_of_the_sparse_one_is_a_copy_and_four_multiplies() -> None:
    assert count("sparse", "tcgen05.cp.cta_group::1.128x128b") == 1
    assert count("sparse", "tcgen05.mma.sp.") == 4


def test_pixels_are_filled_into_four_collectors_for_three_taps() -> None:
    """Three rows of the filter, four steps of K: twelve of each."""
    for use in ("fill", "use", "lastuse"):
        assert [count("stationary", f"collector::b{i}::{use}") for i in range(4)] == [3] * 4


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", CASES)
def test_the_verifier_finds_nothing_in_it(name: str) -> None:
    """In the function as a whole."""
    case = CASES[name]
    made = case.sample.build().compile(target="sm_100a", level="function")
    assert made.judged == []
