"""The Hopper GEMM as an operator of PyTorch: D = A·Bᵀ for tensors, differentiable, in any graph.

    python samples/gemm/pytorch.py  # on Hopper: forward, backward, torch.compile, a CUDA graph

`gemm(a, b)` takes `a` of M × K and `b` of N × K in bf16, f16, e4m3 or e5m2, each contiguous or the
transpose of what is; D is bf16, f16 or f32.  It is an operator of `torch.library`: torch.compile
sees shapes through its fake, autograd its derivatives, which are products of the same kernel with
operands transposed, and a CUDA graph captures its launches.  A kernel is compiled when a
shape first asks for it, and is kept on disk for all processes (`nvgen.CodeCache`).
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import torch

from nvgen import ElementType, Major

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from operators.registration import demand, differentiable, loaded, operator, shape_of
from operators.tensor_rules import EIGHTS, HALVES, product

from gemm.model import machine_of, plan
from gemm.plan import Config, Kind, grid, workspace
from gemm.problem import check

ELEMENTS = {
    torch.bfloat16: ElementType.BF16,
    torch.float16: ElementType.F16,
    torch.float32: ElementType.F32,
    torch.float8_e4m3fn: ElementType.E4M3,
    torch.float8_e5m2: ElementType.E5M2,
}

MOST_FLAGS = 1 << 16  # kept for each stream


def default_type(dtype: torch.dtype) -> torch.dtype:
    """D's type where none is asked for: that of A, or bf16 for fp8."""
    return dtype if dtype in (torch.bfloat16, torch.float16) else torch.bfloat16


def flat(x: torch.Tensor) -> tuple[torch.Tensor, Major]:
    """A matrix as it lies in memory, rows contiguous, and whether these are along K."""
    if x.stride(1) == 1 and x.stride(0) >= x.size(1):
        return x, Major.K
    if x.stride(0) == 1 and x.stride(1) >= x.size(0) and x.element_size() == 2:
        return x.t(), Major.MN
    return x.contiguous(), Major.K


@operator
def gemm(a: torch.Tensor, b: torch.Tensor, out: torch.dtype | None = None) -> torch.Tensor:
    """A·Bᵀ, with sums in f32.

    Raises: RuntimeError for tensors that do not fit, InputError for rows in memory that are no
    multiple of 16 bytes.
    """
    d = shape_of_gemm(a, b, out)
    (m, k), n = a.shape, b.size(0)
    if not d.numel():
        return d
    (a, a_major), (b, b_major) = flat(a), flat(b)
    kind = Kind(ELEMENTS[a.dtype], ELEMENTS[d.dtype], a_major, b_major)
    check(m, n, k, kind)
    machine = machine_of(torch.cuda.get_device_name(a.device))
    config = plan(m, n, k, kind, machine)
    code = loaded(a.get_device(), "10_gemm_sm90", config, kind, opt=3)
    a, b = (x.view(torch.uint8) if x.element_size() == 1 else x for x in (a, b))
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    ctas = grid(config, m, n, processors)
    room = workspace_of(d, config, m, n, ctas)
    code.launch(
        *code.arguments(a, b, d, m, n, k, *room), grid=ctas, cluster=config.ctas,
        stream=torch.cuda.current_stream(), dependent=may_overlap(config),
    )  # fmt: skip
    return d


def workspace_of(d: torch.Tensor, config: Config, m: int, n: int, ctas: int) -> tuple:
    """Room for parts of tiles, and flags, where a launch needs them."""
    if config.tail == 1:
        return ()
    sums, words = workspace(config, m, n, ctas)
    return d.new_empty(max(sums, 1), dtype=torch.float32), flags(d, words)


def may_overlap(config: Config) -> bool:
    """Whether nothing goes before a launch: in a graph zeros do, where it needs flags."""
    return config.tail == 1 or not torch.cuda.is_current_stream_capturing()


@functools.cache
def flags_of(device: torch.device, stream: int) -> torch.Tensor:
    """Flags that each launch takes down again; launches of a stream take turns with them."""
    return torch.zeros(MOST_FLAGS, dtype=torch.int32, device=device)


def flags(like: torch.Tensor, count: int) -> torch.Tensor:
    """So many flags, all down; a graph has its own."""
    if count > MOST_FLAGS or torch.cuda.is_current_stream_capturing():
        found = torch.zeros(max(count, 1), dtype=torch.int32, device=like.device)
    else:
        found = flags_of(like.device, torch.cuda.current_stream(like.device).cuda_stream)
    return found.view(torch.uint32)


@shape_of(gemm)
def shape_of_gemm(a, b, out=None):
    """What a graph needs to know of D."""
    demand(gemm, product((*HALVES, *EIGHTS), a, b, out))
    return a.new_empty(a.size(0), b.size(0), dtype=out or default_type(a.dtype))


def keep(ctx, inputs, output):
    """What the derivatives need."""
    ctx.save_for_backward(inputs[0], inputs[1])


def derivatives(ctx, grad):
    """dA = dD·B and dB = dDᵀ·A: the same product, K being N or M."""
    a, b = ctx.saved_tensors
    grad = grad.to(a.dtype)
    of_a = gemm(grad, b.t(), a.dtype) if ctx.needs_input_grad[0] else None
    of_b = gemm(grad.t(), a.t(), b.dtype) if ctx.needs_input_grad[1] else None
    return of_a, of_b, None


differentiable(gemm, derivatives, keep)


def main() -> None:
    """Compare with torch: forward, backward, compiled, captured."""
    torch.manual_seed(0)
    a, b = (torch.randn(n, 512, device="cuda", dtype=torch.bfloat16) for n in (264, 768))
    mine, theirs = ([x.clone().requires_grad_() for x in (a, b)] for _ in range(2))
    gemm(*mine).square().sum().backward()
    (theirs[0] @ theirs[1].t()).square().sum().backward()
    for x, y in zip(mine, theirs, strict=True):
        torch.testing.assert_close(x.grad, y.grad, rtol=2e-2, atol=2e-2 * y.grad.abs().max().item())

    @torch.compile(fullgraph=True)
    def layer(x, w):
        return torch.nn.functional.silu(gemm(x, w)) * 2

    expected = torch.nn.functional.silu(a @ b.t()) * 2
    torch.testing.assert_close(layer(a, b), expected, rtol=2e-2, atol=2e-1)

    d = gemm(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = gemm(a, b)
    a.mul_(2)
    graph.replay()
    torch.testing.assert_close(d, a @ b.t(), rtol=2e-2, atol=2e-1)
    print("gemm: forward, backward, torch.compile and a CUDA graph agree with torch")


if __name__ == "__main__":
    main()
