"""Which faults are found on every day: the tests that found them take no turns (`tests.turns`)."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterable, Mapping

import pytest

from tests import turns
from tests.mutation.results import Result


class _Collected:
    """A plugin that keeps which tests run on every day."""

    daily: frozenset[str] = frozenset()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config) -> None:
        self.daily = config.stash[turns.DAILY]


def of_files(files: Iterable[str]) -> frozenset[str]:
    """Those tests of files that run on every day; they are collected, and none runs.

    Raises: ValueError when a file cannot be collected.
    """
    collected, output = _Collected(), io.StringIO()
    options = ["--collect-only", "-qq", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(output):
        status = pytest.main([*options, *sorted(files)], plugins=[collected])
    if status != pytest.ExitCode.OK:
        raise ValueError(output.getvalue())
    return collected.daily


def not_every_day(found: Mapping[str, Result], daily: Collection[str]) -> list[str]:
    """The faults none of whose finders is among the tests that run on every day."""
    return [name for name, result in found.items() if not set(result.found_by) & set(daily)]
