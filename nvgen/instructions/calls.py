"""Calls of LLVM's nvvm intrinsics by row, attributes and operands, and the verbs made of them.

Layer: nvgen.instructions.  The intrinsic of a call, the order of its arguments and its result are
looked up in the row's spellings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TypeAlias

from llvmlite import ir

from intrinsics.catalog import Spelling
from intrinsics.findings import InputError
from intrinsics.legality import describe
from intrinsics.limits import COORDINATE_BYTES, TENSOR_COPY_ALIGNMENT
from intrinsics.modifiers import LoadMode, ScalarType, StoreMode
from intrinsics.operand_types import out_of_range
from intrinsics.patterns import (
    PAIRS,
    PREFIX,
    Argument,
    arguments,
    element_type,
    find_spelling,
    results,
)
from intrinsics.row import Attribute, Attributes, Code, Kind, Row
from nvgen.calling.callers import place_of_caller
from nvgen.calling.guards import ill_called
from nvgen.calling.refusals import described, refuse
from nvgen.calling.tracebacks import ends_at_caller
from nvgen.instructions.base import BuilderBase
from nvgen.instructions.rules import Draft, Operand, alike
from nvgen.instructions.verb import Verb
from nvgen.launching.arguments import Parameter
from nvgen.llvm.ir_text import vector_value
from nvgen.values.numbers import Float, Int, Number, WordLike
from nvgen.values.pointers import Pointer
from nvgen.values.regions import Changing
from nvgen.values.vectors import Vector, as_words

_LONG = ir.IntType(128)
_refuse = functools.partial(refuse, section="Tensors")

Result: TypeAlias = "Int | Float | Pointer | Vector"
Operands: TypeAlias = Mapping[str, Operand]


class IntrinsicCalls(BuilderBase):
    """Calls of intrinsics by row, attributes and operands."""

    def _spelling(self, row_id: str, attributes: Attributes, operands: Operands) -> Spelling:
        """LLVM's intrinsic for a row with attributes and operands."""
        wanted = {name: value for name, value in attributes.items() if value is not None}
        if attributes.get("mode") in (LoadMode.TILE, StoreMode.TILE):
            _check_copy(self._maps, operands)
        spaces = {n: given.space for n, given in operands.items() if isinstance(given, Pointer)}
        try:
            return find_spelling(row_id, wanted, operands, spaces)
        except InputError as error:
            raise InputError([found.at(place_of_caller()) for found in error.findings]) from None

    def _spelled(self, spelling: Spelling, attributes: Attributes, operands: Operands) -> ir.Value:
        formal = arguments(spelling.pattern.args)
        given = [
            pair for one in formal for pair in self._arguments(spelling, one, attributes, operands)
        ]
        type_ = ir.FunctionType(result_type(spelling, attributes), [type_ for type_, _ in given])
        function = self.declare(PREFIX + spelling.name, type_)
        produced = results(spelling.pattern.result)
        name = produced[0].name if len(produced) == 1 else spelling.row.head.split(".")[0]
        return self.at_caller().call(function, [value for _, value in given], name=name)

    def _arguments(
        self, spelling: Spelling, argument: Argument, attributes: Attributes, operands: Operands
    ) -> list[tuple[ir.Type, ir.Value]]:
        if argument.sign == "#":
            table = spelling.pattern.codes[argument.name]
            number = code_of(table, attributes.get(argument.name), argument.name)
            sign, factor = argument.scale
            part = number // factor if sign == "/" else number % factor if sign == "%" else number
            type_ = llvm_type(argument.type)
            return [(type_, ir.Constant(type_, part))]
        if argument.sign == "?":
            flag = ir.IntType(1)
            return [(flag, ir.Constant(flag, int(argument.name in operands)))]
        operand = operands.get(argument.name)
        if argument.type.endswith("*") and isinstance(operand, Sequence):
            type_ = llvm_type(argument.type[:-1])
            return [(type_, self.raw(part, type_)) for part in operand]
        if argument.type.startswith("n*"):
            if not isinstance(operand, (Vector, Sequence)):
                got = described(operand)
                raise refuse(f"{argument.name} is several registers", got=got, expected="a list")
            type_ = llvm_type(element_type(argument.type))
            check_length(spelling, argument.name, operand)
            return [(type_, self._of_bits(part, type_)) for part in operand]
        if isinstance(operand, Vector):
            type_ = llvm_type(argument.type, operand.count)
            if type_ == _LONG:
                return [(type_, self._long(operand))]
            value = operand.value
            if operand.type is not None and value.type != type_:
                operand = as_words(operand)
                type_ = llvm_type(argument.type, operand.count)
                value = self.at_caller().bitcast(operand.value, type_)  # of one: a register
            check_length(spelling, argument.name, operand)
            return [(type_, value)]
        type_ = llvm_type(argument.type)
        if operand is None and argument.name not in operands:
            return [(type_, ir.Constant(type_, 0))]
        if operand is None or isinstance(operand, Sequence):
            raise refuse(f"no {argument.name}", got=described(operand), expected=str(type_))
        return [(type_, self.raw(operand, type_))]

    def _long(self, words: Vector) -> ir.Value:
        """Registers as one of 128 bits."""
        if words.count * (words.type.bits if words.type else WORD) != _LONG.width:
            raise refuse("an operand of 128 bits", got=words.words, expected="four registers")
        return self.at_caller().bitcast(words.value, _LONG)

    def _of_bits(self, value: WordLike, type_: ir.Type) -> ir.Value:
        """A value of a type with the bits of an integer."""
        if isinstance(value, Float) and value.value.type == type_:
            return value.value
        if isinstance(type_, ir.IntType):
            return self.raw(value, type_)
        bits = ir.IntType(64 if isinstance(type_, ir.DoubleType) else 32)
        return self.at_caller().bitcast(self.raw(value, bits), type_)

    # ---- verbs -------------------------------------------------------------------------------

    def perform(self, verb: Verb, given: dict[str, object]) -> object:
        """Add the instruction of a verb with the arguments of a call, and give its results."""
        whole = given[verb.by_words] if verb.by_words else None
        if isinstance(whole, (Int, Float)) and whole.bits != WORD:
            parts = [self.perform(verb, {**given, verb.by_words: w}) for w in _words_of(whole)]
            return _of_words(whole, parts)
        draft = Draft(self, given)
        verb.fill(draft)
        row = verb.row_for(draft)
        attributes = {**row.constants, **draft.attributes}
        spelling = self._spelling(row.row.id, attributes, draft.operands)
        _check_numbers(spelling.row, attributes, draft.operands)
        raw = self._spelled(spelling, attributes, draft.operands)
        if verb.keeps:
            kept = given[verb.keeps]
            assert isinstance(kept, Changing)
            kept.raw = raw
            return None
        found = self._results(spelling.pattern.result, raw, verb)
        if isinstance(found, Vector) and verb.typed:
            held = attributes["dtype"]
            assert isinstance(held, ScalarType)  # two of f16 are in a register
            found = replace(found, type=ScalarType.F16X2 if held is ScalarType.F16 else held)
        return alike(found, given[verb.like]) if verb.like else found

    def _results(self, text: str, raw: ir.Value, verb: Verb) -> object:
        parts = results(text)
        if not text.startswith("{"):
            return self._result(parts[0], raw, alone=True) if parts else None
        wanted = [i for i, part in enumerate(parts) if verb.gives in ("", part.name)]
        found = tuple(
            self._result(parts[i], self.at_caller().extract_value(raw, i), alone=False)
            for i in wanted
        )
        return found[0] if verb.gives else found

    def _result(self, part: Argument, raw: ir.Value, *, alone: bool) -> Result:
        """A result of an instruction as a value; one of several floats as its bits."""
        if isinstance(raw.type, ir.LiteralStructType):
            return self._registers(raw)
        if isinstance(raw.type, ir.PointerType):
            return Pointer(self, raw)
        if isinstance(raw.type, ir.FloatType) and alone:
            return Float(self, raw, ScalarType.F32)
        word = self._word(raw).value
        count = raw.type.count if isinstance(raw.type, ir.VectorType) else 1
        return Vector(self, word, count) if "*" in part.type else Int(self, word)

    def _registers(self, structure: ir.Value) -> Vector:
        """The elements of a structure, as a vector."""
        builder, elements = self.at_caller(), structure.type.elements
        word = ir.IntType(64 if isinstance(elements[0], ir.DoubleType) else 32)
        parts = (builder.extract_value(structure, i) for i in range(len(elements)))
        words = [builder.bitcast(part, word) for part in parts]
        found = vector_value(builder, word, len(elements), words)
        return Vector(self, found, len(elements))

    def _word(self, raw: ir.Value) -> Int:
        """A register, or a vector of them, as integers with its bits."""
        several = isinstance(raw.type, ir.VectorType)
        element = raw.type.element if several else raw.type
        if isinstance(element, ir.IntType):
            return Int(self, raw)
        word = ir.IntType(64 if isinstance(element, ir.DoubleType) else 32)
        is_one = not several or isinstance(element, ir.HalfType)
        wanted = word if is_one else ir.VectorType(word, raw.type.count)
        return Int(self, self.at_caller().bitcast(raw, wanted))


def function_of(verb: Verb) -> Callable[..., object]:
    """The method of a verb, with its signature and its docstring."""
    signature = verb.signature

    def call(self: IntrinsicCalls, *args: object, **named: object) -> object:
        try:
            bound = signature.bind(self, *args, **named)
        except TypeError as error:
            raise ill_called(f"b.{verb.name}", signature, args, named, error) from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        del given["self"]
        return self.perform(verb, given)

    call.__name__, call.__qualname__ = verb.name, f"Verbs.{verb.name}"
    call.__doc__ = verb.doc
    call.__signature__ = signature  # type: ignore[attr-defined]  # as inspect reads it
    return ends_at_caller(call)


def _check_numbers(row: Row, attributes: Attributes, operands: Operands) -> None:
    """Check the literals of an instruction."""
    for operand in row.operands:
        given: object = operands.get(operand.name)
        if operand.kind is not Kind.NUMBER or not isinstance(given, Integral):
            continue
        name = f"{operand.name} of {row.head}"
        problem = out_of_range(name, int(given), operand.numbers_under(attributes))
        if problem is not None:
            rule, got = problem.rule, problem.got
            expected, hint = problem.expected, problem.hint
            raise refuse(
                problem.text, rule=rule, got=got, expected=expected, hint=hint, section=row.section
            )


def _check_copy(maps: Mapping[str, Parameter], operands: Operands) -> None:
    """Check that a copy of a tile fits its tensor map, where that is a parameter of the kernel."""
    tmap = operands.get("tmap")
    if not isinstance(tmap, Pointer) or tmap.value.name not in maps:
        return
    name: str = tmap.value.name
    declared = maps[name]
    coords = operands.get("coords")
    if isinstance(coords, Sequence) and len(coords) != declared.rank:
        raise _refuse(
            f"a copy through {name} has other coordinates than the tensor has dimensions",
            rule="map-rank", got=f"{len(coords)} coordinates",
            expected=f"{declared.rank}, as the box of {name}",
            hint="the innermost dimension comes first",
        )  # fmt: skip
    _check_place(coords, declared)
    near = operands.get("dst", operands.get("src"))
    align = getattr(near.value, "align", None) if isinstance(near, Pointer) else None
    if isinstance(near, Pointer) and align is not None and align % TENSOR_COPY_ALIGNMENT:
        raise _refuse(
            "shared memory is not aligned as a tensor copy wants it", rule="map-alignment",
            got=f"{near.value.name}, aligned to {align} bytes",
            expected=f"{TENSOR_COPY_ALIGNMENT}",
            hint="b.shared_array(…, align=128); tiles are aligned",
        )  # fmt: skip
    if isinstance(near, Pointer) and near.layout is not None:
        if declared.box_bytes > near.layout.room:
            raise _refuse(
                f"a box of {name} is larger than the shared memory that it is copied to or from",
                rule="map-size", got=f"{declared.box_bytes} bytes",
                expected=f"at most {near.layout.room}, which the tile has", hint="a smaller box, "
                "or a larger tile; of several copies each has its part of the tile",
            )  # fmt: skip
        near.layout.copy(name, declared.swizzle)


def _check_place(coords: object, declared: Parameter) -> None:
    """Check the innermost coordinate of a copy, where it is known."""
    first = coords[0] if isinstance(coords, Sequence) and coords else None
    bits = declared.dtype.bits if declared.dtype else 0
    multiple = 8 * COORDINATE_BYTES // bits if bits >= 8 else 1
    if isinstance(first, int) and first % multiple:
        raise _refuse(
            "the innermost coordinate of a tensor copy is no multiple of 16 bytes",
            rule="map-coordinate", got=f"{first} elements of {bits} bits",
            expected=f"a multiple of {multiple}",
            hint="a halo is a multiple of 16 bytes wide; an H200 ends the kernel otherwise",
        )  # fmt: skip


# ---- LLVM's intrinsics ---------------------------------------------------------------------------


def check_length(spelling: Spelling, name: str, operand: Vector | Sequence[WordLike]) -> None:
    """Check that a list has as many values as the instruction takes."""
    count = spelling.row.operand[name].count
    if count is None:
        return
    wanted = max(count.of(spelling.attributes), 1)  # 0: a scalar without braces
    found = operand.count if isinstance(operand, Vector) else len(operand)
    if found != wanted:
        got = str(found)
        raise refuse(f"{name} of {spelling.name} has another length", got=got, expected=str(wanted))


def result_type(spelling: Spelling, attributes: Attributes) -> ir.Type:
    """What the intrinsic gives: a structure where there are several results."""
    text = spelling.pattern.result
    if not text:
        return ir.VoidType()
    types = []
    for part in results(text):
        count = spelling.row.operand[part.name].count
        types.append(llvm_type(part.type, count.of(attributes) if count is not None else 1))
    return ir.LiteralStructType(types) if text.startswith("{") else types[0]


def code_of(table: Code, attribute: Attribute, qualifier: str) -> int:
    """The number that encodes an attribute in an intrinsic's arguments."""
    for code, known in table.items():
        if known is attribute:
            return code
    choices = ", ".join(sorted(describe(f) for f in table.values()))
    got = describe(attribute)
    raise refuse(f"LLVM has no {qualifier} {describe(attribute)}", got=got, expected=choices)


def llvm_type(text: str, count: int = 1) -> ir.Type:
    """The llvmlite type of an argument in a pattern; `count` is the length of `v*i32`."""
    if text.startswith("n*"):
        element = llvm_type(text[2:])
        return element if count == 1 else ir.LiteralStructType([element] * count)
    if text in PAIRS:
        return ir.VectorType(ir.HalfType(), 2)
    if text.startswith("v*"):
        element = llvm_type(text[2:])
        return element if count == 1 else ir.VectorType(element, count)
    if text.startswith("p"):
        return ir.PointerType(addrspace=int(text[1:] or 0))
    named = {"float": ir.FloatType(), "double": ir.DoubleType()}
    return named[text] if text in named else ir.IntType(int(text[1:]))


# ---- words ---------------------------------------------------------------------------------------

WORD = 32
"""Bits of a register that a shuffle moves."""


def _words_of(number: Number) -> list[Int]:
    """The words that hold a number's bits, with zeros above them."""
    bits = number.word if isinstance(number, Float) else Int(number.builder, number.value)
    if bits.bits <= WORD:
        return [bits if bits.bits == WORD else bits.zext(WORD)]
    builder, i32 = bits.builder.at_caller(), ir.IntType(WORD)
    return [Int(bits.builder, builder.trunc(part.value, i32)) for part in (bits, bits >> WORD)]


def _of_words(number: Number, parts: Sequence[object]) -> object:
    """The results for each word of `_words_of(number)`, joined to a number of its type.

    Where an instruction has further results, those for the first word.
    """
    first = parts[0]
    if isinstance(first, tuple):
        firsts = [part[0] for part in parts if isinstance(part, tuple)]
        return (_of_words(number, firsts), *first[1:])
    words = [part for part in parts if isinstance(part, Int)]
    builder, width = number.builder.at_caller(), ir.IntType(number.bits)
    if number.bits < WORD:
        found = builder.trunc(words[0].value, width)
    else:
        low, high = (word.zext(2 * WORD) for word in words)
        found = (high << WORD | low).value
    if isinstance(number, Int):
        return number.like(found)
    return number.like(number.builder.at_caller().bitcast(found, number.value.type))
