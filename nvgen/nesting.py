"""Input that is nested too deep for the readers in Python, which give up earlier than LLVM does.

Layer: nvgen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from intrinsics.findings import InternalError, Place, input_error


@contextlib.contextmanager
def nesting_limit(file: str) -> Iterator[None]:
    """Give an input that is nested too deep for the readers as an error of the input.

    Raises: InputError.
    """
    try:
        yield
    except (RecursionError, InternalError) as error:
        reason: BaseException | None = error
        while reason is not None and not isinstance(reason, RecursionError):
            reason = reason.__cause__ or reason.__context__
        if reason is None:
            raise
        raise input_error(
            "input/too-deep",
            "types, expressions or brackets are nested too deep",
            place=Place(file),
            expected="less nesting",
        ) from None
