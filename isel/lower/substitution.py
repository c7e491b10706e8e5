"""Values put in the place of others, and blocks that nothing leads to left out.

Layer: isel.lower.  Input: records of LLVM IR.  Output: the same records where nothing changes, new
ones elsewhere; what was given stays as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Mapping

from intrinsics.memo import Memo
from isel.llvm import ir
from isel.llvm import values as llvm

Change = Callable[[llvm.Value], llvm.Value]
"""What stands for a local, a global or a block's address: itself, if nothing else does."""


def with_values(i: ir.Instruction, change: Change) -> ir.Instruction:
    """An instruction with its operands replaced, also inside constant expressions."""
    for value in i.operands():
        if changed(value, change) is not value:
            break
    else:
        return i
    found = object.__new__(type(i))
    for name in _PLAIN:
        setattr(found, name, getattr(i, name))
    for name in _OPERANDS[type(i)]:
        setattr(found, name, _part(getattr(i, name), change))
    return found


_PLAIN = tuple(field.name for field in dataclasses.fields(ir.Instruction))
"""The fields that all instructions have: no operands."""


def _operands(kind: type[ir.Instruction]) -> tuple[str, ...]:
    """The fields of a class in which operands may stand."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in _PLAIN)


_OPERANDS = Memo(_operands)


def _part(part: object, change: Change) -> object:
    if isinstance(part, llvm.Value):
        return changed(part, change)
    if isinstance(part, tuple):
        return tuple(_part(one, change) for one in part)
    return part


def changed(value: llvm.Value, change: Change) -> llvm.Value:
    """A value with the locals and globals in it changed."""
    kind = type(value)
    if kind is llvm.Local:  # as most are
        return change(value)
    if kind is llvm.ConstInt:
        return value
    match value:
        case llvm.GlobalRef() | llvm.BlockAddress():
            return change(value)
        case llvm.ConstExpr(operands=parts):
            new = tuple(changed(part, change) for part in parts)
            return value if _same(new, parts) else dataclasses.replace(value, operands=new)
        case llvm.ConstArray(elements=parts) | llvm.ConstVector(elements=parts):
            new = tuple(changed(part, change) for part in parts)
            return value if _same(new, parts) else dataclasses.replace(value, elements=new)
        case llvm.ConstStruct(elements=parts):
            new = tuple(changed(part, change) for part in parts)
            return value if _same(new, parts) else dataclasses.replace(value, elements=new)
        case llvm.Splat(element=element):
            one = changed(element, change)
            return value if one is element else dataclasses.replace(value, element=one)
    return value


def _same(new: tuple[llvm.Value, ...], old: tuple[llvm.Value, ...]) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))


def with_others(
    function: ir.Function, instead: Mapping[str, llvm.Value], gone: Container[int] = ()
) -> ir.Function:
    """A function with other values in the place of some results, whose instructions are left out.

    `gone` are the ids of more instructions that are.
    """

    def change(value: llvm.Value) -> llvm.Value:
        return instead.get(value.name, value) if isinstance(value, llvm.Local) else value

    def left(i: ir.Instruction) -> tuple[ir.Instruction, ...]:
        return () if i.result in instead or id(i) in gone else (with_values(i, change),)

    return function.with_instructions(left)


def without_dead(blocks: list[ir.Block]) -> list[ir.Block]:
    """The blocks that the first one leads to, and phis without the others."""
    reached = {block.name for block in in_flow_order(blocks)}
    live = [block for block in blocks if block.name in reached]
    edges = {(b.name, target) for b in live for target in b.instructions[-1].targets()}
    return [_with_edges(block, edges) for block in live]


def in_flow_order(blocks: list[ir.Block]) -> list[ir.Block]:
    """The blocks that the first one leads to, each behind all that dominate it."""
    by_name = {block.name: block for block in blocks}
    seen = {blocks[0].name}
    finished: list[ir.Block] = []
    stack = [(blocks[0], iter(blocks[0].instructions[-1].targets()))]
    while stack:
        block, following = stack[-1]
        for name in following:
            if name not in seen:
                seen.add(name)
                stack.append((by_name[name], iter(by_name[name].instructions[-1].targets())))
                break
        else:
            finished.append(block)
            stack.pop()
    return finished[::-1]


def _with_edges(block: ir.Block, edges: set[tuple[str, str]]) -> ir.Block:
    """A block whose phis have values only from blocks that come before it."""
    instructions = [
        dataclasses.replace(i, incoming=tuple(x for x in i.incoming if (x[1], block.name) in edges))
        if isinstance(i, ir.Phi)
        else i
        for i in block.instructions
    ]
    return ir.Block(block.name, instructions)
