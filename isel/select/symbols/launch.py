"""Launch bounds and dimensions from a kernel's attributes.

Layer: isel.select.  Input: a function and the target.  Output: the launch bounds of the machine
function.  LLVM turns `!nvvm.annotations` into these attributes when it reads a module.  PTX ISA,
Performance-Tuning Directives; Cluster Dimension Directives.
"""

from __future__ import annotations

from intrinsics.mir import NOTHING_SAID, Launch
from intrinsics.targets import Feature, Target
from isel.diagnostics import Unselectable
from isel.llvm import ir


def launch_of(function: ir.Function, target: Target) -> Launch:
    """The launch bounds of a kernel.

    Raises: Unselectable for an attribute that is no list of numbers, or misses another one.
    """
    if not function.attributes.strings:
        return NOTHING_SAID
    clusters = (
        Feature.HAS_CLUSTERS in target.features
    )  # elsewhere what is said of them means nothing
    cluster = _numbers(function, "nvvm.cluster_dim") if clusters else ()
    required = _numbers(function, "nvvm.reqntid")
    whole = clusters and "nvvm.blocksareclusters" in function.attributes
    if whole and not (cluster and required):
        raise Unselectable(
            "attribute",
            'the attribute "nvvm.blocksareclusters" needs the size of a block and of a cluster',
            got="nvvm.blocksareclusters",
            expected="nvvm.reqntid and nvvm.cluster_dim beside it",
        )
    rank = _one(function, "nvvm.maxclusterrank") if clusters else 0
    most = _numbers(function, "nvvm.maxntid")
    if (required and most) or (cluster and rank):
        blocks = "reqntid", "maxntid"
        first, second = blocks if required and most else ("cluster_dim", "maxclusterrank")
        raise Unselectable(
            "attribute",
            f"nvvm.{first} and nvvm.{second} cannot both be said of a kernel",
            got=f"@{function.name} has both",
            expected=f"nvvm.{first} alone, which is the stronger one",
        )
    return Launch(
        required,
        most,
        cluster,
        _one(function, "nvvm.maxnreg"),
        _one(function, "nvvm.minctasm"),
        rank,
        whole,
    )


def _one(function: ir.Function, name: str) -> int:
    return next(iter(_numbers(function, name)), 0)


def _numbers(function: ir.Function, name: str) -> tuple[int, ...]:
    text = function.attributes.string(name)
    if text is None:
        return ()
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise Unselectable(
            "attribute", f'the attribute "{name}" is not a list of numbers', got=text
        ) from None
