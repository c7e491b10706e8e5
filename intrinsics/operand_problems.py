"""Problems of the operands of a record, each in its slot and all together.

Layer: intrinsics.  Input: a form with its operands, the classes of the registers and the state
spaces of the symbols.  Output: problems: kinds, register classes, vector lengths, numbers, state
spaces.  PTX ISA, Instruction Operands; Type Information for Instructions and Operands.

One check for each kind of operand, with a shared context: this is one question, whatever its
length.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from intrinsics.mir import (
    FloatImm,
    Form,
    Imm,
    Label,
    Mem,
    Not,
    Op,
    Scalar,
    Sink,
    Special,
    Sym,
    Text,
)
from intrinsics.modifiers import SHARED_SPACES, ScalarType, Space
from intrinsics.operand_types import SpaceOf, fits, is_fraction, number_fits, out_of_range
from intrinsics.row import (
    Access,
    Attributes,
    Kind,
    Numbers,
    Operand,
    Problem,
    VectorNumbers,
)

_RANK = "TMA rank must be in the range 1..5, with a coordinate for each dimension"


def operand_problems(
    form: Form,
    attributes: Attributes,
    ops: Sequence[Op],
    classes: Sequence[ScalarType],
    space_of: SpaceOf,
) -> Iterator[Problem]:
    """The problems of the operands of a record."""
    for operand, op in zip(form.operands, ops, strict=True):
        if operand is not None:
            for problem in OperandSlot(attributes, operand, classes, space_of).problems(op):
                yield replace(problem, subject=operand.name)
    yield from _shared_registers(form, ops)
    yield from _beyond_limits(form, ops)


def _beyond_limits(form: Form, ops: Sequence[Op]) -> Iterator[Problem]:
    """Numbers that exceed that of the operand which bounds them."""
    given = {o.name: op for o, op in zip(form.operands, ops, strict=True) if o is not None}
    for operand in form.operands:
        if operand is None or not operand.limit:
            continue
        op, most = given[operand.name], given[operand.limit]
        if not isinstance(op, Imm) or not isinstance(most, Imm):
            continue
        if op.value & _WORD > most.value & _WORD:  # both are .u32
            text = f"{operand.name} is greater than {operand.limit}"
            expected = f"at most {most.value}"
            yield Problem("immediate-range", text, str(op.value), expected, operand.name)


def _shared_registers(form: Form, ops: Sequence[Op]) -> Iterator[Problem]:
    """Registers that occur in two operands whose registers must all differ."""
    seen: dict[int, str] = {}
    for operand, op in zip(form.operands, ops, strict=True):
        if operand is None or not operand.distinct:
            continue
        registers = {part for part in (op if isinstance(op, tuple) else (op,)) if type(part) is int}
        for first in sorted({seen[reg] for reg in registers if reg in seen}):
            text = f"a register stands in {first} and in {operand.name}"
            yield Problem("repeated-register", text, text, "a register once", operand.name)
        seen.update(dict.fromkeys(registers, operand.name))


_POINTED_TO = (None, Space.GLOBAL)
"""The state spaces whose addresses have 64 bits: the generic one, and global memory."""

_WORD = 0xFFFF_FFFF

_VERBS = {Access.READ: "takes", Access.WRITE: "writes", Access.UPDATE: "updates"}


class OperandSlot:
    """One operand's slot in one record."""

    def __init__(
        self,
        attributes: Attributes,
        operand: Operand,
        classes: Sequence[ScalarType],
        space_of: SpaceOf,
    ) -> None:
        self.attributes = attributes
        self.operand = operand
        self.classes = classes
        self.space_of = space_of

    def problems(self, op: Op) -> Iterator[Problem]:
        """The problems of an operand in the slot."""
        match self.operand.kind:
            case Kind.REGISTER:
                if not (op is Sink.SINK and self.operand.sink) and not self._is_register(op):
                    yield self._mismatch(op)
            case Kind.VALUE:
                yield from self._value(op)
            case Kind.NUMBER:
                yield from self._number(op)
            case Kind.PREDICATE:
                if not self._is_predicate(op):
                    yield self._mismatch(op)
                elif isinstance(op, Imm):
                    yield from self._range(op)
            case Kind.ADDRESS:
                yield from self._address(op)
            case Kind.TENSOR_ADDRESS:
                yield from self._tensor_address(op)
            case Kind.MATRIX:
                yield from self._matrix(op)
            case Kind.VECTOR:
                yield from self._vector(op)
            case Kind.LABEL:
                if not isinstance(op, Label):
                    yield self._problem(f"{self.operand.name} must be a label", op)
            case Kind.LABELS:
                if not isinstance(op, tuple) or not op or {*map(type, op)} != {Label}:
                    yield self._problem(f"{self.operand.name} must be a table of labels", op)
            case Kind.SOURCE:
                yield from self._source(op)
            case Kind.TEXT | Kind.PHI:
                return

    @functools.cached_property
    def type(self) -> ScalarType:
        """The type of the slot."""
        return self.operand.type_under(self.attributes)

    # ---- scalars -----------------------------------------------------------------------------

    def _is_register(self, op: Op) -> bool:
        if type(op) is not int:
            return False
        cls = self.classes[op]
        if cls is ScalarType.F16X2 and not self._names_its_type():
            return False
        return fits(self.type, cls, widened=self.operand.widened)

    def _names_its_type(self) -> bool:
        """Whether .f16x2 counts as .b32: where a modifier names the type, and among registers."""
        registers = self.operand.kind is Kind.VECTOR and self.type.kind == "b"
        return isinstance(self.operand.type, str) or registers

    def _is_predicate(self, op: Op) -> bool:
        inner = op.reg if isinstance(op, Not) and self.operand.negatable else op
        if type(inner) is int:
            return self.classes[inner] is ScalarType.PRED
        return isinstance(op, Imm) and self.operand.takes_number(self.attributes)

    def _value(self, op: Op) -> Iterator[Problem]:
        if type(op) is int:
            if not self._is_register(op):
                yield self._mismatch(op)
        elif self._stands_for_number(op):
            return
        elif isinstance(op, tuple) or not number_fits(self.type, op):
            yield self._mismatch(op)
        elif isinstance(op, Imm):
            yield from self._range(op)
        elif self.operand.fraction and not is_fraction(op):
            text = f"{self.operand.name} is out of range"
            yield Problem(
                "immediate-range", text, "another number", "a number above 0, and 1 at most"
            )

    def _stands_for_number(self, op: Op) -> bool:
        """A special register or `symbol+4` in the slot of a number."""
        if isinstance(op, Special):
            return self.operand.specials
        if not (isinstance(op, Sym) and op.offset and self.operand.symbols):
            return False
        fixed_long = self.type.bits == 64 and not isinstance(self.operand.type, str)
        return self.type.kind in "bi" and not fixed_long

    def _number(self, op: Op) -> Iterator[Problem]:
        if not isinstance(op, Imm):
            yield self._problem(f"{self.operand.name} must be a number", op)
        else:
            yield from self._range(op)

    def _range(self, op: Imm) -> Iterator[Problem]:
        yield from self._within(op, self.operand.numbers_under(self.attributes))

    def _within(self, op: Imm, numbers: Numbers) -> Iterator[Problem]:
        if problem := out_of_range(self.operand.name, op.value, numbers):
            yield problem

    def _source(self, op: Op) -> Iterator[Problem]:
        """The operands of mov and cvta."""
        if type(op) is int:
            if not self._is_register(op):
                yield self._mismatch(op)
        elif isinstance(op, Special):
            if self.operand.within is not None:
                yield self._mismatch(op)
        elif isinstance(op, Sym):
            yield from self._symbol_source(op)
        elif isinstance(op, tuple) or not number_fits(self.type, op):
            yield self._mismatch(op)

    def _symbol_source(self, op: Sym) -> Iterator[Problem]:
        if not op.offset and not self.operand.symbols:
            yield self._problem(f"{self.operand.name} is a register or symbol+number", op)
        elif self.type.kind not in "bi" or self.type.bits < 16:
            yield self._mismatch(op)
        elif self.operand.space is not None:
            yield from self._space(op.name)

    # ---- addresses ---------------------------------------------------------------------------

    def _address(self, op: Op) -> Iterator[Problem]:
        if not isinstance(op, Mem):
            text = f"{self.operand.name} is an address in brackets"
            yield Problem("bare-address", text, self._shown(op), f"[{self.operand.name}]")
            return
        if self.operand.bare and op.offset:
            yield self._problem(f"{self.operand.name} is an address without an offset", op)
        if isinstance(op.base, Sym):
            if self.operand.held:
                yield self._problem(f"{self.operand.name} is an address in a register", op)
            yield from self._space(op.base.name)
            return
        cls = self.classes[op.base]
        narrow = self.operand.wide and cls.bits not in (32, 64)
        if cls.kind not in "bi" or narrow:
            yield Problem(
                "address-type",
                "an address is an integer or untyped register",
                f"%{op.base} of type .{cls.value}",
                ".b32 or .b64",
            )
        elif self.operand.pointer and cls.bits == 32 and self._wanted_space() in _POINTED_TO:
            yield Problem(
                "address-width",
                "an address in generic or global memory has 64 bits",
                f"%{op.base} of type .{cls.value}",
                "a register of 64 bits",
                hint="ptxas takes it as it checks, and refuses to generate code",
            )
        elif self._wanted_space() is Space.PARAM_FUNC:
            yield Problem(
                "state-space", "a parameter of a device function is named, not pointed to",
                self._shown(op), "[name]",
            )  # fmt: skip

    def _wanted_space(self) -> Space | None:
        space = self.operand.space
        found = self.attributes.get(space) if isinstance(space, str) else space
        return found if isinstance(found, Space) else None

    def _space(self, name: str) -> Iterator[Problem]:
        wanted, found = self._wanted_space(), self.space_of(name)
        if found is None or not self._reaches(wanted, found):
            expected = wanted or self.operand.within
            yield Problem(
                "state-space",
                "state space mismatch between instruction and address",
                f"{name} in .{found.value}" if found else f"{name}, which is no variable",
                f".{expected.value}" if expected else "a space with generic addresses",
            )

    def _reaches(self, wanted: Space | None, found: Space) -> bool:
        if found is Space.PARAM_ENTRY and self.operand.stored:
            return False
        if wanted is None:
            return found is not Space.PARAM_ENTRY and self.operand.within in (None, found)
        if wanted is Space.PARAM:
            return found in (Space.PARAM_ENTRY, Space.PARAM_FUNC)
        return found is wanted or (wanted in SHARED_SPACES and found in SHARED_SPACES)

    def _tensor_address(self, op: Op) -> Iterator[Problem]:
        name = self.operand.name
        if not isinstance(op, Mem) or not isinstance(op.base, int):
            text = f"{name} is a tensor memory address in brackets"
            yield Problem("operands", text, self._shown(op), "[register + number]")
            return
        cls = self.classes[op.base]
        integral = cls.bits == 32 and cls.kind in "bi"
        if not (cls is ScalarType.B32 if self.operand.untyped else integral):
            text = f"{name} is a 32-bit tensor memory address"
            yield Problem("operands", text, f"[%{op.base}] of type .{cls.value}", "a .b32 register")

    def _matrix(self, op: Op) -> Iterator[Problem]:
        if isinstance(op, Mem):
            yield from self._tensor_address(op)
        elif type(op) is int:
            if self.classes[op].bits != 64 or self.classes[op].kind not in "bi":
                yield self._mismatch(op)
        elif not isinstance(op, Imm):
            yield self._mismatch(op)

    # ---- vectors -----------------------------------------------------------------------------

    def _vector(self, op: Op) -> Iterator[Problem]:
        operand = self.operand
        assert operand.count is not None
        count = operand.count.of(self.attributes)
        if op is Sink.SINK and operand.unused:
            return
        if not count:
            yield from self._scalar_of_vector(op)
            return
        if not isinstance(op, tuple):
            text = f"{operand.name} is a vector"
            yield Problem("operands", text, self._shown(op), f"{{…}} of {count}")
            return
        if len(op) != count:
            parts = "element" if len(op) == 1 else "elements"
            text = f"{operand.name} has {len(op)} {parts}"
            if deciding := operand.count.modifiers(self.attributes):
                text += f", and {deciding} takes {count}"
            hint = _RANK if operand.name == "coords" else ""
            yield Problem("vector-size", text, str(len(op)), str(count), hint=hint)
        registers = [part for part in op if type(part) is int]
        # ptxas takes a vector with a register of untyped bits for such bits as a whole
        bits = self.type.kind == "i" and "" in map(self._element_kind, registers)
        for part in op:
            if not self._is_part(part) and not (bits and self._has_the_width(part)):
                yield self._mismatch(part)
        for part, numbers in zip(op, operand.each_under(self.attributes), strict=False):
            if isinstance(part, Imm):
                yield from self._within(part, numbers)
        if len({self.classes[reg].bits for reg in registers}) > 1:
            yield self._problem(f"{operand.name} has registers of several widths", op)
        yield from self._neighbours(op)
        if operand.distinct and len(set(registers)) < len(registers):
            text = f"a register stands twice in {operand.name}"
            yield Problem("repeated-register", text, self._shown(op), "a register once")
        floats = any(isinstance(part, FloatImm) for part in op)
        if not (registers or floats) and operand.vector_numbers is not VectorNumbers.ALL:
            yield self._problem(f"{operand.name} needs at least one register", op)

    def _neighbours(self, parts: Sequence[Scalar]) -> Iterator[Problem]:
        """Elements of different types: integers, floats and pairs of halves; untyped bits go with
        all.
        """
        kinds = [self._element_kind(part) for part in parts if part is not Sink.SINK]
        for one, other in itertools.pairwise(kinds):
            if one and other and one != other:
                text = f"elements of different types side by side in {self.operand.name}"
                wanted = "registers of untyped bits, or of one type"
                yield Problem("vector-types", text, f"{one} beside {other}", wanted)
                return

    def _element_kind(self, part: Scalar) -> str:
        match part:
            case Imm():
                return "an integer"
            case FloatImm():
                return "a floating-point number"
            case int():
                cls = self.classes[part]
                if cls is ScalarType.F16X2:
                    return "a pair of halves"
                return {"i": "an integer", "f": "a floating-point number"}.get(cls.kind, "")
        return ""

    def _scalar_of_vector(self, op: Op) -> Iterator[Problem]:
        """A count of 0: one operand without braces."""
        if self._is_register(op):
            return
        numbers = self.operand.vector_numbers is not VectorNumbers.NONE
        symbol = isinstance(op, Sym) and op.offset and self.type.kind in "bi"
        if isinstance(op, tuple) or not (numbers and (symbol or number_fits(self.type, op))):
            yield self._mismatch(op)

    def _is_part(self, part: Scalar) -> bool:
        if type(part) is int:
            return self._is_register(part)
        if part is Sink.SINK:
            return self.operand.sink
        return self.operand.vector_numbers is not VectorNumbers.NONE and number_fits(
            self.type, part
        )

    def _has_the_width(self, part: Scalar) -> bool:
        return type(part) is int and self.classes[part].bits == self.type.bits

    # ---- words -------------------------------------------------------------------------------

    def _problem(self, text: str, op: Op) -> Problem:
        return Problem("operands", text, self._shown(op))

    def _mismatch(self, op: Op) -> Problem:
        operand = self.operand
        wanted = operand.kind.value
        if operand.kind in (Kind.REGISTER, Kind.VALUE, Kind.VECTOR, Kind.SOURCE):
            wanted += f" of type .{self.type.value}"
        verb = _VERBS[operand.access]
        text = f"{operand.name} {verb} a {wanted}"
        return Problem("operands", text, self._shown(op), wanted)

    def _shown(self, op: Op) -> str:
        match op:
            case int():
                return f"%{op} of type .{self.classes[op].value}"
            case Imm(value):
                return f"the number {value}"
            case FloatImm():
                return "a floating-point number"
            case tuple():
                return f"a vector of {len(op)}"
            case Mem():
                return "an address in brackets"
            case Not(reg):
                return f"!%{reg}"
            case Sink():
                return "_"
            case Sym(name, offset):
                return f"{name}{offset:+d}" if offset else name
            case Special(name) | Label(name) | Text(name):
                return name
