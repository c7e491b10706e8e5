"""Arithmetic of registers that hold f32, for what follows a matrix multiply.

Layer: nvgen.builder.  Registers from tensor memory are 32-bit integers; what they mean is the
caller's.
"""

from __future__ import annotations

from llvmlite import ir

from nvgen.builder.base import BuilderBase
from nvgen.builder.llvm_ext import BFloatType
from nvgen.builder.values import Int, Vector, refuse


class FloatOperations(BuilderBase):
    """f32 arithmetic and conversions, rounded to nearest even."""

    def multiply_f32(self, values: Vector, factor: Int) -> Vector:
        """Each of the registers times `factor`; all of them are the bits of an f32."""
        builder, count = self.at_caller(), values.count
        floats = ir.VectorType(ir.FloatType(), count)
        one = builder.bitcast(factor.value, ir.FloatType())
        product = ir.Constant(floats, ir.Undefined)
        bits = builder.bitcast(values.value, floats)
        for index in range(count):
            place = ir.Constant(ir.IntType(32), index)
            element = builder.fmul(builder.extract_element(bits, place), one)
            product = builder.insert_element(product, element, place)
        return Vector(self, builder.bitcast(product, values.value.type), count)

    def pack_bf16x2(self, low: Int, high: Int) -> Int:
        """Two f32 as bf16, rounded to nearest even, `low` in the lower half of the register.

        Raises: InputError for other widths than 32 bits.  PTX ISA, cvt.
        """
        return self._packed("llvm.nvvm.ff2bf16x2.rn", BFloatType(), low, high)

    def pack_f16x2(self, low: Int, high: Int) -> Int:
        """Two f32 as f16, rounded to nearest even, `low` in the lower half of the register.

        Raises: InputError for other widths than 32 bits.  PTX ISA, cvt.
        """
        return self._packed("llvm.nvvm.ff2f16x2.rn", ir.HalfType(), low, high)

    def _packed(self, name: str, element: ir.Type, low: Int, high: Int) -> Int:
        if low.bits != 32 or high.bits != 32:
            got = f"i{low.bits} and i{high.bits}"
            raise refuse("the bits of two f32 are packed", got=got, expected="i32 and i32")
        single = ir.FloatType()
        type_ = ir.FunctionType(ir.VectorType(element, 2), [single, single])
        function, builder = self.declare(name, type_), self.at_caller()
        parts = [builder.bitcast(part.value, single) for part in (high, low)]
        return Int(self, builder.bitcast(builder.call(function, parts), ir.IntType(32)))
