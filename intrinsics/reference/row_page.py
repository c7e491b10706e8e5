"""The reference pages of instructions: a page for each chapter of rows, a section for each row.

Layer: intrinsics.  Input: rows.  Output: lines of Markdown: syntax, targets, modifiers, operands,
how it executes, LLVM's intrinsics, rules, and whether the simulator runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from intrinsics.legality import expected, in_order, text_of
from intrinsics.modifiers import Modifier
from intrinsics.row import (
    Attribute,
    By,
    Effect,
    Guard,
    Literal,
    Llvm,
    Numbers,
    Operand,
    Qualifier,
    Row,
    Rule,
)
from intrinsics.targets import Capability, spell

MADE = "Made from the rows by `make docs`; do not edit.\n"


def chapter_page(name: str, rows: tuple[Row, ...]) -> Iterator[str]:
    """The page of the rows in one module."""
    yield f"# {name}\n"
    yield MADE
    for row in rows:
        if row.section:
            yield from _section(row)


def anchor(name: str) -> str:
    """The link anchor of a heading, as Markdown's renderers make it."""
    return re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


def simulated(row: Row) -> str:
    """Whether the simulator runs a row's instructions."""
    if not row.simulated:
        return "no"
    return "yes" + (f", but for {', '.join(row.unsimulated)}" if row.unsimulated else "")


def ptxas_says(rule: Rule) -> str:
    """The reaction of ptxas to a form that breaks a rule."""
    return "accepts" if rule.ptxas_accepts else "refuses"


def _section(row: Row) -> Iterator[str]:
    yield f"## {row.id}\n"
    yield f"    {_name(row)}  {row.syntax}".rstrip()
    yield ""
    yield f"PTX ISA, {row.section}. {_capability(row.needs)}"
    yield ""
    yield f"{_effects(row)} Simulated: {simulated(row)}."
    yield ""
    for qualifier in row.qualifier.values():
        optional = " (optional)" if qualifier.optional else ""
        yield f"- `.{qualifier.name}`{optional}: " + ", ".join(
            f"`{v.ptx}`" for v in qualifier.values
        )
    for operand in row.operands:
        yield f"- {operand.name}: {_operand(operand)}"
    if row.qualifier or row.operands:
        yield ""
    yield from _intrinsics(row)
    yield from _rules(row)


def _name(row: Row) -> str:
    parts = [row.head]
    for item in row.items:
        text = item.ptx if isinstance(item, Literal) else _qualifier_text(item)
        parts.append(text)
    return "".join(parts)


def _qualifier_text(qualifier: Qualifier) -> str:
    if len(qualifier.values) == 1:
        text = qualifier.values[0].ptx
    else:
        glued = qualifier.values[0].ptx.startswith("::")
        text = ("::" if glued else ".") + qualifier.name
    return f"{{{text}}}" if qualifier.optional else text


def _capability(capability: Capability) -> str:
    return f"Targets: {spell(capability.targets)}, PTX {capability.since} or later."


def _effects(row: Row) -> str:
    effects = row.effects
    whole = effects.effect & Effect.ALIGNED
    said = [f"Executed by {'a whole' if whole else 'a'} {effects.scope.value}."]
    if effects.is_asynchronous:
        said.append(f"Asynchronous; completes with {effects.completion.value}.")
    return " ".join(said)


def _operand(operand: Operand) -> str:
    type_ = operand.type
    if isinstance(type_, By):
        named = f"a type that .{type_.qualifier} decides"
    elif isinstance(type_, str):
        named = f"of type .{type_}"
    else:
        named = f"of type {type_.ptx}"
    numbers = operand.numbers
    limits = "" if isinstance(numbers, By) or str(numbers) == "any integer" else f"; {numbers}"
    if isinstance(numbers, Numbers) and numbers.ptxas_accepts:
        limits += f" (rule {numbers.rule}; ptxas accepts others)"
    if operand.distinct:
        limits += "; no register twice (rule repeated-register; ptxas refuses it late or never)"
    if operand.fraction:
        limits += "; above 0, and 1 at most"
    return f"{operand.access.value}s, {operand.kind.value}, {named}{limits}"


# ---- LLVM's intrinsics -----------------------------------------------------------------------


def _intrinsics(row: Row) -> Iterator[str]:
    if not row.llvm:
        return
    yield "| LLVM intrinsic | arguments | result |"
    yield "|---|---|---|"
    for pattern in row.llvm:
        name = f"`llvm.nvvm.{_pattern_name(row, pattern)}`" + " (nvgen's own)" * pattern.own
        yield f"| {name} | {_arguments(pattern)} | {_result(pattern)} |"
    yield ""
    yield from _codes(row)


def _pattern_name(row: Row, pattern: Llvm) -> str:
    def choice(hole: re.Match[str]) -> str:
        table = pattern.holes.get(hole[1])
        texts = (
            list(table) if table is not None else [v.value for v in row.qualifier[hole[1]].values]
        )
        return "{" + ",".join(texts) + "}"

    return re.sub(r"\{(\w+)\}", choice, pattern.name)


def _arguments(pattern: Llvm) -> str:
    return ", ".join(filter(None, map(_argument, pattern.args.split(", "))))


def _argument(text: str) -> str:
    found = re.fullmatch(r"([\w*]+)([:#?=])(.+)", text)
    if found is None:
        return text
    type_, mark, name = found.groups()
    type_ = re.sub(r"^p(\d+)$", r"ptr addrspace(\1)", type_) if type_ != "p" else "ptr"
    type_ = re.sub(r"^v(\d+|\*)(\w+)$", lambda m: f"<{m[1].replace('*', 'n')} x {m[2]}>", type_)
    ends = {":": name, "#": f"{name} (code)", "?": f"whether {name} counts", "=": "ignored"}
    return f"{type_} {ends[mark]}"


def _codes(row: Row) -> Iterator[str]:
    """What the immediates stand for."""
    texts = [
        f"- code of {qualifier}: "
        + ", ".join(f"{n} {_coded(attribute)}" for n, attribute in code.items())
        for pattern in row.llvm
        for qualifier, code in pattern.codes.items()
        if f"#{qualifier}" in pattern.args
    ]
    if texts:
        yield from dict.fromkeys(texts)
        yield ""


def _coded(attribute: Attribute) -> str:
    return _attribute(attribute) if attribute is not None else "nothing"


def _result(pattern: Llvm) -> str:
    results = [_argument(text).rpartition(" ")[0] for text in pattern.result.split(", ") if text]
    return ", ".join(results) or "void"


# ---- rules -----------------------------------------------------------------------------------


def _rules(row: Row) -> Iterator[str]:
    if not row.rules:
        return
    yield "| rule | when | must | message | ptxas |"
    yield "|---|---|---|---|---|"
    for rule in row.rules:
        cells = (rule.id, _guard(rule.guard), _demand(rule), text_of(rule), ptxas_says(rule))
        yield "| " + " | ".join(cells) + " |"
    yield ""


def _guard(guard: Guard) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(map(_attribute, in_order(allowed))) for name, allowed in guard.terms
    )


def _attribute(attribute: Attribute) -> str:
    if isinstance(attribute, Modifier):
        return f"`{attribute.ptx}`" if attribute.ptx.startswith((".", ":")) else attribute.value
    return {True: "given", False: "absent", None: "absent"}[attribute]


def _demand(rule: Rule) -> str:
    if isinstance(rule.demand, Guard):
        return _guard(rule.demand)
    return expected(rule) if isinstance(rule.demand, Capability) else "never"
