"""Limits of a simulated run: in steps, and in seconds.

Layer: nvgen.sim.  A step is one instruction of one strand.  Without limits of its own a run has
`MOST_STEPS`; a limit in seconds replaces that in steps.
"""

from __future__ import annotations

import math
import time
from dataclasses import field

from intrinsics.findings import input_error, shown
from intrinsics.lazy_dataclass import dataclass
from isel.wait_bounds import MOST_SECONDS

MOST_STEPS = 20_000_000
"""The default limit in steps: some minutes."""


@dataclass(slots=True)
class Limits:
    """The limits of a run, infinite where there is none; time counts from `start` on."""

    steps: float = math.inf
    seconds: float = math.inf
    deadline: float = field(init=False, default=math.inf)

    def start(self) -> None:
        """Start counting time."""
        self.deadline = time.monotonic() + self.seconds

    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.deadline


def limits_of(timeout: float | None = None, max_steps: int | None = None) -> Limits:
    """The limits for these arguments.

    Raises: InputError for an invalid number of seconds or steps.
    """
    if timeout is not None:
        check_timeout(timeout)
    if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
        raise input_error(
            "run/max-steps", "no number of steps", got=shown(max_steps), expected="1 or more"
        )
    if timeout is None:
        return Limits(max_steps or MOST_STEPS)
    return Limits(max_steps or math.inf, float(timeout))


def check_timeout(timeout: object) -> None:
    """Check a number of seconds.

    Raises: InputError.
    """
    if not isinstance(timeout, (int, float)) or not 0 < timeout <= MOST_SECONDS:
        raise input_error(
            "run/timeout",
            "no number of seconds",
            got=shown(timeout),
            expected=f"more than 0 and at most {MOST_SECONDS:g} s",
        )
