"""Long lists of alike cases take turns: each case on one day of a few, and all of them with --live.

    @pytest.mark.turns(3)        a third of a parametrised test's cases has its turn today, and
                                 each takes every other of its turns; of tests without cases the
                                 same of those that a file marks so
    pytestmark = [pytest.mark.turns(3)]    the same of all parametrised tests of a file
    each(..., turns=3)           the same of a test of many cases
    pytestmark = [pytest.mark.seldom(3)]   of what takes turns in a file each third turn is taken:
                                 of costly lists, each of which would else have one case so often
    pytest --day 739000          the turns of another day (the report's head says of which day)
    pytest --live                all cases, as `make test-all` has them
    pytest --daily               only what runs on every day: nothing that takes turns
    pytest tests/test_x.py::test_y    all cases of a test that is named

    examples(200)            a property of 200 drawn examples with --live, of a tenth of them else

In twice as many days as a list has turns, every case runs; where `seldom(3)` is, in three times as
many.  A list within a test that takes turns itself counts the test's turns in place of days.
On a GPU all cases run: it is not here often.
"""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings

Case = TypeVar("Case")

DAILY = pytest.StashKey[frozenset[str]]()
"""Where the configuration keeps the ids of those collected tests that run on every day."""

EVERY_OTHER = 2
"""Of so many of its turns a case takes one where nothing else is said."""

TURNS = pytest.StashKey[Mapping[str, "Turn"]]()
"""Where it keeps the turns of the tests that take turns, by their ids."""

_SETTLED: list[pytest.Config] = []
"""The run's configuration: decorators and cached lists have no other way to it."""


def add_options(parser: pytest.Parser) -> None:
    """`--live`, `--day` and `--daily`."""
    parser.addoption("--live", action="store_true", help="all cases, whosever turn it is")
    parser.addoption("--day", type=int, metavar="N", help="turns of this day; else of today")
    parser.addoption("--daily", action="store_true", help="only the cases that run on every day")


def configure(config: pytest.Config) -> None:
    """Settle the day: pytest-xdist hands the option on, so that all workers have one day."""
    config.addinivalue_line("markers", "turns(n): each of its cases runs on one day of n")
    config.addinivalue_line("markers", "seldom(n): a case misses all but one of n turns, not of 2")
    if config.option.day is None:
        config.option.day = datetime.datetime.now(datetime.UTC).toordinal()
    _SETTLED[:] = [config]


def is_todays(name: str, of: int) -> bool:
    """`has_turn` of a list that several tests share, none of which takes turns itself."""
    return _all_run(_SETTLED[0]) or _turn_of(name, of).is_on(_SETTLED[0])


def examples(count: int) -> settings:
    """The settings of a property: repeatable, and without a clock; all its examples with --live."""
    live = not _SETTLED or _SETTLED[0].option.live
    return settings(
        max_examples=count if live else (count + 9) // 10,
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


def has_turn(request: pytest.FixtureRequest, name: str, of: int) -> bool:
    """Whether the case called `name`, of a test's list that takes `of` turns, is to run."""
    config = request.config
    return _all_run(config) or _turn_of(name, of).is_on(config, _rounds(request))


def todays(
    request: pytest.FixtureRequest, cases: Sequence[Case], days: int, name: str
) -> list[Case]:
    """Those of a test's list called `name` that run today, each once in `days`; one at least."""
    config = request.config
    if _all_run(config):
        return [*cases]
    days, start, now = min(days, len(cases)), zlib.crc32(name.encode()), _rounds(request)
    return [case for at, case in enumerate(cases) if Turn(at, days, 1, start).is_on(config, now)]


def _rounds(request: pytest.FixtureRequest) -> int:
    """How often the turn has come to a test: by days, a list within a test that runs on every
    sixth would never come to the cases of the other days.
    """
    turn = request.config.stash.get(TURNS, {}).get(request.node.nodeid, Turn())
    return request.config.option.day // turn.days


class Turn(NamedTuple):
    """On which days something runs: on one in `of` times `seldom`.

    Neighbours in a list have days that are as far from each other as can be, and each list begins
    on a day of its own (`start`), so that no day has much more to do than another one.
    """

    place: int = 0
    of: int = 1
    seldom: int = 1
    start: int = 0

    def is_on(self, config: pytest.Config, day: int | None = None) -> bool:
        """Whether it is on today, or on a `day`; with `--daily`, whether it is on every day."""
        if config.option.daily:
            return self.of == self.seldom == 1
        day = config.option.day if day is None else day
        around, at = divmod(self.place, self.of)
        return (around + at * self.seldom + self.start + day) % self.days == 0

    @property
    def days(self) -> int:
        """In how many days it runs once."""
        return self.of * self.seldom


def _turn_of(name: str, of: int) -> Turn:
    return Turn(zlib.crc32(name.encode()), of)


def _all_run(config: pytest.Config) -> bool:
    return config.option.live or config.option.nvgen_device == "cuda"


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests whose turn it is not (with `--daily` all that take turns).  A list is a
    function's cases, or those tests of a file that have none and are marked; what is alone in a
    list stays."""
    turns = {
        item.nodeid: _turn(item, place, several)
        for several in _lists(items)
        for place, item in enumerate(several)
    }
    config.stash[TURNS] = turns
    config.stash[DAILY] = frozenset(item.nodeid for item in items if _is_daily(item, turns))
    named = any("::" in argument for argument in config.args)
    if named or _all_run(config):
        return
    left = {name for name, turn in turns.items() if not turn.is_on(config)}
    keep(config, items, [item for item in items if item.nodeid not in left])


def _lists(items: list[pytest.Item]) -> Iterable[list[pytest.Item]]:
    """The tests that take turns with each other."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker("turns"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
        elif any(mark.name == "turns" for mark in item.own_markers):
            cases.setdefault(item.nodeid.partition("::")[0], []).append(item)
    return cases.values()


def _turn(item: pytest.Item, place: int, several: list[pytest.Item]) -> Turn:
    mark = item.get_closest_marker("turns")
    assert mark is not None
    of = min(mark.args[0], len(several))
    return Turn(place, of, seldom(item, of), zlib.crc32(several[0].nodeid.encode()))


def seldom(item: pytest.Item, turns: int = 2) -> int:
    """Of how many turns a test that takes turns has only one."""
    mark = item.get_closest_marker("seldom")
    return mark.args[0] if mark else min(turns, EVERY_OTHER)


def _is_daily(item: pytest.Item, turns: Mapping[str, Turn]) -> bool:
    """Whether a test has a turn each day, and its cases (`tests.each`) have, too."""
    return (
        turns.get(item.nodeid, Turn()).days == 1
        and getattr(getattr(item, "function", None), "turns", 1) == 1
    )


def keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    """Deselect all tests but some."""
    stay = {id(item) for item in kept}
    if left := [item for item in items if id(item) not in stay]:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
