"""What benchmarks of attention share: the samples' folder, graphs and times, torch's ways, f64.

Each time is the median of nine CUDA graphs of ten launches, contestants by turns in random order.
"""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

SAMPLES = str(Path(__file__).resolve().parents[2] / "samples")
if SAMPLES not in sys.path:
    sys.path.insert(0, SAMPLES)

ROWS, WIDTH = 16384, 2048  # rows of Q altogether, and d of all heads
ROUNDS, LAUNCHES = 9, 10


def graph_of(call: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """Some launches as one graph."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            call()
    return graph


def milliseconds(graph: torch.cuda.CUDAGraph) -> float:
    """Of one launch in a graph."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / LAUNCHES


def medians(graphs: dict[str, torch.cuda.CUDAGraph]) -> dict[str, float]:
    """Milliseconds of each, by turns."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(ROUNDS):
        for name in random.sample(list(graphs), len(graphs)):
            times[name].append(milliseconds(graphs[name]))
    return {name: median(found) for name, found in times.items()}


def theirs(q, k, v, causal: bool) -> Callable[[], torch.Tensor]:
    """cuDNN's way for these tensors, to be called within `cudnn()`."""
    batch = [x.unsqueeze(0) for x in (q, k, v)]
    return functools.partial(scaled_dot_product_attention, *batch, is_causal=causal)


def cudnn():
    """Where scaled_dot_product_attention is cuDNN's."""
    return sdpa_kernel(SDPBackend.CUDNN_ATTENTION)


def truth(q, k, v, causal: bool) -> torch.Tensor:
    """In f64."""
    s = q.double() @ k.double().transpose(1, 2) * q.shape[2] ** -0.5
    if causal:
        future = torch.ones(s.shape[1:], device="cuda", dtype=torch.bool).triu(1)
        s.masked_fill_(future, -math.inf)
    return torch.softmax(s, 2) @ v.double()
