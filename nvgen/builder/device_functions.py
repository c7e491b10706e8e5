"""Functions on the device, which kernels call.

    @device_function
    def gelu(b, x):
        return x * (1 + (x * 0.7978845608).tanh()) * 0.5

Layer: nvgen.builder.  A call of a function is one of LLVM's, which its optimiser may inline; it is
built once for the types that it gets.  PTX ISA, call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from llvmlite import ir

from intrinsics.lazy_dataclass import dataclass
from nvgen.builder.regions import PlacedBuilder, Regions, Value
from nvgen.builder.roles import Roles
from nvgen.calling.callers import stack
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, refuse

Results: TypeAlias = Value | tuple[Value, ...] | None
"""The result of a function: a value, several as a tuple, or None."""

Body: TypeAlias = Callable[..., Results]
"""Builds a function: called with the builder and the parameters, it returns the results."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function of a module, and values of its result types."""

    function: ir.Function
    result: Results


class Functions(Roles):
    """The functions of a module."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.functions_made: dict[tuple[object, ...], Definition] = {}

    def defined(self, called: DeviceFunction, values: tuple[Value, ...]) -> Definition:
        """The function of this module for the types of these values, built if it is not there."""
        key = (called.name, called.body, *(value.words for value in values))
        if key not in self.functions_made:
            self.functions_made[key] = define(self, called, values)
        return self.functions_made[key]

    @contextmanager
    def in_body_of(self, function: ir.Function) -> Iterator[None]:
        """A block (`with`) that builds the body of a function, and then goes on where it was."""
        self.at_caller()
        outer = self._ir
        assert outer is not None
        kept = self.regions, self.scope, self._frames, self._variables
        self.regions, self._frames, self._variables = Regions(), [], []
        entry = function.append_basic_block("entry")
        self._ir = PlacedBuilder(entry, self.regions, outer.debug.beside(function), stack())
        try:
            yield
        finally:
            self._ir = outer
            self.regions, self.scope, self._frames, self._variables = kept


@guarded
@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A device function; a call passes values of the kernel."""

    name: str
    body: Body

    def __call__(self, *values: Value) -> Results:
        """Call it: numbers, registers and addresses are passed, and come back; several as a tuple.

        In each kernel it is built once for the types of what is passed, in the scope of its first
        call.

        Raises: InputError for what is no value of the kernel, for nothing, and where the body uses
        values of the kernel that are not passed.
        """
        for value in values:
            if not hasattr(value, "taken"):
                raise refuse(
                    f"{self.name} is called with what is no value of the kernel",
                    got=described(value),
                    expected="numbers, registers or addresses: b.f32(1.0)",
                )
        if not values:
            raise refuse(f"{self.name} is called with nothing", expected="a value of the kernel")
        self._check_count(values)
        b = values[0].builder
        assert isinstance(b, Functions)
        defined = b.defined(self, values)
        found = b.at_caller().call(defined.function, [value.value for value in values])
        if not isinstance(defined.result, tuple):
            return None if defined.result is None else defined.result.like(found)
        parts = enumerate(defined.result)
        return tuple(one.like(b.at_caller().extract_value(found, i)) for i, one in parts)

    def _check_count(self, values: tuple[Value, ...]) -> None:
        """Whether the function takes so many values."""
        signature = inspect.signature(self.body)
        try:
            signature.bind(None, *values)
        except TypeError:
            names = ", ".join(list(signature.parameters)[1:])
            raise refuse(
                f"{self.name} takes other values",
                got=f"{len(values)} value{'s' * (len(values) != 1)}",
                expected=f"{self.name}({names})",
            ) from None


def device_function(body: Body) -> DeviceFunction:
    """Make a device function of a Python one: `body(b, x, …)` builds it.

    Raises: InputError for what is no function.
    """
    if not callable(body):
        raise refuse("no function", got=described(body), expected="a function of Python")
    return DeviceFunction(body.__name__, body)


def define(b: Functions, called: DeviceFunction, values: tuple[Value, ...]) -> Definition:
    """Build a function for the types of some values."""
    number = sum(name == called.name for name, *_ in b.functions_made)
    name = f"{called.name}.{number}" if number else called.name
    types = [value.value.type for value in values]
    function = ir.Function(b.module, ir.FunctionType(ir.VoidType(), types), f"{b.name}.{name}")
    function.linkage = "internal"
    function.attributes.add("convergent")  # its callees may synchronise
    given = [value.like(argument) for value, argument in zip(values, function.args, strict=True)]
    try:
        with b.in_body_of(function):
            result = called.body(b, *given)
            _close(b, function, called.name, result)
    except BaseException:
        del b.module.globals[function.name]  # drop an incomplete function
        raise
    return Definition(function, result)


def _close(b: Functions, function: ir.Function, name: str, result: Results) -> None:
    """End the body with what comes back, and give the function its type."""
    if result is None:
        b.at_caller().ret_void()
        return
    several = result if isinstance(result, tuple) else (result,)
    strange = [described(one) for one in several if not hasattr(one, "taken")]
    if strange or not several:
        expected = "a value of the kernel, several in a tuple, or None"
        raise refuse(f"{name} gives no value", got=", ".join(strange) or "()", expected=expected)
    raw = several[0].value
    if isinstance(result, tuple):
        type_ = ir.LiteralStructType([one.value.type for one in result])
        raw = ir.Constant(type_, ir.Undefined)
        for number, one in enumerate(result):
            raw = b.at_caller().insert_value(raw, one.value, number)
    function.ftype = ir.FunctionType(raw.type, function.ftype.args)
    function.type = function.ftype.as_pointer()
    function.return_value = ir.values.ReturnValue(function, raw.type)
    b.at_caller().ret(raw)
