"""Long lists of alike cases take turns: each case on one day of a few, and all of them with --live.

    @pytest.mark.turns(3)        a third of a parametrised test's cases has its turn today; of
                                 tests without cases a third of those that a file marks so
    pytestmark = [pytest.mark.turns(3)]    the same of all parametrised tests of a file
    each(..., turns=3)           the same of a test of many cases
    pytest --day 739000          the turns of another day (the report's head says of which day)
    pytest --live                all cases, as `make test-all` has them
    pytest tests/test_x.py::test_y    all cases of a test that is named

    examples(200)            a property of 200 drawn examples with --live, of a sixth of them else

In as many days as a list has turns, every case runs.  On a GPU all cases run: it is not here often.
"""

from __future__ import annotations

import datetime
import zlib

import pytest
from hypothesis import HealthCheck, Phase, settings

_SETTLED: list[pytest.Config] = []
"""The run's configuration: decorators and cached lists have no other way to it."""


def add_options(parser: pytest.Parser) -> None:
    """`--live` and `--day`."""
    parser.addoption("--live", action="store_true", help="all cases, whosever turn it is")
    parser.addoption("--day", type=int, metavar="N", help="turns of this day; else of today")


def configure(config: pytest.Config) -> None:
    """Settle the day: pytest-xdist hands the option on, so that all workers have one day."""
    config.addinivalue_line("markers", "turns(n): each of its cases runs on one day of n")
    if config.option.day is None:
        config.option.day = datetime.datetime.now(datetime.UTC).toordinal()
    _SETTLED[:] = [config]


def is_todays(name: str, of: int) -> bool:
    """`has_turn`, where the configuration is not at hand."""
    return has_turn(_SETTLED[0], name, of)


def examples(count: int) -> settings:
    """The settings of a property: repeatable, and without a clock; all its examples with --live."""
    live = not _SETTLED or _SETTLED[0].option.live
    return settings(
        max_examples=count if live else (count + 5) // 6,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )


def has_turn(config: pytest.Config, name: str, of: int) -> bool:
    """Whether the case called `name`, of a list that takes `of` turns, is to run."""
    return _all_run(config) or (zlib.crc32(name.encode()) + config.option.day) % of == 0


def _all_run(config: pytest.Config) -> bool:
    return config.option.live or config.option.nvgen_device == "cuda"


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests whose turn it is not: of each list every so-manieth stays, and one at
    least.  A list is a function's cases, or those tests of a file that have none and are marked."""
    named = any("::" in argument for argument in config.args)
    if named or _all_run(config):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker("turns"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
        elif any(mark.name == "turns" for mark in item.own_markers):
            cases.setdefault(item.nodeid.partition("::")[0], []).append(item)
    left = {
        id(item)
        for several in cases.values()
        for place, item in enumerate(several)
        if (place + config.option.day) % _turns_of(item, len(several))
    }
    keep(config, items, [item for item in items if id(item) not in left])


def _turns_of(item: pytest.Item, cases: int) -> int:
    mark = item.get_closest_marker("turns")
    assert mark is not None
    return min(mark.args[0], cases)


def keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    """Deselect all tests but some."""
    stay = {id(item) for item in kept}
    if left := [item for item in items if id(item) not in stay]:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
