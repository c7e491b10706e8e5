"""Programs in the spelling of the walkthrough: compiled, refused, expanded."""

from __future__ import annotations

import re

import pytest

from intrinsics.findings import Finding, SelectionError, Severity
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from tests.nvgen.walkthrough.walkthrough_programs import (
    DEALLOC,
    LD,
    RELINQUISH,
    WAIT,
    multiply,
    straight,
)

WHOLE = straight(
    multiply(enable="true"),
    WAIT,
    f"%v = {LD} %h)",
    "%x = extractelement <128 x float> %v, i32 0",
    "store float %x, ptr addrspace(1) %d",
    f"{DEALLOC} %h, i32 16)",
    RELINQUISH,
)
"""The documented calls, in the documented order, with their documented numbers."""


def compiled(text: str, target: str = "sm_100a") -> Compiled:
    return check_text(text, Options(target=target, keep_stages=True))


def refused(text: str, target: str = "sm_100a") -> list[Finding]:
    with pytest.raises(SelectionError) as caught:
        compiled(text, target)
    assert all(f.severity is Severity.ERROR for f in caught.value.findings)
    return list(caught.value.findings)


def only(text: str, rule: str, target: str = "sm_100a") -> Finding:
    """The one finding with which `text` is refused."""
    (finding,) = refused(text, target)
    assert finding.rule == rule
    assert finding.place.line
    assert finding.expected
    return finding


def expanded(text: str) -> list[str]:
    """The records of the kernel after the expansion, without results, places and comments."""
    mir = compiled(text).stages["expand-walkthrough"]
    lines = [line.partition(";")[0].partition(" !")[0].strip() for line in mir.split("\n")]
    return [re.sub(r"^(\{.*?\}|%\S+) = ", "", line) for line in lines if line]


def opcodes(text: str) -> list[str]:
    """Opcodes after the expansion; a guard stands before its own."""
    found = [re.match(r"(@!?%[\w.]+:pred )?([A-Z][A-Z0-9_]+)", line) for line in expanded(text)]
    return [match[2] for match in found if match]


def guarded(text: str) -> dict[str, str]:
    """The guard of each opcode that has one."""
    found = [re.match(r"@(!?%[\w.]+):pred ([A-Z][A-Z0-9_]+)", line) for line in expanded(text)]
    return {match[2]: match[1] for match in found if match}
