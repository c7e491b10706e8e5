"""LLVM's intrinsics about the program itself: traps, ends, clocks, hints, what it is compiled for.

Layer: isel.select.  Input: a call and the state of its function.  Output: records, or a value that
is known already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from intrinsics.mir import Imm, Special
from intrinsics.modifiers import ScalarType
from intrinsics.targets import Target
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.lower.branches.reflection import answer_of
from isel.select.state import FunctionState, form

T = ScalarType

WAITED = "llvm.nvvm.wgmma.waited."
"""The argument, behind the waits that stand before the call; a name of nvgen's own, with the type
behind it.  LLVM moves no use of the result above it."""


def _trap(state: FunctionState, call: ir.Call) -> None:
    state.emit(form("trap"))


def _exit(state: FunctionState, call: ir.Call) -> None:
    state.emit(form("exit"))


def _breakpoint(state: FunctionState, call: ir.Call) -> None:
    state.emit(form("brkpt"))


def _clock(register: str) -> Callable[[FunctionState, ir.Call], None]:
    def read(state: FunctionState, call: ir.Call) -> None:
        (result,) = state.define(call.result, call.type)
        state.emit(form("mov", type=T.U64), result, Special(register))

    return read


def _first(state: FunctionState, call: ir.Call) -> None:
    """A hint about a value leaves the value."""
    state.forward(call.result, state.value(call.arguments[0]))


def _handle(state: FunctionState, call: ir.Call) -> None:
    """The handle of a texture or surface that a global is."""
    *_, variable = call.arguments
    (op,) = state.value(variable)
    state.emit(form("mov", type=T.U64), *state.define(call.result, call.type), op)


def _known(answer: int) -> Callable[[FunctionState, ir.Call], None]:
    """A question with one answer on a GPU."""

    def select(state: FunctionState, call: ir.Call) -> None:
        state.forward(call.result, (Imm(answer),))

    return select


_no = _known(0)
_yes = _known(1)


def _nothing(state: FunctionState, call: ir.Call) -> None:
    """Emit no record."""


_TABLE: Mapping[str, Callable[[FunctionState, ir.Call], None]] = {
    "llvm.trap": _trap,
    "llvm.ubsantrap": _trap,
    "llvm.debugtrap": _breakpoint,
    "llvm.nvvm.exit": _exit,
    "llvm.nvvm.read.ptx.sreg.warpsize": _known(32),  # PTX ISA, Constants: WARP_SZ
    "llvm.readcyclecounter": _clock("clock64"),
    "llvm.readsteadycounter": _clock("globaltimer"),
    "llvm.sideeffect": _nothing,
    "llvm.pseudoprobe": _nothing,
    "llvm.codeview.annotation": _nothing,
    "llvm.returnaddress": _no,  # what LLVM says where a target has none to tell
    "llvm.allow.runtime.check": _yes,  # what was asked for is checked
    "llvm.allow.ubsan.check": _yes,
    "llvm.experimental.widenable.condition": _yes,
    "llvm.type.test": _yes,  # without a whole program, as LLVM says
    "llvm.public.type.test": _yes,
}
_FAMILIES: Mapping[str, Callable[[FunctionState, ir.Call], None]] = {
    "llvm.nvvm.move.": _first,
    "llvm.nvvm.texsurf.handle": _handle,
    "llvm.expect.": _first,
    "llvm.annotation.": _first,
    "llvm.ptr.annotation.": _first,
    "llvm.launder.invariant.group": _first,
    "llvm.strip.invariant.group": _first,
    "llvm.ssa.copy.": _first,
    WAITED: _first,
    "llvm.is.constant.": _no,  # what the optimiser did not find out is not constant
    "llvm.frameaddress": _no,
    "llvm.get.dynamic.area.offset.": _no,
    "llvm.var.annotation": _nothing,
    "llvm.invariant.start": _no,  # names the range for invariant.end alone
    "llvm.invariant.end": _nothing,
}
"""By what the name begins with: the type follows."""

_STARTS = tuple(_FAMILIES)


def select_special(state: FunctionState, call: ir.Call, name: str) -> bool:
    """Select a call of the intrinsic `name`, if it is one of these."""
    select = _TABLE.get(name)
    if select is None and name.startswith(_STARTS):
        select = next((s for start, s in _FAMILIES.items() if name.startswith(start)), None)
    if select is None:
        return False
    select(state, call)
    return True


# ---- what the program is compiled for --------------------------------------------------------


def reflect(state: FunctionState, call: ir.Call, module: ir.Module, target: Target) -> None:
    """The answer to a question by name.

    Raises: Unselectable when the name is not the constant of a global.
    """
    answer = answer_of(call, module, target)
    if answer is None:
        raise Unselectable(
            "reflect",
            "the question of llvm.nvvm.reflect is no constant text",
            op="llvm.nvvm.reflect",
            expected="the address of a constant global",
        )
    state.forward(call.result, (Imm(answer),))
