"""A verb: the Python signature of an instruction, derived from its row and LLVM's patterns.

Layer: nvgen.instructions.  Input: a name or a signature, the rows that it may become, and the
attributes that the name implies.  Parameters are the operands of LLVM's patterns in their order,
and the qualifiers that nothing else determines; each has its type from the pattern.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from numbers import Integral
from types import NoneType

import numpy as np

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import CtaGroup, Modifier, ScalarType, Scope
from intrinsics.patterns import Argument, arguments, results
from intrinsics.row import Attribute, Attributes, Kind, Qualifier, Row
from intrinsics.targets import EVERY_TARGET, Capability, spell
from nvgen.calling.refusals import described, refuse
from nvgen.instructions.rules import Draft, Follow
from nvgen.values.pointers import pointer_of

_EMPTY = inspect.Parameter.empty
_NAMED, _PLAIN = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
_USUAL: Mapping[str, object] = {"cta_group": CtaGroup.ONE, "scope": Scope.CTA, "membermask": -1}
"""Defaults of parameters."""

_BARRIER = "mbar"
_DOC_WIDTH = 92


@dataclass(frozen=True)
class Parameter:
    """A parameter: the operand or the qualifier that it is, its type in Python, its default.

    Its `source` is the name that the row has for it; nothing of what only `follows` read.
    """

    name: str
    source: str
    type: str
    default: object = _EMPTY
    keyword: bool = False
    qualifier: Qualifier | None = None

    def python(self) -> inspect.Parameter:
        """As `inspect` has it."""
        kind = _NAMED if self.keyword else _PLAIN
        return inspect.Parameter(self.name, kind, default=self.default, annotation=self.type)


@dataclass(frozen=True)
class Choice:
    """A row that a verb may become, with the attributes that all its intrinsics have in common."""

    row: Row
    spellings: tuple[Spelling, ...]

    @cached_property
    def constants(self) -> dict[str, Attribute]:
        """Qualifiers that have one value in all intrinsics of the row."""
        found: dict[str, Attribute] = {}
        for name in self.row.qualifier:
            values = {spelling.attributes.get(name) for spelling in self.spellings}
            if len(values) == 1 and None not in values:
                (found[name],) = values
        return found

    def takes(self, draft: Draft) -> bool:
        """Whether the instruction has all that is given."""
        qualifiers, operands = self.row.qualifier, self.row.operand
        attributes = ((n, f) for n, f in draft.attributes.items() if isinstance(f, Modifier))
        fits = all(
            f in qualifiers[n].attributes if n in qualifiers else n in operands
            for n, f in attributes
        )
        return fits and set(draft.operands) <= operands.keys()


def choice_of(row: Row, stated: Attributes) -> Choice:
    """A row with the intrinsics that have all the attributes that a verb implies."""

    def agrees(spelling: Spelling) -> bool:
        produced = {part.name for part in results(spelling.pattern.result)}
        return all(
            name in produced if name in row.operand
            else spelling.attributes.get(name) is attribute or name in spelling.pattern.codes
            for name, attribute in stated.items() if name in row.operand or name in row.qualifier
        )  # fmt: skip

    return Choice(row, tuple(filter(agrees, catalog.spellings_of(row))))


def operands_of(spelling: Spelling) -> tuple[list[str], list[str]]:
    """The operands that an intrinsic must have, and those that a flag makes optional."""
    formal = arguments(spelling.pattern.args)
    flagged = {a.name for a in formal if a.sign == "?"}
    names = [a.name for a in formal if a.sign == ":"]
    must = [n for n in names if n not in flagged] + list(spelling.pattern.numbers)
    return must, [n for n in names if n in flagged]


@dataclass(frozen=True)
class Verb:
    """A verb of the builder.

    `call` is its name, or a signature: `name(operand, parameter: operand = default, *, qualifier)`;
    an annotation names the operand or qualifier, or the type of what only `follows` read.  Of
    `rows`, where `mma*` are all with the head mma, the first is taken that has all that is given.
    `states` are the attributes that the name says, `gives` is the one result that counts, `like`
    the parameter whose type the result has, `keeps` the one whose registers the result becomes;
    `typed` results are numbers of the type that `dtype` says.  A value of another width than 32
    bits goes `by_words`, one instruction for each.
    """

    call: str
    rows: str
    about: str = ""
    states: Attributes = field(default_factory=dict)
    follows: tuple[Follow, ...] = ()
    gives: str = ""
    like: str = ""
    keeps: str = ""
    typed: bool = False
    by_words: str = ""

    @property
    def name(self) -> str:
        """Its name, as a method of the builder."""
        return self.call.partition("(")[0]

    @cached_property
    def row_ids(self) -> tuple[str, ...]:
        """The names of the rows that it may become."""
        found: list[str] = []
        for name in self.rows.split():
            head = name.removesuffix("*")
            rows = (row for row in catalog.rows() if row.head == head and row.llvm)
            found += [name] if head == name else [row.id for row in rows]
        return tuple(found)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The rows that it may become, with their intrinsics."""
        return tuple(choice_of(row, self.states) for row in map(catalog.row, self.row_ids))

    def row_for(self, draft: Draft) -> Choice:
        """The first row that has all that is given; the last one if none has."""
        if draft.row:
            return next(c for c in self.choices if c.row.id == draft.row)
        return next((c for c in self.choices if c.takes(draft)), self.choices[-1])

    def fill(self, draft: Draft) -> None:
        """Attributes and operands of a call."""
        draft.attributes.update(self.states)
        for parameter in self.parameters:
            value = draft.given[parameter.name]
            is_operand = parameter.source and parameter.qualifier is None
            if is_operand and not (value is None and parameter.default is None):
                if parameter.type.startswith("int"):
                    _check_known(self.name, parameter.name, value)
                found = pointer_of(value) if parameter.source == _BARRIER else value
                draft.operands[parameter.source] = found  # type: ignore[assignment]  # raw() checks it
            elif (known := parameter.qualifier) is not None:
                draft.attributes[parameter.source] = _attribute(parameter, known, value)
        for follow in self.follows:
            follow.act(draft)

    # ---- signature ---------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, in order."""
        return tuple(self._read(self.call if "(" in self.call else self._derived()))

    @cached_property
    def signature(self) -> inspect.Signature:
        """Its signature, with `self`."""
        given = [inspect.Parameter("self", _PLAIN), *(p.python() for p in self.parameters)]
        return inspect.Signature(given, return_annotation=self.returns)

    @cached_property
    def returns(self) -> str:
        """The type of what it gives."""
        if self.keeps:
            return "None"
        texts = [*dict.fromkeys(s.pattern.result for c in self.choices for s in c.spellings)]
        several = texts[: 1 if self.like else None]
        return " | ".join(dict.fromkeys(map(self._returned, several))) or "None"

    def _returned(self, text: str) -> str:
        """The type of what one pattern of LLVM's gives."""
        parts = [p for p in results(text) if self.gives in ("", p.name)]
        types = [_result_type(part, alone=not text.startswith("{")) for part in parts]
        if not types:
            return "None"
        return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"

    @cached_property
    def doc(self) -> str:
        """The docstring: what the verb does, the manual's section, the targets that have it."""
        row, needs = self.choices[0].row, self._needs()
        about = self.about or row.about
        everywhere = needs.targets == EVERY_TARGET
        has = "" if everywhere else f"  {spell(needs.targets)}, PTX {needs.since}."
        return f"{about}\n\n" + textwrap.fill(f"PTX ISA, {row.section}.{has}", _DOC_WIDTH)

    def _needs(self) -> Capability:
        """What the instruction needs, with the qualifiers that the name says."""
        row, named = self.choices[0].row, self.choices[0].constants | dict(self.states)
        found = row.needs
        for rule in row.rules:
            says = any(named.get(name) is not None for name, _ in rule.guard.terms)
            if says and rule.guard.holds(named) and isinstance(rule.demand, Capability):
                both = found.targets & rule.demand.targets
                found = Capability(both, max(found.since, rule.demand.since))
        return found

    def _read(self, signature: str) -> Iterator[Parameter]:
        """Those that a signature names."""
        made = ast.parse(f"def {signature}: ...").body[0]
        assert isinstance(made, ast.FunctionDef)
        plain, named, given = made.args.args, made.args.kwonlyargs, made.args.defaults
        missing: list[ast.expr | None] = [None] * (len(plain) - len(given))
        defaults = [*missing, *given, *made.args.kw_defaults]
        for argument, default in zip([*plain, *named], defaults, strict=True):
            yield self._parameter(argument, default, keyword=argument in named)

    def _parameter(self, made: ast.arg, default: ast.expr | None, *, keyword: bool) -> Parameter:
        note = made.annotation
        if isinstance(note, ast.Constant):
            return Parameter(made.arg, "", str(note.value), _default(None, default), keyword)
        source = note.id if isinstance(note, ast.Name) else made.arg
        qualifier = self._qualifier(source)
        if qualifier is not None:
            value = _default(qualifier, default)
            if value is _EMPTY and keyword:
                value = _USUAL.get(source, _EMPTY)
            type_ = _qualifier_type(qualifier, value)
            return Parameter(made.arg, source, type_, value, keyword, qualifier)
        value = _default(None, default)
        type_ = self._operand_type(source) + (" | None" if value is None else "")
        return Parameter(made.arg, source, type_, value, keyword)

    def _qualifier(self, name: str) -> Qualifier | None:
        """The qualifier of a name, with the values that any of the rows has."""
        qualifiers = [c.row.qualifier[name] for c in self.choices if name in c.row.qualifier]
        values = dict.fromkeys(value for qualifier in qualifiers for value in qualifier.values)
        return replace(qualifiers[0], values=tuple(values)) if qualifiers else None

    def _derived(self) -> str:
        """A signature: operands in the order of LLVM's patterns, the optional ones, qualifiers."""
        patterns = [operands_of(s) for c in self.choices for s in c.spellings]
        required = set.intersection(*(set(must) for must, _ in patterns)) if patterns else set()
        named = dict.fromkeys(name for must, may in patterns for name in (*must, *may))
        plain = [f"{n}={_USUAL[n]}" if n in _USUAL else n for n in named if n in required]
        keywords = [*(f"{n}=None" for n in named if n not in required), *self._qualifiers()]
        return f"{self.call}({', '.join([*plain, *['*'] * bool(keywords), *keywords])})"

    def _qualifiers(self) -> Iterator[str]:
        """The qualifiers that neither the name decides, nor a pointer, nor what follows."""
        row, choice = self.choices[0].row, self.choices[0]
        set_ = {name for follow in self.follows for name in follow.sets}
        known = {*self.states, *set_, *row.tied, *choice.constants}
        for name, qualifier in row.qualifier.items():
            spelled = {s.attributes.get(name) for s in choice.spellings}
            coded = any(name in s.pattern.codes for s in choice.spellings)
            by_pointer = any(operand.space == name for operand in row.operands)
            if name in known or by_pointer or (len(spelled) < 2 and not coded):
                continue
            missing = "=False" if len(qualifier.values) == 1 else "=None"
            yield name + missing * qualifier.optional

    def _operand_type(self, name: str) -> str:
        """The Python type of an operand, by what LLVM's patterns have in its place."""
        every = [s for c in self.choices for s in c.spellings]
        if any(name in s.pattern.numbers for s in every):
            return "int"
        formal = [a for s in every for a in arguments(s.pattern.args) if a.name == name]
        assert formal, f"{self.name}: {name} is neither a qualifier nor an operand"
        pointers = [a for a in formal if a.type.startswith("p")]
        if pointers and len(pointers) < len(formal):
            return "Int | Pointer"
        if pointers:
            return "Barrier | Barriers" if name == _BARRIER else "Pointer"
        if formal[0].type.startswith("v") or formal[0].type == "i128":
            return "Vector"
        several = [a for a in formal if "*" in a.type]
        if several:
            registers = name in ("a", "b", "c", "r")
            one = "" if len(several) == len(formal) else "WordLike | "
            return one + ("Vector | Sequence[WordLike]" if registers else "Sequence[IntLike]")
        if formal[0].type in ("float", "double"):
            return "FloatLike"
        kinds = {c.row.operand[name].kind for c in self.choices if name in c.row.operand}
        return "int" if kinds == {Kind.NUMBER} else "WordLike"


def _check_known(verb: str, parameter: str, value: object) -> None:
    """Whether a number is one that stands in the instruction."""
    if not isinstance(value, Integral):
        raise refuse(
            f"{parameter} of {verb} is a number in the instruction itself",
            got=described(value),
            expected="a whole number of Python's",
        )


def _attribute(parameter: Parameter, qualifier: Qualifier, value: object) -> Modifier | None:
    """What a call says of a qualifier: a flag is its first value."""
    if isinstance(parameter.default, bool) and isinstance(value, (int, np.bool_, NoneType)):
        return qualifier.values[0] if value else None
    may_lack = qualifier.optional or parameter.default is None
    if may_lack and (value is None or value is False):
        return None
    if isinstance(value, Modifier) and type(value) in map(type, qualifier.values):
        return value
    if isinstance(value, ElementType):  # `f32` and `i32` of nvgen are those of tiles
        alike = [v for v in qualifier.values if type(v) is ScalarType and v.value == value.value]
        if alike:
            return alike[0]
    shown = [f"{type(one).__name__}.{one.name}" for one in qualifier.values]
    expected = ", ".join(shown[:8]) + ", …" * (len(shown) > 8)
    raise refuse(f"no {parameter.name} of an instruction", got=described(value), expected=expected)


def _qualifier_type(qualifier: Qualifier, default: object) -> str:
    if isinstance(default, bool):
        return "bool"
    types = dict.fromkeys(type(value).__name__ for value in qualifier.values)
    return " | ".join([*types, *["None"] * (default is None)])


def _default(qualifier: Qualifier | None, given: ast.expr | None) -> object:
    """The value of a default: a literal, or the name of one of a qualifier' values."""
    if given is None:
        return _EMPTY
    if isinstance(given, ast.Name) and qualifier is not None:
        return next(value for value in qualifier.values if value.name == given.id)
    return ast.literal_eval(given)


def _result_type(part: Argument, *, alone: bool) -> str:
    if "*" in part.type:
        return "Vector"
    if part.type.startswith("p"):
        return "Pointer"
    return "Float" if part.type == "float" and alone else "Int"
