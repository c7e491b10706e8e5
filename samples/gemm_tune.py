"""The problem for `nvgen tune`: which configuration of sample 10 is fastest on this GPU.

`nvgen tune samples/gemm_tune.py m=4096 n=4096 k=4096 dtype=bf16 --cache results.jsonl` tries some.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np

from nvgen import Candidate, ElementType, Finding, Kernel, Severity, VerificationError

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from gemm_model import candidates, machine_of
from gemm_plan import Config, Kind, grid, workspace
from gemm_problem import check

gemm = importlib.import_module("10_gemm_sm90")


class Tuning:
    """The problem for `nvgen tune`: which configuration is fastest for M, N, K on this GPU."""

    target, opt = gemm.TARGET, 3

    def __init__(self, m: int, n: int, k: int, dtype: ElementType) -> None:
        self.kind = Kind(dtype, ElementType.F16 if dtype is ElementType.F16 else ElementType.BF16)
        check(m, n, k, self.kind)
        self.shape = (m, n, k)
        self.name = f"gemm_sm90 {m}x{n}x{k} {dtype.value}"
        self.flops = 2.0 * m * n * k

    def configs(self) -> list[Config]:
        """The 64 configurations that the model thinks the fastest on this GPU."""
        import torch

        table = candidates(self.kind)
        times = table.times(*self.shape, machine_of(torch.cuda.get_device_name()))
        return [table.configs[i] for i in np.argsort(times)[:64]]

    def build(self, config: Config) -> Kernel:
        """The kernel of a configuration."""
        return gemm.build(config, self.kind)

    def measure(self, candidate: Candidate[Config]) -> float:
        """The median of nine timings of some launches each, after a look at the result."""
        import torch

        m, n, k = self.shape
        torch.manual_seed(0)
        types = {ElementType.F16: torch.float16, ElementType.BF16: torch.bfloat16}
        stored = types.get(self.kind.dtype, torch.float8_e4m3fn)
        a, b = (torch.randn(rows, k, device="cuda").to(stored) for rows in (m, n))
        d = torch.empty(m, n, device="cuda", dtype=types[self.kind.out])
        kernel = candidate.code.load()
        bytes_of = (lambda x: x.view(torch.uint8)) if stored.itemsize == 1 else (lambda x: x)
        config = candidate.config
        ctas, more = grid(config, m, n), []
        if config.tail > 1:
            sums, words = workspace(config, m, n, ctas)
            more.append(torch.empty(max(sums, 1), device="cuda", dtype=torch.float32))
            more.append(torch.zeros(max(words, 1), device="cuda", dtype=torch.int32))
            more[1] = more[1].view(torch.uint32)
        arguments = candidate.kernel.arguments((bytes_of(a), bytes_of(b), d, m, n, k, *more), {})
        shape = {"grid": ctas, "cluster": config.ctas}
        kernel.launch(*arguments, **shape)
        expected = a[:256].float() @ b.float().T
        error = (d[:256].float() - expected).abs().max().item()
        if error > 0.01 * expected.abs().max().item():
            raise VerificationError(
                [Finding("gemm/wrong", Severity.ERROR, "a wrong product", got=f"off by {error}")]
            )
        launches = max(1, int(2e11 / self.flops))
        times = [kernel.time(*arguments, **shape, launches=launches) for _ in range(9)]
        return sorted(times)[4]


def tuning(m: int = 4096, n: int = 4096, k: int = 4096, dtype: str = "bf16") -> Tuning:
    """What `nvgen tune samples/gemm_tune.py m=… n=… k=… dtype=…` tunes."""
    return Tuning(m, n, k, ElementType(dtype))
