"""LLVM's nvvm intrinsics on integers that no pattern of a row describes.

Layer: isel.select.  prmt with a mode that looks at one register only has no second one in LLVM, and
the half that dp2a takes is an immediate there and part of the name in PTX.
"""

from __future__ import annotations

import re

from intrinsics.mir import Imm
from intrinsics.modifiers import PermuteMode, ScalarType
from isel.llvm.ir import Call
from isel.select.state import FunctionState, form

T = ScalarType
_DOT = re.compile(r"llvm\.nvvm\.idp2a\.([su])\.([su])")
_PERMUTE = re.compile(r"llvm\.nvvm\.prmt\.(rc8|ecl|ecr|rc16)")
_SIGNS = {"s": T.S32, "u": T.U32}


def select_nvvm_integer(state: FunctionState, call: Call, name: str) -> bool:
    """Select a call of the intrinsic `name`, if it is one of these.

    Raises: Unselectable.
    """
    if dot := _DOT.fullmatch(name):
        a, b, which, addend = call.arguments
        half = "hi" if state.number(which, "idp2a's half") else "lo"
        chosen = form(f"dp2a.{half}", atype=_SIGNS[dot[1]], btype=_SIGNS[dot[2]])
        ops = [state.scalar(v) for v in (a, b, addend)]
    elif permute := _PERMUTE.fullmatch(name):
        chosen = form("prmt", mode=PermuteMode(permute[1]))
        source, number = (state.scalar(v) for v in call.arguments)
        ops = [source, Imm(0), number]
    else:
        return False
    state.emit(chosen, *state.define(call.result, call.type), *ops)
    return True
