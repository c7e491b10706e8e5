"""The lowest PTX version that a module needs.

Layer: isel.verifier.  Input: a module and a target.  Output: a version; each row, special register
and directive says since which version it is there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from intrinsics.mir import Form, Launch, MachineInstr, Module, Special, Text
from intrinsics.operand_types import later_numbers
from intrinsics.row import Kind
from intrinsics.special import special_registers
from intrinsics.targets import PTX_VERSIONS, Ptx, Target
from isel.verifier.record import RecordVerifier, known_form


def _of_launch(launch: Launch) -> Ptx | None:
    """The PTX version that has the directives of a launch."""
    if launch.blocks_are_clusters:
        return Ptx(9, 0)
    return Ptx(7, 8) if launch.cluster or launch.maxclusterrank else None


_MASKS_SINCE = Ptx(7, 1)
"""The PTX version that has bytes of addresses among initial values.  PTX ISA, Initializers."""


_KEPT_SINCE = ((re.compile(r"(?:^|\s)cvt\.(?:[\w:]+\.)*rs\."), Ptx(8, 7)),)
"""The PTX versions that have statements which are kept as text.  PTX ISA, cvt: Release Notes."""


def lowest_ptx(module: Module, target: Target) -> Ptx:
    """The lowest PTX version that `target` and the forms in `module` need.

    What no version of `target` has is reported by the verifier.
    """
    verifier = RecordVerifier(target, PTX_VERSIONS[-1])
    known = _needs_of_forms(target)
    needed: list[Ptx | None] = [target.first_ptx, PTX_VERSIONS[0]]
    needed += [_MASKS_SINCE for variable in module.variables if variable.has_parts_of_addresses]
    for function in module.functions:
        needed.append(_of_launch(function.launch))
        open_forms: set[Form] = set()
        for form in function.forms():
            need, is_open = known[form]
            needed.append(need)
            if is_open:
                open_forms.add(form)
        if not open_forms:
            continue
        for block in function.blocks:
            for mi in block.instrs:
                if mi.form in open_forms:
                    needed += _needs_of_record(mi, verifier)
    return max([ptx for ptx in needed if ptx is not None])


def _needs_of_record(mi: MachineInstr, verifier: RecordVerifier) -> Iterator[Ptx | None]:
    """The PTX versions that a record's operands or packed words need."""
    target = verifier.target
    for op in mi.ops:
        if type(op) is Special:
            yield _need_of_special(op.name, target)
        elif type(op) is Text:
            yield from (since for statement, since in _KEPT_SINCE if statement.search(op.text))
    if mi.row.packed_fields is not None:
        yield verifier.known(mi).judgement.newest_need(target)
    for _, later in later_numbers(mi.form, mi.ops):
        yield later.needs.first_ptx(target)


@functools.cache
def _need_of_special(name: str, target: Target) -> Ptx | None:
    """The PTX version that a special register needs on a target; None if there is none."""
    register = special_registers().get(name)
    return register.needs.first_ptx(target) if register is not None else None


class _NeedsOfForms(dict[Form, tuple[Ptx | None, bool]]):
    """The PTX versions that forms need on a target, and whether records may need a later one.

    For a form with packed words only records tell.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

    def __missing__(self, form: Form) -> tuple[Ptx | None, bool]:
        if form.row.packed_fields is not None:
            need, is_open = None, True
        else:
            need = known_form(form).judgement.newest_need(self._target)
            is_open = _depends_on_operands(form)
        self[form] = need, is_open
        return need, is_open


_needs_of_forms = functools.cache(_NeedsOfForms)


def _depends_on_operands(form: Form) -> bool:
    """Whether a form has operands (special registers, numbers, text) that may need a version."""
    return form.row.id == "opaque" or any(
        o.specials or o.kind is Kind.SOURCE or o.numbers_under(form.attributes).later
        for o in form.operands
        if o is not None
    )
