"""Processes that compile for `nvgen tune`.

Layer: nvgen.tuning.  They are started without the working directory on their path, and end when
the process that started them does, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from typing import ParamSpec, TypeVar

from nvgen import python_child

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Workers(ProcessPoolExecutor):
    """Up to `count` processes, each started when it is needed.

    They are not forked: a process that has used a GPU cannot be.
    """

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        with python_child.shut():  # multiprocessing starts a process of its own here
            super().__init__(count, mp_context=context, initializer=end_with_parent)

    def submit(self, call: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_R]:
        """Give a call to a process; this is where the others are started."""
        with python_child.shut():
            return super().submit(call, *args, **kwargs)


def end_with_parent() -> None:
    """End this process as soon as the one that started it is no more.

    It may have been killed, and then tells nobody; what it held of a pipe is closed even so.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_outlive, args=(parent.join,), daemon=True).start()


def _outlive(wait: Callable[[], None]) -> None:
    wait()
    os._exit(1)
