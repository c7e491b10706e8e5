"""The base of all parts of the builder: llvmlite's builder, Python lines, numbers.

Layer: nvgen.instructions.  Input: a kernel's name.  Output: an llvmlite module under construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from intrinsics.targets import Target
from nvgen.calling.guards import GuardedBlock, guarded
from nvgen.calling.refusals import described, refuse
from nvgen.launching.arguments import Parameter
from nvgen.llvm.ir_text import BFloatType, vector_value
from nvgen.values.number_types import constant, element_of, is_float
from nvgen.values.numbers import (
    Float,
    FloatLike,
    Given,
    Int,
    IntLike,
    Number,
    WordLike,
    as_float,
    pair_of,
)
from nvgen.values.pointers import Pointer
from nvgen.values.regions import Changing, Host, PlacedBuilder, Regions
from nvgen.values.vectors import Vector, vector_of

T = ScalarType
_F32 = ir.FloatType()
_FLOATS = {ir.FloatType: T.F32, ir.DoubleType: T.F64}


N = TypeVar("N", bound=Number)
Made = TypeVar("Made", Int, Float, covariant=True)


class Declaring(Host, Protocol):
    """A kernel that may still get parameters."""

    def declare_number(self, name: str, type_: ScalarType) -> None:
        """A parameter that is a number of a type."""


class NumberVerb(Generic[Made]):
    """`b.f32` and its like: a number of one type, of one kernel."""

    def __init__(self, type_: ScalarType, words: str, builder: Declaring | None = None) -> None:
        self.type, self._words, self._builder = type_, words, builder
        self.__doc__ = f"{words}: a parameter by its name, a constant, or by its bits."

    def __get__(self, instance: Declaring, owner: type) -> NumberVerb[Made]:
        return NumberVerb(self.type, self._words, instance)

    @overload
    def __call__(self, value: str) -> None: ...

    @overload
    def __call__(self, value: Given) -> Made: ...

    def __call__(self, value: str | Given) -> Number | None:
        """A number of the type: a parameter by its name, a constant, or by its bits.

        Raises: InputError for anything else, for a number beyond the type's, and for a parameter
        that is declared behind `begin` or twice.
        """
        b, type_ = self._builder, self.type
        assert b is not None
        if isinstance(value, str) and element_of(type_) is not type_:
            raise refuse("no parameter is a pair", got=type_.value, expected="two parameters")
        if isinstance(value, str):
            b.declare_number(value, type_)
            return None
        if is_float(type_):
            return Float(b, as_float(b, value, type_), type_)
        if isinstance(value, Float):
            value = value.word
        if not isinstance(value, Int):
            return Int(b, constant(value, type_.bits, signed=type_.is_signed), type_.is_signed)
        if value.bits != type_.bits:
            got, hint = value.words, "x.to(…) is the same number in another type"
            raise refuse("bits of another width", got=got, expected=f"{type_.bits} bits", hint=hint)
        return Int(b, value.value, type_.is_signed)


@guarded
class BuilderBase:
    """A module under construction, and its insertion point."""

    target: Target | None = None
    """The target that the kernel is for, where operations differ with it."""

    block: tuple[int, int, int]
    cluster: int

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = ir.Module(name=name)
        self.module.triple = "nvptx64-nvidia-cuda"
        self._functions: dict[str, ir.Function] = {}
        self._maps: dict[str, Parameter] = {}  # tensor maps among the parameters
        self.regions = Regions()
        self.block, self.cluster = (1, 1, 1), 1
        self._variables: list[Changing] = []
        self.not_entered: list[GuardedBlock] = []
        self.entered: list[GuardedBlock] = []
        self._ir: PlacedBuilder | None = None
        self._is_finished = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        guarded(cls)

    def at_caller(self) -> ir.IRBuilder:
        """llvmlite's builder, set to the lines of Python that called into nvgen."""
        if self._ir is None:
            self._check_unfinished()
            got = "no call of begin()"
            raise refuse("the kernel has no body yet", got=got, expected="b.begin() before")
        self._ir.at_caller()
        return self._ir

    def _check_unfinished(self) -> None:
        """Whether something can still be built: what came later would be left out in silence.

        Raises: InputError.
        """
        if self._is_finished:
            expected = "one call of b.finish(), behind everything else"
            raise refuse("the kernel is finished already", expected=expected)

    def known_target(self) -> Target:
        """The target that the kernel is for."""
        if self.target is None:
            raise refuse(
                "what this operation becomes depends on the target",
                got="no target",
                expected="KernelBuilder(…, target=…)",
            )
        return self.target

    def declared_map(self, tmap: Pointer) -> Parameter:
        """The declaration of a tensor map among the parameters."""
        known = self._maps.get(tmap.value.name) if isinstance(tmap, Pointer) else None
        if known is None:
            got = str(getattr(tmap, "value", tmap))
            expected = "a parameter: b.tile_map(name, …), then args[name]"
            raise refuse("no tensor map of this kernel", got=got, expected=expected)
        return known

    def declare(self, name: str, type_: ir.FunctionType) -> ir.Function:
        """The declaration of a function."""
        if name not in self._functions:
            self._functions[name] = ir.Function(self.module, type_, name)
        return self._functions[name]

    def changing(self, made: Changing) -> None:
        """Let branches and loops carry a value on."""
        self._variables.append(made)

    def declare_number(self, name: str, type_: ScalarType) -> None:
        """A parameter that is a number of a type; `b.f32(name)` and its like come here."""
        raise refuse("no parameter here", got=name)

    # ---- numbers by their type ---------------------------------------------------------------

    f16 = NumberVerb[Float](T.F16, "A number in f16")
    bf16 = NumberVerb[Float](T.BF16, "A number in bf16")
    f32 = NumberVerb[Float](T.F32, "A number in f32")
    f64 = NumberVerb[Float](T.F64, "A number in f64")
    f16x2 = NumberVerb[Float](T.F16X2, "Two numbers in f16, of a Python number twice the same")
    bf16x2 = NumberVerb[Float](T.BF16X2, "Two numbers in bf16, as f16x2")
    f32x2 = NumberVerb[Float](T.F32X2, "Two numbers in f32, as f16x2")
    i32 = NumberVerb[Int](T.S32, "A signed integer of 32 bits")
    u32 = NumberVerb[Int](T.U32, "An unsigned integer of 32 bits")
    i64 = NumberVerb[Int](T.S64, "A signed integer of 64 bits")
    u64 = NumberVerb[Int](T.U64, "An unsigned integer of 64 bits")

    # ---- integers and registers --------------------------------------------------------------

    def const(self, value: int, bits: int = 32) -> Int:
        """A constant."""
        return Int(self, constant(value, bits))

    @overload
    def select(
        self, condition: Int, if_true: IntLike, if_false: IntLike, bits: int = 32
    ) -> Int: ...

    @overload
    def select(self, condition: Int, if_true: Float, if_false: FloatLike) -> Float: ...

    @overload
    def select(self, condition: Int, if_true: float, if_false: Float) -> Float: ...

    @overload
    def select(self, condition: Int, if_true: Pointer, if_false: Pointer) -> Pointer: ...

    def select(
        self, condition: Int, if_true: Given | Pointer, if_false: Given | Pointer, bits: int = 32
    ) -> Number | Pointer:
        """`if_true` where `condition` holds, else `if_false`; both have one type, a Python number
        the other's.

        Two Python integers are unsigned, of `bits` bits; with a Python float both are f32.  Of two
        pointers the result keeps the number type if they have the same.

        Raises: InputError for values of different types.
        """
        if not isinstance(condition, Int) or condition.bits != 1:
            expected = "i1, as a comparison gives it"
            raise refuse("no condition of the kernel", got=described(condition), expected=expected)
        if isinstance(if_true, Pointer):
            there = self.at_caller().select(condition.value, if_true.value, if_true.taken(if_false))
            alike = isinstance(if_false, Pointer) and if_false.dtype is if_true.dtype
            return Pointer(self, there, dtype=if_true.dtype if alike else None)
        typed = next((v for v in (if_true, if_false) if isinstance(v, (Int, Float))), None)
        if typed is None and any(isinstance(one, float) for one in (if_true, if_false)):
            typed = self.f32(0.0)
        if typed is None:
            yes, no = constant(if_true, bits), constant(if_false, bits)
            return Int(self, self.at_caller().select(condition.value, yes, no))
        pair = [typed.taken(one) for one in (if_true, if_false)]
        return typed.like(self.at_caller().select(condition.value, *pair))

    def words(self, values: Sequence[WordLike]) -> Vector:
        """A vector of 32-bit registers.

        Raises: InputError for fewer than two, or for other widths.
        """
        if len(values) < 2:
            raise refuse("a vector of registers", got=str(len(values)), expected="two or more")
        i32, count = ir.IntType(32), len(values)
        given = (self.raw(value, i32) for value in values)
        return Vector(self, vector_value(self.at_caller(), i32, count, given), count)

    vector = staticmethod(vector_of)

    pair = staticmethod(pair_of)

    def min(self, a: N, b: N | float) -> N:
        """The minimum of two numbers of one type; one may be Python's."""
        return _extreme("min", a, b)

    def max(self, a: N, b: N | float) -> N:
        """The maximum of two numbers of one type; one may be Python's."""
        return _extreme("max", a, b)

    def raw(self, value: WordLike | Pointer | float, type_: ir.Type) -> ir.Value:
        """A value as llvmlite's, checked against the type that is wanted.

        Of a register that is no integer an integer has the bits.  A shared address stands for one
        in the cluster's shared memory where that is wanted, a global one for a generic one.
        """
        if isinstance(value, Float) and value.value.type == type_:
            return value.value
        if type(type_) in _FLOATS and not isinstance(value, Pointer):
            return as_float(self, value, _FLOATS[type(type_)])
        if isinstance(value, Float) and isinstance(type_, ir.IntType):
            value = value.word
        if not isinstance(value, (Int, Pointer, Float)):
            if not isinstance(type_, ir.IntType):
                got = str(value)
                raise refuse("a number where an address is wanted", got=got, expected=str(type_))
            return constant(value, type_.width)
        if value.value.type == type_:
            return value.value
        cluster = ir.PointerType(addrspace=7)
        widened = ((3, cluster), (1, ir.PointerType()))
        if isinstance(value, Pointer) and (value.space, type_) in widened:
            return self.at_caller().addrspacecast(value.value, type_)
        raise refuse("an operand of another type", got=str(value.value.type), expected=str(type_))

    # ---- two f32 in a register ----------------------------------------------------------------

    def pack_bf16x2(self, low: Given, high: Given, *, relu: bool = False) -> Int:
        """Two f32 rounded to bf16, in the lower and in the upper half of a register.

        With `relu` negative numbers become 0, and every NaN the canonical one.
        """
        return self._packed_f32("ff2bf16x2", BFloatType(), low, high, relu=relu)

    def pack_f16x2(self, low: Given, high: Given, *, relu: bool = False) -> Int:
        """Two f32 rounded to f16; the rest as in `pack_bf16x2`."""
        return self._packed_f32("ff2f16x2", ir.HalfType(), low, high, relu=relu)

    def _packed_f32(
        self, name: str, element: ir.Type, low: Given, high: Given, *, relu: bool
    ) -> Int:
        type_ = ir.FunctionType(ir.VectorType(element, 2), [_F32, _F32])
        function = self.declare(f"llvm.nvvm.{name}.rn{'.relu' * relu}", type_)
        given = [as_float(self, x, T.F32) for x in (high, low)]  # as in PTX the upper half is first
        builder = self.at_caller()
        return Int(self, builder.bitcast(builder.call(function, given), ir.IntType(32)))


def _extreme(name: str, a: N, b: N | float) -> N:
    """`a.min(b)` or `a.max(b)`; a Python number may come first."""
    first, second = (a, b) if isinstance(a, (Int, Float)) else (b, a)
    if not isinstance(first, (Int, Float)):
        raise refuse("no value of the kernel", got=f"{a} and {b}", expected="one at least")
    found: N = getattr(first, name)(second)
    return found
