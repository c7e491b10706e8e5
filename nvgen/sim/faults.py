"""Errors that end a simulated run: faults, deadlocks, limits, and what is not simulated.

Layer: nvgen.sim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from intrinsics.findings import (
    NOWHERE,
    Details,
    Finding,
    InputError,
    Place,
    Severity,
    SimulationError,
    error_of,
    input_error,
)


class Fault(SimulationError):  # noqa: N818 - what the machine calls it
    """The program did something illegal or undefined; one finding says what and where."""


class DeadlockError(SimulationError):
    """No thread can proceed, and no operation is in flight that could wake one."""


class LimitError(SimulationError):
    """The run exceeded its limit; the first finding says so, the others where threads are."""


class NotSimulatedError(SimulationError):
    """The program does something that the simulator does not model; it never guesses."""


def fault(
    rule: str, message: str, *, place: Place | None = None, **details: Unpack[Details]
) -> Fault:
    """A `Fault` of one finding; its source location is added where the record is known."""
    return Fault([error_of("sim/" + rule, message, place or NOWHERE, **details)])


def not_simulated(what: str, *, hint: str = "") -> NotSimulatedError:
    """The answer to everything that the simulator does not model."""
    finding = Finding(
        "sim/not-simulated",
        Severity.ERROR,
        f"not simulated: {what}",
        hint=hint,
        incomplete=True,
    )
    return NotSimulatedError([finding])


def no_room(what: str, nbytes: int, expected: str) -> InputError:
    """The system has no memory for an array or a variable of the run."""
    text = f"there is not enough memory for {what}"
    return input_error("system/memory", text, got=f"{nbytes:,} bytes", expected=expected)


def located(error: SimulationError, place: Place, op: str, by: str = "") -> SimulationError:
    """The error at this source location, by a CTA, unless it has them already."""
    findings = [
        f
        if f.place.line or f.place.function
        else replace(f, place=place, op=f.op or op, got=_with_cta(f, by))
        for f in error.findings
    ]
    return type(error)(findings)


def _with_cta(finding: Finding, by: str) -> str:
    told = finding.message + finding.got
    return f"{finding.got}, in {by}" if by and finding.got and "CTA" not in told else finding.got
