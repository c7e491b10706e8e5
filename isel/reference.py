"""The reference: the pages made from the rows, and the table of all rules.

Layer: isel.  `python -m isel.reference` (`make docs`) writes the pages to `intrinsics/reference`; a
test holds them up to date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from intrinsics import chapter_words
from intrinsics.catalog import chapters
from intrinsics.legality import section_of, text_of
from intrinsics.reference import page
from intrinsics.reference.chapter_words import index
from intrinsics.reference.row_page import MADE, anchor, ptxas_says
from intrinsics.row import Row, Rule
from isel.select.intrinsics.unselected import UNSELECTED
from isel.verifier.descriptors.check import RULES as DESCRIPTOR_RULES
from isel.verifier.functions import RULES
from isel.verifier.launch import RULES as LAUNCH_RULES
from isel.verifier.rule import VerifierRule

FOLDER = Path(page.__file__).parent
INDEX = Path(chapter_words.__file__)


def pages() -> dict[str, str]:
    """Every page, by file name."""
    found = {**page.pages(), "rules.md": "\n".join(_rules()) + "\n"}
    found["coverage.md"] += "\n".join(_not_selected()) + "\n"
    return found


def main() -> None:
    """Write the pages, and the index of the catalog."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
    INDEX.write_text(index())


def _not_selected() -> Iterator[str]:
    yield "\n## Intrinsics of LLVM 22 without a row\n"
    yield "Textures, surfaces (`tex`, `tld4`, `txq`, `suld`, `sust`, `suq`, `istypep`) and what no"
    yield "other row has are printed as statements of PTX, bound to their registers, with a review:"
    yield "nvgen judges and simulates nothing of them. All others are selected but for these.\n"
    yield "| `llvm.nvvm.` | why not | instead |"
    yield "|---|---|---|"
    for one in UNSELECTED:
        names = one.names.replace("\\.", ".").replace("|", "/")
        yield f"| `{names}` | {one.reason} | {one.instead} |"


def _rules() -> Iterator[str]:
    yield "# Rules\n"
    yield MADE
    yield "What the verifier says, and what ptxas says of the same. A rule of an instruction is"
    yield "judged at every level; the others from the level on that the heading names.\n"
    yield "`{op}` stands for the instruction that is blamed.\n"
    yield "## Function level: what stands in descriptors, masks and counts\n"
    yield from _table(DESCRIPTOR_RULES)
    yield "\n## Function level: what warps do together\n"
    yield from _table(RULES)
    yield "\n## Launch level\n"
    yield from _table(LAUNCH_RULES)
    for chapter, rows in chapters().items():
        yield from _chapter(chapter, rows)


def _table(rules: Sequence[VerifierRule]) -> Iterator[str]:
    yield "| rule | severity | message | PTX ISA | ptxas |"
    yield "|---|---|---|---|---|"
    yield from map(_free_rule, rules)


def _free_rule(rule: VerifierRule) -> str:
    section = rule.section or "the instruction's own section"
    cells = (rule.id, rule.severity.value, rule.text, section, rule.ptxas)
    return "| " + " | ".join(cells) + " |"


def _chapter(chapter: str, rows: tuple[Row, ...]) -> Iterator[str]:
    rules = [(row, rule) for row in rows for rule in row.rules]
    if not rules:
        return
    yield f"\n## {chapter}\n"
    yield "| rule | message | PTX ISA | ptxas |"
    yield "|---|---|---|---|"
    yield from dict.fromkeys(_row_rule(chapter, row, rule) for row, rule in rules)


def _row_rule(chapter: str, row: Row, rule: Rule) -> str:
    link = f"[{row.head}/{rule.id}]({chapter}.md#{anchor(row.id)})"
    return f"| {link} | {text_of(rule)} | {section_of(row, rule)} | {ptxas_says(rule)} |"


if __name__ == "__main__":
    main()
