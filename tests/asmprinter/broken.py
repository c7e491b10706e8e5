"""Statements of PTX with one mistake, and what is found."""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.targets import Target
from isel.verifier.record import verify_records
from tests.asmprinter.operand_strategies import NEWEST

LINE = 12
"""Where the statement under test stands."""


def around(statement: str, target: Target, registers: str = "") -> str:
    """A kernel with `statement` on line 12, between two that are right."""
    lines = [
        f".version {NEWEST}",
        f".target {target}",
        ".address_size 64",
        ".visible .entry k()",
        "{",
        ".reg .pred %p<200>;",
        ".reg .b8 %rb<200>; .reg .b16 %rs<200>; .reg .b32 %r<200>;",
        ".reg .b64 %rd<200>; .reg .b128 %rq<200>;",
        ".reg .f32 %f<200>; .reg .f64 %fd<200>;" + registers,
        "add.s32 %r199, %r198, 1;",
        "bar.sync 0;",
        statement,
        "add.s32 %r198, %r197, 1;",
        "ret;",
        "}",
    ]
    assert lines[LINE - 1] == statement
    return "\n".join(lines)


def errors_of(text: str) -> list[Finding]:
    """Errors of the reader and of the record verifier."""
    reading = read_ptx(text, "k.ptx")
    module = reading.module
    found = [*reading.findings, *verify_records(module, module.target, NEWEST, hints=False)]
    return [f for f in found if f.severity is Severity.ERROR]
