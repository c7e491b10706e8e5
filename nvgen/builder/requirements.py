"""Requirements of a tile operation, as data: what it asks for, and what it says otherwise.

Layer: nvgen.builder.  Input: a request, which is one call with its tiles.  Output: a finding for
each requirement that the request does not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from intrinsics.findings import Finding, Severity
from nvgen.callers import place_of_caller

Asked = TypeVar("Asked")


@dataclass(frozen=True, slots=True)
class Requirement(Generic[Asked]):
    """Something an operation asks for: its id, whether it holds, what was there, what should be.

    `hint` says how to get there.
    """

    rule: str
    text: str
    holds: Callable[[Asked], bool]
    got: Callable[[Asked], str]
    expected: Callable[[Asked], str]
    section: str = "Matrix Shape (Table 39)"
    hint: Callable[[Asked], str] = lambda _: ""


def unmet(
    operation: str, requirements: Iterable[Requirement[Asked]], request: Asked
) -> list[Finding]:
    """A finding for each requirement that does not hold, at the line of Python that asks."""
    place = place_of_caller()
    return [
        Finding(
            f"{operation}/{requirement.rule}",
            Severity.ERROR,
            requirement.text,
            place,
            op=operation,
            got=requirement.got(request),
            expected=requirement.expected(request),
            hint=requirement.hint(request),
            section=f"PTX ISA, {requirement.section}",
        )
        for requirement in requirements
        if not requirement.holds(request)
    ]
