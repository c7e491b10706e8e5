"""LLVM, through llvmlite: parse, verify, print.

Layer: nvgen.  LLVM's messages become findings; nothing here can end the process, because nothing
here generates code.
"""

from __future__ import annotations

import re

from llvmlite import binding

from intrinsics.findings import Finding, InputError, Place, Severity, input_error
from intrinsics.targets import Target


def parse(text: str, *, file: str = "") -> binding.ModuleRef:
    """Parse and verify a module of LLVM IR.

    Raises: InputError with LLVM's message and its line, when LLVM rejects it.
    """
    if not text.strip():
        raise _rejected("the file is empty", file, hint="a module of LLVM IR is expected")
    try:
        # A context of its own: in the shared one LLVM renames struct types that came before.
        module = binding.parse_assembly(text, context=binding.create_context())
        module.verify()
    except RuntimeError as error:
        raise _of_llvm(str(error), file) from None
    return module


def _rejected(message: str, file: str, *, hint: str = "") -> InputError:
    return InputError([Finding("llvm/syntax", Severity.ERROR, message, Place(file), hint=hint)])


def _of_llvm(message: str, file: str) -> InputError:
    """LLVM's own message; a parse error begins with `<string>:LINE:COLUMN: error:`."""
    lines = [line for line in message.splitlines() if line.strip()]
    for at, line in enumerate(lines):
        match = re.match(r"<string>:(\d+):(\d+): error: (.*)", line)
        if match:
            place = Place(file, int(match[1]), int(match[2]))
            shown = lines[at + 1].strip() if at + 1 < len(lines) else ""
            return InputError([Finding("llvm/syntax", Severity.ERROR, match[3], place, got=shown)])
    text = next((line for line in lines if "LLVM" not in line), "rejected by LLVM's verifier")
    rest = " ".join(line.strip() for line in lines if line != text and "LLVM" not in line)
    return InputError([Finding("llvm/verifier", Severity.ERROR, text, Place(file), got=rest[:400])])


def optimize(module: binding.ModuleRef, level: int, target: Target) -> binding.ModuleRef:
    """Run LLVM's optimisation pipeline.

    Raises: InputError above -O0: LLVM's passes are not safe on tensor-core intrinsics unless they
    are shielded, and the shield is not part of this version.
    """
    if level == 0:
        return module
    raise input_error(
        "compile/opt",
        "LLVM's optimiser is not run in this version",
        got=f"-O{level}",
        expected="-O0",
        hint="LLVM's dead store elimination deletes accumulating tcgen05.mma calls",
    )
