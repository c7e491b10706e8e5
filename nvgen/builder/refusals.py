"""What the builder says of nonsense: at once, in words, with the line of Python that asked for it.

Layer: nvgen.builder.  `Requirement` is something that an operation asks for, as data.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, SupportsIndex, TypeVar

from intrinsics.findings import Finding, InputError, Severity
from nvgen.callers import place_of_caller

Asked = TypeVar("Asked")


def refuse(
    message: str,
    *,
    got: str = "",
    expected: str = "",
    hint: str = "",
    rule: str = "value",
    section: str = "",
) -> InputError:
    """What is said of an argument that makes no sense; `section` is the PTX ISA's."""
    found = Finding(
        f"builder/{rule}", Severity.ERROR, message, place_of_caller(), got=got, expected=expected,
        hint=hint, section=f"PTX ISA, {section}" if section else "",
    )  # fmt: skip
    return InputError([found])


def whole(value: object, what: str, least: int = 1) -> int:
    """A whole number that is known while the kernel is built, Python's or numpy's.

    Raises: InputError for anything else, and for less than `least`.
    """
    if not isinstance(value, SupportsIndex) or operator.index(value) < least:
        raise refuse(f"no {what}", got=described(value), expected=f"a whole number from {least}")
    return operator.index(value)


def described(value: object) -> str:
    """What was given in place of a number: the type of a value of the kernel."""
    type_ = type(value)
    return type_.__name__ if type_.__module__.startswith(__package__) else repr(value)


Function = TypeVar("Function", bound=Callable[..., object])


def function_of(given: Function) -> Function:
    """A function of Python's.

    Raises: InputError for what is none.
    """
    if not callable(given):
        raise refuse("no function", got=described(given), expected="a function: lambda x: …")
    return given


@dataclass(frozen=True, slots=True)
class Requirement(Generic[Asked]):
    """Something an operation asks for: its id, whether it holds, what was there, what should be.

    `hint` says how to get there.  Words that depend on the request are functions of it.
    """

    rule: str
    text: str
    holds: Callable[[Asked], bool]
    got: str | Callable[[Asked], str]
    expected: str | Callable[[Asked], str]
    section: str = "Matrix Shape (Table 39)"
    hint: str | Callable[[Asked], str] = ""


def _told(words: str | Callable[[Asked], str], request: Asked) -> str:
    return words if isinstance(words, str) else words(request)


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
            got=_told(requirement.got, request),
            expected=_told(requirement.expected, request),
            hint=_told(requirement.hint, request),
            section=f"PTX ISA, {requirement.section}",
        )
        for requirement in requirements
        if not requirement.holds(request)
    ]


def check(operation: str, requirements: Iterable[Requirement[Asked]], request: Asked) -> None:
    """Whether a request meets every requirement.

    Raises: InputError with one finding for each that it does not meet.
    """
    if findings := unmet(operation, requirements, request):
        raise InputError(findings)
