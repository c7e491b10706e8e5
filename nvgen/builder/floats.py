"""Arithmetic of registers that hold f32, for what follows a matrix multiply.

Layer: nvgen.builder.  Registers from tensor memory are words: what they mean is the caller's, and
`f32` says it.  PTX ISA, Floating Point Instructions; cvt.
"""

from __future__ import annotations

from typing import TypeAlias

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.base import BuilderBase
from nvgen.builder.float_values import F32, as_f32
from nvgen.builder.llvm_ext import BFloatType
from nvgen.builder.registers import Vector, WordLike
from nvgen.builder.values import Int, Pointer, described, refuse

_F32 = ir.FloatType()

F32Bits: TypeAlias = WordLike | float
"""A number in f32: typed, as the bits in a word, or one that is known."""


class FloatOperations(BuilderBase):
    """f32 arithmetic, rounded to nearest even.

    An Int stands for the f32 whose bits it has, a Python number for itself.  All of it raises
    InputError for what is no f32.
    """

    def load_f32(self, pointer: Pointer) -> F32:
        """Load an f32."""
        from nvgen.builder.shared_memory import check_pointer

        check_pointer(self, pointer)
        return F32(self, self.at_caller().load(pointer.value, typ=_F32, align=4))

    def multiply_f32(self, values: Vector, factor: F32Bits) -> Vector:
        """Each of the registers, which hold f32, times `factor`."""
        if not isinstance(values, Vector) or values.type not in (None, ScalarType.F32):
            raise refuse(
                "no registers that hold f32",
                got=described(values) if not isinstance(values, Vector) else str(values.type),
                expected="a Vector of them",
            )
        one, count = as_f32(self, factor), values.count
        floats, builder = ir.VectorType(_F32, count), self.at_caller()
        product = ir.Constant(floats, ir.Undefined)
        bits = builder.bitcast(values.value, floats)
        for index in range(count):
            place = ir.Constant(ir.IntType(32), index)
            element = builder.fmul(builder.extract_element(bits, place), one)
            product = builder.insert_element(product, element, place)
        words = builder.bitcast(product, values.value.type)
        return Vector(self, words, count, ScalarType.F32)

    def fma_f32(self, a: F32Bits, b: F32Bits, c: F32Bits) -> F32:
        """a·b + c, rounded once."""
        return self._called_f32("llvm.fma.f32", a, b, c)

    def add_f32(self, a: F32Bits, b: F32Bits) -> F32:
        """The sum of two f32."""
        return F32(self, self.at_caller().fadd(as_f32(self, a), as_f32(self, b)))

    def min_f32(self, a: F32Bits, b: F32Bits) -> F32:
        """The lesser of two f32; the other one where one is a NaN."""
        return self._called_f32("llvm.minnum.f32", a, b)

    def max_f32(self, a: F32Bits, b: F32Bits) -> F32:
        """The greater of two f32; the other one where one is a NaN."""
        return self._called_f32("llvm.maxnum.f32", a, b)

    def pack_bf16x2(self, low: F32Bits, high: F32Bits, *, relu: bool = False) -> Int:
        """Two f32 rounded to bf16, in the lower and in the upper half of a register.

        With `relu` negative numbers become 0, and every NaN the canonical one.
        """
        return self._packed_f32("ff2bf16x2", BFloatType(), low, high, relu=relu)

    def pack_f16x2(self, low: F32Bits, high: F32Bits, *, relu: bool = False) -> Int:
        """Two f32 rounded to f16; the rest as in `pack_bf16x2`."""
        return self._packed_f32("ff2f16x2", ir.HalfType(), low, high, relu=relu)

    def _packed_f32(
        self, name: str, element: ir.Type, low: F32Bits, high: F32Bits, *, relu: bool
    ) -> Int:
        type_ = ir.FunctionType(ir.VectorType(element, 2), [_F32, _F32])
        function = self.declare(f"llvm.nvvm.{name}.rn{'.relu' * relu}", type_)
        given = [as_f32(self, high), as_f32(self, low)]  # the upper half comes first in PTX, too
        builder = self.at_caller()
        return Int(self, builder.bitcast(builder.call(function, given), ir.IntType(32)))

    def _called_f32(self, name: str, *operands: F32Bits) -> F32:
        function = self.declare(name, ir.FunctionType(_F32, [_F32] * len(operands)))
        given = [as_f32(self, operand) for operand in operands]
        return F32(self, self.at_caller().call(function, given))
