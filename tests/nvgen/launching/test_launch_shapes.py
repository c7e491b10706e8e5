"""A launch that no GPU can do is refused before anything runs, and by the same rules as `check`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nvgen
from intrinsics.findings import InputError
from nvgen.compilation.options import Options
from nvgen.loading import load
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from tests.each import each
from tests.isel.verifier.function.condition_kernels import PAIR
from tests.isel.verifier.function.kernel_text import kernel
from tests.nvgen.conftest import Nvgen
from tests.nvgen.programs import ADD

PTX = kernel("    ret;", ".reqntid 32", "")


def refused(text: str, **shape: object) -> list[str]:
    """The rules that `Compiled.run` refuses a launch with."""
    compiled = load("k.ptx", text).compiled()
    with pytest.raises(InputError) as caught:
        compiled.run(*[0] * 6, **shape)
    return [f.rule for f in caught.value.findings]


@each(
    "shape, rule",
    [
        ({"grid": (1, 70000, 1)}, "launch/grid-size"),
        ({"grid": 3, "cluster": 2}, "launch/cluster-grid"),
        ({"grid": 32, "cluster": 32}, "launch/cluster-size"),
        ({"smem": 1 << 20}, "launch/shared-memory"),
    ],
)
@each("device", ["sim", "cuda"])
def test_a_launch_that_is_not_possible(shape: dict[str, object], rule: str, device: str) -> None:
    assert refused(PTX, device=device, **shape) == [rule]


@pytest.mark.parametrize("smem", [-1, 227 * 1024 + 1, 1 << 60])
def test_the_simulator_makes_no_such_memory_itself(smem: int) -> None:
    """A caller of the simulator alone has asked no rule of launch level."""
    empty = 'target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @k() { ret void }'
    module = load("k.ll", empty, Options("sm_90a")).compiled().module
    with pytest.raises(InputError) as caught:
        simulate(
            module, "k", [],
            grid=(1, 1, 1), block=(32, 1, 1), smem=smem, schedule=parse_schedule("early"),
        )  # fmt: skip
    assert [f.rule for f in caught.value.findings] == ["run/shared-memory"]


def test_another_cluster_than_the_kernel_is_made_for() -> None:
    text = PTX.replace(".reqntid 32", ".reqntid 32\n.reqnctapercluster 2")
    assert refused(text, grid=4, cluster=4) == ["launch/cluster"]


def test_a_pair_needs_a_cluster() -> None:
    text = PAIR.replace("\n.reqnctapercluster 2", "")
    compiled = load("k.ptx", text).compiled()
    with pytest.raises(InputError) as caught:
        compiled.run(*[0] * 6, grid=2)
    (finding,) = caught.value.findings
    assert finding.rule == "tcgen05/pair-cluster"
    assert text.splitlines()[finding.place.line - 1].strip().startswith("tcgen05.alloc")


def test_what_the_kernel_says_of_its_cluster_needs_not_be_said_again() -> None:
    """The launch is possible; what comes of null pointers is another matter."""
    compiled = load("k.ptx", PAIR).compiled()
    with pytest.raises(nvgen.NvgenError) as caught:
        compiled.run(*[0] * 6, grid=2)
    assert not any(f.rule.startswith(("launch/", "tcgen05/")) for f in caught.value.findings)


def test_the_command_refuses_it_as_a_usage_error(nvgen: Nvgen, tmp_path: Path) -> None:
    path = tmp_path / "k.ll"
    path.write_text(ADD)
    np.save(tmp_path / "x.npy", np.zeros(8, np.float32))
    found = nvgen("run", path, "--target", "sm_90a", "--kernel", "add", "--grid", "3",
                  "--block", "32", "--cluster", "2")  # fmt: skip
    assert found.status == 2
    assert "launch/cluster-grid" in found.err
    assert f"{path}, in @add" in found.err


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (("--grid", "4", "--block", "32"), []),
        (("--grid", "4"), ["verify/level"]),
        (("--grid", "3", "--block", "32", "--cluster", "2"), ["launch/cluster-grid"]),
        (("--grid", "4", "--block", "2048"), ["launch/block-size"]),
        (("--grid", "4", "--block", "32", "--smem", "300000"), ["launch/shared-memory"]),
        (("--level", "function", "--grid", "4", "--block", "2048"), ["launch/block-size"]),
    ],
)
def test_check_knows_the_launch(
    nvgen: Nvgen, tmp_path: Path, options: tuple[str, ...], rules: list[str]
) -> None:
    path = tmp_path / "k.ll"
    path.write_text(ADD)
    found = nvgen("check", path, "--target", "sm_90a", "--format", "json", *options)
    assert [f["rule"] for f in found.json()["findings"]] == rules
    assert found.status == int(any(r.startswith("launch/") for r in rules))
