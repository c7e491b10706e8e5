"""The problem for `nvgen tune`: which configuration of sample 10 is fastest on this GPU.

`nvgen tune samples/gemm/tune.py m=4096 n=4096 k=4096 dtype=bf16 --cache results.jsonl` tries 64;
`tries=16` fewer.
"""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nvgen import Candidate, ElementType, Finding, Kernel, Severity, VerificationError

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.model import FEW, candidates, launched, launches, machine_of
from gemm.plan import Config, Kind, grid, workspace
from gemm.problem import check

gemm = importlib.import_module("10_gemm_sm90")
UNCACHED = 200e6  # bytes of all operands together that L2 does not hold
MOST = 16  # operands, or about as many launches that are timed together


@dataclass(frozen=True, slots=True)
class Launch:
    """A dependent launch with its arguments, and the tensors that they point to."""

    code: object
    arguments: tuple
    place: dict[str, int]
    kept: tuple

    def __call__(self) -> None:
        """On the stream that is torch's now."""
        import torch

        stream = torch.cuda.current_stream()
        self.code.launch(*self.arguments, **self.place, stream=stream, dependent=True)


class Tuning:
    """The problem for `nvgen tune`: which configuration is fastest for M, N, K on this GPU."""

    target, opt = gemm.TARGET, 3

    def __init__(self, m: int, n: int, k: int, dtype: ElementType, tries: int = 64) -> None:
        self.kind = Kind(dtype, ElementType.F16 if dtype is ElementType.F16 else ElementType.BF16)
        check(m, n, k, self.kind)
        self.shape, self.tries = (m, n, k), tries
        self.name = f"gemm_sm90 {m}x{n}x{k} {dtype.value}"
        self.flops = 2.0 * m * n * k

    def configs(self) -> list[Config]:
        """Those that the model thinks the fastest on this GPU, its choice first.

        One whose launches overlap is another than that whose launches begin at the exit.
        """
        import torch

        rows, table = self.shape[0], candidates(self.kind, few=self.shape[0] <= FEW)
        machine = machine_of(torch.cuda.get_device_name())
        order = np.argsort(launches(table, *self.shape, machine), axis=None)
        return [launched(table, int(number), rows) for number in order[: self.tries]]

    def build(self, config: Config) -> Kernel:
        """The kernel of a configuration."""
        return gemm.build(config, self.kind)

    def measure(self, candidate: Candidate[Config]) -> float:
        """Milliseconds: the median of nine timings of some launches, after a look at the result.

        Launches take turns over as many operands as L2 does not hold, as layers of a model do.
        """
        import torch

        launches = [self.launch(candidate, *self.operands(i)) for i in range(self.sets)]
        launches *= max(1, MOST // self.sets)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for launch in launches:
                launch()
        times = []
        for _ in range(9):
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            graph.replay()
            last.record()
            last.synchronize()
            times.append(first.elapsed_time(last))
        return sorted(times)[4] / len(launches)

    @property
    def sets(self) -> int:
        """How many operands L2 does not hold."""
        m, n, k = self.shape
        moved = (m + n) * k * self.kind.dtype.bits // 8 + m * n * self.kind.out.bits // 8
        return max(1, min(MOST, math.ceil(UNCACHED / moved)))

    def operands(self, number: int) -> tuple:
        """A and B as random normal numbers, and a D."""
        import torch

        m, n, k = self.shape
        torch.manual_seed(number)
        types = {ElementType.F16: torch.float16, ElementType.BF16: torch.bfloat16}
        stored = types.get(self.kind.dtype, torch.float8_e4m3fn)
        a, b = (torch.randn(rows, k, device="cuda").to(stored) for rows in (m, n))
        return a, b, torch.empty(m, n, device="cuda", dtype=types[self.kind.out])

    def launch(self, candidate: Candidate[Config], a, b, d) -> Launch:
        """What launches the kernel, which has given the right product once.

        Raises: VerificationError.
        """
        import torch

        (m, n, k), config, code = self.shape, candidate.config, candidate.code.load()
        ctas, more = grid(config, m, n), []
        if config.tail > 1:
            sums, words = workspace(config, m, n, ctas)
            more.append(torch.empty(max(sums, 1), device="cuda", dtype=torch.float32))
            more.append(torch.zeros(max(words, 1), device="cuda", dtype=torch.int32))
            more[1] = more[1].view(torch.uint32)
        seen = (x.view(torch.uint8) if x.itemsize == 1 else x for x in (a, b))
        arguments = candidate.kernel.arguments((*seen, d, m, n, k, *more), {})

        place = {"grid": ctas, "cluster": config.ctas}
        launch = Launch(code, tuple(arguments), place, (a, b, d, *more))
        launch()
        expected = a[:256].float() @ b.float().T
        error = (d[:256].float() - expected).abs().max().item()
        if not error <= 0.01 * expected.abs().max().item():
            raise VerificationError(
                [Finding("gemm/wrong", Severity.ERROR, "a wrong product", got=f"off by {error}")]
            )
        return launch


def tuning(
    m: int = 4096, n: int = 4096, k: int = 4096, dtype: str = "bf16", tries: int = 64
) -> Tuning:
    """What `nvgen tune samples/gemm/tune.py m=… n=… k=… dtype=… tries=…` tunes."""
    return Tuning(m, n, k, ElementType(dtype), tries)
