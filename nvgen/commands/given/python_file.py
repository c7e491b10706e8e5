"""A Python file that the user names: run as a module of its own.

Layer: nvgen.commands.  Input: the file's path.  Output: the module.  Its folder is not searched for
other modules.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from intrinsics.findings import NvgenError, Place, input_error

if TYPE_CHECKING:
    from nvgen.built import Kernel


class _Loader(importlib.machinery.SourceFileLoader):
    """Keeps no bytecode: the user's folder gets nothing that was not asked for."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Write nothing."""


def python_module(file: str, rule: str) -> ModuleType:
    """The module that a file makes; errors that this finds have the rule id `rule`.

    Raises: InputError for what is no Python file; whatever the file raises.
    """
    if not os.path.isfile(file) or not file.endswith(".py"):
        there = "another ending" if os.path.isfile(file) else "no such file"
        raise input_error(rule, f"cannot read {file}", got=there, expected="a Python file, FILE.py")
    name, path = f"given_{Path(file).stem}", os.path.abspath(file)
    spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise input_error(
            rule,
            f"{file} is not Python",
            place=Place(error.filename or file, error.lineno or 0),
            got=error.msg,
            expected="a file that Python can run",
        ) from None
    return module


_GUARD = 'what a script does when it is run stands behind `if __name__ == "__main__":`'


def _said_target(module: ModuleType) -> str:
    """The target that a file's TARGET says, or the first of its TARGETS."""
    said = getattr(module, "TARGET", None) or getattr(module, "TARGETS", None)
    first = said[0] if isinstance(said, (list, tuple)) and said else said
    return first if isinstance(first, str) else ""


def built_kernel(file: str) -> tuple[Kernel, str]:
    """The kernel that the function `build` of a Python file gives, and the target that the file
    has for it.

    If the kernel was built for none it is for the file's TARGET, or the first of its TARGETS.

    Raises: InputError where there is none, and for what the file raises.
    """
    from nvgen.built import Kernel

    try:
        module = python_module(file, "python/file")
        build = getattr(module, "build", None)
        made = build() if callable(build) else None
    except NvgenError:
        raise
    except (Exception, SystemExit) as error:
        here = os.path.abspath(file)
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == here]
        raise input_error(
            "python/raised",
            f"{file} raises an exception",
            place=Place(file, (frames[-1].lineno or 0) if frames else 0),
            got=f"{type(error).__name__}: {error}"[:400],
            expected="a function build() that gives a kernel",
            hint=_GUARD if isinstance(error, SystemExit) else "",
        ) from None
    if isinstance(made, Kernel):
        said = "" if made.target else _said_target(module)
        return (replace(made, target=said) if said else made), said
    raise input_error(
        "python/build",
        f"{file} builds no kernel",
        place=Place(file),
        got="no function build" if not callable(build) else f"build() gives {type(made).__name__}",
        expected="a function build() that gives what KernelBuilder.finish does",
    )
