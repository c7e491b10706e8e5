"""The items of one test: a launch for each target, optimisation level and schedule.

Layer: nvgen.testing.  Input: what the test and the command line ask for.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.lazy_dataclass import dataclass
from intrinsics.targets import parse_target
from nvgen.testing.devices import obstacle
from nvgen.testing.launch import Launch
from nvgen.testing.marker import KernelTest
from nvgen.testing.schedules import SEEDS, holds_under, seeds, spelled_out


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command line; `schedule` is "" and `count` None where they are not given."""

    device: str = "sim"
    schedule: str = ""
    count: int | None = None
    seed: int = 0
    bound_waits: float | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One item of a test: its id, what it is given, and why it is skipped ("" if it is not)."""

    id: str
    launch: Launch
    skip: str = ""


def variants(asked: KernelTest, options: Options, name: str) -> Iterator[Variant]:
    """The items of the test called `name`."""
    bound = asked.bound_waits if options.bound_waits is None else options.bound_waits
    for target in asked.targets or ("",):
        for opt in asked.opt:
            for schedule in _schedules(asked, options, name):
                parts = [target] * (len(asked.targets) > 1) + [_level(opt)] * (len(asked.opt) > 1)
                launch = Launch(options.device, schedule, target, opt, bound)
                yield Variant("-".join([*parts, label(launch)]), launch, _reason(asked, launch))


def label(launch: Launch) -> str:
    """The launch's part of a test id."""
    return launch.schedule or launch.device


def _level(opt: int | None) -> str:
    """How an item says its optimisation level."""
    return "default" if opt is None else f"O{opt}"


def _schedules(asked: KernelTest, options: Options, name: str) -> list[str]:
    if options.device != "sim":
        return [""]
    if options.schedule:
        return [options.schedule]
    own = asked.random if asked.random is not None else SEEDS
    count = options.count if options.count is not None else own
    return spelled_out(asked.schedules, seeds(name, count, options.seed))


def _reason(asked: KernelTest, launch: Launch) -> str:
    if launch.schedule and not holds_under(asked.schedules, launch.schedule):
        return f"the test holds under {', '.join(asked.schedules)}, not {launch.schedule}"
    return obstacle(launch.device, parse_target(launch.target) if launch.target else None)
