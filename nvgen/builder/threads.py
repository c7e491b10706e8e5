"""What a thread knows of its place: in its warp, its CTA, its cluster and the grid.

Layer: nvgen.builder.  PTX ISA, Special Registers; shfl.sync.
"""

from __future__ import annotations

from llvmlite import ir

from intrinsics.modifiers import ScalarType, Shuffle
from intrinsics.row import Fact
from nvgen.builder.numbers import Int
from nvgen.builder.refusals import refuse
from nvgen.builder.verb import Operand
from nvgen.builder.verbs import Verbs

_WORD = 32
_LAST_LANE = 31


class ThreadNumbers(Verbs):
    """Numbers of threads, warps, blocks and CTAs."""

    def sreg(self, name: str) -> Int:
        """A special register: `b.sreg("tid.x")`."""
        type_ = ir.FunctionType(ir.IntType(32), [])
        function = self.declare("llvm.nvvm.read.ptx.sreg." + name, type_)
        return Int(self, self.at_caller().call(function, [], name=name))

    @property
    def tid_x(self) -> Int:
        """The thread's index in its block."""
        return self.sreg("tid.x")

    @property
    def ctaid_x(self) -> Int:
        """The block's index in the grid."""
        return self.sreg("ctaid.x")

    @property
    def nctaid_x(self) -> Int:
        """The number of blocks in the grid."""
        return self.sreg("nctaid.x")

    def uniform(self, value: Int) -> Int:
        """32 bits that are the same in all lanes of the warp, as the assembler then knows too.

        Raises: InputError for another width.
        """
        if value.bits != _WORD:
            raise refuse("a register is shuffled", got=f"i{value.bits}", expected=f"i{_WORD}")
        facts: dict[str, Fact] = {"mode": Shuffle.IDX, "type": ScalarType.B32}
        operands: dict[str, Operand] = {"membermask": -1, "a": value, "b": 0, "c": _LAST_LANE}
        return Int(self, self._call("shfl.sync", facts, operands))

    @property
    def warp(self) -> Int:
        """The number of the warp in its CTA, whose threads are numbered in x."""
        return self.uniform(self.tid_x >> 5)

    @property
    def warpgroup(self) -> Int:
        """The number of the warpgroup in its CTA, whose threads are numbered in x."""
        return self.uniform(self.tid_x >> 7)

    @property
    def cluster_ctarank(self) -> Int:
        """The CTA's rank in its cluster; that of the even CTA of a pair is even."""
        return self.sreg("cluster.ctarank")
