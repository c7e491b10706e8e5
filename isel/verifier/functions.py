"""The function level of the verifier: analysis of every kernel, and the rules on it.

Layer: isel.verifier.  Input: a module.  Output: findings.  Functions whose threads do not
synchronise are skipped.  Where the size of the block is not known, the rules that hold for a thread
of any number are checked, and then the largest block that the kernel allows; a finding says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from intrinsics.collector import collect_young, paused_collector
from intrinsics.findings import Finding, Place, Severity, in_order
from intrinsics.limits import MOST_THREADS
from intrinsics.mir import Linkage, MachineFunction, MachineInstr, Module, Special
from isel.verifier.function import unwritten
from isel.verifier.function.barriers import (
    cluster_arrivals,
    clusters,
    expect_tx,
    first_phase,
    init_fence,
    mbarriers,
    phases,
    scopes,
)
from isel.verifier.function.flow.callees import Callees, callee, calls, concerns
from isel.verifier.function.flow.graph import NOT_FOLLOWED
from isel.verifier.function.flow.inlining import inlined
from isel.verifier.function.flow.tables import with_comparisons
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.participants import convergence, members, registers, warpgroups
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Analysis
from isel.verifier.function.tensor_memory import (
    allocation,
    collectors,
    columns,
    handles,
    lanes,
    loaded_registers,
    overlaps,
    scales,
)
from isel.verifier.function.wgmma import accumulators, stages
from isel.verifier.ordering import rules as ordering_rules
from isel.verifier.rule import VerifierRule


class _Chapter(Protocol):
    """A module of rules: its rows, and `check`, which reports breaches."""

    @property
    def RULES(self) -> tuple[VerifierRule, ...]: ...  # noqa: N802 - the name in the modules

    def check(self, report: Report, /) -> None: ...


_CHAPTERS: tuple[_Chapter, ...] = (
    *(convergence, members, lanes, warpgroups, unwritten),
    *(allocation, handles, loaded_registers),
    *(collectors, columns, overlaps, scales),
    *(mbarriers, init_fence, phases, first_phase, expect_tx, registers, accumulators, stages),
    *(clusters, cluster_arrivals, scopes),
    ordering_rules,
)

RULES: tuple[VerifierRule, ...] = tuple(rule for chapter in _CHAPTERS for rule in chapter.RULES)
"""Every rule about whole functions."""


NO_BOXES: Mapping[str, int] = MappingProxyType({})
"""No tensor map is known."""


def verify_functions(
    module: Module,
    block: tuple[int, ...] = (),
    cluster: tuple[int, ...] = (),
    boxes: Mapping[str, int] = NO_BOXES,
    parts: tuple[tuple[str, int], ...] = (),
) -> list[Finding]:
    """The findings about every function of `module` as a whole.

    `block` and `cluster` are the sizes of the thread block and of the cluster where a function does
    not say them itself, in threads and CTAs; `boxes` are the bytes of a box of each tensor map that
    is known, by parameter; `parts` are where the named parts of dynamic shared memory begin.
    """
    found: list[Finding] = []
    module = with_comparisons(module)
    callees = Callees.of(module)
    whole = [inlined(module, f, callees) for f in module.functions]
    inside = frozenset().union(*(names for _, names in whole))
    judged = [
        function
        for function, _ in whole
        if function.name in callees.concerned
        and not (function.name in inside and function.linkage is Linkage.INTERNAL)
    ]  # others are checked in the kernels that call them
    for number, function in enumerate(judged):
        if number:
            collect_young()  # the previous analysis has reference cycles
        with paused_collector():  # objects live until the function is checked
            size = _block_of(function, block)
            report = Report(module, Analysis(function, size, callees), cluster, boxes, parts)
            found += _verify(report, callees)
    return found


def _block_of(function: MachineFunction, block: tuple[int, ...]) -> tuple[int, ...]:
    """The size of the block; () where it is not known, or has more threads than any block may.

    A block beyond `.maxntid` is meant for another kernel of the module.
    """
    largest = _largest_block(function)
    if largest and math.prod(block) > math.prod(largest):
        block = ()
    return _possible(tuple(function.launch.reqntid) or block)


def _largest_block(function: MachineFunction) -> tuple[int, ...]:
    """The largest block that a kernel allows; () where it does not say."""
    return _possible(tuple(function.launch.maxntid)) if function.is_kernel else ()


def _possible(block: tuple[int, ...]) -> tuple[int, ...]:
    return block if math.prod(block) <= MOST_THREADS else ()


def _verify(report: Report, callees: Callees) -> list[Finding]:
    function = report.analysis.function
    for chapter in _CHAPTERS:
        chapter.check(report)
    if not report.analysis.block:
        _judge_largest(report)
    found = in_order(report.findings.values())
    not_judged = [*_not_judged(function, report), *_not_followed(function, callees)]
    return [*not_judged, *found]


def _judge_largest(report: Report) -> None:
    """Check the largest block that the kernel allows, where its size is not known.

    Errors that hold for any block stay.  Doubts about which threads execute a record are decided in
    the largest block, and what is found only there is a review: the block may be smaller.  Where
    its shape is not known either, it is found in every shape.
    """
    analysis = report.analysis
    block = _largest_block(analysis.function)
    if not block:
        return
    pools = replace(report, findings={})
    registers.check(pools)  # depends on the actual number of warps
    shapes = [_findings_in(report, shape) for shape in _shapes_of(block, analysis)]
    doubts = pools.findings.keys() | set().union(*shapes)
    kept = {
        key: finding
        for key, finding in report.findings.items()
        if finding.severity is Severity.ERROR or key in doubts
    }
    found = {
        key: _in_largest(finding, block)
        for key, finding in shapes[0].items()
        if all(key in shape for shape in shapes)
    }
    report.findings = found | kept


def _findings_in(report: Report, block: tuple[int, ...]) -> dict[tuple[str, int], Finding]:
    """The findings about a kernel in a block of this shape."""
    analysis = report.analysis
    bounded = Analysis(analysis.function, block, analysis.callees, graph=analysis.graph)
    found = replace(report, analysis=bounded, bounded=True, findings={})
    for chapter in _CHAPTERS:
        if chapter is not registers:
            chapter.check(found)
    registers.synchronised(found)
    return found.findings


def _shapes_of(block: tuple[int, ...], analysis: Analysis) -> list[tuple[int, ...]]:
    """The shapes that a largest block may have.

    `.maxntid` bounds the number of threads, in any shape: one that it gives along x alone may be a
    row of warps, or one warp several rows, for a kernel that reads other dimensions.
    """
    threads = math.prod(block)
    if block[0] != threads or threads % LANES or not _reads_dimensions(analysis.graph.records):
        return [block]
    row = LANES if threads > LANES else LANES // 4
    return [block, (row, threads // row, 1)]


def _reads_dimensions(records: list[MachineInstr]) -> bool:
    """Whether threads ask where they are along y or z, or how far the block goes there."""
    names = {op.name for mi in records for op in mi.ops if type(op) is Special}
    return not names.isdisjoint(("tid.y", "tid.z", "ntid.y", "ntid.z"))


def _in_largest(finding: Finding, block: tuple[int, ...]) -> Finding:
    where = f"in a block of {math.prod(block)} threads, which .maxntid allows"
    severity = Severity.REVIEW if finding.severity is Severity.ERROR else finding.severity
    return replace(finding, severity=severity, got=f"{finding.got} ({where})")


def _not_judged(function: MachineFunction, report: Report) -> list[Finding]:
    place = Place(function=function.name)
    found = []
    block = report.analysis.block
    if not block and (concerns(function) or not _largest_block(function)):
        found.append(_unknown_block(function))
    given = bool(block) and not function.launch.reqntid and block[0] == math.prod(block)
    if given and _reads_dimensions(report.analysis.graph.records):
        found.append(_one_dimension(function, block))
    if function.is_kernel and _size_matters(function, report):
        found.append(
            Finding(
                "verify/cluster",
                Severity.NOTE,
                "the size of the cluster is not known: whether each CTA has a peer is not checked",
                place,
                expected="nvvm.cluster_dim (.reqnctapercluster in PTX), or --cluster",
                incomplete=True,
            )
        )
    if any(mi.row.id in NOT_FOLLOWED for mi in report.analysis.graph.records):
        found.append(
            Finding(
                "verify/opaque",
                Severity.NOTE,
                "some statements were not understood: what seems to be missing may be among them",
                place,
                incomplete=True,
            )
        )
    return found


def _unknown_block(function: MachineFunction) -> Finding:
    """A note that the block is not known, and what was checked in its place."""
    largest = _largest_block(function)
    checked = "checked for the largest that the kernel allows" if largest else "not checked"
    return Finding(
        "verify/block",
        Severity.NOTE,
        f"the size of the block is not known: what warps do together is {checked}",
        Place(function=function.name),
        got=f".maxntid {', '.join(map(str, largest))}" if largest else "",
        expected="nvvm.reqntid (.reqntid in PTX), or --block",
        incomplete=not largest,
    )


def _one_dimension(function: MachineFunction, block: tuple[int, ...]) -> Finding:
    """A note that a block was given along x alone, of which the kernel asks for more."""
    return Finding(
        "verify/block",
        Severity.NOTE,
        "threads ask where they are along y or z, and the block that was given has one dimension",
        Place(function=function.name),
        got=f"--block {','.join(map(str, block))}",
        expected="--block x,y,z, if the kernel is launched with more",
    )


def _size_matters(function: MachineFunction, report: Report) -> bool:
    """Whether a function is for CTA pairs, and the size of the cluster is not known."""
    unknown = clusters.cluster_size(function, report.cluster) is None
    return unknown and any(clusters.pair_records(function))


def _not_followed(function: MachineFunction, callees: Callees) -> list[Finding]:
    """Notes on calls that are not analysed, and on what they may do."""
    place = Place(function=function.name)
    found = []
    if not function.is_kernel:
        found.append(
            Finding(
                "verify/device-function",
                Severity.NOTE,
                "what the callers of this function do is not known to the rules: what seems to be "
                "missing may be there",
                place,
                hint="inline it into its kernels to have all of it checked",
                incomplete=True,
            )
        )
    unknown = [f"@{name}" if name else "a pointer" for name in callees.unknown(function)]
    if unknown:
        found.append(
            Finding(
                "verify/calls",
                Severity.NOTE,
                "the rules do not look into functions that are called: what seems to be missing "
                "may be there",
                place,
                got=", ".join(unknown),
                hint="inline what synchronises or uses tensor memory",
                incomplete=True,
            )
        )
    writing = [n for n in dict.fromkeys(map(callee, calls(function))) if n in callees.writing]
    if writing:
        found.append(
            Finding(
                "verify/calls",
                Severity.NOTE,
                "what called functions write to shared memory is not seen by the rules",
                place,
                got=", ".join(f"@{name}" for name in writing),
                incomplete=True,
            )
        )
    return found
