"""Files: read whole as text, written whole or not at all.

Layer: nvgen.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from intrinsics.findings import InputError, Place, input_error

STANDARD = "-"
"""The name that stands for standard input or output."""


_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""What bitcode begins with, bare and in a wrapper.  LLVM Bitcode File Format."""


def printable(text: str) -> str:
    """Text for a comment or a message: on one line, and without characters that do not print.

    A terminal would obey control characters, and a file's name may hold what has no code.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def read_text(path: str) -> str:
    """The text of a file.

    Raises: InputError when it cannot be read, is empty or is not UTF-8 text.
    """
    return decode(read_data(path), path)


def read_data(path: str) -> bytes:
    """The bytes of a file, or of standard input.

    Raises: InputError when it cannot be read.
    """
    if not _is_name(path):
        raise _unreadable(path, "no name")
    try:
        return _standard_input() if path == STANDARD else _all_of(Path(path))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None


def is_bitcode(data: bytes) -> bool:
    """Whether a file holds bitcode."""
    return data.startswith(_BITCODE)


_MOST = 1 << 30
_MOST_OF_A_DEVICE = _MOST >> 6
"""Bytes that are read: a device may have no end, and memory for as many is taken before."""


def _all_of(path: Path) -> bytes:
    with path.open("rb") as file:
        if path.is_file():
            if os.fstat(file.fileno()).st_size > _MOST:
                raise OSError(f"more than {_MOST} bytes")
            return file.read()
        data = file.read(_MOST_OF_A_DEVICE)
        if file.read(1):
            raise OSError(f"more than {len(data)} bytes")
    return data


def _is_name(path: str) -> bool:
    """Whether a file can be called so: no system takes a NUL, or what has no bytes."""
    try:
        return bool(os.fsencode(path)) and "\0" not in path
    except UnicodeEncodeError:
        return False


def _standard_input() -> bytes:
    """All of standard input; a replaced stream may hold text only."""
    if sys.stdin is None:
        raise OSError("it is closed")
    stream = getattr(sys.stdin, "buffer", None)
    data: bytes = sys.stdin.read().encode() if stream is None else stream.read()
    return data


def _unreadable(path: str, why: str) -> InputError:
    return input_error(
        "input/unreadable",
        f"cannot read {printable(path) or repr(path)}",
        place=Place(path),
        got=why,
        expected="a file that can be read",
    )


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
            hint="this is LLVM bitcode, whose files are called .bc" if data[:2] == b"BC" else "",
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
            _to_standard_output(data)
        elif os.path.exists(path) and not os.path.isfile(path):
            _write_device(path, data)
        else:
            _replace(os.path.realpath(path), data)
    except BrokenPipeError:
        raise
    except io.UnsupportedOperation:
        raise _unwritable(path, OSError(errno.EBADF, "it is closed")) from None
    except OSError as error:
        raise _unwritable(path, error) from None


def _to_standard_output(data: bytes) -> None:
    """Bytes as they are; as text to a replaced stream that holds text only."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(data.decode("utf-8", "backslashreplace"))
        return
    sys.stdout.flush()
    stream.write(data)
    stream.flush()


def check_writable(path: str, inputs: Iterable[str] = ()) -> None:
    """Fail before any work is done, where that can be seen.

    Raises: InputError when `path` cannot be written, or is one of the `inputs`.
    """
    if path == STANDARD:
        return
    for file in inputs:
        if file != STANDARD and _is_same(file, path):
            raise input_error(
                "output/is-input",
                "the output would replace an input of another language",
                place=Place(path),
                got=f"{printable(file)} as both",
                expected="an output of another name",
            )
    if not _is_name(path):
        raise _unwritable(path, FileNotFoundError(errno.ENOENT, "no name"))
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise _unwritable(path, IsADirectoryError(errno.EISDIR, "Is a directory"))
    if not os.path.isdir(folder):
        raise _unwritable(path, FileNotFoundError(errno.ENOENT, "No such directory"))
    existing = os.path.exists(path)
    if not os.access(path if existing else folder, os.W_OK):
        raise _unwritable(path, PermissionError(errno.EACCES, "Permission denied"))


def _is_same(one: str, other: str) -> bool:
    """Whether two names lead to one file; not where there is none, or it cannot be called so."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _unwritable(path: str, error: OSError) -> InputError:
    return input_error(
        "output/unwritable",
        f"cannot write {printable(path) or repr(path)}",
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
            raise PermissionError(errno.EACCES, "Permission denied")
        mode = os.stat(path).st_mode & 0o777
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    import tempfile  # and much that it needs: most commands write no file

    handle, temporary = tempfile.mkstemp(prefix=".nvgen-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
