"""The versions of PTX that records need."""

from __future__ import annotations

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.targets import PTX_VERSIONS, TARGETS, parse_ptx
from isel.verifier.lowest_ptx import lowest_ptx
from isel.verifier.record import check_target, verify_records
from tests.each import each
from tests.isel.verifier.records import SCALES, mma, module_of, verdicts
from tests.oracle.side_by_side import refusals


@each(
    "statement, target, first",
    [
        # PTX versions that ptxas 13.5 demands.
        ("tcgen05.wait::ld.sync.aligned;", "sm_100a", "8.6"),
        ("tcgen05.wait::ld.sync.aligned;", "sm_100f", "8.8"),
        (mma(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", scales=SCALES),
         "sm_100a", "8.7"),
        (mma(".cta_group::1.kind::mxf4.block_scale.block32", scales=SCALES), "sm_100a", "8.8"),
        (mma(".cta_group::1.kind::f16"), "sm_110a", "9.0"),
        (mma(".cta_group::1.kind::f16"), "sm_107a", "9.4"),
        ("mbarrier.try_wait.b64 %p1, [mbar], %rd1;", "sm_90", "7.8"),
        ("mbarrier.expect_tx.b64 [mbar], 8;", "sm_90", "8.0"),
        ("mbarrier.expect_tx.relaxed.cta.b64 [mbar], 8;", "sm_90", "8.0"),
        ("fence.proxy.async;", "sm_90", "8.0"),
        ("mov.u32 %r1, %cluster_ctarank;", "sm_90", "7.8"),
    ],
)  # fmt: skip
def test_the_lowest_version_is_the_one_that_the_forms_need(statement: str, target: str, first: str):
    module = module_of(statement, target)
    lowest = lowest_ptx(module, TARGETS[target])
    assert str(lowest) == first
    assert verify_records(module, TARGETS[target], lowest) == []
    below = PTX_VERSIONS[PTX_VERSIONS.index(lowest) - 1]
    assert verify_records(module, TARGETS[target], below) != []


def test_a_version_too_old_says_which_would_do():
    statement = mma(".cta_group::1.kind::mxf4.block_scale.block32", scales=SCALES)
    (finding,) = verdicts(statement, "sm_100a", "8.7")
    assert finding.rule == "tcgen05.mma/block-version"
    assert "8.8" in finding.message + finding.expected
    assert "8.8" in finding.hint


def test_a_target_that_the_version_does_not_have():
    (finding,) = check_target(TARGETS["sm_107a"], parse_ptx("9.3"))
    assert finding.rule == "target/ptx-version"
    assert "sm_107a" in finding.message
    assert "9.4" in finding.expected
    assert "sm_100a" in finding.hint
    assert check_target(TARGETS["sm_107a"], parse_ptx("9.4")) == []


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;", "8.7"),
        ("@%p1 cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f1, %f2}, %r2;", "8.7"),
        ("cvt.pack.sat.u16.s32 %r1, %r2, %r2;", "8.6"),
    ],
)
def test_statements_that_are_kept_have_the_version_that_they_need(statement: str, first: str):
    """Random bits for rounding are PTX 8.7's; ptxas takes the module with that version only."""
    body = f".reg .pred %p<2>;\n.reg .b32 %r<3>;\n.reg .f32 %f<3>;\n{statement}\nret;"
    text = f".version 8.8\n.target sm_100a\n.address_size 64\n.entry k() {{\n{body}\n}}\n"
    module = read_ptx(text).module
    assert str(lowest_ptx(module, TARGETS["sm_100a"])) == first
    found = refusals({"k": text.replace("8.8", first)}, "sm_100a")
    assert not found
    if first != "8.6":
        assert refusals({"k": text.replace("8.8", "8.6")}, "sm_100a")
