"""What ptxas says of a whole module as it generates code: errors, remarks, registers, memory."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tests.oracle.ptxas import find_ptxas


def report(text: str, target: str, *options: str) -> str:
    """All that ptxas -v says of the module `text`, whether it assembles or not."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        Path(folder, "m.ptx").write_text(text)
        done = subprocess.run(
            [find_ptxas(), "-v", f"-arch={target}", *options, "m.ptx", "-o", "m.cubin"],
            cwd=folder, capture_output=True, text=True, errors="replace", timeout=60,
        )  # fmt: skip
    return done.stdout + done.stderr
