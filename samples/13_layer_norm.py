"""Layer normalisation of each row of a matrix, in f32 or bf16, for rows of any length.

    y = (x - mean) / sqrt(variance + epsilon) · gamma + beta

A CTA has a row, and walks over it three times: for the mean, for the mean square of what differs
from it, and to write.  The later walks find the row in the caches.  So the variance is exact where
the mean is far from 0, unlike that of sums of squares.  Sums are of f32.

Runs on the CPU simulator for every target, and on an H200 (29 November 2026).
"""

from __future__ import annotations

import operator

import numpy as np

from nvgen import ElementType, Kernel, KernelBuilder, bf16, f32, u64

THREADS = 256
TARGETS = ("sm_80", "sm_90a")


def build(dtype: ElementType = f32) -> Kernel:
    """The kernel, as LLVM IR: a CTA for each row, of `columns` elements."""
    b = KernelBuilder("layer_norm", block=THREADS)
    for name in ("x", "gamma", "beta"):
        b.pointer(name, dtype)
    b.pointer("y", dtype, output=True)
    b.u32("columns")
    b.f32("epsilon")
    args = b.begin()
    columns, row = args["columns"], b.ctaid_x.to(u64) * args["columns"].to(u64)
    x, y = args["x"].at(row), args["y"].at(row)
    slots = b.shared_array("slots", f32, THREADS // 32)

    def normalise(each: int) -> None:
        """The whole row, `each` elements of a thread at a time."""
        size = each * dtype.bits // 8

        def some(pointer, i):
            return b.load(pointer.at(i * each), dtype, each, align=size).to(f32)

        def mean(function):
            total = b.variable(0.0)
            with b.range(columns // each, start=b.tid_x, step=THREADS) as i:
                total.set(total.value + function(some(x, i)).sum())
            return b.cta_reduce(total.value, operator.add, slots) / columns.to(f32)

        center = mean(lambda values: values)
        variance = mean(lambda values: (values - center) * (values - center))
        factor = (variance + args["epsilon"]).rsqrt()
        with b.range(columns // each, start=b.tid_x, step=THREADS) as i:
            normal = (some(x, i) - center) * factor
            shifted = normal.fma(some(args["gamma"], i), some(args["beta"], i))
            b.store(shifted.to(dtype), y.at(i * each), align=size)

    wide = 128 // dtype.bits
    with b.if_(columns % wide == 0):
        normalise(wide)
    with b.else_():
        normalise(1)
    return b.finish()


def operands(
    rows: int, columns: int, dtype: ElementType = f32, epsilon: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Random x (far from 0), gamma and beta, and what numpy gives for them in f64."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((rows, columns)) + 10).astype(dtype.numpy)
    gamma, beta = (rng.standard_normal(columns).astype(dtype.numpy) for _ in range(2))
    wide = x.astype(np.float64)
    center, variance = wide.mean(1, keepdims=True), wide.var(1, keepdims=True)
    normal = (wide - center) / np.sqrt(variance + epsilon)
    return x, gamma, beta, normal * gamma.astype(np.float64) + beta.astype(np.float64)


def main() -> None:
    """Run three rows of two lengths in both types on the simulator, and compare with numpy."""
    for dtype in (f32, bf16):
        for columns in (1000, 333):
            x, gamma, beta, expected = operands(3, columns, dtype)
            y = np.zeros_like(x)
            compiled = build(dtype).compile(target="sm_90a")
            compiled.run(x, gamma, beta, y, columns, 1e-5, grid=3, device="sim")
            error = np.abs(y.astype(np.float64) - expected).max()
            assert error < (2**-5 if dtype is bf16 else 2**-16), "the result differs from numpy"
            print(f"3 rows of {columns} in {dtype.value}: equal to numpy within {error:.1e}")


if __name__ == "__main__":
    main()
