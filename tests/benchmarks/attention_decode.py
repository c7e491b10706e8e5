"""Decoding over paged keys beside torch's attention on a Hopper GPU: microseconds, TB/s, the ratio.

    python -m tests.benchmarks.attention_decode [--page 64] [--heads-first]

One process, bf16, 32 heads of Q over 8 of K, d = 128.  Torch has no pages: its backends get the
same keys side by side, all sequences of one length, and the fastest of cuDNN's, FlashAttention's
and its own counts.  Each time is the median of nine CUDA graphs of ten launches, the contestants by
turns in random order; K and V of a launch exceed L2 where a line says so, else they may stay there.
The result is compared with f64 first, by the root of the mean square, as torch's is.  Pages are
rows × heads × d, or with `--heads-first` heads × rows × d, where a head's keys lie as torch's do.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from statistics import geometric_mean

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from tests.benchmarks.attention_beside import graph_of, medians

decode = importlib.import_module("attention.decode_pytorch")
HEADS, OWN, D = 32, 8, 128
SHAPES = [
    (1, 1024),
    (1, 8192),
    (1, 65536),
    (8, 1024),
    (8, 8192),
    (32, 2048),
    (64, 4096),
    (128, 1024),
]
BACKENDS = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "own": SDPBackend.EFFICIENT_ATTENTION,
}


def side_by_side(q, k, v, table):
    """What torch takes: batch × heads × length × d."""
    keys, values = (x[table.long()].flatten(1, 2).transpose(1, 2).contiguous() for x in (k, v))
    return q.transpose(1, 2).contiguous(), keys, values


def graph_by(backend: SDPBackend, given) -> torch.cuda.CUDAGraph | None:
    """Torch's launches; None where a backend does not take them."""
    with sdpa_kernel(backend):
        try:
            return graph_of(lambda: scaled_dot_product_attention(*given, enable_gqa=True))
        except RuntimeError:
            return None


def rms(found: torch.Tensor, truth: torch.Tensor) -> float:
    """How far apart."""
    return (found.double() - truth).square().mean().sqrt().item()


def compare(count: int, length: int, page: int, *, heads_first: bool) -> float:
    """A line of the table; its ratio."""
    q, *pages, table, lengths = decode.example(count, HEADS, OWN, D, page, [length] * count)
    if heads_first:
        pages = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in pages]
    given = q, *pages, table, lengths
    call: Callable[[], torch.Tensor] = lambda: decode.attention_decode(*given, length)  # noqa: E731
    truth = decode.plain(*given)
    mine = rms(call(), truth)
    assert mine < 2e-3, f"off by {mine}"
    beside = side_by_side(*given[:4])
    theirs = rms(scaled_dot_product_attention(*beside, enable_gqa=True).transpose(1, 2), truth)
    graphs = {"nvgen": graph_of(call)}
    found = {name: graph_by(backend, beside) for name, backend in BACKENDS.items()}
    graphs |= {name: graph for name, graph in found.items() if graph is not None}
    times = medians(graphs)
    ours = times.pop("nvgen")
    name = min(times, key=times.__getitem__)
    size = count * length * OWN * D * 4
    rest = f"{'yes' if size > 100e6 else 'no':>8}  {mine:.1e} {theirs:.1e}"
    print(
        f"{count:<5} {length:<7} {ours * 1e3:8.1f} {times[name] * 1e3:8.1f} {name:6} "
        f"{times[name] / ours:7.2f} {size / ours / 1e9:6.2f} {rest}", flush=True,
    )  # fmt: skip
    return times[name] / ours


def main() -> None:
    """All shapes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=int, default=64)
    parser.add_argument("--heads-first", action="store_true")
    asked = parser.parse_args()
    order = "heads first" if asked.heads_first else "rows first"
    print(torch.cuda.get_device_name(), f"torch {torch.__version__}, {asked.page} rows, {order}")
    print("count length      nvgen    torch          ratio   TB/s  exceeds L2  off by", flush=True)
    found = [compare(*shape, asked.page, heads_first=asked.heads_first) for shape in SHAPES]
    print(f"geometric mean {geometric_mean(found):.3f}, least {min(found):.3f}", flush=True)


if __name__ == "__main__":
    main()
