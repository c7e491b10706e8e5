"""Shapes of matrix products as language models have them, drawn by a seed.

Half of them are decoding (M of 1 to 128), half are prefill (M to 16,384); N and K are those of the
projections of published models, whole or cut over eight GPUs; six of ten are bf16, three fp8.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

PROJECTIONS = {
    "Llama 3 8B": ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)),
    "Llama 3 70B": ((10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)),
    "Llama 3 70B, an eighth": ((1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584)),
    "Qwen 2.5 7B": ((4608, 3584), (3584, 3584), (37888, 3584), (3584, 18944)),
    "Qwen 2.5 72B": ((10240, 8192), (8192, 8192), (59136, 8192), (8192, 29568)),
    "Qwen 3 30B, an expert": ((5120, 2048), (2048, 4096), (1536, 2048), (2048, 768)),
    "DeepSeek V3": (
        (1536, 7168), (24576, 1536), (576, 7168), (32768, 512), (7168, 16384),
        (36864, 7168), (7168, 18432), (4096, 7168), (7168, 2048),
    ),
}  # fmt: skip
"""N and K of the projections of attention and of the layers behind it."""

LARGEST = 6e12  # floating point operations


@dataclass(frozen=True, slots=True)
class Shape:
    """A product: D of M × N, sums of K products, and the type of A and B."""

    m: int
    n: int
    k: int
    dtype: str

    @property
    def work(self) -> float:
        """Floating point operations."""
        return 2.0 * self.m * self.n * self.k

    @property
    def moved(self) -> int:
        """The bytes that must at least move: A, B and a D of 16 bits."""
        return (self.m + self.n) * self.k * (1 if self.dtype == "e4m3" else 2) + self.m * self.n * 2


def drawn(seed: int, count: int) -> list[Shape]:
    """Shapes by a seed, none of them twice."""
    rng, found = random.Random(seed), {}  # type: ignore[var-annotated]
    while len(found) < count:
        n, k = rng.choice(PROJECTIONS[rng.choice([*PROJECTIONS])])
        if rng.random() < 0.5:
            m = rng.choice([1, 2, 4, 8, 16, 32, 64, 128, rng.randint(1, 128)])
        else:
            m = round(2 ** rng.uniform(7, 14))
            m = m if rng.random() < 0.3 else max(256, m // 256 * 256)
        dtype = rng.choices(["bf16", "e4m3", "f16"], [6, 3, 1])[0]
        shape = Shape(m, n, k, dtype)
        if shape.work <= LARGEST:
            found[shape] = None
    return [*found]
