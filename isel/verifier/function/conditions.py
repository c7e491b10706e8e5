"""Equivalent conditions: registers that hold the same predicate, or its complement.

Layer: isel.verifier.function.  Compilers compute a condition several times.  Input: the records of
a function and the registers that one of them writes.  Output: for a predicate the first register
with the same or the complementary value, and the registers on which it depends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr, Mem, Reg, Special, Sym
from intrinsics.modifiers import Compare, ScalarType
from isel.verifier.function.evaluate import PARAMS

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
    def of(cls, records: Iterable[MachineInstr], single: set[Reg]) -> Conditions:
        """The conditions of a function.

        `single` are the registers that exactly one record writes.
        """
        found = cls(single)
        first: dict[object, Reg] = {}
        for mi in records:
            defs = tuple(mi.defs())
            if mi.guard is not None or len(defs) != 1 or defs[0] not in single:
                continue
            key, negated = found._key(mi)
            if key is not None:
                name = first.setdefault(key, defs[0])
                found.names[defs[0]] = name, negated
                if name == defs[0]:
                    first["same", name] = name
                    parts = (found.depends(reg) for reg in mi.uses())
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
        address = mi.get("a")
        if mi.row.id == "ld" and mi.form.attributes.get("space") in PARAMS:
            whole = isinstance(address, Mem) and isinstance(address.base, Sym)
            return ((mi.form, address) if whole else None), False
        if not mi.form.is_pure:
            return None, False
        if mi.row.id == "not" and type(address) is int and address in self.names:
            name, negated = self.names[address]
            if mi.form.attributes.get("type") is ScalarType.PRED:
                return ("same", name), not negated
        operands = tuple(self._operand(op) for op in mi.ops[1:])
        if None in operands:
            return None, False
        if mi.row.id == "setp.int" and mi.get("c") is None:
            return _comparison(mi, operands[-2:])
        return (mi.form, operands), False

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
