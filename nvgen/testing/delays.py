"""The operation whose delay makes a launch fail.

Layer: nvgen.testing.  Input: what the launches of a test were given, and their schedule.  Output:
the note of `nvgen run --bisect`, for the report of the test.  The kernel is run again, on copies of
its arguments; the test's own code is not.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from intrinsics.findings import Finding, NvgenError
from intrinsics.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from nvgen.launching.launches import Statistics
    from nvgen.launching.tensor_map import Array

MOST_BYTES = 1 << 24
"""Launches with larger arguments are not kept."""

MOST_RUNS = 100
"""How often a launch is run again."""

MOST_SECONDS = 5.0
"""How long further runs are begun."""

Run = Callable[[Sequence[object], str, bool], "Statistics"]
"""Launches on arguments, under a schedule, with races looked for or not."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch: its arguments as they were before it, and how to run it again."""

    arguments: tuple[object, ...]
    run: Run


class _SpentError(Exception):
    """No further run is begun."""


def kept(arguments: Sequence[object], run: Run) -> Launched | None:
    """A launch that can be run again; None when its arguments are too large, or not the host's."""
    given = tuple(arguments)
    if sum(array.nbytes for array in _arrays(given)) > MOST_BYTES:
        return None
    try:
        return Launched(copy.deepcopy(given), run)
    except (TypeError, ValueError):
        return None


def culprit(launches: Sequence[Launched], schedule: str) -> Finding | None:
    """Which operations, as few as can be, make a launch fail when they are late.

    A launch fails when it ends with a finding, or gives other arrays than under `early`.  None when
    none of them does, when it fails under `early` too, and when time is up before there is an
    answer.
    """
    until = time.monotonic() + MOST_SECONDS
    for launched in launches:
        try:
            found = _culprit(launched, schedule, until)
        except _SpentError:
            return None
        if found is not None:
            return found
    return None


def _culprit(launched: Launched, schedule: str, until: float) -> Finding | None:
    from nvgen.commands.bisect import Attempt, bisect

    runs = 0

    def attempt(tried: str, races: bool) -> Attempt:
        nonlocal runs
        runs += 1
        if runs > MOST_RUNS or time.monotonic() > until:
            raise _SpentError
        given = copy.deepcopy(launched.arguments)
        try:
            took = launched.run(given, tried, races)
        except NvgenError as error:  # of the run, or a launch that is refused
            return Attempt(findings=tuple(error.findings))
        return Attempt(tuple(array.tobytes() for array in _arrays(given)), took.operations)

    note = bisect(attempt, schedule)
    return note if "--schedule" in note.message else None


def _arrays(arguments: Sequence[object]) -> list[Array]:
    """The host's arrays among arguments, also those of tensor maps and outputs."""
    import numpy as np

    from nvgen.launching.parameters import Output
    from nvgen.launching.tensor_map import TensorMap

    found: list[Array] = []
    for argument in arguments:
        given = argument.array if isinstance(argument, Output) else argument
        given = given.source if isinstance(given, TensorMap) else given
        if isinstance(given, np.ndarray):
            found.append(given)
    return found
