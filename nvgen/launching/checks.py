"""Checks of a launch before it runs: the kernel, its block, the arguments, the device.

Layer: nvgen.launching.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from intrinsics.findings import input_error, shown
from intrinsics.mir import MachineFunction, Module
from nvgen.launching.launches import DEVICES, Dim3, three

if TYPE_CHECKING:
    from nvgen.launching.parameters import Argument, Output


def check_device(device: str, schedule: str = "early") -> None:
    """Whether there is such a device, and the schedule is one of its.

    Raises: InputError.
    """
    if type(device) is not str or device not in DEVICES:
        raise input_error(
            "run/device",
            f"no device {shown(device)}",
            got=shown(device),
            expected=" or ".join(DEVICES),
        )
    if device != "sim" and schedule != "early":
        raise input_error(
            "run/schedule",
            "a GPU has its own schedule",
            got=shown(schedule),
            expected='no schedule, or device="sim"',
        )


def check_named(named: Mapping[str, object], names: Mapping[str, str] | None) -> None:
    """Whether named arguments may be parameters; `names` are those of a built kernel.

    Raises: InputError for those of a kernel whose parameters have no names here, and for the
    option that only launches of a loaded kernel have.
    """
    if "dependent" in named and "dependent" not in _values(names):
        raise input_error(
            "run/dependent",
            "a run stands alone: it has no launch before it that it could overlap",
            got=f"dependent={named['dependent']!r}",
            expected="launches of a loaded kernel: compiled.load().launch(…, dependent=True)",
            hint="on the simulator launches follow one another, each when the last is through",
        )
    if named and names is None:
        raise input_error(
            "run/arguments",
            "only the parameters of a built kernel have names here",
            got=", ".join(f"{name}=…" for name in named),
            expected="arguments by position, and options that `run` has",
        )


def _values(names: Mapping[str, str] | None) -> Collection[str]:
    return names.values() if names else ()


def only_kernel(module: Module) -> str:
    """The name of a module's only kernel.

    Raises: InputError where it has none, or several.
    """
    names = [f.name for f in module.functions if f.is_kernel]
    if not names:
        raise input_error(
            "run/kernel",
            "the module has no kernel",
            got=", ".join(f"@{f.name}" for f in module.functions) or "no function",
            expected="define ptx_kernel void @name(…)",
        )
    if len(names) > 1:
        raise input_error(
            "run/kernel",
            "the module has several kernels: name one",
            expected=", ".join(names),
            hint=f'kernel="{names[0]}"',
        )
    return names[0]


def required_block(function: MachineFunction) -> Dim3:
    """The size of block that a kernel says it has.

    Raises: InputError where it says none.
    """
    required = function.launch.reqntid
    if not required:
        raise input_error(
            "run/block",
            f"kernel {function.name} does not say its block size",
            expected="block=…, on the command line --block …",
        )
    return three(required)


def of_known_kinds(values: Sequence[object], function: MachineFunction) -> list[Argument | Output]:
    """The arguments, checked to be of types that the simulator takes.

    Raises: InputError.
    """
    import numpy as np

    from nvgen.launching.parameters import Output
    from nvgen.launching.tensor_map import TensorMap

    found: list[Argument | Output] = []
    names = [f" for {param.name}" for param in function.params]
    for number, value in enumerate(values):
        given = value.array if isinstance(value, Output) else value
        if isinstance(given, (np.ndarray, TensorMap, int, float, np.generic)):
            found.append(value)  # type: ignore[arg-type]  # of such kinds, as just seen
        else:
            raise input_error(
                "run/argument",
                "no such kind of argument" + "".join(names[number : number + 1]),
                got=type(given).__name__,
                expected="a numpy array, a TensorMap or a number",
            )
    return found
