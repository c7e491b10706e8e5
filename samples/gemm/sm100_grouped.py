"""Grouped GEMM for Blackwell: each expert of a mixture multiplies its own rows of A.

gemm/grouped.py says which rows are whose, contiguous or masked, and gemm/sm100.py or, for MXFP8 and
its like, gemm/sm100_scaled.py how a CTA or a pair multiplies them: their classes are joined.  Rows
of A that belong to one expert come by 128: a CTA's tile has 128, or with `swap` fewer, as columns.
So a pair has 256 rows of B; masked it may have 256 rows of A instead.

Factors of a scaled B are experts × N/128 × …, and of a masked A, too: `blocked`, one by one.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from nvgen import Kernel

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.grouped import BLOCK, ContiguousGemm, MaskedGemm, operands
from gemm.plan import BF16, Config, Kind, grid
from gemm.sm100_scaled import MXFP8, Factors

blackwell = importlib.import_module("gemm.sm100")
scaled = importlib.import_module("gemm.sm100_scaled")
TARGETS = blackwell.TARGETS


def is_possible(config: Config, *, masked: bool = False) -> bool:
    """Whether all that is multiplied at once is one expert's."""
    rows = config.n if config.swap else config.m * config.cluster
    alone = config.split == config.tail == 1
    return alone and (BLOCK % rows == 0 or (masked and not config.swap))


def build(
    config: Config, kind: Kind = BF16, factors: Factors | None = None, *, masked: bool = False
) -> Kernel:
    """The kernel; its arguments are those of gemm/grouped.py: A, B, D, M, N, K and the numbers,
    between which and K stand the factors, where there are `factors`.

    Raises: ValueError for a configuration that is not possible.
    """
    if not is_possible(config, masked=masked):
        raise ValueError(f"no such tiles have one expert: {config}")
    config, family = replace(config, early=False), MaskedGemm if masked else ContiguousGemm
    if factors is None:
        return blackwell.build(config, kind, family=family)
    return scaled.build(config, kind, factors, family=family)


def scaled_operands(experts: np.ndarray, n: int, k: int, count: int) -> tuple[np.ndarray, ...]:
    """A of the blocks of these `experts` and B of `count` in MXFP8, their products, the factors."""
    rng = np.random.default_rng(0)
    a, scale_a, of_a = scaled.matrix(rng, len(experts) * BLOCK, k)
    weights = [scaled.matrix(rng, n, k) for _ in range(count)]
    b, scale_b, of_b = (np.stack([one[part] for one in weights]) for part in range(3))
    d = np.zeros((len(a), n))
    for block, expert in enumerate(experts):
        part = slice(block * BLOCK, block * BLOCK + BLOCK)
        d[part] = of_a[part] @ of_b[expert].T if expert >= 0 else 0
    return a, b, d.astype(np.float32).astype(MXFP8.out.numpy), scale_a, scale_b


def main() -> None:
    """Run four blocks of three experts, one without any, on the simulator; compare with numpy."""
    experts, (n, k) = np.array([2, -1, 0, 1], np.int32), (72, 136)
    a, b, expected = operands(experts, n, k, 3)
    for cut in ({"m": 128, "n": 64}, {"m": 128, "n": 64, "cluster": 2, "swap": True}):
        d, config = np.zeros_like(expected), Config(**cut, consumers=1, stages=2)
        made, ctas = build(config).compile(target=TARGETS[0]), grid(config, len(a), n, 4)
        sizes = len(a), n, k
        made.run(a, b, d, *sizes, experts, grid=ctas, cluster=config.ctas, device="sim")
        assert np.array_equal(d, expected), "the products differ from numpy"
        print(f"grouped D, 4 blocks of 3 experts, {n}x{k}, {cut}: equal to numpy")


if __name__ == "__main__":
    main()
