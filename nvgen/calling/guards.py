"""Checks of arguments of the builder's methods: errors with the user's line.

Layer: nvgen.calling.  A method of a guarded class raises errors of nvgen without frames of nvgen.
Names, counts and choices of the wrong type are rejected even where the method would go on; where a
call ends with an error that is not nvgen's, an argument whose type is not that of its annotation is
blamed.
"""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn, TypeVar

from intrinsics.findings import NOWHERE, InputError, NvgenError
from nvgen.calling.argument_types import Closed, closed_types, default_text, fits, hints, words_of
from nvgen.calling.callers import is_file_of_ours, place_of_caller
from nvgen.calling.refusals import described, refuse
from nvgen.calling.tracebacks import inner_cause, without_ours

Class = TypeVar("Class")
_OPERATORS = frozenset({
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv",
    "mod", "rmod", "pow", "and", "rand", "or", "ror", "xor", "rxor", "lshift", "rshift", "lt", "le",
    "gt", "ge", "invert", "neg", "getitem", "setitem", "call", "init",
})  # fmt: skip
_INSIDE = frozenset({
    "at_caller", "raw", "declare", "changing", "like", "taken", "made", "spread", "lacks",
    "known_target", "declared_map", "perform", "typed", "splat",
})  # fmt: skip
"""Methods that nvgen calls itself, for each instruction."""


def guarded(made: type[Class]) -> type[Class]:
    """The class, with argument checks around its public methods and operators."""
    for name, member in list(vars(made).items()):
        is_operator = name.startswith("__") and name.strip("_") in _OPERATORS
        is_public = not name.startswith("_") and name not in _INSIDE
        if isinstance(member, types.FunctionType) and (is_operator or is_public):
            if "__dataclass_fields__" not in vars(made) or name != "__init__":
                setattr(made, name, guard(member))
        elif isinstance(member, property) and name in _REFUSING and member.fget is not None:
            setattr(made, name, property(guard(member.fget), doc=member.__doc__))
    return made


_PYTHON = str(Path(os.__file__).parent) + os.sep
"""The folder of Python's own modules."""
_REFUSING = frozenset({"note", "tile", "pointer"})
"""Properties that may raise."""


def guard(function: Callable[..., object]) -> Callable[..., object]:
    """The function, with argument checks."""
    is_block = hasattr(function, "__wrapped__") and inspect.isgeneratorfunction(
        inspect.unwrap(function)
    )
    known: list[Closed] = []

    @functools.wraps(function)
    def called(*args: object, **named: object) -> object:
        __tracebackhide__ = True
        try:
            if not known:
                known.append(closed_types(function))
            result = function(*args, **named)
            if not _is_closed(known[0], args, named):  # the function's own errors come first
                refused = _problem(function, args, named)
                if refused is not None:
                    raise refused
        except NvgenError as error:
            if is_about_arguments(error) and (own := _problem(function, args, named)) is not None:
                raise own from None  # with the name that the user called
            _place(error)
            raise without_ours(error) from error.__cause__  # NVGEN_TRACEBACK=1: from inside nvgen
        except Exception as error:
            refused = blamed(function, args, named, error)
            if refused is None:
                raise
            raise refused from inner_cause(error)
        return GuardedBlock(function, args, named, result) if is_block else result

    return called


def _is_closed(known: Closed, args: tuple[object, ...], named: dict[str, object]) -> bool:
    """Whether names, counts and choices have their types."""
    by_place, by_name = known
    for kinds, value in zip(by_place, args, strict=False):
        if kinds is not None and not isinstance(value, kinds):
            return False
    for name in named:
        if name in by_name and not isinstance(named[name], by_name[name]):
            return False
    return True


class GuardedBlock:
    """A context manager whose errors end at the user's line; the kernel's `not_entered` has it
    until it is entered, and `entered` then until it ends.
    """

    def __init__(
        self,
        function: Callable[..., object],
        args: tuple[object, ...],
        named: dict[str, object],
        inner: object,
    ) -> None:
        assert isinstance(inner, AbstractContextManager)
        self._inner: AbstractContextManager[object, bool | None] = inner
        self._called = function, args, named
        self._place = place_of_caller()
        owner = args[0]  # of what a builder lacks it would look for the nearest name
        kernel = owner if hasattr(owner, "not_entered") else getattr(owner, "builder", owner)
        self._waiting: list[GuardedBlock] = kernel.not_entered  # type: ignore[attr-defined]
        self._waiting.append(self)
        self._entered: list[GuardedBlock] = kernel.entered  # type: ignore[attr-defined]

    @property
    def never_entered(self) -> InputError:
        """The error about a block whose `with` was never entered."""
        name = spelled(self._called[0], self._called[1][0])
        found = refuse(f"{name}(…) is a block, and nothing is in it", got="a call without `with`",
                       expected=f"with {name}(…): …")  # fmt: skip
        return InputError([found.findings[0].at(self._place)])

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # protocols of Python's: this is none of their objects
            raise AttributeError(name)
        called = spelled(self._called[0], self._called[1][0])
        raise refuse(f"{called}(…) is a block: what it gives is there inside of it",
                     got=f"its .{name}, without `with`",
                     expected=f"with {called}(…) as x: x.{name}")  # fmt: skip

    def __iter__(self) -> NoReturn:
        name = getattr(self._called[0], "__name__", "range")
        raise refuse("a block is no loop of Python's", got=f"an iteration over b.{name}(…)",
                     expected=f"with b.{name}(…) as x:")  # fmt: skip

    def __enter__(self) -> object:
        __tracebackhide__ = True
        if self not in self._waiting:
            name = spelled(self._called[0], self._called[1][0])
            raise refuse("a block is entered once", got=f"a second `with` of one {name}(…)",
                         expected=f"with {name}(…): …, a new one")  # fmt: skip
        self._waiting.remove(self)
        try:
            given = self._inner.__enter__()
        except NvgenError as error:
            raise without_ours(error) from error.__cause__  # NVGEN_TRACEBACK=1: from inside nvgen
        except Exception as error:
            refused = blamed(*self._called, error)
            if refused is None:
                raise
            raise refused from inner_cause(error)
        self._entered.append(self)  # behind the blocks that it is made of
        return given

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: types.TracebackType | None,
    ) -> bool | None:
        __tracebackhide__ = True
        is_innermost = self._entered[-1] is self
        self._entered.remove(self)
        if kind is None and not is_innermost:
            raise refuse("a block ends before those that were entered in it",
                         got=f"the end of {spelled(self._called[0], self._called[1][0])}(…)",
                         expected="the end of the block that was entered last",
                         hint="one thread of Python builds a kernel")  # fmt: skip
        try:
            return self._inner.__exit__(kind, error, place)
        except NvgenError as own:
            raise without_ours(own) from own.__cause__  # NVGEN_TRACEBACK=1: from inside nvgen


def _place(error: NvgenError) -> None:
    """Add the user's line to findings without a source location."""
    if any(finding.place == NOWHERE for finding in error.findings):
        here = place_of_caller()
        placed = [f.at(here) if f.place == NOWHERE else f for f in error.findings]
        NvgenError.__init__(error, placed)


def is_about_arguments(error: NvgenError) -> bool:
    """Whether the error is about argument types of an inner call."""
    return error.findings[0].rule in ("builder/arguments", "builder/argument-type")


def blamed(
    function: Callable[..., object],
    args: tuple[object, ...],
    named: dict[str, object],
    error: Exception,
) -> InputError | None:
    """The error about the arguments of a call that ended with an error that is not nvgen's.

    None where all of them fit, or the error comes from a function of the user's.
    """
    frame = error.__traceback__
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if not is_file_of_ours(file) and not file.startswith(_PYTHON):
            return None
        frame = frame.tb_next
    return _problem(function, args, named)


def _problem(
    function: Callable[..., object], args: tuple[object, ...], named: dict[str, object]
) -> InputError | None:
    """The first argument that is missing, surplus, or not of its annotation's type."""
    signature = inspect.signature(function)
    name = spelled(function, args[0])
    try:
        bound = signature.bind(*args, **named)
    except TypeError as error:
        return ill_called(name, signature, args[1:], named, error)
    types_ = hints(function)
    for parameter, value in bound.arguments.items():
        one = signature.parameters[parameter]
        if one.kind is one.VAR_KEYWORD:
            continue
        values = value if one.kind is one.VAR_POSITIONAL else (value,)
        for each in values:
            if parameter in types_ and not fits(each, types_[parameter]):
                return refuse(
                    f"{name}: `{parameter}` has another type", rule="argument-type",
                    got=described(each), expected=words_of(one.annotation, types_[parameter]),
                    hint=getattr(types_[parameter], "instead", ""),
                )  # fmt: skip
    return None


def ill_called(
    name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    named: dict[str, object],
    error: TypeError,
) -> InputError:
    """The error about missing or surplus arguments."""
    return refuse(
        f"{name}: {error}", rule="arguments", got=_given(args, named),
        expected=f"{name}({', '.join(_parameters(signature))})",
    )  # fmt: skip


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    """The parameters after `self`, without their types."""
    is_named = False
    for one in [*signature.parameters.values()][1:]:
        if one.kind is one.KEYWORD_ONLY and not is_named:
            yield "*"
        is_named = is_named or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        default = "" if one.default is one.empty else f"={default_text(one.default)}"
        yield ("*" if one.kind is one.VAR_POSITIONAL else "") + one.name + default


def spelled(function: Callable[..., object], of: object) -> str:
    """The call as a user writes it: `b.wait`, `SharedTile.part`, `KernelBuilder`."""
    name, made = inspect.unwrap(function).__name__, type(of)
    if name == "__init__":
        return made.__name__
    is_builder = any(one.__name__ == "BuilderBase" for one in made.__mro__)
    return f"b.{name}" if is_builder else f"{made.__name__}.{name}"


def _given(args: tuple[object, ...], named: dict[str, object]) -> str:
    shown = [*map(described, args), *(f"{name}={described(v)}" for name, v in named.items())]
    return ", ".join(shown) or "no arguments"
