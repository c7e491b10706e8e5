"""Errors that end at the user's line: the frames of nvgen inside a call of it are left out.

Layer: nvgen.calling.  A traceback says where the user called nvgen, and the findings what is wrong;
what lies between helps who looks for a bug of nvgen only.  `NVGEN_TRACEBACK=1` in the environment
leaves it.  Other errors than nvgen's own, a bug's among them, come with all of their frames.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from intrinsics.findings import NvgenError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

VARIABLE = "NVGEN_TRACEBACK"
"""The variable of the environment that leaves tracebacks whole."""


def ends_at_caller(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """The function, whose errors have no frames from inside of nvgen but the one that raises them.

    pytest and IPython hide that one too.
    """

    @functools.wraps(function)
    def called(*args: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        __tracebackhide__ = True
        try:
            return function(*args, **named)
        except NvgenError as error:
            raise without_ours(error) from error.__cause__  # NVGEN_TRACEBACK=1: from inside nvgen

    return called


def without_ours(error: NvgenError) -> NvgenError:
    """The error without frames of nvgen's so far, unless the environment asks for them.

    Frames of functions that a caller handed in, a pass or a grid, stay.
    """
    if os.environ.get(VARIABLE):
        return error
    from nvgen.calling.callers import is_file_of_ours

    theirs: list[TracebackType] = []
    here = error.__traceback__
    while here is not None:
        if not is_file_of_ours(here.tb_frame.f_code.co_filename):
            theirs.append(here)
        here = here.tb_next
    kept: TracebackType | None = None
    for one in reversed(theirs):
        kept = TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return error.with_traceback(kept)


def inner_cause(error: Exception) -> Exception | None:
    """Python's error behind one of nvgen's, where the environment asks for it."""
    return error if os.environ.get(VARIABLE) else None
