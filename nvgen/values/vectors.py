"""Vectors: several numbers of one type in a thread, with elementwise operators.

Layer: nvgen.values.  Floating-point numbers are computed as LLVM vectors, which selection
legalises to scalars, or to pairs where the target has instructions for them; other numbers one by
one.  A multiply gives registers of its accumulator's type: floating-point numbers, pairs of f16, or
signed integers.  PTX ISA, Matrix Fragments.
"""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Concatenate, NoReturn, ParamSpec, Self, TypeAlias, TypeVar, overload

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, function_of, refuse
from nvgen.llvm.ir_text import vector_value
from nvgen.values.number_types import (
    STORED,
    Several,
    called,
    llvm_type_of,
    name_of_type,
    narrow_word,
    scalar_type,
    wide_pair,
)
from nvgen.values.numbers import Float, Int, Number, number_of, type_of
from nvgen.values.regions import Host
from nvgen.values.small_integers import halves_of, halves_of_e2m1

T = ScalarType
_TOGETHER = (T.F16, T.BF16, T.F32, T.F64)
"""Types that are computed as LLVM vectors."""

_BYTES, _HALVES = (T.S8, T.U8), (T.F16, T.BF16)
_WORD = 32
_I32 = ir.IntType(32)
_OPERATORS: dict[str, Callable[[Number, Number], Number]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fdiv": operator.truediv,
}
P = ParamSpec("P")
E = TypeVar("E", bound="Elementwise")
N = TypeVar("N")


def mask_of(wanted: Sequence[int]) -> ir.Constant:
    """The mask of llvmlite's shufflevector for these indices."""
    return ir.Constant(ir.VectorType(_I32, len(wanted)), [ir.Constant(_I32, i) for i in wanted])


def shuffled(builder: ir.IRBuilder, value: ir.Value, wanted: Sequence[int]) -> ir.Value:
    """Some elements of a vector."""
    undefined = ir.Constant(value.type, ir.Undefined)
    return builder.shuffle_vector(value, undefined, mask_of(wanted))


def _operator(name: str, *, swapped: bool = False) -> Callable[[E, Operand], E]:
    """An operator, element by element."""

    def operate(self: E, other: Operand) -> E:
        whole = self.beside(other)
        mine, theirs = whole.vector, whole._operand(other)
        pair = (theirs, mine) if swapped else (mine, theirs)
        if mine.type in _TOGETHER:
            compute = getattr(mine.builder.at_caller(), name)
            return whole._of(compute(*(one.typed for one in pair)), mine.type)
        by_one = _OPERATORS[name]
        return whole.made(vector_of([by_one(a, b) for a, b in zip(*pair, strict=True)]))

    return operate


def _each(function: Callable[Concatenate[Float, P], Float]) -> Callable[Concatenate[E, P], E]:
    """A function of floating-point numbers, of each of them."""

    def operate(self: E, /, *args: P.args, **named: P.kwargs) -> E:
        def checked(number: Number) -> Float:
            if isinstance(number, Int):
                raise refuse("no floating-point number", got=number.words, expected="x.to(f32)")
            return function(number, *args, **named)

        return self.map(checked)

    operate.__name__, operate.__wrapped__ = function.__name__, function  # type: ignore[attr-defined]  # for inspect
    operate.__doc__ = f"`{function.__name__}` of each number."
    return operate


@guarded
class Elementwise(Several, ABC):
    """Numbers of one type, several in a thread.

    The other operand is of the same kind, or one number for all.  Each operation raises InputError
    for another kind, and where the same operation of a number does.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def vector(self) -> Vector:
        """The thread's numbers."""

    @abstractmethod
    def made(self, vector: Vector) -> Self:
        """An object of the same kind and shape that holds the numbers of `vector`."""

    def beside(self, _: object) -> Self:
        """This operand in the shape that it has in an operation with the other one."""
        return self

    @abstractmethod
    def spread(self, other: Elementwise) -> Vector:
        """The numbers of the other operand, one for each number of this one."""

    def map(self, function: Callable[[Number], Number]) -> Self:
        """Apply `function` to each of the numbers.

        Raises: InputError where it does not give numbers of one type.
        """
        made = function_of(function, "x")
        return self.made(vector_of([made(number) for number in self.vector]))

    def to(self, dtype: object) -> Self:
        """Convert each number to another type; see `Float.to` and `Int.to`."""
        mine, type_ = self.vector, scalar_type(dtype)
        if mine.type is type_:
            return self
        if mine.type in STORED and mine.count % 2 == 0:
            return self.made(_widened(mine)).to(type_)
        if mine.type in _BYTES and type_ in _HALVES and mine.count % 4 == 0:
            return self.made(_halves(mine, type_, packed=False))
        if type_ in STORED and mine.count % 2 == 0:
            return self.made(_narrowed(self.to(T.F32).vector, type_))
        if mine.type not in _TOGETHER or type_ not in _TOGETHER:
            return self.map(lambda number: number.to(type_))
        assert mine.type is not None
        if mine.type.bits == type_.bits:
            return self.to(T.F32).to(type_)
        builder = mine.builder.at_caller()
        convert = builder.fpext if type_.bits > mine.type.bits else builder.fptrunc
        found = convert(mine.typed, ir.VectorType(llvm_type_of(type_), mine.count))
        if type_.bits * mine.count % _WORD == 0:  # phis hold 32-bit words
            words = ir.VectorType(_I32, type_.bits * mine.count // _WORD)
            found = builder.bitcast(found, words) if type_.bits < _WORD else found
        return self._of(found, type_)

    def _of(self, value: ir.Value, type_: ScalarType | None) -> Self:
        mine = self.vector
        return self.made(Vector(mine.builder, value, mine.count, type_))

    def _operand(self, other: object) -> Vector:
        """The other operand, one number for each of these."""
        mine = self.vector
        if not isinstance(other, Elementwise):
            return mine.splat(other)
        found = self.spread(other)
        if found.type is not mine.type:
            got, expected = f"{mine.words}, {found.words}", "one type: x.to(f32)"
            raise refuse("numbers of two types in one operation", got=got, expected=expected)
        return found

    def _called(self, name: str, *others: object) -> Self:
        """Call an intrinsic of LLVM's on all numbers, or the method of that name on each."""
        whole: Self = functools.reduce(lambda found, other: found.beside(other), others, self)
        mine = whole.vector
        given = [mine, *(whole._operand(other) for other in others)]
        if mine.type not in _TOGETHER:
            method = {"minnum": "min", "maxnum": "max", "fabs": "abs"}.get(name, name)
            numbers = zip(*given, strict=True)
            return whole.made(vector_of([getattr(n, method)(*rest) for n, *rest in numbers]))
        assert mine.type is not None
        full = f"llvm.{name}.v{mine.count}{mine.type.value}"
        return whole._of(called(mine.builder, full, *(one.typed for one in given)), mine.type)

    __add__, __radd__ = _operator("fadd"), _operator("fadd", swapped=True)
    __sub__, __rsub__ = _operator("fsub"), _operator("fsub", swapped=True)
    __mul__, __rmul__ = _operator("fmul"), _operator("fmul", swapped=True)
    __truediv__, __rtruediv__ = _operator("fdiv"), _operator("fdiv", swapped=True)

    def __neg__(self) -> Self:
        mine = self.vector
        if mine.type not in _TOGETHER:
            return self.map(lambda number: -number)
        return self._of(mine.builder.at_caller().fneg(mine.typed), mine.type)

    def min(self, other: Operand) -> Self:
        """The minimum, element by element; if one is a NaN the other one."""
        return self._called("minnum", other)

    def max(self, other: Operand) -> Self:
        """The maximum, element by element; if one is a NaN the other one."""
        return self._called("maxnum", other)

    def fma(self, factor: Operand, addend: Operand) -> Self:
        """Each number times `factor` plus `addend`, rounded once."""
        return self._called("fma", factor, addend)

    def abs(self) -> Self:
        """The absolute value of each number."""
        return self._called("fabs")

    def __abs__(self) -> Self:
        return self.abs()

    ex2, lg2, rsqrt = _each(Float.ex2), _each(Float.lg2), _each(Float.rsqrt)
    rcp, sqrt, tanh = _each(Float.rcp), _each(Float.sqrt), _each(Float.tanh)
    exp, log, sin, cos = _each(Float.exp), _each(Float.log), _each(Float.sin), _each(Float.cos)
    floor, ceil = _each(Float.floor), _each(Float.ceil)
    trunc, round, erf = _each(Float.trunc), _each(Float.round), _each(Float.erf)

    def _no_order(self, _: object) -> NoReturn:
        got, expected = described(self), "a condition of each"
        hint = "x.map(lambda one: b.select(one > 0, one, 0)); x.max(0)"
        raise refuse(
            "several numbers are compared one by one", got=got, expected=expected, hint=hint
        )

    __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def __pow__(self, exponent: object) -> Self:
        """Each number by a known whole exponent, as products."""
        return self.map(lambda number: number**exponent)


Operand: TypeAlias = Elementwise | Number | float
"""The other side of an operator."""


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class Vector(Elementwise):
    """Registers that an instruction gave or takes, or contiguous numbers of memory.

    `values[3]` is of the element `type`, or an Int where that is not known.  Operators are element
    by element, with another vector of the type or one number for all.
    """

    builder: Host
    value: ir.Value
    count: int
    type: ScalarType | None = None

    @overload
    def __getitem__(self, part: int) -> Number: ...

    @overload
    def __getitem__(self, part: slice) -> Vector: ...

    def __getitem__(self, part: int | slice) -> Number | Vector:
        """One of the registers, or some as a vector: `values[3]`, `values[0:4]`.

        Raises: InputError for a part that is not there.
        """
        return self._some(part) if isinstance(part, slice) else self._one(part)

    def __iter__(self) -> Iterator[Number]:
        """The registers, one after the other."""
        return (self._one(number) for number in range(self.count))

    @property
    def f32(self) -> Vector:
        """The same registers, each of which holds an f32."""
        return Vector(self.builder, self.value, self.count, ScalarType.F32)

    def __repr__(self) -> str:
        return f"<{self.words} of {self.builder.name}>"

    def like(self, value: ir.Value) -> Vector:
        """A vector of this type and length from a value of llvmlite's."""
        return Vector(self.builder, value, self.count, self.type)

    def taken(self, other: object) -> ir.Value:
        """The llvmlite value of a vector of this type and length."""
        if not self._matches(other):
            raise refuse("another vector", got=described(other), expected=self.words)
        assert isinstance(other, Vector)
        return self.builder.at_caller().bitcast(other.value, self.value.type)

    def _matches(self, other: object) -> bool:
        return isinstance(other, Vector) and (other.count, other.type) == (self.count, self.type)

    @property
    def words(self) -> str:
        """Its length and type in words, for messages."""
        return f"{self.count} of {name_of_type(self.type) if self.type else 'untyped registers'}"

    @property
    def vector(self) -> Vector:
        """Itself."""
        return self

    def made(self, vector: Vector) -> Vector:
        """Another one."""
        return vector

    def spread(self, other: Elementwise) -> Vector:
        """Another vector of as many numbers."""
        if not isinstance(other, Vector) or not self._matches(other):
            got = other.words if isinstance(other, Vector) else described(other)
            raise refuse("vectors of two kinds", got=got, expected=self.words)
        return other

    @property
    def typed(self) -> ir.Value:
        """The numbers as an LLVM vector of their own type."""
        assert self.type is not None
        llvm = ir.VectorType(llvm_type_of(self.type), self.count)
        return self.builder.at_caller().bitcast(self.value, llvm)

    def splat(self, number: object) -> Vector:
        """A vector of the same length that repeats a number, of this type or of Python."""
        if self.type is None:
            raise refuse("registers whose type is not known", got=self.words, expected="values.f32")
        llvm, builder = llvm_type_of(self.type), self.builder.at_caller()
        raw = number_of(self.builder, ir.Constant(llvm, ir.Undefined), self.type).taken(number)
        whole = ir.VectorType(llvm, self.count)
        if isinstance(raw, ir.Constant):
            value = ir.Constant(whole, [raw] * self.count)
        else:
            undefined = ir.Constant(whole, ir.Undefined)
            first = builder.insert_element(undefined, raw, ir.Constant(_I32, 0))
            value = builder.shuffle_vector(first, undefined, mask_of([0] * self.count))
        return Vector(self.builder, value, self.count, self.type)

    def taken_apart(self, wanted: Sequence[int]) -> Vector:
        """The numbers of these indices, which may repeat, as a vector."""
        words = self._words_of(wanted)
        value = self.value if words else self.typed
        found = shuffled(self.builder.at_caller(), value, words or wanted)
        return Vector(self.builder, found, len(wanted), self.type)

    def reduce(self, function: Callable[[Number, Number], Number]) -> Number:
        """All numbers combined by `function`, as a tree, neighbours first."""
        return joined(list(self), function_of(function, "x", "y"))

    def sum(self) -> Number:
        """Their sum, added as a tree."""
        return self.reduce(operator.add)

    def largest(self) -> Number:
        """Their maximum."""
        return self.reduce(greater)

    def unpacked(self, dtype: object, element: ElementType | None = None) -> Vector:
        """Integers of four bits, two in each byte, the first in the lower half, as f16 or bf16.

        They are signed if the bytes are i8, unsigned if they are u8; twice as many as these.  With
        `element` `ElementType.E2M1` they are such floats, the weights of NVFP4 and MXFP4.

        Raises: InputError for other types, and for bytes that fill no registers.
        """
        type_ = scalar_type(dtype)
        if self.type not in _BYTES or type_ not in _HALVES or self.count % 4:
            got = f"{self.words} as {name_of_type(type_)}"
            expected = "a multiple of four i8 or u8, as f16 or bf16"
            raise refuse("no integers of four bits", got=got, expected=expected)
        if element not in (None, ElementType.E2M1):
            raise refuse("no floats of four bits", got=described(element), expected="E2M1")
        if element is None:
            return _halves(self, type_, packed=True)
        return _of_pairs(self, type_, functools.partial(halves_of_e2m1, type_=type_))

    def _words_of(self, wanted: Sequence[int]) -> list[int]:
        """The 32-bit words that hold the wanted numbers, where these fill whole words."""
        held = self.value.type
        each = self.count // held.count if isinstance(held, ir.VectorType) else 1
        if each < 2 or len(wanted) % each:
            return []
        starts = [wanted[i] for i in range(0, len(wanted), each)]
        whole = [start + i for start in starts for i in range(each)]
        even = all(start % each == 0 for start in starts)
        return [start // each for start in starts] if even and whole == list(wanted) else []

    def _one(self, number: int | Int) -> Number:
        if (
            isinstance(number, Int)
            or not hasattr(number, "__index__")
            or not 0 <= number < self.count
        ):
            raise refuse(
                "no such register", got=described(number), expected=f"0..{self.count - 1}",
                hint="registers have no address: what the kernel computes chooses by b.select, or "
                "indexes b.shared_array(…)"
                if isinstance(number, Int)
                else "",
            )  # fmt: skip
        value = self.value
        if isinstance(value.type, ir.VectorType) and value.type.count != self.count:
            value = self.typed  # several numbers in a word
        if self.count > 1 or isinstance(value.type, ir.VectorType):
            place = ir.Constant(_I32, int(number))
            value = self.builder.at_caller().extract_element(value, place)
        return number_of(self.builder, value, self.type)

    def _some(self, part: slice) -> Vector:
        wanted = range(*part.indices(self.count))
        if len(wanted) < 2 or (part.stop or 0) > self.count:
            got, expected = f"{part.start}:{part.stop}", f"two or more of {self.count}"
            raise refuse("no such part of the registers", got=got, expected=expected)
        value = self.typed if self.value.type.count != self.count else self.value
        found = shuffled(self.builder.at_caller(), value, wanted)
        return Vector(self.builder, found, len(wanted), self.type)


def _narrowed(vector: Vector, type_: ScalarType) -> Vector:
    """f32 rounded to numbers of 8 bits, two with each instruction; in registers of 32 bits where
    they fill these.
    """
    host, raw, count = vector.builder, [number.value for number in vector], vector.count
    pairs = zip(raw[::2], raw[1::2], strict=True)
    words = vector_of([Int(host, narrow_word(host, low, high, type_)) for low, high in pairs])
    whole = ir.VectorType(ir.IntType(8), count)
    whole = ir.VectorType(_I32, count // 4) if count % 4 == 0 else whole
    return Vector(host, host.at_caller().bitcast(words.value, whole), count, type_)


def _widened(vector: Vector) -> Vector:
    """Numbers of 8 bits as f16, two with each instruction."""
    assert vector.type is not None
    host, count = vector.builder, vector.count // 2
    words = host.at_caller().bitcast(vector.value, ir.VectorType(ir.IntType(16), count))
    raw = (wide_pair(host, word.value, vector.type) for word in Vector(host, words, count))
    pairs = [Float(host, pair, T.F16X2) for pair in raw]
    return vector_of([pair[i] for pair in pairs for i in (0, 1)])


def _halves(vector: Vector, type_: ScalarType, *, packed: bool) -> Vector:
    """Integers of 8 bits, or of 4, as f16 or bf16."""
    signed = vector.type is T.S8
    made = functools.partial(halves_of, type_=type_, signed=signed, packed=packed)
    return _of_pairs(vector, type_, made)


def _of_pairs(vector: Vector, type_: ScalarType, made: Callable[[Int], Iterator[Float]]) -> Vector:
    """The pairs of numbers that are made of each register."""
    words = [word for word in as_words(vector) if isinstance(word, Int)]
    pairs = [pair.word.value for word in words for pair in made(word)]
    value = vector_value(vector.builder.at_caller(), _I32, len(pairs), pairs)
    return Vector(vector.builder, value, 2 * len(pairs), type_)


def joined(numbers: list[N], function: Callable[[N, N], N]) -> N:
    """All numbers reduced by `function`, pairwise, as a tree."""
    while len(numbers) > 1:
        pairs = zip(numbers[::2], numbers[1::2], strict=False)
        odd = numbers[-1:] if len(numbers) % 2 else []
        numbers = [*(function(a, b) for a, b in pairs), *odd]
    return numbers[0]


def greater(a: Number, b: Number) -> Number:
    """The maximum of two numbers of one type."""
    return a.max(b)  # type: ignore[arg-type]  # both are of one type


def vector_of(values: Sequence[Number]) -> Vector:
    """A vector of numbers of one type.

    Raises: InputError for none, and for numbers of several types.
    """
    if not isinstance(values, Sequence):
        raise refuse("no numbers of a vector", got=described(values), expected="a list of them")
    types = {type_of(number) for number in values}
    if len(types) != 1:
        words = ", ".join(sorted(number.words for number in values)) or "none"
        raise refuse("numbers of one type make a vector", got=words, expected="one or more")
    (type_,), first = types, values[0]
    raw, count = (number.value for number in values), len(values)
    found = vector_value(first.builder.at_caller(), llvm_type_of(type_), count, raw)
    return Vector(first.builder, found, count, type_)


def as_words(vector: Vector) -> Vector:
    """Numbers as registers of 32 bits.

    Raises: InputError for numbers that do not fill their registers.
    """
    assert vector.type is not None
    count, rest = divmod(vector.count * vector.type.bits, _WORD)
    if rest:
        raise refuse("no whole registers", got=vector.words, expected="a multiple of 32 bits")
    words = ir.VectorType(_I32, count)
    return Vector(vector.builder, vector.builder.at_caller().bitcast(vector.value, words), count)


def from_words(words: Vector, type_: ScalarType) -> Vector:
    """The numbers that registers of 32 bits hold."""
    count = words.count * _WORD // type_.bits
    numbers = ir.VectorType(llvm_type_of(type_), count)
    value = words.builder.at_caller().bitcast(words.value, numbers)
    return Vector(words.builder, value, count, type_)
