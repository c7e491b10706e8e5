"""Instructions of PTX to machine records.

Layer: asmprinter.  Input: a statement's text, and the names of its function.  Output: a record, an
opaque one for what PTX has and nvgen does not know, or a `BadStatementError`.  PTX ISA, Instruction
Statements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from asmprinter.ptx.reading.calls import parse_call
from asmprinter.ptx.reading.kept import check_statement
from asmprinter.ptx.reading.opcodes import Candidate, OpcodeReading, read_opcode
from asmprinter.ptx.reading.operands import (
    Syntax,
    in_order,
    lacks_coordinates,
    order_of,
    parse_operands,
    place,
    unbrace,
)
from asmprinter.ptx.reading.report import BadStatementError, Reporter
from asmprinter.ptx.reading.scopes import Names
from asmprinter.ptx.reading.tokens import OperandError
from asmprinter.ptx.source import NAME
from intrinsics import catalog
from intrinsics.findings import error_of
from intrinsics.legality import expected, got, judge, text_of
from intrinsics.mir import (
    Form,
    Imm,
    Label,
    MachineInstr,
    Mem,
    Not,
    Op,
    Reg,
    Text,
    form_of,
    operand_attributes,
)
from intrinsics.modifiers import Dim, ScalarType, Space
from intrinsics.operand_fit import plain_fit
from intrinsics.operand_problems import operand_problems
from intrinsics.row import Attribute, Row

_INSTRUCTION = re.compile(
    rf"(?:@\s*+(!?)\s*+({NAME})\s++)?([A-Za-z][\w.:]*+(?:\s++\.[\w.:]++)*)\s*+(.*)", re.DOTALL
)

_SUBSCRIPT = re.compile(r"(?:^|[\s,])[A-Za-z_$][\w$]*\[")
"""`x[4]` in the place of an address."""


class Parts(NamedTuple):
    """The parts of a statement: `@!p name operands`, of which the guard may be missing."""

    negated: str
    predicate: str | None
    name: str
    operands: str

    @property
    def guard(self) -> str:
        """The guard as it is written, with a space behind it; "" where there is none."""
        return f"@{self.negated}{self.predicate} " if self.predicate else ""


class Laid(NamedTuple):
    """Operands in the places of a row, and the form that they and the qualifiers give."""

    attributes: dict[str, Attribute]
    placed: dict[str, Op]
    form: Form


def _lay(candidate: Candidate, operands: list[Syntax]) -> Laid | None:
    """Lay operands on a row's places; None where it has no such places."""
    row = candidate.row
    placed = place(row, candidate.attributes, operands)
    if placed is None:
        return None
    attributes = {**candidate.attributes, **operand_attributes(row, placed)}
    unbrace(row, attributes, placed)
    return Laid(attributes, placed, form_of(row, **attributes))


def split_instruction(text: str) -> Parts | None:
    """The parts of an instruction; None for what is none."""
    match = _INSTRUCTION.fullmatch(text)
    if match is None:
        return None
    negated, predicate, name, operands = match.groups()
    return Parts(negated or "", predicate, "".join(name.split()), operands)


_Shape: TypeAlias = tuple[object, ...]


def _shape_of(
    candidates: tuple[Candidate, ...], operands: list[Syntax], classes: Sequence[ScalarType]
) -> _Shape | None:
    """All that decides which row plain operands belong to, and where they stand in it.

    None where that is not told by kinds and types: operands of one row may be wrong, of several
    each number counts.
    """
    if candidates[0].problems:
        return None
    alone = len(candidates) == 1
    shape: list[object] = []
    for op in operands:
        if type(op) is int:
            shape.append(int if alone else classes[op])
        elif type(op) is Imm:
            shape.append(int if alone else op)
        elif type(op) is Mem and type(op.base) is int:
            shape.append(Mem if alone else (classes[op.base], op.offset != 0))
        elif type(op) is tuple and len(op) > 1 and {int}.issuperset(map(type, op)):
            shape.append(
                tuple if alone else tuple([classes[reg] for reg in op if type(reg) is int])
            )
        else:
            return None
    if not alone and any(o.distinct for one in candidates for o in one.row.operands):
        return None
    return tuple(shape)


class InstructionReader(Reporter):
    """Reads the instructions of the function that is open."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self.spaces: dict[str, Space | None] = {}  # of the module's names
        self.local_spaces: dict[str, Space | None] = {}  # of the function's
        self.names: Names | None = None
        self._known: dict[tuple[str, _Shape], tuple[Form, tuple[int, ...]]] = {}

    def _space_of(self, name: str) -> Space | None:
        return self.local_spaces.get(name) or self.spaces.get(name)

    def read_instruction(self, text: str, start: int) -> None:
        """Read one statement, which begins at `start`.

        Raises: BadStatementError.
        """
        parts = split_instruction(text)
        if parts is None:
            shown = " ".join(text.split())[:60]
            raise BadStatementError("ptx/syntax", "cannot read this statement", got=shown)
        if self.function is None:
            raise BadStatementError("ptx/syntax", "an instruction outside a function")
        negated, predicate, name, rest = parts
        reading, written = _known_opcode(name), parts.guard
        if not reading.candidates or reading.candidates[0].foreign:
            self._keep(name, rest, written, f"instruction '{name}'", start)
            return
        guard = self._guard(negated, predicate)
        if reading.candidates[0].row.id == "call" and not reading.candidates[0].problems:
            self._call(reading.candidates[0], rest, guard, written, start)
            return
        try:
            operands = parse_operands(rest, self._resolver(name, start))
        except OperandError as error:
            if not reading.candidates[0].problems and _SUBSCRIPT.search(rest):
                self._keep(name, rest, written, "an element of an array", start)
                return
            raise self._bad_operands(reading.candidates[0], name, rest, error, start) from None
        if name == "mov.pred" and any(isinstance(op, Not) for op in operands):
            self._keep(name, rest, written, "a negated predicate here", start)
            return
        shape = _shape_of(reading.candidates, operands, self.function.regs.classes)
        known = None if shape is None else self._known.get((name, shape))
        if known is not None:
            form, order = known
            ops = in_order(operands, order)
            self._append(MachineInstr(form, ops, guard, self.location_at(start)))
            return
        found = self._record(reading.candidates, operands, guard, start)
        if found is not None and shape is not None:
            self._known[name, shape] = found

    def _bad_operands(
        self, opcode: Candidate, name: str, rest: str, error: OperandError, start: int
    ) -> BadStatementError:
        """What is said of operands that cannot be read, behind what is wrong with the name."""
        if opcode.problems:
            self._report_problems(opcode, start)
        return BadStatementError(error.rule, str(error), op=name, got=" ".join(rest.split()))

    def _keep(self, name: str, rest: str, guard: str, what: str, start: int) -> None:
        """Keep an instruction that PTX has, and say why.

        Raises: BadStatementError for what is none in any version of PTX.
        """
        check_kept(name, rest)
        self.keep_statement(name, rest, guard, start)
        self.not_understood("ptx/not-modelled", what, start, op=name)

    def _call(
        self, candidate: Candidate, rest: str, guard: Reg | Not | None, written: str, start: int
    ) -> None:
        names = self.names
        assert names is not None
        try:
            given = parse_call(rest, names.resolve)
        except OperandError as error:
            shown = " ".join(rest.split())
            raise BadStatementError(error.rule, str(error), op="call", got=shown) from None
        if given is None:
            name = candidate.row.spell(candidate.attributes)
            self._keep(name, rest, written, "this kind of call", start)
            return
        there = {name: name in given for name in candidate.row.optional}
        form = form_of(candidate.row, **candidate.attributes, **there)
        ops = tuple(given[slot] for slot in form.slots)
        self._append(MachineInstr(form, ops, guard, self.location_at(start)))

    def _resolver(self, name: str, start: int) -> Callable[[str], Op | None]:
        """How names in an operand list resolve; a branch's target is a label whatever its name."""
        names = self.names
        assert names is not None
        if name.startswith("brx."):
            return lambda table: names.table(table) or names.resolve(table)
        if name.split(".")[0] != "bra":
            return names.resolve

        def target(label: str) -> Op:
            found = Label(label)
            names.refer(found, label, start)
            return found

        return target

    def _guard(self, negated: str, predicate: str | None) -> Reg | Not | None:
        if predicate is None:
            return None
        assert self.function is not None
        assert self.names is not None
        reg = self.names.resolve(predicate)
        if type(reg) is not int or self.function.regs.classes[reg] is not ScalarType.PRED:
            raise BadStatementError(
                "ptx/guard", "a guard is a predicate register", got="@" + negated + predicate
            )
        return Not(reg) if negated else reg

    def _record(
        self,
        candidates: tuple[Candidate, ...],
        operands: list[Syntax],
        guard: Reg | Not | None,
        start: int,
    ) -> tuple[Form, tuple[int, ...]] | None:
        """Read a record; its form, and which operand stands in each slot where that is plain."""
        best, laid = self._best(candidates, operands)
        if best.problems:
            self._report_problems(best, start)
            return None
        _check_coordinates(best, operands)
        laid = laid or _lay(best, operands)
        if laid is None:
            raise BadStatementError(
                "ptx/operands",
                f"operands do not fit {best.row.head}",
                op=best.row.head,
                got=f"{len(operands)} operands",
                expected=best.row.syntax or "no operand",
                section=best.row.section,
            )
        row, (attributes, placed, form) = best.row, laid
        words = row.packed_fields.pack(attributes) if row.packed_fields else {}
        packed, _ = (
            row.packed_fields.unpack(words, form.attributes) if row.packed_fields else ({}, ())
        )
        if row.packed_fields and any(
            attribute is not None and packed.get(qualifier) is not attribute
            for qualifier, attribute in best.attributes.items()
            if qualifier in row.packed_fields.qualifiers
        ):
            self._report_broken(row, attributes, start)
            return None
        ops = tuple(placed[s] if s in placed else Imm(words[s]) for s in form.slots)
        self._append(MachineInstr(form, ops, guard, self.location_at(start)))
        order = order_of(row, best.attributes, operands, form.slots)
        return None if order is None else (form, order)

    def _best(
        self, candidates: tuple[Candidate, ...], operands: list[Syntax]
    ) -> tuple[Candidate, Laid | None]:
        """Of the rows that share a head, the first with the least that does not fit.

        With it its operands in their places, where they were looked at.
        """
        clean = [c for c in candidates if not c.problems]
        if len(clean) < 2:
            return candidates[0], None
        best, found, least = clean[0], None, math.inf
        for candidate in clean:
            laid = _lay(candidate, operands) if candidate.row.packed_fields is None else None
            misfits = math.inf if laid is None else self._misfits(laid)
            if not misfits:
                return candidate, laid
            if misfits < least:
                best, found, least = candidate, laid, misfits
        return best, found

    def _misfits(self, laid: Laid) -> int:
        """How much is wrong with operands in the places of a row."""
        assert self.function is not None
        attributes, placed, form = laid
        ops = tuple([placed[s] for s in form.slots])
        classes = self.function.regs.classes
        if plain_fit(form).holds(ops, classes, self._space_of):
            return 0
        return sum(1 for _ in operand_problems(form, attributes, ops, classes, self._space_of))

    def _append(self, mi: MachineInstr) -> None:
        assert self.function is not None
        assert self.names is not None
        self.function.blocks[-1].instrs.append(mi)
        if mi.form.is_terminator:
            self.names.begin_block()

    def keep_statement(self, name: str, rest: str, guard: str, start: int) -> None:
        """Keep a statement as text, its registers beside it."""
        names = self.names
        assert names is not None
        shown, regs, unknown = names.keep(f"{guard}\0{rest}")
        text = " ".join(shown.replace("\0", name + " ").split())
        form = catalog.form("opaque", registers=bool(regs))
        ops: tuple[Op, ...] = (Text(text), regs) if regs else (Text(text),)
        mi = MachineInstr(form, ops, None, self.location_at(start))
        self._append(mi)
        for label in unknown:
            names.refer(mi, label, start)

    def _report_problems(self, candidate: Candidate, start: int) -> None:
        for problem in candidate.problems:
            self.report(
                error_of(
                    "ptx/" + problem.rule,
                    problem.text,
                    op=candidate.row.head,
                    got=problem.got,
                    expected=problem.expected,
                    hint=problem.hint,
                    section=candidate.row.section,
                ),
                start,
            )

    def _report_broken(self, row: Row, attributes: dict[str, Attribute], start: int) -> None:
        """What is wrong with a form that no record can hold."""
        for rule in judge(row, attributes).broken:
            self.report(
                error_of(
                    f"{row.head}/{rule.id}",
                    text_of(rule),
                    op=row.spell(attributes),
                    got=got(rule, attributes),
                    expected=expected(rule),
                    section=row.section,
                ),
                start,
            )


def check_kept(name: str, operands: str) -> None:
    """Whether text that is kept as it stands, unparsed, could be an instruction.

    Raises: BadStatementError.
    """
    try:
        check_statement(name, operands)
    except OperandError as wrong:
        shown = " ".join(f"{name} {operands}".split())
        raise BadStatementError(wrong.rule, str(wrong), op=name, got=shown) from None


def _known_opcode(name: str) -> OpcodeReading:
    """What an opcode may be.

    Raises: BadStatementError for one that no version of PTX has.
    """
    reading = read_opcode(name)
    if reading.candidates or reading.known_elsewhere:
        return reading
    raise BadStatementError(
        "ptx/unknown-instruction",
        f"no instruction '{name}'",
        got=name,
        section="Instruction Set",
    )


def _check_coordinates(best: Candidate, operands: list[Syntax]) -> None:
    """Whether a tensor map has coordinates.

    Raises: BadStatementError with the words of the row's rule about ranks.
    """
    if not lacks_coordinates(best.row, operands):
        return
    dim = best.attributes.get("dim")
    wanted = dim.rank if isinstance(dim, Dim) and 1 <= dim.rank <= 5 else "1 to 5"
    rank = next(rule for rule in best.row.rules if rule.id == "rank")
    raise BadStatementError(
        f"{best.row.head}/{rank.id}",
        text_of(rank),
        op=best.row.spell(best.attributes),
        got="a tensor map without coordinates",
        expected=f"{wanted} coordinates",
        section=best.row.section,
    )
