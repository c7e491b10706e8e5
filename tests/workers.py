"""Workers of pytest-xdist share what the first collection costs.

Python compiles a test file when it is first imported, and pytest spells out its assertions: that
takes as long as all imports afterwards.  Workers that went through the files in one order would do
the same at the same time.  So each begins at another file, and finds compiled what the others have
imported; the tests are put in one order afterwards, as all workers must have the same.
"""

from __future__ import annotations

import pytest


def rotate(config: pytest.Config, report: pytest.CollectReport) -> None:
    """Let the files of a folder begin where this worker's part of them does."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    first = len(report.result) * number // worker["workercount"]
    report.result = [*report.result[first:], *report.result[:first]]


def put_in_order(items: list[pytest.Item], first: tuple[str, ...]) -> None:
    """Order tests by their files, those whose path ends in one of `first` before the others."""
    paths = {item.path: item.path.as_posix() for item in items}
    items.sort(key=lambda item: (not paths[item.path].endswith(first), paths[item.path]))
