"""docs/not-simulated.md has what the simulator refuses: neither more nor less."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/not-simulated.md").read_text(encoding="utf-8")
FILES = [*(ROOT / "nvgen/sim").rglob("*.py"), *(ROOT / "intrinsics").rglob("*.py")]


def words(message: ast.expr) -> str:
    """A message, with … for what differs; "" for one that is made elsewhere."""
    match message:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(p.value if isinstance(p, ast.Constant) else "…" for p in parts)  # type: ignore[misc]
    return ""


def refusals() -> Iterator[str]:
    """The messages of all calls of `not_simulated`, and of the layouts that it passes on."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in ("not_simulated", "NotImplementedError") and node.args:
                text = words(node.args[0])
                if text.strip("…"):
                    yield text


def told() -> set[str]:
    """The findings that the tables name."""
    unknown, known = PAGE.split("## Decided by a GPU")[0].split("## What is left out")
    cells = [line.split(" | ")[1] for line in unknown.splitlines() if line.startswith("| ")]
    cells += [line.split(" | ")[0] for line in known.splitlines() if line.startswith("| ")]
    return {found for cell in cells for found in re.findall(r"`([^`]+)`", cell)}


def test_every_refusal_stands_in_a_table():
    assert set(refusals()) - told() == set()


def test_every_line_of_the_tables_is_a_refusal():
    assert told() - set(refusals()) == set()
