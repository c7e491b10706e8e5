"""Which lines of Python call nvgen.

Layer: nvgen.calling.  Input: Python's stack.  Output: lines of the user's, the innermost first:
where a helper function calls a verb of the builder, its line comes first and then that of who
called it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import llvmlite

import asmprinter
import intrinsics
import isel
from intrinsics.findings import NOWHERE, Place

_ROOM = Path(__file__).parent
_PACKAGES = tuple(
    str(folder) + os.sep
    for file in (_ROOM, *(p.__file__ for p in (asmprinter, intrinsics, isel, llvmlite)))
    if file is not None
    for folder in (Path(file).parent, Path(file).resolve().parent)  # an environment may be a link
)
_CONTEXTS = os.sep + "contextlib.py"
"""What stands between a `with` of the user's and what nvgen does at its end."""

Stack = tuple[CodeType, ...]
"""The functions that are being called, the outermost first."""


class Call(NamedTuple):
    """A line of the user's that is being executed, and the function that it is in."""

    file: str
    line: int
    function: str


def _frames() -> Iterator[FrameType]:
    """The frames of the stack, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_ours(frame: FrameType) -> bool:
    return is_file_of_ours(frame.f_code.co_filename)


@functools.cache
def is_file_of_ours(file: str) -> bool:
    """Whether a file's functions are nvgen's, or stand between it and the user."""
    return file.startswith(_PACKAGES) or file.endswith(_CONTEXTS)


def stack() -> Stack:
    """The functions that are being called now."""
    return tuple(frame.f_code for frame in _frames())[::-1]


def calls(begun: Stack) -> tuple[Call, ...]:
    """The user's lines that are being executed, the innermost first.

    They end with the function that builds the kernel: the innermost one that was being called, too,
    when its body was `begun`.
    """
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:  # every instruction asks: what `_frames` gives, in a third of the time
        frames.append(frame)
        frame = frame.f_back
    own = len(frames)
    for frame, code in zip(reversed(frames), begun, strict=False):
        if frame.f_code is not code:
            break
        own -= 1
    found: list[Call] = []
    for frame in frames[: own + 1]:
        code = frame.f_code
        if not is_file_of_ours(code.co_filename):
            call = Call(code.co_filename, frame.f_lineno, code.co_name)
            if not found or call != found[-1]:
                found.append(call)
    return tuple(found) or calls_of_anybody()


def calls_of_anybody() -> tuple[Call, ...]:
    """The innermost line that is the user's."""
    for frame in _frames():
        if not _is_ours(frame):
            return (Call(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name),)
    return ()


def place_of_caller() -> Place:
    """The innermost line that is the user's, as the place of a finding."""
    call = next(iter(calls_of_anybody()), None)
    return Place(call.file, call.line) if call else NOWHERE


def stack_level() -> int:
    """The `stacklevel` with which `warnings.warn` names the user's innermost line."""
    frames = list(_frames())[1:]
    return next((at for at, frame in enumerate(frames, 1) if not _is_ours(frame)), len(frames))
