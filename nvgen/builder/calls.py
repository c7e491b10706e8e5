"""Calls of LLVM's nvvm intrinsics by row, facts and operands, and verbs made of them.

Layer: nvgen.builder.  Which intrinsic a call becomes, with which arguments in which order, and what
it gives, is looked up in the row's spellings, so nothing here repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from llvmlite import ir

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.legality import describe, expected, got, judge, section_of
from intrinsics.modifiers import LoadMode, Space, StoreMode
from intrinsics.row import Code, Fact, Row
from isel.select.intrinsics import (
    PAIRS,
    PREFIX,
    Argument,
    arguments,
    element_type,
    results,
)
from nvgen.builder.base import BuilderBase
from nvgen.builder.map_checks import check_copy
from nvgen.builder.numbers import F32, Float, Int, WordLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import refuse
from nvgen.builder.vectors import Vector
from nvgen.builder.verb import Draft, Operand, Verb
from nvgen.builder.verb_table import alike
from nvgen.callers import place_of_caller

Result: TypeAlias = "Int | F32 | Pointer | Vector"


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


class IntrinsicCalls(BuilderBase):
    """Calls of intrinsics by row, facts and operands."""

    def _call(
        self,
        row_id: str,
        facts: Mapping[str, Fact],
        operands: Mapping[str, Operand],
    ) -> ir.Value:
        """Emit the intrinsic of a row that has `facts` and takes `operands`."""
        return self._spelled(self._spelling(row_id, facts, operands), facts, operands)

    def _spelling(
        self, row_id: str, facts: Mapping[str, Fact], operands: Mapping[str, Operand]
    ) -> Spelling:
        wanted = {name: fact for name, fact in facts.items() if fact is not None}
        if facts.get("mode") in (LoadMode.TILE, StoreMode.TILE):
            check_copy(self._maps, operands)
        return find_spelling(row_id, wanted, operands)

    def _spelled(
        self, spelling: Spelling, facts: Mapping[str, Fact], operands: Mapping[str, Operand]
    ) -> ir.Value:
        types: list[ir.Type] = []
        values: list[ir.Value] = []
        for argument in arguments(spelling.pattern.args):
            for type_, value in self._arguments(spelling, argument, facts, operands):
                types.append(type_)
                values.append(value)
        result = _result_type(spelling, facts)
        function = self.declare(PREFIX + spelling.name, ir.FunctionType(result, types))
        produced = results(spelling.pattern.result)
        name = produced[0].name if len(produced) == 1 else spelling.row.head.split(".")[0]
        return self.at_caller().call(function, values, name=name)

    def _arguments(
        self,
        spelling: Spelling,
        argument: Argument,
        facts: Mapping[str, Fact],
        operands: Mapping[str, Operand],
    ) -> list[tuple[ir.Type, ir.Value]]:
        if argument.sign == "#":
            table = spelling.pattern.codes[argument.name]
            number = _code(table, facts.get(argument.name), argument.name)
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
            assert isinstance(operand, (Vector, Sequence))
            type_ = llvm_type(element_type(argument.type))
            _check_length(spelling, argument.name, operand)
            return [(type_, self._of_bits(part, type_)) for part in operand]
        if isinstance(operand, Vector):
            return [(llvm_type(argument.type, operand.count), operand.value)]
        type_ = llvm_type(argument.type)
        if operand is None and argument.name not in operands:
            return [(type_, ir.Constant(type_, 0))]
        if operand is None or isinstance(operand, Sequence):
            raise refuse(f"no {argument.name}", got=repr(operand), expected=str(type_))
        return [(type_, self.raw(operand, type_))]

    def _of_bits(self, value: WordLike, type_: ir.Type) -> ir.Value:
        """A value of a type that has the bits of an integer."""
        if isinstance(value, Float) and value.value.type == type_:
            return value.value
        if isinstance(type_, ir.IntType):
            return self.raw(value, type_)
        bits = ir.IntType(64 if isinstance(type_, ir.DoubleType) else 32)
        return self.at_caller().bitcast(self.raw(value, bits), type_)

    # ---- verbs -------------------------------------------------------------------------------

    def perform(self, verb: Verb, given: dict[str, object]) -> object:
        """Add the instruction of a verb with the arguments of a call, and give its results.

        Raises: InputError for arguments that no instruction takes.
        """
        draft = Draft(self, given)
        verb.fill(draft)
        row = verb.row_for(draft)
        facts = {**row.constants, **draft.facts}
        spelling = self._spelling(row.row.id, facts, draft.operands)
        found = self._results(spelling, facts, self._spelled(spelling, facts, draft.operands), verb)
        return alike(found, given[verb.like]) if verb.like else found

    def _results(
        self, spelling: Spelling, facts: Mapping[str, Fact], raw: ir.Value, verb: Verb
    ) -> object:
        text = spelling.pattern.result
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
        """What an instruction gives as a value; one of several floats as its bits."""
        if isinstance(raw.type, ir.LiteralStructType):
            count = len(raw.type.elements)
            builder = self.at_caller()
            words = [self._word(builder.extract_value(raw, i)) for i in range(count)]
            return self.words(words)
        if isinstance(raw.type, ir.PointerType):
            return Pointer(self, raw)
        if isinstance(raw.type, ir.FloatType) and alone:
            return F32(self, raw)
        word = self._word(raw).value
        count = raw.type.count if isinstance(raw.type, ir.VectorType) else 1
        return Vector(self, word, count) if "*" in part.type else Int(self, word)

    def _word(self, raw: ir.Value) -> Int:
        """A register, or a vector of them, as integers with its bits."""
        wanted = raw.type
        if isinstance(raw.type, ir.VectorType):
            if not isinstance(raw.type.element, ir.IntType):
                halves = isinstance(raw.type.element, ir.HalfType)
                word = ir.IntType(32)
                wanted = word if halves else ir.VectorType(word, raw.type.count)
        elif not isinstance(raw.type, ir.IntType):
            wanted = ir.IntType(64 if isinstance(raw.type, ir.DoubleType) else 32)
        return Int(self, raw if wanted == raw.type else self.at_caller().bitcast(raw, wanted))


def function_of(verb: Verb) -> Callable[..., object]:
    """The method of a verb, with its signature and its docstring."""
    signature = verb.signature

    def call(self: IntrinsicCalls, *args: object, **named: object) -> object:
        try:
            bound = signature.bind(self, *args, **named)
        except TypeError as error:
            raise TypeError(f"{verb.name}: {error}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        del given["self"]
        return self.perform(verb, given)

    call.__name__, call.__qualname__ = verb.name, f"Verbs.{verb.name}"
    call.__doc__ = verb.doc
    call.__signature__ = signature  # type: ignore[attr-defined]  # as inspect reads it
    return call


# ---- spellings ---------------------------------------------------------------------------------


def _check_length(spelling: Spelling, name: str, operand: Vector | Sequence[WordLike]) -> None:
    """Whether a list has as many values as the instruction takes.

    Raises: InputError.
    """
    count = spelling.row.operand[name].count
    assert count is not None
    wanted = max(count.of(spelling.facts), 1)  # 0 is a value without braces
    if isinstance(operand, Sequence) and len(operand) != wanted:
        raise refuse(
            f"{name} of {spelling.name} has another length",
            got=str(len(operand)),
            expected=str(wanted),
        )


def _result_type(spelling: Spelling, facts: Mapping[str, Fact]) -> ir.Type:
    """What the intrinsic gives: a structure where there are several results."""
    text = spelling.pattern.result
    if not text:
        return ir.VoidType()
    types = []
    for part in results(text):
        count = spelling.row.operand[part.name].count
        types.append(llvm_type(part.type, count.of(facts) if count is not None else 1))
    return ir.LiteralStructType(types) if text.startswith("{") else types[0]


def _code(table: Code, fact: Fact, axis: str) -> int:
    for code, known in table.items():
        if known is fact:
            return code
    choices = ", ".join(sorted(describe(f) for f in table.values()))
    raise refuse(f"LLVM has no {axis} {describe(fact)}", got=describe(fact), expected=choices)


def find_spelling(
    row_id: str, wanted: Mapping[str, Fact], operands: Mapping[str, Operand]
) -> Spelling:
    """LLVM's intrinsic for a row with facts and operands.

    A state space that `wanted` does not have is that of the pointers.

    Raises: InputError when LLVM has none, with the words of the rule that forbids the form, if one
    does.
    """
    row = catalog.row(row_id)
    fitting = [s for s in catalog.spellings_of(row) if _fits(s, wanted, operands)]
    fitting.sort(key=lambda spelling: _casts(spelling, operands))
    for spelling in fitting:
        if _has_codes(spelling, wanted):
            return spelling
    _check_rules(row, wanted, operands)
    if fitting:
        return fitting[0]
    shown = row.spell(wanted)
    names = ", ".join(s.name for s in catalog.spellings_of(row)[:6])
    finding = Finding(
        "builder/no-intrinsic",
        Severity.ERROR,
        f"LLVM has no intrinsic for {shown} with {', '.join(operands) or 'no operand'}",
        op=shown,
        expected=f"one of {names} …",
        section=f"PTX ISA, {row.section}",
    )
    raise InputError([finding])


def _casts(spelling: Spelling, operands: Mapping[str, Operand]) -> int:
    """How many pointers are in another address space than the intrinsic's."""
    formal = ((a.type, operands.get(a.name)) for a in arguments(spelling.pattern.args))
    pointers = ((text, given) for text, given in formal if isinstance(given, Pointer))
    return sum(text != f"p{given.space or ''}" for text, given in pointers)


def _check_rules(row: Row, wanted: Mapping[str, Fact], operands: Mapping[str, Operand]) -> None:
    """Whether a form that LLVM has no intrinsic for is one at all.

    Raises: InputError with the rules that it breaks.
    """
    facts: dict[str, Fact] = dict.fromkeys(row.fact_names)
    facts |= {name: name in operands for name in row.optional}
    facts |= wanted
    broken = [rule for rule in judge(row, facts).broken if rule.text]
    if broken:
        raise InputError(
            [
                Finding(
                    f"{row.head}/{rule.id}",
                    Severity.ERROR,
                    rule.text,
                    place_of_caller(),
                    op=row.spell(facts),
                    got=got(rule, facts),
                    expected=expected(rule),
                    hint=rule.hint,
                    section=f"PTX ISA, {section_of(row, rule)}",
                )
                for rule in broken
            ]
        )


def _fits(spelling: Spelling, wanted: Mapping[str, Fact], operands: Mapping[str, Operand]) -> bool:
    formal = arguments(spelling.pattern.args)
    immediates = {a.name for a in formal if a.sign == "#"}
    flagged = {a.name for a in formal if a.sign == "?"}
    required = {a.name for a in formal if a.sign == ":"} - flagged
    given = set(operands) - set(spelling.pattern.numbers)
    if any(operands.get(n) != number for n, number in spelling.pattern.numbers.items()):
        return False
    if not required <= given <= required | flagged:
        return False
    stated = {n: f for n, f in spelling.facts.items() if f is not None and n not in given}
    by_pointer = any(isinstance(operand, Pointer) for operand in operands.values())
    for name, fact in stated.items():
        said = wanted.get(name)
        is_tied = spelling.row.tied.get(name) in given
        is_open = said is None and (is_tied or (by_pointer and isinstance(fact, Space)))
        if name != "state" and said is not fact and not is_open:
            return False
    return all(
        name in stated or name in immediates or _implied(spelling, name, fact)
        for name, fact in wanted.items()
    )


def _has_codes(spelling: Spelling, wanted: Mapping[str, Fact]) -> bool:
    """Whether the numbers that the intrinsic takes can say all that is wanted."""
    return all(
        any(known is wanted.get(a.name) for known in spelling.pattern.codes[a.name].values())
        for a in arguments(spelling.pattern.args)
        if a.sign == "#"
    )


def _implied(spelling: Spelling, name: str, fact: Fact) -> bool:
    if spelling.facts.get(name) is fact or name in spelling.row.tied:
        return True
    return fact is True and name in {result.name for result in results(spelling.pattern.result)}
