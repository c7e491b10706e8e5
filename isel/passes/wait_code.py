"""The code of bounded waits: what stands behind a look at an mbarrier that was in vain.

Layer: isel.passes.  Input: a function, and its looks that loops wait with.  Output: the function,
changed in place, with this code:

    before the loop: start = 0
    wait:   done = try_wait [mbar], parity
            done → on
            now = globaltimer; start = now if it is 0
            now - start < limit → on
            one lane for all that are here writes an entry (`isel.wait_bounds`)
            some time for others to do the same; trap
    on:     what the loop does with done

A wait that succeeds at once costs a move and a branch.  PTX ISA, Special Registers: %globaltimer,
%lanemask_lt; activemask; membar / fence; trap.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from intrinsics import catalog
from intrinsics.mir import (
    UNNAMED,
    Block,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    Op,
    Reg,
    Special,
    Sym,
    negated,
    predecessors,
    renumber,
)
from intrinsics.modifiers import AtomicOp, Compare, ScalarType, Scope, Sem, Space
from intrinsics.row import Attribute
from intrinsics.special import special_registers
from isel import wait_bounds as entry
from isel.passes.wait_loops import Look
from isel.wait_bounds import WaitBounds

PRED, B32, U32 = ScalarType.PRED, ScalarType.B32, ScalarType.U32
B64, S64, U64 = ScalarType.B64, ScalarType.S64, ScalarType.U64

_ADD: dict[str, Attribute] = {
    "sem": Sem.RELAXED,
    "scope": Scope.GPU,
    "space": Space.GLOBAL,
    "op": AtomicOp.ADD,
    "type": U32,
}
_TO_HOST: dict[str, Attribute] = {"sem": Sem.RELAXED, "scope": Scope.SYS, "space": Space.GLOBAL}
_LETTERS = {PRED: "p", B32: "r", B64: "rd"}
"""What registers of PTX are called by, for those who read it."""


class WaitCode:
    """Bounds the waits of one function; their sites begin at number `first`, from 1."""

    def __init__(
        self,
        module: Module,
        function: MachineFunction,
        bounds: WaitBounds,
        first: int,
        waits: list[Look],
    ) -> None:
        self.module = module
        self.function = function
        self.bounds = bounds
        self.first = first
        self.waits = waits
        self.blocks: list[Block] = []
        self.names = {block.name for block in function.blocks}
        self.taken = set(function.regs.names)
        self.loc = 0

    def run(self) -> None:
        """Change the function."""
        starts = [self._register(B64, "wait_start") for _ in self.waits]
        here = {(look.block, look.at): n for n, look in enumerate(self.waits)}
        resets = self._resets(starts)
        for i, block in enumerate(self.function.blocks):
            self._begin(i, block, starts)
            end = block.end
            for at, mi in enumerate(block.instrs):
                if at == end:
                    self._reset(resets.get(i, []))
                self.blocks[-1].instrs.append(mi)
                number = here.get((i, at))
                if number is not None:
                    self._bound(mi, starts[number], number)
            if end == len(block.instrs):
                self._reset(resets.get(i, []))
        self.function.blocks = self.blocks
        if not self.function.keep_names:
            renumber(self.function)

    # ---- the beginning of a wait -------------------------------------------------------------

    def _resets(self, starts: list[Reg]) -> dict[int, list[Reg]]:
        """For each block that leads into loops that wait: the clocks that do not run there."""
        before = predecessors(self.function)
        found: dict[int, list[Reg]] = {}
        for start, look in zip(starts, self.waits, strict=True):
            assert look.loop is not None
            outside = {j for i in look.loop.entries for j in before[i]} - look.loop.blocks
            for j in sorted(outside):
                found.setdefault(j, []).append(start)
        return found

    def _begin(self, i: int, block: Block, starts: list[Reg]) -> None:
        """Begin a block; the first may be in a loop, and has then another before it."""
        self.loc = block.instrs[0].loc if block.instrs else 0
        if i == 0:
            first = [
                start
                for start, look in zip(starts, self.waits, strict=True)
                if look.loop is not None and 0 in look.loop.entries
            ]
            if first:
                self.blocks.append(Block(self._fresh("wait_entry")))
                self._reset(first)
        self.blocks.append(Block(block.name, nounroll=block.nounroll))

    def _reset(self, starts: list[Reg]) -> None:
        for start in starts:
            self._emit("mov", start, Imm(0), type=B64)

    # ---- the limit ---------------------------------------------------------------------------

    def _bound(self, mi: MachineInstr, start: Reg, number: int) -> None:
        """What follows a look at an mbarrier."""
        self.loc = self._quiet(mi.loc)
        done = mi["done"]
        assert type(done) is int
        name = self.blocks[-1].name
        on = self._fresh(f"{name}_on")
        if mi.guard is not None:
            self._branch(on, negated(mi.guard))
        self._branch(on, done)
        spent = self._spent(start, begin=True)
        self._branch(on, self._test(Compare.LT, S64, spent, Imm(self.bounds.limit)))
        linger = self._fresh(f"{name}_linger")
        self._report(mi, number, spent, linger)
        self.blocks.append(Block(linger))
        end = self.bounds.limit + self.bounds.grace
        self._branch(linger, self._test(Compare.LT, S64, self._spent(start), Imm(end)))
        self._emit("trap")
        self.blocks.append(Block(on))

    def _spent(self, start: Reg, *, begin: bool = False) -> Reg:
        """Nanoseconds since `start`, which is the present if it is 0."""
        present = self._new(B64, "mov", Special("globaltimer"), type=B64)
        if begin:
            fresh = self._test(Compare.EQ, S64, start, Imm(0))
            self._guarded(fresh, "mov", start, present, type=B64)
        return self._new(B64, "sub.int", present, start, type=S64)

    def _report(self, mi: MachineInstr, number: int, spent: Reg, linger: str) -> None:
        """One lane for all that are here writes an entry, if there is a table with room."""
        lanes = self._new(B32, "activemask", type=B32)
        below = self._new(B32, "mov", Special("lanemask_lt"), type=B32)
        others = self._new(B32, "and", lanes, below, type=B32)
        self._branch(linger, self._test(Compare.NE, U32, others, Imm(0)))
        report, count = Mem(Sym(entry.REPORT)), Mem(Sym(entry.COUNT))
        table = self._new(B64, "ld", report, space=Space.GLOBAL, type=B64)
        self._branch(linger, self._test(Compare.EQ, S64, table, Imm(0)))
        taken = self._new(B32, "atom", count, Imm(1), **_ADD)
        self._branch(linger, self._test(Compare.GE, U32, taken, Imm(entry.ENTRIES)))
        size = Imm(self.bounds.entry_size)
        here = self._new(B64, "mad.wide", taken, size, table, type=U32)
        self._store(here, entry.LANES, lanes)
        self._store(here, entry.ADDRESS, self._address(mi))
        self._store(here, entry.PHASE, self._phase(mi))
        for i, name in enumerate(entry.SPECIALS):
            if special_registers()[name].needs.first_ptx(self.module.target) is not None:
                value = self._new(B32, "mov", Special(name), type=B32)
                self._store(here, entry.PLACES + 4 * i, value)
        self._store(here, entry.WAITED, spent)
        site = self.bounds.sites[self.first + number]
        for i, (name, _) in enumerate(site.variables):
            self._store(here, entry.ENTRY + 8 * i, self._new(B64, "mov", Sym(name), type=B64))
        self._emit("fence", sem=Sem.SC, scope=Scope.SYS)
        number_of_site = self._new(B32, "mov", Imm(self.first + number + 1), type=B32)
        self._store(here, entry.SITE, number_of_site)
        self._emit("fence", sem=Sem.SC, scope=Scope.SYS)

    def _address(self, mi: MachineInstr) -> Reg:
        """The mbarrier's address in shared memory."""
        mbar = mi["mbar"]
        assert isinstance(mbar, Mem)
        if isinstance(mbar.base, Sym):
            return self._new(B64, "mov", Sym(mbar.base.name, mbar.offset), type=B64)
        base = self._wide(mbar.base)
        address = self._new(B64, "add.int", base, Imm(mbar.offset), type=S64)
        if mi.form.attributes.get("space") is None:
            return self._new(B64, "cvta.to", address, space=Space.SHARED, size=U64)
        return address

    def _phase(self, mi: MachineInstr) -> Reg:
        """What the record waits with, in 64 bits."""
        op = mi["phase"] if mi.get("phase") is not None else mi["state"]
        if type(op) is int:
            return self._wide(op)
        assert isinstance(op, (Imm, Sym, Special))
        return self._new(B64, "mov", op, type=B64)

    def _wide(self, reg: Reg) -> Reg:
        if self.function.regs.classes[reg].bits == 64:
            return reg
        return self._new(B64, "cvt.int", reg, dtype=U64, atype=U32)

    # ---- records -----------------------------------------------------------------------------

    def _emit(self, row: str, /, *ops: Op, **attributes: Attribute) -> None:
        self._guarded(None, row, *ops, **attributes)

    def _guarded(
        self, guard: Reg | Not | None, row: str, /, *ops: Op, **attributes: Attribute
    ) -> None:
        form = catalog.form(row, **attributes)
        self.blocks[-1].instrs.append(MachineInstr(form, ops, guard, self.loc))

    def _new(self, cls: ScalarType, row: str, /, *ops: Op, **attributes: Attribute) -> Reg:
        """A record whose result is a register of its own."""
        result = self._register(cls)
        self._emit(row, result, *ops, **attributes)
        return result

    def _test(self, compare: Compare, type: ScalarType, a: Op, b: Op) -> Reg:
        return self._new(PRED, "setp.int", a, b, cmp=compare, type=type, p=True)

    def _branch(self, target: str, guard: Reg | Not) -> None:
        """Go on at `target` if `guard` holds, else in a block of its own."""
        self._guarded(guard, "bra", Label(target))
        self.blocks.append(Block(self._fresh("wait_else", said=False)))

    def _store(self, base: Reg, offset: int, value: Reg) -> None:
        type = B64 if self.function.regs.classes[value].bits == 64 else B32
        self._emit("st", Mem(base, offset), value, type=type, **_TO_HOST)

    def _register(self, cls: ScalarType, name: str = "") -> Reg:
        """A fresh register; where names are kept it needs one that no other has."""
        if self.function.keep_names:
            stem = f"%{name or 'wait'}_{_LETTERS[cls]}"
            number = next(n for n in itertools.count(1) if f"{stem}{n}" not in self.taken)
            name = f"{stem}{number}"
            self.taken.add(name)
        return self.function.regs.new(cls, name)

    def _fresh(self, wanted: str, *, said: bool = True) -> str:
        """A name for a block; one that PTX's text need not say where no branch goes."""
        wanted = UNNAMED + wanted if self.function.keep_names and not said else wanted
        numbered = (f"{wanted}_{n}" for n in itertools.count(2))
        name = next(n for n in itertools.chain([wanted], numbered) if n not in self.names)
        self.names.add(name)
        return name

    def _quiet(self, loc: int) -> int:
        """The same location without the directives that stand before its record."""
        location = self.module.locations[loc]
        if not location.directives:
            return loc
        self.module.locations.append(replace(location, directives=""))
        return len(self.module.locations) - 1
