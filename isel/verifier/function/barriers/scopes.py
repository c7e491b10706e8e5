"""Scopes of strong accesses to global memory: places that all CTAs name alike.

Layer: isel.verifier.function.  An access of the scope `.cta` neither is atomic nor orders anything
for threads of other CTAs, one of `.cluster` for those of other clusters.  Where its address comes
from parameters and the thread's own number alone, each CTA (or cluster) accesses the same place.
PTX ISA, Memory Consistency Model: Scope; Morally strong operations.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.findings import Severity
from intrinsics.mir import MachineInstr, Mem, Op, Reg, Special, Sym
from intrinsics.modifiers import PARAM_SPACES, Scope, Sem, Space
from isel.verifier.function.events import ATOMICS
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

_SECTION = "Memory Consistency Model, Morally strong operations"
_HINT = "with a narrower scope it neither is atomic nor orders anything for threads outside of it"
OF_CTA = VerifierRule(
    "{op}/scope",
    "the scope has the threads of one CTA only, and all CTAs name this place in global memory",
    _SECTION,
    Severity.REVIEW,
    expected="the scope .gpu, if threads of several CTAs come here",
    hint=_HINT,
    misses=False,
)
OF_CLUSTER = VerifierRule(
    "{op}/scope",
    "the scope has the threads of one cluster only, and all clusters name this place in global "
    "memory",
    _SECTION,
    Severity.REVIEW,
    expected="the scope .gpu, if threads of several clusters come here",
    hint=_HINT,
    misses=False,
)
OF_PEER = VerifierRule(
    "{op}/scope",
    "the scope has the threads of one CTA only, and the place is one of any CTA of the cluster",
    _SECTION,
    Severity.REVIEW,
    expected="the scope .cluster, if threads of several CTAs access the place",
    hint=_HINT,
    misses=False,
)
RULES = (OF_CTA, OF_CLUSTER, OF_PEER)

_ACCESSES = ("ld", "st", *ATOMICS)
_ALIKE = ("tid", "ntid", "laneid", "warpid", "nctaid", "lanemask")
_IN_CLUSTER = ("cluster_ctarank", "cluster_ctaid", "cluster_nctaid", "cluster_nctarank")
_NARROW = {Scope.CTA: (OF_CTA, _ALIKE), Scope.CLUSTER: (OF_CLUSTER, (*_ALIKE, *_IN_CLUSTER))}
"""The rule of a scope, and the special registers with the same numbers in each such group."""


def check(report: Report) -> None:
    """Report strong accesses to places that threads beyond their scope name, too."""
    graph = report.analysis.graph
    narrow = [(i, mi) for i, mi in enumerate(graph.records) if is_narrow(mi)]
    if not narrow or not report.analysis.function.is_kernel:
        return
    sources = _Sources(graph)
    for index, mi in narrow:
        scope = mi.form.attributes["scope"]
        assert isinstance(scope, Scope)
        rule, specials = _NARROW[scope]
        if scope is Scope.CTA and sources.is_mapped(mi):
            report.add(OF_PEER, index, got=f".{scope.value}, at an address that mapa gives")
        elif sources.are_alike(mi, specials):
            got = f".{scope.value}, at an address made of parameters and numbers of threads alone"
            report.add(rule, index, got=got)


def is_narrow(mi: MachineInstr) -> bool:
    """Whether a record is a strong access to memory whose scope is not all of the GPU."""
    attributes = mi.form.attributes
    return (
        mi.row.id in _ACCESSES
        and attributes.get("scope") in _NARROW
        and attributes.get("sem") is not Sem.WEAK
    )


class _Sources:
    """Where the addresses of a function come from."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def are_alike(self, mi: MachineInstr, specials: tuple[str, ...]) -> bool:
        """Whether an access is to global memory, at a place that these special registers and the
        kernel's parameters say.
        """
        address, space = mi.get("a"), mi.form.attributes.get("space")
        if isinstance(address, Mem):
            address = address.base
        if isinstance(address, Sym):
            return space is Space.GLOBAL
        if type(address) is not int or space not in (None, Space.GLOBAL):
            return False
        found = list(self._roots(address))
        is_global = space is Space.GLOBAL or not any(isinstance(op, Sym) for op in found)
        return is_global and all(_is_alike(op, specials) for op in found)

    def is_mapped(self, mi: MachineInstr) -> bool:
        """Whether an address comes from mapa, which names the shared memory of any CTA."""
        address = mi.get("a")
        if isinstance(address, Mem):
            address = address.base
        return type(address) is int and any(
            mi.row.id == "mapa" for reg in self._behind(address) for mi in self._graph.writing(reg)
        )

    def _roots(self, reg: Reg) -> Iterator[Op | MachineInstr]:
        """The symbols and special registers that a value is made of, and records whose results do
        not follow from their operands.
        """
        for one in self._behind(reg):
            for mi in self._graph.writing(one):
                if mi.row.id == "ld" and mi.form.attributes.get("space") in PARAM_SPACES:
                    continue
                if not mi.form.is_pure or mi.row.id == "ld":
                    yield mi
                yield from (op for op in mi.ops if isinstance(op, Special | Sym))

    def _behind(self, reg: Reg) -> set[Reg]:
        """The registers that a value is made of."""
        found: set[Reg] = set()
        pending = [reg]
        while pending:
            one = pending.pop()
            if one not in found:
                found.add(one)
                pending += [use for mi in self._graph.writing(one) for use in mi.uses()]
        return found


def _is_alike(root: Op | MachineInstr, specials: tuple[str, ...]) -> bool:
    if isinstance(root, Special):
        return root.name.startswith(specials)
    return isinstance(root, Sym)
