"""The annotated types of a function's parameters: whether a value has one, and its description.

Layer: nvgen.calling.  Every value is accepted for an annotation that is not understood.
"""

from __future__ import annotations

import collections.abc
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from typing import SupportsFloat, SupportsIndex, TypeAlias, TypeGuard

_WORDS = {
    "int": "a whole number", "str": "a string", "float": "a number", "bool": "True or False",
    "None": "None",
    "IntLike": "an integer of the kernel, or Python's", "Int": "an integer of the kernel",
    "WordLike": "an integer of the kernel, or Python's", "Barrier": "an mbarrier",
    "FloatLike": "a float of the kernel, or Python's", "Pointer": "an address (Pointer)",
    "NumberType": "a number type: u32, f32 and so on",
    "ElementType": "an element type: bf16, e4m3 and so on",
}  # fmt: skip
_WIDER = {int: SupportsIndex, float: SupportsFloat}
"""Protocols that numpy's numbers implement, too."""


Closed: TypeAlias = "tuple[tuple[tuple[type, ...] | None, ...], dict[str, tuple[type, ...]]]"
"""The types of whole numbers, strings and choices: of parameters by place, and by name."""


def hints(function: Callable[..., object]) -> dict[str, object]:
    """The types of a function's parameters, as far as they can be resolved."""
    inner = inspect.unwrap(function)
    names = vars(sys.modules[inner.__module__])
    found: dict[str, object] = {}
    for name, one in inspect.signature(inner).parameters.items():
        try:
            found[name] = eval(one.annotation, dict(names))
        except Exception:
            continue
    return found


def closed_types(function: Callable[..., object]) -> Closed:
    """The types of parameters that are whole numbers, strings and choices, by place and name."""
    by_name: dict[str, tuple[type, ...]] = {}
    by_place: list[tuple[type, ...] | None] = []
    types_ = hints(function)
    for name, one in inspect.signature(inspect.unwrap(function)).parameters.items():
        kinds = _closed(types_.get(name))
        if one.kind is one.VAR_POSITIONAL:
            break
        if kinds is not None:
            by_name[name] = kinds
        if one.kind is not one.KEYWORD_ONLY:
            by_place.append(kinds)
    return tuple(by_place), by_name


def _closed(hint: object) -> tuple[type, ...] | None:
    parts = typing.get_args(hint) if _is_union(hint) else (hint,)
    kinds: list[type] = []
    for part in parts:
        if part is int:
            kinds.append(SupportsIndex)
        elif part is str or part is types.NoneType or _is_choice(part):
            assert isinstance(part, type)
            kinds.append(part)
        else:
            return None
    return tuple(kinds)


def _is_choice(hint: object) -> TypeGuard[type[Enum]]:
    return isinstance(hint, type) and issubclass(hint, Enum)


def _is_union(hint: object) -> bool:
    return isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union


def fits(value: object, hint: object) -> bool:
    """Whether a value may be of a type."""
    if _is_union(hint):
        return any(fits(value, part) for part in typing.get_args(hint))
    if hint is None or hint is types.NoneType:
        return value is None
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return isinstance(value, (tuple, list)) and _all_fit(value, parts)
    if origin is collections.abc.Callable:
        return callable(value)
    if origin is collections.abc.Sequence:
        return (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and all(fits(one, parts[0]) for one in value)
        )
    kind = origin if isinstance(origin, type) else hint
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, _WIDER.get(kind, kind))


def _all_fit(values: Sequence[object], parts: tuple[object, ...]) -> bool:
    if len(parts) == 2 and parts[1] is Ellipsis:
        return all(fits(one, parts[0]) for one in values)
    return len(values) == len(parts) and all(map(fits, values, parts))


def words_of(annotation: str, hint: object = None) -> str:
    """A description of an annotation, with the members of an enumeration."""
    if _is_choice(hint) and annotation not in _WORDS:
        return " or ".join(f"{hint.__name__}.{one.name}" for one in hint)
    parts = re.split(r" \| (?![^\[]*\])", str(annotation))
    return " or ".join(_word(part) for part in parts)


def default_text(value: object) -> str:
    """A default as a signature has it."""
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)


def _word(part: str) -> str:
    if part.startswith("tuple["):
        return f"a tuple: ({part[6:-1]})"
    if part.startswith(("Sequence[", "Iterable[")):
        return f"a list, each {_word(part[9:-1])}"
    if part.startswith("Callable["):
        return "a function: " + part[9:-1].replace("[", "(").replace("], ", ") -> ")
    return _WORDS.get(part, part)
