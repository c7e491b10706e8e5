"""What was seen of each fault: results.json, and results.md, which is made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.fault import Fault

FILE = Path(__file__).with_name("results.json")
PAGE = Path(__file__).with_name("results.md")

MOST_FINDERS = 5
"""How many failing tests are written down."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run showed: what pytest was given, and which tests failed (none: not found)."""

    selection: str
    found_by: tuple[str, ...]
    note: str = ""


def read(file: Path = FILE) -> dict[str, Result]:
    """The results by the fault's name; none when nothing was run yet."""
    if not file.is_file():
        return {}
    known = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: Result(said["selection"], tuple(said["found_by"]), said["note"])
        for name, said in known.items()
    }


def write(found: Mapping[str, Result], file: Path = FILE) -> None:
    """Write results by the fault's name."""
    told = {name: asdict(found[name]) for name in sorted(found)}
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page(faults: Iterable[Fault], found: Mapping[str, Result]) -> str:
    """The results as a table, in the order of the faults."""
    lines = [
        "# Seeded faults, and the tests that find them",
        "",
        "`make mutation` breaks a copy of the project with one fault at a time and runs tests "
        "there.  A fault is found when a test fails that passes without it; the selection is what "
        f"pytest was given, and at most {MOST_FINDERS} of the tests that failed are listed.",
        "",
        "| fault | kind | file | what is wrong | selection | found by |",
        "|---|---|---|---|---|---|",
    ]
    for fault in faults:
        result = found.get(fault.name, Result("", (), "not run"))
        finders = "<br>".join(f"`{_short(test)}`" for test in result.found_by) or "**nobody**"
        note = f" ({result.note})" if result.note else ""
        cells = (
            fault.name, fault.kind.value, f"`{fault.file}`", fault.why, f"`{result.selection}`",
            finders + note,
        )  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _short(test: str) -> str:
    """A test's name; what it is given is cut where it is long."""
    return test if len(test) <= 120 else test[:117] + "..."
