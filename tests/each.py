"""A test of many small cases, as one test: all of them run, and those that fail are named together.

`each` stands where `pytest.mark.parametrize` would: what a test costs beside its body is about two
milliseconds in a worker and in the process that hands out the work, more than most cases need.
Cases that take long, or that need a fixture of their own, stay with `parametrize`.

    pytest --case TEXT        only the cases whose name has TEXT
"""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import pytest

from tests.turns import seldom, todays

Case = TypeVar("Case")
Test = Callable[..., None]

SHOWN = 5
"""Failures of one test that are shown whole; the others are named."""

_FAILURES = (Exception, pytest.fail.Exception)


def each(
    names: str,
    cases: Iterable[Case] | Callable[[], Iterable[Case]],
    *,
    ids: Callable[[Case], str] | Iterable[str] | None = None,
    xfail: Mapping[str, str] | None = None,
    parts: int = 1,
    turns: int = 1,
) -> Callable[[Test], Test]:
    """Run a test for each case, given to its arguments `names` ("a", or "a, b" for tuples).

    `cases` may be a function, which is called when the test runs rather than when it is collected.
    `ids` names the cases: a function of a case, or a name for each; without it a case names itself.
    `xfail` says of names why their case is known to fail; one that does not fail is a failure.
    `parts` cuts the cases into so many tests, for workers to share.
    `turns` is in how many days each of them runs once (`tests.turns`); one runs every day.
    """
    arguments = [name.strip() for name in names.split(",")]

    def decorate(test: Test) -> Test:
        @functools.cache
        def named() -> list[tuple[str, Case]]:
            found = list(cases if isinstance(cases, Iterable) else cases())
            return list(zip(_names(names, found, ids), found, strict=True))

        def run(request: pytest.FixtureRequest, part_of_cases: int = 0, **given: object) -> None:
            wanted = request.config.getoption("case")
            chosen = [item for item in named() if not wanted or wanted in item[0]]
            if turns > 1 and not wanted:
                days = turns * seldom(request.node)
                chosen = todays(request, chosen, days, f"{test.__module__}.{test.__name__}")
            outcome = _Outcome(xfail or {})
            needed = {"request": request} if "request" in known else {}
            for name, case in chosen[part_of_cases::parts]:
                values = case if len(arguments) > 1 else (case,)
                outcome.of(
                    name, test, {**given, **needed, **dict(zip(arguments, values, strict=True))}
                )
            outcome.end()

        known = inspect.signature(test).parameters
        kept = [p for name, p in known.items() if name not in (*arguments, "request")]
        ours = ["request", *(["part_of_cases"] if parts > 1 else [])]
        added = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ours]
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(run, attribute, getattr(test, attribute))
        if hasattr(test, "pytestmark"):
            run.pytestmark = list(test.pytestmark)  # type: ignore[attr-defined]
        run.turns = turns  # type: ignore[attr-defined]
        run.__signature__ = inspect.Signature([*added, *kept])  # type: ignore[attr-defined]
        if parts == 1:
            return run
        labels = [f"part {n + 1} of {parts}" for n in range(parts)]
        return pytest.mark.parametrize("part_of_cases", range(parts), ids=labels)(run)

    return decorate


def _names(
    arguments: str, cases: list[Case], ids: Callable[[Case], str] | Iterable[str] | None
) -> list[str]:
    """A name for each case, all different: what is the same is numbered."""
    if ids is None:
        found = [_name(f"{arguments} {at}", case) for at, case in enumerate(cases)]
    else:
        found = [str(ids(case)) for case in cases] if callable(ids) else list(ids)
    seen: dict[str, int] = {}
    for at, name in enumerate(found):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            found[at] = f"{name} ({seen[name]})"
    return found


def _name(place: str, case: object) -> str:
    """What a case calls itself, else its place."""
    if isinstance(case, tuple):
        return "-".join(_name(place, part) for part in case)
    if isinstance(case, enum.Enum):
        return case.name
    if isinstance(case, str | int | float | bool | None):
        return str(case)
    return getattr(case, "__name__", place)


class _Outcome:
    """What came of the cases so far."""

    def __init__(self, xfail: Mapping[str, str]) -> None:
        self.xfail = xfail
        self.tried = 0
        self.failed: list[tuple[str, BaseException]] = []
        self.skipped: list[str] = []

    def of(self, name: str, test: Test, values: dict[str, object]) -> None:
        """Run one case."""
        self.tried += 1
        try:
            test(**values)
        except pytest.skip.Exception as skipped:
            self.skipped.append(f"{name}: {skipped}")
            return
        except _FAILURES as error:
            if name not in self.xfail:
                error.add_note(f"in the case {name!r}")
                self.failed.append((name, error))
            return
        if name in self.xfail:
            why = AssertionError(f"{name!r} is known to fail ({self.xfail[name]}), and does not")
            self.failed.append((name, why))

    def end(self) -> None:
        """Tell what failed, else what was skipped."""
        if self.failed:
            names = "\n  ".join(name for name, _ in self.failed)
            told = f"{len(self.failed)} of {self.tried} cases fail:\n  {names}\n"
            raise BaseExceptionGroup(told, [error for _, error in self.failed[:SHOWN]])
        if self.skipped:
            told = f"{len(self.skipped)} of {self.tried} cases: {self.skipped[0]}"
            pytest.skip(told)
