"""Targets, PTX versions, features: what nvgen says of them, ptxas says too."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from intrinsics.findings import InputError
from intrinsics.targets import (
    EVERY_TARGET,
    PTX_VERSIONS,
    SUBTARGET_FEATURES,
    TARGETS,
    Capability,
    Feature,
    Ptx,
    Target,
    at_least,
    named,
    parse_ptx,
    parse_target,
    since,
    spell,
    with_feature,
)
from tests.each import each
from tests.oracle import ptxas

BEFORE = ("6.0", "6.1", "6.2", "6.3", "6.4", "6.5")
"""PTX versions that ptxas knows and nvgen does not write."""


@functools.cache
def help_text() -> str:
    command = [ptxas.required_ptxas(), "--help"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout


def takes(target: str, version: str) -> bool:
    """Whether ptxas takes an empty kernel for this target in this version of PTX."""
    text = f".version {version}\n.target {target}\n.address_size 64\n.entry k() {{ ret; }}\n"
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        command = [ptxas.required_ptxas(), f"-arch={ptxas.arch_of(target)}", "m.ptx"]
        return subprocess.run(command, cwd=folder, capture_output=True, timeout=60).returncode == 0


# ---- names -----------------------------------------------------------------------------------


def test_names_tell_number_and_suffix():
    for name, target in TARGETS.items():
        assert target.name == str(target) == name
        assert re.fullmatch(r"sm_\d+[af]?", name)


def test_the_targets_are_those_that_ptxas_has():
    """sm_101* is still written in PTX, and assembled as sm_110*, its later name."""
    offered = set(re.findall(r"'(sm_\d+[af]?)'", help_text()))
    assert {target.renamed_to for target in TARGETS.values()} == offered
    renamed = {t.name for t in TARGETS.values() if t.renamed_to != t.name}
    assert renamed == {"sm_101", "sm_101a", "sm_101f"}


def test_the_versions_are_those_that_ptxas_has():
    """7.0 to 9.5, with no 7.9 and no 8.9; ptxas 13.5 knows nothing newer."""
    assert [str(v) for v in PTX_VERSIONS] == sorted(str(v) for v in PTX_VERSIONS)
    assert (str(PTX_VERSIONS[0]), str(PTX_VERSIONS[-1])) == ("7.0", "9.5")
    all_of_them = [f"{major}.{minor}" for major in (7, 8, 9) for minor in range(10)]
    with ThreadPoolExecutor(2) as pool:
        taken = pool.map(functools.partial(takes, "sm_75"), all_of_them)
    expected = [v for v, good in zip(all_of_them, taken, strict=True) if good]
    assert [str(v) for v in PTX_VERSIONS] == expected


@each("name", TARGETS)
def test_the_first_version_of_a_target(name: str):
    """ptxas takes the target in its first version and refuses it in the one before."""
    first = str(TARGETS[name].first_ptx)
    versions = [*BEFORE, *map(str, PTX_VERSIONS)]
    assert takes(name, first)
    assert not takes(name, versions[versions.index(first) - 1])


def test_versions_are_compared_as_numbers():
    assert Ptx(7, 8) < Ptx(8, 0) < Ptx(8, 8) < Ptx(9, 0)
    assert str(Ptx(9, 0)) == "9.0"


# ---- features --------------------------------------------------------------------------------

TENSOR_MEMORY = named("100af 101af 103af 107af 110af")

BY_HAND = {
    # Documented by the manual's target notes and by what ptxas takes.
    Feature.HAS_WGMMA: named("90a"),
    Feature.HAS_TMEM: TENSOR_MEMORY,
    Feature.HAS_ARCH_CONDITIONAL: named("90a 100a 101a 103a 107a 110a 120a 121a"),
    Feature.HAS_FAMILY_CONDITIONAL: named("100af 101af 103af 107af 110af 120af 121af"),
    Feature.HAS_SCALE_INPUT_ACCUMULATOR: named("100af 103af 107af"),
    Feature.HAS_WIDE_IM2COL: at_least(100),
    Feature.HAS_TWO_CTA_TMA: TENSOR_MEMORY,
    Feature.HAS_CLUSTER_MULTICAST: at_least(90),
}


@each("feature", BY_HAND)
def test_who_has_a_feature(feature: Feature):
    assert with_feature(feature) == BY_HAND[feature]


def test_every_feature_is_known_by_hand_or_asked_of_ptxas():
    assert set(SUBTARGET_FEATURES) == set(BY_HAND)
    assert {f for f in Feature if f is not Feature.NONE} == {*BY_HAND, *PROBES, *UNASKED}


UNASKED = {Feature.HAS_TCGEN05_K96, Feature.MAY_HAVE_TCGEN05_K96}
"""What stands in bits of descriptors, which ptxas does not look at: sm_103a by the manual."""

COPY = "cp.async.bulk.tensor"
BYTES = "mbarrier::complete_tx::bytes"
PROBES = {
    Feature.HAS_WGMMA: "wgmma.fence.sync.aligned;",
    Feature.HAS_TMEM: "tcgen05.wait::ld.sync.aligned;",
    Feature.HAS_SCALE_INPUT_ACCUMULATOR: (
        "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, %r3, %p1, 2;"
    ),
    Feature.HAS_WIDE_IM2COL: (
        f"{COPY}.3d.shared::cta.global.im2col::w.{BYTES} "
        "[smem], [%rd1, {%r1, %r2, %r3}], [mbar], {%h1, %h2};"
    ),
    Feature.HAS_TWO_CTA_TMA: (
        f"{COPY}.1d.shared::cluster.global.{BYTES}.cta_group::2 [smem], [%rd1, {{%r1}}], [mbar];"
    ),
    Feature.HAS_CLUSTER_MULTICAST: (
        f"{COPY}.1d.shared::cluster.global.{BYTES}.multicast::cluster "
        "[smem], [%rd1, {%r1}], [mbar], %h1;"
    ),
    Feature.HAS_CLUSTERS: "barrier.cluster.arrive;",
    Feature.HAS_FP8: "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    Feature.HAS_SETMAXNREG: "setmaxnreg.inc.sync.aligned.u32 64;",
    Feature.HAS_TENSOR_MAP_WRITES: ("tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;"),
    Feature.HAS_NARROW_TENSOR_MAPS: (
        "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 13;"
    ),
    Feature.HAS_96_BYTE_SWIZZLING: (
        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd1], 4;"
    ),
    Feature.HAS_RELAXED_BULK_COPY: (
        f"cp.async.bulk.relaxed.gpu.shared::cluster.global.{BYTES}.b128 [smem], [%rd1], 16, [mbar];"
    ),
    Feature.HAS_WIDE_MULTICAST: (
        f"{COPY}.1d.shared::cluster.global.{BYTES}.multicast::cluster::32b "
        "[smem], [%rd1, {%r1}], [mbar], %r2;"
    ),
    Feature.HAS_EVICTING_PREFETCH: ("cp.async.bulk.prefetch.L2.global.L2::evict_last [%rd1], 16;"),
    Feature.HAS_NARROW_MULTIMEM: "multimem.ld_reduce.relaxed.gpu.global.min.e4m3x4 %r1, [%rd1];",
    Feature.HAS_NARROW_FLOATS: "cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;",
    Feature.HAS_NARROW_RZ: "cvt.rz.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    Feature.HAS_BYTE_MATRICES: "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [smem], {%r1};",
    Feature.HAS_MMA_KINDS: (
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 "
        "{%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};"
    ),
    Feature.HAS_MMA_BLOCK_SCALE: (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X."
        "f32.e2m1.e2m1.f32.ue8m0 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, "
        "{%f0, %f1, %f2, %f3}, {%r6}, {0, 0}, {%r7}, {0, 0};"
    ),
    Feature.HAS_PACKED_BYTES: "add.u8x4 %r1, %r2, %r3;",
    Feature.HAS_FLOAT_REDUX: "redux.sync.min.f32 %f1, %f2, %r1;",
    Feature.HAS_TCGEN05_I8: "tcgen05.mma.cta_group::1.kind::i8 [%r0], %rd1, %rd2, %r3, %p1;",
    Feature.HAS_TCGEN05_LD_RED: (
        "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1, %r2}, %r3, [%r0];"
    ),
    Feature.HAS_TCGEN05_SPCOMPRESS: (
        "tcgen05.ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2 {%r1}, {%r2, %r3}, [%r0];"
    ),
    Feature.HAS_TCGEN05_EXTENSIONS: (
        "tcgen05.mma.cta_group::1.kind::ti16 [%r0], %rd1, %rd2, %r3, %p1;"
    ),
    Feature.HAS_MMA_SPARSE_FP4: (
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale."
        "scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, "
        "{%r4, %r5, %r6, %r7}, {%f0, %f1, %f2, %f3}, %r8, 0, {%r6}, {0, 0}, {%r7}, {0, 0};"
    ),
}


@each("name", TARGETS)
def test_a_feature_is_what_ptxas_takes_on_the_target(name: str):
    ptxas.required_ptxas()
    verdicts = ptxas.judge(list(PROBES.values()), name, str(PTX_VERSIONS[-1]))
    taken = {f for f, errors in zip(PROBES, verdicts, strict=True) if not errors}
    assert taken == {f for f in PROBES if f in TARGETS[name].features}


def test_families():
    """`sm_100f` code runs on the later members of its family, so these share one."""
    families: dict[int, set[int]] = {}
    for target in TARGETS.values():
        families.setdefault(target.family, set()).add(target.number)
    shared = {frozenset(members) for members in families.values() if len(members) > 1}
    assert shared == {frozenset({100, 103, 107}), frozenset({101, 110}), frozenset({120, 121})}


@pytest.mark.parametrize(
    ("compiled", "runs_on", "goes"),
    [
        ("sm_100a", "sm_100", True),
        ("sm_100a", "sm_103", False),  # an `a` target is exactly one machine
        ("sm_100f", "sm_103", True),
        ("sm_103f", "sm_100", False),  # never an earlier member
        ("sm_100f", "sm_110", False),
        ("sm_120f", "sm_121", True),
    ],
)
def test_what_a_and_f_promise(compiled: str, runs_on: str, goes: bool):
    """ptxas assembles `f` code for the later members of a family, `a` code for its own target."""
    text = f".version 9.5\n.target {compiled}\n.address_size 64\n.entry k() {{ ret; }}\n"
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        suffix = "a" if compiled.endswith("a") else "f"
        command = [ptxas.required_ptxas(), f"-arch={runs_on}{suffix}", "-o", "m.cubin", "m.ptx"]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60)
    assert (done.returncode == 0) is goes
    one, other = TARGETS[compiled], TARGETS[runs_on + suffix]
    reaches = one == other or (suffix == "f" and one.number <= other.number)
    assert goes is (reaches and one.family == other.family)


# ---- sets of targets -------------------------------------------------------------------------


def names(targets: frozenset[Target]) -> set[str]:
    return {target.name for target in targets}


def test_short_names_of_sets():
    assert names(named("100a 103af 90")) == {"sm_100a", "sm_103a", "sm_103f", "sm_90"}


def test_at_least():
    assert names(at_least(120)) == {
        "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f",
    }  # fmt: skip
    assert at_least(0) == EVERY_TARGET


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        (frozenset(), "no target"),
        (named("90a"), "sm_90a"),
        (named("90a 103a"), "sm_90a or sm_103a"),
        (named("75 80 86"), "sm_75, sm_80 or sm_86"),
        (at_least(90), "sm_90 and later"),
    ],
)
def test_targets_in_words(targets: frozenset[Target], text: str):
    assert spell(targets) == text


def test_words_name_every_target():
    """`sm_100a/f` is two targets; nothing is left out and nothing put in."""
    for chosen in (TENSOR_MEMORY, named("100a 103f 110af"), named("107af 120a")):
        found: set[str] = set()
        for number, suffixes in re.findall(r"sm_(\d+)([af](?:/[af])*)", spell(chosen)):
            found.update(f"sm_{number}{suffix}" for suffix in suffixes.split("/"))
        assert found == names(chosen)


# ---- capabilities ----------------------------------------------------------------------------


def test_a_capability_begins_with_the_later_of_version_and_target():
    capability = since("8.6", named("90a 100a 100f 107a"))
    first = {t.name: capability.first_ptx(t) for t in TARGETS.values()}
    assert first["sm_90a"] == Ptx(8, 6)  # the target is older than the instruction
    assert first["sm_100a"] == Ptx(8, 6)
    assert first["sm_100f"] == Ptx(8, 8)  # the target came later
    assert first["sm_107a"] == Ptx(9, 4)
    assert first["sm_100"] is None


def test_a_capability_never_goes_away():
    capability = since("8.3", at_least(90))
    for target in TARGETS.values():
        held = [capability.holds(target, version) for version in PTX_VERSIONS]
        assert held == sorted(held)
        assert any(held) is (target.number >= 90)


def test_everything_holds_everywhere_that_ptx_has_the_target():
    for target in TARGETS.values():
        for version in PTX_VERSIONS:
            assert Capability().holds(target, version) is (version >= target.first_ptx)


# ---- reading ---------------------------------------------------------------------------------


def test_a_target_by_name():
    assert parse_target("sm_100a") is TARGETS["sm_100a"]


@pytest.mark.parametrize("wrong", ["sm_100b", "100a", "", "SM_100A", "sm_1000a"])
def test_an_unknown_target_offers_its_neighbours(wrong: str):
    with pytest.raises(InputError) as caught:
        parse_target(wrong)
    (finding,) = caught.value.findings
    assert finding.rule == "target/unknown"
    assert wrong in finding.message
    assert all(name in finding.expected for name in TARGETS)
    assert finding.hint
    if wrong == "sm_100b":
        assert "sm_100" in finding.hint


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("sm_42", "sm_75 is the oldest and sm_121f the newest; `nvgen targets` lists them all"),
        ("sm_200", "sm_75 is the oldest and sm_121f the newest; `nvgen targets` lists them all"),
        ("sm_12", "did you mean sm_120 or "),
        ("sm90a", "did you mean sm_90a or sm_90?"),
        ("compute_90a", "did you mean sm_90a or sm_90?"),
    ],
)
def test_a_number_is_near_to_those_that_lack_a_digit_only(wrong: str, hint: str):
    """sm_42 is like sm_121 to the eye of an algorithm, and to nobody else's."""
    with pytest.raises(InputError) as caught:
        parse_target(wrong)
    assert caught.value.findings[0].hint.startswith(hint)


@pytest.mark.parametrize("text", ["7.0", "8.8", "9.5"])
def test_a_version_by_name(text: str):
    assert str(parse_ptx(text)) == text


@pytest.mark.parametrize("wrong", ["8.9", "9.6", "8", "8.6.1", "latest", ""])
def test_an_unknown_version(wrong: str):
    with pytest.raises(InputError) as caught:
        parse_ptx(wrong)
    (finding,) = caught.value.findings
    assert finding.rule == "ptx/version-unknown"
    assert "7.0" in finding.expected
    assert "9.5" in finding.expected
