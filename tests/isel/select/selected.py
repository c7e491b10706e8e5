"""LLVM IR that is selected: its records as PTX statements, or what refuses it."""

from __future__ import annotations

import pytest

from asmprinter.ptx.printer import print_ptx
from intrinsics.findings import Finding, SelectionError, Severity
from intrinsics.mir import Module
from intrinsics.targets import PTX_VERSIONS, TARGETS, parse_ptx
from isel.llvm.reader import read_module
from isel.pipeline import lower
from isel.places.align import align_places
from isel.select.locations import Source
from tests.isel.llvm.llvm_corpus import print_of


def lowered(text: str, *, target: str = "sm_100a", ptx: str = "", file: str = "k.ll") -> Module:
    """`text` after all passes, with the places of its own lines."""
    module = read_module(print_of(text))
    source = Source(file, align_places(module, text), text)
    return lower(module, TARGETS[target], parse_ptx(ptx) if ptx else None, source)


def rejected(text: str, *, target: str = "sm_100a", ptx: str = "") -> list[Finding]:
    """The findings with which selection refuses `text`."""
    with pytest.raises(SelectionError) as caught:
        lowered(text, target=target, ptx=ptx)
    assert all(f.severity is Severity.ERROR for f in caught.value.findings)
    return list(caught.value.findings)


def lines_of(text: str, *, target: str = "sm_100a") -> list[str]:
    """The statements of the only kernel as PTX, without its parameters' loads and its ret."""
    module = lowered(text, target=target)
    body = print_ptx(module, PTX_VERSIONS[-1]).text.partition("\n{\n")[2].splitlines()
    found = [line.strip() for line in body if line.startswith("\t") and ".reg ." not in line]
    return [line for line in found if "ld.param" not in line and line != "ret;"]


def mnemonics(text: str, *, target: str = "sm_100a") -> list[str]:
    return [line.split()[0].rstrip(";") for line in lines_of(text, target=target)]


ARGUMENTS = (
    "i16 %h, i32 %i, i32 %j, i64 %l, i64 %m, ptr %g, ptr addrspace(1) %p, "
    "ptr addrspace(3) %s, ptr addrspace(6) %t"
)


LAYOUT = 'target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"'
"""LLVM's own for this target: i64 is aligned to 8 bytes, without it to 4."""


def kernel(body: str, *, globals: str = "") -> str:
    """A kernel with an argument of most types; `c` comes from a comparison."""
    return (
        f"{LAYOUT}\n{globals}\ndefine ptx_kernel void @k({ARGUMENTS}) {{\nentry:\n"
        f"  %c = icmp eq i32 %i, %j\n{body}\n  ret void\n}}\n"
    )


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding
