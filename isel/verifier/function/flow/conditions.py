"""Equivalent conditions: registers that hold the same predicate, or its complement.

Layer: isel.verifier.function.  Compilers compute a condition several times.  Input: the records of
a function and the registers that one of them writes.  Output: for a predicate the first register
with the same or the complementary value, and the registers on which it depends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr, Mem, Reg, Special, Sym
from intrinsics.modifiers import PARAM_SPACES, Compare, ScalarType

_OPPOSITE = {
    Compare.NE: Compare.EQ,
    Compare.GE: Compare.LT,
    Compare.HS: Compare.LO,
    Compare.GT: Compare.LE,
    Compare.HI: Compare.LS,
}
_LESS = {Compare.LT: Compare.LE, Compare.LO: Compare.LS}


@dataclass(slots=True)
class Conditions:
    """Value numbers of predicates: `names` gives the first equivalent register, and whether it is
    negated.
    """

    single: set[Reg]
    names: dict[Reg, tuple[Reg, bool]] = field(default_factory=dict)
    leaves: dict[Reg, frozenset[Reg]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        records: Sequence[MachineInstr],
        defs: Sequence[Sequence[Reg]],
        uses: Sequence[Sequence[Reg]],
        single: set[Reg],
    ) -> Conditions:
        """The conditions of a function.

        `defs` and `uses` are the registers that each record writes and reads, `single` those that
        exactly one record writes.
        """
        found = cls(single)
        first: dict[object, Reg] = {}
        for index, mi in enumerate(records):
            written = defs[index]
            if mi.guard is not None or len(written) != 1 or written[0] not in single:
                continue
            key, negated = found._key(mi)
            if key is not None:
                name = first.setdefault(key, written[0])
                found.names[written[0]] = name, negated
                if name == written[0]:
                    first["same", name] = name
                    parts = (found.depends(reg) for reg in uses[index])
                    found.leaves[name] = frozenset[Reg]().union(*parts)
        return found

    def name(self, reg: Reg) -> tuple[Reg, bool]:
        """The representative of a register, and whether it holds the complement."""
        return self.names.get(reg, (reg, False))

    def depends(self, reg: Reg) -> frozenset[Reg]:
        """The registers that a register is computed from."""
        return self.leaves.get(self.name(reg)[0], frozenset({reg}))

    def _key(self, mi: MachineInstr) -> tuple[object, bool]:
        """The value number of a record's result, and whether the result is its complement."""
        form = mi.form
        row = form.row.id
        if row == "ld" and form.attributes.get("space") in PARAM_SPACES:
            address = mi.get("a")
            whole = isinstance(address, Mem) and isinstance(address.base, Sym)
            return ((form, address) if whole else None), False
        if not form.is_pure:
            return None, False
        address = mi.get("a")
        if row == "not" and type(address) is int and address in self.names:
            name, negated = self.names[address]
            if form.attributes.get("type") is ScalarType.PRED:
                return ("same", name), not negated
        operands = []
        for op in mi.ops[1:]:
            operand = self._operand(op)
            if operand is None:
                return None, False
            operands.append(operand)
        if row == "setp.int" and mi.get("c") is None:
            return _comparison(mi, tuple(operands[-2:]))
        return (form, tuple(operands)), False

    def _operand(self, op: object) -> object:
        if type(op) is int:
            return ("register", *self.name(op)) if op in self.single else None
        if isinstance(op, Special):
            return op if op.name.startswith(("tid", "ntid", "ctaid", "nctaid", "laneid")) else None
        return op if isinstance(op, (Imm, Sym)) else None


def _comparison(mi: MachineInstr, operands: tuple[object, ...]) -> tuple[object, bool]:
    """A comparison, normalised to `==`, `<` or `<=`; to `<=` where it is with a constant."""
    compare, type_ = mi.form.attributes["cmp"], mi.form.attributes["type"]
    assert isinstance(compare, Compare)
    assert isinstance(type_, ScalarType)
    plain = _OPPOSITE.get(compare, compare)
    number = operands[1]
    if plain in _LESS and isinstance(number, Imm) and type_.is_signed and number.value > 0:
        plain, operands = _LESS[plain], (operands[0], Imm(number.value - 1))
    width = type_.bits if plain is Compare.EQ else type_
    return ("setp", plain, width, operands), plain is not compare and compare in _OPPOSITE
