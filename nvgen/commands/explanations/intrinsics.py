"""`nvgen explain llvm.nvvm.X` and `nvgen explain --signatures`: the intrinsics that nvgen selects.

Layer: nvgen.commands.  Input: a name.  Output: its declaration, the row that it is selected to with
the opcodes of its forms, the targets and the PTX version that have it, the section of the manual.
"""

from __future__ import annotations

import json
import sys

from intrinsics import catalog
from intrinsics.patterns import PREFIX
from intrinsics.special import special_registers
from intrinsics.targets import Capability, spell
from isel.diagnostics import nearest
from isel.select.intrinsics.unselected import unselected
from isel.select.intrinsics.written import statement_of
from nvgen.commands.explanations.question import Fields, Question
from nvgen.llvm.signatures import signature, signatures


def intrinsic(question: Question) -> Fields:
    """Describe an intrinsic; one without a row by its PTX, or by why it is not selected.

    Raises: ValueError for one that nvgen knows nothing of, with the nearest names.
    """
    name = question.text
    short = name.removeprefix(PREFIX)
    if why := unselected(short):
        return [("", "not selected", why.reason), ("", "instead", why.instead or "nothing")]
    declared = signature(name)
    statement = statement_of(name)
    if statement is not None and not declared:
        shown = [("", "statement", text) for text in statement.texts]
        return [*shown, ("", "constraints", statement.constraints)]
    if not declared:
        near = nearest(name, signatures())
        raise ValueError("nvgen has no row for this intrinsic" + (f"; {near}" if near else ""))
    return [
        ("", "declaration", declared),
        *(("", key, text) for key, text in _attributes(name).items()),
    ]


def _attributes(name: str) -> dict[str, str]:
    """The row that an intrinsic is selected to, and where it exists."""
    spelling = catalog.spelling(name.removeprefix(PREFIX))
    if spelling is None:
        register = next(r for r in special_registers().values() if PREFIX + r.llvm == name)
        return {"selected to": f"mov from %{register.name}", **_where(register.needs)}
    row = spelling.row
    opcodes = sorted(
        {
            form.opcode
            for form in catalog.forms(row)
            if all(
                form.attributes.get(qualifier, attribute) == attribute
                for qualifier, attribute in spelling.attributes.items()
            )
        }
    )
    shown = ", ".join(opcodes[:4]) + (f" and {len(opcodes) - 4} more" if len(opcodes) > 4 else "")
    section = {"manual": f"PTX ISA, {row.section}"} if row.section else {}
    return {"selected to": f"{row.id}: {shown}", **_where(row.needs), **section}


def _where(needs: Capability) -> dict[str, str]:
    return {"targets": spell(needs.targets), "ptx": f"{needs.since} or later"}


def print_signatures(format: str) -> None:
    """Print all intrinsics: `ll`, as lines to paste, or `json`."""
    declared = signatures()
    if format == "ll":
        sys.stdout.write("\n".join(declared.values()) + "\n")
        return
    rows = [{"name": name, "declare": text, **_needs(name)} for name, text in declared.items()]
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


def _needs(name: str) -> dict[str, str]:
    spelling = catalog.spelling(name.removeprefix(PREFIX))
    if spelling is not None:
        return {"row": spelling.row.id, **_where(spelling.row.needs)}
    register = next(r for r in special_registers().values() if PREFIX + r.llvm == name)
    return {"row": "mov", **_where(register.needs)}
