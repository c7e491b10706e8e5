"""Decoding for Hopper: what a kernel is for, how sequences are cut, and what numpy gives.

samples/attention/decode.py is the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nvgen import ElementType, bf16

ROWS = 64  # of Q in a tile
TOGETHER = 16  # parts of O that a thread reads at once


@dataclass(frozen=True)
class Config:
    """What a kernel is for, and how it is cut."""

    d: int = 128
    dtype: ElementType = bf16
    page: int = 64  # rows of a page, if they are fewer than a block's; else a multiple of it
    stages: int = 2
    window: bool = False

    @property
    def block(self) -> int:
        """Keys that go by at once: 16 KiB of them."""
        return max(32, 8192 // self.d)


PLAIN = Config()


def cut(config: Config, items: int, keys: int, multiprocessors: int = 132) -> tuple[int, int]:
    """How many CTAs share a sequence of as many keys, and how many blocks each has at least.

    Time is counted in microseconds of an H200, where the numbers were measured: a multiprocessor
    takes 1 for a block, alone or for two CTAs by turns; one that has no other beside it waits 2
    more, another wave begins in 3.5, and 16 parts are joined in 1.5.
    """
    blocks = max(1, -(-keys // config.block))
    together = multiprocessors * (2 if config.d < 256 else 1)

    def time(each: int) -> float:
        parts = -(-blocks // each)
        turns, waves = (-(-items * parts // n) for n in (multiprocessors, together))
        busy = each * turns * 1.05 if turns > 1 else each * 0.99 + 2
        joined = 1.5 * -(-parts // TOGETHER) if parts > 1 else 0.0
        return busy + 3.5 * (waves - 1) + joined

    each = min({-(-blocks // parts) for parts in range(1, min(blocks, 128) + 1)}, key=time)
    return -(-blocks // each), each


def attention(q, k, v, table, lengths, scale: float, heads: int, window: int = 0) -> np.ndarray:
    """What numpy gives, in f64."""
    o, rows = np.zeros(q.shape), q.shape[2]
    token = np.arange(rows) // heads - (rows // heads - 1)
    for i, length in enumerate(lengths):
        pages = table[i][: -(-int(length) // k.shape[2])]
        for head in range(k.shape[1]):
            keys, values = (x[pages, head].reshape(-1, x.shape[3])[:length] for x in (k, v))
            s = q[i, head].astype(np.float64) @ keys.T.astype(np.float64) * scale
            age = (length - 1 + token)[:, None] - np.arange(length)
            s = np.where((age >= 0) & ((age < window) | (not window)), s, -np.inf)
            with np.errstate(all="ignore"):
                p = np.nan_to_num(np.exp(s - s.max(1, keepdims=True, initial=-np.inf)))
                o[i, head] = np.nan_to_num(p @ values.astype(np.float64) / p.sum(1, keepdims=True))
    return o


def operands(lengths, heads: int, rows: int, config: Config, page: int) -> tuple[np.ndarray, ...]:
    """Random Q, pages of K and V in any order, what no key is being no number; and the table."""
    rng = np.random.default_rng(0)
    most = max(1, *(-(-n // page) for n in lengths))
    count = len(lengths) * most
    table = rng.permutation(count).astype(np.int32).reshape(len(lengths), most)
    q = rng.standard_normal((len(lengths), heads, rows, config.d)) * 2
    k, v = rng.standard_normal((2, count, heads, page, config.d))
    for i, length in enumerate(lengths):
        for j in range(most):
            k[table[i, j], :, max(0, length - j * page) :] = np.nan
            v[table[i, j], :, max(0, length - j * page) :] = np.nan
    return *(x.astype(config.dtype.numpy) for x in (q, k, v)), table


def workspace(items: int, parts: int, rows: int, d: int) -> tuple[np.ndarray, ...]:
    """Room for parts of O and their logarithms, and the counters."""
    parts_ = np.zeros((items, parts, rows, d), np.float32)
    return parts_, np.zeros((items, parts, rows), np.float32), np.zeros(items, np.uint32)
