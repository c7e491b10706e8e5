"""Bytes and parities of the Hopper GEMM's mbarriers: right as they are, wrong after one edit.

The verifier sees each mistake before anything runs, in a CTA alone and in clusters that multicast.
"""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from intrinsics.findings import Finding
from tests.samples.modules import FOLDER

SOURCE = FOLDER / "10_gemm_sm90.py"

EDITS: dict[str, tuple[str, str, str]] = {
    "bytes of A only": (
        "self.x_ring.nbytes + self.y_ring.nbytes", "self.x_ring.nbytes", "mbarrier/bytes"),
    "bytes of B twice": (
        "self.x_ring.nbytes + self.y_ring.nbytes",
        "self.x_ring.nbytes + 2 * self.y_ring.nbytes", "mbarrier/bytes"),
    "a consumer that does not wait at first": (
        "b.wait(self.full[ring.stage], ring.parity)",
        "b.wait(self.full[ring.stage], ring.parity ^ 1)", "mbarrier/first-parity"),
}  # fmt: skip


def findings(cluster: int, before: str = "", after: str = "") -> list[Finding]:
    """What is said of the sample, with one edit."""
    text = SOURCE.read_text()
    assert text.count(before) == 1 or not before
    module = ModuleType("edited_gemm")
    module.__file__ = str(SOURCE)
    sys.modules[module.__name__] = module  # its dataclasses look there
    try:
        exec(
            compile(text.replace(before, after) if before else text, str(SOURCE), "exec"),
            vars(module),
        )
        kernel = module.build(module.Config(m=64, n=64, consumers=1, stages=2, cluster=cluster))
    finally:
        del sys.modules[module.__name__]
    return kernel.compile(target="sm_90a").findings


@pytest.mark.turns(3)
@pytest.mark.parametrize("cluster", [1, 2])
def test_it_is_clean(cluster: int) -> None:
    assert findings(cluster) == []


@pytest.mark.wrong_kernel
@pytest.mark.turns(4)
@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("name", EDITS)
def test_one_edit_is_found(name: str, cluster: int) -> None:
    before, after, rule = EDITS[name]
    assert rule in {f.rule for f in findings(cluster, before, after)}
