"""Statements about the stack of a thread, enumerated from the manual's syntax.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, shuffle, spoil, statement, unique


def stack() -> list[str]:
    """alloca, stacksave, stackrestore ("Stack Manipulation Instructions").

    Every type x size x alignment, every register of stacksave and stackrestore; perturbations.
    """
    types = (".u32", ".u64", ".b32", ".b64", ".s64", ".u16", ".f32", "")
    registers = ("%r1", "%rd1", "%h1", "%s1", "%ud1", "%f1", "_", "16")
    sizes = ("%r2", "%rd2", "64", "0", "-8")
    aligns = ("", "1", "2", "3", "0", "16", "4096", "8388608", "16777216", "-8", "%r3", "1.0")
    out = []
    for type_, (register, size) in itertools.product(
        types, (("%r1", "%r2"), ("%rd1", "%rd2"), ("%rd1", "64"), ("%r1", "%rd2"))
    ):
        out += [statement(f"alloca{type_}", register, size, align) for align in aligns]
    for type_, size in itertools.product((".u32", ".u64"), sizes):
        out += [statement(f"alloca{type_}", register, size, "8") for register in registers]
    for head, type_ in itertools.product(("stacksave", "stackrestore"), types):
        out += [statement(f"{head}{type_}", register) for register in registers]
        out += spoil(f"{head}{type_}", ("%rd1",), SOME)
        out += shuffle(head, [type_], "%rd1") if type_ else ()
    out += spoil("alloca.u64", ("%rd1", "%rd2", "16"))
    out += spoil("alloca.u64", ("%rd1", "%rd2"), SOME)
    out += shuffle("alloca", [".u64"], "%rd1", "%rd2")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {"stack": stack}
