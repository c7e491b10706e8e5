"""The builder's verbs for matrices that a warp loads, stores or transposes.

Layer: nvgen.builder.  PTX ISA, ldmatrix; stmatrix; movmatrix.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from intrinsics.modifiers import CopyFormat, ScalarType, Space
from intrinsics.multiplies.matrix import MatrixNum, MatrixShape, Transposed
from intrinsics.row import Fact
from nvgen.builder.intrinsics import IntrinsicCalls
from nvgen.builder.registers import Vector
from nvgen.builder.values import Int, IntLike, Pointer, refuse

T = ScalarType
_SHARED = 3
_TYPES = {MatrixShape.M8N8: T.B16, MatrixShape.M16N16: T.B8, MatrixShape.M16N8: T.B8}


class MatrixVerbs(IntrinsicCalls):
    """Calls of the matrix intrinsics, each by all threads of a warp."""

    def ldmatrix(
        self,
        line: Pointer,
        num: MatrixNum = MatrixNum.X4,
        *,
        shape: MatrixShape = MatrixShape.M8N8,
        trans: bool = False,
        source: CopyFormat | None = None,
    ) -> Vector:
        """Load matrices from shared memory; returns a thread's registers, those of each matrix.

        `line` is where 16 bytes lie: those of thread i are line i, of matrix `i // 8` (`i // 16`
        in m16n16).  A thread gets elements that follow one another in row `lane // 4` of each, or
        with `trans` in a column.  `source` is how elements of 6 or 4 bits lie in memory, of which
        each comes to a byte.

        Raises: InputError for what LLVM has no intrinsic for.
        """
        facts = self._matrix(line, shape, num, trans=trans)
        if source is not None:
            facts |= {"type": None, "dst_fmt": CopyFormat.B8X16, "src_fmt": source}
        found = self._call("ldmatrix", facts, {"a": line})
        if not isinstance(found.type, ir.LiteralStructType):
            return Vector(self, found, 1)
        builder = self.at_caller()
        count = len(found.type.elements)
        return self.words([Int(self, builder.extract_value(found, i)) for i in range(count)])

    def stmatrix(
        self,
        line: Pointer,
        values: Vector | Sequence[IntLike],
        *,
        shape: MatrixShape = MatrixShape.M8N8,
        trans: bool = False,
    ) -> None:
        """Store one, two or four matrices into shared memory, a register of a thread for each.

        Lines and elements are as in `ldmatrix`: with `trans` a thread's two elements lie in two
        lines.

        Raises: InputError for another number, and for what LLVM has no intrinsic for.
        """
        registers = list(values)
        num = next((n for n in MatrixNum if n.count == len(registers)), None)
        if num is None:
            raise refuse("so many matrices", got=str(len(registers)), expected="1, 2 or 4")
        facts = self._matrix(line, shape, num, trans=trans)
        self._call("stmatrix", facts, {"a": line, "r": registers})

    def movmatrix(self, row: Int) -> Int:
        """Transpose a matrix of 8 by 8 elements of 16 bits, of which each thread has two."""
        facts: dict[str, Fact] = {"shape": MatrixShape.M8N8}
        return Int(self, self._call("movmatrix", facts, {"a": row}))

    def _matrix(
        self, line: Pointer, shape: MatrixShape, num: MatrixNum, *, trans: bool
    ) -> dict[str, Fact]:
        return {
            "shape": shape,
            "num": num,
            "trans": Transposed.TRANS if trans else None,
            "space": Space.SHARED if line.space == _SHARED else None,
            "type": _TYPES.get(shape),
        }
