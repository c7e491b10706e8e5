"""Functions of LLVM IR in PTX: parameters, result, linkage.

Layer: isel.select.  Input: a function and the state that it will be selected with.  Output: the
interface of the machine function, and the records that begin it.  PTX ISA, Kernel and Function
Directives; Linking Directives.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.mir import Linkage, Param, Prototype
from intrinsics.modifiers import ScalarType
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.data_layout import TENSOR_SPACE
from isel.llvm.type_layout import SPACES, UNSIGNED, TypeLayout
from isel.llvm.types import PTR, FloatType, IntType, PointerType, Type
from isel.llvm.vocabulary import Linkage as LlvmLinkage
from isel.lower.memory.unwritten import unwritten_pointers
from isel.select.shared_assembly import WORD
from isel.select.state import FunctionState
from isel.select.symbols.abi import (
    alignment,
    check_size,
    device_param,
    is_passed,
    load_value,
    result_param,
    slots,
    store_value,
)
from isel.select.symbols.parameters import know_pointer, struct_by_value, struct_of_function

T = ScalarType
RESULT = "func_retval0"
"""The name of a function's result, which no other function sees."""

_LOCAL = (LlvmLinkage.PRIVATE, LlvmLinkage.INTERNAL)
_WEAK = (
    *(LlvmLinkage.LINKONCE, LlvmLinkage.LINKONCE_ODR, LlvmLinkage.WEAK, LlvmLinkage.WEAK_ODR),
    *(LlvmLinkage.COMMON, LlvmLinkage.EXTERN_WEAK),
)

_INTEGERS = {1: T.U8, 2: T.U16, 4: T.U32, 8: T.U64}
"""The types of integers that a kernel takes, by their bytes."""

_FLOATS = {32: T.F32, 64: T.F64}


def linkage_of(function: ir.Function) -> Linkage:
    """The linkage of a function in PTX."""
    if function.linkage in _LOCAL:
        return Linkage.INTERNAL
    return Linkage.WEAK if function.linkage in _WEAK else Linkage.VISIBLE


def is_elsewhere(function: ir.Function) -> bool:
    """Whether another module defines the function: a body for inlining alone is no definition."""
    return function.is_declaration or function.linkage is LlvmLinkage.AVAILABLE_EXTERNALLY


def needed(module: ir.Module, kernels: set[str]) -> list[ir.Function]:
    """The functions that may be called: local ones that nothing names are left out.

    Of a module whose functions are all local, none is left out: it was compiled to be read.
    """
    defined = [f for f in module.definitions() if not is_elsewhere(f)]
    local = {f.name for f in defined if f.linkage in _LOCAL and f.name not in kernels}
    if len(local) in (0, len(defined)):
        return defined
    work = [f.name for f in defined if f.name not in local]
    work += WORD.findall("\n".join(module.module_asm))
    for alias in module.aliases.values():
        work += _names(alias.target)
    for variable in module.globals.values():
        if variable.initializer is not None:
            work += _names(variable.initializer)
    seen: set[str] = set()
    while work:
        name = work.pop()
        function = module.functions.get(name)
        if name in seen or function is None:
            continue
        seen.add(name)
        for i in function.instructions():
            for operand in i.operands():
                work += _names(operand)
            if isinstance(i, ir.Call) and isinstance(i.callee, llvm.InlineAsm):
                work += WORD.findall(i.callee.text)
    return [f for f in defined if f.name in seen]


def _names(value: llvm.Value) -> Iterator[str]:
    """The globals that a value speaks of."""
    if isinstance(value, llvm.GlobalRef):
        yield value.name
    elif isinstance(value, llvm.ConstExpr):
        for operand in value.operands:
            yield from _names(operand)
    elif isinstance(value, llvm.Splat):
        yield from _names(value.element)
    elif isinstance(value, (llvm.ConstArray, llvm.ConstVector, llvm.ConstStruct)):
        for element in value.elements:
            yield from _names(element)


# ---- device functions ------------------------------------------------------------------------


def device_interface(function: ir.Function, state: FunctionState) -> None:
    """The parameters and the result of a device function, and loads of the parameters.

    Raises: Unselectable.
    """
    out = state.out
    out.is_kernel = False
    out.results += result_param(state, function.return_type, RESULT)
    out.noreturn = "noreturn" in function.attributes and not out.results
    state.return_attributes = function.return_attributes
    for param in function.params:
        if not is_passed(state.layout, param.type, param.attributes):
            continue
        name = f"{out.name}_param_{len(out.params)}"
        lowered = device_param(state.layout, name, param.type, param.attributes)
        out.params.append(lowered)
        if param.attributes.type_of("byval") is not None:
            struct_of_function(state, function, param, lowered)
        else:
            load_value(state, lowered, param.type, state.define(param.name, param.type))


def prototype_of(function: ir.Function, name: str, state: FunctionState) -> Prototype:
    """The prototype of a declared function.

    Raises: Unselectable.
    """
    params = tuple(
        device_param(state.layout, f"{name}_param_{n}", type_, attributes)
        for n, (type_, attributes) in enumerate(_taken(function, state.layout))
    )
    results = result_param(state, function.return_type, RESULT)
    noreturn = "noreturn" in function.attributes and not results  # ptxas refuses both at once
    return Prototype(name, params, results, noreturn)


def _taken(function: ir.Function, layout: TypeLayout) -> Iterator[tuple[Type, Attributes]]:
    """What a declared function takes: variable arguments are one more, the address of a list."""
    for param in function.params:
        if is_passed(layout, param.type, param.attributes):
            yield param.type, param.attributes
    if function.vararg:
        yield PTR, NO_ATTRIBUTES


def return_value(state: FunctionState, value: llvm.Value) -> None:
    """Store what a device function gives."""
    if state.out.results:
        store_value(state, state.out.results[0], value, state.return_attributes)


# ---- kernels ---------------------------------------------------------------------------------


def kernel_interface(function: ir.Function, state: FunctionState) -> None:
    """The parameters of a kernel, and loads of them.

    Raises: Unselectable.
    """
    state.start(state.block)
    state.unwritten = unwritten_pointers(function)
    for param in function.params:
        if not is_passed(state.layout, param.type, param.attributes):
            continue
        name = f"{state.out.name}_param_{len(state.out.params)}"
        lowered = _kernel_param(state.layout, name, param)
        lowered.called = _called(param.name)
        state.out.params.append(lowered)
        if param.attributes.type_of("byval") is not None:
            struct_by_value(state, function, param, lowered)
            continue
        results = state.define(param.name, param.type)
        load_value(state, lowered, param.type, results)
        if lowered.is_pointer:
            know_pointer(state, param, results[0])


def _called(name: str) -> str:
    """A parameter's name in the source; numbers are LLVM's, and others stay out of comments."""
    return name if name.isidentifier() else ""


def _kernel_param(layout: TypeLayout, name: str, param: ir.Param) -> Param:
    by_value = param.attributes.type_of("byval")
    if by_value is not None:
        size, align = layout.size(by_value), alignment(layout, by_value, param.attributes)
        check_size(by_value, size)
        constant = "nvvm.grid_constant" in param.attributes
        return Param(name, T.B8, size, align, constant=constant)
    match param.type:
        case PointerType(space):
            bits = layout.pointer_bits(space)
            pointee_align = param.attributes.integer("align") or 1
            shown = None if space == TENSOR_SPACE else SPACES.get(space)
            return Param(name, UNSIGNED[bits], bits // 8, bits // 8, shown, True, pointee_align)
        case IntType(bits) if bits <= 64:
            size = layout.size(param.type)
            return Param(name, _INTEGERS[size], size, size)
        case FloatType(_, bits) if bits in _FLOATS:
            return Param(name, _FLOATS[bits], bits // 8, bits // 8)
        case FloatType(keyword, 16):
            return Param(name, T.B16, 2, 2, half=T.BF16 if keyword == "bfloat" else T.F16)
    return _whole(layout, name, param)


def _whole(layout: TypeLayout, name: str, param: ir.Param) -> Param:
    """A vector, an array, a struct or a long integer: its bytes."""
    type_ = param.type
    size = slots(layout, type_)
    check_size(type_, size)
    if not size:
        raise Unselectable(
            "param", f"a parameter of type {type_} has no bytes", got=str(type_), expected="a value"
        )
    return Param(name, T.B8, size, alignment(layout, type_, param.attributes))
