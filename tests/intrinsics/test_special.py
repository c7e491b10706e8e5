"""Special registers: ptxas says which there are, and with which types a mov reads them."""

from __future__ import annotations

import pytest

from intrinsics.modifiers import ScalarType
from intrinsics.special import special_registers
from intrinsics.targets import PTX_VERSIONS, TARGETS
from tests.each import each
from tests.oracle import ptxas

REGISTER = {
    "pred": "%p1", "b16": "%h1", "u16": "%uh1", "s16": "%sh1", "b32": "%r1", "u32": "%u1",
    "s32": "%s1", "b64": "%rd1", "u64": "%ud1", "s64": "%sd1", "f32": "%f1", "f64": "%fd1",
    "b128": "%q1",
}  # fmt: skip
"""A register of each type that a mov could have, in the oracle's preamble."""


def statement(register: str, type_: str) -> str:
    return f"mov.{type_} {REGISTER[type_]}, %{register};"


@pytest.fixture(autouse=True)
def _need_ptxas() -> None:
    ptxas.required_ptxas()


def test_the_types_that_read_them():
    cases = [(name, type_) for name in special_registers() for type_ in REGISTER]
    verdicts = ptxas.judge([statement(*case) for case in cases], "sm_100a", "9.5")
    taken = {case for case, errors in zip(cases, verdicts, strict=True) if not errors}
    table = {(r.name, t.value) for r in special_registers().values() for t in r.types}
    assert taken == table


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_targets_that_have_them(target: str):
    """In the newest PTX."""
    names = list(special_registers())
    first = [statement(name, special_registers()[name].types[0].value) for name in names]
    verdicts = ptxas.judge(first, target, "9.5")
    taken = {name for name, errors in zip(names, verdicts, strict=True) if not errors}
    newest = PTX_VERSIONS[-1]
    table = {r.name for r in special_registers().values() if r.needs.holds(TARGETS[target], newest)}
    assert taken == table


@each(
    "name, llvm",
    [
        ("tid.x", "read.ptx.sreg.tid.x"),
        ("laneid", "read.ptx.sreg.laneid"),
        ("lanemask_lt", "read.ptx.sreg.lanemask.lt"),
        ("cluster_ctarank", "read.ptx.sreg.cluster.ctarank"),
        ("cluster_ctaid.y", "read.ptx.sreg.cluster.ctaid.y"),
        ("clusterid.z", "read.ptx.sreg.clusterid.z"),
        ("clock64", "read.ptx.sreg.clock64"),
        ("envreg31", "read.ptx.sreg.envreg31"),
    ],
)
def test_llvms_names(name: str, llvm: str):
    assert special_registers()[name].llvm == llvm


def test_no_two_share_an_llvm_name():
    names = [r.llvm for r in special_registers().values() if r.llvm]
    assert len(set(names)) == len(names)


def test_llvm_reads_their_parts_only():
    nameless = [r.name for r in special_registers().values() if not r.llvm]
    assert nameless == [
        *("tid", "ntid", "ctaid", "nctaid"),
        *("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"),
    ]


def test_each_is_read_in_some_type():
    for register in special_registers().values():
        assert register.types
        assert len(set(register.types)) == len(register.types)
        assert all(isinstance(type_, ScalarType) for type_ in register.types)
