"""One record of MIR text.

Layer: asmprinter.  Input: the tokens of a record, and those of the lines that hold its operands.
Output: an `intrinsics.mir.MachineInstr`.  The grammar stands in `asmprinter.mir.reader`; what the
opcode does not say (which operands are there, where a matrix lives) follows from the operands.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence

from asmprinter.mir.operands import Body, operand, register
from asmprinter.mir.tokens import BadTextError, Token, Tokens
from intrinsics import catalog
from intrinsics.legality import text_of
from intrinsics.mir import (
    SINK,
    Form,
    Imm,
    MachineInstr,
    Mem,
    Not,
    Op,
    Reg,
    form_of,
    operand_attributes,
)
from intrinsics.row import Access, Attribute, Kind, Row


def is_operand_line(line: Sequence[Token]) -> bool:
    """Whether the line holds an operand of the record above it."""
    return line[0].kind == "word" and line[1].text == ":"


def _is_result(token: Token) -> bool:
    return token.kind == "reg" or token.text in ("{", "_")


class RecordReader:
    """A record that is read line by line: its own, then those of its operands."""

    def __init__(self, tokens: Tokens, body: Body) -> None:
        self.body = body
        self.given: dict[str, Op] = {}
        self.guard = self._guard(tokens)
        results = self._results(tokens)
        self.opcode = tokens.next
        self.row, self.qualifiers = _form(self.opcode, tokens.take("word"))
        self._name_results(results)
        self._operands(tokens)
        self.loc = tokens.location() if tokens.next.kind == "loc" else 0
        tokens.end()

    def _guard(self, tokens: Tokens) -> Reg | Not | None:
        if not tokens.take_if("mark", "@"):
            return None
        negated = tokens.take_if("mark", "!")
        reg = register(tokens, self.body)
        return Not(reg) if negated else reg

    def _results(self, tokens: Tokens) -> list[Op]:
        if not _is_result(tokens.next):
            return []
        found = [operand(tokens, self.body)]
        while tokens.take_if("mark", ","):
            if not _is_result(tokens.next):
                raise tokens.unexpected("a result")
            found.append(operand(tokens, self.body))
        tokens.take("mark", "=")
        return found

    def _name_results(self, results: list[Op]) -> None:
        names = _result_names(self.row)
        if len(results) > len(names):
            message = f"{self.opcode.text} has {len(names)} results"
            raise BadTextError(message, self.opcode, f"at most {len(names)} results")
        self.given.update(zip(names, results, strict=False))

    def _operands(self, tokens: Tokens) -> None:
        """The operands behind the opcode; those that may be left out are named."""
        row = self.row
        unnamed = [
            slot
            for slot in row.slot_names
            if slot not in row.optional and slot not in _result_names(row)
        ]
        names = iter(unnamed)
        if tokens.next.kind in ("end", "loc"):
            return
        while True:
            token = tokens.next
            if token.kind == "word" and tokens.ahead(1)[:2] == ("mark", "="):
                tokens.at += 2
                self._give(token, token.text, operand(tokens, self.body))
            else:
                op, name = operand(tokens, self.body), next(names, None)
                if name is None:
                    message = f"{row.head} takes {len(unnamed)} operands here"
                    raise BadTextError(message, token, f"{len(unnamed)} operands without a name")
                self._give(token, name, op)
            if not tokens.take_if("mark", ","):
                return

    def line(self, tokens: Tokens) -> None:
        """A line that holds one operand.

        Raises: BadTextError.
        """
        token = tokens.next
        name = tokens.take("word")
        tokens.take("mark", ":")
        self._give(token, name, operand(tokens, self.body))
        tokens.end()

    def _give(self, token: Token, name: str, op: Op) -> None:
        if name in self.given:
            message = f"{self.opcode.text} has {name} already"
            raise BadTextError(message, token, "each operand once")
        if name not in self.row.slot_names:
            message = f"{self.opcode.text} has no operand {name}"
            raise BadTextError(message, token, ", ".join(self.row.slot_names))
        self.given[name] = op

    def record(self) -> MachineInstr:
        """The record, now that all of its operands are there.

        Raises: BadTextError.
        """
        row = self.row
        placed = {n: op for n, op in self.given.items() if not _is_discarded(row, n, op)}
        form = form_of(row, **{**self.qualifiers, **operand_attributes(row, placed)})
        missing = ", ".join(slot for slot in form.slots if slot not in placed)
        if "coords" in form.index and _is_missing(placed.get("coords")):
            rank = next(rule for rule in row.rules if rule.id == "rank")
            raise BadTextError(text_of(rank), self.opcode, "coords: 1 to 5 coordinates")
        if missing:
            raise BadTextError(f"{form.opcode} needs {missing}", self.opcode, missing)
        unknown = ", ".join(name for name in placed if name not in form.index)
        if unknown:
            message = f"{form.opcode} has no operand {unknown}"
            raise BadTextError(message, self.opcode, ", ".join(form.slots))
        self._check_words(form, placed)
        ops = tuple(_placed(row, slot, placed[slot]) for slot in form.slots)
        return MachineInstr(form, ops, self.guard, self.loc)

    def _check_words(self, form: Form, placed: Mapping[str, Op]) -> None:
        """Packed words are numbers: what they hold is not known before the kernel runs, else."""
        for slot in form.row.packed_fields.slots(form.attributes) if form.row.packed_fields else ():
            if not isinstance(placed[slot], Imm):
                message = f"{slot} is a packed word of {form.opcode}, and no number"
                raise BadTextError(message, self.opcode, f"{slot}: imm:…")


def _form(token: Token, opcode: str) -> tuple[Row, Mapping[str, Attribute]]:
    found = _form_of_opcode(opcode)
    if found is None:
        near = _near(opcode)
        hint = f"; the nearest family is {near}" if near else ""
        raise BadTextError(
            f"no opcode '{token.shown}'{hint}", token, f"{near}_…" if near else "an opcode"
        )
    return found


@functools.lru_cache(4096)
def _form_of_opcode(opcode: str) -> tuple[Row, Mapping[str, Attribute]] | None:
    return catalog.form_of_opcode(opcode)


def _near(opcode: str) -> str:
    prefixes = {row.opcode_ends[0].strip("_") for row in catalog.rows()}
    best = min(sorted(prefixes), key=lambda p: (-_common(p, opcode), len(p)))
    return best if _common(best, opcode) > 3 else ""


def _common(a: str, b: str) -> int:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return len(list(same))


@functools.cache
def _result_names(row: Row) -> tuple[str, ...]:
    return tuple(o.name for o in row.operands if o.access is Access.WRITE)


def _is_discarded(row: Row, name: str, op: Op) -> bool:
    place = row.operand.get(name)
    return op is SINK and place is not None and place.kind is Kind.REGISTER and place.sink


def _is_missing(coords: Op | None) -> bool:
    """Whether there are no coordinates, or the operand behind them stands in their place."""
    return coords is None or coords == () or isinstance(coords, Mem)


def _placed(row: Row, slot: str, op: Op) -> Op:
    """A tensor memory address may be written without its brackets."""
    place = row.operand.get(slot)
    if place is not None and place.kind is Kind.TENSOR_ADDRESS and type(op) is int:
        return Mem(op)
    return op
