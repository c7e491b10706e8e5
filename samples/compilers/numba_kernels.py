"""A dozen kernels in numba for samples/16_numba_backend.py, with their types and launches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import cuda, float32, int32, types


def vector_add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def saxpy(a, x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + out[i]


def polynomial(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = min(max(x[i] * x[i] * 3 - x[i], -1.0), 100.0)


def black_scholes(x, out):
    i = cuda.grid(1)
    if i < x.size:
        s = abs(x[i]) + float32(1.0)
        d = (math.log(s) + float32(0.06)) / float32(0.3)
        out[i] = s * math.erf(d) - math.exp(float32(-0.02)) * math.erf(d - float32(0.3))


def trigonometry(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.sin(x[i]) * math.cos(x[i]) + math.sqrt(abs(x[i]))


def block_sum(x, out):
    scratch = cuda.shared.array(256, float32)
    i = cuda.threadIdx.x
    scratch[i] = x[cuda.grid(1)]
    step = int32(128)
    while step > 0:
        cuda.syncthreads()
        if i < step:
            scratch[i] += scratch[i + step]
        step //= 2
    if i == 0:
        out[cuda.blockIdx.x] = scratch[0]


def warp_sum(x, out):
    value = x[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        out[cuda.grid(1) // 32] = value


def histogram(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, int32(abs(x[i]) * 16) & 63, 1)


def transpose(x, out):
    tile = cuda.shared.array((32, 33), float32)
    column, row = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(0, 32, 8):
        tile[ty + j, tx] = x[row + ty + j, column + tx]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        out[column + ty + j, row + tx] = tile[tx, ty + j]


def matmul(x, y, out):
    a, b = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for k in range(0, x.shape[1], 16):
        a[ty, tx] = x[row, k + tx]
        b[ty, tx] = y[k + ty, column]
        cuda.syncthreads()
        for j in range(16):
            total += a[ty, j] * b[j, tx]
        cuda.syncthreads()
    out[row, column] = total


def stencil(x, out):
    i = cuda.grid(1)
    if 1 <= i < x.size - 1:
        out[i] = float32(0.25) * x[i - 1] + float32(0.5) * x[i] + float32(0.25) * x[i + 1]


def mandelbrot(x, out):
    i = cuda.grid(1)
    if i < out.size:
        c = complex(x[i], x[i] * 0.5)
        z, n = 0j, 0
        while n < 50 and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            n += 1
        out[i] = n


@dataclass(frozen=True)
class Case:
    """A kernel, the types of its parameters, its launch, and what is launched on."""

    function: Callable[..., None]
    signature: tuple[types.Type, ...]
    grid: int | tuple[int, int]
    block: int | tuple[int, int]
    shapes: tuple[tuple[int, ...], ...]

    def arguments(self) -> list[np.ndarray | np.float32]:
        """Random numbers; what is written begins with zeros."""
        rng = np.random.default_rng(0)
        found: list[np.ndarray | np.float32] = [
            rng.standard_normal(shape).astype(np.float32) if shape else np.float32(2.0)
            for shape in self.shapes
        ]
        last = self.signature[-1].dtype
        found[-1] = np.zeros(self.shapes[-1], np.int32 if last == types.int32 else np.float32)
        return found


_F, _I, _F2, _N = types.float32[::1], types.int32[::1], types.float32[:, ::1], 1 << 26
_MAP = (_N // 256, 256)
KERNELS = (
    Case(vector_add, (_F, _F, _F), *_MAP, ((_N,),) * 3),
    Case(saxpy, (types.float32, _F, _F), *_MAP, ((), (_N,), (_N,))),
    *(
        Case(one, (_F, _F), *_MAP, ((_N,),) * 2)
        for one in (polynomial, black_scholes, trigonometry, stencil)
    ),
    Case(block_sum, (_F, _F), *_MAP, ((_N,), (_N // 256,))),
    Case(warp_sum, (_F, _F), *_MAP, ((_N,), (_N // 32,))),
    Case(histogram, (_F, _I), *_MAP, ((_N,), (64,))),
    Case(mandelbrot, (_F, _I), *_MAP, ((_N,), (_N,))),
    Case(transpose, (_F2, _F2), (256, 256), (32, 8), ((8192, 8192),) * 2),
    Case(matmul, (_F2, _F2, _F2), (128, 128), (16, 16), ((2048, 2048),) * 3),
)
