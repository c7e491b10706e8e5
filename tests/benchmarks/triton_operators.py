"""Operators of Liger and flash-linear-attention through Triton, with and without nvgen, on a GPU.

    python tests/benchmarks/triton_operators.py [--only NAME …] [--limit SECONDS] [--json OUT]

Needs a Hopper GPU, PyTorch, Triton 3.6 or newer and, of PyPI, liger-kernel, fla-core and einops:
what is not installed is left out.  Each operator runs forward and backward on the same tensors as
Triton compiles it, again so (what differs then is not the compiler's), and with nvgen as Triton's
last stage (samples/15_triton_backend.py).  A kernel has one configuration, the middle one of those
that Triton would choose from by the clock, so that both compilers have the same.

A line for an operator has how many kernels nvgen compiled of it and how far the results are apart,
as a part of the largest element; one for a kernel its time in both, in microseconds, and the ratio:
medians of four turns of four runs each, by CUPTI.  What Triton itself cannot run is listed.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import geometric_mean, median

import torch
import torch.nn.functional as functional
import triton
from torch.profiler import ProfilerActivity, profile

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "samples")]

Tensors = tuple[object, ...]
Operator = tuple[Callable, Tensors]

WORDS = 32_000  # of a vocabulary
SEQUENCES, LENGTH, HEADS, DIM = 2, 2048, 8, 64
TURNS, RUNS = 4, 4


def backend():
    """`nvgen_backend` of sample 15."""
    spec = importlib.util.spec_from_file_location("s15", ROOT / "samples" / "15_triton_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.nvgen_backend


def random(*shape: int, dtype: torch.dtype = torch.bfloat16, scale: float = 1.0) -> torch.Tensor:
    """Normal numbers that want a derivative."""
    return (torch.randn(*shape, device="cuda") * scale).to(dtype).requires_grad_()


def exact(*shape: int) -> torch.Tensor:
    """The same in f32."""
    return random(*shape, dtype=torch.float32)


def words(count: int) -> torch.Tensor:
    """Words of the vocabulary."""
    return torch.randint(0, WORDS, (count,), device="cuda")


Arguments = dict[tuple[str, str], Callable[[], Tensors]]
"""Of an operator of Liger, by its module and its name, what makes its arguments."""


def norms() -> Arguments:
    """Norms of rows."""
    rows = (4096, 4096)
    return {
        ("rms_norm", "RMSNorm"): lambda: (random(*rows), random(4096), 1e-6, 0.0, "llama", False),
        ("fused_add_rms_norm", "FusedAddRMSNorm"): lambda: (
            *(random(*rows), random(*rows)),
            *(random(4096), 1e-6),
        ),
        ("layer_norm", "LayerNorm"): lambda: (random(*rows), random(4096), random(4096), 1e-6),
        ("group_norm", "GroupNorm"): lambda: (
            *(exact(64, 256, 1024), exact(256), exact(256)),
            *(256, 32, 1e-6),
        ),
        ("dyt", "DyT"): lambda: (random(2048, 4096), random(1), random(4096), random(4096)),
    }


def elements() -> Arguments:
    """What is done element by element, or row by row."""
    wide, turns = (4096, 8192), (1, 2048, 128)
    return {
        ("swiglu", "SiLUMul"): lambda: (random(*wide), random(*wide)),
        ("geglu", "GELUMul"): lambda: (random(*wide), random(*wide)),
        ("relu_squared", "ReLUSquared"): lambda: (random(*wide),),
        ("softmax", "Softmax"): lambda: (random(4096, 8000),),
        ("sparsemax", "Sparsemax"): lambda: (exact(1024, 1024), -1),
        ("rope", "Rope"): lambda: (
            *(random(2, 32, 2048, 128), random(2, 8, 2048, 128)),
            *(exact(*turns).detach(), exact(*turns).detach()),
        ),
    }


def losses() -> Arguments:
    """Losses over a vocabulary."""

    def plain() -> torch.Tensor:
        return exact(1024, WORDS).softmax(-1)

    def logarithms() -> torch.Tensor:
        return exact(1024, WORDS).log_softmax(-1)

    return {
        ("cross_entropy", "CrossEntropy"): lambda: (
            *(random(2048, WORDS), words(2048), None, -100),
            *(0.1, 0.1, "mean", 30.0),
        ),
        ("fused_linear_cross_entropy", "FusedLinearCrossEntropy"): lambda: (
            *(random(1024, 1024), random(WORDS, 1024, scale=0.02), words(1024)),
        ),
        ("kl_div", "KLDivLoss"): lambda: (logarithms(), plain().detach()),
        ("jsd", "JSD"): lambda: (logarithms(), logarithms().detach()),
        ("tvd", "TVDLoss"): lambda: (plain(), plain().detach()),
        ("fused_ce_tvd", "FusedCETVD"): lambda: (
            *(random(1024, WORDS), random(1024, WORDS).detach(), words(1024)),
        ),
    }


def mixtures() -> Arguments:
    """Attention, and experts."""
    flat, experts = (2, 4, 512, 64), 8
    return {
        ("fused_neighborhood_attention", "FusedNeighborhoodAttention"): lambda: (
            *(exact(*flat), exact(*flat), exact(*flat), 7, 1),
        ),
        ("multi_token_attention", "MultiTokenAttention"): lambda: (
            *(exact(2, 4, 128, 128), exact(4, 4, 3, 3), None),
            *(1, 1, 1, 1, False),
        ),
        ("attn_res", "AttnRes"): lambda: (random(6, 2048, 2048), random(2048), random(2048), 1e-6),
        ("fused_moe", "FusedMoE"): lambda: (
            random(1024, 1024),
            *(random(experts, 2048, 1024, scale=0.03), random(experts, 1024, 1024, scale=0.03)),
            *(exact(1024, experts).topk(2)[1].to(torch.int32), random(1024, 2)),
        ),
    }


def liger() -> Iterator[tuple[str, Callable[[], Operator]]]:
    """Liger's operators, and what makes them and their arguments."""
    for (module, name), arguments in (norms() | elements() | losses() | mixtures()).items():
        place = f"liger_kernel.ops.{module}", f"Liger{name}Function"
        yield name, functools.partial(of_class, *place, arguments)


def of_class(module: str, name: str, arguments: Callable[[], Tensors]) -> Operator:
    """A `torch.autograd.Function`, and its arguments."""
    return getattr(importlib.import_module(module), name).apply, arguments()


def unit(x: torch.Tensor) -> torch.Tensor:
    """Rows of length 1."""
    return functional.normalize(x.detach().float(), dim=-1).to(x.dtype).requires_grad_()


def fla() -> Iterator[tuple[str, Callable[[], Operator]]]:
    """fla's operators: linear attention and its kin."""

    def heads(dim: int = DIM, scale: float = 1.0) -> torch.Tensor:
        return random(SEQUENCES, LENGTH, HEADS, dim, scale=scale)

    def qkv(dim: int = DIM) -> Tensors:
        return heads(dim), unit(heads(dim)), heads(dim)

    def gate() -> torch.Tensor:
        return functional.logsigmoid(exact(SEQUENCES, LENGTH, HEADS)).detach().requires_grad_()

    def gates() -> torch.Tensor:
        return (functional.logsigmoid(heads().float()) / 16).detach().requires_grad_()

    def beta() -> torch.Tensor:
        return random(SEQUENCES, LENGTH, HEADS).sigmoid().detach().requires_grad_()

    given: dict[str, Callable[[], Tensors]] = {
        "parallel_attn": qkv,
        "chunk_gla": lambda: (*qkv(), gates()),
        "chunk_simple_gla": lambda: (*qkv(), gate()),
        "parallel_simple_gla": lambda: (*qkv(), gate()),
        "chunk_retention": qkv,
        "parallel_retention": qkv,
        "chunk_linear_attn": qkv,
        "chunk_delta_rule": lambda: (*qkv(), beta()),
        "chunk_gated_delta_rule": lambda: (*qkv(), gate(), beta()),
        "chunk_kda": lambda: (*qkv(), gates(), beta()),
        "chunk_gsa": lambda: (*qkv(), heads(), gates()),
        "chunk_abc": lambda: (*qkv(), heads()),
        "parallel_based": lambda: (heads(16), heads(16), heads()),
        "fused_recurrent_gla": lambda: (*qkv(), gates()),
        "fused_recurrent_delta_rule": lambda: (*qkv(), beta()),
        "fused_recurrent_retention": qkv,
        "chunk_rwkv6": lambda: (*qkv(), gates(), random(HEADS, DIM)),
        "parallel_forgetting_attn": lambda: (*qkv(), gate()),
        "parallel_stickbreaking_attn": qkv,
        "chunk_lightning_attn": lambda: (*qkv(), 3, 12),
        "chunk_dplr_delta_rule": lambda: (*qkv(), unit(heads()), heads(scale=0.05), gates()),
        "parallel_wall_attn": lambda: (*qkv(), gates()),
        "parallel_parallax": lambda: (heads(), heads(), heads(), heads()),
    }
    for name, arguments in given.items():
        yield name, functools.partial(of_function, name, arguments)


def of_function(name: str, arguments: Callable[[], Tensors]) -> Operator:
    """A function of fla's, and its arguments."""
    return getattr(importlib.import_module("fla.ops"), name), arguments()


def kernels() -> list[triton.runtime.JITFunction]:
    """All kernels that are loaded; each is left one configuration."""
    found = []
    for thing in gc.get_objects():
        if isinstance(thing, triton.runtime.autotuner.Autotuner):
            thing.configs = [thing.configs[len(thing.configs) // 2]]
        elif isinstance(thing, triton.runtime.JITFunction):
            found.append(thing)
    return found


class Compiler:
    """Who compiles in a `with`: what it has compiled, it has again the next time."""

    def __init__(self, functions: list, backend: Callable = nullcontext) -> None:
        self.functions, self.backend = functions, backend
        self.kept: list[dict] = [{} for _ in functions]
        self.names: set[str] = set()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        for function, kept in zip(self.functions, self.kept, strict=True):
            function.device_caches.clear()
            function.device_caches.update(kept)
        with self.backend() as names:
            yield
        self.names.update(names or ())
        self.kept = [dict(function.device_caches) for function in self.functions]


def results(function: Callable, arguments: Tensors) -> list[torch.Tensor]:
    """What an operator gives, and the derivatives of a sum of it with random weights."""
    leaves = [
        x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
        for x in arguments
    ]
    given = [x * 1 if isinstance(x, torch.Tensor) and x.requires_grad else x for x in leaves]
    out = function(*given)
    outs = [
        x for x in (out if isinstance(out, tuple | list) else [out]) if isinstance(x, torch.Tensor)
    ]
    torch.manual_seed(1)
    summed = [x for x in outs if x.requires_grad]
    weights = [torch.randn_like(x) if x.numel() > 1 else torch.ones_like(x) for x in summed]
    torch.autograd.backward(summed, weights)
    grads = [x.grad for x in leaves if isinstance(x, torch.Tensor) and x.grad is not None]
    return [x.detach().clone() for x in outs] + grads


def apart(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> float:
    """How far results are apart, as a part of the largest element."""
    worst = 0.0
    for x, y in zip(ours, theirs, strict=True):
        a, b = x.double(), y.double()
        if not torch.equal(a.isfinite(), b.isfinite()):
            return float("inf")
        a, b = a.nan_to_num(0, 0, 0), b.nan_to_num(0, 0, 0)
        worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp_min(1e-30)).item())
    return worst


def times(run: Callable[[], object], names: set[str]) -> dict[str, float]:
    """Microseconds of a launch of each kernel."""
    with profile(activities=[ProfilerActivity.CUDA]) as told:
        for _ in range(RUNS):
            run()
        torch.cuda.synchronize()
    return {
        event.key: event.self_device_time_total / event.count
        for event in told.key_averages()
        if event.key in names
    }


def compared(make: Callable[[], Operator], nvgen_backend: Callable) -> dict:
    """An operator through both: how far apart, and how long each kernel took."""
    torch.manual_seed(7)
    function, arguments = make()
    functions = kernels()
    theirs, ours = Compiler(functions), Compiler(functions, nvgen_backend)
    with theirs():
        expected = results(function, arguments)
        noise = apart(results(function, arguments), expected)
    with ours():
        found = apart(results(function, arguments), expected)
    took: dict[str, dict[str, list[float]]] = {}
    for _ in range(TURNS):
        for label, compiler in (("nvgen", ours), ("Triton", theirs)):
            with compiler():
                run = functools.partial(results, function, arguments)
                for name, time_ in times(run, ours.names).items():
                    took.setdefault(name, {}).setdefault(label, []).append(time_)
    both = {name: {x: median(t) for x, t in of.items()} for name, of in took.items() if len(of) > 1}
    return {"kernels": sorted(ours.names), "apart": found, "again": noise, "microseconds": both}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    began, rows, nvgen_backend = time.time(), {}, backend()
    for name, make in (*liger(), *fla()):
        if given.only and name not in given.only:
            continue
        if time.time() - began > given.limit:
            print(f"no more time from {name} on")
            break
        try:
            row = rows[name] = compared(make, nvgen_backend)
        except (RuntimeError, ImportError, AssertionError, NotImplementedError) as why:
            print(f"{name}: {type(why).__name__}: {str(why).splitlines()[0][:100]}")
            continue
        print(
            f"{name}: {len(row['kernels'])} kernels, apart {row['apart']:.2g} ({row['again']:.2g})"
        )
        for kernel, took in row["microseconds"].items():
            ratio = took["nvgen"] / took["Triton"]
            print(
                f"  {kernel:50} {took['nvgen']:8.1f} {took['Triton']:8.1f}  {ratio:.3f}", flush=True
            )
    ratios = [t["nvgen"] / t["Triton"] for r in rows.values() for t in r["microseconds"].values()]
    if ratios:
        mean = geometric_mean(ratios)
        print(f"{len(rows)} operators, {len(ratios)} kernels: {mean:.3f}, most {max(ratios):.3f}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
