"""Compilation of machine records to closures.

Layer: nvgen.sim.  A record becomes a function of the strand that executes it.  Common to all
records, and wrapped around the row's function, are guards, convergence for `.aligned` operations,
and waits for loads from tensor memory whose registers are used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

import numpy as np

from intrinsics.findings import Place, SimulationError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    FloatImm,
    Imm,
    Label,
    Location,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    Op,
    Reg,
    Special,
    Sym,
    Text,
    Variable,
    registers_of,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.row import Completion, Effect, IssueScope
from nvgen.sim.faults import fault, located, not_simulated
from nvgen.sim.memory.layout import LocalLayout, local_layout
from nvgen.sim.threads.lane_values import flags, held, unsigned
from nvgen.sim.threads.machine import (
    FULL,
    WARP,
    Code,
    CodeBlock,
    Instruction,
    Outcome,
    Registers,
    Step,
    Strand,
    Values,
    Wait,
    Warp,
    mask_of,
)
from nvgen.sim.threads.steps import (
    HINTS,
    after_loads,
    beside_multiplies,
    by_warpgroup,
    owned_registers,
    whole_warp,
)
from nvgen.sim.threads.warpgroups import Aligned

Getter: TypeAlias = Callable[[Warp], Values]
"""Gives an operand's value in each of the 32 lanes."""


Setter: TypeAlias = Callable[[Strand, Values], None]
"""Writes a register in the lanes of a strand."""


Maker: TypeAlias = Callable[["Compiler", MachineInstr], Step]
"""Makes the closure of a record."""


@dataclass
class Compiler:
    """Compiles one function."""

    module: Module
    function: MachineFunction
    makers: Mapping[str, Maker]
    positions: dict[str, int] = field(default_factory=dict)
    loaded: frozenset[Reg] = frozenset()
    multiplied: frozenset[Reg] = frozenset()

    def compile(self) -> Code:
        """The function's code.

        Raises: NotSimulatedError for a record that has no semantics.
        """
        self.positions = {block.name: i for i, block in enumerate(self.function.blocks)}
        self.loaded = frozenset(
            reg
            for mi in self.function.instructions()
            if mi.row.effects.completion is Completion.WAIT_LD
            for reg in mi.defs()
        )
        self.multiplied = frozenset(
            reg
            for mi in self.function.instructions()
            if mi.row.effects.completion is Completion.WGMMA_GROUP
            for reg in owned_registers(mi)
        )
        function = self.function
        return Code(
            function.name,
            [CodeBlock(b.name, [self._located(mi) for mi in b.instrs]) for b in function.blocks],
            self.registers,
            tuple(p.name for p in function.params),
            tuple(p.name for p in function.results),
            self.passed,
            self.local,
        )

    @functools.cached_property
    def passed(self) -> dict[str, int]:
        """The sizes in bytes of its parameters, its result, and those of its calls."""
        own = self.function
        found = {v.name: v.size for v in own.variables if v.space is Space.PARAM}
        if not own.is_kernel:
            found |= {p.name: p.size for p in (*own.params, *own.results)}
        return found

    @functools.cached_property
    def local(self) -> LocalLayout:
        """The layout of its local variables in a frame."""
        return local_layout([*self.function.variables, *self._on_stack()])

    def _on_stack(self) -> Iterator[Variable]:
        """The parameters of a device function whose addresses it takes: they are local memory.

        PTX ISA, mov.
        """
        own = self.function
        if own.is_kernel or not own.params:
            return
        named = {op.name for mi in own.instructions() for op in mi.ops if type(op) is Sym}
        for param in own.params:
            if param.name in named:
                yield Variable(param.name, Space.LOCAL, param.size, param.align)

    def registers(self) -> Registers:
        """Fresh registers for one warp."""
        memory = np.zeros(sum(WARP * t.itemsize * len(own) for t, own in self._held), np.uint8)
        values: dict[Reg, Values] = {}
        at = 0
        for type_, own in self._held:
            end = at + WARP * type_.itemsize * len(own)
            values.update(zip(own, memory[at:end].view(type_).reshape(-1, WARP), strict=True))
            at = end
        return Registers(memory, [values[reg] for reg in range(len(values))])

    @functools.cached_property
    def _held(self) -> list[tuple[np.dtype[np.generic], list[Reg]]]:
        """The registers by the type that holds them."""
        found: dict[np.dtype[np.generic], list[Reg]] = {}
        for reg, class_ in enumerate(self.function.regs.classes):
            found.setdefault(held(class_.bits), []).append(reg)
        return list(found.items())

    def place(self, mi: MachineInstr) -> Place:
        """The source location of a record."""
        known = mi.loc < len(self.module.locations)
        location = self.module.locations[mi.loc] if known else Location()
        return Place(
            location.file,
            location.line,
            location.column,
            self.function.name,
            location.python_file,
            location.python_line,
            location.callers,
        )

    def _located(self, mi: MachineInstr) -> Instruction:
        try:
            return self._instruction(mi)
        except SimulationError as error:
            raise located(error, self.place(mi), mi.opcode) from None

    def _instruction(self, mi: MachineInstr) -> Instruction:
        maker = self.makers.get(mi.row.id)
        if maker is None or not mi.row.simulated:
            raise not_simulated(_statement(mi))
        for name in mi.row.unsimulated:
            if mi.attributes().get(name):
                raise not_simulated(f"{mi.row.head} with {name}")
        run = maker(self, mi)
        if mi.row.effects.scope is IssueScope.WARPGROUP and mi.row.id not in HINTS:
            run = by_warpgroup(run, Aligned(mi, self.place(mi)))
        if Effect.ALIGNED in mi.row.effects.effect:
            run = whole_warp(run, mi)
        if self.multiplied and mi.row.effects.completion is not Completion.WGMMA_GROUP:
            owned = self.multiplied.intersection(r for op in mi.ops for r in registers_of(op))
            run = beside_multiplies(run, owned) if owned else run
        if mi.guard is not None and not mi.form.is_terminator:  # terminators split their strand
            run = self._guarded(run, mi)
        if self.loaded:
            touched = tuple(r for op in mi.ops for r in registers_of(op) if r in self.loaded)
            run = after_loads(run, touched) if touched else run
        return Instruction(run, mi, self.place(mi))

    def _guarded(self, run: Step, mi: MachineInstr) -> Step:
        predicate = self.predicate(mi)
        aligned = Effect.ALIGNED in mi.row.effects.effect or bool(mi.form.attributes.get("aligned"))

        def guarded(strand: Strand) -> Outcome:
            holds = strand.mask & mask_of(flags(predicate(strand.warp)))
            if not holds:
                return None
            if holds == strand.mask:
                return run(strand)
            if aligned:
                raise fault(
                    "aligned-divergence",
                    f"{mi.row.head} under a guard that only some threads of the warp pass",
                    got=f"lanes {holds:#010x}",
                    expected="all threads of the warp",
                )
            part = strand.part(holds)
            clocks = strand.warp.cta.machine.engine.clocks
            if clocks is not None:
                clocks.narrowed(part)
            outcome = run(part)
            if isinstance(outcome, Wait):
                return outcome
            if outcome is None:
                return None
            raise not_simulated(f"{mi.row.head} under a divergent guard")

        return guarded

    def predicate(self, mi: MachineInstr) -> Getter:
        """Whether a record's guard holds, in each lane."""
        guard = mi.guard
        assert guard is not None
        return self.get(guard, ScalarType.PRED)

    # ---- operands ----------------------------------------------------------------------------

    def get(self, op: Op, type_: ScalarType) -> Getter:
        """The value of an operand that is used as `type_`."""
        match op:
            case int():
                unsigned(self.function.regs.classes[op].bits)  # refuses what cannot be held
                return lambda warp: warp.registers[op]
            case Not(reg):
                return lambda warp: ~flags(warp.registers[reg])
            case Imm(value):
                return _constant(value, type_.bits)
            case FloatImm():
                return _constant(op.bits_as(type_), type_.bits)
            case Sym(name, offset):
                return self._symbol(name, offset, type_.bits)
            case Special():
                raise not_simulated(f"%{op.name} here")
        raise not_simulated(f"an operand of kind {type(op).__name__}")

    def get_whole(self, op: Op, type_: ScalarType) -> Getter:
        """As `get`, of registers of 128 bits too."""
        if type(op) is int:
            return lambda warp: warp.registers[op]
        return self.get(op, type_)

    def _start(self, name: str) -> Callable[[Warp], int]:
        """The address of a symbol; of a local variable, in the current frame."""
        place = self.local.offsets.get(name)
        if place is None:
            return lambda warp: warp.cta.symbol(name)
        return lambda warp: warp.frame.local + place

    def _symbol(self, name: str, offset: int, bits: int) -> Getter:
        start = self._start(name)

        def value(warp: Warp) -> Values:
            address = start(warp) + offset
            return np.full(WARP, address & ((1 << bits) - 1), unsigned(bits))

        return value

    def set(self, reg: Reg) -> Setter:
        """Write register `reg`."""
        unsigned(self.function.regs.classes[reg].bits)  # refuses what cannot be held
        return self.set_whole(reg)

    def set_whole(self, reg: Reg) -> Setter:
        """As `set`, registers of 128 bits too."""
        dtype = held(self.function.regs.classes[reg].bits)

        def write(strand: Strand, values: Values) -> None:
            target = strand.frame.values[reg]
            if strand.mask == FULL:
                target[:] = values
            else:
                np.copyto(target, values.astype(dtype, copy=False), where=strand.lanes)

        return write

    def address(self, mem: Op) -> Callable[[Warp], np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """The address that a memory operand names, in each lane.

        In a register of 32 bits it is the sum modulo 2^32.
        """
        assert isinstance(mem, Mem)
        base, offset = mem.base, _as_int64(mem.offset)
        if isinstance(base, int):
            if self.function.regs.classes[base].bits == 32 and offset:
                mask = (1 << 32) - 1
                return lambda warp: warp.registers[base].astype(np.int64) + offset & mask
            return lambda warp: warp.registers[base].astype(np.int64) + offset
        start = self._start(base.name)

        def constant(warp: Warp) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
            return np.full(WARP, _as_int64(start(warp) + offset), np.int64)

        return constant

    def target(self, op: Op) -> int:
        """The index of the block that a label names."""
        assert isinstance(op, Label)
        return self.positions[op.name]


def _as_int64(number: int) -> int:
    """A byte offset, wrapped to a signed 64-bit integer."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _statement(mi: MachineInstr) -> str:
    """The name of a record without semantics; an unparsed statement by its text."""
    kept = [op.text for op in mi.ops if isinstance(op, Text)]
    return kept[0] if kept else f"{mi.row.head} ({mi.opcode})"


def _constant(value: int, bits: int) -> Getter:
    if bits == 1:
        known = np.full(WARP, value != 0, np.bool_)
    else:
        known = np.full(WARP, value & ((1 << bits) - 1), unsigned(bits))
    known.setflags(write=False)
    return lambda warp: known
