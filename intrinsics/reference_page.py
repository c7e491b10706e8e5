"""The reference pages, derived from the rows.

Instructions, coverage, opcode numbers, fixes, and the walkthrough's spelling.

Layer: intrinsics.  `python -m intrinsics.reference_page` writes them to `intrinsics/reference`; a
test holds them up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from intrinsics.catalog import rows, spellings_of, walkthrough_spellings
from intrinsics.fixes import FIXES
from intrinsics.legality import expected, in_order, text_of
from intrinsics.modifiers import Modifier
from intrinsics.row import Axis, By, Fact, Guard, Literal, Operand, Row, Rule
from intrinsics.targets import Capability, spell
from intrinsics.walkthrough_forms import FORMS

FOLDER = Path(__file__).parent / "reference"


def pages() -> dict[str, str]:
    """Every page, by file name."""
    return {
        "instructions.md": "\n".join(_instructions()) + "\n",
        "coverage.md": "\n".join(_coverage()) + "\n",
        "opcodes.md": "\n".join(_opcodes()) + "\n",
        "fixes.md": "\n".join(_fixes()) + "\n",
        "walkthrough.md": "\n".join(_walkthrough()) + "\n",
    }


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


_MADE = "Made from the rows by `make reference`; do not edit.\n"


# ---- instructions ----------------------------------------------------------------------------


def _instructions() -> Iterator[str]:
    yield "# Instructions\n"
    yield _MADE
    for row in rows():
        if row.section:
            yield from _instruction(row)


def _instruction(row: Row) -> Iterator[str]:
    yield f"## {row.id}\n"
    yield f"    {_name(row)}  {row.syntax}".rstrip()
    yield ""
    yield f"PTX ISA, {row.section}. {_capability(row.needs)}"
    yield ""
    for axis in row.axis.values():
        optional = " (optional)" if axis.optional else ""
        yield f"- `.{axis.name}`{optional}: " + ", ".join(f"`{v.ptx}`" for v in axis.values)
    for operand in row.operands:
        yield f"- {operand.name}: {_operand(operand)}"
    if row.axis or row.operands:
        yield ""
    if row.rules:
        yield "| rule | when | must | message |"
        yield "|---|---|---|---|"
        for rule in row.rules:
            yield f"| {rule.id} | {_guard(rule.guard)} | {_demand(rule)} | {text_of(rule)} |"
        yield ""


def _name(row: Row) -> str:
    parts = [row.head]
    for item in row.items:
        text = item.ptx if isinstance(item, Literal) else _axis_text(item)
        parts.append(text)
    return "".join(parts)


def _axis_text(axis: Axis) -> str:
    if len(axis.values) == 1:
        text = axis.values[0].ptx
    else:
        glued = axis.values[0].ptx.startswith("::")
        text = ("::" if glued else ".") + axis.name
    return f"{{{text}}}" if axis.optional else text


def _capability(capability: Capability) -> str:
    return f"Targets: {spell(capability.targets)}, PTX {capability.since} or later."


def _operand(operand: Operand) -> str:
    type_ = operand.type
    if isinstance(type_, By):
        named = f"a type that .{type_.axis} decides"
    elif isinstance(type_, str):
        named = f"of type .{type_}"
    else:
        named = f"of type {type_.ptx}"
    numbers = operand.numbers
    limits = "" if isinstance(numbers, By) or str(numbers) == "any integer" else f"; {numbers}"
    return f"{operand.access.value}s, {operand.kind.value}, {named}{limits}"


def _guard(guard: Guard) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(map(_fact, in_order(allowed))) for name, allowed in guard.terms
    )


def _fact(fact: Fact) -> str:
    if isinstance(fact, Modifier):
        return f"`{fact.ptx}`" if fact.ptx.startswith((".", ":")) else fact.value
    return {True: "given", False: "absent", None: "absent"}[fact]


def _demand(rule: Rule) -> str:
    if isinstance(rule.demand, Guard):
        return _guard(rule.demand)
    return expected(rule) if isinstance(rule.demand, Capability) else "never"


# ---- coverage --------------------------------------------------------------------------------


def _coverage() -> Iterator[str]:
    yield "# Coverage\n"
    yield _MADE
    yield "| instruction | LLVM intrinsics | CPU simulator |"
    yield "|---|---|---|"
    for row in rows():
        if row.section:
            yield f"| {row.id} | {len(spellings_of(row)) or ''} | {_simulated(row)} |"


def _simulated(row: Row) -> str:
    if not row.simulated:
        return "no"
    return "yes" + (f", but for {', '.join(row.unsimulated)}" if row.unsimulated else "")


# ---- opcodes ---------------------------------------------------------------------------------


def _opcodes() -> Iterator[str]:
    yield "# Opcode numbers\n"
    yield _MADE
    yield "| number | opcode |"
    yield "|---|---|"
    numbered = {number: name for row in rows() for name, number in row.numbers.items()}
    for number, name in sorted(numbered.items()):
        yield f"| {number} | {name} |"


def _fixes() -> Iterator[str]:
    yield "# Where the manual, LLVM or ptxas is wrong or unclear\n"
    yield _MADE
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
    yield _MADE
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


if __name__ == "__main__":
    main()
