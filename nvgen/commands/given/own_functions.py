"""The functions that `--pass` and `--rule` name: `MODULE:FUNCTION`, or `FILE.py:FUNCTION`.

Layer: nvgen.commands.  A module is imported from where Python is installed and from what PYTHONPATH
says in full, never from the working directory or the folder of the input.  What a function raises
becomes an error at its line.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from intrinsics.findings import Finding, NvgenError, Place, input_error
from intrinsics.mir import Module
from nvgen.compilation.extension import Extension, Rule, check_takes_module

if TYPE_CHECKING:
    from isel.pipeline import Pass


def extension_from(arguments: argparse.Namespace) -> Extension:
    """The extension that a command's options ask for.

    Raises: InputError for a function that is not there.
    """
    return Extension(
        tuple(_pass(name) for name in getattr(arguments, "own_pass", ())),
        tuple(_rule(name) for name in arguments.rule),
        bool(getattr(arguments, "contract", False)),
        bool(getattr(arguments, "lineinfo", False)),
        bool(getattr(arguments, "cuda_atomics", False)),
    )


def _pass(name: str) -> Pass:
    function = _found("pass", name)

    @functools.wraps(function)
    def run(module: Module) -> None:
        with _as_errors_of("pass", name):
            function(module)

    return run


def _rule(name: str) -> Rule:
    function = _found("rule", name)

    @functools.wraps(function)
    def judge(module: Module) -> list[Finding]:
        with _as_errors_of("rule", name):
            return list(function(module) or ())

    return judge


@contextmanager
def _as_errors_of(option: str, name: str) -> Iterator[None]:
    """What a function raises is an error of the command's input.

    Raises: InputError.
    """
    try:
        yield
    except NvgenError:
        raise
    except (Exception, SystemExit) as error:
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise input_error(
            f"{option}/raised",
            f"--{option} {name} raises an exception",
            place=Place(frame.filename, frame.lineno or 0),
            got=f"{type(error).__name__}: {error}"[:400],
            expected="a function of a module of machine records",
        ) from None


def _found(option: str, name: str) -> Callable[[Module], Iterable[Finding] | None]:
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute.isidentifier():
        raise input_error(
            f"{option}/name", f"--{option} names no function", got=name,
            expected="MODULE:FUNCTION or FILE.py:FUNCTION",
        )  # fmt: skip
    try:
        if where.endswith(".py"):
            from nvgen.commands.given.python_file import python_module

            module = python_module(where, f"{option}/file")
        else:
            with _without_working_directory():
                module = importlib.import_module(where)
    except NvgenError:
        raise
    except Exception as error:
        raise input_error(
            f"{option}/module", f"--{option}: {where} cannot be imported",
            got=f"{type(error).__name__}: {error}"[:400],
            expected="a module that is installed or on PYTHONPATH, or a FILE.py",
        ) from None  # fmt: skip
    function = getattr(module, attribute, None)
    if not callable(function):
        raise input_error(
            f"{option}/function", f"--{option}: {where} has no function {attribute}", got=name,
            expected=f"def {attribute}(module): …",
        )  # fmt: skip
    check_takes_module(f"{option}/arguments", f"--{option} {name}", function)
    return function  # type: ignore[no-any-return]


@contextmanager
def _without_working_directory() -> Iterator[None]:
    """Import only from places that are named in full, and from here only if PYTHONPATH says so."""
    said = {os.path.realpath(p) for p in _absolute(os.environ.get("PYTHONPATH", ""))}
    here, before = os.path.realpath(os.getcwd()), sys.path[:]
    sys.path[:] = [
        p for p in before
        if os.path.isabs(p) and (os.path.realpath(p) != here or here in said)
    ]  # fmt: skip
    try:
        yield
    finally:
        sys.path[:] = before


def _absolute(paths: str) -> list[str]:
    return [p for p in paths.split(os.pathsep) if os.path.isabs(p)]
