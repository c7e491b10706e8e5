"""LLVM's optimisation pipeline.

Layer: nvgen.optimizer.  Input: LLVM IR, as text.  Output: the same, optimised, for a machine that
LLVM knows.  The passes run in a process of their own (`nvgen.llvm_process`).
"""

from __future__ import annotations

from intrinsics.findings import InternalError
from intrinsics.targets import Target
from nvgen.llvm_process import LLVM, LlvmRejectedError, NotUtf8Error


def run(text: str, level: int, target: Target) -> str:
    """Optimise a module for `target` at level 1, 2 or 3; at 0 free it of stack variables.

    Raises: LlvmDiedError, LlvmTimeoutError; InternalError when LLVM rejects the text, which it has
    read before.
    """
    try:
        return LLVM.optimize(text, level, target.llvm_processor)
    except (LlvmRejectedError, NotUtf8Error) as error:
        raise InternalError(f"LLVM rejects what the optimiser was given: {error}"[:500]) from None
