"""The launch level: whether a kernel can be launched as it is meant to be.

The limits are those of the CUDA Programming Guide (Compute Capabilities); where ptxas knows them
too, it is asked.  What is not known is not judged, and a note says so.
"""

from __future__ import annotations

import re

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity, Verdict, verdict
from intrinsics.mir import Module
from intrinsics.targets import TARGETS
from isel.verifier.launch import (
    RULES,
    LaunchShape,
    static_bytes,
    static_limit,
    verify_launch,
)
from isel.verifier.levels import verify
from tests.each import each
from tests.isel.verifier.function.condition_kernels import PAIR
from tests.isel.verifier.function.kernel_text import kernel
from tests.oracle.ptxas_modules import report

GRID = LaunchShape(grid=(64, 1, 1))


def module(bounds: str = ".reqntid 128", variables: str = "", body: str = "    ret;") -> Module:
    reading = read_ptx(kernel(body, bounds, variables), "k.ptx")
    assert reading.findings == []
    return reading.module


def said(of: Module, shape: LaunchShape = GRID, target: str = "sm_100a") -> list[Finding]:
    return verify_launch(of, TARGETS[target], shape)


def rules(of: Module, shape: LaunchShape = GRID, target: str = "sm_100a") -> list[str]:
    return [f.rule for f in said(of, shape, target)]


def shape(
    grid: tuple[int, ...] = (64, 1, 1),
    block: tuple[int, ...] = (),
    cluster: tuple[int, ...] = (),
    smem: int | None = None,
) -> LaunchShape:
    return LaunchShape(grid, block, cluster, smem)


# ---- what is possible, and what is not -------------------------------------------------------

POSSIBLE = [
    (".reqntid 128", shape()),
    (".reqntid 128", shape(block=(128, 1, 1))),
    (".reqntid 32, 4", shape(block=(32, 4, 1))),
    (".reqntid 1024", shape()),
    (".maxntid 256", shape(block=(64, 4, 1))),
    ("", shape(block=(16, 16, 4))),
    (".reqntid 128", shape(grid=((1 << 31) - 1, 65535, 65535))),
    (".reqntid 128", shape(grid=(8, 4, 3), cluster=(2, 4, 1))),
    (".reqntid 128\n.reqnctapercluster 2", shape()),
    (".reqntid 128\n.reqnctapercluster 2, 2", shape(grid=(4, 2, 5), cluster=(2, 2, 1))),
    (".reqntid 128\n.maxclusterrank 4", shape(cluster=(4, 1, 1))),
    (".reqntid 128", shape(cluster=(1, 1, 1))),
    (".reqntid 128", shape(smem=227 * 1024)),
]


@each("bounds, launched", POSSIBLE)
def test_a_launch_that_is_possible(bounds: str, launched: LaunchShape) -> None:
    assert said(module(bounds), launched) == []


IMPOSSIBLE = [
    ("launch/grid-size", ".reqntid 128", shape(grid=(1, 65536, 1))),
    ("launch/grid-size", ".reqntid 128", shape(grid=(1 << 31, 1, 1))),
    ("launch/block-size", ".reqntid 1056", shape()),
    ("launch/block-size", ".maxntid 64, 32", shape(block=(64, 1, 1))),
    ("launch/block-size", "", shape(block=(1025, 1, 1))),
    ("launch/block-size", "", shape(block=(1, 1, 65))),
    ("launch/block", ".reqntid 128", shape(block=(64, 1, 1))),
    ("launch/block", ".reqntid 128", shape(block=(1, 128, 1))),
    ("launch/block", ".maxntid 128", shape(block=(129, 1, 1))),
    ("launch/cluster-size", ".reqntid 128", shape(cluster=(32, 1, 1))),
    ("launch/cluster-size", ".reqntid 128\n.reqnctapercluster 17", shape(grid=(17, 1, 1))),
    ("launch/cluster", ".reqntid 128\n.reqnctapercluster 2", shape(cluster=(4, 1, 1))),
    ("launch/cluster", ".reqntid 128\n.reqnctapercluster 2", shape(cluster=(1, 2, 1), grid=(2, 2))),
    ("launch/cluster", ".reqntid 128\n.maxclusterrank 2", shape(cluster=(4, 1, 1))),
    ("launch/cluster-grid", ".reqntid 128", shape(grid=(3, 1, 1), cluster=(2, 1, 1))),
    ("launch/cluster-grid", ".reqntid 128\n.reqnctapercluster 2", shape(grid=(33, 2, 1))),
    ("launch/cluster-grid", ".reqntid 128", shape(grid=(4, 1, 1), cluster=(2, 2, 1))),
    ("launch/shared-memory", ".reqntid 128", shape(smem=227 * 1024 + 1)),
    ("launch/shared-memory", ".reqntid 128", shape(smem=-1)),
]


@each("rule, bounds, launched", IMPOSSIBLE)
def test_a_launch_that_is_not_possible(rule: str, bounds: str, launched: LaunchShape) -> None:
    (found,) = said(module(bounds), launched)
    assert found.rule == rule
    assert found.severity is Severity.ERROR
    assert found.place.function == "k"
    assert found.got
    assert found.expected


@pytest.mark.parametrize("count", [9, 16])
def test_a_cluster_that_only_some_gpus_have_is_for_review(count: int) -> None:
    (found,) = said(module(), shape(grid=(count, 1, 1), cluster=(count, 1, 1)))
    assert found.rule == "launch/cluster-portable"
    assert found.severity is Severity.REVIEW
    assert said(module(), shape(grid=(8, 1, 1), cluster=(8, 1, 1))) == []


@pytest.mark.parametrize(("target", "expected"), [
    ("sm_80", ["launch/cluster-target"]), ("sm_89", ["launch/cluster-target"]), ("sm_90a", []),
    ("sm_120a", []),
])  # fmt: skip
def test_clusters_came_with_sm_90(target: str, expected: list[str]) -> None:
    assert rules(module(), shape(cluster=(2, 1, 1)), target) == expected
    assert rules(module(), shape(cluster=(1, 1, 1)), target) == []


def test_a_grid_of_clusters_needs_no_multiple() -> None:
    bounds = ".reqntid 128\n.reqnctapercluster 4\n.blocksareclusters"
    text = kernel("    ret;", bounds, "")
    assert rules(read_ptx(text).module, shape(grid=(3, 1, 1))) == []


def test_each_rule_has_a_launch_that_breaks_it() -> None:
    broken = {rule for rule, _, _ in IMPOSSIBLE}
    assert {r.id for r in RULES} - broken == {"launch/cluster-target", "launch/cluster-portable"}


# ---- shared memory ---------------------------------------------------------------------------


def _filled(size: int) -> Module:
    return module(
        variables=f".shared .align 16 .b8 tile[{size}];\n.shared .align 16 .b8 unused[999999];",
        body="    mov.u32 %r1, 7;\n    st.shared.b32 [tile+4], %r1;\n    ret;",
    )


@each("target", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f",
                 "sm_107a", "sm_110a", "sm_120", "sm_120a", "sm_121f"])  # fmt: skip
def test_variables_may_take_what_ptxas_lets_them(target: str) -> None:
    """One byte more, and ptxas says "uses too much shared data", with the limit."""
    ptx = str(max(TARGETS[target].first_ptx, TARGETS["sm_80"].first_ptx))
    limit = static_limit(TARGETS[target])

    def text(size: int) -> str:
        head = f".version {ptx}\n.target {target}\n.address_size 64\n"
        return (
            f"{head}.visible .entry k()\n{{\n.reg .b32 %r1;\n.shared .align 16 .b8 t[{size}];\n"
            "mov.u32 %r1, t;\nst.shared.b32 [%r1], %r1;\nret;\n}\n"
        )

    arch = target
    assert "too much shared data" not in report(text(limit), arch)
    refused = report(text(limit + 1), arch)
    found = re.search(r"uses too much shared data \(0x\w+ bytes, 0x(\w+) max\)", refused)
    assert found is not None, refused
    assert int(found[1], 16) == limit
    assert rules(_filled(limit), target=target) == []
    assert rules(_filled(limit + 1), target=target) == ["launch/shared-memory"]


def test_variables_and_dynamic_memory_share_the_limit() -> None:
    limit = TARGETS["sm_100a"].shared_limit
    filled = _filled(1024)
    assert static_bytes(filled, filled.functions[0]) == 1024
    assert rules(filled, shape(smem=limit - 1024)) == []
    assert rules(filled, shape(smem=limit - 1023)) == ["launch/shared-memory"]


def test_what_lies_between_variables_counts() -> None:
    padded = module(
        variables=".shared .align 4 .b8 a[4];\n.shared .align 128 .b8 b[8];",
        body="    mov.u32 %r1, a;\n    mov.u32 %r2, b;\n    ret;",
    )
    assert static_bytes(padded, padded.functions[0]) == 136


# ---- what is not known -----------------------------------------------------------------------

DYNAMIC = (".extern .shared .align 16 .b8 arena[];", "    mov.u32 %r1, arena;\n    ret;")


@pytest.mark.parametrize(
    ("of", "launched", "missing"),
    [
        (module(""), LaunchShape(), "no --grid, no --block"),
        (module(""), shape(), "no --block"),
        (module("", *DYNAMIC), shape(block=(32,)), "no --smem"),
        (module(".maxntid 64", *DYNAMIC), LaunchShape(), "no --grid, no --smem"),
    ],
)
def test_what_is_not_known_is_said(of: Module, launched: LaunchShape, missing: str) -> None:
    (note,) = said(of, launched)
    assert (note.rule, note.severity, note.got) == ("verify/level", Severity.NOTE, missing)
    assert note.incomplete


@pytest.mark.parametrize(
    "bounds", [".reqntid 64", ".maxntid 64", ".reqntid 64\n.reqnctapercluster 2"]
)
def test_what_the_bounds_of_a_kernel_decide_is_no_open_question(bounds: str) -> None:
    (note,) = said(module(bounds), LaunchShape())
    assert (note.rule, note.severity, note.got) == ("verify/level", Severity.NOTE, "no --grid")
    assert not note.incomplete
    assert verdict([note]) is Verdict.CLEAN
    assert said(module(bounds), shape()) == []


def test_bounds_that_no_launch_can_keep_are_an_error_without_one() -> None:
    found = said(module(".maxntid 2048"), LaunchShape())
    assert [f.rule for f in found] == ["launch/block-size", "verify/level"]


def test_a_module_without_kernels_is_not_launched() -> None:
    text = ".version 9.0\n.target sm_100a\n.address_size 64\n.func f()\n{\n    ret;\n}\n"
    assert said(read_ptx(text).module, LaunchShape()) == []


def test_the_sizes_of_one_of_several_kernels_are_not_held_against_the_others() -> None:
    text = kernel("    ret;", ".reqntid 128", "") + (
        ".visible .entry other()\n.reqntid 64\n.reqnctapercluster 2\n{\n    ret;\n}\n"
    )
    assert rules(read_ptx(text).module, shape(block=(128, 1, 1), cluster=(4, 1, 1))) == []


# ---- with the other levels -------------------------------------------------------------------


@pytest.mark.parametrize(("level", "expected"), [
    ("record", []),
    ("function", ["tcgen05/pair-cluster"]),
    ("launch", ["tcgen05/pair-cluster", "launch/cluster-grid"]),
    ("all", ["tcgen05/pair-cluster", "launch/cluster-grid"]),
])  # fmt: skip
def test_levels_include_those_before(level: str, expected: list[str]) -> None:
    of = read_ptx(PAIR.replace(".reqnctapercluster 2", "")).module
    assert of.ptx is not None
    found = verify(of, of.target, of.ptx, level, shape(grid=(4, 1, 1), cluster=(3, 1, 1)))
    assert [f.rule for f in found] == expected
