"""Branches through tables: nvgen takes what ptxas takes, and prints what ptxas takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import errors
from isel.verifier.record import verify_records
from tests.oracle import ptxas

HEAD = ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n"
REGISTERS = (
    ".reg .b32 %r<3>;\n.reg .u32 %u<2>;\n.reg .s32 %s<2>;\n.reg .f32 %f<2>;\n.reg .b16 %h<2>;\n"
    ".reg .b64 %rd<2>;\n.reg .pred %p<2>;\nmov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 3;\n"
)
BODIES = (
    *(f"T: .branchtargets A, B; {b}" for b in (
        "brx.idx %r1, T;", "brx.idx.uni %r1, T;", "@%p1 brx.idx %r1, T;",
        "@!%p1 brx.idx.uni %r1, T;",
        "brx.idx 1, T;", "brx.idx -1, T;", "brx.idx 9, T;", "brx.idx %u1, T;", "brx.idx %s1, T;",
        "brx.idx %f1, T;", "brx.idx %h1, T;", "brx.idx %rd1, T;", "brx.idx %p1, T;",
        "brx.idx %tid.x, T;", "brx.idx T, T;", "brx.idx %r1, A;", "brx.idx %r1, U;",
        "brx.idx %r1;", "brx.idx %r1, T, T;", "brx.idx %r1, {A, B};", "brx.idx.u32 %r1, T;",
        "brx %r1, T;", "brx.uni.idx %r1, T;", "bra T;", "brx.idx.uni.uni %r1, T;", "",
        "{ brx.idx %r1, T; }", "T: .branchtargets A; brx.idx %r1, T;",
        "U: .branchtargets A, B; @%p1 brx.idx %r1, U; brx.idx %r1, T;",
    )),
    "T: .branchtargets A, A, A; brx.idx %r1, T;",
    "T: .branchtargets N<2>; N0: brx.idx %r1, T; N1:",
    "T: .branchtargets N<2>, A; N0: brx.idx %r1, T;",
    "T: .branchtargets A, C; brx.idx %r1, T;",
    "T: .branchtargets ; brx.idx %r1, T;",
    "T: .branchtargets A B; brx.idx %r1, T;",
    "A: .branchtargets A, B; brx.idx %r1, A;",
    ".branchtargets A, B;",
    "brx.idx %r1, T; T: .branchtargets A, B;",
    "{ T: .branchtargets A, B; } brx.idx %r1, T;",
    "T: .branchtargets C, A; brx.idx %r1, T; { C: ret; }",
    "{ T: .branchtargets C, A; brx.idx %r1, T; C: ret; }",
)  # fmt: skip


def _module(body: str, target: str) -> str:
    return f"{HEAD.format(target=target)}{REGISTERS}{body}\nA:\nret;\nB:\nret;\n}}\n"


def _takes(text: str, target: str, folder: Path) -> bool:
    path = folder / "k.ptx"
    path.write_text(text)
    command = [ptxas.find_ptxas(), f"-arch={target}", str(path), "-o", str(folder / "k.cubin")]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.turns(4)
@pytest.mark.parametrize("body", BODIES)
def test_nvgen_takes_what_ptxas_takes(body: str, tmp_path: Path) -> None:
    """Statements that it keeps because it does not know them are not among these."""
    text = _module(body, "sm_90")
    reading = read_ptx(text)
    module = reading.module
    found = [*reading.findings, *verify_records(module, module.target, module.ptx)]
    assert not [f for f in found if f.incomplete]
    assert (not errors(found)) == _takes(text, "sm_90", tmp_path)


TARGETS = (
    *("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a"),
    *("sm_103", "sm_110", "sm_120", "sm_120a", "sm_121"),
)


@pytest.mark.parametrize("target", TARGETS)
def test_a_printed_table_is_taken_by_ptxas(target: str, tmp_path: Path) -> None:
    body = "T: .branchtargets A, B, A; U: .branchtargets B, A;\n@%p1 brx.idx %r1, T;\n"
    module = read_ptx(_module(f"{body}brx.idx.uni %r1, U;", target)).module
    assert module.ptx is not None
    printed = print_ptx(module, module.ptx).text
    assert printed.count(".branchtargets") == 2
    assert _takes(printed, target, tmp_path)
