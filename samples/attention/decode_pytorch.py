"""Decoding on Hopper as an operator of PyTorch: keys and values in pages, in any graph.

    python samples/attention/decode_pytorch.py  # on a Hopper GPU: compared, compiled, captured

`attention_decode(q, k, v, table, lengths, most)`: Q is sequences × tokens × heads × d in bf16 or
f16, `k` and `v` are pages × page × heads of K × d, as vLLM and FlashInfer keep them; `table` is
sequences × pages of int32, `lengths` int32, both on the GPU, and `most` is what no length exceeds,
so that nothing waits for the GPU.  torch.compile sees shapes through the operator's fake, a CUDA
graph captures its launches: tables and lengths may then change in place.  It has no derivatives, as
there is nothing to train in decoding: autograd says so.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import torch
from torch.nn.functional import scaled_dot_product_attention

from nvgen import ElementType

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from operators.registration import demand, loaded, operator, shape_of, without_derivatives
from operators.tensor_rules import decode as rules

from attention.counters import counters
from attention.decode_plan import ROWS, Config, cut

ELEMENTS = {torch.bfloat16: ElementType.BF16, torch.float16: ElementType.F16}


def fit(*tensors: torch.Tensor) -> None:
    """See that Q, K, V, the table and lengths are such as the kernel takes."""
    demand(attention_decode, rules(*tensors, lambda d: Config(d).block, ROWS))


@operator
def attention_decode(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor,
    most: int, window: int = 0, scale: float | None = None,
) -> torch.Tensor:  # fmt: skip
    """A step of decoding; `scale` is 1/√d, `window` every key where nothing is said.

    Raises: RuntimeError for tensors that do not fit.
    """
    fit(q, k, v, table, lengths)
    if not q.numel():
        return torch.empty_like(q)
    count, tokens, heads, d = q.shape
    page, own = k.shape[1:3]
    ratio = heads // own
    rows, items, device = tokens * ratio, count * own, q.get_device()
    packed = q.view(count, tokens, own, ratio, d).transpose(1, 2).reshape(count, own, rows, d)
    o = torch.empty_like(packed)
    config = Config(d, ELEMENTS[q.dtype], page, window=window > 0)
    if page >= config.block:  # all these are one kernel
        config = Config(d, config.dtype, config.block, window=config.window)
    code = loaded(device, "attention.decode", config)
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    parts, each = cut(
        config, items, min(most, window + tokens + config.block) if window else most, processors
    )
    room = q.new_empty(items, parts, rows, d, dtype=torch.float32)
    logs = q.new_empty(items, parts, rows, dtype=torch.float32)
    stream = torch.cuda.current_stream()
    counted = counters(device, items, stream)
    numbers = rows, ratio, table.shape[1], page, each, window, d**-0.5 if scale is None else scale
    table, lengths = table.contiguous(), lengths.contiguous()
    arrays = packed, k.transpose(1, 2), v.transpose(1, 2), o, table, lengths, room, logs, counted
    code.launch(
        *code.arguments(*arrays, *numbers), grid=(parts, own, count), stream=stream, dependent=True
    )
    return o.view(count, own, tokens, ratio, d).transpose(1, 2).reshape(q.shape)


without_derivatives(attention_decode)


@shape_of(attention_decode)
def shape_of_decode(q, k, v, table, lengths, most, window=0, scale=None):
    """What a graph needs to know of O."""
    fit(q, k, v, table, lengths)
    return torch.empty_like(q, memory_format=torch.contiguous_format)


def plain(q, k, v, table, lengths, window: int = 0):
    """The same by torch in f64, a sequence at a time."""
    o = torch.empty_like(q, dtype=torch.float64)
    for i, length in enumerate(lengths.tolist()):
        keys, values = (x[table[i].long()].flatten(0, 1)[:length].double() for x in (k, v))
        age = torch.arange(length - q.shape[1], length, device=q.device)[:, None]
        age = age - torch.arange(length, device=q.device)
        sees = (age >= 0) & ((age < window) if window else True)
        parts = (x.transpose(0, 1) for x in (q[i].double(), keys, values))
        found = scaled_dot_product_attention(*parts, attn_mask=sees, enable_gqa=True)
        o[i] = found.transpose(0, 1)
    return o


def example(count: int, heads: int, own: int, d: int, page: int, lengths, tokens: int = 1):
    """Random operands, the pages in any order; `lengths` are those of the sequences."""
    torch.manual_seed(0)
    across = -(-max(lengths) // page)
    q = torch.randn(count, tokens, heads, d, device="cuda", dtype=torch.bfloat16)
    k, v = torch.randn(2, count * across, page, own, d, device="cuda", dtype=torch.bfloat16)
    table = torch.randperm(count * across, device="cuda", dtype=torch.int32).view(count, across)
    return q, k, v, table, torch.tensor(lengths, device="cuda", dtype=torch.int32)


def main() -> None:
    """Compare with torch: pages of several sizes, tokens, a window, compiled, captured."""
    close = functools.partial(torch.testing.assert_close, rtol=2e-2, atol=5e-3)
    lengths, most = [1000, 1, 333, 4096, 777], 4096
    cases = [(64, 16, 1, 0), (128, 64, 1, 0), (128, 256, 3, 0), (256, 32, 1, 0), (128, 16, 2, 500)]
    for d, page, tokens, window in cases:
        given = example(5, 32, 8, d, page, [max(n, tokens) for n in lengths], tokens)
        o = attention_decode(*given, most, window)
        close(o.double(), plain(*given, window))

    given = example(5, 32, 8, 128, 16, lengths)
    layer = torch.compile(lambda *x: attention_decode(*x, most) * 2, fullgraph=True)
    close(layer(*given).double(), plain(*given) * 2)

    attention_decode(*given, most)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = attention_decode(*given, most)
    given[4].sub_(1).clamp_(min=1)
    given[0].mul_(2)
    graph.replay()
    close(o.double(), plain(*given))
    print("decode: pages, tokens, a window, torch.compile and a CUDA graph agree with torch")


if __name__ == "__main__":
    main()
