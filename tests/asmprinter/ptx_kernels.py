"""A kernel in PTX, as it is read."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import PtxReading, read_ptx
from intrinsics.findings import Severity
from intrinsics.mir import (
    MachineInstr,
)
from isel.verifier.record import verify_records
from tests.oracle import ptxas

HEADER = ".version 8.6\n.target sm_100a\n.address_size 64\n"
REGISTERS = (
    ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"
)


def kernel(body: str, *, before: str = "", header: str = HEADER) -> str:
    return f"{header}{before}.visible .entry k(.param .u64 p)\n{{\n{REGISTERS}{body}\nret;\n}}\n"


def read(text: str) -> PtxReading:
    """A reading of PTX that ptxas takes, of which nothing is wrong."""
    assembles(text)
    reading = read_ptx(text, "k.ptx")
    assert [f for f in reading.findings if f.severity is Severity.ERROR] == []
    module = reading.module
    assert module.ptx is not None
    assert verify_records(module, module.target, module.ptx) == []
    return reading


def assembles(text: str) -> None:
    """ptxas takes the text; without ptxas nothing is asked."""
    try:
        path = ptxas.find_ptxas()
    except ptxas.PtxasMissingError:
        return
    found = re.search(r"\.target (\w+)", text)
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        command = [path, f"-arch={ptxas.arch_of(found[1])}", "--compile-only", "m.ptx"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, text + done.stdout + done.stderr


def back_and_forth(text: str) -> str:
    """The PTX that is printed for what was read; ptxas takes it, and it reads the same."""
    module = read(text).module
    assert module.ptx is not None
    printed = print_ptx(module, module.ptx).text
    again = read(printed).module
    for old, new in zip(module.functions, again.functions, strict=True):
        shown = [(mi.form, mi.packed_fields()) for mi in old.instructions()]
        assert [(mi.form, mi.packed_fields()) for mi in new.instructions()] == shown
    return printed


def body(statements: str, *, before: str = "") -> list[MachineInstr]:
    """The records of one kernel, without the last ret."""
    (function,) = read(kernel(statements, before=before)).module.functions
    return list(function.instructions())[:-1]
