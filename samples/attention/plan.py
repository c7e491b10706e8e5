"""Attention for Hopper: how it is cut, how it is launched, and what numpy gives.

samples/14_attention_sm90.py is the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nvgen import ElementType, bf16, e4m3, f16

ROWS = 64  # of Q, that a warpgroup of Hopper has
L2 = 24 << 20  # bytes of K and V that stay in L2 beside all else


@dataclass(frozen=True)
class Config:
    """What a kernel is for (`d`, a mask or none, the type of Q, K, V and O), and how it is cut."""

    d: int = 128
    causal: bool = False
    dtype: ElementType = bf16
    warpgroups: int = 2  # that multiply
    block: int = 128  # rows of K and V that go by at once
    stages: int = 2  # buffers for each of K and V
    queries: int = 2  # buffers for Q, and for O
    exact: bool = False  # whether the sums are of P as it is multiplied, rounded
    window: bool = False  # of causal attention: whether keys that are far back are masked, too
    height: int = ROWS  # rows of Q of a warpgroup

    @property
    def rows(self) -> int:
        """Rows of Q of an item."""
        return self.warpgroups * self.height

    @property
    def swizzle(self) -> int:
        """Bytes of a row that are swizzled."""
        return min(128, self.d * self.dtype.bits // 8)

    @property
    def limit(self) -> float:
        """What the sum of a thread's P in one block may be: far from the end of the type."""
        return {f16: 2.0**14, e4m3: 448.0}.get(self.dtype, 2.0**24)


PLAIN = Config()


def choose(d: int, length: int, *, causal: bool, dtype: ElementType = bf16) -> Config:
    """What is fast for a head of this size on an H100, or with e4m3 on an H200."""
    if dtype is e4m3:
        stages, block, queries = (3, 64, 1) if d == 256 else (192 // d + 2, 128, 2)
        return Config(d, causal, dtype, stages=stages, block=block, queries=queries)
    if d == 256:
        return Config(d, causal, dtype, block=64, queries=1)
    if d == 128:
        return Config(d, causal, dtype)
    return Config(d, causal, dtype, warpgroups=3 if length > 1024 else 2, stages=4)


def grid(config: Config, heads: int, length: int, multiprocessors: int = 132) -> int:
    """How many CTAs: one for each multiprocessor, or for each item if they are fewer."""
    return min(heads * -(-length // config.rows), multiprocessors)


def section(config: Config, heads: int, keys: int) -> int:
    """How many heads take turns: all that L2 holds; without a mask no item is long, and one."""
    if not config.causal:
        return 1
    return max(1, min(heads, L2 // (keys * config.d * 2 * 2)))


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, *, causal: bool, window: int = 0,
    shift: int = 0,
):  # fmt: skip
    """What numpy gives, in f64; row i sees keys up to i + `shift`, `window` of them if not 0."""
    ratio = len(q) // len(k)
    q, k, v = (x.astype(np.float64) for x in (q, k.repeat(ratio, 0), v.repeat(ratio, 0)))
    s = q @ k.transpose(0, 2, 1) * scale
    if causal:
        s = np.where(np.tri(*s.shape[1:], shift, dtype=bool), s, -np.inf)
    if window:
        s = np.where(np.tri(*s.shape[1:], shift - window, dtype=bool), -np.inf, s)
    p = np.exp(s - s.max(2, keepdims=True))
    return p @ v / p.sum(2, keepdims=True)


def operands(
    heads: int, length: int, keys: int, config: Config, ratio: int = 1
) -> list[np.ndarray]:
    """Random normal Q, K and V, rounded."""
    rng = np.random.default_rng(0)
    shapes = [(heads, length, config.d), *[(heads // ratio, keys, config.d)] * 2]
    return [rng.standard_normal(shape).astype(config.dtype.numpy) for shape in shapes]


def numbers(config: Config, heads: int, ratio: int, length: int, keys: int) -> tuple:
    """What a launch takes behind the counter."""
    each = section(config, heads, keys)
    return heads, ratio, length, keys, each, config.d**-0.5


def packed_numbers(config: Config, heads: int, ratio: int, lengths, keys) -> tuple:
    """The same for packed sequences, up to where these begin."""
    count, longest, most = len(lengths), max(lengths), max(keys)
    each = section(config, count * heads, most)
    return count * heads, ratio, longest, most, each, heads, config.d**-0.5
