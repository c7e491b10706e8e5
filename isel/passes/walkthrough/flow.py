"""Control flow of walkthroughs: all threads of a CTA must execute each operation, with equal
operands.

Layer: isel.passes.  Input: a function with pseudo records, after SSA form was left.  Output: what
is wrong, as findings.  PTX ISA, tcgen05.commit; tcgen05.mma.
"""

from __future__ import annotations

from typing import Unpack

from intrinsics.findings import Details, Finding, Severity, error_of
from intrinsics.mir import (
    Imm,
    Location,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Reg,
    successors,
)
from intrinsics.modifiers import Space
from isel.passes.walkthrough.accumulators import MULTIPLIES, group_of
from isel.uniformity import divergence, reaches
from isel.verifier.locations import place_of

ALLOC, ENCODE, WAIT, LD, CP, DEALLOC, RELINQUISH = (
    f"walkthrough.{name}"
    for name in ("alloc", "encode", "wait", "ld", "cp", "dealloc", "relinquish")
)
ISSUED = (*MULTIPLIES, CP)
"""What one thread issues, and what ends with the next wait."""


class Diagnostics:
    """The findings of a function, with their places."""

    def __init__(self, module: Module, function: MachineFunction) -> None:
        self.module = module
        self.function = function
        self.findings: list[Finding] = []
        self.warnings: list[Finding] = []

    def error(self, mi: MachineInstr, rule: str, message: str, **details: Unpack[Details]) -> None:
        """Report that `mi` breaks a rule."""
        said: Details = {"op": mi.opcode, "section": mi.row.section, **details}
        place = place_of(self.module.locations[mi.loc], self.function.name)
        self.findings.append(error_of(f"walkthrough/{rule}", message, place, **said))


def check_group(diagnostics: Diagnostics, function: MachineFunction) -> bool:
    """Whether a function works for a CTA pair; for one CTA beside it is an error."""
    return _Flow(diagnostics, function).check_group()


def check_flow(diagnostics: Diagnostics, function: MachineFunction) -> None:
    """The threads come together, with the same operands, and wait for what they read."""
    flow = _Flow(diagnostics, function)
    flow.check_flow()
    flow.check_waits()
    flow.check_first()


class _Flow:
    def __init__(self, diagnostics: Diagnostics, function: MachineFunction) -> None:
        self.diagnostics = diagnostics
        self.module = diagnostics.module
        self.function = function

    def _records(self, *rows: str) -> list[MachineInstr]:
        return [mi for mi in self.function.instructions() if mi.row.id in rows]

    def check_group(self) -> bool:
        """All that a kernel does with tensor memory is for one CTA, or for a pair."""
        grouped = self._records(*MULTIPLIES, WAIT)
        pair = any(group_of(mi) == 2 for mi in grouped)
        other = next((mi for mi in grouped if group_of(mi) == 1), None)
        if pair and other is not None:
            self.diagnostics.error(
                other, "cta-group", "a function works for one CTA or for a pair, not for both",
                got="cta_group::1 beside cta_group::2", expected="one of the two throughout",
                section="tcgen05.mma",
            )  # fmt: skip
        return pair

    def check_flow(self) -> None:
        """Check that all threads of the CTA execute every operation, with the same operands."""
        found = divergence(self.function)
        after = reaches(self.function)
        for i, block in enumerate(self.function.blocks):
            for mi in block.instrs:
                if not (mi.row.id in ISSUED or (mi.row.pseudo and mi.row.id != ENCODE)):
                    continue
                if i in found.blocks:
                    self._say_divergent(mi, found.blocks[i])
                else:
                    self._check_operands_agree(mi, found.registers)
                if mi.row.id == ALLOC and i in after[i]:
                    self.diagnostics.error(
                        mi, "alloc-loop", "tensor memory is allocated in a loop",
                        expected="an allocation ahead of the loop", got="an allocation every time",
                    )  # fmt: skip

    def _say_divergent(self, mi: MachineInstr, branch: MachineInstr) -> None:
        location = self.module.locations[branch.loc]
        self.diagnostics.error(
            mi,
            "divergent",
            f"{mi.opcode} is for the whole CTA, but threads may take different ways to it",
            got=f"the branch {_line(location)}, on what differs between threads",
            expected="a place that all threads of the CTA reach together",
            hint="the expansion itself chooses the thread or the warp that acts",
        )

    def _check_operands_agree(self, mi: MachineInstr, divergent: dict[Reg, MachineInstr]) -> None:
        """What the CTA does together it does with one value of each operand."""
        for slot in mi.form.slots:
            op = mi[slot]
            reg = op.base if isinstance(op, Mem) else op
            if not isinstance(reg, int) or reg not in divergent or reg in mi.defs():
                continue
            location = self.module.locations[divergent[reg].loc]
            self.diagnostics.error(
                mi,
                "thread-operand",
                f"{mi.opcode} is for the whole CTA, but its operand {slot} may differ between "
                "threads",
                got=_described(divergent[reg], location),
                expected="a value that all threads of the CTA agree on",
                hint="one thread issues the operation, with the value that it has",
                subject=slot,
            )

    def check_waits(self) -> None:
        """No path leads from a multiply to a reader of its result without a wait."""
        multiplies = self._records(*MULTIPLIES)
        if multiplies and not self._records(WAIT):
            self.diagnostics.error(
                multiplies[-1], "wait", "nothing waits for the multiply: its result is never read",
                got="no wait", section="tcgen05.commit",
                expected="llvm.nvvm.tcgen05.wait.cta_group__1 (or 2) behind it",
            )  # fmt: skip
            return
        pending = self._pending_in()
        for block, inherited in zip(self.function.blocks, pending, strict=True):
            under_way = inherited
            for mi in block.instrs:
                if mi.row.id in (LD, DEALLOC) and under_way:
                    self.diagnostics.error(
                        mi,
                        "wait",
                        f"{mi.opcode} while a multiply or a copy may be under way",
                        got="a way from it without a wait",
                        expected="llvm.nvvm.tcgen05.wait.cta_group__1 (or 2) ahead of it",
                        section="tcgen05.commit",
                    )
                under_way = (under_way or mi.row.id in ISSUED) and mi.row.id != WAIT

    def _pending_in(self) -> list[bool]:
        """For each block, whether a multiply may be in flight at its begin."""
        after = successors(self.function)
        found = [False] * len(after)
        work = list(range(len(after)))
        while work:
            i = work.pop()
            under_way = found[i]
            for mi in self.function.blocks[i].instrs:
                under_way = (under_way or mi.row.id in ISSUED) and mi.row.id != WAIT
            for s in after[i]:
                if under_way and not found[s]:
                    found[s] = True
                    work.append(s)
        return found

    def check_first(self) -> None:
        """Check that something overwrites the old contents of tensor memory."""
        multiplies = self._records(*MULTIPLIES)
        if not multiplies or any(mi["enable_d"] != Imm(1) for mi in multiplies):
            return
        finding = Finding(
            "walkthrough/first-step",
            Severity.WARNING,
            "every multiply adds to what tensor memory holds, and nothing is written there first",
            op=multiplies[0].opcode,
            got="enable_d is true everywhere",
            expected="false for the first step: D = A*B",
            hint="a multiply with false overwrites its accumulator",
            section="PTX ISA, tcgen05.mma",
            subject="enable_d",
        )
        place = place_of(self.module.locations[multiplies[0].loc], self.function.name)
        self.diagnostics.warnings.append(finding.at(place))


def _described(mi: MachineInstr, location: Location) -> str:
    """Where a value that differs comes from."""
    if mi.row.id == "ld" and mi.form.attributes["space"] is Space.PARAM:
        return "a parameter of a device function, which each thread has of its own"
    return f"a value made {_line(location)}, of what differs between threads"


def _line(location: Location) -> str:
    return f"in line {location.line}" if location.line else "before it"
