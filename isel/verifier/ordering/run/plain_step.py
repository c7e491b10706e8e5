"""One execution of a record: its operands as numbers.

Layer: isel.verifier.ordering.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Op
from isel.verifier.ordering.integers.numbers import Number
from isel.verifier.ordering.run.run_state import RunState
from isel.verifier.ordering.run.strand import Strand


@dataclass(slots=True)
class Plain:
    """A record, executed by the threads of a strand in the lanes of a mask; events have more."""

    run: RunState
    strand: Strand
    mi: MachineInstr
    mask: int

    def slot(self, name: str) -> Number:
        """The value of an operand, None without one."""
        return self.run.value(self.strand, self.mi.get(name))

    def elements(self, name: str) -> tuple[Op, ...]:
        """The elements of an operand that is a vector, or the operand itself."""
        op = self.mi.get(name)
        if op is None:
            return ()
        return op if isinstance(op, tuple) else (op,)

    def write(self, name: str, number: Number) -> None:
        """Write a number to the register of an operand."""
        self.run.write(self.strand, self.mi.get(name), number, self.mask)
