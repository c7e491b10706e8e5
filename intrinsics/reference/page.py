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
from intrinsics.mir import opcode_name
from intrinsics.modifiers import Modifier
from intrinsics.multiplies.mma_atom import VARIANTS
from intrinsics.reference.row_page import MADE, anchor, chapter_page, simulated
from intrinsics.row import Attributes, Row
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
    yield "Intrinsics that a whole CTA calls together, or with `cta_group__2` both CTAs of a pair;"
    yield "the pass `expand-walkthrough` makes the machine's instructions of their records. The"
    yield "multiply carries its atom as metadata:"
    yield '`!nvgen.atom !{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}`. Behind the types'
    variants = ", ".join(f"`_{variant}` ({what})" for variant, what in VARIANTS.items())
    yield f"may stand {variants}."
    yield "A load gives 8 to 256 values, in steps of 8, as many as a thread holds of D; in a module"
    yield "with several its type may stand behind the name (`.v64f32`). A variant may also stand"
    yield "behind the CTA group (`tcgen05.mma.cta_group__1.sp`).\n"
    yield "| intrinsic | arguments | result | record |"
    yield "|---|---|---|---|"
    for name, spelling in walkthrough_spellings().items():
        row, pattern = spelling.row, spelling.pattern
        arguments = re.sub(r"[:=#]", " ", pattern.args).replace("p3", "ptr addrspace(3)")
        result = pattern.result.partition(":")[0] or "void"
        result = re.sub(r"^v\*", "vector of ", result)
        opcode = _opcode(row, spelling.attributes)
        yield f"| llvm.nvvm.{name} | {arguments} | {result} | {opcode} |"
    yield from _copy_codes()
    yield "\nWhere the PTX that is documented with it is not the machine's:\n"
    yield "| form | judged | why | instead | section |"
    yield "|---|---|---|---|---|"
    for form in FORMS:
        yield (
            f"| {form.text} | {form.judge.value} | {form.why} | {form.instead} | {form.section} |"
        )


def _opcode(row: Row, attributes: Attributes) -> str:
    if row.id == "walkthrough.cp":
        return "TCGEN05_CP_SMEM_TMEM_…"
    return opcode_name(row, {**dict.fromkeys(row.qualifier), **attributes})


def _copy_codes() -> Iterator[str]:
    """The numbers of the one intrinsic whose arguments spell qualifiers."""
    codes = walkthrough_spellings()["tcgen05.cp.smem.tmem"].pattern.codes
    yield "\nThe numbers of `tcgen05.cp.smem.tmem`:\n"
    yield "| argument | numbers |"
    yield "|---|---|"
    for qualifier, table in codes.items():
        listed = (
            f"{code} {attribute.value if isinstance(attribute, Modifier) else 'none'}"
            for code, attribute in table.items()
        )
        yield f"| {qualifier} | {', '.join(listed)} |"
