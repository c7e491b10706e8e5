"""Tests of the simulator run kernels that are wrong on purpose, and say what is found of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let compilations here be silent about what rules find: that is the business of tests/isel."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::nvgen.FindingWarning"))
