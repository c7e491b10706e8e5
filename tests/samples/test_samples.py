"""Every sample is exact under every schedule, and assembles for every target that it claims.

A sample is a file of Python with `build() -> Kernel`, `operands(…) -> (*inputs, expected)`,
`TARGETS` and `main()`, or a file of LLVM IR.  What kernel and arguments it takes differs, so each
has a `kernel_test` of its own; the rest is the same for all.
"""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from intrinsics.findings import Verdict, verdict
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.options import Options
from nvgen.machine_code.assembler import assemble
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.samples.modules import (
    FILES,
    SOFTMAX,
    WALKTHROUGH,
    compiled,
    gemm_tile,
    sample,
    warp_specialized,
)

pytestmark = pytest.mark.filterwarnings("error::nvgen.FindingWarning")


SAMPLES = sorted((Path(__file__).parents[2] / "samples").rglob("*.py"))


def test_samples_import_nothing_of_ours_but_nvgen() -> None:
    wrong = [
        (path.stem, line)
        for path in SAMPLES
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(from|import) (intrinsics|asmprinter|isel|nvgen\.)", line)
    ]
    assert len(SAMPLES) > 20
    assert not wrong


@pytest.mark.turns(8)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_runs_and_compares_itself_with_numpy(path: Path, capsys) -> None:
    sample(path).main()
    assert "equal to numpy" in capsys.readouterr().out


LEVELS = (0, 1, 2, 3)


@pytest.mark.turns(8)
@kernel_test(schedules="all", targets="sm_100a", opt=LEVELS)
def test_the_tile_is_exact(launch: Launch) -> None:
    a, b, expected = gemm_tile().operands()
    d = np.full_like(expected, np.nan)
    launch(compiled("01_gemm_tile", launch.target, launch.opt), a, b, d)
    assert_exact(d, expected)


@pytest.mark.turns(16)
@kernel_test(schedules="all", random=1, targets="sm_100a", opt=LEVELS)
def test_the_warp_specialised_gemm_is_exact(launch: Launch) -> None:
    """Two tiles for one CTA: eight steps of K go twice round a ring of four."""
    size = 128, 256, 256
    a, b, expected = warp_specialized().operands(*size)
    d = np.full_like(expected, np.nan)
    launch(compiled("02_gemm_warp_specialized", launch.target, launch.opt), a, b, d, *size)
    assert_exact(d, expected)


@pytest.mark.turns(6)
@kernel_test(schedules="all", targets="sm_100a", opt=LEVELS)
def test_the_walkthrough_is_exact(launch: Launch) -> None:
    """In global memory A lies as [k][m], B as [n][k]; small integers are exact."""
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 5, (64, 64)).astype(ml_dtypes.bfloat16)
    b = rng.integers(-4, 5, (128, 64)).astype(ml_dtypes.bfloat16)
    d = np.full((64, 128), np.nan, np.float32)
    launch(compiled(WALKTHROUGH.name, launch.target, launch.opt), a, b, d)
    assert_exact(d, a.astype(np.float32).T @ b.astype(np.float32).T)


@pytest.mark.turns(16)
@kernel_test(targets=("sm_75", "sm_90a"), opt=LEVELS)
def test_the_softmax_is_within_its_bound(launch: Launch) -> None:
    """Also where rows are shorter than a warp, so that whole warps have nothing.

    In units of 2**-24, for exponents of at most `span`: three roundings of the exponent weigh
    3 * span, ex2.approx errs by 4 (2**-22), numerator and sum alike; ten additions, one division
    and one product follow.
    """
    rng = np.random.default_rng(4)
    for rows, columns in ((3, 300), (2, 5), (1, 128)):
        x = (4 * rng.standard_normal((rows, columns))).astype(np.float32)
        y = np.full_like(x, np.nan)
        launch(SOFTMAX, x, y, columns, grid=rows)
        below = x.astype(np.float64) - x.max(1, keepdims=True)
        expected = np.exp(below) / np.exp(below).sum(1, keepdims=True)
        units = 2 * (3 * np.abs(below).max() + 4) + 12
        assert_exact(y, expected.astype(np.float32), bound=(units + 1) * 2.0**-24 * expected)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_says_where_it_has_run(path: Path) -> None:
    """Nobody takes a simulated kernel for one that has run on the machine."""
    words = " ".join((sample(path).__doc__ or "").split())
    if any(target.startswith(("sm_10", "sm_11", "sm_12")) for target in sample(path).TARGETS):
        assert "never run on a real Blackwell GPU" in words
    else:
        assert re.search(r"\bon an H[12]00\b", words)


@pytest.mark.turns(8)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ptxas_takes_the_kernel_for_every_target_it_claims(path: Path) -> None:
    module = sample(path)
    for target in module.TARGETS:
        made = compiled(path.stem, target)
        assert verdict(made.findings) is Verdict.CLEAN
        done = assemble(made.ptx, made.target)
        assert done.cubin[:4] == b"\x7fELF"
        assert "0 bytes spill stores, 0 bytes spill loads" in done.log
        assert "warning" not in done.log


# ---- optimised -------------------------------------------------------------------------------


@pytest.mark.turns(24)
@pytest.mark.seldom(2)
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ptxas_takes_the_optimised_kernel(path: Path, level: int) -> None:
    targets = sample(path).TARGETS
    plain = compiled(path.stem, targets[0])
    for target in targets:
        made = compiled(path.stem, target, level)
        assert verdict(made.findings) is Verdict.CLEAN
        assert assemble(made.ptx, made.target).cubin[:4] == b"\x7fELF"
        assert made.ptx != plain.ptx, "nothing was optimised"


@pytest.mark.turns(24)
@pytest.mark.seldom(2)
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("path", [*FILES, WALKTHROUGH], ids=lambda path: path.stem)
def test_the_verifier_says_the_same_of_the_optimised_kernel(path: Path, level: int) -> None:
    """Of whole functions too, and at the same lines."""
    if path.suffix == ".ll":
        target, text = "sm_100a", path.read_text()
    else:
        target, text = sample(path).TARGETS[0], sample(path).build().llvm
    plain, done = (
        compile_text(text, Options(target=target, opt=opt, level="all")).findings
        for opt in (0, level)
    )
    assert [(f.rule, f.place.line) for f in done] == [(f.rule, f.place.line) for f in plain]


def test_the_tile_is_four_steps_of_k_16() -> None:
    """128x128x64 in f16: four MMAs, of which only the first does not accumulate."""
    ptx = compiled("01_gemm_tile", "sm_100a").ptx
    steps = [line for line in ptx.split("\n") if "tcgen05.mma." in line]
    assert len(steps) == 4
    assert [line.rsplit(",", 1)[1].strip(" ;") for line in steps] == ["0", "1", "1", "1"]
    assert all(".kind::f16." in line and ".cta_group::1." in line for line in steps)


def test_the_tile_counts_its_bytes() -> None:
    """Two copies of 128 rows of 128 bytes each: what the mbarrier expects."""
    ptx = compiled("01_gemm_tile", "sm_100a").ptx
    (line,) = (line for line in ptx.split("\n") if "expect_tx" in line)
    assert line.endswith(f"{2 * 128 * 128};")
    assert ptx.count("cp.async.bulk.tensor.2d") == 2


# ---- the sample that is LLVM IR --------------------------------------------------------------


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
def test_ptxas_takes_the_walkthrough(target: str) -> None:
    made = compiled(WALKTHROUGH.name, target)
    assert verdict(made.findings) is Verdict.CLEAN
    done = assemble(made.ptx, made.target)
    assert done.cubin[:4] == b"\x7fELF"
    assert "warning" not in done.log


@pytest.mark.parametrize("level", [1, 2, 3])
def test_no_call_that_waits_for_a_whole_block_is_made_twice(level: int) -> None:
    """Threads that have nothing to do would else come to a barrier by a call of their own."""
    optimised = compile_text(SOFTMAX.read_text(), Options(target="sm_90a", opt=level)).llvm
    assert len(re.findall(r" call .*float @across\(", optimised)) == 2


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_ptxas_takes_the_softmax(target: str) -> None:
    made = compile_text(SOFTMAX.read_text(), Options(target=target, level="function"))
    assert verdict(made.findings) is Verdict.CLEAN
    done = assemble(made.ptx, made.target)
    assert "0 bytes spill stores, 0 bytes spill loads" in done.log
    assert "warning" not in done.log


def test_the_walkthrough_says_where_it_has_run() -> None:
    comment = " ".join(line.strip("; ") for line in WALKTHROUGH.read_text().splitlines())
    assert "never run on a real Blackwell GPU" in comment
