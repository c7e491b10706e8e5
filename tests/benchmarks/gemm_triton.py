"""The products of gemm_family.py as Triton kernels of the usual kind, to stand beside ours.

CTAs stay, and walk over tiles of D in groups of eight rows of tiles; TMA brings tiles, by
descriptors of the host; the inner loop and the walk are one loop for the pipeliner (`flatten`).
Triton's autotuner takes the fastest of nine to twelve configurations for each size.
"""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import torch
import triton
import triton.language as tl
from triton.testing import do_bench
from triton.tools.tensor_descriptor import TensorDescriptor

FP8 = torch.float8_e4m3fn
WHOLE = 128  # elements along K, rows of B, or columns of D, that share a scale


# ---- kernels -------------------------------------------------------------------------------------


@triton.jit
def corner(number, m, n, bm: tl.constexpr, bn: tl.constexpr):
    """Where the tile of a number begins: groups of eight rows of tiles."""
    down, group = tl.cdiv(m, bm), 8 * tl.cdiv(n, bn)
    first = number // group * 8
    few = min(down - first, 8)
    return (first + number % group % few) * bm, number % group // few * bn


@triton.jit(do_not_specialize=["m"])
def gated(x, gate, up, d, m, n, k, ctas, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    """silu(X·Gᵀ) · (X·Uᵀ): a tile of both products at once."""
    tiles = tl.cdiv(m, bm) * tl.cdiv(n, bn)
    for number in tl.range(tl.program_id(0), tiles, ctas, flatten=True):
        row, column = corner(number, m, n, bm, bn)
        g, u = tl.zeros((bm, bn), tl.float32), tl.zeros((bm, bn), tl.float32)
        for step in range(tl.cdiv(k, bk)):
            rows = x.load([row, step * bk])
            g = tl.dot(rows, gate.load([column, step * bk]).T, g)
            u = tl.dot(rows, up.load([column, step * bk]).T, u)
        d.store([row, column], (g * tl.sigmoid(g) * u).to(tl.bfloat16))


@triton.jit(do_not_specialize=["m"])
def grouped(
    a, b, experts, d, m, n, k, ctas, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr
):  # fmt: skip
    """Rows of A by their expert's of B, of which each 128 rows of A have one."""
    tiles = tl.cdiv(m, bm) * tl.cdiv(n, bn)
    for number in tl.range(tl.program_id(0), tiles, ctas, flatten=True):
        row, column = corner(number, m, n, bm, bn)
        expert = tl.load(experts + row // 128)
        sums = tl.zeros((bm, bn), tl.float32)
        for step in range(tl.cdiv(k, bk)):
            rows = b.load([expert * n + column, step * bk])
            sums = tl.dot(a.load([row, step * bk]), rows.T, sums)
        d.store([row, column], sums.to(tl.bfloat16))


@triton.jit(do_not_specialize=["m"])
def quantised(
    a, b, d, scales, m, n, k, ctas, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr
):  # fmt: skip
    """D in e4m3 with a scale for each 128 columns of a row."""
    tiles = tl.cdiv(m, bm) * tl.cdiv(n, bn)
    for number in tl.range(tl.program_id(0), tiles, ctas, flatten=True):
        row, column = corner(number, m, n, bm, bn)
        sums = tl.zeros((bm, bn), tl.float32)
        for step in range(tl.cdiv(k, bk)):
            sums = tl.dot(a.load([row, step * bk]), b.load([column, step * bk]).T, sums)
        blocks = tl.reshape(sums, (bm, bn // 128, 128))
        scale = tl.max(tl.abs(blocks), 2) * (1 / 448.0)
        rows, columns = row + tl.arange(0, bm), column // 128 + tl.arange(0, bn // 128)
        places = scales + rows[:, None] * (n // 128) + columns[None, :]
        tl.store(places, scale, mask=(rows < m)[:, None] & (columns < n // 128)[None, :])
        inverse = 1 / tl.maximum(scale, 1e-30)
        d.store([row, column], tl.reshape(blocks * inverse[:, :, None], (bm, bn)).to(tl.float8e4nv))


@triton.jit
def scaled(
    a, b, of_a, of_b, d, m, n, k, ctas, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr
):  # fmt: skip
    """e4m3 with a scale for each 1×128 of A and 128×128 of B; a step is such a block of K."""
    tiles, blocks = tl.cdiv(m, bm) * tl.cdiv(n, bn), tl.cdiv(k, bk)
    for number in tl.range(tl.program_id(0), tiles, ctas, flatten=True):
        row, column = corner(number, m, n, bm, bn)
        rows = row + tl.arange(0, bm)
        sums = tl.zeros((bm, bn), tl.float32)
        for step in range(blocks):
            product = tl.dot(a.load([row, step * bk]), b.load([column, step * bk]).T)
            one = tl.load(of_a + step * m + rows, mask=rows < m, other=0.0)
            sums += product * (one * tl.load(of_b + column // 128 * blocks + step))[:, None]
        d.store([row, column], sums.to(tl.bfloat16))


# ---- configurations ------------------------------------------------------------------------------

SINGLE = (
    (128, 256, 64, 8, 3), (64, 256, 64, 8, 4), (256, 128, 64, 8, 3), (128, 128, 64, 8, 4),
    (128, 128, 64, 4, 4), (64, 256, 64, 4, 4), (64, 128, 64, 4, 5), (64, 128, 128, 4, 3),
    (128, 64, 64, 4, 5), (64, 64, 64, 4, 6), (64, 64, 128, 4, 4), (16, 128, 128, 4, 4),
)  # fmt: skip
"""Rows and columns of a tile, elements of a step of K, warps, and stages of the pipeline."""

TWICE = (
    (128, 128, 64, 8, 3), (128, 128, 64, 8, 4), (256, 64, 64, 8, 3), (128, 64, 64, 8, 4),
    (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (64, 128, 64, 8, 4), (64, 64, 64, 4, 5),
    (64, 64, 128, 4, 3), (64, 32, 128, 4, 4), (16, 64, 128, 4, 4), (16, 32, 128, 4, 5),
)  # fmt: skip
"""The same of two products."""

LOW = tuple(each for each in SINGLE if each[0] <= WHOLE)
"""Those whose tiles have rows of one expert."""

WIDE = tuple(each for each in SINGLE if each[1] >= WHOLE)
"""Those whose tiles have whole blocks of D's columns."""

BLOCKS = (
    (128, 128, 128, 8, 3), (128, 128, 128, 8, 4), (128, 128, 128, 4, 4), (128, 64, 128, 4, 4),
    (128, 64, 128, 8, 4), (64, 128, 128, 4, 4), (64, 128, 128, 4, 5), (64, 128, 128, 8, 4),
    (64, 64, 128, 4, 5), (64, 32, 128, 4, 6), (16, 128, 128, 4, 5), (16, 64, 128, 4, 6),
)  # fmt: skip
"""Those of a block of K a step."""


def shaped(nargs: dict) -> None:
    """Descriptors have a configuration's boxes: rows of A and D are bm, those of B bn."""
    rows, columns, step = (nargs[name] for name in ("bm", "bn", "bk"))
    for name, value in nargs.items():
        if isinstance(value, TensorDescriptor):
            inner = columns if name == "d" else step
            value.block_shape = [rows if name in ("a", "x", "d") else columns, inner]


def quickly(call, quantiles):
    """Milliseconds of a call, by fewer turns than Triton has."""
    return do_bench(call, warmup=4, rep=12, quantiles=quantiles)


def tuned(kernel, shapes: tuple[tuple[int, ...], ...]):
    """A kernel that tries such configurations for each size."""
    configs = [
        triton.Config(
            {"bm": rows, "bn": columns, "bk": step}, num_warps=warps, num_stages=stages,
            pre_hook=shaped,
        )
        for rows, columns, step, warps, stages in shapes
    ]  # fmt: skip
    return triton.autotune(configs, key=["m", "n", "k"], do_bench=quickly)(kernel)


# ---- calls ---------------------------------------------------------------------------------------


@functools.cache
def kernels() -> dict:
    """By name; made when they are asked for."""
    return {
        "gated": tuned(gated, TWICE), "grouped": tuned(grouped, LOW),
        "quantised": tuned(quantised, WIDE), "scaled": tuned(scaled, BLOCKS),
    }  # fmt: skip


def seen(x: torch.Tensor) -> TensorDescriptor:
    """A matrix for TMA; its box is the configuration's."""
    return TensorDescriptor.from_tensor(x, [1, 1])


def processors() -> int:
    """As many CTAs stay at most."""
    return torch.cuda.get_device_properties(0).multi_processor_count


def started(name: str, operands: tuple, size: tuple[int, int, int]) -> None:
    """A kernel with as many CTAs as there are multiprocessors, or tiles."""
    most, (m, n, _) = processors(), size

    def grid(meta: dict) -> tuple[int]:
        return (min(most, triton.cdiv(m, meta["bm"]) * triton.cdiv(n, meta["bn"])),)

    kernels()[name][grid](*operands, *size, most)


def triton_gated(x, gate, up) -> torch.Tensor:
    """silu(X·Gᵀ) · (X·Uᵀ)."""
    d = x.new_empty(len(x), len(gate))
    started("gated", (seen(x), seen(gate), seen(up), seen(d)), (*d.shape, x.shape[1]))
    return d


def triton_grouped(a, b, experts) -> torch.Tensor:
    """A by experts, of which each 128 rows have one; N is a multiple of 256."""
    d = a.new_empty(len(a), b.shape[1])
    started("grouped", (seen(a), seen(b.flatten(0, 1)), experts, seen(d)), (*d.shape, a.shape[1]))
    return d


def triton_quantised(a, b) -> tuple[torch.Tensor, torch.Tensor]:
    """The scales, and D in e4m3."""
    m, n = len(a), len(b)
    d, scales = a.new_empty(m, n, dtype=FP8), a.new_empty(m, n // WHOLE, dtype=torch.float32)
    started("quantised", (seen(a), seen(b), seen(d), scales), (m, n, a.shape[1]))
    return scales, d


def triton_scaled(a, b, of_a, of_b) -> torch.Tensor:
    """A and B in e4m3; their scales are K/128 × M and N/128 × K/128."""
    d = a.new_empty(len(a), len(b), dtype=torch.bfloat16)
    started("scaled", (seen(a), seen(b), of_a, of_b, seen(d)), (*d.shape, a.shape[1]))
    return d


# ---- compiled beforehand -------------------------------------------------------------------------


def compiled(asked: tuple[str, int]) -> None:
    """Have Triton keep a configuration's machine code on disk."""
    name, number = asked
    x, f8 = torch.zeros(256, 256, device="cuda", dtype=torch.bfloat16), FP8
    numbers = torch.zeros(256, device="cuda")
    one, eight, experts = seen(x), seen(x.to(f8)), numbers.to(torch.int32)
    operands = {
        "gated": (one, seen(x), seen(x), seen(x)), "grouped": (one, seen(x), experts, seen(x)),
        "quantised": (one, seen(x), eight, numbers),
        "scaled": (eight, seen(x.to(f8)), numbers, numbers, seen(x)),
    }[name]  # fmt: skip
    kernel = kernels()[name]
    config = kernel.configs[number]
    shaped(dict(zip(kernel.arg_names, operands, strict=False)) | config.kwargs)
    kernel.fn.warmup(*operands, 256, 256, 256, processors(), grid=(1,), **config.all_kwargs())


def compile_all(names: Sequence[str]) -> None:
    """All configurations of these kernels, by several processes."""
    asked = [(name, i) for name in names for i in range(len(kernels()[name].configs))]
    with ProcessPoolExecutor(12, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compiled, asked))
