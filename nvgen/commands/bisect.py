"""`nvgen run --bisect`: the operation whose delay makes a run fail.

Layer: nvgen.commands.  Input: a way to run the kernel under a schedule, on fresh arguments.
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.findings import NOWHERE, Finding, Severity
from intrinsics.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run: its outputs as files, its asynchronous operations, and what ended it, if anything."""

    outputs: tuple[bytes, ...] = ()
    operations: int = 0
    findings: tuple[Finding, ...] = ()


Try = Callable[[str, bool], Attempt]
"""Runs under a schedule, with races looked for or not."""


def bisect(attempt: Try, schedule: str) -> Finding:
    """A note: which operations, as few as can be, make the run fail when they are late.

    A run fails when it ends with a finding, or gives other outputs than under `early`.
    """
    from nvgen.sim.async_ops.bisect import fewest_delayed

    early = attempt("early", False)
    if early.findings:
        return _note("the run fails under early as well: no delay is needed", early.findings)

    def fails(name: str) -> bool:
        found = attempt(name, False)
        return bool(found.findings) or found.outputs != early.outputs

    if not fails(schedule):
        return _note(f"the run does not fail under {schedule}, races left aside", ())
    delayed = fewest_delayed(lambda tried: fails(str(tried)), early.operations)
    if not delayed:
        return _note("delays alone do not make the run fail", ())
    name = "delay:" + ",".join(map(str, delayed))
    numbers = " and ".join(f"#{number}" for number in delayed)
    seen = attempt(name, True).findings or attempt(name, False).findings
    text = f"the run fails when {numbers} alone takes effect late, with --schedule {name}"
    return _note(text, seen)


def _note(message: str, findings: tuple[Finding, ...]) -> Finding:
    """The note, which stands where the first of the findings does and says what it says."""
    first = findings[0] if findings else None
    return Finding(
        "run/bisect",
        Severity.NOTE,
        message,
        first.place if first else NOWHERE,
        got=f"{first.message}; {first.got}" if first else "",
        expected=first.expected if first else "",
    )
