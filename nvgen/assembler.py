"""PTX to cubin, with NVIDIA's ptxas.

Layer: nvgen.  ptxas is looked for where `NVGEN_PTXAS` says, then in the PyPI package nvidia-cuda-
nvcc, then on the PATH; the newest of the last two wins by coming first.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from intrinsics.findings import AssemblerError, Finding, Place, Severity
from intrinsics.targets import Target


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cubin, and what ptxas said about it (registers, spills, warnings)."""

    cubin: bytes
    log: str


@functools.cache
def find_ptxas() -> Path | None:
    """The ptxas to use, or None."""
    named = os.environ.get("NVGEN_PTXAS")
    if named:
        return Path(named)
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for found in sorted(Path(root).glob("*/bin/ptxas"), reverse=True):
            return found
    on_path = shutil.which("ptxas")
    return Path(on_path) if on_path else None


def _failed(message: str, *, hint: str = "", got: str = "") -> AssemblerError:
    return AssemblerError([Finding("ptxas/failed", Severity.ERROR, message, got=got, hint=hint)])


def assemble(ptx: str, target: Target, *, file: str = "") -> Assembled:
    """Assemble PTX for `target`.

    Raises: AssemblerError when ptxas is missing, or with a finding for each of its errors.
    """
    ptxas = find_ptxas()
    if ptxas is None or not ptxas.exists():
        raise _failed(
            "ptxas was not found",
            got=str(ptxas or ""),
            hint="pip install 'nvgen[ptxas]', or set NVGEN_PTXAS",
        )
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        source, cubin = Path(folder, "in.ptx"), Path(folder, "out.cubin")
        source.write_text(ptx)
        command = [str(ptxas), "-v", f"-arch={target.renamed_to}", str(source), "-o", str(cubin)]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
        log = done.stdout + done.stderr
        if done.returncode or not cubin.exists():
            raise AssemblerError(
                _findings(log, file)
                or [Finding("ptxas/failed", Severity.ERROR, "ptxas failed", got=log.strip()[:400])]
            )
        return Assembled(cubin.read_bytes(), log)


def _findings(log: str, file: str) -> list[Finding]:
    pattern = r"ptxas \S+, line (\d+); (?:error|fatal)\s*: (.*)"
    return [
        Finding("ptxas/error", Severity.ERROR, message, Place(file, int(line)))
        for line, message in re.findall(pattern, log)
    ]
