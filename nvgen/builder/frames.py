"""Branches and loops that are open, and what their variables are where ways meet behind them.

Layer: nvgen.builder.  Each way to the block behind a branch or a loop brings a value of every
variable that was there before; where they differ a phi takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from llvmlite import ir

from nvgen.builder.regions import Changing

Way: TypeAlias = tuple[ir.Block, Sequence[ir.Value]]
"""A block that goes on behind, and what the variables are at its end."""


@dataclass(slots=True, eq=False)
class Frame:
    """A branch or a loop: the block behind it, the variables before it with their values."""

    after: ir.Block
    known: list[tuple[Changing, ir.Value]]
    is_loop: bool = False
    is_role: bool = False
    ways: list[Way] = field(default_factory=list)
    branch: ir.Instruction | None = None
    """What goes by where a branch is not taken, until `else_` takes it."""

    @property
    def values(self) -> list[ir.Value]:
        """What the variables are at this place of the kernel."""
        return [variable.raw for variable, _ in self.known]

    def leave(self, block: ir.Block) -> None:
        """Note a way out of it, from the end of a block."""
        self.ways.append((block, self.values))

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has been built behind it."""
        return all(isinstance(instr, ir.PhiInstr) for instr in self.after.instructions)

    def join(self, builder: ir.IRBuilder) -> None:
        """Give each variable what it is behind; phis that are there already take the ways."""
        there = {id(phi): phi for phi in self.after.instructions}
        for number, (variable, _) in enumerate(self.known):
            values = [values[number] for _, values in self.ways]
            phi = there.get(id(variable.raw))
            if phi is None and all(value is values[0] for value in values):
                variable.raw = values[0]
                continue
            if phi is None:
                phi = builder.phi(values[0].type)
            blocks = (block for block, _ in self.ways)
            phi.incomings = list(zip(values, blocks, strict=True))
            variable.raw = phi
