"""LLVM's optimisation pipeline.

Layer: nvgen.optimizer.  Input: LLVM IR, as text.  Output: the same, optimised, for a machine that
LLVM knows.  The passes run in a process of their own (`nvgen.llvm_process`).
"""

from __future__ import annotations

from intrinsics.findings import InternalError
from nvgen.llvm_process import LLVM, LlvmRejectedError, NotUtf8Error

_RELATIVES = {"sm_107": "sm_103"}
"""Processors that LLVM does not know, without suffixes, and those that are most like them."""


def processor(name: str) -> str:
    """The processor that LLVM optimises for when code for `name` is wanted."""
    plain = name.rstrip("af")
    return _RELATIVES.get(plain, plain) + name[len(plain) :]


def run(text: str, level: int, target: str) -> str:
    """Optimise a module for `target` at level 1, 2 or 3; at 0 free it of stack variables.

    Raises: LlvmDiedError, LlvmTimeoutError; InternalError when LLVM rejects the text, which it has
    read before.
    """
    try:
        return LLVM.optimize(text, level, processor(target))
    except (LlvmRejectedError, NotUtf8Error) as error:
        raise InternalError(f"LLVM rejects what the optimiser was given: {error}"[:500]) from None
