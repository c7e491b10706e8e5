"""Sample 14 beside cuDNN's attention on a Hopper GPU: TFLOP/s, their ratio, the difference.

    python tests/benchmarks/attention_hopper.py [--lengths 1024,4096] [--opt 3]

One process, torch's scaled_dot_product_attention with its cuDNN backend, bf16, random normal Q, K
and V of 16384 rows altogether.  Each time is the median of nine CUDA graphs of ten launches, the
contestants by turns.  Half of the operations are counted where the future is masked.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import median
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

SAMPLE = ROOT / "samples" / "14_attention_sm90.py"
ROWS, WIDTH, ROUNDS, LAUNCHES = 16384, 2048, 9, 10


def sample() -> ModuleType:
    """The sample as a module; its file name is no module name."""
    spec = importlib.util.spec_from_file_location("attention_sm90", SAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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


def compare(attention: ModuleType, d: int, length: int, opt: int | None, *, causal: bool) -> str:
    """A line of the table."""
    kernel = attention.build(attention.Config(d, causal))
    heads = ROWS // length * WIDTH // d
    torch.manual_seed(0)
    q, k, v = torch.randn(3, heads, length, d, device="cuda", dtype=torch.bfloat16)
    o, loaded = torch.empty_like(q), kernel.compile(opt=opt).load()
    arguments = kernel.arguments((q, k, v, o, length, length, d**-0.5), {})
    grid = attention.grid(heads, length)
    loaded.launch(*arguments, grid=grid)
    batch = [x.unsqueeze(0) for x in (q, k, v)]
    call = functools.partial(scaled_dot_product_attention, *batch, is_causal=causal)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        theirs, graph = call()[0], graph_of(call)
    torch.cuda.synchronize()
    apart = (o.float() - theirs.float()).abs().max().item()
    times: list[tuple[float, float]] = [
        (loaded.time(*arguments, grid=grid, launches=LAUNCHES), milliseconds(graph))
        for _ in range(ROUNDS)
    ]
    ours, cudnn = (median(column) for column in zip(*times, strict=True))
    flops = 4 * heads * length * length * d / (2 if causal else 1) / 1e9
    return (
        f"{d:<4} {causal!s:7} {length:<6} {flops / ours:7.0f} {flops / cudnn:7.0f} "
        f"{cudnn / ours:7.3f}  {apart:.4f}"
    )


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--opt", type=int)
    given = parser.parse_args()
    attention = sample()
    print("d    causal  length   nvgen   cuDNN   ratio  difference")
    lengths = map(int, given.lengths.split(","))
    for d, causal, length in product((64, 128), (False, True), lengths):
        print(compare(attention, d, length, given.opt, causal=causal))


if __name__ == "__main__":
    main()
