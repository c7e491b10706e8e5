"""Random functions in SSA form, which show themselves as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from asmprinter.mir.printer import print_mir
from intrinsics.mir import (
    Imm,
    MachineFunction,
    Module,
    Reg,
    Scalar,
)
from intrinsics.modifiers import Compare
from intrinsics.targets import TARGETS
from tests.isel.passes.machine import PRED, Builder, run


@dataclass
class Drawn:
    """A random function in SSA form; it shows itself as text."""

    function: MachineFunction

    def __repr__(self) -> str:
        return "\n" + print_mir(Module(TARGETS["sm_100a"], functions=[self.function])).text


def dominators(after: Sequence[Sequence[int]]) -> list[set[int]]:
    """For each reachable node, the nodes on every way to it."""
    everything = set(range(len(after)))
    found = [everything] * len(after)
    found[0] = {0}
    changed = True
    while changed:
        changed = False
        for node in range(1, len(after)):
            before = [found[p] for p in range(len(after)) if node in after[p]]
            new = set.intersection(*before) | {node}
            changed |= new != found[node]
            found[node] = new
    return found


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """Successors of up to six blocks: at most two each, every block reachable, none enters 0."""
    count = draw(st.integers(2, 6))
    after = [
        draw(st.lists(st.integers(1, count - 1), min_size=0, max_size=2, unique=True))
        for _ in range(count)
    ]
    seen, work = [0], [0]
    while work:
        for node in after[work.pop()]:
            if node not in seen:
                seen.append(node)
                work.append(node)
    number = {old: new for new, old in enumerate(seen)}
    return [[number[n] for n in after[old]] for old in seen]


@st.composite
def ssa_functions(draw: st.DrawFn) -> Drawn:
    """PHIs that read each other, values that outlive loops, critical edges, shared branches."""
    after = draw(graphs())
    count = len(after)
    above = dominators(after)
    b = Builder()
    blocks = [b.block(f"b{n}") for n in range(count)]
    before = [[p for p in range(count) if n in after[p]] for n in range(count)]
    phis = [
        [b.reg(f"p{n}_{k}") for k in range(draw(st.integers(0, 3)) if before[n] else 0)]
        for n in range(count)
    ]
    own: list[list[Reg]] = [[b.reg(f"v{n}_{k}") for k in range(2)] for n in range(count)]

    def known(n: int, *, at_end: bool) -> list[Reg]:
        """Values that are there in block `n`, before or after its own records."""
        found = [r for d in above[n] if d != n for r in (*phis[d], *own[d])]
        return [*found, *phis[n], *(own[n] if at_end else [])]

    def any_of(regs: list[Reg]) -> Scalar:
        return draw(st.sampled_from([*regs, Imm(draw(st.integers(0, 4)))]))  # type: ignore[return-value]

    for n, block in enumerate(blocks):
        for phi in phis[n]:
            b.phi(block, phi, {f"b{p}": any_of(known(p, at_end=True)) for p in before[n]})
        there = known(n, at_end=False)
        for reg in own[n]:
            b.add(block, reg, any_of(there), any_of(there))
            there.append(reg)
        stored = draw(st.sampled_from(there))
        b.store(block, stored)
        if len(after[n]) == 2:
            condition = b.reg(f"c{n}", PRED)
            b.compare(block, condition, Compare.LT, any_of(there), Imm(draw(st.integers(0, 30))))
            b.branch(block, f"b{after[n][0]}", condition)
        if after[n]:
            b.branch(block, f"b{after[n][-1]}")
        else:
            b.ret(block)
    return Drawn(b.function)


STEPS = 40


def means(function: MachineFunction) -> list[int]:
    """The first stores; a function that loops for ever is cut off."""
    return run(function, steps=2_000)[:STEPS]
