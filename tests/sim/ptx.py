"""Kernels in PTX for tests of single operations: a few statements, their registers, a run.

`run` wraps the statements in a kernel of one CTA, or of a grid of clusters.  Declared are %r, %rd,
%rs, %f, %p registers, `%tx` as %tid.x and `%lane` as %laneid in 32-bit registers, and for each
parameter its value in a register: `%a0` for an array's address or a number, `%m0` for a tensor
map's address.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity, SimulationError
from intrinsics.mir import Module
from intrinsics.targets import TARGETS, Ptx
from nvgen.driver.jobs import LaunchConfig
from nvgen.driver.launch import launch_host
from nvgen.launching.launches import Dim3, Statistics
from nvgen.launching.parameters import Argument, Output
from nvgen.launching.tensor_map import TensorMap
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from nvgen.sim.threads.limits import Limits
from nvgen.sim.threads.machine import Code
from tests.oracle import gpu

SCHEDULES = ("early", "late", "random:3", "random:11")
"""One of each kind, and a second seed."""

HEAD = """\
.version {version}
.target {target}
.address_size 64
{variables}
.visible .entry k({parameters})
{{
    .reg .b8 %c<8>;
    .reg .b16 %rs<16>;
    .reg .b32 %r<64>, %tx, %lane;
    .reg .b64 %rd<64>;
    .reg .f32 %f<16>;
    .reg .pred %p<16>;
"""


def kernel(
    body: str,
    arguments: Sequence[Argument | Output],
    variables: str = "",
    target: str = "sm_100a",
    version: str = "9.0",
) -> str:
    """The module whose kernel loads its arguments (a0, a1, …) and executes `body`."""
    parameters = []
    loads = ["    mov.u32 %tx, %tid.x;", "    mov.u32 %lane, %laneid;"]
    for i, argument in enumerate(arguments):
        given = argument.array if isinstance(argument, Output) else argument
        if isinstance(given, TensorMap):
            parameters.append(f".param .align 64 .b8 m{i}[128]")
            loads.append(f"    .reg .b64 %m{i};\n    mov.u64 %m{i}, m{i};")
            loads.append(f"    cvta.param.u64 %m{i}, %m{i};")
            continue
        wide = isinstance(given, np.ndarray)
        size = 64 if wide else 32
        parameters.append(f".param .u{size} a{i}")
        loads.append(f"    .reg .b{size} %a{i};\n    ld.param.u{size} %a{i}, [a{i}];")
    head = HEAD.format(
        variables=variables, parameters=", ".join(parameters), target=target, version=version
    )
    return head + "\n".join(loads) + "\n" + body + "\n    ret;\n}\n"


class Program(NamedTuple):
    """A module that was read, and what the simulator has made of its functions."""

    module: Module
    codes: dict[str, Mapping[str, Code]]


def module_of(text: str) -> Module:
    """What a text says, without an error."""
    reading = read_ptx(text)
    wrong = [f for f in reading.findings if f.severity is Severity.ERROR]
    assert not wrong, wrong
    return reading.module


@functools.lru_cache(maxsize=128)
def program(text: str) -> Program:
    """A text's module, read once for all schedules that it runs under."""
    return Program(module_of(text), {})


def run(
    body: str,
    *arguments: Argument | Output,
    variables: str = "",
    threads: int = 32,
    schedule: str = "early",
    smem: int = 0,
    target: str = "sm_100a",
    version: str = "9.0",
    grid: Dim3 = (1, 1, 1),
    cluster: Dim3 = (1, 1, 1),
    races: bool = True,
) -> Statistics:
    """Run a grid, of one CTA if nothing else is said; arrays change in place.

    On a GPU it is the same PTX for the GPU's target.

    Raises: SimulationError.
    """
    text = kernel(body, arguments, variables, target, version)
    if gpu.on_gpu():
        module = module_of(text)
        (function,) = module.functions
        there, shape = TARGETS["sm_90a"], LaunchConfig(grid, (threads, 1, 1), cluster, smem)
        module.target = there
        took = launch_host(module, Ptx(8, 6), there, function, arguments, shape, 60.0)
        return Statistics(milliseconds=took)
    module, codes = program(text)
    return simulate(
        module,
        "k",
        list(arguments),
        grid=grid,
        block=(threads, 1, 1),
        cluster=cluster,
        smem=smem,
        schedule=parse_schedule(schedule),
        races=races,
        limits=Limits(100_000),
        codes=codes,
    )


def findings(
    body: str,
    *arguments: Argument | Output,
    variables: str = "",
    threads: int = 32,
    schedule: str = "early",
    grid: Dim3 = (1, 1, 1),
    cluster: Dim3 = (1, 1, 1),
    races: bool = True,
) -> list[Finding]:
    """What ends the run; empty when nothing does."""
    try:
        run(
            body,
            *arguments,
            variables=variables,
            threads=threads,
            schedule=schedule,
            grid=grid,
            cluster=cluster,
            races=races,
        )
    except SimulationError as error:
        return list(error.findings)
    return []


def rule(
    body: str,
    *arguments: Argument | Output,
    variables: str = "",
    threads: int = 32,
    races: bool = True,
) -> str:
    """The rule of the first finding, without `sim/`; "" when the run ends well."""
    found = findings(body, *arguments, variables=variables, threads=threads, races=races)
    return found[0].rule.removeprefix("sim/") if found else ""
