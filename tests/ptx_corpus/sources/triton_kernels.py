"""Kernels in Triton: vector addition, softmax, a histogram by atomics, matrix products."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < n
    tl.store(out + at, tl.load(x + at, mask=there) + tl.load(y + at, mask=there), mask=there)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    powers = powers / tl.sum(powers, axis=0)
    tl.store(out + tl.program_id(0) * columns + at, powers, mask=at < columns)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + (tl.load(x + at, mask=at < n, other=0) & 63), 1, mask=at < n)


@triton.jit
def matmul(a, b, d, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    left = a + rows[:, None] * K + inner[None, :]
    right = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BLOCK_K
        right += BLOCK_K * N
    tl.store(d + rows[:, None] * N + columns[None, :], total)


@triton.jit
def matmul_tma(
    a, b, d, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr, SPECIAL: tl.constexpr
):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [M, BLOCK_K])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [N, BLOCK_K])
    out = tl.make_tensor_descriptor(d, [M, N], [N, 1], [M, N])
    total = tl.zeros((M, N), tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=SPECIAL):
        total = tl.dot(left.load([0, k]), right.load([0, k]).T, total)
    out.store([0, 0], total)
