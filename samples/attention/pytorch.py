"""The Hopper attention as an operator of PyTorch: softmax(Q·Kᵀ·scale)·V, for tensors, in any graph.

    python samples/attention/pytorch.py  # on a Hopper GPU: forward, backward, compiled, captured

`attention(q, k, v, causal)` takes what `scaled_dot_product_attention` takes: batch × heads ×
length × d in bf16 or f16, d = 64, 128 or 256; K and V may have fewer heads.  It is an operator of
`torch.library`: torch.compile sees shapes through its fake, and a CUDA graph captures its launches.
The derivatives are torch's, which multiplies Q·Kᵀ again for them.  A kernel is compiled when a
shape first asks for it, and is kept on disk for all processes (`nvgen.CodeCache`).
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
from operators.registration import demand, differentiable, loaded, operator, shape_of
from operators.tensor_rules import attention as rules

from attention.counters import counters
from attention.plan import choose, grid, section

ELEMENTS = {torch.bfloat16: ElementType.BF16, torch.float16: ElementType.F16}


@operator
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:  # fmt: skip
    """Forward attention; `scale` is 1/√d where nothing is said.

    Raises: RuntimeError for tensors that do not fit.
    """
    o = shape_of_attention(q, k, v, causal, scale)
    if not o.numel():
        return o
    batch, heads, length, d = q.shape
    keys, ratio = k.size(2), heads // k.size(1)
    q, k, v = (x.contiguous() for x in (q, k, v))
    if length == 1 and not causal:  # a step of decoding: heads that share K are rows of one
        heads, length, ratio = heads // ratio, ratio, 1
    config = choose(d, length, causal=causal, dtype=ELEMENTS[q.dtype])
    code = loaded(q.get_device(), "14_attention_sm90", config)
    stream = torch.cuda.current_stream()
    items = counters(q.get_device(), 1, stream)
    rows = (length, keys, keys, length)
    arrays = (x.view(-1, n, d) for x, n in zip((q, k, v, o), rows, strict=True))
    each = section(config, batch * heads, keys)
    scale = d**-0.5 if scale is None else scale
    numbers = batch * heads, ratio, length, keys, each, scale
    processors = torch.cuda.get_device_properties(q.device).multi_processor_count
    code.launch(
        *code.arguments(*arrays, items, *numbers),
        grid=grid(config, batch * heads, length, processors),
        stream=stream,
    )
    return o


@shape_of(attention)
def shape_of_attention(q, k, v, causal=False, scale=None):
    """What a graph needs to know of O."""
    demand(attention, rules(q, k, v))
    return torch.empty_like(q, memory_format=torch.contiguous_format)


def keep(ctx, inputs, output):
    """What the derivatives need."""
    ctx.save_for_backward(*inputs[:3])
    ctx.causal, ctx.scale = inputs[3:]


def derivatives(ctx, grad):
    """Those of torch's own attention."""
    inputs = [x.detach().requires_grad_() for x in ctx.saved_tensors]
    shared = inputs[0].size(1) != inputs[1].size(1)
    with torch.enable_grad():
        o = scaled_dot_product_attention(
            *inputs, is_causal=ctx.causal, scale=ctx.scale, enable_gqa=shared
        )
    return *torch.autograd.grad(o, inputs, grad), None, None


differentiable(attention, derivatives, keep)


def main() -> None:
    """Compare with torch: forward, backward, heads that share K and V, compiled, captured."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 8, 777, 128, device="cuda", dtype=torch.bfloat16)
    close = functools.partial(torch.testing.assert_close, rtol=2e-2, atol=2e-2)
    theirs = functools.partial(scaled_dot_product_attention, is_causal=True)
    close(attention(q, k, v, True), theirs(q, k, v))
    close(attention(q, k[:, :2], v[:, :2], True), theirs(q, k[:, :2], v[:, :2], enable_gqa=True))

    one = q[:, :, :1].contiguous()  # decoding
    close(
        attention(one, k[:, :2], v[:, :2]),
        theirs(one, k[:, :2], v[:, :2], is_causal=False, enable_gqa=True),
    )

    mine, other = ([x.clone().requires_grad_() for x in (q, k, v)] for _ in range(2))
    attention(*mine, True).square().sum().backward()
    theirs(*other).square().sum().backward()
    for x, y in zip(mine, other, strict=True):
        close(x.grad, y.grad)

    @torch.compile(fullgraph=True)
    def layer(q, k, v):
        return torch.nn.functional.silu(attention(q, k, v, False)) * 2

    expected = torch.nn.functional.silu(scaled_dot_product_attention(q, k, v)) * 2
    close(layer(q, k, v), expected)

    o = attention(q, k, v)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = attention(q, k, v)
    q.mul_(2)
    graph.replay()
    close(o, scaled_dot_product_attention(q, k, v))
    print("attention: forward, backward, torch.compile and a CUDA graph agree with torch")


if __name__ == "__main__":
    main()
