"""The builder's verb for matrix multiplies of a warp.

Layer: nvgen.builder.  Matrices are registers of all 32 threads: which element of a matrix each of
them holds, `intrinsics.fragments_mma` says.  PTX ISA, mma.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from llvmlite import ir

from intrinsics.findings import InputError, input_error
from intrinsics.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers import Modifier, SatFinite, ScalarType
from intrinsics.row import Fact
from intrinsics.wgmma import BitOperation, MatrixType
from nvgen.builder.intrinsics import IntrinsicCalls, Operand, find_spelling
from nvgen.builder.values import Int, Vector

T = ScalarType
Registers: TypeAlias = Vector | Sequence[Int]
"""The registers of one matrix in a thread; a sequence may have one."""

_FAMILIES: dict[Modifier, tuple[str, ScalarType]] = {
    T.F16: ("f16", T.F32),
    T.BF16: ("bf16", T.F32),
    T.TF32: ("tf32", T.F32),
    T.F64: ("f64", T.F64),
    MatrixType.E4M3: ("fp8", T.F32),
    MatrixType.E5M2: ("fp8", T.F32),
    T.S8: ("int8", T.S32),
    T.U8: ("int8", T.S32),
    MatrixType.S4: ("int4", T.S32),
    MatrixType.U4: ("int4", T.S32),
    MatrixType.B1: ("b1", T.S32),
}
"""The row of a type of A, and the usual type of its sums."""


def _refuse(text: str, *, got: str, expected: str) -> InputError:
    return input_error("builder/mma-sync", text, got=got, expected=expected)


def _length(registers: Vector | Sequence[object]) -> int:
    return registers.count if isinstance(registers, Vector) else len(registers)


class WarpMatrixVerbs(IntrinsicCalls):
    """Calls of the mma intrinsics, each by all threads of a warp."""

    def mma_sync(
        self,
        a: Registers,
        b: Registers,
        c: Registers,
        *,
        shape: MmaShape,
        atype: Modifier,
        btype: Modifier | None = None,
        dtype: ScalarType | None = None,
        ctype: ScalarType | None = None,
        alayout: MmaLayout = MmaLayout.ROW,
        blayout: MmaLayout = MmaLayout.COL,
        op: BitOperation | None = None,
        satfinite: bool = False,
    ) -> Vector:
        """A·B + C: the registers of D.

        All registers are integers of 32 bits that hold the bits of their elements, the first ones
        lowest; of f64 they have 64 bits.  `btype` is A's type unless it is given, `dtype` f32, of
        integers s32 and of f64 that, `ctype` D's type; `op` is how single bits are multiplied.

        Raises: InputError for what the instruction does not have.
        """
        family = _FAMILIES.get(atype)
        if family is None:
            known = ", ".join(t.ptx for t in _FAMILIES)
            raise _refuse("A has no such type", got=atype.ptx, expected=known)
        dtype = family[1] if dtype is None else dtype
        if (op is not None) is not (atype is MatrixType.B1):
            wanted = "and or xor" if atype is MatrixType.B1 else "no operation"
            raise _refuse("op is how bits are multiplied", got=str(op), expected=wanted)
        facts: dict[str, Fact] = {
            "shape": shape,
            "alayout": alayout,
            "blayout": blayout,
            "dtype": dtype,
            "atype": atype,
            "btype": atype if btype is None else btype,
            "ctype": dtype if ctype is None else ctype,
            "satfinite": SatFinite.SATFINITE if satfinite else None,
        }
        if op is not None:
            facts |= {"op": op, "sum": BitOperation.POPC}
        operands: dict[str, Operand] = {"a": a, "b": b, "c": c}
        self._check_counts(f"mma.{family[0]}", facts, operands)
        return self._registers(self._call(f"mma.{family[0]}", facts, operands))

    def _check_counts(self, row: str, facts: dict[str, Fact], operands: dict[str, Operand]) -> None:
        """Refuse matrices of another number of registers.

        Raises: InputError.
        """
        spelling = find_spelling(row, {n: f for n, f in facts.items() if f is not None}, operands)
        for name, given in operands.items():
            count = spelling.row.operand[name].count
            assert count is not None
            assert isinstance(given, (Vector, Sequence))
            found, wanted = _length(given), count.of(facts)
            if found != wanted:
                raise _refuse(
                    f"{name.upper()} of {spelling.name} has another number of registers",
                    got=str(found),
                    expected=str(wanted),
                )

    def _registers(self, structure: ir.Value) -> Vector:
        """The elements of a structure as integers with their bits."""
        builder, elements = self.at_caller(), structure.type.elements
        wide = isinstance(elements[0], ir.DoubleType)
        word = ir.IntType(64 if wide else 32)
        found = ir.Constant(ir.VectorType(word, len(elements)), ir.Undefined)
        for at, type_ in enumerate(elements):
            value = builder.extract_value(structure, at)
            if type_ != word:
                value = builder.bitcast(value, word)
            found = builder.insert_element(found, value, ir.Constant(ir.IntType(32), at))
        return Vector(self, found, len(elements))
