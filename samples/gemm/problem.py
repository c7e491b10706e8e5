"""What sample 10 can multiply, and products to try it on."""

from __future__ import annotations

import numpy as np

from gemm.plan import BF16, Kind
from nvgen import Finding, InputError, Major, Severity


def check(m: int, n: int, k: int, kind: Kind = BF16) -> None:
    """Whether TMA can walk over A, B and D: rows in memory are multiples of 16 bytes.

    Raises: InputError.
    """
    unit = 128 // kind.dtype.bits
    rows = [("K" if kind.a_major is Major.K else "M", k if kind.a_major is Major.K else m, unit)]
    rows += [("K" if kind.b_major is Major.K else "N", k if kind.b_major is Major.K else n, unit)]
    rows += [("N", n, 128 // kind.out.bits)]
    findings = [
        Finding(
            "gemm/stride",
            Severity.ERROR,
            f"TMA cannot walk over a matrix with such rows: {name} is no multiple of {unit}",
            got=f"{name} = {size}",
            expected=f"{size // unit * unit} or {-(-size // unit) * unit}",
            hint="pad the rows of the matrix",
            section="PTX ISA, Tensors",
        )
        for name, size, unit in dict.fromkeys(rows)
        if size % unit or size < 1
    ]
    if findings:
        raise InputError(findings)


def operands(
    m: int, n: int, k: int, kind: Kind = BF16
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact, and their product, rounded as the kernel does."""
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (m, k)).astype(kind.dtype.numpy)
    b = rng.integers(-4, 5, (n, k)).astype(kind.dtype.numpy)
    d = (a.astype(np.float32) @ b.astype(np.float32).T).astype(kind.out.numpy)
    lies = zip((a, b), (kind.a_major, kind.b_major), strict=True)
    return *(x if major is Major.K else np.ascontiguousarray(x.T) for x, major in lies), d
