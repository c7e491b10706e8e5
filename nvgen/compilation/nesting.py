"""Input that is nested too deep for the readers in Python, which give up earlier than LLVM does.

Layer: nvgen.
"""

from __future__ import annotations

import sys
from types import TracebackType

from intrinsics.findings import InternalError, Place, input_error


class nesting_limit:  # noqa: N801 - used as the functions of contextlib are
    """Gives an input that is nested too deep for the readers as an error of the input.

    Raises: InputError.
    """

    __slots__ = ("_file",)

    def __init__(self, file: str) -> None:
        self._file = file

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, (RecursionError, InternalError)):
            return
        reason: BaseException | None = error
        while reason is not None and not isinstance(reason, RecursionError):
            reason = reason.__cause__ or reason.__context__
        if reason is not None:
            raise input_error(
                "input/too-deep",
                "types, expressions or brackets are nested too deep",
                place=Place(self._file),
                got=f"{_depth()} calls around it, of Python's {sys.getrecursionlimit()}",
                expected="less nesting, or a call from less deep",
            ) from None


def _depth() -> int:
    """How many functions of Python have been called around this one."""
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
