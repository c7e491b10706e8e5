"""`nvgen explain RULE`: what a rule says, with what ptxas says of the same.

Layer: nvgen.commands.  Input: the id of a rule, as findings give it.  Output: its message,
severity, what is expected, a way out, the section of the manual.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics import catalog
from intrinsics.legality import section_of, text_of
from intrinsics.reference.row_page import ptxas_says
from isel.rule_ids import is_rule, nearest, verifier_rules
from nvgen.commands.explanations.question import Fields, Question


def rule(question: Question) -> Fields:
    """A rule's text; for one known only by its id, its origin.

    Raises: ValueError for an id that no rule has, with the nearest ones.
    """
    name = question.text
    told = [*_of_functions(name), *_of_instructions(name)]
    if told:
        return list(dict.fromkeys(told))
    if is_rule(name) and "*" not in name:
        return [
            ("", "message", "said with what is wrong: `nvgen check` prints it where it holds"),
            ("", "level", "readers, operands and words: judged always"),
        ]
    if name.startswith("sim/"):
        raise ValueError(
            "what a run finds is no rule: the finding says what the simulator knows, and "
            "docs/simulator-and-races.md what it looks for"
        )
    near = nearest(name)
    raise ValueError(
        "no rule has this id" + (f"; did you mean {' or '.join(near)}?" if near else "")
    )


def _of_functions(name: str) -> Iterator[tuple[str, str, str]]:
    """What the rules about descriptors, functions and launches say."""
    op = name.rpartition("/")[0]
    for one in verifier_rules():
        if one.id.format(op=op) != name:
            continue
        text = one.text.format(op=op, name="an operand")
        section = one.section or "the instruction's own section"
        yield from _fields(text, one.severity.value, one.expected, one.hint, section, one.ptxas)


def _of_instructions(name: str) -> Iterator[tuple[str, str, str]]:
    """What the rules of the rows say."""
    op, _, last = name.rpartition("/")
    for row in catalog.rows():
        for one in row.rules if row.head == op else ():
            if one.id == last:
                section = section_of(row, one)
                yield from _fields(text_of(one), "error", "", one.hint, section, ptxas_says(one))


def _fields(
    text: str, severity: str, expected: str, hint: str, section: str, ptxas: str
) -> Iterator[tuple[str, str, str]]:
    yield "", "message", text
    yield "", "severity", severity
    if expected:
        yield "", "expected", expected
    if hint:
        yield "", "help", hint
    yield "", "manual", f"PTX ISA, {section}"
    yield "", "ptxas", ptxas
