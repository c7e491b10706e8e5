"""Variable arguments: a list in the caller's local memory, its address as one more argument.

Layer: isel.lower.  As LLVM's NVPTX back end has it: every argument behind the named ones lies at
the next address that its type is aligned to, and a `va_list` is the address of the next one.
LLVM Language Reference, Variable Argument Handling Intrinsics; va_arg.
"""

from __future__ import annotations

import dataclasses

from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.attributes import NO_ATTRIBUTES
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import I1, I8, I64, PTR, VOID, PointerType, Type
from isel.llvm.vocabulary import Opcode
from isel.lower.rewriter import Replacement, Rewriter, number

_WORD = 8
"""Bytes of a pointer."""

_BITS = 64
_LARGEST = 16
"""What the list is aligned to at least."""


def with_list(function: ir.Function) -> ir.Function:
    """A function that takes the address of its variable arguments behind the named ones."""
    if not function.vararg or function.is_declaration:
        return function
    named = {param.name for param in function.params}
    named |= {i.result for i in function.instructions() if i.result is not None}
    name = next(n for at in range(len(named) + 1) if (n := f"arguments.{at}") not in named)
    param = ir.Param(name, PTR, NO_ATTRIBUTES)
    return dataclasses.replace(function, params=[*function.params, param])


def lowered(i: ir.Instruction, function: ir.Function, layout: TypeLayout) -> Replacement | None:
    """The replacement of va_arg, of intrinsics on lists, and of calls with variable arguments."""
    if isinstance(i, ir.VAArg) and isinstance(i.pointer.type, PointerType):
        return (lambda out: _next(out, i, layout)) if _has_size(i.type, layout) else None
    if not isinstance(i, ir.Call):
        return None
    name = i.callee_name or ""
    if not name.startswith("llvm.va_"):
        is_variable = i.vararg_type is not None and not isinstance(i.callee, llvm.InlineAsm)
        return (lambda out: _call(out, i, layout)) if is_variable else None
    if name.startswith("llvm.va_start") and function.vararg:
        start = llvm.Local(function.params[-1].name, PTR)
        return lambda out: out.store(start, i.arguments[0], _WORD)
    if name.startswith("llvm.va_end"):
        return lambda out: None
    if name.startswith("llvm.va_copy"):
        return lambda out: _copy(out, i)
    return None


def _has_size(type_: Type, layout: TypeLayout) -> bool:
    """Whether memory holds such values; selection refuses what is of other types."""
    try:
        layout.size(type_)
    except Unselectable:
        return False
    return True


def _copy(out: Rewriter, call: ir.Call) -> None:
    to, source = call.arguments
    out.store(out.load(PTR, source, _WORD), to, _WORD)


def _next(out: Rewriter, i: ir.VAArg, layout: TypeLayout) -> None:
    """Load the next argument, and let the list begin behind it."""
    here = out.load(PTR, i.pointer, _WORD)
    align = layout.align(i.type)
    if align > 1:
        address = out.cast(Opcode.PTRTOINT, here, I64)
        above = out.binary(Opcode.ADD, address, number(I64, align - 1))
        here = out.cast(Opcode.INTTOPTR, out.binary(Opcode.AND, above, number(I64, -align)), PTR)
    out.store(out.offset(here, number(I64, layout.size(i.type))), i.pointer, _WORD)
    out.load(i.type, here, align, result=i.result or "")


def _call(out: Rewriter, call: ir.Call, layout: TypeLayout) -> None:
    assert call.vararg_type is not None
    count = len(call.vararg_type.parameters)
    places: list[tuple[int, llvm.Value, Type | None]] = []
    end, most = 0, _LARGEST
    for n, value in enumerate(call.arguments[count:], count):
        given = call.argument_attributes.get(n, NO_ATTRIBUTES)
        whole = given.type_of("byval")
        type_ = value.type if whole is None else whole
        align = layout.align(type_)
        at = -(-end // align) * align
        places.append((at, value, whole))
        end, most = at + layout.size(type_), max(most, align)
    # an empty list is never read
    area = out.allocate(I8, end, most) if end else llvm.Null(PTR)
    for at, value, whole in places:
        where = out.offset(area, number(I64, at))
        if whole is None:
            out.store(value, where, layout.align(value.type))
            continue
        size = number(I64, layout.size(whole))
        assert isinstance(value.type, PointerType)
        space = value.type.address_space
        arguments = (where, value, size, number(I1, 0))
        out.call(f"llvm.memcpy.p0.p{space}.i{_BITS}", VOID, arguments)
    fixed = {n: given for n, given in call.argument_attributes.items() if n < count}
    out.add(
        dataclasses.replace(
            call,
            arguments=(*call.arguments[:count], area),
            argument_attributes=fixed,
            vararg_type=None,
        )
    )
