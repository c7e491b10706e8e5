"""`nvgen compile --print-after PASS`: writes MIR after one pass, or after each.

Layer: nvgen.commands.  A directory gets one file for each stage; nothing else is written.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from intrinsics.findings import input_error
from isel.passes.bound_waits import BOUND_WAITS
from isel.pipeline import PASSES
from nvgen.files import STANDARD, check_writable, write_whole
from nvgen.loading import Program

ALL = "all"
"""Every pass."""


def check_output(arguments: argparse.Namespace, emit: str, known: bool) -> None:
    """Fail before any work is done, where that can be seen; `known` says that `emit` was asked for.

    Raises: InputError.
    """
    if known and emit != "mir":
        raise input_error(
            "compile/print-after",
            "--print-after writes MIR",
            got=f"--print-after and {emit} for {arguments.output}",
            expected="--emit mir, or -o with a name in .mir, - or a directory",
            hint="compile twice to have both",
        )
    if is_directory(arguments.output):
        return
    if arguments.print_after == ALL:
        raise input_error(
            "compile/print-after",
            "all stages need a directory, for one file each",
            got=f"-o {arguments.output}",
            expected="-o with a directory that is there",
        )
    own = arguments.output.endswith(".mir")
    check_writable(arguments.output, () if own else arguments.files)


def is_directory(output: str) -> bool:
    """Whether stages are written into a directory."""
    return output != STANDARD and "\0" not in output and os.path.isdir(output)


def write_stages(program: Program, name: str, output: str) -> None:
    """Write the stage that was asked for, or all.

    Raises: InputError for a stage that is none, and where it cannot be written.
    """
    names = list(program.stages)
    wanted = names if name == ALL and names else [name]
    for one in wanted:
        text = _stage(program, one).encode()
        path = output
        if is_directory(output):
            path = str(Path(output) / f"{names.index(one) + 1:02}-{one}.mir")
        write_whole(path, text)


def _stage(program: Program, name: str) -> str:
    if name in program.stages:
        return program.stages[name]
    passes = (*PASSES, BOUND_WAITS) if program.bounded else PASSES
    lacks = name in (*passes, ALL)
    raise input_error(
        "compile/print-after",
        f"{program.language} goes through no such pass" if lacks else f"no pass '{name}'",
        got=name,
        expected=", ".join(program.stages or (*passes, ALL)),
    )
