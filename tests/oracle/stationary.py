"""Weight-stationary products with a zero-column mask, and products of a CTA pair.

PTX ISA, Zero-Column Mask Descriptor: a bit of the mask that is 1 puts zeros in the place of that
column of B.  With a shift of s, columns s to s + N - 1 of B are used; bit i is then taken to be of
the i-th of them, which is column i of D (the manual does not say so in words).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.oracle.exact_sums import Matrix, exact_matmul


def stationary_matmul(
    a: Matrix, b: Matrix, mask: int, n: int, shift: int = 0, c: Matrix | None = None
) -> npt.NDArray[np.float32]:
    """a (M, K) times n columns of B; `b` is (shift + n or more, K): a row for each column of B.

    A column that the mask takes out is zero, so D keeps c there, whatever A holds (a NaN in A makes
    it NaN: 0 times NaN).
    """
    used = np.array(b, dtype=np.float64)[shift : shift + n]
    assert len(used) == n, "B has too few columns"
    out = np.array([mask >> i & 1 for i in range(n)], dtype=bool)
    used[out] = 0.0
    return exact_matmul(a, used, c)


def pair_matmul(
    a: tuple[Matrix, Matrix], b: tuple[Matrix, Matrix], c: Matrix | None = None
) -> npt.NDArray[np.float32]:
    """A CTA pair's product: the even and the odd CTA hold half of A's rows and half of B's columns.

    a is two (M / 2, K), b is two (N / 2, K); the result is the plain product, (M, N).
    """
    return exact_matmul(np.concatenate(a), np.concatenate(b), c)
