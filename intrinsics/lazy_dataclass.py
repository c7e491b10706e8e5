"""Dataclasses whose methods are compiled when they are first called.

`dataclasses.dataclass` compiles up to six methods of each class where it is defined, which takes a
millisecond: most of what a short command takes, and for most classes in vain.  Here a class has its
fields and slots at once, by the same decorator, and each method as soon as somebody calls it.

On 29 November 2026 callgrind counted 711 million instructions of `nvgen compile` on an empty
kernel, and 1,201 million with `dataclasses.dataclass` in its place; by the processor's time 0.29
and 0.37 s.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from dataclasses import MISSING
from types import MemberDescriptorType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_T = TypeVar("_T")
_Method: TypeAlias = Callable[..., object]

_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_COMPARISONS = {"__eq__": "==", **_ORDER}


def _lazy(
    *, frozen: bool = False, eq: bool = True, repr: bool = True, unsafe_hash: bool = False,
    order: bool = False, **others: bool,
) -> Callable[[type[_T]], type[_T]]:  # fmt: skip
    """A decorator with the options of `dataclasses.dataclass`, but for `init`."""

    def decorate(plain: type[_T]) -> type[_T]:
        own = dict(vars(plain))
        cls = dataclasses.dataclass(init=False, repr=False, eq=False, **others)(plain)
        methods: dict[str, object] = {
            name: _first_call(cls, name, frozen)
            for name in ("__init__", *["__eq__"] * eq, *[*_ORDER] * order)
            if name not in own
        }
        if repr and "__repr__" not in own:
            methods["__repr__"] = _repr
        if eq and own.get("__hash__") is None:
            hashes = frozen or unsafe_hash
            methods["__hash__"] = _first_call(cls, "__hash__", frozen) if hashes else None
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _restore}
        if "__init__" in methods:
            methods["__signature__"] = _Signature()
        for name, method in methods.items():
            setattr(cls, name, method)
        return cls

    return decorate


class _Signature:
    """The signature of a class by its fields, for `help` and `inspect`: its `__init__` may not be
    there yet.
    """

    def __get__(self, _: object, cls: type[DataclassInstance]) -> object:
        """A `Signature`; None where a class below has an `__init__` of its own."""
        maker = next(base for base in cls.__mro__ if "__init__" in vars(base))
        if "__signature__" not in vars(maker):
            return None
        from inspect import Parameter, Signature

        kinds = Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD
        fields = sorted(
            (f for f in dataclasses.fields(cls) if f.init), key=lambda f: bool(f.kw_only)
        )
        return Signature(
            [
                Parameter(f.name, kinds[not f.kw_only], annotation=f.type, default=_shown(f))
                for f in fields
            ]
        )


def _shown(f: dataclasses.Field[object]) -> object:
    """What a signature shows as a field's default."""
    from inspect import Parameter

    if f.default_factory is not MISSING:
        return f.default_factory()
    return Parameter.empty if f.default is MISSING else f.default


def _first_call(cls: type, name: str, frozen: bool) -> _Method:
    """A method that puts the right one in its place, and calls it."""

    def method(self: object, *args: object, **named: object) -> object:
        made = _init_of(cls, frozen) if name == "__init__" else _method_of(cls, name)
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, made)
        return made(self, *args, **named)

    method.__name__ = name
    return method


def _init_of(cls: type, frozen: bool) -> _Method:
    """`__init__`: a parameter for each field, and `__post_init__` at its end."""
    scope: dict[str, object] = {"_missing": MISSING}
    positional, named, lines = ["self"], list[str](), list[str]()
    for f in dataclasses.fields(cls):
        parameter = value = name = f.name
        is_made, has_default = f.default_factory is not MISSING, f.default is not MISSING
        if is_made:
            scope[f"_make_{name}"] = f.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif has_default:
            scope[f"_default_{name}"] = f.default
            parameter = f"{name}=_default_{name}"
        if f.init:
            (named if f.kw_only else positional).append(parameter)
        elif is_made or has_default:
            value = f"_make_{name}()" if is_made else f"_default_{name}"
        else:
            continue
        if frozen:
            scope[f"_set_{name}"] = _setter(cls, name)
        lines.append(f"_set_{name}(self, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = [*positional, *["*"] * bool(named), *named]
    return _compiled("__init__", parameters, lines or ["pass"], scope)


def _setter(cls: type, name: str) -> Callable[[object, object], None]:
    """What writes a field of a frozen class: its slot does in half the time of `__setattr__`."""
    if isinstance(slot := vars(cls).get(name), MemberDescriptorType):
        return slot.__set__
    return lambda self, value: object.__setattr__(self, name, value)


def _method_of(cls: type, name: str) -> _Method:
    """`__hash__`, or a comparison."""
    fields = dataclasses.fields(cls)
    if name == "__hash__":
        hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
        return _compiled(name, ["self"], [f"return hash({_values('self', hashed)})"], {})
    compared = [f.name for f in fields if f.compare]
    one, other = _values("self", compared), _values("other", compared)
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {one} {_COMPARISONS[name]} {other}",
        "return NotImplemented",
    ]
    return _compiled(name, ["self", "other"], lines, {})


def _values(of: str, names: list[str]) -> str:
    """The text of a tuple of attributes."""
    return "(" + "".join(f"{of}.{name}, " for name in names) + ")"


def _compiled(
    name: str, parameters: list[str], lines: list[str], scope: dict[str, object]
) -> _Method:
    """A method from its text, in which the names of `scope` are global."""
    text = f"def {name}({', '.join(parameters)}):\n " + "\n ".join(lines)
    exec(text, scope)
    made = scope[name]
    assert callable(made)
    return made


@reprlib.recursive_repr()
def _repr(self: DataclassInstance) -> str:
    """`__repr__`."""
    fields = dataclasses.fields(self)
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(_: object, name: str, *__: object) -> None:
    """`__setattr__` and `__delattr__` of a frozen class."""
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _restore(self: object, state: dict[str, object] | tuple[dict[str, object] | None, ...]) -> None:
    """`__setstate__` of a frozen class, which pickle and copy call: attributes, and slots."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            object.__setattr__(self, name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass`, but for when methods are compiled."""
        decorate = _lazy(**options)
        return decorate if cls is None else decorate(cls)


__all__ = ["dataclass"]
