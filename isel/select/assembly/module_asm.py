"""Module-level assembly (`module asm "…"`): PTX that a module brings along.

Layer: isel.select.  Input: its lines, and the lines of the user's text that they stand in.  Output:
variables and functions as machine records, added to a module; or the text as it stands, at the head
of the module, where something in it is not known to nvgen.  LLVM Language Reference, Module-Level
Inline Assembly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from asmprinter.ptx.headers import signature
from intrinsics.findings import Finding, Place, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    DirectivePosition,
    KeptDirective,
    MachineFunction,
    Module,
    Prototype,
    Variable,
)
from intrinsics.targets import PTX_VERSIONS, Ptx, Target
from isel.diagnostics import Unselectable

_NAME = re.compile(r"[A-Za-z_$%][\w$]*")


@dataclass(frozen=True, slots=True)
class ModuleAssembly:
    """Module-level assembly: its definitions, or the names in its text, and notes about it.

    `defined` are names that LLVM IR may declare: they are here.
    """

    module: Module | None
    defined: frozenset[str]
    notes: tuple[Finding, ...] = ()


NOTHING = ModuleAssembly(None, frozenset())


def read_module_assembly(
    lines: Sequence[str],
    target: Target,
    ptx: Ptx | None,
    places: Sequence[Place],
    known: Sequence[Prototype | Variable] = (),
) -> ModuleAssembly:
    """Read `lines`, which stand at `places`; the last place stands for further lines.

    `known` are functions and variables of LLVM IR that they may name.
    """
    from asmprinter.ptx.reading.reader import read_ptx  # what most modules never need

    text = "\n".join(lines)
    version = ptx or PTX_VERSIONS[-1]
    head = [f".version {version}", f".target {target}", ".address_size 64"]
    words = frozenset(_NAME.findall(text))
    head += [_declared(one) for one in known if one.name in words]
    before = len(head)
    reading = read_ptx("\n".join([*head, text]), target=target)
    ours = {one.name for one in known}
    findings = [f for f in reading.findings if f.rule not in _OF_NAMES or f.got not in ours]
    if findings:
        first = findings[0]
        at = places[min(max(first.place.line - before - 1, 0), len(places) - 1)]
        note = Finding(
            "select/module-asm",
            Severity.REVIEW,
            f"module-level assembly is kept as it stands, not judged: {first.message}",
            at,
            got=first.got,
            expected=first.expected,
            incomplete=True,
        )
        return ModuleAssembly(None, words, (note,))
    module = reading.module
    module.externals = [f for f in module.externals if f.name not in ours]
    module.variables = [v for v in module.variables if not (v.external and v.name in ours)]
    for n, location in enumerate(module.locations):
        if location.line > before:
            place = places[min(location.line - before - 1, len(places) - 1)]
            module.locations[n] = replace(
                location, file=place.file, line=place.line, column=place.column
            )
    return ModuleAssembly(module, frozenset(_names_of(module)))


_OF_NAMES = ("ptx/duplicate-name", "ptx/external-body")
"""What the reader says of names that LLVM IR defines, too: `add_assembly` tells it."""


def _declared(one: Prototype | Variable) -> str:
    """A declaration on one line."""
    if isinstance(one, Prototype):
        return f".extern .func {signature(one)};"
    return f".extern .{one.space.value} .align {one.align} .b8 {one.name}[{one.size or ''}];"


def add_assembly(out: Module, found: ModuleAssembly, lines: Sequence[str]) -> None:
    """Add to `out` what the assembly defines; what `out` only declares is then defined.

    Raises: Unselectable where both define a name, and for what swallows the text behind it.
    """
    out.notes += found.notes
    out.variables = [v for v in out.variables if not (v.external and v.name in found.defined)]
    out.externals = [f for f in out.externals if f.name not in found.defined]
    if found.module is None:
        if lines:
            _check_whole("\n".join(lines))
            out.kept.insert(0, KeptDirective("\n".join(lines), DirectivePosition.TOP))
        return
    module = found.module
    ours = {v.name for v in out.variables} | {f.name for f in out.functions}
    for name in sorted(ours & found.defined):
        raise Unselectable(
            "module-asm",
            f"{name} is defined in LLVM IR and in module-level assembly",
            got=name,
            expected="one definition",
        )
    shift = len(out.locations)
    out.locations += module.locations
    for function in module.functions:
        _move(function, shift)
    out.variables += module.variables
    out.functions += module.functions
    known = _names_of(out)
    out.externals += [f for f in module.externals if f.name not in known]
    out.kept += module.kept


_QUIET = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_BLOCK = re.compile(r"\{[^{}]*\}")


def _check_whole(text: str) -> None:
    """Whether text that is not parsed consists of whole directives, and leaves nothing open.

    Raises: Unselectable.
    """
    plain = _QUIET.sub(" ", text)
    while plain != (outside := _BLOCK.sub(";", plain)):
        plain = outside
    *pieces, rest = (piece.strip() for piece in plain.split(";"))
    odd = any(piece and piece[0] != "." for piece in pieces) or re.search(r'[{}"]|/\*', plain)
    if odd or rest:
        raise Unselectable(
            "module-asm",
            "module-level assembly is no whole directives",
            got=text.strip()[-40:],
            expected="directives, each up to its ; or }",
        )


def _names_of(module: Module) -> set[str]:
    """The names of functions and variables, here and elsewhere."""
    functions = {f.name for f in module.functions} | {f.name for f in module.externals}
    return functions | {v.name for v in module.variables}


def _move(function: MachineFunction, shift: int) -> None:
    for mi in function.instructions():
        mi.loc += shift
