"""Which blocks only some of a CTA's threads may reach together.

Layer: isel.  Input: a function, in SSA form or not.  Output: its divergent blocks, each with
the branch to blame.  A register is divergent when what it holds may differ from thread to thread:
it comes from %tid and its like, from the thread's own memory, from an instruction with an effect,
from another divergent register, or is written in a divergent block.  A branch on a divergent
register makes everything up to the block where its paths join again divergent; threads that left
the kernel never meet the others again.  What all threads read from one address of shared or global
memory is taken to be the same for all of them.
"""

from __future__ import annotations

from collections.abc import Container, Set

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    MachineFunction,
    MachineInstr,
    Mem,
    Op,
    Reg,
    Special,
    Sym,
    successors,
)
from intrinsics.modifiers import Space
from isel.control_flow import post_dominators, reach

_SAME_FOR_ALL = (
    *("ctaid", "nctaid", "ntid", "clusterid", "nclusterid", "cluster_", "is_explicit_cluster"),
    *("gridid", "smid", "nsmid", "nwarpid", "envreg", "dynamic_smem", "total_smem", "aggr_smem"),
)
"""What the names of special registers begin with that a CTA's threads agree on."""

_COMMON = (
    Space.PARAM,
    Space.PARAM_ENTRY,
    Space.CONST,
    Space.SHARED,
    Space.SHARED_CTA,
    Space.GLOBAL,
)
"""Memory that is not a thread's own."""


_OF_ALL_THREADS = ("bar.red", "barrier.red")
"""Rows whose result is that of all threads of the CTA, unless they give a count."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Divergence between the threads of a CTA.

    `blocks` are those that they may not reach together, by index, with the branch to blame;
    `registers` those that may hold different values, with the record that wrote them.
    """

    blocks: dict[int, MachineInstr]
    registers: dict[Reg, MachineInstr]


def divergence(function: MachineFunction, settled: Set[Reg] = frozenset()) -> Divergence:
    """The divergence of `function` between the threads of a CTA.

    `settled` are registers on which those threads agree that are asked about, as a warpgroup's.
    """
    meets = _meeting_points(function)
    after = successors(function)
    divergent: dict[Reg, MachineInstr] = {}
    own = thread_parameters(function)
    blocks: dict[int, MachineInstr] = {}
    changed = True
    while changed:
        changed = False
        for i, block in enumerate(function.blocks):
            for mi in block.instrs:
                written = [r for r in mi.defs() if r not in divergent and r not in settled]
                if written and (i in blocks or _is_divergent(mi, divergent, own)):
                    divergent |= dict.fromkeys(written, mi)
                    changed = True
                if not mi.form.is_terminator or divergent.keys().isdisjoint(mi.uses()):
                    continue
                region = reach(after, after[i], {meets[i]}) - blocks.keys()
                blocks.update(dict.fromkeys(region, mi))
                changed |= bool(region)
    return Divergence(blocks, divergent)


def thread_parameters(function: MachineFunction) -> frozenset[str]:
    """Parameters that each thread has of its own: those of calls, and of a device function."""
    of_calls = (v.name for v in function.variables if v.space is Space.PARAM)
    interface = () if function.is_kernel else (*function.params, *function.results)
    return frozenset((*of_calls, *(p.name for p in interface)))


def _is_divergent(mi: MachineInstr, divergent: Container[Reg], own: frozenset[str]) -> bool:
    """Whether the results of a record may differ between threads, for reasons of its own."""
    if mi.row.id == "walkthrough.alloc":
        return False
    if mi.row.id in _OF_ALL_THREADS and mi.get("count") is None:
        return False
    if not mi.form.is_pure or any(reg in divergent for reg in mi.uses()):
        return True
    if mi.row.id == "ld" and (mi.form.attributes["space"] not in _COMMON or _names(mi["a"], own)):
        return True
    return any(isinstance(op, Special) and not is_same_for_all(op.name) for op in mi.ops)


def is_same_for_all(special: str) -> bool:
    """Whether the threads of a CTA agree on a special register."""
    return special.startswith(_SAME_FOR_ALL)


def _names(op: Op, names: frozenset[str]) -> bool:
    return isinstance(op, Mem) and isinstance(op.base, Sym) and op.base.name in names


def _meeting_points(function: MachineFunction) -> list[int]:
    """For each block, its nearest post-dominator; the exit is one past all."""
    successors = _successors(function)
    later = post_dominators(successors)
    return [_nearest(later, i) for i in range(len(successors) - 1)]


def _nearest(later: list[int], i: int) -> int:
    """Of the blocks behind `i`, the one that has all the others behind it."""
    behind = later[i] & ~(1 << i)
    return next((j for j in range(len(later)) if behind >> j & 1 and later[j] == behind), -1)


def _successors(function: MachineFunction) -> list[list[int]]:
    """Successors, with the exit as a block of its own behind the last."""
    end = len(function.blocks)
    found = []
    for block, targets in zip(function.blocks, successors(function), strict=True):
        leaves = any(mi.row.id in ("ret", "exit") for mi in block.instrs) or not targets
        found.append([*targets, end] if leaves else targets)
    return [*found, []]


def reaches(function: MachineFunction) -> list[set[int]]:
    """For each block, the blocks reachable after it; itself only round a loop."""
    after = successors(function)
    return [reach(after, following) for following in after]
