"""Verification by level: records alone, functions as a whole, kernels as they are launched.

Layer: isel.verifier.  Input: a module and a level's name.  Output: the findings of that level, with
those that keep the verdict from being better than what was looked at.

    record    each record alone: as a form (operands, words, target, PTX version), which is ptxas's
              verdict, and the literals among its descriptors, masks and counts
    function  what comes to these through registers; what the warps of a kernel do together
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.findings import Finding, Severity, errors, once
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target
from isel.verifier.function import concerns, synchronises
from isel.verifier.launch import UNKNOWN_SHAPE, LaunchShape, verify_launch
from isel.verifier.record import verify_records

LEVELS = ("record", "function", "launch", "all")
"""Verification levels; each includes those before it."""

LAUNCH_LEVELS = ("launch", "all")
"""The levels that check launches."""


def verify(
    module: Module,
    target: Target,
    ptx: Ptx,
    level: str,
    shape: LaunchShape = UNKNOWN_SHAPE,
    *,
    is_concerned: bool = True,
) -> list[Finding]:
    """The findings of `level` about a module that is launched with this shape.

    The sizes of block and cluster count where a kernel does not say them itself.  A module that is
    not `concerned`, as the caller has found out, is not analysed again.
    """
    found = verify_records(module, target, ptx)
    if any(f.rule.endswith("/packed-word") for f in found):
        return once(found)  # it is not known what those records are
    if level == "record" and not is_concerned:
        return once(found)
    if level == "record":
        wrong = {f.place for f in errors(found)}  # illegal forms are not checked further
        literals = errors(_verify_descriptors(module, literals_only=True))
        found += [f for f in literals if f.place not in wrong]
    else:
        found += _verify_descriptors(module)
        found += _verify_functions(module, shape)
    if level in LAUNCH_LEVELS:
        found += verify_launch(module, target, shape)
    return once(found)


def beyond(
    module: Module, level: str, shape: LaunchShape = UNKNOWN_SHAPE, *, barriers: bool = False
) -> list[Finding]:
    """The findings of levels beyond `level`, without notes on what could not be checked.

    Kernels that only synchronise at barriers are executed for it where `barriers` says so: that
    takes half as long as to compile them, to seven times as long.
    """
    if level != "record":
        return []
    if not (barriers or concerned(module)):
        return []
    found = [*_verify_descriptors(module), *_verify_functions(module, shape)]
    return [f for f in once(found) if f.severity is not Severity.NOTE]


def advice(module: Module, level: str, shape: LaunchShape = UNKNOWN_SHAPE) -> list[Finding]:
    """The findings of levels beyond the requested `level`, with errors reported as warnings."""
    return [
        replace(f, severity=Severity.WARNING) if f.severity is Severity.ERROR else f
        for f in beyond(module, level, shape)
    ]


def concerned(module: Module) -> bool:
    """Whether a module has descriptors or synchronisation, which the rules beyond records are
    about.
    """
    return any(map(concerns, module.functions))


def _verify_descriptors(module: Module, *, literals_only: bool = False) -> list[Finding]:
    """The findings about descriptors; the rules are imported where there are some."""
    if not concerned(module):
        return []
    from isel.verifier.descriptors.check import verify_descriptors

    return verify_descriptors(module, literals_only=literals_only)


def _verify_functions(module: Module, shape: LaunchShape = UNKNOWN_SHAPE) -> list[Finding]:
    """The findings of the function level; its rules are imported where a function needs them."""
    if not any(map(synchronises, module.functions)):
        return []
    from isel.verifier.functions import verify_functions

    return verify_functions(module, shape.block, shape.cluster, dict(shape.boxes), shape.parts)
