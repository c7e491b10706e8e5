"""Dataclasses of ours do what those of the standard library do: the oracle is its decorator."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from itertools import product

import pytest

from intrinsics import lazy_dataclass
from intrinsics.lazy_dataclass import dataclass

Decorator = Callable[..., Callable[[type], type]]
OPTIONS: list[dict[str, bool]] = [
    {"frozen": frozen, "slots": slots, "eq": eq, **more}
    for frozen, slots, eq in product((False, True), repeat=3)
    for more in ({}, {"repr": False}, *([{"unsafe_hash": True}, {"order": True}] if eq else []))
]


def pair(options: dict[str, bool], make: Callable[[Decorator], type]) -> tuple[type, type]:
    """A class of ours, and the same one of the standard library."""
    return (
        make(lambda: lazy_dataclass.dataclass(**options)),
        make(lambda: dataclasses.dataclass(**options)),
    )


def shape(decorator: Decorator) -> type:
    """A class with every kind of field."""

    @decorator()
    class Shape:
        """Rows and columns."""

        rows: int
        columns: int = 8
        names: list[str] = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        unhashed: int = field(default=4, hash=False)
        cells: int = field(init=False)
        count: int = field(init=False, default=0)
        seen: list[int] = field(init=False, default_factory=list, compare=False)
        unit: str = field(default="B", kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "cells", self.rows * self.columns)

    return Shape


def below(self: object, only: int) -> None:
    """An `__init__` that a class below has."""


def parameters(shape: type) -> list[inspect.Parameter]:
    """What `help` shows."""
    return list(inspect.signature(shape).parameters.values())


CALLS: list[Callable[[type], object]] = [
    lambda shape: repr(shape(2)),
    lambda shape: repr(shape(2, 3, ["a"], 5, 6, unit="KiB")),
    lambda shape: repr(shape(rows=2, columns=4)),
    lambda shape: shape(),
    lambda shape: shape(1, 2, [], 3, 4, "no keyword"),
    lambda shape: shape(1, other=2),
    lambda shape: shape(1).names is shape(1).names,
    lambda shape: shape(1) == shape(1, names=["not compared"]),
    lambda shape: (shape(1) == shape(2), shape(1) != shape(2), shape(1) == 1),
    lambda shape: shape(1) < shape(2),
    lambda shape: (shape(1) <= shape(1), shape(3) > shape(2), shape(1) >= shape(2)),
    lambda shape: shape(1) < 1,
    lambda shape: hash(shape(1)) == hash(shape(1, unhashed=9)),
    lambda shape: hash(shape(1)) == hash((1, 8, 3, 8, 0, "B")),
    lambda shape: setattr(one := shape(1), "rows", 5) or one.rows,  # type: ignore[func-returns-value]
    lambda shape: delattr(shape(1), "rows"),
    lambda shape: repr(dataclasses.replace(shape(1), rows=3)),
    lambda shape: dataclasses.asdict(shape(1)),
    lambda shape: repr(copy.deepcopy(shape(1, names=["a"]))),
    lambda shape: [f.name for f in dataclasses.fields(shape)],
    lambda shape: shape.__match_args__,  # type: ignore[attr-defined]
    lambda shape: hasattr(shape(1), "__dict__"),
    lambda shape: shape.__init__.__name__,  # type: ignore[misc]
    lambda shape: [(p.name, p.kind, p.annotation) for p in parameters(shape)],
    lambda shape: [p.default for p in parameters(shape) if p.name != "names"],
    lambda shape: [p.name for p in parameters(type("Below", (shape,), {"__init__": below}))],
]


def outcome(call: Callable[[type], object], cls: type) -> object:
    """What a call gives, or the error that it ends with."""
    try:
        return call(cls)
    except (TypeError, AttributeError) as error:
        told = str(error) if isinstance(error, TypeError) else ""
        return type(error), told.partition(" at 0x")[0]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_alike(options: dict[str, bool]) -> None:
    """Each call has the same result, the first time and the second."""
    ours, theirs = pair(options, shape)
    for _ in range(2):
        for at, call in enumerate(CALLS):
            if options.get("repr") is False and isinstance(outcome(call, theirs), str):
                continue  # the address of an object
            assert outcome(call, ours) == outcome(call, theirs), (at, inspect.getsource(call))


def methods(decorator: Decorator) -> type:
    """A class with methods of its own."""

    @decorator()
    class Own:
        number: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    return Own


def derived(decorator: Decorator) -> type:
    """A class with a field more than its base, and another default."""

    @decorator()
    class Base:
        first: int
        second: int = 2

    @decorator()
    class Derived(Base):
        second: int = 3
        third: int = 4

    return Derived


@pytest.mark.parametrize("options", [one for one in OPTIONS if "unsafe_hash" not in one], ids=str)
@pytest.mark.parametrize("make", [methods, derived])
def test_own_methods_and_bases(make: Callable[[Decorator], type], options: dict[str, bool]) -> None:
    ours, theirs = pair(options, make)
    one, other = ours(1), theirs(1)
    assert [getattr(one, f.name) for f in dataclasses.fields(ours)] == [
        getattr(other, f.name) for f in dataclasses.fields(theirs)
    ]
    assert (one == ours(1)) is (other == theirs(1))
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    if make is methods or options.get("repr", True):
        assert repr(one) == repr(other)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A class that pickle finds by its name."""

    number: int
    other: Frozen | None = None


@dataclass(slots=True)
class Node:
    """A class that may contain itself."""

    next: Node | None = None


def test_pickle() -> None:
    assert pickle.loads(pickle.dumps(Frozen(1, Frozen(2)))) == Frozen(1, Frozen(2))


def test_repr_of_a_circle() -> None:
    node = Node()
    node.next = node
    assert repr(node) == "Node(next=...)"


def test_methods_are_compiled_when_called() -> None:
    """What nobody calls costs nothing: the aim of it all."""

    @dataclass(frozen=True)
    class Late:
        number: int

    before = dict(vars(Late))
    assert Late(1) == Late(1)
    changed = {name for name, method in vars(Late).items() if method is not before[name]}
    assert changed == {"__init__", "__eq__"}
