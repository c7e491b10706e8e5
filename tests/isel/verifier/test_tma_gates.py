"""The verifier's rules of tensor copies, with the texts that back-end verifiers give them.

Each is reached from LLVM IR, from PTX and from MIR: the rank, im2col's rank, wide im2col, copies of
two CTAs, and multicasts.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

import nvgen
from asmprinter.mir.printer import print_mir
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, NvgenError, errors
from nvgen.compilation.options import Options
from nvgen.loading import load
from tests.each import each

COMPLETE = "mbarrier::complete_tx::bytes"


class Rule(NamedTuple):
    """A rule, its text, where it is broken, and a copy that breaks it in two languages."""

    id: str
    text: str
    target: str
    ptx: str
    statement: str
    intrinsic: str
    arguments: str
    subject: str = "cp.async.bulk.tensor"


TO_CLUSTER = "ptr addrspace(7) %d, ptr addrspace(3) %b, ptr %m"
TO_CTA = "ptr addrspace(3) %b, ptr addrspace(3) %b, ptr %m"
RULES = {
    "rank 6": Rule(
        "rank", "TMA rank must be in the range 1..5", "sm_90a", "8.6",
        f"6d.shared::cluster.global.tile.{COMPLETE} "
        "[%r1], [%rd1, {%r1, %r1, %r1, %r1, %r1, %r1}], [%r2];",
        "g2s.tile.6d", f"{TO_CLUSTER}, {'i32 0, ' * 6}i16 0, i64 0, i1 0, i1 0, i32 0",
    ),
    "rank 0": Rule(
        "rank", "TMA rank must be in the range 1..5", "sm_100a", "8.6",
        f"0d.shared::cta.global.tile.{COMPLETE} [%r1], [%rd1, {{%r1}}], [%r2];",
        "g2s.cta.tile.0d", f"{TO_CTA}, i32 0, i64 0, i1 0",
    ),
    "im2col of two dimensions": Rule(
        "im2col-rank", "im2col tensor copies require at least three dimensions", "sm_90a", "8.6",
        f"2d.shared::cluster.global.im2col.{COMPLETE} [%r1], [%rd1, {{%r1, %r1}}], [%r2], {{%h1}};",
        "g2s.im2col.2d", f"{TO_CLUSTER}, i32 0, i32 0, i16 0, i16 0, i64 0, i1 0, i1 0, i32 0",
    ),
    "a store of im2col of one": Rule(
        "im2col-rank", "im2col tensor copies require at least three dimensions", "sm_90a", "8.6",
        "1d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {%r1}], [%r1];",
        "s2g.im2col.1d", "ptr addrspace(3) %b, ptr %m, i32 0, i64 0, i1 0",
    ),
    "wide on Hopper": Rule(
        "wide-im2col-target", "wide im2col tensor copies are not supported on this architecture",
        "sm_90a", "8.6",
        f"3d.shared::cta.global.im2col::w.{COMPLETE} "
        "[%r1], [%rd1, {%r1, %r1, %r1}], [%r2], {%h1, %h1};",
        "g2s.cta.im2col.w.3d", f"{TO_CTA}, i32 0, i32 0, i32 0, i16 0, i16 0, i64 0, i1 0",
    ),
    "wide, of 128, on sm_120a": Rule(
        "wide-im2col-target", "wide im2col tensor copies are not supported on this architecture",
        "sm_120a", "9.0",
        f"4d.shared::cluster.global.im2col::w::128.{COMPLETE} "
        "[%r1], [%rd1, {%r1, %r1, %r1, %r1}], [%r2], {%h1, %h1};",
        "g2s.im2col.w.128.4d",
        f"{TO_CLUSTER}, {'i32 0, ' * 4}i16 0, i16 0, i16 0, i64 0, i1 0, i1 0, i32 0",
    ),
    "a wide prefetch": Rule(
        "wide-im2col-target", "wide im2col tensor copies are not supported on this architecture",
        "sm_90a", "8.6", "3d.L2.global.im2col::w [%rd1, {%r1, %r1, %r1}], {%h1, %h1};",
        "prefetch.im2col.w.3d", "ptr %m, i32 0, i32 0, i32 0, i16 0, i16 0, i64 0, i1 0",
        "cp.async.bulk.prefetch.tensor",
    ),
    "two CTAs on Hopper": Rule(
        "two-cta-target", "two-CTA TMA tensor copies are not supported on this architecture",
        "sm_90a", "8.6",
        f"1d.shared::cluster.global.tile.{COMPLETE}.cta_group::2 [%r1], [%rd1, {{%r1}}], [%r2];",
        "g2s.tile.1d", f"{TO_CLUSTER}, i32 0, i16 0, i64 0, i1 0, i1 0, i32 2",
    ),
    "two CTAs, im2col": Rule(
        "two-cta-target", "two-CTA TMA tensor copies are not supported on this architecture",
        "sm_120a", "9.0",
        f"3d.shared::cluster.global.im2col.{COMPLETE}.cta_group::2 "
        "[%r1], [%rd1, {%r1, %r1, %r1}], [%r2], {%h1};",
        "g2s.im2col.3d", f"{TO_CLUSTER}, {'i32 0, ' * 3}i16 0, i16 0, i64 0, i1 0, i1 0, i32 2",
    ),
}  # fmt: skip

MODULE = """\
.version {ptx}
.target {target}
.address_size 64
.visible .entry k()
{{
    .reg .b16 %h<4>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    {name}.{statement}
    ret;
}}
"""


def in_ptx(rule: Rule) -> str:
    return MODULE.format(
        ptx=rule.ptx, target=rule.target, name=rule.subject, statement=rule.statement
    )


def expect(rule: Rule, found: list[Finding]) -> None:
    ours = [f for f in found if f.rule == f"{rule.subject}/{rule.id}"]
    assert [f.message for f in ours] == [rule.text], found
    assert all(f.got and f.expected and f.place.line for f in ours)


@each("rule", RULES.values(), ids=RULES)
def test_in_ptx_and_in_mir(rule: Rule) -> None:
    text = in_ptx(rule)
    expect(rule, errors(load("k.ptx", text, Options(target=rule.target, ptx=rule.ptx)).findings))
    mir = print_mir(read_ptx(text).module).text
    expect(rule, errors(load("k.mir", mir, Options(target=rule.target, ptx=rule.ptx)).findings))


@each("rule", RULES.values(), ids=RULES)
def test_in_llvm_ir(rule: Rule) -> None:
    name = f"llvm.nvvm.cp.async.bulk.tensor.{rule.intrinsic}"
    types = ", ".join(a.rpartition(" ")[0] for a in rule.arguments.split(", "))
    text = (
        f"declare void @{name}({types})\n"
        "define ptx_kernel void @k(ptr addrspace(3) %b, ptr %m) {\n"
        "  %d = addrspacecast ptr addrspace(3) %b to ptr addrspace(7)\n"
        f"  call void @{name}({rule.arguments})\n  ret void\n}}\n"
    )
    with pytest.raises(NvgenError) as caught:
        nvgen.compile(text, target=rule.target, ptx=rule.ptx)
    expect(rule, list(caught.value.findings))


MULTICASTS = {
    "a tile": (
        f"1d.shared::cluster.global.tile.{COMPLETE}.multicast::cluster "
        "[%r1], [%rd1, {%r1}], [%r2], %h1;"
    ),
    "images": (
        f"3d.shared::cluster.global.im2col.{COMPLETE}.multicast::cluster "
        "[%r1], [%rd1, {%r1, %r1, %r1}], [%r2], {%h1}, %h2;"
    ),
}  # fmt: skip


@pytest.mark.parametrize("statement", MULTICASTS.values(), ids=MULTICASTS)
def test_a_multicast_where_there_are_no_clusters(statement: str) -> None:
    """Targets without them have no tensor copies at all; the multicast has words of its own."""
    text = MODULE.format(
        ptx="8.6", target="sm_80", name="cp.async.bulk.tensor", statement=statement
    )
    mir = print_mir(read_ptx(text).module).text
    for file, given in (("k.ptx", text), ("k.mir", mir)):
        found = errors(load(file, given, Options(target="sm_80", ptx="8.6")).findings)
        told = {f.rule: f.message for f in found}
        assert told["cp.async.bulk.tensor/multicast-target"] == (
            "cluster multicast TMA requires a compatible SM target"
        )
