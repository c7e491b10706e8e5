"""The pages under `intrinsics/reference` say what the rows say.

The pages are in the repository, for people to read and for the package to bring along; the rows
change, and `make reference` writes the pages anew.
"""

from __future__ import annotations

import difflib
import itertools

import pytest

from intrinsics import catalog
from intrinsics.reference_page import FOLDER, pages

COMMAND = "python -m intrinsics.reference_page"
PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str):
    path = FOLDER / name
    found = path.read_text() if path.exists() else ""
    if found == PAGES[name]:
        return
    lines = difflib.unified_diff(
        found.splitlines(), PAGES[name].splitlines(), "in the repository", "made from the rows"
    )
    change = "\n".join(itertools.islice(lines, 12))
    pytest.fail(f"intrinsics/reference/{name} is stale: run `{COMMAND}`\n{change}", pytrace=False)


def test_no_page_is_left_over():
    left = {path.name for path in FOLDER.iterdir()} - set(PAGES)
    assert not left, f"`{COMMAND}` does not write {', '.join(sorted(left))}: delete it"


def test_every_documented_instruction_is_on_the_pages():
    """By its own heading, with its section of the manual, and with a line of coverage."""
    instructions, coverage = (
        PAGES[f"{name}.md"].splitlines() for name in ("instructions", "coverage")
    )
    for row in catalog.rows():
        if not row.section:
            continue
        assert instructions.count(f"## {row.id}") == 1, row
        after = instructions[instructions.index(f"## {row.id}") :]
        assert next(line for line in after if line.startswith("PTX ISA, ")).startswith(
            f"PTX ISA, {row.section}. "
        )
        assert len([line for line in coverage if line.startswith(f"| {row.id} |")]) == 1, row


def test_every_published_number_is_on_its_page():
    lines = PAGES["opcodes.md"].splitlines()
    for row in catalog.rows():
        for opcode, number in row.numbers.items():
            assert f"| {number} | {opcode} |" in lines


@pytest.mark.parametrize("name", PAGES)
def test_tables_are_well_formed(name: str):
    """Every row of a table has as many cells as its head, and no cell spills over."""
    width = 0
    for line in PAGES[name].splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = line.count("|")
        width = width or cells
        assert cells == width, line
        assert line.endswith("|"), line
