"""A kernel around statements of PTX, and what the rules about whole functions say of one."""

from __future__ import annotations

import re

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from isel.verifier.functions import verify_functions


def kernel(
    body: str, parameters: str = "", directives: str = ".reqntid 128", *, target: str = "sm_90a"
) -> str:
    """A module whose kernel @k executes `body`, with registers %p, %r, %rd, %rs and %f.

    `%t` is the thread's number, and `%x` the value of a parameter `.param .u64 x` or `.u32 x`.
    """
    loads = "".join(
        f"    .reg .b{bits} %{name};\n    ld.param.u{bits} %{name}, [{name}];\n"
        for bits, name in re.findall(r"\.param \.u(32|64) (?:\.ptr \.global )?(\w+)", parameters)
    )
    return f"""\
.version 9.0
.target {target}
.address_size 64
.visible .entry k({parameters}) {directives}
{{
    .reg .pred %p<20>;
    .reg .b16 %rs<20>;
    .reg .b32 %r<60>, %t;
    .reg .b64 %rd<20>;
    .reg .f32 %f<64>;
{loads}    mov.u32 %t, %tid.x;
{body}
    ret;
}}
"""


def said(text: str, block: tuple[int, ...] = ()) -> list[Finding]:
    """What is said of a module, but for notes."""
    reading = read_ptx(text, "k.ptx")
    assert reading.findings == []
    found = verify_functions(reading.module, block)
    return [f for f in found if f.severity is not Severity.NOTE]


def severities(text: str) -> set[tuple[str, Severity]]:
    """The rules that a module breaks, and how severe that is."""
    return {(f.rule, f.severity) for f in said(text)}


def errors(text: str) -> set[str]:
    """The rules of which a module is an error."""
    return {f.rule for f in said(text) if f.severity is Severity.ERROR}
