"""Arithmetic of registers that hold f32, for what follows a matrix multiply.

Layer: nvgen.builder.  Registers from tensor memory, and those of accumulators, are 32-bit integers;
what they mean is the caller's.  PTX ISA, Floating Point Instructions; cvt.
"""

from __future__ import annotations

from llvmlite import ir

from nvgen.builder.base import BuilderBase
from nvgen.builder.llvm_ext import BFloatType
from nvgen.builder.values import Int, IntLike, Vector, refuse

_F32 = ir.FloatType()


class FloatOperations(BuilderBase):
    """f32 arithmetic, rounded to nearest even."""

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

    def pack_bf16x2(self, low: IntLike, high: IntLike, *, relu: bool = False) -> Int:
        """Two f32 rounded to bf16, in the lower and in the upper half of a register.

        With `relu` negative numbers become 0, and every NaN the canonical one.
        """
        return self._packed_f32("ff2bf16x2", BFloatType(), low, high, relu=relu)

    def pack_f16x2(self, low: IntLike, high: IntLike, *, relu: bool = False) -> Int:
        """Two f32 rounded to f16; the rest as in `pack_bf16x2`."""
        return self._packed_f32("ff2f16x2", ir.HalfType(), low, high, relu=relu)

    def _packed_f32(
        self, name: str, element: ir.Type, low: IntLike, high: IntLike, *, relu: bool
    ) -> Int:
        type_ = ir.FunctionType(ir.VectorType(element, 2), [_F32, _F32])
        function = self.declare(f"llvm.nvvm.{name}.rn{'.relu' * relu}", type_)
        given = [self._as_f32(high), self._as_f32(low)]  # the upper half comes first in PTX, too
        builder = self.at_caller()
        return Int(self, builder.bitcast(builder.call(function, given), ir.IntType(32)))

    def add_f32(self, a: IntLike, b: IntLike) -> Int:
        """The sum of two f32."""
        return self._bits_of_f32(self.at_caller().fadd(self._as_f32(a), self._as_f32(b)))

    def min_f32(self, a: IntLike, b: IntLike) -> Int:
        """The lesser of two f32; the other one where one is a NaN."""
        return self._extreme_f32("llvm.minnum.f32", a, b)

    def max_f32(self, a: IntLike, b: IntLike) -> Int:
        """The greater of two f32; the other one where one is a NaN."""
        return self._extreme_f32("llvm.maxnum.f32", a, b)

    def _extreme_f32(self, name: str, a: IntLike, b: IntLike) -> Int:
        function = self.declare(name, ir.FunctionType(_F32, [_F32, _F32]))
        return self._bits_of_f32(
            self.at_caller().call(function, [self._as_f32(a), self._as_f32(b)])
        )

    def _as_f32(self, value: IntLike) -> ir.Value:
        """The f32 whose bits these are.

        Raises: InputError for another width.
        """
        bits = self.number(value)
        if bits.type.width != 32:
            raise refuse("no bits of an f32", got=f"i{bits.type.width}", expected="i32")
        return self.at_caller().bitcast(bits, _F32)

    def _bits_of_f32(self, value: ir.Value) -> Int:
        return Int(self, self.at_caller().bitcast(value, ir.IntType(32)))
