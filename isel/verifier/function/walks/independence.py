"""Independent branches: both successors are feasible, however other branches are decided.

Layer: isel.verifier.function.  Input: a walker and the nodes that paths lead to.  Output: whether
both outcomes of a decision are feasible on paths to these nodes.  `if (n == 3)` is independent
where nothing else depends on n; `if (k == 0)` in a loop over k is not: the first iteration decides
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Reg, Special
from intrinsics.modifiers import PARAM_SPACES
from isel.control_flow import reach
from isel.verifier.function.flow.warp_flow import Assumed
from isel.verifier.function.walks.paths import Walker

_MEMORY = "what memory and other threads give"
_CHANGING = "a register that several records write"
_OF_BLOCK = ("ctaid", "nctaid", "ntid", "clusterid", "nclusterid", "gridid")
"""Special registers that are constant, and the same in all threads of a block."""


@dataclass
class Independence:
    """The decisions of one warp on its CFG paths to some nodes."""

    walker: Walker
    targets: set[int]
    _roots: dict[Reg, frozenset[object]] = field(default_factory=dict)

    def is_independent(self, reg: Reg, node: int) -> bool:
        """Whether what `reg` decides in a node is independent of all other decisions on the same
        paths.
        """
        roots = self.roots(reg)
        if _CHANGING in roots or (_MEMORY in roots and node in self._in_loops):
            return False
        decisions = self._decisions
        if decisions.count(reg) > 1 and reg not in self.walker.tracked.registers:
            return False
        return not any(roots & self.roots(other) for other in set(decisions) - {reg})

    def roots(self, reg: Reg) -> frozenset[object]:
        """The sources of a register's value: parameters, special registers, memory."""
        if reg not in self._roots:
            self._roots[reg] = frozenset(self._sources(reg))
        return self._roots[reg]

    def _sources(self, reg: Reg) -> Iterator[object]:
        graph = self.walker.flow.graph
        for one in graph.behind([reg]):
            writers = graph.writing(one)
            if len(writers) != 1:
                yield _CHANGING if writers else ("register", one)
            for mi in writers:
                yield from _roots_in(mi)

    @cached_property
    def _successors(self) -> list[list[int]]:
        return self.walker.flow.successors()

    @cached_property
    def _in_loops(self) -> set[int]:
        reached = self.walker.flow.reached()
        return {n for n in reached if n in reach(self._successors, self._successors[n])}

    @cached_property
    def _decisions(self) -> list[Reg]:
        """The registers that decide branches on the paths to the targets, once for each branch or
        guard.
        """
        flow = self.walker.flow
        before = {n for n in flow.reached() if self.targets & reach(self._successors, [n])}
        found = [reg for n in before for reg in _asked(e.condition for e in flow.edges[n])]
        for n in before:
            guards = (e.guard.executed for e in self.walker.events.get(n, ()) if e.guard)
            found += _asked(guards, each=True)
        return found


def _asked(conditions: Iterable[object], *, each: bool = False) -> list[Reg]:
    """The unknown registers in conditions, once for each branch, or with `each` for each edge."""
    found = [c.reg for c in conditions if isinstance(c, Assumed)]
    return found if each else list(dict.fromkeys(found))


def _roots_in(mi: MachineInstr) -> Iterator[object]:
    """The sources of a record's results beside its registers."""
    yield from (
        op.name if op.name.startswith(_OF_BLOCK) else _CHANGING
        for op in mi.ops
        if isinstance(op, Special)
    )
    if mi.row.id == "ld" and mi.form.attributes.get("space") in PARAM_SPACES:
        yield "parameter", mi.get("a")
    elif not mi.form.is_pure or mi.row.id == "ld":
        yield _MEMORY
