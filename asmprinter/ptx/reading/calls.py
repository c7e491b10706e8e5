"""Calls in PTX text.

Layer: asmprinter.  Input: what stands behind `call`, and what names mean there.  Output: the
operands of the record.  PTX ISA, Control Flow Instructions: call.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from asmprinter.ptx.reading.tokens import OperandError, UndeclaredError
from asmprinter.ptx.source import NAME
from intrinsics.mir import Op, Scalar, Sym

_CALL = re.compile(
    rf"(?:\((?P<results>[^()]*)\)\s*+,\s*+)?(?P<callee>{NAME})\s*+"
    rf"(?:,\s*+\((?P<params>[^()]*)\)\s*+)?(?:,\s*+(?P<table>{NAME})\s*+)?"
)


def parse_call(text: str, resolve: Callable[[str], Op | None]) -> dict[str, Op] | None:
    """The operands by their slots; None for a call that nvgen does not model.

    That is one whose parameters are registers, or which lists the functions that it may call.

    Raises: OperandError for what is no call, or names what is not declared.
    """
    match = _CALL.fullmatch(text.strip())
    if match is None:
        raise OperandError("expected (results), function, (parameters)")
    callee = _named(match["callee"], resolve)
    found: dict[str, Op] = {"callee": callee}
    for slot in ("results", "params"):
        names = [n.strip() for n in (match[slot] or "").split(",") if n.strip()]
        parts = tuple(_named(name, resolve) for name in names)
        if any(not isinstance(part, Sym) for part in parts):
            return None
        if parts:
            found[slot] = parts
    table = match["table"]
    if (type(callee) is int) != (table is not None):
        return None
    if table is not None:
        found["prototype"] = _named(table, resolve)
    return found


def _named(name: str, resolve: Callable[[str], Op | None]) -> Scalar:
    found = None if name == "_" else resolve(name)
    if found is None or isinstance(found, tuple):
        raise UndeclaredError(name)
    return found
