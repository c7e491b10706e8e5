"""What ends a simulated run: faults, deadlocks, and what is not simulated.

Layer: nvgen.sim.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.findings import Finding, Place, Severity, SimulationError


class Fault(SimulationError):  # noqa: N818 - what the machine calls it
    """The program did what the machine forbids; one finding says what and where."""


class DeadlockError(SimulationError):
    """No thread can go on, and nothing is under way that could let one."""


class LimitError(SimulationError):
    """The run took longer than it may; the first finding says so, the others where threads are."""


class NotSimulatedError(SimulationError):
    """The program does something that the simulator does not model; it never guesses."""


def fault(
    rule: str,
    message: str,
    *,
    got: str = "",
    expected: str = "",
    hint: str = "",
    section: str = "",
    place: Place | None = None,
) -> Fault:
    """A `Fault` of one finding; the place is filled in where the record is known."""
    finding = Finding(
        "sim/" + rule,
        Severity.ERROR,
        message,
        place or Place(),
        got=got,
        expected=expected,
        hint=hint,
        section=f"PTX ISA, {section}" if section else "",
    )
    return Fault([finding])


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


def located(error: SimulationError, place: Place, op: str) -> SimulationError:
    """The same error with its finding standing at `place`, unless it already has one."""
    findings = [
        f if f.place.line or f.place.function else replace(f, place=place, op=f.op or op)
        for f in error.findings
    ]
    return type(error)(findings)
