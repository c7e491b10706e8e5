"""Functions on the device that several kernels call, each built once for the types that it gets.

    @device_function
    def gelu(b, x):
        return x * (1 + (x * 0.7978845608).tanh()) * 0.5

Layer: nvgen.builder.  A call is one of LLVM's, which its optimiser may inline.  PTX ISA, call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from llvmlite import ir

from nvgen.builder.control import Scope, Value
from nvgen.builder.refusals import described, refuse
from nvgen.builder.regions import Changing, Frame, PlacedBuilder, Regions
from nvgen.callers import stack

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

Body: TypeAlias = "Callable[..., Value | None]"
"""What builds a function: the builder, then the values that are passed; gives what comes back."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function of a module: LLVM's, and a value of the type that comes back."""

    function: ir.Function
    result: Value | None


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function of the device; a call passes values of the kernel."""

    name: str
    body: Body

    def __call__(self, *values: Value) -> Value | None:
        """Call it: numbers, registers and addresses are passed, and one comes back.

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
        b = cast("KernelBuilder", values[0].builder)
        defined = b.defined(self, values)
        found = b.at_caller().call(defined.function, [value.value for value in values])
        return None if defined.result is None else defined.result.like(found)


def device_function(body: Body) -> DeviceFunction:
    """A function on the device of one in Python: `body(b, x, …)` builds it.

    Raises: InputError for what is no function.
    """
    if not callable(body):
        raise refuse("no function", got=described(body), expected="a function of Python")
    return DeviceFunction(body.__name__, body)


def define(b: KernelBuilder, called: DeviceFunction, values: tuple[Value, ...]) -> Definition:
    """Build a function for the types of some values.

    Raises: InputError for what comes back and is no value.
    """
    number = sum(name == called.name for name, *_ in b.functions_made)
    name = f"{called.name}.{number}" if number else called.name
    b.at_caller()
    outer = b.current_builder
    types = [value.value.type for value in values]
    function = ir.Function(b.module, ir.FunctionType(ir.VoidType(), types), f"{b.name}.{name}")
    function.linkage = "internal"
    function.attributes.add("convergent")  # what it calls may wait for other threads
    kept = b.leave_for_function()
    try:
        entry = function.append_basic_block("entry")
        b.enter_function(PlacedBuilder(entry, b.regions, outer.debug.beside(function), stack()))
        result = called.body(b, *(v.like(a) for v, a in zip(values, function.args, strict=True)))
        _close(b, function, called.name, result)
    except BaseException:
        del b.module.globals[function.name]  # half of it is none
        raise
    finally:
        b.come_back(kept)
    return Definition(function, result)


def _close(b: KernelBuilder, function: ir.Function, name: str, result: Value | None) -> None:
    if result is None:
        b.at_caller().ret_void()
        return
    if not hasattr(result, "taken"):
        raise refuse(f"{name} gives no value", got=described(result), expected="a value, or None")
    raw = result.value
    function.ftype = ir.FunctionType(raw.type, function.ftype.args)
    function.type = function.ftype.as_pointer()
    function.return_value = ir.values.ReturnValue(function, raw.type)
    b.at_caller().ret(raw)


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the kernel was being built when a function began."""

    builder: PlacedBuilder
    regions: Regions
    scope: Scope
    frames: list[Frame]
    variables: list[Changing]
