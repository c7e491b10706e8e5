"""Who finds the broken synchronisation of the samples: the verifier, the simulator, both, nobody.

    python -m tests.nvgen.sample_mutants [SAMPLE ...]     prints the mutants and their finders

Input: a sample.  Output: for each of its mutants (`tests.nvgen.synchronisation`) what the function
rules say of it that they do not say of the sample, and what happens when it runs: a finding, or
other results, under some schedule.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Finding, NvgenError, Severity
from nvgen.api import Compiled
from nvgen.loading import load
from tests.nvgen.samples import gemm_tile, warp_specialized
from tests.nvgen.synchronisation import Mutant, mutants

Array = NDArray[np.generic]

SCHEDULES = ("early", "late", *(f"random:{seed}" for seed in range(20)))
TARGET = "sm_100a"


@dataclass(frozen=True, slots=True)
class Subject:
    """A sample with its arguments.

    `arguments` are what a launch takes, made anew for each; the output is the one whose index is
    `output`, and `expected` is what numpy gives.
    """

    name: str
    compiled: Compiled
    arguments: Callable[[], list[object]]
    output: int
    expected: Array
    grid: int = 1
    cluster: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which rules of the verifier and which of the simulator (or "result") find a mutant."""

    mutant: Mutant
    verifier: tuple[str, ...]
    simulator: str
    schedule: str

    @property
    def found(self) -> bool:
        """Whether anybody does."""
        return bool(self.verifier or self.simulator)

    def __str__(self) -> str:
        seen = f"{self.simulator} ({self.schedule})" if self.simulator else "-"
        return f"{self.mutant.name:70} {', '.join(self.verifier) or '-':50} {seen}"


def judge(subject: Subject, mutant: Mutant) -> Verdict:
    """Ask the verifier, then run the mutant until a schedule shows that it is broken."""
    return Verdict(mutant, _verified(subject, mutant.ptx), *_simulated(subject, mutant.ptx))


def mutants_of(subject: Subject) -> Iterator[Mutant]:
    """All of a subject's."""
    return mutants(subject.compiled.ptx)


def _verified(subject: Subject, ptx: str) -> tuple[str, ...]:
    known = _rules(subject.compiled.ptx)
    return tuple(sorted(_rules(ptx) - known))


@functools.lru_cache(maxsize=64)
def _rules(ptx: str) -> frozenset[str]:
    try:
        found: Sequence[Finding] = load("mutant.ptx", ptx, level="all").findings
    except NvgenError as error:
        found = error.findings
    return frozenset(f.rule for f in found if f.severity is not Severity.NOTE)


def _simulated(subject: Subject, ptx: str) -> tuple[str, str]:
    """The rule and the schedule under which the simulator first sees it; ("", "") when never."""
    broken = load("mutant.ptx", ptx, level="record").compiled()
    for schedule in SCHEDULES:
        arguments = subject.arguments()
        try:
            broken.run(*arguments, grid=subject.grid, cluster=subject.cluster, schedule=schedule)
        except NvgenError as error:
            return error.findings[0].rule, schedule
        if not np.array_equal(_array(arguments[subject.output]), subject.expected):
            return "result", schedule
    return "", ""


def _array(argument: object) -> Array:
    found = getattr(argument, "array", argument)
    assert isinstance(found, np.ndarray)
    return found


# ---- the samples -----------------------------------------------------------------------------


def tile() -> Subject:
    """One tile, one CTA."""
    kernel = gemm_tile().build()
    a, b, expected = gemm_tile().operands()

    def arguments() -> list[object]:
        return kernel.arguments([a, b, np.full_like(expected, np.nan)], {})

    return Subject("tile", kernel.compile(target=TARGET), arguments, 2, expected)


def warps() -> Subject:
    """The warp-specialised GEMM: two tiles for one CTA, three accumulators' turns of a ring."""
    size = 128, 256, 320
    kernel = warp_specialized().build()
    a, b, expected = warp_specialized().operands(*size)

    def arguments() -> list[object]:
        return kernel.arguments([a, b, np.full_like(expected, np.nan), *size], {})

    return Subject("warps", kernel.compile(target=TARGET), arguments, 2, expected)


SUBJECTS: dict[str, Callable[[], Subject]] = {"tile": tile, "warps": warps}


def main() -> None:
    """Print the table of the named subjects, or of all."""
    for name in sys.argv[1:] or SUBJECTS:
        subject = SUBJECTS[name]()
        verdicts = [judge(subject, mutant) for mutant in mutants_of(subject)]
        print(f"---- {name}: {len(verdicts)} mutants")
        for verdict in verdicts:
            print(verdict)
        missed = [v for v in verdicts if not v.found]
        print(
            f"verifier {sum(bool(v.verifier) for v in verdicts)}, simulator "
            f"{sum(bool(v.simulator) for v in verdicts)}, nobody {len(missed)}\n"
        )


if __name__ == "__main__":
    main()
