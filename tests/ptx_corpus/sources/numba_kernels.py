"""Kernels in numba-cuda: a polynomial, and a sum over shared memory."""

from numba import cuda, float32, int32


def polynomial(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = min(max(x[i] * x[i] * 3 - x[i], -1.0), 100.0)


def block_sum(x, out):
    scratch = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    scratch[i] = x[i]
    step = int32(32)
    while step > 0:
        cuda.syncthreads()
        if i < step:
            scratch[i] += scratch[i + step]
        step //= 2
    if i == 0:
        cuda.atomic.add(out, 0, scratch[0])
