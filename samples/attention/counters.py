"""Words on a GPU that launches count by: zero before each launch, and zero again behind it.

Launches of a stream take turns with theirs.  A launch that is captured into a CUDA graph has words
of its own, out of a stock that is made when a launch first goes by without a graph: made in the
graph they would be set to zero at every replay, which takes a microsecond or two.
"""

from __future__ import annotations

import functools

import torch

STOCK = 1 << 18  # words for launches of graphs, which keep theirs; then a replay sets zeros
_stocks: dict[int, torch.Tensor] = {}


def zeros(device: int, count: int) -> torch.Tensor:
    """Such words."""
    return torch.zeros(count, dtype=torch.int32, device=f"cuda:{device}").view(torch.uint32)


@functools.cache
def of_stream(device: int, count: int, stream: int) -> torch.Tensor:
    """Those of a stream's launches."""
    if device not in _stocks:
        _stocks[device] = zeros(device, STOCK)
    return zeros(device, count)


def counters(device: int, count: int, stream: torch.cuda.Stream) -> torch.Tensor:
    """As many words for a launch on a stream."""
    if not torch.cuda.is_current_stream_capturing():
        return of_stream(device, count, stream.cuda_stream)
    left = _stocks.get(device)
    if left is None or len(left) < count:
        return zeros(device, count)
    _stocks[device] = left[count:]
    return left[:count]
