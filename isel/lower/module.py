"""A module, ready to be selected: what its functions have in common is settled.

Layer: isel.lower.  Input: a module as it was read, and a target.  Output: the same module, or one
with questions about the target answered, without names that only stand for others, without
addresses of blocks, and without exceptions, which nothing on a GPU throws.
"""

from __future__ import annotations

import dataclasses

from intrinsics.targets import Target
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import VOID
from isel.llvm.vocabulary import Linkage, Opcode, TailKind
from isel.lower.branches.block_addresses import without_block_addresses
from isel.lower.branches.reflection import with_answers
from isel.lower.substitution import changed, with_values, without_dead

_INVOKE = Opcode.INVOKE

_REPLACEABLE = (Linkage.WEAK, Linkage.LINKONCE)
"""Linkages under which another module may say what a name stands for."""


def prepared(module: ir.Module, target: Target) -> ir.Module:
    """The module without what no function can be selected with."""
    plain = without_block_addresses(_without_exceptions(_without_aliases(module)))
    return with_answers(plain, target)


# ---- names that stand for others -------------------------------------------------------------


def _without_aliases(module: ir.Module) -> ir.Module:
    """The module without aliases that no other module can redefine: uses name their targets."""
    if not module.aliases:
        return module
    known = {
        name: alias
        for name, alias in module.aliases.items()
        if not alias.is_ifunc and alias.linkage not in _REPLACEABLE
    }
    if not known:
        return module

    found: dict[str, llvm.Value] = {}

    def change(value: llvm.Value) -> llvm.Value:
        if not isinstance(value, llvm.GlobalRef) or value.name not in known:
            return value
        if value.name not in found:
            found[value.name] = changed(known[value.name].target, change)
        return found[value.name]

    functions = {
        name: function.with_instructions(lambda i: (with_values(i, change),))
        for name, function in module.functions.items()
    }
    variables = {
        name: variable
        if variable.initializer is None
        else dataclasses.replace(variable, initializer=changed(variable.initializer, change))
        for name, variable in module.globals.items()
    }
    aliases = {
        name: dataclasses.replace(alias, target=changed(alias.target, change))
        for name, alias in module.aliases.items()
    }
    return dataclasses.replace(module, functions=functions, globals=variables, aliases=aliases)


# ---- exceptions ------------------------------------------------------------------------------


def _without_exceptions(module: ir.Module) -> ir.Module:
    """The module with calls that go on where nothing was thrown, as LLVM makes them for PTX."""
    throwing = {
        name: function
        for name, function in module.functions.items()
        for block in function.blocks
        if block.instructions[-1].opcode is _INVOKE
    }
    if not throwing:
        return module
    plain = {
        name: function.with_blocks(without_dead(function.with_instructions(_plain).blocks))
        for name, function in throwing.items()
    }
    return dataclasses.replace(module, functions=module.functions | plain)


def _plain(i: ir.Instruction) -> tuple[ir.Instruction, ...]:
    """A call and a branch for an invoke."""
    if not isinstance(i, ir.Invoke):
        return (i,)
    call = ir.Call(
        Opcode.CALL, i.result, i.line, i.ordinal, i.dbg, i.metadata, i.type, i.callee, i.arguments,
        i.calling_convention, i.attributes, i.return_attributes, i.argument_attributes, i.bundles,
        i.vararg_type, TailKind.NONE, frozenset(),
    )  # fmt: skip
    return call, ir.Branch(Opcode.BR, None, *i.place, VOID, i.normal)
