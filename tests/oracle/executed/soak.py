"""More random programs: `python -m tests.oracle.executed.soak N [FIRST]` runs N for each form.

Prints what goes wrong as it comes; the exit status says whether something did.
"""

from __future__ import annotations

import sys

from tests.oracle.executed.check import failures
from tests.oracle.executed.forms import FAMILIES, Family, forms_of
from tests.oracle.executed.programs import program_of


def round_of(family: Family, seed: int, *, every: int = 1) -> tuple[int, list[str]]:
    """One program for every form (or every other one) of a family: how many, what goes wrong."""
    forms = forms_of(family)[seed % every :: every]
    programs = [program_of(form, seed) for form in forms]
    return len(programs), failures(programs)


def main(arguments: list[str]) -> int:
    """Run N rounds."""
    rounds = int(arguments[0]) if arguments else 10
    first = int(arguments[1]) if len(arguments) > 1 else 1000
    done, wrong = 0, 0
    for seed in range(first, first + rounds):
        for family in FAMILIES:
            count, bad = round_of(family, seed)
            done, wrong = done + count, wrong + len(bad)
            for text in bad:
                print(f"seed {seed}: {text}", flush=True)
    print(f"{done} programs, {wrong} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
