"""What is said of a kernel of another people's library."""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"


def said(text: str) -> set[str]:
    """The rules that speak of a kernel, but for notes."""
    reading = read_ptx(HEAD + text)
    assert reading.findings == []
    return {f.rule for f in verify_functions(reading.module) if f.severity is not Severity.NOTE}
