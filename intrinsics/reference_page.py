"""The reference pages that are made from the rows.

Instructions by chapter, coverage, opcode numbers, fixes, and the walkthrough's spelling.

Layer: intrinsics.  Input: rows and tables.  Output: pages of Markdown, which `isel.reference`
writes together with the table of rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from intrinsics.catalog import chapters, rows, spellings_of, walkthrough_spellings
from intrinsics.fixes import FIXES
from intrinsics.reference_row import MADE, anchor, chapter_page, simulated
from intrinsics.row import Row
from intrinsics.targets import EVERY_TARGET, spell
from intrinsics.walkthrough_forms import FORMS


def pages() -> dict[str, str]:
    """Every page, by file name."""
    return {
        **{f"{name}.md": _text(chapter_page(name, found)) for name, found in chapters().items()},
        "coverage.md": _text(_coverage()),
        "opcodes.md": _text(_opcodes()),
        "fixes.md": _text(_fixes()),
        "walkthrough.md": _text(_walkthrough()),
    }


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


# ---- coverage --------------------------------------------------------------------------------


def _coverage() -> Iterator[str]:
    yield "# Coverage\n"
    yield MADE
    yield "| instruction | targets | since PTX | LLVM intrinsics | rules | CPU simulator |"
    yield "|---|---|---|---|---|---|"
    for chapter, found in chapters().items():
        for row in found:
            if row.section:
                yield _covered(chapter, row)


def _covered(chapter: str, row: Row) -> str:
    link = f"[{row.id}]({chapter}.md#{anchor(row.id)})"
    needs = row.needs
    cells = (
        link,
        "all" if needs.targets == EVERY_TARGET else spell(needs.targets),
        str(needs.since),
        str(len(spellings_of(row)) or ""),
        str(len(row.rules) or ""),
        simulated(row),
    )
    return "| " + " | ".join(cells) + " |"


# ---- opcodes ---------------------------------------------------------------------------------


def _opcodes() -> Iterator[str]:
    yield "# Opcode numbers\n"
    yield MADE
    yield "| number | opcode |"
    yield "|---|---|"
    numbered = {number: name for row in rows() for name, number in row.numbers.items()}
    for number, name in sorted(numbered.items()):
        yield f"| {number} | {name} |"


def _fixes() -> Iterator[str]:
    yield "# Where the manual, LLVM or ptxas is wrong or unclear\n"
    yield MADE
    yield "| subject | source | says | holds | shown by | found |"
    yield "|---|---|---|---|---|---|"
    for fix in FIXES:
        yield (
            f"| {fix.subject} | {fix.source} | {fix.says} | {fix.holds} | {fix.shown} "
            f"| {fix.date} |"
        )


# ---- the walkthrough's spelling --------------------------------------------------------------


def _walkthrough() -> Iterator[str]:
    yield "# The walkthrough's spelling of tcgen05\n"
    yield MADE
    yield "Intrinsics that a whole CTA calls together; the pass `expand-walkthrough` makes the"
    yield "machine's instructions of their records. The multiply carries its atom as metadata:"
    yield '`!nvgen.atom !{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}`.\n'
    yield "| intrinsic | arguments | result | record |"
    yield "|---|---|---|---|"
    for name, spelling in walkthrough_spellings().items():
        row, pattern = spelling.row, spelling.pattern
        opcode = "".join(row.opcode_ends) if row.pseudo else "TCGEN05_MMA_CTA_GROUP1_DENSE"
        arguments = re.sub(r"[:=]", " ", pattern.args).replace("p3", "ptr addrspace(3)")
        result = pattern.result.partition(":")[0].replace("v*f32", "<128 x float>") or "void"
        yield f"| llvm.nvvm.{name} | {arguments} | {result} | {opcode} |"
    yield "\nWhere the PTX that is documented with it is not the machine's:\n"
    yield "| form | judged | why | instead | section |"
    yield "|---|---|---|---|---|"
    for form in FORMS:
        yield (
            f"| {form.text} | {form.judge.value} | {form.why} | {form.instead} | {form.section} |"
        )
