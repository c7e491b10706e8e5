"""Gated products, those of experts, in fp8, and of scaled blocks, as operators of PyTorch.

    python samples/gemm/family_pytorch.py  # on a Hopper GPU: compared, compiled, captured

`gemm_gated(x, both)`: silu(X·Gᵀ) · (X·Uᵀ) of rows `both` of G and U, as `interleaved(gate, up)`
makes them once; the derivatives are torch's.

`gemm_grouped(a, b, experts)`: rows of A times Bᵀ of their expert, of B with experts × N × K;
`experts` holds the expert of each 128 rows, or -1 of rows that are nobody's, where D means nothing.

`gemm_masked(a, b, counts)`: the same of A with experts × M × K, of which so many rows count each.

`gemm_quantised(a, b)`: A·Bᵀ in e4m3, N a multiple of 128, with a scale in f32 for each 128 columns
of a row, and the largest absolute value, unless `with_amax=False`.  It has no derivatives.

`gemm_block_scaled(a, b, scale_a, scale_b)`: A and B in e4m3, a scale for each 1×128 of A,
M × K/128, and for each 128×128 of B, N/128 × K/128; D is bf16.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

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

from gemm import family_plan as plans
from gemm.model import machine_of
from gemm.plan import Config, Kind, grid
from gemm.problem import check
from gemm.pytorch import ELEMENTS, may_overlap, workspace_of


def launch(
    sample: str, plan: Callable[..., Config], kind: Kind, size: tuple[int, int, int],
    arrays, behind=(), *, many: int = 1, more=(),
) -> None:  # fmt: skip
    """Start a sample's kernel on the tensors' stream: `arrays`, the sizes, and what is `behind`.

    There are as `many` products of this size; `more` is what `build` takes behind the kind.

    Raises: InputError for rows in memory that are no multiple of 16 bytes.
    """
    check(*size, kind)
    device, (m, n, k) = arrays[0].get_device(), size
    machine = machine_of(torch.cuda.get_device_name(device))
    config = plan(m * many, n, k, kind, machine)
    code = loaded(device, sample, config, kind, *more, opt=3)
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    rows = m if many == 1 else -(-m // config.m) * config.m * many  # whole tiles for each
    ctas = grid(config, rows, n, processors)
    room = workspace_of(arrays[0], config, rows, n, ctas)
    code.launch(
        *code.arguments(*arrays, *size, *room, *behind), grid=ctas, cluster=config.ctas,
        stream=torch.cuda.current_stream(), dependent=may_overlap(config),
    )  # fmt: skip


# ---- gated ---------------------------------------------------------------------------------------


def interleaved(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Rows of both in turns of eight; as many of each, a multiple of 8."""
    both = torch.stack([x.view(-1, plans.TURN, x.shape[1]) for x in (gate, up)], 1)
    return both.reshape(-1, gate.shape[1])


def parts(both: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What `interleaved` has joined."""
    gate, up = both.view(-1, 2, plans.TURN, both.shape[1]).unbind(1)
    return gate.reshape(-1, both.shape[1]), up.reshape(-1, both.shape[1])


def by_torch(x: torch.Tensor, both: torch.Tensor) -> torch.Tensor:
    """The same by torch."""
    gate, up = parts(both)
    return torch.nn.functional.silu(x @ gate.T) * (x @ up.T)


@operator
def gemm_gated(x: torch.Tensor, both: torch.Tensor) -> torch.Tensor:
    """The two products of a gated layer, in bf16 or f16."""
    d = shape_of_gated(x, both)
    x, both = x.contiguous(), both.contiguous()
    if d.numel():
        kind, size = Kind(ELEMENTS[x.dtype], ELEMENTS[x.dtype]), (len(x), len(both), x.shape[1])
        launch("gemm.gate_up", plans.plan_gated, kind, size, (x, both, d))
    return d


@shape_of(gemm_gated)
def shape_of_gated(x, both):
    """What a graph needs to know of D."""
    demand(gemm_gated, rules.gated(x, both, plans.TURN))
    return x.new_empty(x.size(0), both.size(0) // 2)


def keep(ctx, inputs, output):
    """What the derivatives need."""
    ctx.save_for_backward(*inputs)


def derivatives(ctx, grad):
    """Those of torch's products, made anew."""
    inputs = [x.detach().requires_grad_() for x in ctx.saved_tensors]
    with torch.enable_grad():
        d = by_torch(*inputs)
    return torch.autograd.grad(d, inputs, grad)


differentiable(gemm_gated, derivatives, keep)


# ---- experts -------------------------------------------------------------------------------------


@operator
def gemm_grouped(a: torch.Tensor, b: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
    """Rows of all experts, one behind the other, in bf16 or f16."""
    d = shape_of_grouped(a, b, experts)
    a, b, experts = a.contiguous(), b.contiguous(), experts.contiguous()
    if d.numel():
        kind, size = Kind(ELEMENTS[a.dtype], ELEMENTS[a.dtype]), (*d.shape, a.shape[1])
        launch("gemm.grouped", plans.plan_grouped, kind, size, (a, b, d), (experts,))
    return d


@shape_of(gemm_grouped)
def shape_of_grouped(a, b, experts):
    """What a graph needs to know of D."""
    demand(gemm_grouped, rules.grouped(a, b, experts, plans.BLOCK))
    return a.new_empty(a.size(0), b.size(1))


@operator
def gemm_masked(a: torch.Tensor, b: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """As many rows for each expert, of which some count."""
    d = shape_of_masked(a, b, counts)
    a, b, counts = a.contiguous(), b.contiguous(), counts.contiguous()
    if d.numel():
        kind, size = Kind(ELEMENTS[a.dtype], ELEMENTS[a.dtype]), (*d.shape[1:], a.shape[2])
        arrays, behind, plan = (a, b, d), (counts, len(a)), plans.plan_grouped
        launch("gemm.grouped", plan, kind, size, arrays, behind, many=len(a), more=(True,))
    return d


@shape_of(gemm_masked)
def shape_of_masked(a, b, counts):
    """What a graph needs to know of D."""
    demand(gemm_masked, rules.masked(a, b, counts))
    return a.new_empty(a.size(0), a.size(1), b.size(1))


without_derivatives(gemm_grouped)
without_derivatives(gemm_masked)


# ---- fp8 -----------------------------------------------------------------------------------------


@operator
def gemm_quantised(
    a: torch.Tensor, b: torch.Tensor, with_amax: bool = True
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """D in e4m3, its scales, and the largest element of what was scaled, or nothing."""
    d, scales, amax = shape_of_quantised(a, b, with_amax)
    a, b, arrays = a.contiguous(), b.contiguous(), (d.view(torch.uint8), scales)
    if with_amax:
        arrays = *arrays, amax.zero_().view(torch.uint32)
    if d.numel():
        kind = plans.QUANTISED if with_amax else plans.WITHOUT_AMAX
        kind = replace(kind, dtype=ELEMENTS[a.dtype])
        size = *d.shape, a.shape[1]
        launch("gemm.quantised", plans.plan_quantised, kind, size, (a, b, *arrays))
    return d, scales, amax


@shape_of(gemm_quantised)
def shape_of_quantised(a, b, with_amax=True):
    """What a graph needs to know of D, the scales and the largest element."""
    demand(gemm_quantised, rules.quantised(a, b, plans.BLOCK))
    m, n = a.size(0), b.size(0)
    scales = a.new_empty(m, n // plans.BLOCK, dtype=torch.float32)
    largest = a.new_empty(int(with_amax), dtype=torch.float32)
    return a.new_empty(m, n, dtype=torch.float8_e4m3fn), scales, largest


@operator
def gemm_block_scaled(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A·Bᵀ of scaled blocks."""
    d = shape_of_block_scaled(a, b, scale_a, scale_b)
    a, b = (x.contiguous().view(torch.uint8) for x in (a, b))
    if d.numel():
        arrays = a, b, d, scale_b.contiguous()
        of_a = scale_a.t()  # with rows in whole lines of TMA
        if len(a) % 4:
            of_a = torch.nn.functional.pad(of_a, (0, -len(a) % 4))
        size = *d.shape, a.shape[1]
        behind = (of_a.contiguous(),)
        kind, plan = plans.BLOCK_SCALED, plans.plan_scaled
        launch("gemm.block_scaled", plan, kind, size, arrays, behind)
    return d


@shape_of(gemm_block_scaled)
def shape_of_block_scaled(a, b, scale_a, scale_b):
    """What a graph needs to know of D."""
    demand(gemm_block_scaled, rules.block_scaled(a, b, scale_a, scale_b, plans.BLOCK))
    return a.new_empty(a.size(0), b.size(0), dtype=torch.bfloat16)


without_derivatives(gemm_quantised)
without_derivatives(gemm_block_scaled)


# ---- compared with torch -------------------------------------------------------------------------


def compare_gated() -> None:
    """Forward, backward, compiled, captured."""
    x, gate, up = (torch.randn(n, 512, device="cuda").bfloat16() * 0.3 for n in (77, 768, 768))
    both = interleaved(gate, up)
    mine, theirs = ([y.clone().requires_grad_() for y in (x, both)] for _ in range(2))
    outputs = gemm_gated(*mine), by_torch(*theirs)
    close = functools.partial(torch.testing.assert_close, rtol=3e-2, atol=3e-2)
    close(*outputs)
    for d in outputs:
        d.float().square().sum().backward()
    for y, z in zip(mine, theirs, strict=True):
        close(y.grad, z.grad, atol=3e-2 * z.grad.abs().max().item())
    close(torch.compile(lambda x: gemm_gated(x, both) * 2, fullgraph=True)(x), outputs[1] * 2)
    d, graph = gemm_gated(x, both), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = gemm_gated(x, both)
    x.neg_()
    graph.replay()
    close(d, by_torch(x, both))


def compare_experts() -> None:
    """Rows of four experts in any order and of none; rows that count and others."""
    product = torch.compile(lambda *x: gemm_grouped(*x), fullgraph=True)
    masked = torch.compile(lambda *x: gemm_masked(*x), fullgraph=True)
    a, b = (torch.randn(*n, 264, device="cuda").bfloat16() for n in ((768,), (4, 72)))
    experts = torch.tensor([3, -1, 0, 3, 2, -1], dtype=torch.int32, device="cuda")
    close, d = (
        functools.partial(torch.testing.assert_close, rtol=2e-2, atol=0.3),
        product(a, b, experts),
    )
    for block, expert in enumerate(experts.tolist()):
        rows = slice(block * plans.BLOCK, block * plans.BLOCK + plans.BLOCK)
        if expert >= 0:
            close(d[rows], a[rows] @ b[expert].T)
    a, counts = torch.randn(4, 200, 264, device="cuda").bfloat16(), (200, 0, 1, 131)
    d = masked(a, b, torch.tensor(counts, dtype=torch.int32, device="cuda"))
    for expert, count in enumerate(counts):
        close(d[expert, :count], a[expert, :count] @ b[expert].T)


def compare_fp8() -> None:
    """What was quantised is the product within a rounding; blocks are what they mean."""
    a, b = (torch.randn(n, 512, device="cuda").bfloat16() for n in (300, 256))
    exact = a.float() @ b.float().T
    d, scales, amax = torch.compile(lambda *x: gemm_quantised(*x), fullgraph=True)(a, b)
    torch.testing.assert_close(amax, exact.abs().max()[None], rtol=1e-4, atol=0.0)
    back = d.float().view(300, 2, 128) * scales[:, :, None]
    torch.testing.assert_close(back.view(300, 256), exact, rtol=2.0**-3, atol=scales.max().item())
    without = gemm_quantised(a, b, with_amax=False)
    assert torch.equal(without[0].view(torch.uint8), d.view(torch.uint8))
    assert not len(without[2])
    a8, b8 = (x.to(torch.float8_e4m3fn) for x in (a[:299], b))
    of_a = torch.rand(4, 299, device="cuda") + 0.5
    of_b = torch.rand(2, 4, device="cuda") + 0.5
    x = a8.float().view(299, 4, 128) * of_a.T[:, :, None]
    y = b8.float().view(2, 128, 4, 128) * of_b[:, None, :, None]
    exact = x.view(299, 512) @ y.reshape(256, 512).T
    product = torch.compile(lambda *x: gemm_block_scaled(*x), fullgraph=True)
    found = product(a8, b8, of_a.T, of_b)
    largest = exact.abs().max().item()
    torch.testing.assert_close(found.float(), exact, rtol=2e-2, atol=5e-3 * largest)


def main() -> None:
    """Compare with torch."""
    torch.manual_seed(0)
    compare_gated()
    compare_experts()
    compare_fp8()
    print("gated, grouped, quantised and block-scaled products agree with torch, compiled too")


if __name__ == "__main__":
    main()
