"""Loads that extend what they load by its sign, for nothing.

Layer: isel.passes.  Input and output: a function in SSA form, without common subexpressions.  A
load of 8 or 16 bits whose result is only extended, once, extends it itself: the register may be
wider than what is loaded.  PTX ISA, ld; Operand Size Exceeding Instruction-Type Size.
"""

from __future__ import annotations

from collections import Counter

from intrinsics.memo import Memo
from intrinsics.mir import Form, MachineFunction, MachineInstr, Reg, form_of
from intrinsics.modifiers import PARAM_SPACES, ScalarType

T = ScalarType

_SIGNED = {T.S8: 8, T.S16: 16}
_NARROW = {T.B8: 8, T.B16: 16}
_WIDE = (T.S16, T.S32, T.S64)

_OTHERWISE = ("vec", "sem", "io")
"""Qualifiers of loads of several, and of those that are ordered or volatile."""


def _extended(form: Form) -> ScalarType | None:
    """The type that a conversion extends by its sign; None for all other forms."""
    if form.row.id != "cvt.int" or form.attributes.get("dtype") not in _WIDE:
        return None
    found = form.attributes.get("atype")
    return found if isinstance(found, ScalarType) and found in _SIGNED else None


def _loaded(form: Form) -> ScalarType | None:
    """The type of 8 or 16 bits that a form loads one of, of no parameter; None for other forms."""
    if form.row.id != "ld" or any(form.attributes.get(one) is not None for one in _OTHERWISE):
        return None
    if form.attributes.get("space") in PARAM_SPACES:
        return None
    found = form.attributes.get("type")
    return found if isinstance(found, ScalarType) and found in _NARROW else None


_EXTENDED, _LOADED = Memo(_extended), Memo(_loaded)


def extend_in_loads(function: MachineFunction) -> None:
    """Let loads extend what is only loaded to be extended."""
    loads: dict[Reg, MachineInstr] = {}
    extensions: list[MachineInstr] = []
    for mi in function.instructions():
        if _LOADED[mi.form] is not None and type(mi.ops[0]) is int:
            loads[mi.ops[0]] = mi
        elif _EXTENDED[mi.form] is not None and mi.guard is None:
            extensions.append(mi)
    found = [mi for mi in extensions if mi.ops[1] in loads] if loads else []
    if not found:
        return
    read = Counter(reg for mi in function.instructions() for reg in mi.uses())
    written = Counter(reg for mi in function.instructions() for reg in mi.defs())
    gone: set[int] = set()
    for mi in found:
        source = mi.ops[1]
        assert type(source) is int
        if read[source] == written[source] == 1 and _extends(mi, loads[source]):
            gone.add(id(mi))
    for block in function.blocks if gone else ():
        block.instrs = [mi for mi in block.instrs if id(mi) not in gone]


def _extends(mi: MachineInstr, load: MachineInstr) -> bool:
    """Let a load do what an extension does, if it loads all that this extends."""
    type_, loaded = _EXTENDED[mi.form], _LOADED[load.form]
    assert type_ is not None
    assert loaded is not None
    if _SIGNED[type_] != _NARROW[loaded] or load.guard is not None:
        return False
    load.form = form_of(load.form.row, **{**load.form.attributes, "type": type_})
    load.ops = (mi.ops[0], *load.ops[1:])
    return True
