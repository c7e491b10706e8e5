"""What ptxas makes of the PTX of two compilers, and how long their kernels take: samples 15 and 16.

Instructions are counted, without NOPs, in the cubins that the same ptxas makes of both.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import geometric_mean, median

from nvgen import assemble


@dataclass(frozen=True)
class Code:
    """What one kernel takes: instructions, registers of a thread, bytes spilled and loaded."""

    instructions: int
    registers: int
    spills: int


@dataclass(frozen=True)
class Pair:
    """A kernel of both: of nvgen, and of the tool's own back end."""

    name: str
    ours: Code
    theirs: Code

    @property
    def ratio(self) -> float:
        """nvgen's instructions by the other's."""
        return self.ours.instructions / self.theirs.instructions


def code(ptx: str, target: str) -> Code:
    """What ptxas makes of a module with one kernel."""
    done = assemble(ptx, target)
    (kernel,) = done.resources.values()
    spilled = kernel.spill_stores + kernel.spill_loads
    return Code(sum(done.instructions.values()), kernel.registers, spilled)


def table(pairs: Iterator[Pair], other: str) -> list[Pair]:
    """Print a line for each kernel as it comes, and the geometric mean of the ratios."""
    print(f"{'':14}  instructions        registers     bytes spilled\n{'':14}", end="")
    print(f"  nvgen {other:>7}  ratio  nvgen {other:>7}  nvgen {other:>7}")
    found = []
    for pair in pairs:
        a, b = pair.ours, pair.theirs
        print(
            f"{pair.name:14}  {a.instructions:5} {b.instructions:7}  {pair.ratio:5.3f}"
            f"  {a.registers:5} {b.registers:7}  {a.spills:5} {b.spills:7}",
            flush=True,
        )
        found.append(pair)
    mean = geometric_mean(pair.ratio for pair in found)
    print(f"geometric mean of the ratios of instructions: {mean:.3f}")
    return found


Timed = tuple[str, Callable[[], float], Callable[[], float]]
"""A kernel's name, and what measures the milliseconds of a launch of nvgen's and of the other's."""


def main(pairs: Callable[[], Iterator[Pair]], timed: Callable[[], Iterator[Timed]], other: str):
    """Compile and count; with `--device cuda` also time what `timed` has compared."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("sim", "cuda"), default="sim")
    device = parser.parse_args().device
    table(pairs(), other)
    if device == "cuda":
        ratios = []
        for name, ours, theirs in timed():
            a, b, ratio = ratio_of_times(ours, theirs)
            ratios.append(ratio)
            print(f"{name:14} nvgen {a:7.4f} ms, {other} {b:7.4f} ms: {ratio:.3f}", flush=True)
        print(f"geometric mean of the ratios of times: {geometric_mean(ratios):.3f}")


def ratio_of_times(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int = 30
) -> tuple[float, float, float]:
    """Milliseconds of both, each the median of `rounds`, and the median of their ratios.

    In each round both are timed once, in random order.
    """
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        if random.random() < 0.5:
            a, b = ours(), theirs()
        else:
            b, a = theirs(), ours()
        times.append((a, b))
    first, second = zip(*times, strict=True)
    return median(first), median(second), median(a / b for a, b in times)
