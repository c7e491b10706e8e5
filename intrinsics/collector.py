"""Python's cyclic garbage collector, kept from running while records are made.

Layer: intrinsics (standard library).  Records refer to what is older than they are, so they have no
cycles, and what is dropped of them is freed at once.  The collector would visit all of them again
and again as they grow in number: a third of the time of a large module.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def collect_young() -> None:
    """Free cycles among what was made since the last collection, where none is made by itself."""
    if not gc.isenabled():
        gc.collect(1)


class paused_collector:  # noqa: N801 - used as the functions of contextlib are
    """No collection of cycles inside, `with` it or as a decorator; afterwards as it was before."""

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_enabled:
            gc.enable()

    def __call__(self, function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        """The function, during which nothing is collected."""

        @functools.wraps(function)
        def paused(*args: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
            if not gc.isenabled():  # inside of another one
                return function(*args, **named)
            gc.disable()
            try:
                return function(*args, **named)
            finally:
                gc.enable()

        return paused
