"""A kernel on the CPU simulator, with small arguments and for a short while.

Whether a program ends is its own business: what is not over in time is left, and is no problem.
What the simulator says against a program (a fault, a deadlock, a race) is right or wrong, but said.
"""

from __future__ import annotations

import signal
from types import FrameType

import numpy as np

from intrinsics.findings import InputError, SimulationError
from intrinsics.mir import Param
from nvgen import Compiled
from nvgen.launching.parameters import is_by_value

SECONDS = 1.0
"""Of processor time, until a program is left."""


class _OverError(BaseException):
    """The time is over; nothing that expects an Exception catches it."""


def run(made: Compiled) -> str:
    """Run the first kernel by one block; how that ended, in a word."""
    kernels = [f for f in made.module.functions if f.is_kernel]
    if not kernels:
        return ""
    kernel = kernels[0]
    block = kernel.launch.reqntid or (32,)
    arguments = [_argument(param, i) for i, param in enumerate(kernel.params)]

    def over(number: int, frame: FrameType | None) -> None:
        raise _OverError

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        made.run(*arguments, block=tuple(block), kernel=kernel.name)
    except (InputError, SimulationError) as error:
        return error.findings[0].rule
    except _OverError:
        return "not over"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return "ran"


def _argument(param: Param, number: int) -> object:
    """Something that fits a parameter."""
    if param.is_pointer:
        return np.arange(number, number + 1024, dtype=np.int32)
    if is_by_value(param):
        return np.zeros(param.size, np.uint8)
    return 1.5 if param.type.kind == "f" else number + 3
