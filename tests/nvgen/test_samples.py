"""Every sample is exact under every schedule, and assembles for every target that it claims.

A sample is a file of Python with `build() -> Kernel`, `operands() -> (*inputs, expected)`,
`TARGETS` and `main()`; its kernel takes the inputs, then the output.  Such a file needs nothing
here; a sample of another kind is a `kernel_test` of its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from intrinsics.findings import Verdict, verdict
from nvgen.assembler import assemble
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.nvgen.samples import FILES, gemm_tile, sample


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_runs_and_compares_itself_with_numpy(path: Path, capsys) -> None:
    sample(path).main()
    assert "equal to numpy" in capsys.readouterr().out


@kernel_test(schedules="all", targets="sm_100a")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_is_exact(launch: Launch, path: Path) -> None:
    *inputs, expected = sample(path).operands()
    got = np.zeros_like(expected)
    launch(sample(path).build(), *inputs, got)
    assert_exact(got, expected)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_says_where_it_has_run(path: Path) -> None:
    """Nobody takes a simulated kernel for one that has run on the machine."""
    assert "never run on a real Blackwell GPU" in " ".join((sample(path).__doc__ or "").split())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ptxas_takes_the_kernel_for_every_target_it_claims(path: Path) -> None:
    module = sample(path)
    for target in module.TARGETS:
        compiled = module.build().compile(target=target)
        assert verdict(compiled.findings) is Verdict.CLEAN
        done = assemble(compiled.ptx, compiled.target)
        assert done.cubin[:4] == b"\x7fELF"
        assert "spill stores" not in done.log or "0 bytes spill stores" in done.log


def test_the_tile_is_four_steps_of_k_16() -> None:
    """128x128x64 in f16: four MMAs, of which only the first does not accumulate."""
    ptx = gemm_tile().build().compile(target="sm_100a").ptx
    steps = [line for line in ptx.split("\n") if "tcgen05.mma." in line]
    assert len(steps) == 4
    assert [line.rsplit(",", 1)[1].strip(" ;") for line in steps] == ["0", "1", "1", "1"]
    assert all(".kind::f16." in line and ".cta_group::1." in line for line in steps)


def test_the_tile_counts_its_bytes() -> None:
    """Two copies of 128 rows of 128 bytes each: what the mbarrier expects."""
    ptx = gemm_tile().build().compile(target="sm_100a").ptx
    (line,) = (line for line in ptx.split("\n") if "expect_tx" in line)
    assert line.endswith(f"{2 * 128 * 128};")
    assert ptx.count("cp.async.bulk.tensor.2d") == 2
