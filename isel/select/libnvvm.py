"""Intrinsics that LLVM's back end does not have: those of libNVVM's own, and older names.

Layer: isel.select.  Input: a call.  Output: the same as a call of inline assembly.  numba writes
libNVVM's names, whose mode is an argument; clang writes conversions of halves that are integers.
NVVM IR Specification, Warp-level Intrinsics; LLVM Language Reference, Half Precision Floating-Point
Intrinsics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from isel.llvm import values as llvm
from isel.llvm.ir import Call
from isel.llvm.types import PTR
from isel.select.diagnostics import Unselectable

_SHUFFLE = ("idx", "up", "down", "bfly")
_VOTE = (
    "vote.sync.all.pred $1, $3, $2; selp.b32 $0, 1, 0, $1;",
    "vote.sync.any.pred $1, $3, $2; selp.b32 $0, 1, 0, $1;",
    "vote.sync.uni.pred $1, $3, $2; selp.b32 $0, 1, 0, $1;",
    "vote.sync.ballot.b32 $0, $3, $2; setp.ne.u32 $1, $0, 0;",
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """What an intrinsic is in PTX: a text for each mode, if it has modes, and its constraints.

    The mode is the second argument, a constant, which the text does not name.
    """

    texts: tuple[str, ...]
    constraints: str


_STATEMENTS = {
    "shfl.sync.i32": _Statement(
        tuple(f"shfl.sync.{mode}.b32 $0|$1, $3, $4, $5, $2;" for mode in _SHUFFLE),
        "=r,=b,r,r,r,r",
    ),
    "vote.sync": _Statement(_VOTE, "=r,=b,r,b"),
    "match.all.sync.i32": _Statement(("match.all.sync.b32 $0|$1, $3, $2;",), "=r,=b,r,r"),
    "match.all.sync.i64": _Statement(("match.all.sync.b64 $0|$1, $3, $2;",), "=r,=b,r,l"),
}
_CONVERSIONS = {
    "from.fp16.f32": _Statement(("cvt.f32.f16 $0, $1;",), "=f,h"),
    "from.fp16.f64": _Statement(("cvt.f64.f16 $0, $1;",), "=d,h"),
    "to.fp16.f32": _Statement(("cvt.rn.f16.f32 $0, $1;",), "=h,f"),
    "to.fp16.f64": _Statement(("cvt.rn.f16.f64 $0, $1;",), "=h,d"),
}
_BY_NAME = {
    **{f"llvm.nvvm.{name}": statement for name, statement in _STATEMENTS.items()},
    **{f"llvm.convert.{name}": statement for name, statement in _CONVERSIONS.items()},
}


def as_assembly(call: Call, name: str) -> Call | None:
    """The call as one of inline assembly; None for an intrinsic that is none of these.

    Raises: Unselectable for a mode that there is not.
    """
    statement = _BY_NAME.get(name)
    if statement is None:
        return None
    text, arguments = statement.texts[0], call.arguments
    if len(statement.texts) > 1:
        mode = arguments[1]
        if not isinstance(mode, llvm.ConstInt) or mode.value >= len(statement.texts):
            raise Unselectable(
                "immediate",
                f"the mode of @{name} is no mode",
                op=name,
                got=str(mode.value) if isinstance(mode, llvm.ConstInt) else "no constant",
                expected=f"0 to {len(statement.texts) - 1}",
            )
        text, arguments = statement.texts[mode.value], (arguments[0], *arguments[2:])
    callee = llvm.InlineAsm(text, statement.constraints, frozenset(), PTR)
    return replace(call, callee=callee, arguments=arguments, argument_attributes={})
