"""Calls of functions, by name and by pointer.

Layer: isel.select.  Input: a call and the state of the function that makes it.  Output: variables
for what is passed, stores into them, the call, loads of what comes back.  PTX ISA, call.
"""

from __future__ import annotations

from intrinsics.mir import Mem, Op, Param, Prototype, Reg, Sym, Variable
from intrinsics.modifiers import ScalarType, Space, Uniform
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.vocabulary import TailKind
from isel.select.state import FunctionState, form
from isel.select.symbols.abi import device_param, is_passed, load_value, result_param, store_value

T = ScalarType
_THROWING = frozenset(
    ("__cxa_throw", "__cxa_rethrow", "_Unwind_RaiseException", "_Unwind_Resume_or_Rethrow")
)
"""What starts an exception.  Itanium C++ ABI: Exception Handling."""

_UNITS = ((8, T.B64), (4, T.B32), (2, T.B16), (1, T.B8))


def call_function(state: FunctionState, call: ir.Call, callee: ir.Function | None) -> None:
    """Select a call of a function; `callee` is None for one by pointer.

    Raises: Unselectable.
    """
    _check(call, callee)
    number = state.calls
    state.calls += 1
    passed = [
        (value, given)
        for n, value in enumerate(call.arguments)
        if is_passed(state.layout, value.type, given := _attributes(call, callee, n))
    ]
    params = [
        device_param(state.layout, state.own_name(f"call{number}_param{n}"), value.type, given)
        for n, (value, given) in enumerate(passed)
    ]
    result = result_param(state, call.type, state.own_name(f"call{number}_result"))
    if callee is not None and not callee.vararg and not _fits(state, callee, params, result):
        callee = None  # by pointer, with a table of its own
    _declare(state, (*params, *result))
    for param, (value, given) in zip(params, passed, strict=True):
        if given.type_of("byval") is not None:
            _copy(state, param, value)
        else:
            store_value(state, param, value, given)
    _emit(state, call, callee, params, result)
    if result:
        load_value(state, result[0], call.type, state.define(call.result, call.type))


def _check(call: ir.Call, callee: ir.Function | None) -> None:
    """A call that must be a tail call is a plain one, as in LLVM's code: PTX has no other."""
    name = f"@{callee.name}" if callee is not None else "a function"
    if call.tail is TailKind.MUSTTAIL and callee is not None and callee.vararg:
        raise Unselectable(
            "musttail",
            f"a musttail call of {name} passes on variable arguments, which PTX has no way to do",
            op="call",
            got="musttail",
            expected="a call that names its arguments",
        )
    if callee is not None and callee.name in _THROWING and callee.is_declaration:
        raise Unselectable(
            "exceptions",
            f"a call of {name} throws an exception, and PTX has none",
            op="call",
            got=name,
            expected="llvm.trap, or a value that says what went wrong",
            hint="an invoke alone is selected: as a call that goes on where nothing was thrown",
        )


def _fits(
    state: FunctionState, callee: ir.Function, params: list[Param], result: tuple[Param, ...]
) -> bool:
    """Whether a call passes and takes what the function has, which ptxas asks of calls by name.

    LLVM IR does not: a module may declare a function otherwise than another one defines it.
    """
    layout = state.layout
    has = [
        device_param(layout, "", p.type, p.attributes)
        for p in callee.params
        if is_passed(layout, p.type, p.attributes)
    ]
    gives = result_param(state, callee.return_type, "")
    return [*map(_shape, params), None, *map(_shape, result)] == [
        *map(_shape, has),
        None,
        *map(_shape, gives),
    ]


def _shape(param: Param) -> tuple[ScalarType, int, int]:
    return param.type, param.size, param.align


def _attributes(call: ir.Call, callee: ir.Function | None, number: int) -> Attributes:
    """An argument's attributes: what the function itself says decides how it is passed."""
    here = call.argument_attributes.get(number, NO_ATTRIBUTES)
    if callee is None or number >= len(callee.params):
        return here
    if callee.params[number].type != call.arguments[number].type:
        return here  # called under another type
    return here.merged(callee.params[number].attributes)


def _declare(state: FunctionState, params: tuple[Param, ...]) -> None:
    state.out.variables += [
        Variable(p.name, Space.PARAM, p.size, p.align, type=p.type) for p in params
    ]


def _emit(
    state: FunctionState,
    call: ir.Call,
    callee: ir.Function | None,
    params: list[Param],
    result: tuple[Param, ...],
) -> None:
    lists: dict[str, Op] = {}
    if result:
        lists["results"] = (Sym(result[0].name),)
    if params:
        lists["params"] = tuple(Sym(p.name) for p in params)
    if callee is not None:
        lists["callee"] = Sym(state.symbol(callee.name))
        chosen = form("call", uni=Uniform.UNI, **dict.fromkeys(lists.keys() - {"callee"}, True))
        state.emit(chosen, *(lists[slot] for slot in chosen.slots))
        return
    table = Prototype(
        state.own_name(f"prototype{len(state.out.prototypes)}"),
        tuple(_unnamed(p) for p in params),
        tuple(_unnamed(p) for p in result),
        "noreturn" in call.attributes and not result,
    )
    state.out.prototypes.append(table)
    lists["callee"] = state.scalar_reg(call.callee)
    lists["prototype"] = Sym(table.name)
    chosen = form("call", **dict.fromkeys(lists.keys() - {"callee"}, True))
    state.emit(chosen, *(lists[slot] for slot in chosen.slots))


def _unnamed(param: Param) -> Param:
    return Param("_", param.type, param.size, param.align)


def _copy(state: FunctionState, param: Param, pointer: llvm.Value) -> None:
    """What a byval argument points to, into the parameter."""
    space, source = state.place(pointer)
    at = 0
    while at < param.size:
        size, unit = next(
            (size, unit)
            for size, unit in _UNITS
            if at + size <= param.size and at % size == 0 and param.align % size == 0
        )
        moved: Reg = state.new(T.B16 if size == 1 else unit)
        where = Mem(source.base, source.offset + at)
        state.emit(form("ld", space=space, type=unit), moved, where)
        state.emit(form("st", space=Space.PARAM, type=unit), Mem(Sym(param.name), at), moved)
        at += size
