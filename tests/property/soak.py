"""Run many random programs, and write down what disagrees, as small as it gets.

    python -m tests.property.soak --examples 2000 --seed 7 --features floats,control
    python -m tests.property.soak --replay found/01-same_bytes.ll

Each disagreement is shrunk by hypothesis and written as LLVM IR into a folder; `--replay` judges
such a file again.  A refusal of nvgen's (`SelectionError`) is counted, and with `--refusals` is a
disagreement too.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import time
import warnings
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from intrinsics.findings import SelectionError
from tests.property import judges
from tests.property.plans import FEATURES, Plan, plans
from tests.property.program import Program, build

JUDGES = {
    "undefined": judges.nothing_is_undefined,
    "values": judges.same_bytes,
    "texts": judges.round_trips,
    "ptxas": lambda program: judges.assembles(program, (0, 2)),
    "peer": judges.llvms_ptx_runs,
    "llvm": lambda program: judges.llvm_compiles([program]),
}
"""The properties, by the names that `--judge` takes."""


def features_of(text: str) -> frozenset[str]:
    """ "all", "all,-calls" or "floats,memory"."""
    found: set[str] = set()
    for word in text.split(","):
        if word == "all":
            found |= FEATURES
        elif word.startswith("-"):
            found -= {word[1:]}
        elif word:
            found |= {word}
    if found - FEATURES:
        raise SystemExit(f"no such feature: {found - FEATURES}; there are {sorted(FEATURES)}")
    return frozenset(found)


class Hunt:
    """One run over many programs, and the file that the smallest failure goes to."""

    def __init__(self, names: list[str], path: Path, end: float, *, refusals: bool) -> None:
        self.names = names
        self.path = path
        self.end = end
        self.refusals = refusals
        self.count = 0
        self.refused: collections.Counter[str] = collections.Counter()
        self.message = ""
        self._smallest = 0

    def judge(self, program: Program) -> None:
        """Every property of one program; none when the time is over."""
        if time.monotonic() > self.end and not self.message:
            return
        self.count += 1
        for name in self.names:
            try:
                JUDGES[name](program)
            except Exception as error:
                if isinstance(error, SelectionError) and not self.refusals:
                    self.refused[_first_line(error)] += 1
                    return
                self._keep(name, error, program)
                raise

    def _keep(self, name: str, error: Exception, program: Program) -> None:
        """At once, for shrinking takes long; the smallest stays."""
        if self._smallest and len(program.text) > self._smallest:
            return
        self._smallest = len(program.text)
        self.message = f"{name}: {_first_line(error)}"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(program.reproduction(self.message))


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def hunt(options: argparse.Namespace, round_: int) -> Hunt:
    """Draw programs until one fails, and shrink it."""
    path = options.folder / f"{options.seed + round_:04}.ll"
    end = time.monotonic() + 60 * options.minutes
    found = Hunt(options.judge.split(","), path, end, refusals=options.refusals)

    @seed(options.seed + round_)
    @settings(
        max_examples=options.examples,
        derandomize=False,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(plans(features_of(options.features)))
    def body(plan: Plan) -> None:
        found.judge(build(plan))

    try:
        body()
    except Exception:
        if not found.message:
            raise
    return found


def replay(path: Path, names: list[str]) -> int:
    """Judge a file that a soak wrote."""
    text = path.read_text()
    numbers = {n: re.search(rf"^; {n}: (\d+)$", text, re.MULTILINE) for n in ("slots", "seed")}
    slots, start = (int(m[1]) if m else 0 for m in numbers.values())
    body = "\n".join(line for line in text.splitlines() if not line.startswith(";"))
    program = Program(body, slots or 64, start)
    status = 0
    for name in names:
        try:
            JUDGES[name](program)
        except Exception as error:
            status = 1
            print(f"{name}: {_first_line(error)}")
        else:
            print(f"{name}: good")
    return status


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=1, help="go on after a failure, so often")
    parser.add_argument("--minutes", type=float, default=60.0, help="of one round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--features", default="all")
    parser.add_argument("--judge", default="values")
    parser.add_argument("--folder", type=Path, default=Path("found"))
    parser.add_argument("--refusals", action="store_true")
    parser.add_argument("--replay", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("error")
    if options.replay:
        return replay(options.replay, options.judge.split(","))
    failures = 0
    for round_ in range(options.rounds):
        began = time.monotonic()
        found = hunt(options, round_)
        print(f"{found.count} programs in {time.monotonic() - began:.0f} s", flush=True)
        for line, count in found.refused.most_common(20):
            print(f"  refused {count} times: {line}")
        if found.message:
            failures += 1
            print(f"  {found.path}: {found.message}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
