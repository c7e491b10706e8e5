"""Launch bounds and dimensions from a kernel's attributes.

Layer: isel.select.  Input: a function and the target.  Output: the launch bounds of the machine
function.  LLVM turns `!nvvm.annotations` into these attributes when it reads a module.  PTX ISA,
Performance-Tuning Directives; Cluster Dimension Directives.
"""

from __future__ import annotations

from intrinsics.findings import Place, SelectionError
from intrinsics.mir import NOTHING_SAID, Launch
from intrinsics.targets import Feature, Target
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.places.align import places_of_globals


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
    required = _block(function, "nvvm.reqntid")
    whole = clusters and "nvvm.blocksareclusters" in function.attributes
    if whole and not (cluster and required):
        raise Unselectable(
            "attribute",
            'the attribute "nvvm.blocksareclusters" needs the size of a block and of a cluster',
            got="nvvm.blocksareclusters",
            expected="nvvm.reqntid and nvvm.cluster_dim beside it",
        )
    rank = _one(function, "nvvm.maxclusterrank") if clusters else 0
    most = _block(function, "nvvm.maxntid")
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


def check_launches(module: ir.Module, target: Target, file: str, text: str) -> None:
    """Whether LLVM's passes can read what functions say of their launch: they end the process at
    other words.  `text` is the user's.

    Raises: SelectionError.
    """
    for function in module.definitions():
        try:
            launch_of(function, target)
        except Unselectable as reason:
            line, column = places_of_globals(text).get(function.name, (0, 0))
            place = Place(file, line, column, function=function.name)
            raise SelectionError([reason.finding.at(place)]) from None


def _one(function: ir.Function, name: str) -> int:
    return next(iter(_numbers(function, name, 1)), 0)


def _block(function: ir.Function, name: str) -> tuple[int, ...]:
    found = _numbers(function, name)
    if 0 in found:
        raise Unselectable(
            "attribute",
            f'the attribute "{name}" says that a block has no threads',
            got=",".join(map(str, found)),
            expected="numbers from 1 on",
        )
    return found


def _numbers(function: ir.Function, name: str, most: int = 3) -> tuple[int, ...]:
    text = function.attributes.string(name)
    if text is None:
        return ()
    parts = [part.strip(" ") for part in text.split(",")] if most > 1 else [text]
    if len(parts) > most or not all(map(_is_number, parts)):
        raise Unselectable(
            "attribute",
            f'the attribute "{name}" is not {"a list of numbers" if most > 1 else "a number"}',
            got=text,
            expected=f"{'one to three numbers' if most > 1 else 'one number'} of 32 bits",
        )
    return tuple(map(int, parts))


def _is_number(text: str) -> bool:
    """Whether a text is a number of 32 bits."""
    return text.isascii() and text.isdecimal() and len(text) < 11 and int(text) < 1 << 32
