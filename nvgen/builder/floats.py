"""Arithmetic of registers that hold f32, for what follows a matrix multiply.

Layer: nvgen.builder.  Registers from tensor memory are 32-bit integers; what they mean is the
caller's.
"""

from __future__ import annotations

from llvmlite import ir

from nvgen.builder.base import BuilderBase
from nvgen.builder.values import Int, Vector


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
