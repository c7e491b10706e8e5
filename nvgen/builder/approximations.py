"""Functions that PTX has no instruction for, as polynomials of f32.

Layer: nvgen.builder.  The coefficients are least-squares fits at Chebyshev nodes to the functions
of Python's `math`, rounded to f32; tests hold how far they are off.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Protocol, Self, TypeVar

from llvmlite import ir

from nvgen.builder.refusals import described, refuse
from nvgen.builder.regions import Host


class Condition(Protocol):
    """What a comparison gives."""

    @property
    def value(self) -> ir.Value:
        """It as llvmlite's."""


class Approximated(Protocol):
    """What a polynomial asks of a number."""

    @property
    def builder(self) -> Host:
        """The kernel that it is of."""

    @property
    def value(self) -> ir.Value:
        """It as llvmlite's."""

    def like(self, value: ir.Value) -> Self:
        """Another value of llvmlite's as a number of this type."""

    def taken(self, other: object) -> ir.Value:
        """A number of this type, or a Python number, as llvmlite's."""

    def fma(self, factor: Self | float, addend: Self | float) -> Self:
        """The number times `factor` plus `addend`."""

    def ex2(self) -> Self:
        """2 to the power of the number."""

    def __mul__(self, other: Self | float, /) -> Self: ...

    def __rsub__(self, other: Self | float, /) -> Self: ...

    def __lt__(self, other: object, /) -> Condition: ...

    def __gt__(self, other: object, /) -> Condition: ...


N = TypeVar("N", bound=Approximated)

_ODD = (
    1.1283791065216064, -0.3761262595653534, 0.11283597350120544, -0.02685432881116867,
    0.005189312156289816, -0.0008018855005502701, 7.882497448008507e-05,
)  # fmt: skip
"""erf(x) / x as a polynomial of x², for x up to 1."""

_TAIL = (
    0.0004434802394825965, -1.630496859550476, -0.9117016196250916, -0.1586247682571411,
    0.037991784512996674, -0.006814078893512487, 0.0008477041847072542, -6.458346615545452e-05,
    2.2511851511808345e-06,
)  # fmt: skip
"""The logarithm to base 2 of 1 - erf(x) as a polynomial of x, from 1 to 4, where f32 has 1."""

_WHOLE = 4.0
_MOST = 64
"""The greatest exponent: of a greater one the roundings of the products add up."""


def erf_of_size(size: N) -> N:
    """The error function of an f32 that is not negative; a NaN of a NaN."""
    whole = size.like(size.taken(_WHOLE))
    far = 1.0 - _polynomial(_chosen(size > _WHOLE, whole, size), _TAIL).ex2()
    return _chosen(size < 1.0, size * _polynomial(size * size, _ODD), far)


def _chosen(condition: Condition, yes: N, no: N) -> N:
    return yes.like(yes.builder.at_caller().select(condition.value, yes.value, no.value))


Powered = TypeVar("Powered")


def power(
    number: Powered, exponent: object, hint: str, product: Callable[[Powered, Powered], Powered]
) -> Powered:
    """A number to the power of a known exponent from 1 on: squares, and products of these.

    Raises: InputError for another exponent.
    """
    if not isinstance(exponent, Integral) or not 1 <= operator.index(exponent) <= _MOST:
        got, expected = described(exponent), f"a whole Python number from 1 to {_MOST}"
        raise refuse("no exponent", got=got, expected=expected, hint=hint)
    found = number
    for digit in f"{operator.index(exponent):b}"[1:]:
        found = product(found, found)
        if digit == "1":
            found = product(found, number)
    return found


def _polynomial(x: N, coefficients: Sequence[float]) -> N:
    """By Horner's rule, the constant first among the coefficients."""
    *rest, highest = coefficients
    found = x.like(x.taken(highest))
    for coefficient in reversed(rest):
        found = found.fma(x, coefficient)
    return found
