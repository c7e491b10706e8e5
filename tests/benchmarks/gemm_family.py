"""samples/gemm_family_torch.py beside torch on the GPU that is here, in one process.

    python tests/benchmarks/gemm_family.py [--rounds N] [--only gated|quantised|scaled] [--json OUT]

Gated products beside torch's product, silu and multiplication; D in e4m3 with scales beside torch's
product and quantisation; block-scaled products beside `torch._scaled_mm` with the same scales.
Each is timed as a CUDA graph of several calls of the operator, in random order; a ratio is the
median over the rounds of torch's time by ours.  Calls take turns over as many operands as L2 does
not hold.  Every product is compared with torch's, of those in e4m3 the scales.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "samples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a script: before its own folder

import gemm_family_plan as plans
import gemm_family_torch as family
import torch
from gemm_model import machine_of

from tests.benchmarks.gemm_hopper import UNCACHED, graph_of, in_turn, short

FP8 = torch.float8_e4m3fn
Call = Callable[[], torch.Tensor]

SIZES = {
    "gated": (
        (16, 28672, 4096), (64, 37888, 3584), (128, 28672, 4096), (77, 4096, 7168),
        (1024, 28672, 4096), (4096, 28672, 4096),
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


def gated(m: int, n: int, k: int) -> tuple[Call, Call]:
    """Ours and torch's: of rows of G and of U, n together."""
    x, gate, up = normal(m, k) * 0.3, normal(n // 2, k) * 0.3, normal(n // 2, k) * 0.3
    both = family.interleaved(gate, up)
    silu = torch.nn.functional.silu
    return lambda: family.gemm_gated(x, both), lambda: silu(x @ gate.T) * (x @ up.T)


def quantised(m: int, n: int, k: int) -> tuple[Call, Call]:
    """D's scales, which are the same but for rounding, are what is compared."""
    a, b = normal(m, k), normal(n, k)

    def by_torch() -> torch.Tensor:
        d = (a @ b.T).float().view(m, -1, plans.BLOCK)
        scales = d.abs().amax(2) / torch.finfo(FP8).max
        (d / scales[:, :, None]).to(FP8)
        return scales

    return lambda: family.gemm_quantised(a, b)[1], by_torch


def scaled(m: int, n: int, k: int) -> tuple[Call, Call]:
    a, b = (normal(rows, k).to(FP8) for rows in (m, n))
    blocks = k // plans.BLOCK
    of_a = torch.rand(blocks, m, device="cuda") + 0.5
    of_b = torch.rand(-(-n // plans.BLOCK), blocks, device="cuda") + 0.5

    def by_torch() -> torch.Tensor:
        return torch._scaled_mm(
            a, b.T, scale_a=of_a.T, scale_b=of_b.T, out_dtype=torch.bfloat16
        )  # fmt: skip

    return lambda: family.gemm_block_scaled(a, b, of_a.T, of_b), by_torch


MAKERS = {"gated": gated, "quantised": quantised, "scaled": scaled}
CHOICES = {
    "gated": (plans.choose_gated, plans.BF16),
    "quantised": (plans.choose_quantised, plans.QUANTISED),
    "scaled": (plans.choose_scaled, plans.BLOCK_SCALED),
}


def apart(one: torch.Tensor, other: torch.Tensor) -> float:
    """How far two results are from each other, as parts of the largest element."""
    return ((one.float() - other.float()).abs().max() / other.float().abs().max()).item()


def compared(name: str, size: tuple[int, int, int], rounds: int) -> dict:
    """One row of the table."""
    m, n, k = size
    sets = max(1, min(12, math.ceil(UNCACHED / (m * k + n * k + 2 * m * n))))
    pairs = [MAKERS[name](*size) for _ in range(sets)]
    off = apart(*(call() for call in pairs[0]))
    count = sets * max(1, 12 // sets)
    graphs = {
        label: graph_of([lambda stream, call=pair[i]: call() for pair in pairs] * (count // sets))
        for i, label in enumerate(("nvgen", "torch"))
    }
    times = in_turn(graphs, count, rounds)
    choose, kind = CHOICES[name]
    config = choose(*size, kind, machine_of(torch.cuda.get_device_name(0)))
    ratios = [y / x for x, y in zip(times["nvgen"], times["torch"], strict=True)]
    return {
        "name": name, "shape": size, "config": short(config), "off": off,
        "microseconds": statistics.median(times["nvgen"]), "ratio": statistics.median(ratios),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    parser.add_argument("--only", choices=list(SIZES))
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    torch.manual_seed(0)
    rows = []
    print(torch.cuda.get_device_name(0))
    for name in [given.only] if given.only else SIZES:
        for size in SIZES[name]:
            row = compared(name, size, given.rounds)
            rows.append(row)
            wrong = "" if row["off"] < 0.02 else f"  WRONG by {row['off']:.2g}"
            print(
                f"{name:<9} {'x'.join(map(str, size)):<17} {row['config']:<14} "
                f"{row['microseconds']:8.1f} us {row['ratio']:6.3f}{wrong}", flush=True,
            )  # fmt: skip
            torch.cuda.empty_cache()
        mean = statistics.geometric_mean(r["ratio"] for r in rows if r["name"] == name)
        print(f"{name}: geometric mean {mean:.3f}")
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
