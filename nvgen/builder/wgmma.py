"""The builder's verbs for warpgroup-level matrix multiplies (sm_90a).

Layer: nvgen.builder.  Methods are named as the instructions are, operands come first, modifiers are
keyword arguments.  Accumulators are registers that change in place: a loop carries them on.  PTX
ISA, Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.findings import InputError, input_error
from intrinsics.modifiers import Modifier, SatFinite, ScalarType
from intrinsics.multiplies.wgmma import BitOperation, WgmmaShape, shapes
from intrinsics.multiplies.wgmma_families import FAMILY_OF, INT
from intrinsics.row import Fact
from nvgen.builder.base import BuilderBase
from nvgen.builder.control import ControlFlow
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.regions import Changing
from nvgen.builder.vectors import Vector
from nvgen.builder.verb import Operand

T = ScalarType


def _refuse(text: str, *, got: str, expected: str, hint: str = "") -> InputError:
    return input_error("builder/wgmma", text, got=got, expected=expected, hint=hint)


class Accumulator(Changing):
    """A thread's part of D, 64 rows by `n` columns of `type` (f32, f16 or s32).

    Multiplies change it in place; its registers mean something behind a wait for their group.
    """

    def __init__(self, builder: BuilderBase, n: int, type: ScalarType, raw: ir.Value) -> None:
        super().__init__(builder, raw)
        self.n = n
        self.type = type

    @property
    def registers(self) -> Vector:
        """The registers, 32 bits each: an `F32`, or without arithmetic two f16 or an s32."""
        count: int = self.raw.type.count
        words = ir.VectorType(ir.IntType(32), count)
        raw = self.raw
        if raw.type != words:
            raw = self.builder.at_caller().bitcast(raw, words)
        held = ScalarType.F16X2 if self.type is ScalarType.F16 else self.type
        return Vector(self.builder, raw, count, held)


class WarpgroupVerbs(ControlFlow):
    """Calls of the wgmma intrinsics, each by all four warps of a warpgroup."""

    def wgmma_accumulator(self, n: int, type: ScalarType = ScalarType.F32) -> Accumulator:
        """Zeros for D of 64 rows by `n` columns.

        Raises: InputError when no multiply has such a D.
        """
        widths = [shape.n for shape in shapes(INT.k, integers=type is T.S32)]
        if n not in widths or type not in (T.F32, T.F16, T.S32):
            raise _refuse(
                "no multiply of a warpgroup has such a D",
                got=f"64 by {n} of {type.ptx}",
                expected=f"f32, f16 or s32; n: {', '.join(map(str, widths))}",
            )
        element = ir.FloatType() if type is T.F32 else self.int_type(32)
        zeros = ir.Constant(ir.VectorType(element, n // 4 if type is T.F16 else n // 2), None)
        made = Accumulator(self, n, type, zeros)
        self.changing(made)
        return made

    def wgmma_descriptor(self, pointer: Pointer, layout: WgmmaDescriptor) -> Int:
        """A descriptor of `layout`, with an address in shared memory that the kernel knows."""
        address = self.at_caller().ptrtoint(pointer.value, self.int_type(32))
        low = (Int(self, address) & 0x3FFFF) >> 4
        return self.zext(low, 64) | replace(layout, address=0).encode()

    def wgmma_mma_async(
        self,
        d: Accumulator,
        a: Int | Vector,
        b: Int,
        scale_d: IntLike = 1,
        *,
        atype: Modifier,
        btype: Modifier | None = None,
        scale_a: int = 1,
        scale_b: int = 1,
        trans_a: int = 0,
        trans_b: int = 0,
        satfinite: bool = False,
        sp_meta: Int | None = None,
        sp_sel: int = 0,
    ) -> None:
        """Add A·B to D, or with `scale_d` 0 put it there.

        A is a descriptor or four registers, B a descriptor; `btype` is A's type unless it is given.
        With metadata A is sparse, and K twice as much.

        Raises: InputError for types, signs or transpositions that the instruction does not have.
        """
        family = FAMILY_OF.get(atype)
        if family is None:
            known = ", ".join(t.ptx for t in FAMILY_OF)
            raise _refuse("A has no such type", got=atype.ptx, expected=known)
        sparse, held = sp_meta is not None, isinstance(a, Vector)
        signs = {"scale_a": scale_a, "scale_b": scale_b}
        majors = {"trans_b": trans_b} if held else {"trans_a": trans_a, "trans_b": trans_b}
        _check_defaults(signs, family.scaled, 1, atype)
        _check_defaults({"trans_a": trans_a}, family.transposed and not held, 0, atype)
        _check_defaults({"trans_b": trans_b}, family.transposed, 0, atype)
        operands: dict[str, Operand] = {
            "d": Vector(self, d.raw, d.raw.type.count),
            "a": a,
            "b": b,
            "scale_d": scale_d,
        }
        operands |= signs if family.scaled else {}
        operands |= majors if family.transposed else {}
        if sp_meta is not None:
            operands |= {"sp_meta": sp_meta, "sp_sel": sp_sel}
        facts: dict[str, Fact] = {
            "shape": _shape(d.n, family.k * 2 if sparse else family.k),
            "dtype": d.type,
            "atype": atype,
            "btype": atype if btype is None else btype,
            "satfinite": SatFinite.SATFINITE if satfinite else None,
        }
        if family.name == "b1":
            facts |= {"op": BitOperation.AND, "sum": BitOperation.POPC}
        head = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
        d.raw = self._call(f"{head}.{family.name}{'.registers' * held}", facts, operands)


def _shape(n: int, k: int) -> WgmmaShape:
    found = {shape.n: shape for shape in shapes(k)}
    if n not in found:
        widths = ", ".join(map(str, found)) or "none"
        raise _refuse(f"no multiply has n = {n} with k = {k}", got=str(n), expected=widths)
    return found[n]


def _check_defaults(given: dict[str, int], possible: bool, usual: int, atype: Modifier) -> None:
    """Refuse what an instruction has no operand for, unless it says what is so anyway."""
    for name, number in given.items():
        if not possible and number != usual:
            raise _refuse(
                f"this multiply of {atype.ptx} has no {name}", got=str(number), expected=str(usual)
            )
