"""Who finds the broken synchronisation of the samples: the verifier, the simulator, both, nobody.

    python -m tests.samples.sample_mutants [--all | --early] [SAMPLE ...]

prints the mutants and their finders, under all schedules, or under few, or under one.

Input: a sample (`tests.samples.sample_subjects`).  Output: for each of its mutants
(`tests.samples.synchronisation`) what the verifier's rules say of it that they do not say of the
sample, and what happens when it runs: a finding, or other results, under some schedule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from intrinsics.findings import Finding, NvgenError, Severity, SimulationError
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from nvgen.loading import Program, load
from tests.samples.sample_mutants_unfound import UNFOUND
from tests.samples.sample_subjects import SUBJECTS, Subject, subject
from tests.samples.synchronisation import Mutant, mutants

SCHEDULES = ("early", "late", *(f"random:{seed}" for seed in range(20)))
FEW = SCHEDULES[:2]
"""Clocks find races under each, so that few show what else there is."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which rules of the verifier and which of the simulator (or "result") find a mutant.

    `schedule` is the first under which the simulator does.
    """

    mutant: Mutant
    verifier: tuple[str, ...]
    simulator: str = ""
    schedule: str = ""

    @property
    def found(self) -> bool:
        """Whether anybody does."""
        return bool(self.verifier or self.simulator)

    def __str__(self) -> str:
        seen = f"{self.simulator} ({self.schedule})" if self.simulator else "-"
        who = ", ".join(self.verifier) or "-"
        return f"{self.mutant.line:5} {self.mutant.name:76} {who:50} {seen}"


def judge(
    of: Subject, known: frozenset[str], mutant: Mutant, schedules: Sequence[str], *, both: bool
) -> Verdict:
    """Ask the verifier, and the simulator too if that finds nothing, or `both` are to be asked.

    `known` are the rules that the sample itself breaks.
    """
    program = _read(mutant.ptx)
    verified = () if program is None else tuple(sorted(_rules(program) - known))
    if program is None:
        return Verdict(mutant, ("unreadable",))
    if verified and not both:
        return Verdict(mutant, verified)
    compiled = replace(program, findings=[]).compiled()
    return Verdict(mutant, verified, *_simulated(of, compiled, schedules))


def verdicts(
    of: Subject, broken: Iterable[Mutant], schedules: Sequence[str], *, both: bool = False
) -> Iterator[Verdict]:
    """What `judge` says of some mutants of a sample."""
    program = _read(of.compiled.ptx)
    assert program is not None
    known = _rules(program)
    for mutant in broken:
        yield judge(of, known, mutant, schedules, both=both)


def sound(of: Subject, schedules: Sequence[str]) -> bool:
    """Whether a sample itself, read as its mutants are, gives what it should."""
    program = _read(of.compiled.ptx)
    assert program is not None
    return not _rules(program) and _simulated(of, program.compiled(), schedules) == ("", "")


def _read(ptx: str) -> Program | None:
    try:
        return load("mutant.ptx", ptx, Options(level="all"))
    except NvgenError:
        return None


def _rules(program: Program) -> frozenset[str]:
    found: Sequence[Finding] = program.findings
    return frozenset(f.rule for f in found if f.severity is not Severity.NOTE)


def _simulated(of: Subject, compiled: Compiled, schedules: Sequence[str]) -> tuple[str, str]:
    """The rule and the schedule under which the simulator first sees it; ("", "") when never."""
    for schedule in schedules:
        try:
            right = of.run(compiled, schedule)
        except SimulationError as error:
            return error.findings[0].rule, schedule
        if not right:
            return "result", schedule
    return "", ""


def main() -> None:
    """Print the table of the named subjects, or of all."""
    options = [x for x in sys.argv[1:] if x.startswith("--")]
    schedules = SCHEDULES if "--all" in options else FEW
    if "--early" in options:
        schedules = FEW[:1]
    for name in [x for x in sys.argv[1:] if x not in options] or SUBJECTS:
        of = subject(name)
        found = []
        print(f"---- {name}")
        for verdict in verdicts(of, mutants(of.compiled.ptx), schedules, both=True):
            found.append(verdict)
            print(verdict, flush=True)
            if verdict.found == any(entry.covers(name, verdict.mutant) for entry in UNFOUND):
                print("      ^ not as tests/samples/sample_mutants_unfound.py has it")
        print(f"---- {name}: {summary(found)}\n")


def summary(found: Sequence[Verdict]) -> str:
    """How many there are, and who finds how many."""
    by_rules = {v.mutant for v in found if v.verifier}
    by_running = {v.mutant for v in found if v.simulator}
    return (
        f"{len(found)} mutants: verifier {len(by_rules)}, simulator {len(by_running)}, "
        f"both {len(by_rules & by_running)}, nobody {len(found) - len(by_rules | by_running)}"
    )


if __name__ == "__main__":
    main()
