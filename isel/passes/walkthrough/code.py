"""Code that every expansion of the walkthrough's records needs: records, barriers, thread numbers.

Layer: isel.passes.  Input: a function, and whether it works for a CTA pair.  Output: blocks with
records in them.  PTX ISA, barrier; barrier.cluster; tcgen05.fence.
"""

from __future__ import annotations

from intrinsics.catalog import form
from intrinsics.mir import (
    Block,
    Form,
    Imm,
    MachineFunction,
    MachineInstr,
    Not,
    Op,
    Reg,
    Special,
)
from intrinsics.modifiers import Aligned, CtaGroup, ScalarType, Sem, ThreadSync

B32, U32, U64, B64 = ScalarType.B32, ScalarType.U32, ScalarType.U64, ScalarType.B64


class ExpandedBlocks:
    """The blocks that a function is rebuilt of; `loc` is where what is expanded stands."""

    def __init__(self, function: MachineFunction, *, pair: bool) -> None:
        self.function = function
        self.group = CtaGroup.TWO if pair else CtaGroup.ONE
        self.blocks: list[Block] = []
        self.loc = 0

    def start(self, name: str, *, nounroll: bool = False) -> None:
        """Begin a block."""
        self.blocks.append(Block(name, nounroll=nounroll))

    def emit(self, form: Form, *ops: Op, guard: Reg | Not | None = None) -> None:
        """Add a record."""
        self.blocks[-1].instrs.append(MachineInstr(form, ops, guard, self.loc))

    def new(self, cls: ScalarType, form: Form, *ops: Op, name: str = "") -> Reg:
        """A register with what a record computes."""
        reg = self.function.regs.new(cls, name)
        self.emit(form, reg, *ops)
        return reg

    def barrier(self) -> None:
        """All threads meet; what tensor memory saw before, it sees in order."""
        self.fence(ThreadSync.BEFORE)
        self.meet()
        self.fence(ThreadSync.AFTER)

    def meet(self) -> None:
        """All threads of the CTA meet, or of the cluster."""
        if self.group is CtaGroup.ONE:
            self.emit(form("bar.sync"), Imm(0))
            return
        self.emit(form("barrier.cluster.arrive", sem=Sem.RELEASE, aligned=Aligned.ALIGNED))
        self.emit(form("barrier.cluster.wait", sem=Sem.ACQUIRE, aligned=Aligned.ALIGNED))

    def fence(self, side: ThreadSync) -> None:
        """Order what was asked of tensor memory with what other threads do."""
        self.emit(form("tcgen05.fence", side=side))

    def thread_number(self) -> Reg:
        """The thread's number in its CTA, x first."""
        x = self.special("tid.x")
        sizes = self.function.launch.reqntid
        if sizes and all(size == 1 for size in sizes[1:]):
            return x
        multiply_add = form("mad.lo", type=U32)
        rows = self.new(
            B32, multiply_add, self.special("tid.z"), self.special("ntid.y"),
            self.special("tid.y"),
        )  # fmt: skip
        return self.new(B32, multiply_add, rows, self.special("ntid.x"), x)

    def special(self, name: str) -> Reg:
        """A register with a special register's value."""
        return self.new(B32, form("mov", type=U32), Special(name), name=name)
