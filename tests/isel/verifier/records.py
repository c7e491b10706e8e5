"""Statements of PTX as records in a kernel, and what the verifier says of them."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import (
    Finding,
)
from intrinsics.mir import Module
from intrinsics.targets import PTX_VERSIONS, parse_ptx
from isel.verifier.record import verify_records
from tests.oracle import ptxas

NEWEST = str(PTX_VERSIONS[-1])


def in_kernel(statements: str, target: str, ptx: str) -> str:
    return f"""\
.version {ptx}
.target {target}
.address_size 64
.shared .align 8 .b64 mbar;
.visible .entry k()
{{
.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
{statements}
ret;
}}
"""


def module_of(statements: str, target: str = "sm_100a", ptx: str = NEWEST) -> Module:
    """A kernel of PTX statements that the reader understands."""
    reading = read_ptx(in_kernel(statements, target, ptx), "k.ptx")
    assert reading.findings == []
    return reading.module


def verdicts(statements: str, target: str = "sm_100a", ptx: str = NEWEST) -> list[Finding]:
    """What the verifier says of PTX statements."""
    module = module_of(statements, target, ptx)
    return verify_records(module, module.target, parse_ptx(ptx))


def mma(modifiers: str, *, a: str = "%rd1", scales: str = "", more: str = "", sp: str = "") -> str:
    """A tcgen05.mma with these modifiers; `modifiers` begins behind the family's name."""
    return f"tcgen05.mma{modifiers} [%r1], {a}, %rd2{sp}, %r2{scales}, %p1{more};"


SCALES = ", [%r3], [%r4]"


def _judge_in_module(statements: list[str], target: str) -> tuple[int, list[tuple[int, str]], str]:
    return assemble(in_kernel("\n".join(statements), target, NEWEST), target)


def assemble(text: str, target: str) -> tuple[int, list[tuple[int, str]], str]:
    """ptxas's exit status, its errors by line, and its whole log; no code is generated."""
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        command = [ptxas.find_ptxas(), f"-arch={ptxas.arch_of(target)}", "m.ptx"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    log = done.stdout + done.stderr
    errors = re.findall(r"m\.ptx, line (\d+); (?:error|fatal)\s*: (.*)", log)
    return done.returncode, [(int(line), text) for line, text in errors], log
