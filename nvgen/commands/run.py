"""`nvgen run`: one kernel on the CPU simulator or a GPU, arrays from and to .npy files.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from intrinsics.findings import (
    DriverError,
    Finding,
    InputError,
    NvgenError,
    SimulationError,
    input_error,
)
from intrinsics.lazy_dataclass import dataclass
from nvgen.commands.given.inputs import Input, read_input
from nvgen.commands.given.shape import parse_dim3
from nvgen.compilation.options import Options
from nvgen.files import check_writable, write_whole
from nvgen.launching.launches import Statistics, three
from nvgen.loading import load
from nvgen.render import as_json, print_findings

if TYPE_CHECKING:
    from nvgen.commands.given.arguments import Given
    from nvgen.compilation.compiled import Compiled

OK, FINDING, USAGE, DEADLOCK, NOT_SIMULATED = 0, 1, 2, 3, 4
_SECONDS = {"sim": 600.0, "cuda": 60.0}
"""How long a run may take, if nothing is said."""

_LIMITS = ("sim/timeout", "sim/max-steps")
_OUTCOMES = {
    OK: "ok",
    FINDING: "fault",
    USAGE: "not run",
    DEADLOCK: "deadlock",
    NOT_SIMULATED: "not simulated",
}


@dataclass(slots=True)
class _Outcome:
    """How a run ended."""

    status: int = OK
    findings: Sequence[Finding] = ()
    given: Input | None = None
    statistics: Statistics = field(default_factory=Statistics)
    outputs: list[str] = field(default_factory=list)
    not_kept: list[str] = field(default_factory=list)
    """Files whose arrays the kernel has changed, and that stay as they are."""

    @property
    def is_limited(self) -> bool:
        """Whether the run was ended because it took too long."""
        return any(f.rule in _LIMITS for f in self.findings[:1])


def run(arguments: argparse.Namespace) -> int:
    """Load the program, run the kernel, write the outputs; nothing is written when it fails."""
    outcome = _Outcome()
    try:
        _run(arguments, outcome)
    except NvgenError as error:
        outcome.status, outcome.findings = _status(error), error.findings
    ran = outcome.status in (OK, FINDING, DEADLOCK) and not outcome.is_limited
    if arguments.bisect and arguments.device == "sim" and ran:
        assert outcome.given is not None
        outcome.findings = [*outcome.findings, _bisected(arguments, outcome.given)]
    if arguments.json:
        print(json.dumps(_as_json(arguments, outcome), indent=2))
    else:
        _say(arguments, outcome)
    return outcome.status


def _run(arguments: argparse.Namespace, outcome: _Outcome) -> None:
    from nvgen.commands.given.arguments import parse_argument
    from nvgen.launching.checks import check_device

    check_device(arguments.device, arguments.schedule)
    given = [parse_argument(text) for text in arguments.arg]
    files = [one.output for one in given if one.output]
    _check_outputs(files, arguments.files)
    source = outcome.given = read_input(arguments.files)
    options = Options(source.target(arguments.target), arguments.ptx)
    program = load(source.file, source.text, options, bounds=arguments.bound_waits)
    compiled = program.compiled()
    compiled.kernel = source.kernel
    before = [one.only_read() for one in given]
    outcome.statistics = _launch(arguments, compiled, given)
    changed = [one.only_read() != was for one, was in zip(given, before, strict=True)]
    outcome.not_kept = [one.source for one, is_so in zip(given, changed, strict=True) if is_so]
    outcome.findings = program.findings
    if program.bounded is not None and arguments.device == "cuda":
        outcome.findings = [*outcome.findings, *program.bounded.findings]
    for one in given:
        if one.output:
            write_whole(one.output, one.as_npy())
            outcome.outputs.append(one.output)


def _bisected(arguments: argparse.Namespace, source: Input) -> Finding:
    """Which operation's delay makes the run fail; every attempt has arguments of its own."""
    from nvgen.commands.bisect import Attempt, bisect
    from nvgen.commands.given.arguments import parse_argument

    options = Options(source.target(arguments.target), arguments.ptx)
    compiled = load(source.file, source.text, options).compiled()
    compiled.kernel = source.kernel

    def attempt(schedule: str, races: bool) -> Attempt:
        given = [parse_argument(text) for text in arguments.arg]
        chosen = argparse.Namespace(**{**vars(arguments), "schedule": schedule, "races": races})
        try:
            statistics = _launch(chosen, compiled, given)
        except SimulationError as error:
            return Attempt(findings=tuple(error.findings))
        return Attempt(tuple(one.as_npy() for one in given if one.output), statistics.operations)

    return bisect(attempt, arguments.schedule)


def _check_outputs(paths: Sequence[str], programs: Sequence[str]) -> None:
    """Fail before any work is done when an output cannot be written, is one of the programs, or
    two go to one file.
    """
    seen: set[str] = set()
    for path in paths:
        check_writable(path, programs)
        real = os.path.realpath(path)
        if real in seen and (os.path.isfile(path) or not os.path.exists(path)):
            raise input_error("run/argument", f"two outputs go to {path}", expected="a file each")
        seen.add(real)


def _launch(
    arguments: argparse.Namespace, compiled: Compiled, given: Sequence[Given]
) -> Statistics:
    return compiled.run(
        *(one.value for one in given),
        grid=_grid(arguments, compiled),
        block=parse_dim3(arguments.block, "block") if arguments.block else None,
        cluster=parse_dim3(arguments.cluster or "1", "cluster"),
        smem=arguments.smem,
        device=arguments.device,
        schedule=arguments.schedule,
        races=arguments.races,
        timeout=arguments.timeout or _SECONDS[arguments.device],
        max_steps=arguments.max_steps,
        kernel=arguments.kernel,
    )


def _grid(arguments: argparse.Namespace, compiled: Compiled) -> tuple[int, int, int]:
    """The CTAs that are asked for, else those that are known, else one."""
    if arguments.grid:
        return parse_dim3(arguments.grid, "grid")
    return three(compiled.shape.grid or (1,))


def _status(error: NvgenError) -> int:
    if isinstance(error, InputError):
        return USAGE
    from nvgen.driver.errors import TIMEOUT, WAIT_BOUND

    if isinstance(error, DriverError):
        return DEADLOCK if error.findings[0].rule in (TIMEOUT, WAIT_BOUND) else FINDING
    if not isinstance(error, SimulationError):
        return FINDING
    from nvgen.sim.faults import DeadlockError, LimitError, NotSimulatedError

    if isinstance(error, (DeadlockError, LimitError)):
        return DEADLOCK
    return NOT_SIMULATED if isinstance(error, NotSimulatedError) else FINDING


def _as_json(arguments: argparse.Namespace, outcome: _Outcome) -> dict[str, object]:
    statistics = outcome.statistics
    how: dict[str, object] = {
        "schedule": arguments.schedule,
        "steps": statistics.steps,
        "operations": statistics.operations,
        "leaked": statistics.leaked,
    }
    if arguments.device != "sim":
        how = {"device": arguments.device, "milliseconds": statistics.milliseconds}
    return {
        "file": outcome.given.name if outcome.given else " + ".join(arguments.files),
        "outcome": "limit" if outcome.is_limited else _OUTCOMES[outcome.status],
        **how,
        "outputs": outcome.outputs,
        "not_kept": outcome.not_kept,
        "findings": [as_json(f) for f in outcome.findings],
    }


def _say(arguments: argparse.Namespace, outcome: _Outcome) -> None:
    given = outcome.given or Input(" + ".join(arguments.files), "")
    print_findings(outcome.findings, given.text)
    if outcome.status == OK:
        print(
            f"{given.name}: ran to the end {_how(arguments, outcome.statistics)}; "
            f"wrote {', '.join(outcome.outputs) or 'no file'}{_not_kept(outcome.not_kept)}",
            file=sys.stderr,
        )


def _not_kept(files: Sequence[str]) -> str:
    """What is said of arrays that were changed and are not kept."""
    if not files:
        return ""
    kept = f"inout:{files[0]}:OUT.npy keeps it"
    return f"; the kernel changed the array of {', '.join(files)}, which is lost ({kept})"


def _how(arguments: argparse.Namespace, statistics: Statistics) -> str:
    if statistics.milliseconds is not None:
        return f"on the GPU in {statistics.milliseconds:.3f} ms"
    leaked = f"; {statistics.leaked} bytes of malloc were not freed" if statistics.leaked else ""
    return (
        f"under schedule {arguments.schedule} in {statistics.steps} steps with "
        f"{statistics.operations} asynchronous operations{leaked}"
    )
