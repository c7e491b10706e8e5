"""Explanations of immediate arguments of intrinsics that LLVM's verifier finds out of range, or no
numbers.

Layer: nvgen.  Input: the verifier's message and the call that it prints.  Output: a finding: the
row's rule that the number breaks, in its own words, else the numbers that there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import Finding, Place, Severity
from intrinsics.legality import describe, expected, got, judge, section_of, subject_of, text_of
from intrinsics.modifiers import Modifier
from intrinsics.patterns import PREFIX, Argument, arguments
from intrinsics.row import Attribute
from intrinsics.rows.tcgen05_mma_names import EVERY_CODE

_MESSAGE = re.compile(r"immarg value (-?\d+) out of range \[(-?\d+), (-?\d+)\)")
_NO_NUMBER = "immarg operand has non-immediate parameter"
_CALLEE = re.compile(r'@"?([\w.]+)"?\(')
_CALL = re.compile(r'@"?(llvm\.nvvm\.[\w.]+)"?\((.*)\)')


def immediate_wrong(message: str, printed: str, place: Place) -> list[Finding]:
    """The finding about a number that LLVM's verifier reports as out of range; None for other
    messages.
    """
    found, call = _MESSAGE.match(message), _CALL.search(printed)
    spelling = catalog.spelling(call[1].removeprefix(PREFIX)) if call else None
    if found is None or call is None or spelling is None:
        return []
    numbers = dict(_numbers(arguments(spelling.pattern.args), call[2]))
    attributes = _attributes(spelling, numbers)
    broken = judge(spelling.row, attributes).broken
    if broken:
        return [
            Finding(
                f"{spelling.row.head}/{rule.id}",
                Severity.ERROR,
                text_of(rule),
                place,
                op=spelling.row.spell(attributes),
                got=got(rule, attributes),
                expected=expected(rule),
                hint=rule.hint,
                section=f"PTX ISA, {section_of(spelling.row, rule)}",
                subject=subject_of(rule),
            )
            for rule in broken
        ]
    value = int(found[1])
    unknown = [
        (name, n) for name, given in numbers.items() for n in given if _unknown(spelling, name, n)
    ]
    if (
        not unknown
    ):  # a number without a code: which argument it is can be told where it is only one
        names = [name for name, given in numbers.items() if value in given]
        unknown = [(names[0], value)] if len(names) == 1 else []
    return [_no_number(spelling, name, number, found, place) for name, number in unknown]


def immediate_missing(message: str, printed: Sequence[str], place: Place) -> list[Finding]:
    """The finding about a value in the place of a number, which LLVM prints before the call; none
    for other messages.
    """
    if message != _NO_NUMBER or not printed:
        return []
    actual, *rest = printed
    text = " ".join(rest)
    call, callee = _CALL.search(text), _CALLEE.search(text)
    spelling = catalog.spelling(call[1].removeprefix(PREFIX)) if call else None
    name, known, section = "", list[str](), ""
    if spelling is not None and call is not None:
        pairs = zip(arguments(spelling.pattern.args), _split(call[2]), strict=False)
        name = next((formal.name for formal, given in pairs if given == actual), "")
        known = _known_numbers(spelling, name)
        section = f"PTX ISA, {spelling.row.section}"
    return [
        Finding(
            "llvm/immediate",
            Severity.ERROR,
            f"{name or 'this argument'} is a part of the instruction: a number, never computed",
            place,
            op=spelling.row.head if spelling else callee[1] if callee else "",
            got=actual,
            expected=", ".join(known) or "a number",
            hint="a call for each number, and a branch that chooses one",
            section=section,
            subject=name,
        )
    ]


def _unknown(spelling: Spelling, name: str, number: int) -> bool:
    """Whether an argument has codes, and none of them is the number."""
    codes = _codes(spelling, name)
    return bool(codes) and number not in codes


def _numbers(formal: Sequence[Argument], text: str) -> dict[str, list[int]]:
    """The literals among the arguments, by what they are for."""
    found: dict[str, list[int]] = {}
    for argument, actual in zip(formal, _split(text), strict=False):
        literal = re.fullmatch(r"i\d+ (-?\d+)", actual)
        if literal is not None:
            found.setdefault(argument.name, []).append(int(literal[1]))
    return found


def _split(text: str) -> list[str]:
    """The arguments of a call: those of a constant expression stay together."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _attributes(spelling: Spelling, numbers: Mapping[str, list[int]]) -> dict[str, Attribute]:
    """What the name and the numbers of a call state."""
    formal = arguments(spelling.pattern.args)
    attributes: dict[str, Attribute] = dict.fromkeys(spelling.row.attribute_names)
    attributes |= dict.fromkeys(spelling.row.optional, False)
    attributes |= {a.name: True for a in formal if a.name in spelling.row.optional}
    attributes |= dict(spelling.attributes)
    for name, given in numbers.items():
        attribute = _codes(spelling, name).get(given[0]) if len(given) == 1 else None
        if attribute is not None:
            attributes[name] = attribute
    return attributes


def _codes(spelling: Spelling, name: str) -> Mapping[int, Attribute]:
    """The numbers that LLVM has for a qualifier, in this intrinsic or another of its family."""
    own = spelling.pattern.codes.get(name, {})
    return {**EVERY_CODE.get(name, {}), **own} if spelling.row.packed_fields is not None else own


def _known_numbers(spelling: Spelling, name: str) -> list[str]:
    """The numbers that an argument may be, with what they stand for."""
    codes = _codes(spelling, name)
    return [f"{n} ({describe(m)})" for n, m in codes.items() if isinstance(m, Modifier)]


def _no_number(
    spelling: Spelling, name: str, value: int, found: re.Match[str], place: Place
) -> Finding:
    shown = _known_numbers(spelling, name)
    return Finding(
        f"{spelling.row.head}/immediate-range",
        Severity.ERROR,
        f"{name} is out of range",
        place,
        op=spelling.row.head,
        got=str(value),
        expected=", ".join(shown) or f"{found[2]}..{int(found[3]) - 1}",
        section=f"PTX ISA, {spelling.row.section}",
        subject=name,
    )
