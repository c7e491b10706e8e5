"""`nvgen run --bisect`: the PTX of a sample, with one wait taken out, and as it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.nvgen.commands.test_cli_run import args, folder
from tests.nvgen.conftest import Nvgen
from tests.samples.modules import gemm_tile

__all__ = ["folder"]

BOX = "box=128x64,swizzle=128"
SPECS = (f"tmap:A.npy,{BOX}", f"tmap:B.npy,{BOX}", "out:f32[128,128]:D.npy")


def sample_ptx(folder: Path, *, without: str = "") -> None:
    """The first sample as gemm.ptx; its wait on the mbarrier `without` never looks."""
    a, b, _ = gemm_tile().operands()
    np.save("A.npy", a)
    np.save("B.npy", b)
    text = gemm_tile().build().compile(target="sm_100a").ptx
    if without:
        wait = re.compile(rf"mbarrier\.try_wait\S* (%p\d+), \[{without}\][^;]*;")
        assert len(wait.findall(text)) == 1
        text = wait.sub(r"setp.eq.u32 \1, 0, 0;", text)
    folder.joinpath("gemm.ptx").write_text(text)


def bisected(nvgen: Nvgen, *options: str) -> tuple[int, str]:
    """The exit status, and what is said, in one line."""
    found = nvgen("run", "gemm.ptx", "--bisect", "--schedule", "late", *options, *args(*SPECS))
    return found.status, " ".join(found.err.split())


@pytest.mark.parametrize("races", [(), ("--no-races",)])
def test_a_missing_wait(nvgen: Nvgen, folder: Path, races: tuple[str, ...]) -> None:
    """The copy that is not waited for, the multiply that comes too soon, and both places."""
    sample_ptx(folder, without="loaded")
    status, said = bisected(nvgen, *races)
    assert status == 1
    note = said.partition("note[run/bisect]: ")[2]
    assert note.startswith("the run fails when #1 alone takes effect late, with --schedule delay:1")
    assert "nothing orders the two" in note
    lines = folder.joinpath("gemm.ptx").read_text().splitlines()
    places = sorted({int(n) for n in re.findall(r"gemm\.ptx:(\d+):", note)})
    copy, multiply = (lines[n - 1] for n in places)
    assert "cp.async.bulk.tensor" in copy
    assert "tcgen05.mma" in multiply
    delayed = nvgen("run", "gemm.ptx", "--no-races", "--schedule", "delay:1", *args(*SPECS))
    assert delayed.status == 1


def test_a_wait_whose_lack_shows_anyway(nvgen: Nvgen, folder: Path) -> None:
    """Three warps read the accumulator before the first one has begun to multiply."""
    sample_ptx(folder, without="multiplied")
    status, said = bisected(nvgen, "--no-races")
    assert status == 1
    assert "the run fails under early as well: no delay is needed" in said


@pytest.mark.parametrize("races", [(), ("--no-races",)])
def test_a_right_kernel(nvgen: Nvgen, folder: Path, races: tuple[str, ...]) -> None:
    sample_ptx(folder)
    status, said = bisected(nvgen, *races)
    assert status == 0
    assert "the run does not fail under late" in said
    _, _, expected = gemm_tile().operands()
    assert np.array_equal(np.load("D.npy"), expected)
