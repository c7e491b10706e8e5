"""The pages under `intrinsics/reference` say what the rows say.

The pages are in the repository, for people to read and for the package to bring along; the rows
change, and `make docs` writes the pages anew.
"""

from __future__ import annotations

import difflib
import itertools
import re

import pytest

from intrinsics import catalog
from isel.reference import FOLDER, pages
from isel.verifier.descriptors.check import RULES as DESCRIPTOR_RULES
from isel.verifier.functions import RULES as FUNCTION_RULES
from isel.verifier.launch import RULES as LAUNCH_RULES
from tests.each import each

COMMAND = "make docs"
PAGES = pages()


@each("name", PAGES)
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
    left = {path.name for path in FOLDER.glob("*.md")} - set(PAGES)
    assert not left, f"`{COMMAND}` does not write {', '.join(sorted(left))}: delete it"


def test_every_documented_instruction_is_on_the_pages():
    """By its own heading, with its section of the manual, its rules, and a line of coverage."""
    coverage = PAGES["coverage.md"].splitlines()
    for chapter, rows in catalog.chapters().items():
        page = PAGES[f"{chapter}.md"].splitlines()
        for row in rows:
            if not row.section:
                continue
            assert page.count(f"## {row.id}") == 1, row
            after = page[page.index(f"## {row.id}") :]
            assert next(line for line in after if line.startswith("PTX ISA, ")).startswith(
                f"PTX ISA, {row.section}. "
            )
            for rule in row.rules:
                assert any(line.startswith(f"| {rule.id} |") for line in after), rule
            assert len([line for line in coverage if line.startswith(f"| [{row.id}](")]) == 1, row


def test_every_intrinsic_is_on_the_page_of_its_row():
    for chapter, rows in catalog.chapters().items():
        for row in rows:
            for pattern in row.llvm if row.section else ():
                begin = f"`llvm.nvvm.{pattern.name.partition('{')[0]}"
                assert begin in PAGES[f"{chapter}.md"], pattern


def test_every_rule_is_in_the_table():
    """Once for each message that it has, with what ptxas does."""
    lines = PAGES["rules.md"].splitlines()
    for rule in (*DESCRIPTOR_RULES, *FUNCTION_RULES, *LAUNCH_RULES):
        found = [line for line in lines if line.startswith(f"| {rule.id} |") and rule.text in line]
        assert len(found) == 1, rule
        assert found[0].endswith(f"| {rule.ptxas} |")
    for row in catalog.rows():
        for rule in row.rules:  # type: ignore[assignment]
            assert any(line.startswith(f"| [{row.head}/{rule.id}](") for line in lines), rule


def test_links_lead_somewhere():
    for name in ("rules.md", "coverage.md"):
        for page, anchor in re.findall(r"\]\((\w+\.md)#([\w-]+)\)", PAGES[name]):
            headings = re.findall(r"^## (.+)$", PAGES[page], re.MULTILINE)
            assert anchor in {re.sub(r"[^\w-]", "", heading.lower()) for heading in headings}


def test_every_published_number_is_on_its_page():
    lines = PAGES["opcodes.md"].splitlines()
    for row in catalog.rows():
        for opcode, number in row.numbers.items():
            assert f"| {number} | {opcode} |" in lines


@each("name", PAGES)
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
