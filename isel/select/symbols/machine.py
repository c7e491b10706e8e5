"""Whether a module was made for this machine: its triple and its data layout.

Layer: isel.select.  Asked before LLVM's passes, which take both for granted, and by selection.
"""

from __future__ import annotations

import re

from intrinsics.findings import Finding, Place, SelectionError, Severity
from isel.llvm import ir
from isel.llvm.data_layout import NVPTX, ForeignLayoutError, read_layout

TRIPLE = "nvptx64-nvidia-cuda"
_UNKNOWN = re.compile("unknown(-unknown)*")
"""What llvmlite calls a module whose machine nobody named."""


def check_machine(module: ir.Module, file: str, text: str) -> None:
    """Whether nvgen compiles modules for what `module` was made for; `text` is the user's.

    Raises: SelectionError.
    """
    if not is_for_nvptx(module.triple):
        raise SelectionError(
            [
                Finding(
                    "select/triple",
                    Severity.ERROR,
                    "the module was made for another machine",
                    _place("triple", file, text),
                    got=module.triple,
                    expected=f"{TRIPLE}, or no target triple",
                )
            ]
        )
    try:
        read_layout(module.data_layout)
    except ForeignLayoutError as wrong:
        raise SelectionError(
            [
                Finding(
                    "select/datalayout",
                    Severity.ERROR,
                    f"the module's data layout is not this machine's: {wrong.message}",
                    _place("datalayout", file, text),
                    got=wrong.got,
                    expected=wrong.expected,
                    hint=f'target datalayout = "{NVPTX}", or none',
                )
            ]
        ) from None


def is_for_nvptx(triple: str) -> bool:
    """Whether a triple is the machine's, or says nothing."""
    return not triple or triple.startswith("nvptx64") or _UNKNOWN.fullmatch(triple) is not None


def _place(word: str, file: str, text: str) -> Place:
    """The line that says it."""
    match = re.search(rf"^[ \t]*(target[ \t]+{word}\b)", text, re.MULTILINE)
    if match is None:
        return Place(file)
    start = match.start(1)
    return Place(file, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))
