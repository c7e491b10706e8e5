"""Launches on the simulator and on GPUs alike: the kernel, the launch shape, and statistics.

Layer: nvgen.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import SupportsIndex, TypeAlias

from intrinsics.findings import InputError, errors, input_error, shown
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import MOST_THREADS
from intrinsics.mir import MachineFunction, Module
from intrinsics.targets import Target
from isel.verifier.launch import LaunchShape, judge_launch, without_peers

Dim3: TypeAlias = tuple[int, int, int]

Grid: TypeAlias = Dim3 | int | Callable[..., Dim3 | int]
"""A grid, or a function of the arguments that gives it."""

DEVICES = ("sim", "cuda")
"""What kernels run on: the CPU simulator, and the first GPU."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The cost of a run: steps and asynchronous operations of the simulator, or the GPU's time.

    On the simulator `leaked` is how many bytes of malloc nobody freed.
    """

    steps: int = 0
    operations: int = 0
    leaked: int = 0
    milliseconds: float | None = None


_MOST_BITS = 4096
"""Of a size: Python writes no longer integers; the limits of launches are lower, and rules."""


def dim3(size: object, what: str = "grid") -> Dim3:
    """A launch dimension from one number, or from one to three; `what` is its name in errors.

    Raises: InputError for anything else.
    """
    sizes = size if isinstance(size, (tuple, list)) else [size]
    with contextlib.suppress(TypeError):  # as numpy's arrays raise, which have an index by name
        whole = [operator.index(n) for n in sizes if isinstance(n, (int, SupportsIndex))]
        fit = len(whole) == len(sizes) and all(n.bit_length() <= _MOST_BITS for n in whole)
        if fit and 1 <= len(whole) <= 3:
            return three(whole)
    raise input_error(
        f"run/{what}",
        f"no size of a {what}",
        got=shown(size),
        expected="a whole number, or a tuple of one to three",
    )


def grid_of(grid: Grid, args: Sequence[object], named: Mapping[str, object]) -> Dim3:
    """The grid of a launch; one that is a function is called with the launch's arguments.

    Raises: InputError for no size of a grid, and for a function of other arguments.
    """
    if not callable(grid):
        return dim3(grid)
    try:
        signature = inspect.signature(grid)
    except ValueError:  # one of C's may have none
        return dim3(grid(*args, **named))
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        raise input_error(
            "run/grid",
            f"the grid is a function of other arguments than the launch's: {error}",
            got=f"{signature} for {len(args) + len(named)} arguments",
            expected="a function of what the kernel is launched with: lambda x, n: …",
        ) from None
    return dim3(grid(*args, **named))


def three(sizes: Sequence[int]) -> Dim3:
    """One to three sizes as three."""
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def kernel_of(module: Module, name: str) -> MachineFunction:
    """The kernel called `name`.

    Raises: InputError when there is none.
    """
    found = module.function(name) if isinstance(name, str) else None
    if found is not None and found.is_kernel:
        return found
    names = ", ".join(f.name for f in module.functions if f.is_kernel)
    expected = names or "a kernel"
    raise input_error("run/kernel", f"no kernel {shown(name)}", got=shown(name), expected=expected)


def check_shape(function: MachineFunction, grid: Dim3, block: Dim3) -> None:
    """Check that a kernel can be launched with a grid and block.

    Raises: InputError.
    """
    threads = block[0] * block[1] * block[2]
    if not 1 <= threads <= MOST_THREADS or min(grid) < 1 or min(block) < 1:
        raise input_error(
            "run/shape",
            "the launch shape is not possible",
            got=f"grid {grid}, block {block}",
            expected=f"1 to {MOST_THREADS} threads a block, every dimension at least 1",
        )
    wanted = three(function.launch.reqntid) if function.launch.reqntid else block
    if tuple(block) != wanted:
        raise input_error(
            "run/block",
            f"kernel {function.name} requires another block",
            got=str(tuple(block)),
            expected=str(wanted),
        )


def boxes_of(function: MachineFunction, arguments: Sequence[object]) -> tuple[tuple[str, int], ...]:
    """The bytes of a box of each tensor map among a kernel's arguments, by parameter."""
    from nvgen.launching.parameters import Output
    from nvgen.launching.tensor_map import TensorMap

    plain = [a.array if isinstance(a, Output) else a for a in arguments]
    return tuple(
        (param.name, given.box_bytes)
        for param, given in zip(function.params, plain, strict=False)  # counted later
        if isinstance(given, TensorMap)
    )


def dynamic_size(smem: object) -> int | None:
    """A size of dynamic shared memory; None is one that is not known.

    Raises: InputError for what is no size.
    """
    if smem is None:
        return None
    with contextlib.suppress(TypeError):
        size = operator.index(smem)  # type: ignore[arg-type]  # whatever has none is told so
        if size >= 0 and size.bit_length() <= _MOST_BITS:
            return size
    raise input_error(
        "run/shared-memory",
        "no size of dynamic shared memory",
        got=f"{shown(smem)} bytes",
        expected="a whole number, 0 or more",
    )


def check_launch(
    module: Module, function: MachineFunction, target: Target, shape: LaunchShape, file: str
) -> None:
    """Check that `target` can launch a kernel with this shape, by the rules of launch level.

    `file` is where the kernel stands.

    Raises: InputError.
    """
    cluster = () if shape.cluster == (1, 1, 1) and function.launch.cluster else shape.cluster
    meant = replace(shape, cluster=cluster)
    wrong = errors(judge_launch(module, function, target, meant))
    wrong += without_peers(module, function, cluster)
    if wrong:
        placed = [found.at(replace(found.place, file=found.place.file or file)) for found in wrong]
        raise InputError(placed)


def lanes_in_words(mask: int) -> str:
    """A mask of lanes as text: `lane 0`, `lanes 0-31`, `lanes 1-31`."""
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and runs[-1][1] == lane - 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    return "lanes " + ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in runs)
