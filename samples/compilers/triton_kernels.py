"""Kernels in Triton for samples/15_triton_backend.py: their code, their shapes and their launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

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
def layer_norm(x, weight, bias, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    there = at < columns
    row = tl.load(x + tl.program_id(0) * columns + at, mask=there, other=0.0)
    centred = tl.where(there, row - tl.sum(row, axis=0) / columns, 0.0)
    deviation = tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    y = centred / deviation * tl.load(weight + at, mask=there) + tl.load(bias + at, mask=there)
    tl.store(out + tl.program_id(0) * columns + at, y, mask=there)


@triton.jit
def matmul(a, b, out, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * K + inner[None, :]
    right = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK * N
    tl.store(out + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def matmul_tma(a, b, out, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same by tensor maps that the kernel makes: of square matrices, the second transposed."""
    left = tl.make_tensor_descriptor(a, [N, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    result = tl.make_tensor_descriptor(out, [N, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        total = tl.dot(left.load([row, at]), right.load([column, at]).T, total)
    result.store([row, column], total.to(tl.float16))


@triton.jit
def matmul_fp8(a, b, out, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Elements of eight bits; the second matrix is transposed, as wgmma takes those only."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * K + inner[None, :]
    right = b + inner[:, None] + columns[None, :] * K
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK
    tl.store(out + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    d = tl.arange(0, D)
    head = tl.program_id(1) * length * D
    mine = head + (tl.program_id(0) * BM + tl.arange(0, BM))[:, None] * D + d[None, :]
    queries = tl.load(q + mine)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        keys = tl.load(k + head + n[None, :] * D + d[:, None])
        scores = tl.dot(queries, keys) * scale
        new = tl.maximum(most, tl.max(scores, 1))
        powers = tl.exp2(scores - new[:, None])
        fade = tl.exp2(most - new)
        total = total * fade + tl.sum(powers, 1)
        values = tl.load(v + head + n[:, None] * D + d[None, :])
        result = tl.dot(powers.to(tl.float16), values, result * fade[:, None])
        most = new
    tl.store(out + mine, (result / total[:, None]).to(tl.float16))


@dataclass(frozen=True)
class Case:
    """A kernel, the types and constants of its parameters, its warps, and what a launch gives."""

    kernel: triton.runtime.JITFunction
    signature: dict[str, str | int]
    warps: int
    grid: tuple[int, ...]
    shapes: Callable[[ModuleType], tuple]

    @property
    def aligned(self) -> list[int]:
        """The parameters that are multiples of 16, as launches find out themselves."""
        given = [t for t in self.signature.values() if isinstance(t, str)]
        return [i for i, t in enumerate(given) if t != "fp32"]

    def arguments(self, torch: ModuleType) -> tuple[tuple, object]:
        """What a launch gives, and the tensor that it writes, which is the last one."""
        given = self.shapes(torch)
        return given, [x for x in given if isinstance(x, torch.Tensor)][-1]

    def run(self, arguments: tuple) -> None:
        """Launch it once, by whatever compiler is Triton's now."""
        constants = {n: v for n, v in self.signature.items() if not isinstance(v, str)}
        self.kernel[self.grid](*arguments, **constants, num_warps=self.warps)

    def graph(self, torch: ModuleType, arguments: tuple, launches: int = 20) -> Callable[[], float]:
        """What measures the milliseconds of a launch in a CUDA graph of `launches`."""
        self.run(arguments)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(launches):
                self.run(arguments)

        def measure() -> float:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / launches

        measure()
        return measure


def _normal(torch: ModuleType, *shape: int, half: bool = False) -> object:
    dtype = torch.float16 if half else torch.float32
    return torch.randn(shape, device="cuda", dtype=dtype)


def _add(torch: ModuleType) -> tuple:
    return (*(_normal(torch, 1 << 24) for _ in range(3)), 1 << 24)


def _softmax(torch: ModuleType) -> tuple:
    return _normal(torch, 8192, 1024), _normal(torch, 8192, 1024), 1024


def _layer_norm(torch: ModuleType) -> tuple:
    x, w, b, out = (_normal(torch, rows, 1024) for rows in (8192, 1, 1, 8192))
    return x, w, b, out, 1024


def _matmul(torch: ModuleType) -> tuple:
    return (*(_normal(torch, 4096, 4096, half=True) / 8 for _ in range(3)), 4096, 4096)


def _matmul_fp8(torch: ModuleType) -> tuple:
    a, b, out, *rest = _matmul(torch)
    return a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn), out, *rest


def _attention(torch: ModuleType) -> tuple:
    return (*(_normal(torch, 64, 2048, 64, half=True) for _ in range(4)), 2048, 0.18)


_F, _H, _E = "*fp32", "*fp16", "*fp8e4nv"
_SIZES: dict[str, str | int] = {"out": _H, "N": "i32", "K": "i32", "BM": 128, "BN": 128}
_OF_HALVES: dict[str, str | int] = {"a": _H, "b": _H, **_SIZES, "BK": 64}
_OF_BYTES: dict[str, str | int] = {"a": _E, "b": _E, **_SIZES, "BK": 128}
_ROW: dict[str, str | int] = {"columns": "i32", "BLOCK": 1024}
KERNELS = (
    Case(add, {"x": _F, "y": _F, "out": _F, "n": "i32", "BLOCK": 1024}, 4, (1 << 14,), _add),
    Case(softmax, {"x": _F, "out": _F, **_ROW}, 4, (8192,), _softmax),
    Case(
        layer_norm, {"x": _F, "weight": _F, "bias": _F, "out": _F, **_ROW}, 4, (8192,), _layer_norm
    ),
    Case(matmul, _OF_HALVES, 8, (32, 32), _matmul),
    Case(matmul_tma, _OF_HALVES, 8, (32, 32), _matmul),
    Case(matmul_fp8, _OF_BYTES, 8, (32, 32), _matmul_fp8),
    Case(
        attention,
        {"q": _H, "k": _H, "v": _H, "out": _H, "length": "i32", "scale": "fp32",
         "BM": 128, "BN": 64, "D": 64},
        8, (16, 64), _attention,
    ),
)  # fmt: skip
