"""Sample 14 beside cuDNN's attention on a Hopper GPU: TFLOP/s, their ratio, what both are off by.

    python -m tests.benchmarks.attention_hopper [--lengths 1024,4096] [--dims 64,128] [--opt 3]

One process, torch's scaled_dot_product_attention with its cuDNN backend, bf16, random normal Q, K
and V of 16384 rows altogether.  Each time is the median of nine CUDA graphs of ten launches, the
contestants by turns in random order.  Half of the operations are counted where the future is
masked.  `--accuracy` compares both with f64 instead, on inputs of several kinds.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import math
import random
from collections.abc import Callable, Iterator
from itertools import product
from statistics import geometric_mean, median

import torch

from nvgen import CodeCache
from tests.benchmarks.attention_beside import (
    LAUNCHES,
    ROUNDS,
    ROWS,
    WIDTH,
    cudnn,
    graph_of,
    milliseconds,
    theirs,
    truth,
)  # fmt: skip

sample = importlib.import_module("14_attention_sm90")


@functools.cache
def loaded(config: object, opt: int | None):
    """A kernel on the GPU."""
    kernel = sample.build(config)
    return CodeCache(judged=False).code(kernel, opt=opt).load()


def prepared(q, k, v, o, causal: bool, opt: int | None) -> Callable[..., None]:
    """The launch of the kernel for these tensors; with `launches` it gives milliseconds."""
    heads, length, d = q.shape
    config = sample.choose(d, length, causal=causal)
    code = loaded(config, opt)
    counter = torch.zeros(1, dtype=torch.int32, device="cuda").view(torch.uint32)
    numbers = sample.numbers(config, heads, heads // len(k), length, k.shape[1])
    arguments = code.arguments(q, k, v, o, counter, *numbers)
    processors = torch.cuda.get_device_properties(q.device).multi_processor_count
    grid = sample.grid(config, heads, length, processors)

    def launch(launches: int = 0):
        if launches:
            return code.time(*arguments, grid=grid, launches=launches)
        return code.launch(*arguments, grid=grid)

    return launch


def compare(d: int, length: int, opt: int | None, *, causal: bool) -> tuple[str, float]:
    """A line of the table, and the ratio in it."""
    heads = ROWS // length * WIDTH // d
    torch.manual_seed(0)
    q, k, v = torch.randn(3, heads, length, d, device="cuda", dtype=torch.bfloat16)
    o = torch.full_like(q, math.nan)
    mine, call = prepared(q, k, v, o, causal, opt), theirs(q, k, v, causal)
    mine()
    with cudnn():
        expected, graph = call()[0], graph_of(call)
    torch.cuda.synchronize()
    apart = (o.float() - expected.float()).abs().max().item()
    contestants = [lambda: mine(LAUNCHES), lambda: milliseconds(graph)]
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for which in random.sample(range(2), 2):
            times[which].append(contestants[which]())
    ours, cudnns = map(median, times)
    flops = 4 * heads * length * length * d / (2 if causal else 1) / 1e9
    ratio = cudnns / ours
    line = f"{d:<4} {causal!s:7} {length:<6} {flops / ours:7.0f} {flops / cudnns:7.0f} {ratio:7.3f}"
    return f"{line}  {apart:.4f}", ratio


def kinds(d: int, length: int) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Inputs: as layers have them, and such as are hard to sum."""
    torch.manual_seed(1)
    normal = torch.randn(3, 2, length, d, device="cuda")
    outliers = normal.clone()
    outliers[:2, :, :, ::16] *= 8  # channels that are large, as models have them
    sink = normal.clone()
    sink[1, :, 0] *= 12  # the first key draws all
    large, huge, flat = normal.clone(), normal.clone(), normal.clone()
    large[0] *= 30
    huge[1, :, length // 3] *= 1000
    flat[0] = 0
    lost, drowned = normal.clone(), normal.clone()
    lost[0, :, :, 0], lost[1, :, ::3, 0] = 8, -3e38  # scores of -inf in f32, of some keys
    drowned[0, :, ::2, 0], drowned[0, :, 1::2, 0], drowned[1, :, :, 0] = 8, 0, -3e38  # of all
    steep = normal.clone()
    steep[0] *= 3000
    named = {"normal": normal, "channels": outliers, "sink": sink, "large": large,
             "one huge key": huge, "all alike": flat, "steep": steep, "-inf scores": lost,
             "-inf rows": drowned}  # fmt: skip
    yield from ((name, list(x.to(torch.bfloat16))) for name, x in named.items())


def accuracy(dims: list[int]) -> None:
    """The root of the mean square and the maximum of what both are off by."""
    print("d    causal  input          nvgen: rms  maximum     cuDNN: rms  maximum")
    for d, causal in product(dims, (False, True)):
        for name, (q, k, v) in kinds(d, 1000):
            o, call = torch.full_like(q, math.nan), theirs(q, k, v, causal)
            prepared(q, k, v, o, causal, None)()
            with cudnn():
                other = call()[0]
            right = truth(q, k, v, causal)
            if name == "-inf rows":  # f64 has finite scores there
                none = [x[:, ::2].isfinite().logical_not().sum().item() for x in (o, other)]
                name += f" (no numbers in them: {none[0]}, {none[1]})"
                right, o, other = (x[:, 1::2] for x in (right, o, other))
            off = [(x.double() - right).abs() for x in (o, other)]
            said = "   ".join(f"{x.square().mean().sqrt():10.2e} {x.max():8.2e}" for x in off)
            print(f"{d:<4} {causal!s:7} {name:13} {said}", flush=True)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", default="1024,4096,16384")
    parser.add_argument("--dims", default="64,128")
    parser.add_argument("--opt", type=int)
    parser.add_argument("--accuracy", action="store_true")
    given = parser.parse_args()
    dims = [int(d) for d in given.dims.split(",")]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    if given.accuracy:
        accuracy(dims)
        return
    print("d    causal  length   nvgen   cuDNN   ratio  difference")
    ratios = []
    for d, causal, length in product(dims, (False, True), map(int, given.lengths.split(","))):
        line, ratio = compare(d, length, given.opt, causal=causal)
        ratios.append(ratio)
        print(line, flush=True)
    print(f"geometric mean {geometric_mean(ratios):.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
