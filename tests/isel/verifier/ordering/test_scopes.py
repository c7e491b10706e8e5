"""Scopes that leave out threads of other CTAs, where all CTAs name the same place.

The right forms and the wrong ones are the manual's definition of a scope: `.cta` has the threads of
a CTA, `.cluster` those of a cluster.  PTX ISA, Memory Consistency Model: Scope; Morally strong
operations.
"""

from __future__ import annotations

import pytest

from intrinsics.findings import Severity
from tests.each import each
from tests.isel.verifier.kernels import kernel, said

HEAD = """\
    .global .align 4 .b32 flag;
    .shared .align 4 .b32 mine;
    mov.u64 %rd1, %p;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %cluster_ctarank;
    mul.wide.u32 %rd2, %t, 4;
    add.u64 %rd2, %rd1, %rd2;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd3, %rd1, %rd3;
    mul.wide.u32 %rd4, %r3, 4;
    add.u64 %rd4, %rd1, %rd4;
    ld.global.u32 %r4, [%rd3];
    mul.wide.u32 %rd5, %r4, 4;
    add.u64 %rd5, %rd1, %rd5;
    mov.u32 %r5, mine;
    mapa.shared::cluster.u32 %r6, %r5, 0;
"""

FORMS = (
    "red.relaxed.{s}.global.add.u32 [{a}], 1;",
    "atom.acq_rel.{s}.global.add.u32 %r9, [{a}], 1;",
    "st.release.{s}.global.u32 [{a}], 1;",
    "ld.acquire.{s}.global.u32 %r9, [{a}];",
    "atom.relaxed.{s}.cas.b32 %r9, [{a}], 0, 1;",
)
PLACES = {
    "flag": ("cta", "cluster"),
    "%rd1": ("cta", "cluster"),
    "%rd2+64": ("cta", "cluster"),  # by the thread's number
    "%rd3": (),  # one for each CTA
    "%rd4": ("cluster",),  # one for each rank: another cluster has the same
    "%rd5": (),  # where memory says
}
"""The scopes that are too narrow for a place."""
CASES = [
    (form, place, scope)
    for form in FORMS
    for place in PLACES
    for scope in ("cta", "cluster", "gpu", "sys")
    if not (place == "flag" and ".global" not in form)
]


def with_statement(statement: str) -> str:
    """A kernel with one statement, in the last line but two."""
    return kernel(HEAD + statement, ".param .u64 p", ".reqntid 64 .reqnctapercluster 2")


@each("form, place, scope", CASES)
def test_a_place_in_global_memory(form: str, place: str, scope: str) -> None:
    text = with_statement(form.format(s=scope, a=place))
    found = said(text)
    wrong = [form.partition(".")[0] + "/scope"] if scope in PLACES[place] else []
    assert [f.rule for f in found] == wrong
    assert all(f.severity is Severity.REVIEW for f in found)
    assert all(f.place.line == text.count("\n") - 2 for f in found)


@pytest.mark.parametrize(
    ("statement", "rules"),
    [
        ("red.relaxed.cta.shared::cluster.add.u32 [%r6], 1;", ["red/scope"]),
        ("red.relaxed.cluster.shared::cluster.add.u32 [%r6], 1;", []),
        ("red.relaxed.cta.shared.add.u32 [mine], 1;", []),
    ],
)
def test_a_place_in_shared_memory(statement: str, rules: list[str]) -> None:
    """The shared memory of another CTA needs `.cluster`; a CTA's own needs no more than `.cta`."""
    scopes = [f.rule for f in said(with_statement(statement)) if f.rule.endswith("/scope")]
    assert scopes == rules
