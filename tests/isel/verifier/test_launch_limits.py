"""The launch level beyond its rules: sizes of every target, odd clusters, first versions."""

from __future__ import annotations

import pytest

from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.targets import PTX_VERSIONS, TARGETS
from isel.verifier.launch import without_peers
from isel.verifier.lowest_ptx import lowest_ptx
from tests.each import each
from tests.isel.verifier.function.condition_kernels import PAIR
from tests.isel.verifier.function.kernel_text import kernel
from tests.oracle.ptxas_modules import report

KIB = {
    75: 64, 80: 163, 86: 99, 87: 163, 88: 163, 89: 99, 90: 227, 100: 227, 101: 227, 103: 227,
    107: 227, 110: 227, 120: 99, 121: 99,
}  # fmt: skip
"""CUDA Programming Guide, Compute Capabilities: Maximum amount of shared memory per thread block;
sm_88 and sm_107 are taken to have what their nearest relatives have."""


@each("target", TARGETS.values(), ids=str)
def test_every_target_has_the_shared_memory_of_the_guide(target) -> None:
    assert target.shared_limit == KIB[target.number] * 1024


@pytest.mark.parametrize(("ctas", "wrong"), [(1, True), (2, False), (3, True), (4, False)])
def test_pairs_need_an_even_cluster(ctas: int, wrong: bool) -> None:
    module = read_ptx(PAIR.replace(".reqnctapercluster 2", "")).module
    found = without_peers(module, module.functions[0], (ctas, 1, 1))
    assert [f.rule for f in found] == ["tcgen05/pair-cluster"] * wrong


@pytest.mark.parametrize(("bounds", "first"), [
    (".reqnctapercluster 2", "7.8"), (".reqnctapercluster 2\n.blocksareclusters", "9.0"),
])  # fmt: skip
def test_a_module_is_of_the_first_version_that_has_its_directives(bounds: str, first: str) -> None:
    text = kernel("    ret;", f".reqntid 128\n{bounds}", "").replace("sm_100a", "sm_90")
    module = read_ptx(text).module
    assert str(lowest_ptx(module, TARGETS["sm_90"])) == first
    versions = [v for v in PTX_VERSIONS if v >= TARGETS["sm_90"].first_ptx]
    refused = [v for v in versions if "error" in report(print_ptx(module, v).text, "sm_90")]
    assert refused == [v for v in versions if str(v) < first]
