"""What notebooks show of a kernel: its stages as HTML, folded.

Layer: nvgen.  Input: what compiling gave.  Output: one block for each stage, and the findings.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvgen.compiled import Compiled

_MOST_LINES = 500


def stages_as_html(compiled: Compiled) -> str:
    """LLVM IR, the MIR after each pass, the final MIR, PTX: each can be opened."""
    stages = {"LLVM IR": compiled.llvm}
    stages |= {f"MIR after {name}": text for name, text in compiled.stages.items()}
    stages |= {"MIR": compiled.mir, "PTX": compiled.ptx}
    found = "".join(f"<li>{escape(str(finding))}</li>" for finding in compiled.findings)
    findings = f"<ul>{found}</ul>" if found else "<p>no findings</p>"
    return f"<p>{escape(repr(compiled))}</p>{findings}" + "".join(
        f"<details><summary>{escape(name)}: {text.count(chr(10))} lines</summary>"
        f"<pre>{escape(_begin(text))}</pre></details>"
        for name, text in stages.items()
    )


def _begin(text: str) -> str:
    """A text that a notebook can carry: its first lines where it is long."""
    lines = text.splitlines()
    more = [f"… and {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else []
    return "\n".join([*lines[:_MOST_LINES], *more])
