"""The Hopper attention of packed sequences, and that in fp8, as operators of PyTorch.

    python samples/attention/family_pytorch.py  # on a Hopper GPU: compared, compiled, captured

`attention_packed(q, k, v, begins, begins_keys, max_q, max_k, causal, window)`: Q is rows × heads ×
d, K and V are rows × heads of K × d, in bf16 or f16, as FlashAttention's variable lengths are;
`begins` are int32 on the GPU, one more than there are sequences; `max_q` and `max_k` bound the
lengths of Q and of K.  The derivatives are torch's, a sequence at a time.

`attention_fp8(q, k, v, q_scale, k_scale, v_scale, causal)`: heads × length × d in e4m3, d = 64,
128 or 256, with a scale for each head in f32; O is bf16.  What is quantised has no derivatives.
"""

from __future__ import annotations

import functools
import importlib
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.functional import scaled_dot_product_attention

from nvgen import e4m3

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from operators import tensor_rules as rules
from operators.registration import (
    demand,
    differentiable,
    loaded,
    operator,
    shape_of,
    without_derivatives,
)

from attention.counters import counters
from attention.plan import choose, grid, numbers, packed_numbers

ELEMENTS = importlib.import_module("attention.pytorch").ELEMENTS


def launch(sample: str, config, arrays, values, items: int, length: int) -> None:
    """Start a kernel on the tensors' stream: `arrays`, a counter, and the other `values`."""
    device, stream = arrays[0].get_device(), torch.cuda.current_stream()
    code = loaded(device, sample, config)
    given = code.arguments(*arrays, counters(device, 1, stream), *values)
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    code.launch(*given, grid=grid(config, items, length, processors), stream=stream)


@operator
def attention_packed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, begins: torch.Tensor,
    begins_keys: torch.Tensor, max_q: int, max_k: int, causal: bool = False, window: int = 0,
) -> torch.Tensor:  # fmt: skip
    """Forward attention of each sequence; a `window` asks for `causal`.

    Raises: RuntimeError for tensors that do not fit.
    """
    o = shape_of_packed(q, k, v, begins, begins_keys, max_q, max_k, causal, window)
    if not o.numel():
        return o
    q, k, v = (x.contiguous() for x in (q, k, v))
    heads, d = q.shape[1:]
    config = choose(d, max_q, causal=causal, dtype=ELEMENTS[q.dtype])
    config = replace(config, window=window > 0)
    count = len(begins) - 1
    arrays = [x.view(len(x), -1) for x in (q, k, v, o)]
    said = packed_numbers(config, heads, heads // k.shape[1], [max_q] * count, [max_k])
    starts = (x.contiguous().view(torch.uint32) for x in (begins, begins_keys))
    values = *said, *starts, arrays[3], window
    launch("attention.varlen", config, arrays, values, count * heads, max_q)
    return o


@shape_of(attention_packed)
def shape_of_packed(q, k, v, begins, begins_keys, max_q, max_k, causal=False, window=0):
    """What a graph needs to know of O."""
    demand(
        attention_packed,
        rules.packed(q, k, v, begins, begins_keys, (max_q, max_k), causal, window),
    )
    return torch.empty_like(q, memory_format=torch.contiguous_format)


def each(q, k, v, begins, begins_keys, causal: bool, window: int) -> torch.Tensor:
    """The same by torch, a sequence at a time."""
    found = []
    ends = [x.tolist() for x in (begins, begins_keys)]
    for i in range(len(begins) - 1):
        of_q, of_k = (slice(x[i], x[i + 1]) for x in ends)
        parts = [x.transpose(0, 1) for x in (q[of_q], k[of_k], v[of_k])]
        rows, keys = (torch.arange(x.shape[1], device=q.device) for x in parts[:2])
        age = rows[:, None] + (len(keys) - len(rows)) - keys
        sees = ((age >= 0) | (not causal)) & ((age < window) | (not window))
        shared = q.shape[1] != k.shape[1]
        o = scaled_dot_product_attention(*parts, attn_mask=sees, enable_gqa=shared)
        found.append(o.transpose(0, 1))
    return torch.cat(found)


def keep(ctx, inputs, output):
    """What the derivatives need."""
    ctx.save_for_backward(*inputs[:5])
    ctx.rest = inputs[7:]


def derivatives(ctx, grad):
    """Those of torch's own attention."""
    q, k, v, *begins = ctx.saved_tensors
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        o = each(*inputs, *begins, *ctx.rest)
    return *torch.autograd.grad(o, inputs, grad), *[None] * 6


differentiable(attention_packed, derivatives, keep)


@operator
def attention_fp8(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, q_scale: torch.Tensor,
    k_scale: torch.Tensor, v_scale: torch.Tensor, causal: bool = False,
) -> torch.Tensor:  # fmt: skip
    """Forward attention; scales are those of the heads of Q, of K and of V.

    Raises: RuntimeError for tensors that do not fit.
    """
    o = shape_of_fp8(q, k, v, q_scale, k_scale, v_scale, causal)
    if not o.numel():
        return o
    q, k, v = (x.contiguous() for x in (q, k, v))
    heads, length, d = q.shape
    ratio, keys = heads // len(k), k.shape[1]
    config = choose(d, length, causal=causal, dtype=e4m3)
    scales = (x.contiguous() for x in (q_scale, k_scale, v_scale))
    values = *scales, *numbers(config, heads, ratio, length, keys)
    launch("attention.fp8", config, (q, k, v, o), values, heads, length)
    return o


without_derivatives(attention_fp8)


@shape_of(attention_fp8)
def shape_of_fp8(q, k, v, q_scale, k_scale, v_scale, causal=False):
    """What a graph needs to know of O."""
    demand(attention_fp8, rules.fp8(q, k, v, q_scale, k_scale, v_scale))
    return q.new_empty(q.shape, dtype=torch.bfloat16)


def quantised(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Heads × length × d in e4m3, and the scale of each head."""
    scale = x.abs().amax((1, 2)).float().clamp(min=1e-20) / 448
    return (x / scale[:, None, None]).to(torch.float8_e4m3fn), scale


def main() -> None:
    """Compare with torch: lengths, a window, heads that share K; fp8; compiled, captured."""
    torch.manual_seed(0)
    close = functools.partial(torch.testing.assert_close, rtol=2e-2, atol=2e-2)
    lengths, keys = [[0, 700, 701, 1000, 3048], [0, 900, 1000, 1299, 3347]]
    begins = [torch.tensor(x, dtype=torch.int32, device="cuda") for x in (lengths, keys)]
    for d, causal, window in ((64, True, 0), (128, False, 0), (128, True, 300), (256, True, 0)):
        q = torch.randn(3048, 8, d, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        k, v = torch.randn(2, 3347, 2, d, device="cuda", dtype=torch.bfloat16)
        given = q, k, v, *begins, 2048, 2048, causal, window
        o, theirs = attention_packed(*given), each(q, k, v, *begins, causal, window)
        close(o, theirs)
        mine, other = (torch.autograd.grad(x.float().square().sum(), q)[0] for x in (o, theirs))
        close(mine, other, atol=5e-2)
    layer = torch.compile(lambda *x: attention_packed(*x, *begins, 2048, 2048, True) * 2)
    close(layer(q.detach(), k, v), each(q.detach(), k, v, *begins, True, 0) * 2)

    for d, causal in ((64, False), (128, True), (256, True)):
        quants = [quantised(torch.randn(n, 1000, d, device="cuda")) for n in (8, 2, 2)]
        arrays, scales = zip(*quants, strict=True)
        wide = [x.float() * s[:, None, None] for x, s in quants]
        theirs = scaled_dot_product_attention(
            *(x[None] for x in wide), is_causal=causal, enable_gqa=True
        )[0]
        call = functools.partial(attention_fp8, *arrays, *scales, causal)
        fp8_close = functools.partial(torch.testing.assert_close, rtol=0.1, atol=0.1)
        fp8_close(call().float(), theirs)
        fp8_close(torch.compile(call, fullgraph=True)().float(), theirs)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = call()
        o.zero_(), graph.replay()
        fp8_close(o.float(), theirs)
    print("packed and fp8: forward, backward, torch.compile and CUDA graphs agree with torch")


if __name__ == "__main__":
    main()
