"""Plans of programs: plain data that hypothesis draws and shrinks.

A plan never names a value.  Every step brings a few bytes of its own, and the writer of the program
turns them into operands out of what there is at that place.  So each part of a plan can be taken
away, and what remains is a program again: nothing is filtered, and a failure shrinks to few steps.
Zero is always the simplest choice.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from tests.property.irtypes import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    I128,
    Array,
    Int,
    Scalar,
    Simple,
    Struct,
    Type,
    Vector,
)

T = TypeVar("T")

FEATURES = frozenset(
    {
        "division",
        "intrinsics",  # min, max, abs, counts, funnel shifts, saturation without a sign
        "saturation",  # with a sign, and of shifts
        "overflow",
        "odd",  # i7, i24, i33, i48
        "i128",
        "floats",  # float and double
        "half",
        "bfloat",
        "vectors",
        "dynamic",  # a computed index of a vector's element
        "reductions",  # of all lanes of a vector
        "lanes",  # reversed, spliced, interleaved
        "masked",  # loads and stores of some lanes
        "classes",  # of floats; scaled by a power of two, rounded to integers
        "aggregates",  # structs and arrays as values
        "memory",  # alloca, load, store
        "bytes",  # the same memory read and written as different types
        "globals",
        "shared",
        "generic",  # addrspacecast
        "copies",  # memcpy, memmove, memset
        "padding",  # copied
        "control",  # branches, loops, phis
        "switch",
        "return",  # in the middle, and unreachable blocks
        "calls",
        "pointers",  # of functions' parameters, byval too
        "recursion",
    }
)
"""What programs can contain beyond additions and comparisons of i1 to i64."""


class Picks:
    """Small numbers out of a step's bytes, one after the other; 0 when they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        if self._next >= len(self._data):
            return 0
        self._next += 1
        return self._data[self._next - 1] % count

    def one(self, choices: Sequence[T]) -> T:
        """One of the choices; the first is the simplest."""
        return choices[self.below(len(choices))]


@dataclass(frozen=True)
class Step:
    """One statement: what it does, a type, choices, and statements inside."""

    kind: str
    type: Type
    data: bytes
    bodies: tuple[tuple[Step, ...], ...] = ()

    @property
    def picks(self) -> Picks:
        return Picks(self.data)


@dataclass(frozen=True)
class FunctionPlan:
    """A function that those after it may call."""

    parameters: tuple[tuple[str, Type], ...]
    """Of each parameter its kind (value, byval or pointer) and its type."""
    result: Type | None
    body: tuple[Step, ...]
    data: bytes
    recursive: bool = False


@dataclass(frozen=True)
class Plan:
    """A kernel and the functions it may call."""

    functions: tuple[FunctionPlan, ...] = ()
    body: tuple[Step, ...] = ()
    features: frozenset[str] = field(default=FEATURES)


FLAT = {
    "arith": "",
    "shift": "",
    "icmp": "",
    "select": "",
    "cast": "",
    "divide": "division",
    "intrinsic": "intrinsics",
    "overflow": "overflow",
    "float": "floats",
    "fcmp": "floats",
    "convert": "floats",
    "extract": "vectors",
    "insert": "vectors",
    "shuffle": "vectors",
    "bits": "vectors",
    "reduce": "reductions",
    "lanes": "lanes",
    "masked": "masked",
    "classify": "classes",
    "compose": "aggregates",
    "decompose": "aggregates",
    "load": "memory",
    "store": "memory",
    "peek": "bytes",
    "poke": "bytes",
    "global": "globals",
    "shared": "shared",
    "generic": "generic",
    "choose": "generic",
    "copy": "copies",
    "fill": "copies",
    "return": "return",
    "never": "return",
    "call": "calls",
}
"""Steps without steps inside, and the feature that each needs."""

OFTEN = {"arith": 3, "shift": 2, "divide": 2, "intrinsic": 5, "float": 7, "load": 2, "call": 2}
"""Steps with many forms, or of more use than others, are drawn more often."""

NESTED = {"if": "control", "loop": "control", "switch": "switch"}


def scalars(features: frozenset[str]) -> list[Scalar]:
    """The scalar types that features allow, the frequent ones several times."""
    found: list[Scalar] = [I32, I64, I32, I8, I16, I64, I1]
    if "odd" in features:
        found += [Int(7), Int(24), Int(33), Int(48)]
    if "i128" in features:
        found += [I128]
    if "floats" in features:
        found += [FLOAT, DOUBLE, FLOAT]
    if "half" in features:
        found += [HALF, HALF]
    if "bfloat" in features:
        found += [BFLOAT]
    return found


def scalar_type(picks: Picks, features: frozenset[str]) -> Scalar:
    """A type that features allow; the first is i32."""
    return picks.one(scalars(features))


def simple_type(picks: Picks, features: frozenset[str]) -> Simple:
    """A scalar or a vector."""
    if "vectors" in features and picks.below(3) == 2:
        return Vector(2 + picks.below(7), scalar_type(picks, features))
    return scalar_type(picks, features)


def any_type(picks: Picks, features: frozenset[str], depth: int = 2) -> Type:
    """A scalar, a vector or an aggregate."""
    kind = picks.below(6) if "aggregates" in features else 0
    if kind < 4 or not depth:
        return simple_type(picks, features)
    if kind == 4:
        return Array(1 + picks.below(4), any_type(picks, features, depth - 1))
    count = 1 + picks.below(4)
    parts = tuple(any_type(picks, features, depth - 1) for _ in range(count))
    return Struct(parts, packed=picks.below(4) == 3)


def allowed(table: dict[str, str], features: frozenset[str]) -> list[str]:
    """The kinds of a table whose feature is on, the frequent ones several times."""
    kinds = [kind for kind, feature in table.items() if not feature or feature in features]
    return kinds + [kind for kind in kinds for _ in range(OFTEN.get(kind, 1) - 1)]


_HEAD = 12
_data = st.binary(min_size=2 * _HEAD, max_size=2 * _HEAD)


def flat_step(data: bytes, features: frozenset[str]) -> Step:
    """The statement that bytes say: one draw, so that hypothesis is quick."""
    picks = Picks(data[:_HEAD])
    kind = picks.one(allowed(FLAT, features))
    return Step(kind, any_type(picks, features), data[_HEAD:])


def nested_step(data: bytes, bodies: list[tuple[Step, ...]], features: frozenset[str]) -> Step:
    """A statement with statements inside."""
    picks = Picks(data[:_HEAD])
    kind = picks.one(allowed(NESTED, features))
    return Step(kind, simple_type(picks, features), data[_HEAD:], tuple(bodies))


@functools.cache
def steps(features: frozenset[str], depth: int = 2) -> st.SearchStrategy[tuple[Step, ...]]:
    """A list of statements."""
    flat = _data.map(lambda data: flat_step(data, features))
    if not depth or not allowed(NESTED, features):
        return st.lists(flat, max_size=4).map(tuple)
    bodies = st.lists(steps(features, depth - 1), min_size=1, max_size=3)
    nested = st.builds(lambda data, inner: nested_step(data, inner, features), _data, bodies)
    return st.lists(st.one_of(flat, flat, flat, nested), max_size=8).map(tuple)


def function_plan(data: bytes, body: tuple[Step, ...], features: frozenset[str]) -> FunctionPlan:
    """A function whose signature bytes say."""
    picks = Picks(data[_HEAD:])
    kinds = ["value", "value", "byval", "pointer"] if "pointers" in features else ["value"]
    count = picks.below(5)
    result = None if picks.below(8) == 7 else any_type(picks, features)
    recursive = "recursion" in features and picks.below(3) == 2
    parameters = tuple((picks.one(kinds), any_type(picks, features)) for _ in range(count))
    return FunctionPlan(parameters, result, body, data[:_HEAD], recursive)


@functools.cache
def functions(features: frozenset[str]) -> st.SearchStrategy[tuple[FunctionPlan, ...]]:
    """Functions of several parameters and results."""
    if "calls" not in features:
        return st.just(())
    one = st.builds(
        lambda data, body: function_plan(data, body, features), _data, steps(features, 1)
    )
    return st.lists(one, max_size=3).map(tuple)


@functools.cache
def plans(features: frozenset[str] = FEATURES) -> st.SearchStrategy[Plan]:
    """Programs with everything that `features` allow."""
    body = st.tuples(steps(features), steps(features), steps(features))
    return st.builds(
        lambda made, lists: Plan(made, sum(lists, ()), features), functions(features), body
    )
