"""Sizes of variables and parameters, and accesses behind their ends.

Layer: isel.verifier.  Input: a module.  Output: findings.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.findings import Finding, Place, Severity
from intrinsics.limits import CONSTANT_BYTES
from intrinsics.mir import MachineFunction, MachineInstr, Mem, Module, Sym
from intrinsics.modifiers import Space
from isel.variables import aligned_offsets
from isel.verifier.locations import place_of

PARAMETER_SPACES = (Space.PARAM, Space.PARAM_FUNC)


def check_variables(module: Module) -> Iterator[Finding]:
    """Findings about the sizes of a module's variables and parameters."""
    yield from _sizes(module)
    yield from _constants(module)
    for function in module.functions:
        yield from _parameters(module, function)


def _sizes(module: Module) -> Iterator[Finding]:
    """Variables that are not external have a size."""
    own = [("", v) for v in module.variables]
    own += [
        (f.name, v) for f in module.functions for v in f.variables if v.space is not Space.PARAM
    ]
    for function, variable in own:
        if variable.size or variable.external:
            continue
        yield Finding(
            "variable/size",
            Severity.ERROR,
            "a variable that is not external has a size",
            Place(module.source, function=function),
            got=f".{variable.space.value} {variable.name}[]",
            expected=f"a number of bytes, or .extern .{variable.space.value} {variable.name}[]",
            section="PTX ISA, Array Declarations",
        )


def _constants(module: Module) -> Iterator[Finding]:
    """All constant variables of a module lie in one bank, used or not."""
    own = [v for v in module.variables if v.space is Space.CONST and not v.external]
    size = aligned_offsets(own)[1] if own else 0
    if size > CONSTANT_BYTES:
        yield Finding(
            "variable/constant-memory",
            Severity.ERROR,
            "a module has less constant memory",
            Place(module.source),
            got=f"{size} bytes of .const variables",
            expected=f"at most {CONSTANT_BYTES}, the rest in .global variables",
            section="PTX ISA, Constant State Space",
        )


def _parameters(module: Module, function: MachineFunction) -> Iterator[Finding]:
    """Accesses behind the end of a call's parameter, which is registers to ptxas: it dies of some,
    or does not end.  Those of kernels lie in constant memory.
    """
    sizes = {v.name: v.size for v in function.variables if v.space is Space.PARAM and v.size}
    if not function.is_kernel:
        sizes |= {p.name: p.size for p in (*function.params, *function.results) if p.size}
    if not sizes:
        return
    for mi in function.instructions():
        accessed = parameter_access(mi)
        if accessed is None or accessed[0] not in sizes:
            continue
        name, offset = accessed
        if 0 <= offset < sizes[name]:
            continue
        yield Finding(
            "variable/outside",
            Severity.ERROR,
            "an access to a parameter begins in it",
            place_of(module.locations[mi.loc], function.name),
            op=mi.row.spell(mi.attributes()),
            got=f"byte {offset} of {name}",
            expected=f"bytes 0 to {sizes[name] - 1}",
            section="PTX ISA, Parameter State Space",
        )


def parameter_access(mi: MachineInstr) -> tuple[str, int] | None:
    """The parameter that a record loads or stores by name, and the first byte of it."""
    if mi.row.id not in ("ld", "st") or mi.form.attributes.get("space") not in PARAMETER_SPACES:
        return None
    address = mi.get("a")
    if not isinstance(address, Mem) or not isinstance(address.base, Sym):
        return None
    return address.base.name, address.base.offset + address.offset
