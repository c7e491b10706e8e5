"""The blocks of a function: each instruction to records, dominators first, then the phis.

Layer: isel.select.  Input: a function that is ready to be selected, and its state.  Output: the
blocks of its machine function.  Blocks are selected with dominators first, so that a value's
registers are known before its uses.
"""

from __future__ import annotations

from intrinsics.mir import Block
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.lower.branches.reflection import REFLECT
from isel.lower.substitution import in_flow_order
from isel.select.assembly.inline import inline_assembly
from isel.select.calls import call_function
from isel.select.context import ModuleContext
from isel.select.instructions import SELECTORS, select_instruction
from isel.select.intrinsics.specials import reflect
from isel.select.intrinsics.table import select_call
from isel.select.intrinsics.walkthrough import Spellings, select_walkthrough
from isel.select.intrinsics.written import as_assembly
from isel.select.names import block_names
from isel.select.phis import Merge, carried, merge, records
from isel.select.stack_slots import shared_slots
from isel.select.state import FunctionState
from isel.select.unrolling import loops_kept


class Body:
    """The blocks of one function."""

    def __init__(self, context: ModuleContext, function: ir.Function, state: FunctionState) -> None:
        self.context = context
        self.function = function
        self.state = state
        self.order = in_flow_order(function.blocks)
        self.runs: dict[str, list[Block]] = {}
        self.spellings = Spellings()
        names = block_names([b.name for b in function.blocks])
        reachable = {block.name for block in self.order}
        state.block_names = {n: m for n, m in names.items() if n in reachable}
        state.taken_blocks = set(names.values())
        state.slots = shared_slots(self.order, state.layout)
        self.first = context.locations.add(function.name)  # the number of the first location

    def select(self) -> None:
        """All of them, into the machine function."""
        state = self.state
        prologue = state.block.instrs
        for block in self.order:
            out = Block(state.block_names[block.name])
            state.start(out)
            self.runs[block.name] = state.run
            state.block_name = block.name
            if block is self.order[0]:
                out.instrs.extend(prologue)
            self._instructions(block)
            if len(state.run) > 1:
                state.last_blocks[block.name] = state.block.name
            if block is self.order[0]:
                state.keep()
        self.ends = {name: run[-1] for name, run in self.runs.items()}
        self._phis()
        for name in loops_kept(self.context.loops_kept, self.order):
            self.runs[name][0].nounroll = True
        for reason, call in self.spellings.problems():
            self._report(reason, call)
        in_order = [self.runs.get(block.name, []) for block in self.function.blocks]
        state.out.blocks = [block for run in in_order for block in run]

    def _instructions(self, block: ir.Block) -> None:
        state = self.state
        for i in block.instructions:
            state.loc = self.first + i.ordinal
            try:
                if (selector := SELECTORS.get(i.opcode)) is not None:
                    selector(state, i)
                elif isinstance(i, ir.Call):
                    self._call(i)
                else:
                    select_instruction(state, i)  # refuses it
            except Unselectable as reason:
                self._report(reason, i)

    def _call(self, call: ir.Call) -> None:
        name = call.callee_name
        if isinstance(call.callee, llvm.InlineAsm):
            self._assembly(call)
            return
        if name is None:
            call_function(self.state, call, None)
            return
        context = self.context
        written = as_assembly(call, name, context.target, context.ptx)
        if written is not None:
            self._assembly(written)
            return
        if self.spellings.see(name, call):
            notes = select_walkthrough(
                self.state, call, name, context.module, context.target, context.ptx
            )
            place = context.place_of(self.function, call)
            context.out.notes += [note.at(place) for note in notes]
        elif name in REFLECT:
            reflect(self.state, call, context.module, context.target)
        elif name.startswith("llvm."):
            select_call(self.state, call, name, context.target, context.ptx)
        else:
            self._function_call(call, name)

    def _assembly(self, call: ir.Call) -> None:
        context = self.context
        fragment = inline_assembly(self.state, call)
        if fragment.kept:
            place = context.place_of(self.function, call)
            context.out.notes += [finding.at(place) for finding in fragment.kept]

    def _function_call(self, call: ir.Call, name: str) -> None:
        if name in self.context.kernels:
            raise Unselectable(
                "kernel-call",
                f"the kernel @{name} is called: a kernel is launched, not called",
                op="call",
                got=f"@{name}",
                expected="a function that is no ptx_kernel",
            )
        call_function(self.state, call, self.context.module.functions.get(name))

    def _report(self, reason: Unselectable, i: ir.Instruction) -> None:
        """Report why `i` was not selected, and define its result, so that selection continues."""
        self.context.diagnostics.report(reason, self.context.place_of(self.function, i))
        if i.result is None or i.result in self.state.values:
            return
        try:
            self.state.define(i.result, i.type)
        except Unselectable:
            self.state.forward(i.result, ())

    def _phis(self) -> None:
        merging = [b for b in self.order if isinstance(b.instructions[0], ir.Phi)]
        merges = {block.name: self._merges(block) for block in merging}
        words = carried(self.state, [one for of_block in merges.values() for one in of_block])
        for name, of_block in merges.items():
            self.runs[name][0].instrs[:0] = records(self.state, of_block, words)

    def _merges(self, block: ir.Block) -> list[Merge]:
        """What the phis of a block merge."""
        found = []
        for i in block.instructions:
            if not isinstance(i, ir.Phi):
                break
            self.state.loc = self.first + i.ordinal
            try:
                found.append(merge(self.state, i, self.ends))
            except Unselectable as reason:
                self._report(reason, i)
        return found
