"""LLVM's optimisation pipeline.

Layer: nvgen.optimizer.  Input: LLVM IR, as text.  Output: the same, optimised, for a machine that
LLVM knows.  The passes run in a process of their own (`nvgen.llvm.process`).
"""

from __future__ import annotations

import re

from intrinsics.findings import InternalError
from intrinsics.targets import Target
from nvgen.llvm.child import PROMOTED, SIMPLIFIED
from nvgen.llvm.process import LLVM, LlvmRejectedError, NotUtf8Error
from nvgen.optimizer.shield import ARITHMETIC

_INTRINSIC = re.compile(r"llvm\.nvvm\.[\w.]+")
_ORDINARY = re.compile(
    rf"""llvm\.nvvm\.(?:{ARITHMETIC}
    | reflect | is_explicit_cluster | read\.ptx\.sreg\.[\w.]+
    | barrier0(?:\.\w+)? | bar\.(?:sync|warp\.sync) | barrier\.(?:sync|n|cta)[\w.]* | membar\.\w+
    | (?:shfl|vote|match|redux|activemask)[\w.]* | ld[gu]\.global[\w.]* | atomic\.[\w.]+
    )""",
    re.VERBOSE,
)
"""Intrinsics that are to LLVM what they are: not asynchronous, and of one thread or convergent."""


def default_level(text: str) -> int:
    """The level for modules with variables of the stack where the user names none.

    LLVM's own code generator begins with SROA too.  What it leaves of address arithmetic is made
    simpler, but for modules with calls that LLVM takes for what they are not (see
    `nvgen.optimizer.shield`).
    """
    names = set(_INTRINSIC.findall(text))
    return SIMPLIFIED if all(map(_ORDINARY.fullmatch, names)) else PROMOTED


def run(text: str, level: int, target: Target) -> str:
    """Optimise a module for `target` at level 1, 2 or 3, or at one of those below.

    Raises: LlvmDiedError, LlvmTimeoutError; InternalError when LLVM rejects the text, which it has
    read before.
    """
    try:
        return LLVM.optimize(text, level, target.llvm_processor)
    except (LlvmRejectedError, NotUtf8Error) as error:
        raise InternalError(f"LLVM rejects what the optimiser was given: {error}"[:500]) from None
