"""Compare what the rules say of a corpus with what was judged: `python -m tests.corpora.precision
FOLDER`, where `real_ptx` made FOLDER.

It prints each rule that says more or less than the tables of `judged` have, and exits with 1 if one
does.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from tests.corpora.judged import TABLES, Judged

Said = dict[tuple[str, str], tuple[int, int]]
"""In how many modules a rule speaks, and how often, by severity and rule."""


def said_of(folder: Path, producers: Container[str]) -> Said:
    """What the rules say of the modules of some producers, each with the block of its index."""
    modules, findings = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    with (folder / "index.tsv").open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if Path(row["path"]).parent.name not in producers:
                continue
            text = (folder / row["path"]).read_text()
            block = tuple(map(int, row["block"].split(","))) if row["block"] else ()
            found = [
                (f.severity.value, f.rule)
                for f in verify_functions(read_ptx(text, row["path"]).module, block)
                if f.severity is not Severity.NOTE
            ]
            findings.update(found)
            modules.update(set(found))
    return {key: (modules[key], findings[key]) for key in findings}


def differences(said: Said, table: Sequence[Judged]) -> list[str]:
    """The rules that say something else than what was judged."""
    judged = {(j.severity, j.rule): (j.modules, j.findings) for j in table}
    return [
        f"{severity} {rule}: {_told(said.get((severity, rule)))}, judged: "
        f"{_told(judged.get((severity, rule)))}"
        for severity, rule in sorted(said.keys() | judged.keys())
        if said.get((severity, rule)) != judged.get((severity, rule))
    ]


def _told(counts: tuple[int, int] | None) -> str:
    return "nothing" if counts is None else f"{counts[1]} in {counts[0]} modules"


def found_in(folder: Path) -> list[str]:
    """The differences between a corpus and the tables, of all producers that it has."""
    there = {path.name for path in (folder / "ptx").iterdir()}
    return [
        line
        for producers, table in TABLES.items()
        if there.intersection(producers)
        for line in differences(said_of(folder, producers), table)
    ]


if __name__ == "__main__":
    found = found_in(Path(sys.argv[1]))
    print("\n".join(found) or "as judged")
    sys.exit(bool(found))
