"""Packed sequences beside torch's own ways on a Hopper GPU: TFLOP/s, ratios, what both are off by.

    python -m tests.benchmarks.attention_packed [--dims 64,128]

One process, bf16, 16,384 rows of sequences whose lengths are drawn with a seed, of one length, or
one long among short ones.  Torch has FlashAttention-2 for such (`aten._flash_attention_forward`
with cumulated lengths); beside it stands cuDNN called once for each sequence, in one graph.  Each
time is the median of nine CUDA graphs of ten launches, the contestants by turns in random order.
The result is compared with f64 on the shortest sequence first, by the root of the mean square.
"""

from __future__ import annotations

import argparse
import functools
import importlib
from itertools import pairwise, product
from statistics import geometric_mean

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from tests.benchmarks.attention_beside import ROWS, WIDTH, cudnn, graph_of, medians, truth

family = importlib.import_module("attention.family_pytorch")


def lengths(kind: str) -> list[int]:
    """Those of a batch."""
    if kind == "one length":
        return [2048] * (ROWS // 2048)
    if kind == "one long":
        return [ROWS // 2, *[256] * (ROWS // 512)]
    rng = np.random.default_rng(0)
    weights = rng.lognormal(0.0, 1.0, 16)
    found = [max(1, int(n)) for n in weights / weights.sum() * ROWS]
    return [*found, ROWS - sum(found)] if sum(found) < ROWS else found


def flash(q, k, v, begins, longest: int, causal: bool):
    """FlashAttention-2's forward in torch."""
    forward = torch.ops.aten._flash_attention_forward
    return forward(q, k, v, begins, begins, longest, longest, 0.0, causal, False)[0]


def one_by_one(parts, causal: bool) -> list[torch.Tensor]:
    """cuDNN, a sequence at a time."""
    with cudnn():
        return [
            scaled_dot_product_attention(*x, is_causal=causal, enable_gqa=x[0].shape != x[1].shape)
            for x in parts
        ]


def compare(d: int, ratio: int, kind: str, *, causal: bool) -> float:
    """A line of the table; its ratio to the faster."""
    torch.manual_seed(0)
    heads, sizes = WIDTH // d, lengths(kind)
    ends = [0, *np.cumsum(sizes).tolist()]
    q = torch.randn(ends[-1], heads, d, device="cuda", dtype=torch.bfloat16)
    k, v = torch.randn(2, ends[-1], heads // ratio, d, device="cuda", dtype=torch.bfloat16)
    begins = torch.tensor(ends, device="cuda", dtype=torch.int32)
    longest = max(sizes)
    calls = {
        "nvgen": lambda: family.attention_packed(q, k, v, begins, begins, longest, longest, causal),
        "flash": functools.partial(flash, q, k, v, begins, longest, causal),
    }
    parts = [
        [x[a:b].transpose(0, 1).unsqueeze(0).contiguous() for x in (q, k, v)]
        for a, b in pairwise(ends)
    ]
    calls["cuDNN"] = functools.partial(one_by_one, parts, causal)
    found, theirs = calls["nvgen"](), calls["flash"]()
    least = sizes.index(min(sizes))
    own = [x[0].repeat_interleave(ratio if i else 1, 0) for i, x in enumerate(parts[least])]
    exact = truth(*own, causal).transpose(0, 1)  # type: ignore[call-arg]
    here = slice(ends[least], ends[least + 1])
    off = [(x[here].double() - exact).square().mean().sqrt().item() for x in (found, theirs)]
    apart = (found.float() - theirs.float()).abs().max().item()
    assert off[0] < 3e-3, f"off by {off}"
    assert apart < 0.1, f"apart by {apart}"
    times = medians({name: graph_of(call) for name, call in calls.items()})
    flops = 4 * heads * d * sum(n * n for n in sizes) / (2 if causal else 1) / 1e9
    said = " ".join(f"{flops / times[name]:6.0f}" for name in times)
    best = min(times["flash"], times["cuDNN"]) / times["nvgen"]
    print(
        f"{d:<4} {causal!s:6} {ratio:<3} {kind:11} {said}  "
        f"{times['flash'] / times['nvgen']:6.2f} {times['cuDNN'] / times['nvgen']:6.2f}  "
        f"{off[0]:.1e} {off[1]:.1e}", flush=True,
    )  # fmt: skip
    return best


def main() -> None:
    """All of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", default="64,128")
    dims = [int(d) for d in parser.parse_args().dims.split(",")]
    print(torch.cuda.get_device_name(), f"torch {torch.__version__}")
    print("d    causal GQA lengths      nvgen  flash  cuDNN  ratios         off by", flush=True)
    cases = [*product(dims, (1,), ("drawn", "one length", "one long"), (False, True))]
    cases += [(d, 8, "drawn", True) for d in dims if d == 128]
    found = [compare(d, ratio, kind, causal=c) for d, ratio, kind, c in cases]
    print(f"beside the faster: geometric mean {geometric_mean(found):.3f}, least {min(found):.3f}")


if __name__ == "__main__":
    main()
