"""samples/gemm/family_pytorch.py beside torch on the GPU that is here, in one process.

    python tests/benchmarks/gemm_family.py [--rounds N] [--only NAME] [--json OUT]

Gated products beside torch's product, silu and multiplication; products of experts beside
`torch._grouped_mm` and one product after the other; D in e4m3 with scales beside torch's product
and quantisation; block-scaled products beside `torch._scaled_mm` with the same scales.
Torch's ways are eager and torch.compile, or these.  Beside all of them stands a Triton kernel that
does the same (gemm_triton.py).  Each is timed as a CUDA graph of several calls, in random order;
a ratio is the median over the rounds of the time of the faster of torch's ways by ours, and of
Triton's by ours.  Calls take turns over as many operands as L2 does
not hold.  Every product is compared with torch's, of those in e4m3 the scales.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "samples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a script: before its own folder

import torch
from gemm import family_plan as plans
from gemm import family_pytorch as family
from gemm.model import machine_of

from tests.benchmarks import gemm_triton as beside
from tests.benchmarks.gemm_hopper import UNCACHED, graph_of, in_turn, short

FP8 = torch.float8_e4m3fn
Result: TypeAlias = "torch.Tensor | tuple[torch.Tensor, ...]"
Call: TypeAlias = Callable[[], Result]
Way: TypeAlias = Callable[..., Result]

SIZES = {
    "gated": (
        (16, 28672, 4096), (64, 37888, 3584), (128, 28672, 4096), (77, 4096, 7168),
        (1024, 28672, 4096), (4096, 28672, 4096),
    ),
    "grouped": (
        (1024, 4096, 7168), (4096, 4096, 7168), (4096, 7168, 2048), (16384, 1536, 2048),
        (16384, 2048, 768), (32768, 4096, 7168),
    ),
    "quantised": (
        (256, 4096, 4096), (1024, 8192, 4096), (4096, 4096, 7168), (4096, 14336, 4096),
        (77, 4096, 7168),
    ),
    "scaled": (
        (16, 4096, 7168), (64, 4096, 7168), (128, 4096, 7168), (64, 7168, 2048),
        (128, 24576, 1536), (256, 4096, 7168), (384, 7168, 4096), (512, 4096, 7168),
        (512, 7168, 16384), (768, 7168, 18432), (1024, 7168, 2048), (1024, 4096, 7168),
        (2048, 24576, 1536), (2048, 4096, 7168), (4096, 7168, 2048), (4096, 24576, 1536),
        (4096, 4096, 7168), (8192, 2112, 7168),
    ),
}  # fmt: skip


def normal(rows: int, columns: int) -> torch.Tensor:
    return torch.randn(rows, columns, device="cuda").bfloat16()


def silu_gated(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(x @ gate.T) * (x @ up.T)


Calls: TypeAlias = dict[str, Call]


def both_ways(way: Way, *operands: torch.Tensor) -> Calls:
    """Eager, and what torch.compile makes of it."""
    fused = torch.compile(way, dynamic=False)
    return {"eager": partial(way, *operands), "compiled": lambda: fused(*operands)}


def gated(m: int, n: int, k: int) -> Calls:
    """Of rows of G and of U, n together."""
    x, gate, up = normal(m, k) * 0.3, normal(n // 2, k) * 0.3, normal(n // 2, k) * 0.3
    both = family.interleaved(gate, up)
    ours = {"nvgen": lambda: family.gemm_gated(x, both)}
    theirs = both_ways(silu_gated, x, gate, up)
    return ours | theirs | {"triton": lambda: beside.triton_gated(x, gate, up)}


EXPERTS = 8


def one_by_one(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    d = a.new_empty(len(a), b.size(1))
    for x, y, out in zip(a.chunk(EXPERTS), b, d.chunk(EXPERTS), strict=True):
        torch.mm(x, y.T, out=out)
    return d


def grouped(m: int, n: int, k: int) -> Calls:
    """As many rows for each of eight experts."""
    a, b, each = normal(m, k), normal(EXPERTS * n, k).view(EXPERTS, n, k), m // EXPERTS
    count = torch.arange(EXPERTS, device="cuda", dtype=torch.int32)
    numbers, ends = count.repeat_interleave(each // plans.BLOCK), (count + 1) * each
    return {
        "nvgen": lambda: family.gemm_grouped(a, b, numbers),
        "grouped": lambda: torch._grouped_mm(a, b.mT, offs=ends),
        "one by one": lambda: one_by_one(a, b),
        "triton": lambda: beside.triton_grouped(a, b, numbers),
    }


def in_blocks(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    d = (a @ b.T).float().view(len(a), -1, plans.BLOCK)
    scales = d.abs().amax(2) / torch.finfo(FP8).max
    return scales, (d / scales[:, :, None]).to(FP8)


def quantised(m: int, n: int, k: int) -> Calls:
    """D's scales, which are the same but for rounding, are what is compared."""
    a, b = normal(m, k), normal(n, k)
    ours = {"nvgen": lambda: family.gemm_quantised(a, b, with_amax=False)[1]}
    return ours | both_ways(in_blocks, a, b) | {"triton": lambda: beside.triton_quantised(a, b)}


def scaled(m: int, n: int, k: int) -> Calls:
    a, b = (normal(rows, k).to(FP8) for rows in (m, n))
    blocks = k // plans.BLOCK
    of_a = torch.rand(blocks, m, device="cuda") + 0.5
    of_b = torch.rand(-(-n // plans.BLOCK), blocks, device="cuda") + 0.5
    return {
        "nvgen": lambda: family.gemm_block_scaled(a, b, of_a.T, of_b),
        "scaled": lambda: torch._scaled_mm(
            a, b.T, scale_a=of_a.T, scale_b=of_b.T, out_dtype=torch.bfloat16
        ),
        "triton": lambda: beside.triton_scaled(a, b, of_a, of_b),
    }


MAKERS = {"gated": gated, "grouped": grouped, "quantised": quantised, "scaled": scaled}
PLANS = {
    "gated": (plans.plan_gated, plans.BF16),
    "grouped": (plans.plan_grouped, plans.BF16),
    "quantised": (plans.plan_quantised, plans.QUANTISED),
    "scaled": (plans.plan_scaled, plans.BLOCK_SCALED),
}


def apart(one: Result, other: Result) -> float:
    """How far two results, or the first of several, are from each other, as parts of the largest
    element.
    """
    one, other = (each[0] if isinstance(each, tuple) else each for each in (one, other))
    return ((one.float() - other.float()).abs().max() / other.float().abs().max()).item()


def compared(name: str, size: tuple[int, int, int], rounds: int) -> dict:
    """One row of the table."""
    m, n, k = size
    sets = max(1, min(12, math.ceil(UNCACHED / (m * k + n * k + 2 * m * n))))
    torch._dynamo.reset()  # which compiles no more than eight shapes
    calls = [MAKERS[name](*size) for _ in range(sets)]
    off = max(apart(calls[0]["nvgen"](), call()) for call in calls[0].values())
    count = sets * max(1, 12 // sets)
    graphs = {
        label: graph_of([lambda stream, call=one[label]: call() for one in calls] * (count // sets))
        for label in calls[0]
    }
    times = in_turn(graphs, count, rounds)
    plan, kind = PLANS[name]
    config = plan(*size, kind, machine_of(torch.cuda.get_device_name(0)))
    ours, *theirs, of_triton = times.values()
    ratios = [min(others) / x for x, *others in zip(ours, *theirs, strict=True)]
    return {
        "name": name, "shape": size, "config": short(config) + "o" * config.early, "off": off,
        "microseconds": {label: statistics.median(each) for label, each in times.items()},
        "ratio": statistics.median(ratios),
        "triton": statistics.median(y / x for x, y in zip(ours, of_triton, strict=True)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    parser.add_argument("--only", choices=list(SIZES))
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    torch.manual_seed(0)
    rows, names = [], [given.only] if given.only else list(SIZES)
    beside.compile_all(names)
    print(torch.cuda.get_device_name(0))
    for name in names:
        for size in SIZES[name]:
            row = compared(name, size, given.rounds)
            rows.append(row)
            wrong = "" if row["off"] < 0.02 else f"  WRONG by {row['off']:.2g}"
            took = " ".join(f"{each:8.1f}" for each in row["microseconds"].values())
            print(
                f"{name:<9} {'x'.join(map(str, size)):<17} {row['config']:<14} "
                f"{took} us {row['ratio']:6.3f} {row['triton']:6.3f}{wrong}", flush=True,
            )  # fmt: skip
            torch.cuda.empty_cache()
        told = [r for r in rows if r["name"] == name]
        torchs, tritons, both = (
            statistics.geometric_mean(map(ratio, told))
            for ratio in (
                lambda r: r["ratio"], lambda r: r["triton"],
                lambda r: min(r["ratio"], r["triton"]),
            )
        )  # fmt: skip
        print(f"{name}: torch {torchs:.3f}, Triton {tritons:.3f}, the faster {both:.3f}")
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
