"""Softmax of each row of a matrix, in f32 or bf16, for rows of any length.

A CTA has a row.  Its threads walk over the row once for the greatest element and the sum of
exponentials, which is scaled whenever the greatest grows, and once more to write the quotients.  16
bytes go at once where rows begin at multiples of 16 bytes, else single elements: the same body is
built for both.  Exponents are those of 2.

    each thread    16 bytes ─► f32 ─► greatest so far, sum·2^(old - new) + Σ 2^(x - new)
    each warp      butterfly shuffles
    the CTA        eight numbers in shared memory, two barriers

Runs on the CPU simulator for every target, and on an H200 (29 November 2026).
"""

from __future__ import annotations

import math
import operator

import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder, bf16, f32, u64

THREADS = 256
TARGETS = ("sm_80", "sm_90a")


def build(dtype: ElementType = f32) -> Kernel:
    """The kernel, as LLVM IR: a CTA for each row, of `columns` elements."""
    b = KernelBuilder("softmax", block=THREADS)
    b.pointer("x", dtype)
    b.pointer("y", dtype, output=True)
    b.u32("columns")
    args = b.begin()
    columns, row = args["columns"], b.ctaid_x.to(u64) * args["columns"].to(u64)
    x, y = args["x"].at(row), args["y"].at(row)
    slots = b.shared_array("slots", f32, THREADS // 32)

    def softmax(each: int) -> None:
        """The whole row, `each` elements of a thread at a time."""

        def elements(i):
            return b.load(x.at(i * each), dtype, each, align=each * dtype.bits // 8).to(f32)

        base = math.log2(math.e)
        most, total = b.variable(-3e38), b.variable(0.0)
        with b.range(columns // each, start=b.tid_x, step=THREADS) as i:
            values = elements(i) * base
            greater = values.largest().max(most.value)
            scaled = total.value * (most.value - greater).ex2()
            total.set(scaled + (values - greater).ex2().sum())
            most.set(greater)
        greatest = b.cta_reduce(most.value, lambda p, q: p.max(q), slots)
        scaled = total.value * (most.value - greatest).ex2()
        whole = b.cta_reduce(scaled, operator.add, slots)
        factor = whole.rcp()
        with b.range(columns // each, start=b.tid_x, step=THREADS) as i:
            quotients = (elements(i) * base - greatest).ex2() * factor
            b.store(quotients.to(dtype), y.at(i * each), align=each * dtype.bits // 8)

    wide = 128 // dtype.bits
    with b.if_(columns % wide == 0):
        softmax(wide)
    with b.else_():
        softmax(1)
    return b.finish()


def operands(rows: int, columns: int, dtype: ElementType = f32) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers, and what numpy gives for them in f64."""
    x = (np.random.default_rng(0).standard_normal((rows, columns)) * 4).astype(dtype.numpy)
    wide = x.astype(np.float64)
    exponentials = np.exp(wide - wide.max(1, keepdims=True))
    return x, exponentials / exponentials.sum(1, keepdims=True)


def main() -> None:
    """Run three rows of two lengths in both types on the simulator, and compare with numpy."""
    for dtype in (f32, bf16):
        for columns in (1000, 333):
            x, expected = operands(3, columns, dtype)
            y = np.zeros_like(x)
            build(dtype).compile(target="sm_90a").run(x, y, columns, grid=3, device="sim")
            error = np.abs(y.astype(np.float64) / expected - 1).max()
            assert error < (2**-8 if dtype is bf16 else 2**-18), "the result differs from numpy"
            print(f"3 rows of {columns} in {dtype.value}: equal to numpy within {error:.1e}")


if __name__ == "__main__":
    main()
