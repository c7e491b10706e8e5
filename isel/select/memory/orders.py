"""LLVM's orderings and scopes as PTX's.

Layer: isel.select.  A sequentially consistent operation is a fence.sc before what acquires (or, for
a store, releases), as LLVM's NVPTX back end has it.  PTX ISA, Memory Consistency Model: Scope.
"""

from __future__ import annotations

from intrinsics.modifiers import Scope, Sem
from isel.diagnostics import Unselectable
from isel.llvm.vocabulary import Ordering

SINGLE_THREAD = "singlethread"

_SCOPES = {
    "": Scope.SYS,
    "device": Scope.GPU,
    "cluster": Scope.CLUSTER,
    "block": Scope.CTA,
    SINGLE_THREAD: Scope.CTA,
}

_SEMANTICS = {
    Ordering.UNORDERED: Sem.RELAXED,
    Ordering.MONOTONIC: Sem.RELAXED,
    Ordering.ACQUIRE: Sem.ACQUIRE,
    Ordering.RELEASE: Sem.RELEASE,
    Ordering.ACQ_REL: Sem.ACQ_REL,
}


def scope_of(name: str) -> Scope:
    """The PTX scope that an LLVM syncscope names.

    Raises: Unselectable for one that NVPTX does not have.
    """
    found = _SCOPES.get(name)
    if found is None:
        raise Unselectable(
            "syncscope",
            f'PTX has no scope for syncscope("{name}")',
            got=f'syncscope("{name}")',
            expected="none (the system), device, cluster, block or singlethread",
        )
    return found


def semantics_of(ordering: Ordering, strongest: Sem = Sem.ACQUIRE) -> Sem:
    """The PTX ordering of an operation; `strongest` stands behind the fence of a seq_cst one."""
    return _SEMANTICS.get(ordering, strongest)
