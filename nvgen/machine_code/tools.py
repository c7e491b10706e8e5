"""NVIDIA's tools, ptxas and nvdisasm, each run to its end or to a limit of time.

Layer: nvgen.  The limit is half an hour, or the seconds that `NVGEN_TOOL_SECONDS` says: ptxas takes
minutes for large kernels, and a tool that hangs would be waited for without end.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from intrinsics.findings import AssemblerError, Finding, Severity, input_error

_SECONDS = 1800.0
_VARIABLE = "NVGEN_TOOL_SECONDS"


def run_tool(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a tool: its output and exit status.

    Raises: AssemblerError when it cannot be run, or does not end; InputError for no such limit.
    """
    limit, tool = _limit(), Path(command[0]).name
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=limit
        )
    except OSError as error:
        raise failed(tool, f"{tool} cannot be run", f"{command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise failed(
            tool,
            f"{tool} did not end within {limit:g} seconds, and was stopped",
            command[0],
            hint=f"{_VARIABLE}=SECONDS in the environment is another limit",
        ) from None


def failed(tool: str, message: str, got: str = "", *, hint: str = "") -> AssemblerError:
    """The error about a tool as a whole."""
    rule = "nvdisasm/failed" if tool == "nvdisasm" else "ptxas/failed"
    return AssemblerError([Finding(rule, Severity.ERROR, message, got=got, hint=hint)])


def _limit() -> float:
    said = os.environ.get(_VARIABLE, "")
    try:
        seconds = float(said or _SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1e6:  # what is no number is not
        raise input_error(
            "ptxas/seconds", f"{_VARIABLE} is no number of seconds", got=said, expected="1800"
        )
    return seconds
