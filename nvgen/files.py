"""Files: read whole as text, written whole or not at all.

Layer: nvgen.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from intrinsics.findings import InputError, Place, input_error

STANDARD = "-"
"""The name that stands for standard input or output."""


def read_text(path: str) -> str:
    """The text of a file.

    Raises: InputError when it cannot be read, is empty or is not UTF-8 text.
    """
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
    except OSError as error:
        raise input_error(
            "input/unreadable",
            f"cannot read {path}",
            place=Place(path),
            got=error.strerror or str(error),
            expected="a file that can be read",
        ) from None
    return decode(data, path)


def decode(data: bytes, path: str) -> str:
    """The text in `data`.

    Raises: InputError when it is empty or is not UTF-8 text.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise input_error(
            "input/not-utf8",
            "the file is not UTF-8 text",
            place=Place(path, line, column),
            got=f"byte {data[error.start]:#04x}",
            expected="LLVM IR, MIR or PTX as text",
            hint="LLVM bitcode becomes text with llvm-dis" if data[:2] == b"BC" else "",
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise input_error(
            "input/nul", "the file has a NUL character", place=Place(path, line), expected="text"
        )
    if not text.strip():
        raise input_error(
            "input/empty", "the file is empty", place=Place(path), expected="LLVM IR, MIR or PTX"
        )
    return text


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that it holds either all of `data` or what it held before.

    Raises: InputError when it cannot be written.
    """
    try:
        if path == STANDARD:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif os.path.exists(path) and not os.path.isfile(path):
            _write_device(path, data)
        else:
            _replace(os.path.realpath(path), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from None


def check_writable(path: str) -> None:
    """Fail before any work is done, where that can be seen.

    Raises: InputError when `path` cannot be written.
    """
    if path == STANDARD:
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise _unwritable(path, IsADirectoryError(21, "Is a directory"))
    if not os.path.isdir(folder):
        raise _unwritable(path, FileNotFoundError(2, "No such directory"))
    existing = os.path.exists(path)
    if not os.access(path if existing else folder, os.W_OK):
        raise _unwritable(path, PermissionError(13, "Permission denied"))


def _unwritable(path: str, error: OSError) -> InputError:
    return input_error(
        "output/unwritable",
        f"cannot write {path}",
        place=Place(path),
        got=error.strerror or str(error),
        expected="a file in a folder that can be written",
    )


def _write_device(path: str, data: bytes) -> None:
    """A device or a pipe has no content to keep."""
    with open(path, "wb") as stream:
        stream.write(data)


def _replace(path: str, data: bytes) -> None:
    if os.path.exists(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied")
        mode = os.stat(path).st_mode & 0o777
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    handle, temporary = tempfile.mkstemp(prefix=".nvgen-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
