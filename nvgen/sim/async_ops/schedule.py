"""Schedules: when asynchronous operations take effect, and which threads are slow.

Layer: nvgen.sim.
"""

from __future__ import annotations

import re
from enum import Enum

from intrinsics.findings import input_error
from intrinsics.lazy_dataclass import dataclass


class Mode(Enum):
    """The three kinds of schedule."""

    EARLY = "early"
    LATE = "late"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule: `early`, `late`, `random:SEED`, or `delay:N,…`, which is early but for some.

    `delayed` are the numbers of these operations, in the order of issue from 1.
    """

    mode: Mode
    seed: int = 0
    delayed: frozenset[int] = frozenset()

    def __str__(self) -> str:
        if self.delayed:
            return "delay:" + ",".join(map(str, sorted(self.delayed)))
        return f"random:{self.seed}" if self.mode is Mode.RANDOM else self.mode.value


def parse_schedule(said: object) -> Schedule:
    """Read a schedule.

    Raises: InputError.
    """
    text = said if isinstance(said, str) else f"a {type(said).__name__}"
    if match := re.fullmatch(r"random:(\d{1,19})", text, re.ASCII):
        return Schedule(Mode.RANDOM, int(match[1]))
    if match := re.fullmatch(r"delay:(\d{1,19}(?:,\d{1,19})*+)", text, re.ASCII):
        return Schedule(Mode.EARLY, delayed=frozenset(map(int, match[1].split(","))))
    if text in ("early", "late"):
        return Schedule(Mode(text))
    raise input_error(
        "run/schedule",
        "no such schedule",
        got=text,
        expected="early, late, random:SEED or delay:N,…",
    )
