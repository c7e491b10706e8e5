"""Which schedules a test runs under.

Layer: nvgen.testing.  Input: what the test and the command line ask for.  Output: schedules as
`Compiled.run` takes them.  Seeds come from the test's name: the same everywhere, and other ones for
other tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from intrinsics.findings import InputError, input_error
from nvgen.sim.async_ops.schedule import parse_schedule

RANDOM = "random"
ALL = ("early", "late", RANDOM)
SEEDS = 4
"""Random schedules of a test, where nothing else is said."""

_RANGE = 1_000_000


def wanted_schedules(asked: str | Sequence[str]) -> tuple[str, ...]:
    """The schedules of a test, with "all" spelled out.

    Raises: InputError.
    """
    if asked == "all":
        return ALL
    names = as_tuple(asked)
    if not names:
        raise _unknown("")
    return tuple(dict.fromkeys(_wanted(name) for name in names))


def as_tuple(given: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several as a tuple; anything else is left for the check of names."""
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _wanted(name: str) -> str:
    if name == RANDOM:
        return name
    try:
        return str(parse_schedule(name))
    except (InputError, TypeError):
        raise _unknown(name) from None


def _unknown(name: object) -> InputError:
    return input_error(
        "test/schedules",
        f"unknown schedule {name!r}" if name else "a test needs a schedule",
        got=str(name),
        expected='"all", or some of "early", "late", "random", "random:SEED"',
    )


def seeds(name: str, count: int, start: int = 0) -> list[int]:
    """`count` different seeds for the test called `name`; more of them begin with the fewer."""
    found: dict[int, None] = {}
    number = 0
    while len(found) < count:
        digest = hashlib.sha256(f"{start}:{number}:{name}".encode()).digest()
        found[int.from_bytes(digest[:8]) % _RANGE] = None
        number += 1
    return list(found)


def spelled_out(wanted: Sequence[str], seeds: Sequence[int]) -> list[str]:
    """The schedules to run, with one for each seed in the place of "random"."""
    names: list[str] = []
    for name in wanted:
        names += [f"{RANDOM}:{seed}" for seed in seeds] if name == RANDOM else [name]
    return list(dict.fromkeys(names))


def holds_under(wanted: Sequence[str], schedule: str) -> bool:
    """Whether a test that asks for `wanted` says anything about `schedule`."""
    if schedule in wanted:
        return True
    if schedule.startswith("delay:"):  # of some operations: between early and late
        return any(name != "early" for name in wanted)
    return schedule.startswith(RANDOM) and any(name.startswith(RANDOM) for name in wanted)
