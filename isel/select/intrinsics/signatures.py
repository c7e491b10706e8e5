"""Whether a call has the arguments and the results that an intrinsic's pattern says.

Layer: isel.select.  Input: a call and the spelling of a row.  Output: its arguments, grouped as the
pattern has them, or an error that names the one that does not fit.
"""

from __future__ import annotations

import functools

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.patterns import PAIRS, PREFIX, Argument, arguments, element_type, results
from intrinsics.row import Attribute, Operand, Row
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.ir import Call
from isel.llvm.types import PointerType, Type, VectorType


@functools.lru_cache(1 << 12)
def lengths(spelling: Spelling) -> tuple[int, ...]:
    """The number of call arguments for each formal argument; 0 for all that are left."""
    found = []
    for argument in arguments(spelling.pattern.args):
        if argument.type.startswith("n*"):
            count = spelling.row.operand[argument.name].count
            assert count is not None
            found.append(count.of(spelling.attributes))
        else:
            found.append(0 if argument.type.endswith("*") else 1)
    return tuple(found)


def group(
    call: Call, name: str, formal: tuple[Argument, ...], sizes: tuple[int, ...]
) -> list[tuple[llvm.Value, ...]]:
    """The call's arguments, one group for each formal argument; `sizes` is from `lengths`.

    Raises: Unselectable when their number or types are not what the pattern says.
    """
    spare = len(call.arguments) - sum(sizes)
    grouped = []
    at = 0
    for argument, size in zip(formal, sizes, strict=True):
        count = size or spare
        group = call.arguments[at : at + count]
        at += count
        if count < 1 or len(group) != count:
            break
        for value in group:
            if not _matches(argument.type, value.type):
                raise Unselectable(
                    "signature",
                    f"@{name}: {argument.name} has type {value.type}",
                    op=name,
                    got=str(value.type),
                    expected=_type_text(argument.type),
                    subject=argument.name,
                )
        grouped.append(group)
    if at != len(call.arguments) or len(grouped) != len(formal):
        raise Unselectable(
            "signature",
            f"@{name} takes {sum(size or 1 for size in sizes)} arguments",
            op=name,
            got=f"{len(call.arguments)} arguments",
            expected=", ".join(
                f"{size} times {_type_text(a.type)}" if size > 1 else _type_text(a.type)
                for a, size in zip(formal, sizes, strict=True)
            ),
        )
    return grouped


@functools.cache
def _matches(text: str, type_: Type) -> bool:
    """Whether an argument of a type may stand where a pattern has `text`, or for one of several."""
    text = element_type(text.rstrip("*"))
    if text in PAIRS:
        return str(type_) == PAIRS[text]
    if text.startswith("v"):
        element = type_.element if isinstance(type_, VectorType) else type_
        return str(element) == text.rpartition("*")[2] or str(element) == f"i{text.split('i')[-1]}"
    if text.startswith("p"):
        return isinstance(type_, PointerType) and type_.address_space == int(text[1:] or 0)
    return str(type_) == text


def argument_position(name: str, subject: str) -> int | None:
    """The position of the argument of intrinsic `name` that sets `subject`, if there is one."""
    spelling = catalog.spelling(name.removeprefix(PREFIX))
    if spelling is None:
        return None
    position = 0
    for argument, size in zip(arguments(spelling.pattern.args), lengths(spelling), strict=True):
        if argument.name == subject:
            return position
        if not size:
            return None
        position += size
    return None


def _type_text(text: str) -> str:
    text = element_type(text)
    if text in PAIRS:
        return PAIRS[text]
    if text.startswith("p"):
        return f"ptr addrspace({text[1:]})" if text[1:] else "ptr"
    return text.replace("v*", "vector of ")


def check_result(
    call: Call, name: str, spelling: Spelling, attributes: dict[str, Attribute]
) -> None:
    """LLVM checks the results of its own intrinsics, and nvgen those that LLVM does not have.

    Raises: Unselectable.
    """
    text = spelling.pattern.result
    if not text.startswith(("{v*", "v*", "n*")):
        return
    parts = (_result_text(spelling.row.operand[a.name], a.type, attributes) for a in results(text))
    wanted = ", ".join(parts)
    if text.startswith("{"):
        wanted = f"{{ {wanted} }}"
    if str(call.type) != wanted:
        raise Unselectable(
            "signature", f"@{name} gives {wanted}", op=name, got=str(call.type), expected=wanted
        )


def check_vectors(
    name: str,
    row: Row,
    formal: tuple[Argument, ...],
    actual: list[tuple[llvm.Value, ...]],
    attributes: dict[str, Attribute],
) -> None:
    """Whether vectors are as long as the instruction's, which LLVM checks in its own intrinsics.

    Raises: Unselectable.
    """
    for argument, values in zip(formal, actual, strict=True):
        if not argument.type.startswith("v*"):
            continue
        wanted = _result_text(row.operand[argument.name], argument.type, attributes)
        found = str(values[0].type)
        if found != wanted:
            raise Unselectable(
                "signature",
                f"@{name}: {argument.name} has type {found}",
                op=name,
                got=found,
                expected=wanted,
                subject=argument.name,
            )


def _result_text(operand: Operand, text: str, attributes: dict[str, Attribute]) -> str:
    """A result's type as LLVM prints it; a vector of one element is that element."""
    if not text.startswith(("v*", "n*")) or operand.count is None:
        return text
    count = operand.count.of(attributes)
    if text.startswith("n*"):
        one = _type_text(text)
        return f"{{ {', '.join([one] * count)} }}" if count > 1 else one
    element = "float" if text == "v*f32" else text[2:]
    return f"<{count} x {element}>" if count > 1 else element
