"""Calls of what lies outside of the kernel: functions on the device, its runtime (printf,
assertions), inline PTX.

    @device_function
    def gelu(b, x):
        return x * (1 + (x * 0.7978845608).tanh()) * 0.5

Layer: nvgen.builder.  A call of a function is one of LLVM's, which its optimiser may inline; it is
built once for the types that it gets.  CUDA C++ Programming Guide, Formatted Output; Assertion.
LLVM Language Reference, Inline Assembler Expressions.  PTX ISA, call.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from llvmlite import ir

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from nvgen.calling.callers import calls_of_anybody, stack
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, refuse
from nvgen.instructions.roles import Roles
from nvgen.values.number_types import (
    PAIR_OF,
    NumberType,
    is_float,
    llvm_type_of,
    scalar_type,
    worded,
)
from nvgen.values.numbers import Float, Int, Number, number_of
from nvgen.values.pointers import Pointer
from nvgen.values.regions import PlacedBuilder, Regions, Value

T = ScalarType
_CONVERSION = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(hh|h|ll|l|z)?([a-zA-Z%])")
_WHOLE, _FRACTION = "diuxXoc", "fFeEgG"
_ALIGN = 8
_LETTERS = {1: "b", 16: "h", 32: "r", 64: "l"}
_FLOAT_LETTERS = {T.F32: "f", T.F64: "d"}


Results: TypeAlias = Value | tuple[Value, ...] | None
"""The result of a function: a value, several as a tuple, or None."""

Body: TypeAlias = Callable[..., Results]
"""Builds a function: called with the builder and the parameters, it returns the results."""


Definition: TypeAlias = tuple[ir.Function, Results]
"""A function of a module, and values of its result types."""


class DeviceCalls(Roles):
    """Calls of what lies outside of the kernel."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._texts: dict[str, ir.Value] = {}
        self.functions_made: dict[tuple[object, ...], Definition] = {}

    # ---- functions ---------------------------------------------------------------------------

    def defined(self, called: DeviceFunction, values: tuple[Value, ...]) -> Definition:
        """The function of this module for the types of these values, built if it is not there."""
        key = (called.name, called.body, *(value.words for value in values))
        if key in self.functions_made:
            return self.functions_made[key]
        number = sum(name == called.name for name, *_ in self.functions_made)
        name = f"{self.name}.{called.name}" + f".{number}" * (number > 0)
        types = [value.value.type for value in values]
        self.at_caller()
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), name)
        function.linkage = "internal"
        function.attributes.add("convergent")  # its callees may synchronise
        given = [one.like(argument) for one, argument in zip(values, function.args, strict=True)]
        outer, kept = self._ir, (self.regions, self.scope, self._frames, self._variables)
        assert outer is not None
        self.regions, self._frames, self._variables = Regions(), [], []
        entry, lines = function.append_basic_block("entry"), outer.debug.beside(function)
        self._ir = PlacedBuilder(entry, self.regions, lines, stack())
        try:
            result = called.body(self, *given)
            _close(self, function, called.name, result)
        except BaseException:
            del self.module.globals[function.name]  # drop an incomplete function
            raise
        finally:
            self._ir = outer
            self.regions, self.scope, self._frames, self._variables = kept
        self.functions_made[key] = function, result
        return function, result

    # ---- the host ----------------------------------------------------------------------------

    def printf(self, format: str, *values: Number | Pointer) -> None:
        """Print for each thread that executes it, as C's printf does; length modifiers are not
        needed: `%d` prints 64 bits too, `%f` an f16.

        A GPU prints when the host synchronises, the simulator at once.

        Raises: InputError for another number of values than conversions, or values that do not fit
        them.
        """
        kinds = [kind for kind in _CONVERSION.finditer(format) if kind[3] != "%"]
        if len(kinds) != len(values):
            raise refuse(
                "a format has another number of conversions than there are values",
                got=f"{len(values)} values",
                expected=f"{len(kinds)}: {', '.join(kind[0] for kind in kinds) or 'none'}",
            )
        passed = [_passed(kind, value) for kind, value in zip(kinds, values, strict=True)]
        lengths = iter("ll" if value.type.width == 64 and kind[3] in _WHOLE else ""
                       for kind, value in zip(kinds, passed, strict=True)
                       if kind[3] in _WHOLE)  # fmt: skip
        text = _CONVERSION.sub(
            lambda kind: f"%{kind[1]}{next(lengths)}{kind[3]}" if kind[3] in _WHOLE else kind[0],
            format,
        )
        anything = ir.PointerType()
        function = self.declare("vprintf", ir.FunctionType(ir.IntType(32), [anything, anything]))
        self.at_caller().call(function, [self._text(text), self._buffer(passed)])

    def device_assert(self, condition: Int, message: str) -> None:
        """End the kernel with an error unless `condition` holds in every thread that executes it.

        Raises: InputError for what is not a condition of the kernel.
        """
        anything, i32, i64 = ir.PointerType(), ir.IntType(32), ir.IntType(64)
        arguments = [anything, anything, i32, anything, i64]
        fail = self.declare("__assertfail", ir.FunctionType(ir.VoidType(), arguments))
        call = next(iter(calls_of_anybody()), None)
        file, line = (call.file, call.line) if call else ("", 0)
        with self.if_(condition ^ 1, "failed"):
            texts = [self._text(text) for text in (message, file, self.name)]
            given = [*texts[:2], ir.Constant(i32, line), texts[2], ir.Constant(i64, 1)]
            self.at_caller().call(fail, given)

    def _text(self, text: str) -> ir.Value:
        """A zero-terminated string in constant memory."""
        if text not in self._texts:
            try:
                data = bytearray(text.encode() + b"\0")
            except UnicodeEncodeError as error:
                got = f"{text[error.start]!r}, half of a character"
                raise refuse("no text", got=got, expected="what UTF-8 can say") from None
            type_ = ir.ArrayType(ir.IntType(8), len(data))
            variable = ir.GlobalVariable(self.module, type_, f"text.{len(self._texts)}")
            variable.linkage, variable.global_constant = "private", True
            variable.initializer = ir.Constant(type_, data)
            variable.type = ir.PointerType()
            self._texts[text] = variable
        return self._texts[text]

    def _buffer(self, values: Sequence[ir.Value]) -> ir.Value:
        """The address of a buffer with some values, each aligned to its size."""
        builder, places, size = self.at_caller(), [], 0
        for value in values:
            width = 8 if isinstance(value.type, ir.DoubleType) else value.type.width // 8
            size = -(-size // width) * width
            places.append(size)
            size += width
        if not values:
            return ir.Constant(ir.PointerType(), None)
        with builder.goto_entry_block():
            slot = builder.alloca(ir.ArrayType(ir.IntType(8), size))
            slot.align, slot.type = _ALIGN, ir.PointerType()
        for value, place in zip(values, places, strict=True):
            offset = [ir.Constant(ir.IntType(32), place)]
            at = builder.gep(slot, offset, source_etype=ir.IntType(8))
            builder.store(value, at)
        return slot

    # ---- PTX ---------------------------------------------------------------------------------

    def ptx(
        self,
        text: str,
        *values: Number | Pointer,
        result: NumberType | Sequence[NumberType] | None = None,
        volatile: bool = True,
    ) -> Number | tuple[Number, ...] | None:
        """Inline PTX: `b.ptx("lop3.b32 $0, $1, $2, 7, 30;", x, y, result=u32)`.

        `$0` and so on are the results, then the values.  It is judged and simulated like other
        instructions; statements that nvgen does not know are kept as they are.  If not `volatile`
        it may be moved, merged with another, or dropped where its results are not used.

        Raises: InputError for what is no value of the kernel, or no type of a register.
        """
        several = isinstance(result, (tuple, list))
        given = list(result) if isinstance(result, (tuple, list)) else [result] if result else []
        types = [scalar_type(one) for one in given]
        letters = [_letter(type_) for type_ in types]
        passed = [self._register(value) for value in values]
        held = [_held(type_) for type_ in types]
        returned = ir.VoidType() if not held else held[0] if len(held) == 1 else (
            ir.LiteralStructType(held)
        )  # fmt: skip
        constraints = [f"={letter}" for letter in letters] + [letter for letter, _ in passed]
        constraints += ["~{memory}"] if volatile else []
        signature = ir.FunctionType(returned, [value.type for _, value in passed])
        raw = self.at_caller().asm(
            signature, text, ",".join(constraints), [value for _, value in passed], volatile
        )
        if not types:
            return None
        parts = [raw] if len(types) == 1 else [
            self.at_caller().extract_value(raw, i) for i in range(len(types))
        ]  # fmt: skip
        numbers = tuple(
            number_of(self, part, type_) for part, type_ in zip(parts, types, strict=True)
        )
        return numbers if several else numbers[0]

    def _register(self, value: object) -> tuple[str, ir.Value]:
        """What PTX takes for a value: the letter of its register, and the register."""
        if isinstance(value, Pointer):
            bits = 32 if value.space in (3, 6, 7) else 64
            raw = self.at_caller().ptrtoint(value.value, ir.IntType(bits))
            return _LETTERS[bits], raw
        if isinstance(value, Float):
            held = _held(value.type)
            return _letter(value.type), self.at_caller().bitcast(value.value, held)
        if isinstance(value, Int) and value.bits in _LETTERS:
            return _LETTERS[value.bits], value.value
        expected = "a number of 16, 32 or 64 bits, a condition or an address"
        raise refuse("no value of the kernel for PTX", got=described(value), expected=expected)


def _passed(kind: re.Match[str], value: object) -> ir.Value:
    """A value as a variadic function takes it: 32 or 64 bits, a float as an f64."""
    letter = kind[3]
    if letter in _FRACTION and isinstance(value, Float) and value.type not in PAIR_OF.values():
        return value.to(T.F64).value
    if letter in _WHOLE and isinstance(value, Int):
        wide = T.S32 if value.signed else T.U32
        return (value if value.bits in (32, 64) else value.to(wide)).value
    if letter == "p" and isinstance(value, Pointer):
        at_caller = value.builder.at_caller()
        return at_caller.ptrtoint(value.value, ir.IntType(64))
    expected = "%d, %u, %x for integers, %f, %g for floats, %p for addresses"
    hint = "what is known while the kernel is built is a part of the format: f'…'"
    raise refuse(f"no value for {kind[0]}", got=worded(value), expected=expected, hint=hint)


def _letter(type_: ScalarType) -> str:
    """The letter of a register that holds a number, in constraints of inline assembly."""
    return _FLOAT_LETTERS.get(type_) or _LETTERS.get(max(type_.bits, 16), "l")


def _held(type_: ScalarType) -> ir.Type:
    """LLVM's type of such a register."""
    if type_ in _FLOAT_LETTERS or not is_float(type_):
        return llvm_type_of(type_)
    return ir.IntType(type_.bits)


# ---- functions -----------------------------------------------------------------------------------


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
        assert isinstance(b, DeviceCalls)
        function, result = b.defined(self, values)
        found = b.at_caller().call(function, [value.value for value in values])
        if not isinstance(result, tuple):
            return None if result is None else result.like(found)
        parts = enumerate(result)
        return tuple(one.like(b.at_caller().extract_value(found, i)) for i, one in parts)

    def _check_count(self, values: tuple[Value, ...]) -> None:
        """Whether the function takes so many values."""
        signature = inspect.signature(self.body)
        try:
            signature.bind(None, *values)
        except TypeError:
            names = ", ".join(list(signature.parameters)[1:])
            got = f"{len(values)} value{'s' * (len(values) != 1)}"
            expected = f"{self.name}({names})"
            raise refuse(f"{self.name} takes other values", got=got, expected=expected) from None


def device_function(body: Body) -> DeviceFunction:
    """Make a device function of a Python one: `body(b, x, …)` builds it.

    Raises: InputError for what is no function.
    """
    if not callable(body):
        raise refuse("no function", got=described(body), expected="a function of Python")
    return DeviceFunction(body.__name__, body)


def _close(b: DeviceCalls, function: ir.Function, name: str, result: Results) -> None:
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
