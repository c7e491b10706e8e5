"""How fast the CPU simulator runs kernels, and where its time goes.

    python tests/benchmarks/simulator_speed.py [--json OUT] [--repeat N] [--schedule S]

Each kernel is compiled before the clock starts; the time is that of one launch, arguments in and
results out, the least of the repetitions of the processor's time.  A warp-instruction is one
instruction of the warps (all threads that are at it together count as one), an MMA is one
tcgen05.mma that took effect.  `numpy` is the time of the same product by numpy, in binary64, in
the same process: the ratio to it says what simulating costs over computing.

Then one launch of each runs under Python's profiler.  Time in numpy and Python itself is counted
for the module of nvgen that asked for it; profiled code is slower, so that only shares are shown.
Nothing is asserted: other programs run here.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

import nvgen  # noqa: E402
from nvgen.launching.launches import Statistics  # noqa: E402
from nvgen.sim.actors.operation import AsyncOp  # noqa: E402
from nvgen.sim.async_ops.engine import Engine  # noqa: E402
from nvgen.sim.semantics.tcgen05.mma_effect import MmaOperation  # noqa: E402
from tests.samples.modules import SOFTMAX, warp_specialized  # noqa: E402


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments, and the product that it makes (None: it makes none)."""

    name: str
    run: Callable[[str], Statistics]
    product: Callable[[], object] | None = None


@dataclass(frozen=True)
class Row:
    """One kernel: seconds of the processor's time, counts, and shares of the time by module."""

    name: str
    seconds: float
    numpy: float | None
    instructions: int
    multiplies: int
    shares: Mapping[str, float] = field(default_factory=dict)

    @property
    def instructions_per_second(self) -> float:
        return self.instructions / self.seconds

    @property
    def multiplies_per_second(self) -> float:
        return self.multiplies / self.seconds

    @property
    def ratio(self) -> float | None:
        return None if self.numpy is None else self.seconds / self.numpy


def gemm(size: int) -> Launch:
    """The warp-specialised GEMM of the samples, size × size × size, by two CTAs."""
    module = warp_specialized()
    compiled = module.build().compile(target="sm_100a")
    a, b, _ = module.operands(size, size, size)
    d = np.zeros((size, size), np.float32)
    wide = a.astype(np.float64), b.astype(np.float64)

    def run(schedule: str) -> Statistics:
        return compiled.run(a, b, d, size, size, size, grid=2, schedule=schedule)

    return Launch(f"gemm {size}x{size}x{size}", run, lambda: wide[0] @ wide[1].T)


def softmax(rows: int, columns: int) -> Launch:
    """The softmax of the samples: scalar code, shuffles and barriers."""
    compiled = nvgen.compile(SOFTMAX.read_text(), target="sm_90a")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns), np.float32)
    y = np.zeros_like(x)

    def run(schedule: str) -> Statistics:
        return compiled.run(x, y, columns, grid=rows, schedule=schedule)

    return Launch(f"softmax {rows}x{columns}", run)


def least(work: Callable[[], object], repeat: int) -> float:
    """The least of the processor's time that a call took."""
    found = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return max(min(found), 1e-9)


def count_multiplies(launch: Launch, schedule: str) -> tuple[Statistics, int]:
    """What one launch takes, and how many MMAs it issues."""
    issue, seen = Engine.issue, Counter[str]()

    def counting(engine: Engine, op: AsyncOp) -> None:
        seen["mma" if isinstance(op.effect, MmaOperation) else "other"] += 1
        issue(engine, op)

    Engine.issue = counting  # type: ignore[assignment, method-assign]
    try:
        return launch.run(schedule), seen["mma"]
    finally:
        Engine.issue = issue  # type: ignore[method-assign]


def shares(launch: Launch, schedule: str) -> dict[str, float]:
    """The parts of the time that the modules of nvgen take, largest first."""
    profile = cProfile.Profile()
    profile.runcall(launch.run, schedule)
    stats = pstats.Stats(profile)
    spent = Counter[str]()
    for (path, _, _), (_, _, own, _, callers) in stats.stats.items():  # type: ignore[attr-defined]
        if module := _module(path):
            spent[module] += own
            continue
        for (caller, _, _), (_, _, of_it, _) in callers.items():
            spent[_module(caller) or "elsewhere"] += of_it
    total = sum(spent.values())
    return {name: part / total for name, part in spent.most_common()}


def _module(path: str) -> str:
    found = Path(path)
    if not found.is_absolute() or not found.is_relative_to(ROOT):
        return ""
    return found.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")


def measure(launch: Launch, schedule: str, repeat: int) -> Row:
    """All figures of one kernel."""
    statistics, multiplies = count_multiplies(launch, schedule)
    return Row(
        launch.name,
        least(lambda: launch.run(schedule), repeat),
        None if launch.product is None else least(launch.product, max(repeat, 5)),
        statistics.steps,
        multiplies,
        shares(launch, schedule),
    )


def show(rows: Sequence[Row]) -> None:
    """The figures as a table, then the shares of each kernel."""
    print(
        f"{'kernel':22}{'seconds':>9}{'warp-instr.':>13}{'/s':>10}{'MMAs':>7}{'/s':>8}"
        f"{'x numpy':>10}"
    )
    for row in rows:
        rate = f"{row.multiplies_per_second:.0f}" if row.multiplies else "-"
        ratio = "-" if row.ratio is None else f"{row.ratio:.0f}"
        print(
            f"{row.name:22}{row.seconds:9.2f}{row.instructions:13}"
            f"{row.instructions_per_second:10.0f}{row.multiplies or '-':>7}{rate:>8}{ratio:>10}"
        )
    for row in rows:
        print(f"\n{row.name}: where the time goes")
        for name, share in row.shares.items():
            if share >= 0.02:
                print(f"  {share:6.1%}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--schedule", default="early")
    given = parser.parse_args()
    launches = (gemm(256), gemm(512), softmax(16, 1024))
    rows = [measure(launch, given.schedule, given.repeat) for launch in launches]
    show(rows)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()
