"""Attention in fp8 beside cuDNN's in bf16 on a Hopper GPU: TFLOP/s, the ratio, what it is off by.

    python -m tests.benchmarks.attention_fp8 [--dims 64,128,256] [--lengths 1024,4096,16384]

One process, random normal Q, K and V of 16,384 rows altogether, quantised with a scale for each
head; torch has no attention in fp8.  Each time is the median of nine CUDA graphs of ten launches,
by turns in random order.  What it is off by, the root of the mean square beside O's own, is told
against f64 of the same quantised operands, for 1,024 rows.
"""

from __future__ import annotations

import argparse
import functools
import importlib
from itertools import product
from statistics import geometric_mean

import torch

from tests.benchmarks.attention_beside import (
    ROWS,
    WIDTH,
    cudnn,
    graph_of,
    medians,
    theirs,
    truth,
)  # fmt: skip

family = importlib.import_module("attention.family_pytorch")


def off_by(d: int, *, causal: bool) -> float:
    """Beside f64, relative to O."""
    torch.manual_seed(1)
    arrays, scales = zip(
        *(family.quantised(torch.randn(2, 1024, d, device="cuda")) for _ in range(3)), strict=True
    )
    wide = [x.double() * s.double()[:, None, None] for x, s in zip(arrays, scales, strict=True)]
    right = truth(*wide, causal)  # type: ignore[call-arg]
    found = family.attention_fp8(*arrays, *scales, causal).double()
    return ((found - right).square().mean() / right.square().mean()).sqrt().item()


def compare(d: int, length: int, *, causal: bool) -> float:
    """A line of the table; its ratio."""
    heads = ROWS // length * WIDTH // d
    torch.manual_seed(0)
    wide = torch.randn(3, heads, length, d, device="cuda", dtype=torch.bfloat16)
    arrays, scales = zip(*map(family.quantised, wide), strict=True)
    graphs = {"nvgen": graph_of(functools.partial(family.attention_fp8, *arrays, *scales, causal))}
    with cudnn():
        graphs["cuDNN"] = graph_of(theirs(*wide, causal))  # type: ignore[call-arg]
    times = medians(graphs)
    flops = 4 * heads * length * length * d / (2 if causal else 1) / 1e9
    ratio = times["cuDNN"] / times["nvgen"]
    said = " ".join(f"{flops / time:7.0f}" for time in times.values())
    print(f"{d:<4} {causal!s:6} {length:<6} {said} {ratio:7.3f}", flush=True)
    return ratio


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", default="1024,4096,16384")
    parser.add_argument("--dims", default="64,128,256")
    given = parser.parse_args()
    dims, lengths = ([int(x) for x in text.split(",")] for text in (given.dims, given.lengths))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print("d    causal length   nvgen   cuDNN   ratio", flush=True)
    found = [compare(d, n, causal=c) for d, c, n in product(dims, (False, True), lengths)]
    print(f"geometric mean {geometric_mean(found):.3f}, least {min(found):.3f}", flush=True)
    for d, causal in product(dims, (False, True)):
        print(f"{d:<4} {causal!s:6} off by {off_by(d, causal=causal):.4f} of O", flush=True)


if __name__ == "__main__":
    main()
